//! The policy of this site: the methods that a scan may use, the precision of the times that are sent, and the hours and the
//! speed of reading. The site decides. A refusal names the key of the policy and both values.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::SystemTime;

use cognate_fingerprint::{FeatureKind, Method, View};
use cognate_proto::file_hash::HashKinds;
use cognate_proto::name::RepositoryName;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The checked section `[policy]` of the configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// The methods that may be used.
    pub methods: Vec<String>,
    /// The views that may be used.
    pub views: Vec<String>,
    /// The views of single repositories, instead of `views`.
    pub repository_views: HashMap<RepositoryName, Vec<String>>,
    /// The smallest mean length of a chunk.
    pub chunk_bytes_min: u64,
    /// The smallest mean length for scans across parties without a key.
    pub chunk_bytes_min_unkeyed_across: u64,
    /// The same for text, which is shorter than the files that contain it.
    pub chunk_bytes_min_unkeyed_across_text: u64,
    /// The smallest window of a feature, in bytes: the content of a small window can be guessed and tested.
    pub window_bytes_min: u64,
    /// The same for scans across parties without a key, where everybody can test a guess.
    pub window_bytes_min_unkeyed_across: u64,
    /// The largest number of features of a signature of a fixed size.
    pub signature_features_max: u64,
    /// If set, similarity indexes may be sent even if there is a key, which does not protect them.
    pub plain_indexes: bool,
    /// If set, other parties may get the term vectors of documents that were proposed as similar.
    pub term_vectors: bool,
    /// The scans that get fine chunks; samples of contents are sent by it, too ([`Policy::allows_samples`]).
    pub fine: FinePolicy,
    /// The share of the chunks of an index that scans across parties may have cut again in a day, above 0 and at most 1.
    pub fine_share_per_day: f64,
    /// If set, all sites of the federation belong to one party. Otherwise every scan counts as one across parties, whatever the
    /// coordinator says of it.
    pub one_party: bool,
    /// False if no samples of contents are sent, whatever `fine` says: a comparison by whole chunks alone uses none.
    pub samples: bool,
    /// If set, scans across parties are allowed without a key.
    pub unkeyed_across_parties: bool,
    /// If set, a scan may read the documents that an earlier scan chose again, under another allowed method.
    pub refine: bool,
    /// If set, a scan may follow symbolic links, as far as they lead to documents of the same repository.
    pub follow_symlinks: bool,
    /// If set, documents are removed from an index even if more are gone than are there.
    pub mass_removals: bool,
    /// If set, the EDRM hash of a message id is sent.
    pub message_id_hashes: bool,
    /// If set, the messages of a push are filled up with zeros, so that their sizes tell less.
    pub pad_messages: bool,
    /// The kinds of hashes of complete files that this site stores for queries by hashes. They never leave the site.
    pub file_hashes: HashKinds,
    /// The precision of the times that are sent.
    pub times: Times,
    /// The hours in which documents are read; `None`: always.
    pub hours: Option<Hours>,
    /// Bytes per second that all readers may read together.
    pub read_bytes_per_second: Option<NonZeroU64>,
    /// The part of the time that is spent reading, above 0 and at most 1.
    pub share_of_time: f64,
}

/// The scans that get fine chunks of this site's documents: anyone can guess and test a text of 30 bytes sooner than one of a
/// thousand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinePolicy {
    /// All scans.
    Always,
    /// Scans within the party, and all scans if the site has a key.
    WithinPartyOrKeyed,
    /// No scan.
    Never,
}

/// The precision of the time of a document's last modification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// The second.
    Exact,
    /// The day, in UTC.
    Day,
    /// No time.
    None,
}

/// A part of the day in local time, from one minute up to another. It may include midnight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hours {
    from_minute: u16,
    to_minute: u16,
}

/// A value of the policy that is not valid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct PolicyError {
    text: String,
    expected: &'static str,
}

