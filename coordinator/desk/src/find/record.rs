//! An answer as one object, schema `cognate.find/1`: for programs, and for the files of cases.

use cognate_fingerprint::{Key, Method, MethodId, RunLengths};
use cognate_proto::options::Precision;
use cognate_proto::path::escaped;
use cognate_proto::v1::FindRelation;
use serde::{Deserialize, Serialize};

use super::{Answer, Coarse, Coverage, Found, Holder, Match, Share, Unsearched};
use cognate_result::report::{Ratio, time};

/// The schema of the object.
pub const SCHEMA: &str = "cognate.find/1";

/// The method of a query.
#[derive(Clone, Copy, Debug)]
pub struct Under {
    /// The method.
    pub method: Method,
    /// Its id with the key.
    pub id: MethodId,
}

impl Under {
    /// The granularity: the mean chunk, or the parameters of a method that has others.
    pub fn fineness(&self) -> String {
        match self.method.capabilities().mean_is_parameter {
            true => self.method.chunk_bytes().to_string(),
            false => self.method.param(),
        }
    }

    /// The command that makes an index of repositories under this method.
    pub fn launch<'a>(&self, places: impl Iterator<Item = &'a Coverage>) -> String {
        let places: Vec<String> = places.map(|row| format!("{}/{}", row.site, row.repository)).collect();
        let method = &self.method;
        let mut line = format!("cognate scan launch --repositories {}", places.join(","));
        let mut add = |words: String| {
            line.push(' ');
            line.push_str(&words);
        };
        if method.name() != "tttd" {
            add(format!("--method {}", method.name()));
        }
        if method.view() != cognate_fingerprint::View::Raw {
            add(format!("--view {}", method.view()));
        }
        if method.capabilities().mean_is_parameter {
            add(format!("--chunk-bytes {}", method.chunk_bytes()));
        } else if !method.param().is_empty() {
            add(format!("--param {}", method.param()));
        }
        line
    }

    fn row(&self) -> UnderRow {
        UnderRow {
            chunk_bytes: self.method.chunk_bytes().into(),
            keyed: self.id != self.method.id(&Key::none()),
            method: self.method.name().to_owned(),
            method_id: self.id.to_string(),
            param: self.method.param(),
            view: self.method.view().to_string(),
        }
    }
}

/// The word for a relation.
pub fn relation(relation: FindRelation) -> &'static str {
    match relation {
        FindRelation::Identical => "identical",
        FindRelation::Near => "near",
        FindRelation::Contains => "contains",
        FindRelation::Contained => "contained",
        FindRelation::Candidate => "candidate",
        FindRelation::Shares | FindRelation::Unspecified => "shares",
    }
}

/// An answer. Commands, stored cases and pages read and write this type; its fields are in the order of their names.
#[derive(Serialize, Deserialize, Debug)]
pub struct FindRecord {
    /// The reasons why matches are coarse; none if the query asked for whole chunks alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coarse: Vec<CoarseRow>,
    /// The repositories that the query is about.
    pub coverage: Vec<CoverageRow>,
    /// The documents of the query, with their matches.
    pub documents: Vec<DocumentRow>,
    /// The part that occurs once.
    #[serde(flatten)]
    pub head: Head,
}

/// The part of an answer that occurs once.
#[derive(Serialize, Deserialize, Debug)]
pub struct Head {
    /// `fine`, or `coarse` if a match or a candidate was measured by whole chunks alone; absent if the method has no fine
    /// chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The length from which a shared run is found, if the method has one.
    pub run_lengths: Option<LengthsRow>,
    /// [`SCHEMA`].
    pub schema: String,
    /// The method of the query.
    pub under: UnderRow,
}

