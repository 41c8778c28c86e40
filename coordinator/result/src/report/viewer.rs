//! The one place that decides who may see what of a result. Everything that shows a result to somebody with bounds asks
//! here: calls, pages, finds, stored queries, and the share of a result that a site fetches.
//!
//! Sites of one party trust each other: a viewer of a party sees the paths of all of them. Of other parties it sees at
//! which sites there are copies, and how many; never their repositories, their paths, or the reasons of their failures.

use cognate_proto::name::PartyName;
use cognate_proto::v1;
use serde_json::{Value, json};

use super::{DocumentSection, MissingRow, OverlapSection, ScanSection, SiteSection};

/// Fields of a partner that a viewer sees if the partner is another party's.
const FOREIGN_PARTNER: [&str; 4] = ["relation", "shared_bytes", "site", "view"];
/// Shown in place of the reason for which another party's repository did not take part.
const FOREIGN_REASON: &str = "it did not take part";
/// Shown in place of the reason for which a scan failed, or waits, that concerns another party.
const FOREIGN_FAILURE: &str = "the reason may name another party's files: a person who is not bound can read it";

/// The bounds of whoever looks at a result. Without bounds, a viewer sees everything.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Viewer {
    site: Option<String>,
    party: Option<String>,
}

/// A person who reads verdicts. A verdict counts in the results that its author may read, and is shown to those who may read
/// the result that it was made in: nobody decides, or learns, what concerns another party.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reader {
    /// The party whose results alone this person may read; nothing: all.
    pub party: Option<String>,
}

impl Viewer {
    /// A person, by the site and the party that the certificate names.
    pub fn bound(site: Option<&str>, party: Option<&str>) -> Viewer {
        Viewer { site: site.map(str::to_owned), party: party.map(str::to_owned) }
    }

    /// The bounds of a stored query: empty names are no bounds.
    pub fn stored(site: &str, party: &str) -> Viewer {
        let some = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Viewer { site: some(site), party: some(party) }
    }

    /// A site of a party.
    pub(super) fn of_site(site: &str, party: &str) -> Viewer {
        Viewer::bound(Some(site), Some(party))
    }

    /// True if there is anything that this viewer may not see.
    pub fn is_bound(&self) -> bool {
        self.site.is_some() || self.party.is_some()
    }

    /// True if the viewer may see that a site exists, and search it. `party_of` looks up the party of a site.
    pub fn sees_site(&self, site: &str, party_of: impl FnOnce(&str) -> Option<PartyName>) -> bool {
        self.owns(site)
            && self.party.as_deref().is_none_or(|own| party_of(site).as_ref().map(PartyName::as_str) == Some(own))
    }

    /// True if the viewer may see a query that was stored under these bounds, and its answers.
    pub fn sees_stored(&self, stored: &Viewer) -> bool {
        !self.is_bound() || self == stored
    }