impl Policy {
    /// The policy of `compare`, which allows everything: there is no other party.
    pub fn everything() -> Policy {
        Policy {
            methods: Method::NAMES.map(str::to_owned).into(),
            views: ["raw", "text", "passages"].map(str::to_owned).into(),
            repository_views: HashMap::new(),
            chunk_bytes_min: 0,
            chunk_bytes_min_unkeyed_across: 0,
            chunk_bytes_min_unkeyed_across_text: 0,
            window_bytes_min: 0,
            window_bytes_min_unkeyed_across: 0,
            signature_features_max: u64::MAX,
            plain_indexes: true,
            term_vectors: true,
            fine: FinePolicy::Always,
            fine_share_per_day: 1.0,
            one_party: true,
            samples: true,
            unkeyed_across_parties: true,
            refine: true,
            follow_symlinks: true,
            mass_removals: true,
            message_id_hashes: true,
            pad_messages: false,
            file_hashes: HashKinds::NONE,
            times: Times::Exact,
            hours: None,
            read_bytes_per_second: None,
            share_of_time: 1.0,
        }
    }

    /// Checks that a scan may use this method in a repository.
    ///
    /// # Errors
    /// The key of the policy that forbids it, its value, and the request.
    pub fn check(
        &self,
        repository: &RepositoryName,
        method: &Method,
        keyed: bool,
        across_parties: bool,
    ) -> Result<(), String> {
        // Whoever gives the text of documents gives that of office files.
        let view = if method.view() == View::Office { View::Text } else { method.view() };
        let (name, view, chunk_bytes) = (method.name(), view.to_string(), u64::from(method.chunk_bytes()));
        let refused = |key: &str, value: &dyn fmt::Display, requested: &dyn fmt::Display| {
            Err(format!("policy.{key} is {value}, the scan asks for {requested}"))
        };
        // A method that verifies belongs to the one whose candidates it verifies.
        let can = method.capabilities();
        let policy_name = can.verifies.unwrap_or(name);
        if !self.methods.iter().any(|allowed| allowed == policy_name) {
            return refused("methods", &self.methods.join(", "), &policy_name);
        }
        if let Some(views) = self.repository_views.get(repository).filter(|views| !views.contains(&view)) {
            return Err(format!("repository.views of {repository} is {}, the scan asks for {view}", views.join(", ")));
        }
        if !self.repository_views.contains_key(repository) && !self.views.contains(&view) {
            return refused("views", &self.views.join(", "), &view);
        }
        let (sampled, window) = (!can.fixed_size, method.window_bytes().map(u64::from));
        if sampled && chunk_bytes < self.chunk_bytes_min {
            return refused("chunk_bytes_min", &self.chunk_bytes_min, &chunk_bytes);
        }
        if let Some(window) = window.filter(|window| *window < self.window_bytes_min) {
            return refused("window_bytes_min", &self.window_bytes_min, &window);
        }
        let features = method.signature_features_max().map(u64::from);
        if let Some(features) = features.filter(|features| *features > self.signature_features_max) {
            return refused("signature_features_max", &self.signature_features_max, &features);
        }
        if !can.keyed && keyed && !self.plain_indexes {
            return refused("plain_indexes", &false, &"similarity-index, which no key protects");
        }
        let across_parties = across_parties || !self.one_party;
        if can.features == FeatureKind::TermCounts && across_parties && !self.term_vectors {
            return refused("term_vectors", &false, &"term vectors across parties").map_err(|why| self.explained(why));
        }
        if !across_parties || keyed {
            return Ok(());
        }
        self.check_unkeyed_across(method, sampled, window).map_err(|why| self.explained(why))
    }

    /// Says with a refusal why the scan counts as one across parties, if the site itself makes it one.
    fn explained(&self, refusal: String) -> String {
        match self.one_party {
            true => refusal,
            false => {
                format!("{refusal}; every scan counts as one, unless the site's configuration says `one_party = true`")
            }
        }
    }