/// The reason why matches are coarse.
#[derive(Serialize, Deserialize, Debug)]
pub struct CoarseRow {
    /// The number of matches and candidates; absent in the row of a match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<u64>,
    /// One line for people.
    pub reason: String,
    /// True if the policy of the site is the reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// The repository that gave no fine chunks; absent if the reason is the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Its site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// The method of a query.
#[derive(Serialize, Deserialize, Debug)]
pub struct UnderRow {
    /// The mean chunk in bytes.
    pub chunk_bytes: u64,
    /// True if the hashes are made with a secret key.
    pub keyed: bool,
    /// The method's name.
    pub method: String,
    /// Its id with the key.
    pub method_id: String,
    /// Its parameters.
    pub param: String,
    /// `raw`, `text` or `passages`.
    pub view: String,
}

/// Lengths in bytes of shared runs that are found with a probability of 50, 95 and 99 %.
#[derive(Serialize, Deserialize, Debug)]
pub struct LengthsRow {
    /// One run in two is found.
    pub p50: Option<u64>,
    /// One run in twenty is missed.
    pub p95: Option<u64>,
    /// One run in a hundred is missed.
    pub p99: Option<u64>,
}

/// A repository, and its search.
#[derive(Serialize, Deserialize, Debug)]
pub struct CoverageRow {
    /// True if it was searched.
    pub covered: bool,
    /// If searched: its documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// If not searched: the command that makes it searchable, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Option<String>>,
    /// The site's party.
    pub party: String,
    /// If not searched: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The repository.
    pub repository: String,
    /// If searched: the time of the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// The site.
    pub site: String,
    /// If searched: documents that the site could not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<u64>,
}

/// One document of the query, with its matches.
#[derive(Serialize, Deserialize, Debug)]
pub struct DocumentRow {
    /// Documents that match.
    pub documents: u64,
    /// Of them, those that no match names.
    pub documents_omitted: u64,
    /// The strongest matches.
    pub matches: Vec<MatchRow>,
    /// Its name, as the person gave it.
    pub path: String,
    /// The length from which a shared run of it is found elsewhere.
    pub run_lengths: Option<LengthsRow>,
    /// Its size.
    pub size_bytes: u64,
    /// Of it, bytes that count for nothing.
    pub template_bytes: u64,
}

/// A content that has something in common with a document of the query.
#[derive(Serialize, Deserialize, Debug)]
pub struct MatchRow {
    /// The reason why it is coarse, unless the query asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarse: Option<CoarseRow>,
    /// Its digest.
    pub content: String,
    /// Documents that have it.
    pub documents: u64,
    /// True if the shares are estimates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The share of the match that is in the query's document.
    pub found_in_sought: Option<Ratio>,
    /// The first documents that have it.
    pub holders: Vec<HolderRow>,
    /// Of estimates: the intervals that hold the true shares in 95 of 100 cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// The precision of the measure; absent if the method has no fine chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The word for the relation.
    pub relation: String,
    /// The share of their union that they have in common.
    pub resemblance: Option<Ratio>,
    /// Bytes in common.
    pub shared_bytes: Option<u64>,
    /// Its size.
    pub size_bytes: u64,
    /// The share of the query's document that is in the match.
    pub sought_in_found: Option<Ratio>,
    /// Of estimates: the probability that an estimate from such a sample is within a tenth of such a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_tenth: Option<WithinTenth>,
}

/// The intervals of estimated shares.
#[derive(Serialize, Deserialize, Debug)]
pub struct Intervals {
    /// The interval of `found_in_sought`.
    pub found_in_sought: Option<[Ratio; 2]>,
    /// The interval of `resemblance`.
    pub resemblance: Option<[Ratio; 2]>,
    /// The interval of `sought_in_found`.
    pub sought_in_found: Option<[Ratio; 2]>,
}

/// The probabilities that estimated shares are close to the true ones.
#[derive(Serialize, Deserialize, Debug)]
pub struct WithinTenth {
    /// That of `found_in_sought`.
    pub found_in_sought: Option<Ratio>,
    /// That of `resemblance`.
    pub resemblance: Option<Ratio>,
    /// That of `sought_in_found`.
    pub sought_in_found: Option<Ratio>,
}

/// A document that has a content.
#[derive(Serialize, Deserialize, Debug)]
pub struct HolderRow {
    /// The time of its last change.
    pub modified: String,
    /// The site's party.
    pub party: String,
    /// Its path.
    pub path: String,
    /// Set if the path is percent-escaped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub path_escaped: bool,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
}

impl FindRecord {
    /// The full answer. `names`: the names of the query's documents.
    pub fn of(under: &Under, answer: &Answer, names: &[String]) -> FindRecord {
        let documents = names.iter().zip(&answer.documents).map(|(name, found)| DocumentRow::of(name, found));
        FindRecord {
            coarse: answer.coarse.iter().map(|(coarse, matches)| CoarseRow::of(coarse, Some(*matches))).collect(),
            coverage: answer.coverage.iter().map(|row| CoverageRow::of(under, row)).collect(),
            documents: documents.collect(),
            head: Head {
                precision: answer.precision,
                run_lengths: answer.run_lengths.map(LengthsRow::from),
                schema: SCHEMA.to_owned(),
                under: under.row(),
            },
        }
    }
}

impl CoverageRow {
    fn of(under: &Under, row: &Coverage) -> CoverageRow {
        let unsearched = row.searched.err();
        CoverageRow {
            covered: unsearched.is_none(),
            documents: row.searched.ok().map(|searched| searched.documents),
            launch: unsearched.map(|why| (why == Unsearched::NoIndex).then(|| under.launch(std::iter::once(row)))),
            party: row.party.clone(),
            reason: unsearched.map(|why| reason(why).to_owned()),
            repository: row.repository.clone(),
            sealed: row.searched.ok().map(|searched| time(searched.sealed)),
            site: row.site.clone(),
            unread: row.searched.ok().map(|searched| searched.unread),
        }
    }
}

impl CoarseRow {
    /// The row of a reason.
    pub fn of(coarse: &Coarse, matches: Option<u64>) -> CoarseRow {
        let (site, repository) =
            coarse.place.as_ref().map(|(site, repository)| (site.to_string(), repository.to_string())).unzip();
        CoarseRow { matches, reason: coarse.reason.clone(), refused: coarse.refused, repository, site }
    }