    /// The first of a result's sites whose paths the viewer may not see; none: it may read all of the result.
    pub fn hidden_site<'a>(
        &self,
        mut sites: impl Iterator<Item = &'a str>,
        party_of: impl Fn(&str) -> Option<PartyName>,
    ) -> Option<&'a str> {
        if !self.is_bound() {
            return None;
        }
        let own = self.own_party(&party_of);
        sites.find(|site| party_of(site).as_ref().map(PartyName::as_str) != own.as_deref())
    }

    /// The viewer's party: that of the bounds, or of the site to which the viewer is bound.
    fn own_party(&self, party_of: impl Fn(&str) -> Option<PartyName>) -> Option<String> {
        let of_site = || self.site.as_deref().and_then(party_of).map(|party| party.to_string());
        self.party.clone().or_else(of_site)
    }

    /// The viewer as a reader of verdicts.
    pub fn reader(&self, party_of: impl Fn(&str) -> Option<PartyName>) -> Reader {
        // Nobody is of the party without a name: a site that is gone has no results to read.
        Reader { party: self.is_bound().then(|| self.own_party(party_of).unwrap_or_default()) }
    }

    /// True if the viewer may see the paths of a party's documents.
    pub(super) fn sees_paths_of(&self, party: &str) -> bool {
        self.party.as_deref().is_none_or(|own| own == party)
    }

    /// True if the viewer is not bound to another site.
    pub(super) fn owns(&self, site: &str) -> bool {
        self.site.as_deref().is_none_or(|own| own == site)
    }

    /// True if a row of the overlap is about the viewer's own site or party.
    pub(super) fn sees_overlap(&self, row: &OverlapSection) -> bool {
        let own = if row.level == "site" { &self.site } else { &self.party };
        own.as_deref().is_none_or(|own| row.a == own || row.b == own)
    }

    /// A repository in numbers; of another party's only the number of documents.
    pub(super) fn site(&self, row: &SiteSection) -> Value {
        match self.sees_paths_of(&row.party) {
            true => serde_json::to_value(row).unwrap_or_default(),
            false => json!({"party": row.party, "site": row.site, "documents": row.documents}),
        }
    }

    /// Removes from the scan's section the repositories of other parties.
    pub(super) fn scan(&self, scan: &mut ScanSection, sites: &[SiteSection]) {
        let is_own = |site: &str| sites.iter().any(|row| row.site == site && self.sees_paths_of(&row.party));
        if let Some(run) = &mut scan.run {
            run.sites.retain(|row| is_own(&row.site));
        }
        // Patterns may name folders of another party.
        if self.is_bound() && !sites.iter().all(|row| is_own(&row.site)) {
            scan.selection = None;
            scan.estimates.clear();
        }
        self.missing(&mut scan.missing, is_own);
    }

    /// Blanks repository and reason of what is missing at other parties: the reason may name a place in the repository.
    fn missing(&self, rows: &mut [MissingRow], is_own: impl Fn(&str) -> bool) {
        for row in rows.iter_mut().filter(|row| self.is_bound() && !is_own(&row.site)) {
            row.repository.clear();
            FOREIGN_REASON.clone_into(&mut row.reason);
        }
    }

    /// Blanks what a scan's state holds of other parties: of their repositories the name, the progress and the reason,
    /// and what may name their folders: the patterns and the reason of the scan's failure. `party_of` looks up the party
    /// of a site.
    pub fn scan_state(&self, state: &mut v1::ScanState, party_of: impl Fn(&str) -> Option<PartyName>) {
        let is_syncing = state.status() == v1::ScanStatus::Syncing;
        if !state.options.as_mut().is_some_and(|options| self.scan_options(options, &party_of)) {
            return;
        }
        for row in &mut state.repositories {
            let site = row.repository.as_ref().map(|named| named.site.clone()).unwrap_or_default();
            if self.is_foreign(&site, &party_of) {
                let failure = if row.failure.is_empty() || is_syncing { "" } else { FOREIGN_REASON };
                *row = v1::RepositoryState {
                    repository: Some(v1::RepositoryRef { site, repository: String::new() }),
                    ended: row.ended && !is_syncing,
                    failure: failure.to_owned(),
                    ..v1::RepositoryState::default()
                };
            }
        }
        for reason in [&mut state.failure, &mut state.waiting] {
            if !reason.is_empty() {
                FOREIGN_FAILURE.clone_into(reason);
            }
        }
    }

    /// Blanks what a scan's options hold of other parties; true if it concerns one.
    pub fn scan_options(&self, options: &mut v1::ScanOptions, party_of: impl Fn(&str) -> Option<PartyName>) -> bool {
        let mut concerns_others = false;
        for named in &mut options.repositories {
            if self.is_foreign(&named.site, &party_of) {
                named.repository.clear();
                concerns_others = true;
            }
        }
        if concerns_others {
            for patterns in [&mut options.include, &mut options.exclude, &mut options.control, &mut options.align] {
                patterns.clear();
            }
        }
        concerns_others
    }

    fn is_foreign(&self, site: &str, party_of: impl Fn(&str) -> Option<PartyName>) -> bool {
        self.hidden_site(std::iter::once(site), party_of).is_some()
    }

    /// A document of the viewer's. `partner_party`: the party of the document that it is compared with, if known.
    pub(super) fn document(&self, row: &DocumentSection, partner_party: Option<&str>) -> Value {
        let mut value = serde_json::to_value(row).unwrap_or_default();
        let is_foreign = self.party.is_some() && !partner_party.is_some_and(|party| self.sees_paths_of(party));
        if is_foreign && let Some(partner) = value.get_mut("partner").and_then(Value::as_object_mut) {
            partner.retain(|field, _| FOREIGN_PARTNER.contains(&field.as_str()));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::PartnerRow;
    use super::*;

    const SECRET: &str = "secret-of-the-other-party";

    fn document(partner_path: &str, view: Option<&str>, escaped: bool) -> DocumentSection {
        let partner = PartnerRow {
            outside_share: None,
            path: partner_path.to_owned(),
            path_escaped: escaped.then_some(true),
            relation: "near".to_owned(),
            repository: SECRET.to_owned(),
            share: None,
            shared_bytes: 9,
            site: "tokyo".to_owned(),
            view: view.map(str::to_owned),
        };
        DocumentSection {
            at_sites: Vec::new(),
            standard_text_sites: Vec::new(),
            loose_set: None,
            content: None,
            elsewhere: Some("yes".to_owned()),
            message_id_hash: None,
            modified: "2026-01-01T00:00:00Z".to_owned(),
            partner: Some(partner),
            path: "own.txt".to_owned(),
            path_escaped: None,
            payload_bytes: 1,
            recognised: None,
            repository: "kb".to_owned(),
            site: "paris".to_owned(),
            size_bytes: 1,
            status: "near".to_owned(),
            text_bytes: None,
            text_content: None,
            undecided: None,
            unmeasured: None,
        }
    }

    fn party(site: &str) -> Option<PartyName> {
        let party = match site {
            "paris" | "lyon" => "acme",
            "tokyo" => "other",
            _ => return None,
        };
        party.parse().ok()
    }

    proptest! {
        #[test]
        fn no_field_of_a_partner_names_the_path_of_another_party(
            folder in "[a-z/]{0,20}",
            view in proptest::option::of("(raw|text)"),
            escaped: bool,
            known: bool,
        ) {
            let row = document(&format!("{folder}{SECRET}"), view.as_deref(), escaped);
            let viewer = Viewer::of_site("paris", "acme");
            let shown = viewer.document(&row, known.then_some("other"));
            prop_assert!(!shown.to_string().contains(SECRET), "{shown}");
            prop_assert!(shown["partner"]["site"] == "tokyo" && shown["path"] == "own.txt");
            // To its own party the row is shown as it is.
            prop_assert_eq!(viewer.document(&row, Some("acme")), serde_json::to_value(&row).unwrap());
            prop_assert_eq!(Viewer::default().document(&row, None), serde_json::to_value(&row).unwrap());
        }

        #[test]
        fn a_viewer_reads_a_result_only_if_it_may_see_each_of_its_sites(
            bound in prop::sample::select(vec![(None, None), (Some("paris"), None), (None, Some("acme")), (Some("lyon"), Some("acme"))]),
            sites in prop::collection::vec(prop::sample::select(vec!["paris", "lyon", "tokyo", "forgotten"]), 0..5),
        ) {
            let viewer = Viewer::bound(bound.0, bound.1);
            let foreign = sites.iter().copied().find(|site| !matches!(*site, "paris" | "lyon"));
            let hidden = viewer.hidden_site(sites.iter().copied(), party);
            prop_assert_eq!(hidden, foreign.filter(|_| viewer.is_bound()));
        }
    }

    #[test]
    fn a_viewer_sees_sites_within_both_of_its_bounds() {
        let sees = |site: Option<&str>, party_name: Option<&str>| {
            let viewer = Viewer::bound(site, party_name);
            ["paris", "lyon", "tokyo", "forgotten"].map(|site| viewer.sees_site(site, party))
        };
        assert_eq!(sees(None, None), [true; 4]);
        assert_eq!(sees(None, Some("acme")), [true, true, false, false]);
        assert_eq!(sees(Some("paris"), Some("acme")), [true, false, false, false]);
        assert_eq!(sees(Some("tokyo"), Some("acme")), [false; 4]);
    }

    #[test]
    fn a_stored_query_is_seen_under_the_same_bounds_or_none() {
        let stored = Viewer::stored("", "acme");
        assert!(Viewer::default().sees_stored(&stored) && Viewer::bound(None, Some("acme")).sees_stored(&stored));
        assert!(!Viewer::bound(Some("paris"), Some("acme")).sees_stored(&stored));
        assert!(!Viewer::bound(None, Some("acme")).sees_stored(&Viewer::stored("", "")));
    }

    #[test]
    fn failures_at_another_party_name_neither_repository_nor_reason() {
        let missing = |site: &str| MissingRow {
            reason: format!("/{SECRET} cannot be read"),
            repository: SECRET.to_owned(),
            site: site.to_owned(),
        };
        let mut rows = vec![missing("tokyo"), missing("lyon")];
        let viewer = Viewer::of_site("paris", "acme");
        viewer.missing(&mut rows, |site| site == "lyon");
        assert!(!format!("{:?}", rows[0]).contains(SECRET) && rows[0].site == "tokyo");
        assert_eq!(rows[1].repository, SECRET);
    }
}