    fn check_unkeyed_across(&self, method: &Method, sampled: bool, window: Option<u64>) -> Result<(), String> {
        let refused = |key: &str, value: &dyn fmt::Display, requested: &dyn fmt::Display| {
            Err(format!("policy.{key} is {value}, the scan asks for {requested}"))
        };
        if !self.unkeyed_across_parties {
            return refused("unkeyed_across_parties", &false, &"a scan across parties without a key");
        }
        let chunk_bytes = u64::from(method.chunk_bytes());
        let (key, least) = match method.view().is_text() {
            false => ("chunk_bytes_min_unkeyed_across", self.chunk_bytes_min_unkeyed_across),
            true => ("chunk_bytes_min_unkeyed_across_text", self.chunk_bytes_min_unkeyed_across_text),
        };
        if sampled && chunk_bytes < least {
            return refused(key, &least, &chunk_bytes);
        }
        match window.filter(|window| *window < self.window_bytes_min_unkeyed_across) {
            Some(window) => refused("window_bytes_min_unkeyed_across", &self.window_bytes_min_unkeyed_across, &window),
            None => Ok(()),
        }
    }

    /// Checks that a scan may have fine chunks.
    ///
    /// # Errors
    /// The key of the policy that forbids it, with its value.
    pub fn check_fine(&self, keyed: bool, across_parties: bool) -> Result<(), String> {
        self.check_fine_for("fine chunks", keyed, across_parties)
    }

    /// Checks that a scan may have the exact measure of pairs of this site's documents: it says less than fine chunks do.
    ///
    /// # Errors
    /// The key of the policy that forbids it, with its value.
    pub fn check_measure(&self, keyed: bool, across_parties: bool) -> Result<(), String> {
        self.check_fine_for("the exact measure of pairs", keyed, across_parties)
    }

    fn check_fine_for(&self, asked: &str, keyed: bool, across_parties: bool) -> Result<(), String> {
        let allowed = match self.fine {
            FinePolicy::Always => true,
            FinePolicy::WithinPartyOrKeyed => keyed || (self.one_party && !across_parties),
            FinePolicy::Never => false,
        };
        if allowed { Ok(()) } else { Err(format!("policy.fine is {}, the scan asks for {asked}", self.fine)) }
    }

    /// The share of the chunks of an index that a scan may have cut again in a day: all of them within a party.
    pub(crate) fn fine_share(&self, across_parties: bool) -> f64 {
        if self.one_party && !across_parties { 1.0 } else { self.fine_share_per_day }
    }

    /// True if samples of contents are sent: where fine chunks may be as well. It does not depend on a scan, because an index serves
    /// many.
    pub fn allows_samples(&self, keyed: bool) -> bool {
        self.samples && self.check_fine(keyed, false).is_ok()
    }

    /// Checks that a scan may follow symbolic links.
    ///
    /// # Errors
    /// The key of the policy that forbids it.
    pub fn check_follow(&self) -> Result<(), String> {
        let refusal = "policy.follow_symlinks is false, the scan asks to follow symbolic links";
        if self.follow_symlinks { Ok(()) } else { Err(refusal.to_owned()) }
    }

    /// Checks that a scan may refine an earlier one.
    ///
    /// # Errors
    /// The key of the policy that forbids it.
    pub fn check_refinement(&self) -> Result<(), String> {
        if self.refine { Ok(()) } else { Err("policy.refine is false, the scan asks for a refinement".to_owned()) }
    }
}

impl Times {
    /// Reduces a time in seconds since 1970 to this precision.
    pub(crate) fn rounded(self, seconds: i64) -> i64 {
        const DAY: i64 = 86_400;
        match self {
            Times::Exact => seconds,
            Times::Day => seconds.div_euclid(DAY) * DAY,
            Times::None => 0,
        }
    }
}

impl FinePolicy {
    const NAMES: [(FinePolicy, &str); 3] = [
        (FinePolicy::Always, "always"),
        (FinePolicy::WithinPartyOrKeyed, "within-party-or-keyed"),
        (FinePolicy::Never, "never"),
    ];
}

impl FromStr for FinePolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<FinePolicy, PolicyError> {
        let named = FinePolicy::NAMES.into_iter().find(|(_, name)| *name == text);
        let expected = "always, within-party-or-keyed or never";
        named.map(|(policy, _)| policy).ok_or_else(|| PolicyError { text: text.to_owned(), expected })
    }
}