    /// The reason with its repository, in one line.
    pub fn line(&self) -> String {
        match (&self.site, &self.repository) {
            (Some(site), Some(repository)) => format!("{site}/{repository}: {}", self.reason),
            _ => self.reason.clone(),
        }
    }
}

impl DocumentRow {
    fn of(name: &str, found: &Found) -> DocumentRow {
        DocumentRow {
            documents: found.documents,
            documents_omitted: found.documents_omitted,
            matches: found.matches.iter().map(MatchRow::from).collect(),
            path: name.to_owned(),
            run_lengths: found.run_lengths.map(LengthsRow::from),
            size_bytes: found.size_bytes,
            template_bytes: found.template_bytes,
        }
    }
}

impl From<&Match> for MatchRow {
    fn from(found: &Match) -> MatchRow {
        let measure = &found.measure;
        let ratio = |share: Option<Share>| share.map(|share| share.ratio);
        let interval = |share: Option<Share>| share.and_then(|share| share.interval);
        let intervals = || Intervals {
            found_in_sought: interval(measure.found_in_sought),
            resemblance: interval(measure.resemblance),
            sought_in_found: interval(measure.sought_in_found),
        };
        let within_tenth = |share: Option<Share>| share.and_then(|share| share.within_tenth);
        let probabilities = || WithinTenth {
            found_in_sought: within_tenth(measure.found_in_sought),
            resemblance: within_tenth(measure.resemblance),
            sought_in_found: within_tenth(measure.sought_in_found),
        };
        MatchRow {
            coarse: found.coarse.as_ref().map(|coarse| CoarseRow::of(coarse, None)),
            content: found.digest.to_string(),
            documents: found.documents,
            estimated: measure.estimated,
            found_in_sought: ratio(measure.found_in_sought),
            holders: found.holders.iter().map(HolderRow::from).collect(),
            intervals: measure.estimated.then(intervals),
            precision: found.precision,
            relation: relation(measure.relation).to_owned(),
            resemblance: ratio(measure.resemblance),
            shared_bytes: measure.shared_bytes,
            size_bytes: found.size_bytes,
            sought_in_found: ratio(measure.sought_in_found),
            within_tenth: measure.estimated.then(probabilities),
        }
    }
}

impl From<&Holder> for HolderRow {
    fn from(holder: &Holder) -> HolderRow {
        let (path, path_escaped) = escaped(holder.path.as_bytes());
        HolderRow {
            modified: time(holder.modified),
            party: holder.party.clone(),
            path: path.into_owned(),
            path_escaped,
            repository: holder.repository.to_string(),
            site: holder.site.to_string(),
        }
    }
}

impl From<RunLengths> for LengthsRow {
    fn from(RunLengths { p50, p95, p99 }: RunLengths) -> LengthsRow {
        LengthsRow { p50, p95, p99 }
    }
}

/// The reason for which a repository was not searched.
pub fn reason(unsearched: Unsearched) -> &'static str {
    match unsearched {
        Unsearched::NoIndex => "it was not scanned by this method yet",
        Unsearched::OtherKey => "its index under this method was made with another key, or with none",
        Unsearched::Refuses => {
            "its policy allows nothing across parties without a key (unkeyed_across_parties): give all sites a key"
        }
    }
}

#[cfg(test)]
mod tests;