impl fmt::Display for FinePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = FinePolicy::NAMES.into_iter().find(|(policy, _)| policy == self).expect("all have a name");
        f.write_str(name)
    }
}

impl FromStr for Times {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Times, PolicyError> {
        match text {
            "exact" => Ok(Times::Exact),
            "day" => Ok(Times::Day),
            "none" => Ok(Times::None),
            _ => Err(PolicyError { text: text.to_owned(), expected: "`exact`, `day` or `none`" }),
        }
    }
}

impl Hours {
    /// True if a minute of the day (0 to 1439) is within these hours.
    fn contains(self, minute: u16) -> bool {
        if self.from_minute < self.to_minute {
            (self.from_minute..self.to_minute).contains(&minute)
        } else {
            minute >= self.from_minute || minute < self.to_minute
        }
    }

    /// True if the local time of this machine is within these hours.
    pub(crate) fn allow(self, now: SystemTime) -> bool {
        let Ok(timestamp) = Timestamp::try_from(now) else { return true };
        let local = timestamp.to_zoned(TimeZone::system());
        let minute = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        self.contains(minute)
    }
}

impl FromStr for Hours {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Hours, PolicyError> {
        let minute = |time: &str| {
            let (hour, minute) = time.trim().split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let hours = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
        match hours {
            Some((from_minute, to_minute)) if from_minute != to_minute => Ok(Hours { from_minute, to_minute }),
            _ => Err(PolicyError { text: text.to_owned(), expected: "two different times, as in `22:00-06:00`" }),
        }
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from_minute, self.to_minute);
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn policy() -> Policy {
        Policy {
            chunk_bytes_min: 80,
            chunk_bytes_min_unkeyed_across: 500,
            unkeyed_across_parties: false,
            ..Policy::everything()
        }
    }

    fn check(policy: &Policy, chunk_bytes: u64, keyed: bool, across: bool, refusal: &str) {
        let method = Method::tttd(View::Raw, chunk_bytes).unwrap();
        let answer = policy.check(&RepositoryName::main(), &method, keyed, across).err().unwrap_or_default();
        assert_eq!(answer, refusal, "{chunk_bytes} keyed {keyed} across {across}");
    }

    #[test]
    fn a_refusal_names_the_key_and_both_values() {
        let site = policy();
        check(&site, 80, false, false, "");
        check(&site, 80, true, true, "");
        let unkeyed = "policy.unkeyed_across_parties is false, the scan asks for a scan across parties without a key";
        check(&site, 1000, false, true, unkeyed);
        let open = Policy { unkeyed_across_parties: true, ..policy() };
        check(&open, 500, false, true, "");
        let short = "policy.chunk_bytes_min_unkeyed_across is 500, the scan asks for 499";
        check(&open, 499, false, true, short);
        check(&open, 499, true, true, "");
        let coarse = Policy { chunk_bytes_min: 1000, ..policy() };
        check(&coarse, 999, true, false, "policy.chunk_bytes_min is 1000, the scan asks for 999");
        let other = Policy { methods: vec!["mod".into(), "min".into()], ..policy() };
        check(&other, 999, true, false, "policy.methods is mod, min, the scan asks for tttd");
        let text = Policy { views: vec!["text".into()], ..policy() };
        check(&text, 999, true, false, "policy.views is text, the scan asks for raw");
        check(&Policy::everything(), 80, false, true, "");
        let here = [(RepositoryName::main(), vec!["text".into()])].into();
        let other = Policy { repository_views: here, ..policy() };
        check(&other, 999, true, false, "repository.views of main is text, the scan asks for raw");
        let text = Policy { chunk_bytes_min_unkeyed_across_text: 150, unkeyed_across_parties: true, ..policy() };
        let method = Method::tttd(View::Text, 149).unwrap();
        let refusal = text.check(&RepositoryName::main(), &method, false, true).unwrap_err();
        assert_eq!(refusal, "policy.chunk_bytes_min_unkeyed_across_text is 150, the scan asks for 149");
    }

    #[test]
    fn a_site_that_knows_of_other_parties_believes_no_coordinator_that_there_are_none() {
        let site = Policy { one_party: false, fine: FinePolicy::WithinPartyOrKeyed, term_vectors: false, ..policy() };
        let why = "; every scan counts as one, unless the site's configuration says `one_party = true`";
        let unkeyed = "policy.unkeyed_across_parties is false, the scan asks for a scan across parties without a key";
        check(&site, 1000, false, false, &format!("{unkeyed}{why}"));
        check(&site, 1000, true, false, "");
        let open = Policy { unkeyed_across_parties: true, ..site.clone() };
        let short = "policy.chunk_bytes_min_unkeyed_across is 500, the scan asks for 499";
        check(&open, 499, false, false, &format!("{short}{why}"));
        check(&open, 500, false, false, "");
        assert!(open.check_fine(false, false).is_err() && open.check_fine(true, false).is_ok());
        assert!(open.check_measure(true, false).is_ok());
        let refusal = open.check_measure(false, false).unwrap_err();
        assert_eq!(refusal, "policy.fine is within-party-or-keyed, the scan asks for the exact measure of pairs");
        let vectors = Method::parse("fuzzy", View::Raw, None, "").unwrap().verifier().unwrap();
        let refusal = site.check(&RepositoryName::main(), &vectors, true, false).unwrap_err();
        assert!(refusal.contains("policy.term_vectors is false") && refusal.ends_with(why), "{refusal}");
    }

    #[test]
    fn within_a_party_a_day_has_all_chunks() {
        let site = |one_party| Policy { one_party, fine_share_per_day: 0.25, ..policy() };
        let shares = [true, false].map(|one_party| [false, true].map(|across| site(one_party).fine_share(across)));
        assert_eq!(shares, [[1.0, 0.25], [0.25, 0.25]]);
    }

    #[test]
    fn samples_are_sent_where_fine_chunks_may_be_whatever_the_scan() {
        let site = |fine, one_party| Policy { fine, one_party, ..policy() };
        let sends = |fine, one_party| [true, false].map(|keyed| site(fine, one_party).allows_samples(keyed));
        assert_eq!(sends(FinePolicy::Never, true), [false, false]);
        assert_eq!(sends(FinePolicy::WithinPartyOrKeyed, true), [true, true]);
        assert_eq!(sends(FinePolicy::WithinPartyOrKeyed, false), [true, false]);
        assert_eq!(sends(FinePolicy::Always, false), [true, true]);
    }

    #[test]
    fn methods_without_chunks_have_limits_of_their_own() {
        let site = Policy {
            chunk_bytes_min: 80,
            chunk_bytes_min_unkeyed_across: 500,
            window_bytes_min: 20,
            window_bytes_min_unkeyed_across: 64,
            signature_features_max: 1000,
            plain_indexes: false,
            term_vectors: false,
            ..Policy::everything()
        };
        let check = |name: &str, param: &str, (keyed, across): (bool, bool), refusal: &str| {
            let method = Method::parse(name, View::Raw, None, param).unwrap();
            let answer = site.check(&RepositoryName::main(), &method, keyed, across).err().unwrap_or_default();
            assert_eq!(answer, refusal, "{name} {param} {keyed} {across}");
        };
        let (own, keyed, open) = ((false, false), (true, true), (false, true));
        check("mod", "n=100", own, "");
        check("mod", "n=79", own, "policy.chunk_bytes_min is 80, the scan asks for 79");
        check("bsw", "w=19,n=100", keyed, "policy.window_bytes_min is 20, the scan asks for 19");
        check("mod", "n=1000", open, "policy.window_bytes_min_unkeyed_across is 64, the scan asks for 20");
        check("mod", "w=64,n=499", open, "policy.chunk_bytes_min_unkeyed_across is 500, the scan asks for 499");
        check("mod", "w=64,n=1000", open, "");
        check("min", "n=1000", keyed, "");
        check("min", "n=1001", keyed, "policy.signature_features_max is 1000, the scan asks for 1001");
        check("sketch", "n=100", open, "policy.window_bytes_min_unkeyed_across is 64, the scan asks for 20");
        check("shingle", "w=3,sample=min", own, "policy.window_bytes_min is 20, the scan asks for 18");
        check("shingle", "w=11,sample=levels", open, "");
        check("bsw-chunk", "n=500", open, "");
        check("fuzzy", "", open, "");
        check("terms", "", own, "");
        check("terms", "", keyed, "policy.term_vectors is false, the scan asks for term vectors across parties");
        check("similarity-index", "", own, "");
        let plain = "policy.plain_indexes is false, the scan asks for similarity-index, which no key protects";
        check("similarity-index", "", keyed, plain);
        let alone = Policy { methods: vec!["tttd".into()], ..Policy::everything() };
        let terms = Method::parse("terms", View::Raw, None, "").unwrap();
        let refusal = alone.check(&RepositoryName::main(), &terms, true, false).unwrap_err();
        assert_eq!(refusal, "policy.methods is tttd, the scan asks for fuzzy");
    }

    #[test]
    fn times_have_the_precision_of_the_policy() {
        assert_eq!(Times::Exact.rounded(86_399), 86_399);
        assert_eq!(
            (Times::Day.rounded(86_399), Times::Day.rounded(86_400), Times::Day.rounded(-1)),
            (0, 86_400, -86_400)
        );
        assert_eq!(Times::None.rounded(86_399), 0);
        assert!("hour".parse::<Times>().unwrap_err().to_string().contains("`hour`"));
    }

    #[test]
    fn hours_may_include_midnight() {
        let check = |text: &str, minute, within| {
            assert_eq!(text.parse::<Hours>().unwrap().contains(minute), within, "{text} {minute}");
        };
        check("22:00-06:00", 22 * 60, true);
        check("22:00-06:00", 6 * 60 - 1, true);
        check("22:00-06:00", 6 * 60, false);
        check("22:00-06:00", 12 * 60, false);
        check("08:30-17:00", 8 * 60 + 29, false);
        check("08:30-17:00", 8 * 60 + 30, true);
        for nonsense in ["", "22:00", "25:00-06:00", "22:00-22:00", "22:60-23:00", "a-b"] {
            assert!(nonsense.parse::<Hours>().is_err(), "{nonsense}");
        }
        assert_eq!("22:00-06:05".parse::<Hours>().unwrap().to_string(), "22:00-06:05");
    }

    #[test]
    fn term_vectors_are_requests_of_the_method_fuzzy() {
        let terms = Method::parse("terms", View::Raw, None, "").unwrap();
        let allowed = Policy { methods: vec!["fuzzy".into()], ..Policy::everything() };
        assert_eq!(allowed.check(&RepositoryName::main(), &terms, false, false), Ok(()));
    }

    #[test]
    fn views_of_a_repository_replace_the_views_of_the_site() {
        let [raw, text] = [View::Raw, View::Text].map(|view| Method::tttd(view, 1000).unwrap());
        let views = [("kb".parse().unwrap(), vec!["text".to_owned()])].into();
        let policy = Policy { views: vec!["raw".into()], repository_views: views, ..Policy::everything() };
        let allows = |repository: &str, method| policy.check(&repository.parse().unwrap(), method, true, false).is_ok();
        assert!(allows("kb", &text) && !allows("kb", &raw));
        assert!(allows("other", &raw) && !allows("other", &text));
    }

    #[test]
    fn a_refinement_needs_its_own_permission() {
        assert!(Policy::everything().check_refinement().is_ok());
        let refusal = Policy { refine: false, ..Policy::everything() }.check_refinement().unwrap_err();
        assert_eq!(refusal, "policy.refine is false, the scan asks for a refinement");
    }

    #[test]
    fn every_minute_is_in_the_hours_or_in_the_rest_of_the_day() {
        for (from, to) in [("00:00", "12:00"), ("22:00", "06:00"), ("08:30", "08:31"), ("23:59", "00:00")] {
            let hours: Hours = format!("{from}-{to}").parse().unwrap();
            let rest: Hours = format!("{to}-{from}").parse().unwrap();
            assert!((0..1440).all(|minute| hours.contains(minute) != rest.contains(minute)), "{from} {to}");
        }
    }
}
