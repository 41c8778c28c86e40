//! Finds: where copies, versions and parts of given documents are. A query has fingerprints; the documents, their names and the
//! key stay with the person who asks.
//!
//! These are the questions and the answers, as calls, commands and pages write and read them. A [`Search`] answers the questions.

mod choose;
mod fingerprints;
pub mod hashes;
mod measure;
mod query;
pub mod record;
pub mod stored;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use cognate_fingerprint::{ContentDigest, MethodId, RunLengths, Tag};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::Precision;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FindRelation;
use tokio::time::Instant;

pub use self::choose::finest;
pub use self::fingerprints::Fingerprints;
pub use self::query::{Arriving, FindQuery, Least, SearchedDocument, place, table};
use crate::error::Error;
use cognate_result::report::Ratio;

/// The longest wait for sites, together.
pub const WAIT_MAX: Duration = Duration::from_secs(60);

/// The moment until which a find that begins now waits for sites.
pub fn deadline() -> Instant {
    Instant::now() + WAIT_MAX
}

/// Decides about the sites that a person may see.
pub type Sees = Arc<dyn Fn(&SiteName) -> bool + Send + Sync>;

/// Answers finds.
pub trait Search: Send + Sync + 'static {
    /// The error of a search.
    type Error: From<Error> + From<cognate_storage::Error> + std::fmt::Display + Send + 'static;

    /// Searches the current indexes for documents, and waits for sites until a moment. Only sites that `sees` allows are read,
    /// asked, or named in the answer.
    ///
    /// # Errors
    /// Fails if a site or repository that is asked about is not there, or the state cannot be read.
    fn search(
        self: &Arc<Self>,
        query: FindQuery,
        sees: Sees,
        until: Instant,
    ) -> impl Future<Output = Result<Answer, Self::Error>> + Send;
}

/// A repository, and the index that was searched.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// The site's party.
    pub party: String,
    /// The site.
    pub site: String,
    /// The repository.
    pub repository: String,
    /// The index that was searched, or the reason why none was.
    pub searched: Result<Searched, Unsearched>,
}

/// The reason why a repository was not searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsearched {
    /// It has no index under the method.
    NoIndex,
    /// It has an index under the same method that was made with another key, or none.
    OtherKey,
    /// The query is about several parties and has no key, and its site takes part in nothing of that kind.
    Refuses,
}

/// An index that was searched.
#[derive(Clone, Copy, Debug)]
pub struct Searched {
    /// Its documents.
    pub documents: u64,
    /// Of them, those that the site could not read: they were not searched.
    pub unread: u64,
    /// The time of its seal; seconds since 1970.
    pub sealed: i64,
}

/// The answer to a query.
#[derive(Clone, Default, Debug)]
pub struct Answer {
    /// All repositories that the query is about and the person may see, by site and name.
    pub coverage: Vec<Coverage>,
    /// The length from which a shared run is found, if the method has one: of bytes without repeats.
    pub run_lengths: Option<RunLengths>,
    /// The precision of the answer: coarse if a match or a candidate is; nothing if the method has neither fine chunks nor a
    /// verification.
    pub precision: Option<Precision>,
    /// The reasons why it is coarse, each with the number of matches and candidates; none if the query asked for it.
    pub coarse: Vec<(Coarse, u64)>,
    /// The matches of each document of the query, in their order.
    pub documents: Vec<Found>,
    /// The chunks of the query whose fine chunks were missing: with them, more matches could be fine.
    pub wanted: Vec<Tag>,
}

/// The reason why a match was measured by whole chunks alone, or stays a candidate.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Coarse {
    /// The repository that gave no fine chunks or words, with its site; nothing if the reason is the query.
    pub place: Option<(SiteName, RepositoryName)>,
    /// One line for people.
    pub reason: String,
    /// True if the policy of the site is the reason.
    pub refused: bool,
}

/// The matches of one document.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its size.
    pub size_bytes: u64,
    /// Of it, what templates and chunks of one repeated byte are: they count for nothing.
    pub template_bytes: u64,
    /// The length from which a shared run of this document is found elsewhere.
    pub run_lengths: Option<RunLengths>,
    /// The strongest matches: identical ones first, then by what is shared, falling.
    pub matches: Vec<Match>,
    /// The number of documents that match, and of those that are not among the holders of `matches`.
    pub documents: u64,
    /// See `documents`.
    pub documents_omitted: u64,
}

/// A content that has something in common with a document of the query.
#[derive(Clone, Debug)]
pub struct Match {
    /// The digest of the content.
    pub digest: ContentDigest,
    /// Its size.
    pub size_bytes: u64,
    /// The overlap of the two.
    pub measure: Measure,
    /// The precision of the measure; nothing if the method has neither fine chunks nor a verification.
    pub precision: Option<Precision>,
    /// The reason why it is coarse, unless the query asked for that.
    pub coarse: Option<Coarse>,
    /// The number of documents that have it.
    pub documents: u64,
    /// The first of them, by site, repository and path.
    pub holders: Vec<Holder>,
}

/// The overlap of two contents, as far as the method can measure it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    /// The relation of the match to the document of the query.
    pub relation: FindRelation,
    /// Bytes in common.
    pub shared_bytes: Option<u64>,
    /// The share of their union that they have in common.
    pub resemblance: Option<Share>,
    /// The share of the query's document that is in the match.
    pub sought_in_found: Option<Share>,
    /// The share of the match that is in the query's document.
    pub found_in_sought: Option<Share>,
    /// True if it is estimated from samples.
    pub estimated: bool,
}

/// A ratio; where it is an estimate, also the interval that holds the true one in 95 of 100 cases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share {
    /// The ratio.
    pub ratio: Ratio,
    /// From and to.
    pub interval: Option<[Ratio; 2]>,
    /// The probability that an estimate from such a sample is within a tenth of such a ratio.
    pub within_tenth: Option<Ratio>,
}

impl Share {
    /// A ratio that is no estimate, or whose error is not known.
    pub(crate) fn of(ratio: Ratio) -> Share {
        Share { ratio, interval: None, within_tenth: None }
    }
}

/// A document that has a content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Holder {
    /// Its site.
    pub site: SiteName,
    /// Its repository.
    pub repository: RepositoryName,
    /// Its path.
    pub path: DocumentPath,
    /// The time of its last change; seconds since 1970.
    pub modified: i64,
    /// The site's party.
    pub party: String,
}

impl Found {
    /// Puts the matches in order and leaves the strongest.
    pub fn list(&mut self, matches_max: usize) {
        self.matches.sort_by(Match::order);
        self.matches.truncate(matches_max);
        let listed: u64 = self.matches.iter().map(|one| one.holders.len() as u64).sum();
        self.documents_omitted = self.documents.saturating_sub(listed);
    }
}

impl Coarse {
    /// The query is the reason.
    pub fn of_query(reason: &str) -> Coarse {
        Coarse { place: None, reason: reason.to_owned(), refused: false }
    }

    /// A repository is the reason.
    pub fn of_site(place: &(SiteName, RepositoryName), reason: impl Into<String>) -> Coarse {
        Coarse { place: Some(place.clone()), reason: reason.into(), refused: false }
    }
}

impl Match {
    /// The strongest first.
    pub fn order(a: &Match, b: &Match) -> std::cmp::Ordering {
        b.measure.rank().cmp(&a.measure.rank()).then(a.digest.cmp(&b.digest))
    }
}

/// The id of a method with a key that is not known here.
fn method_id_of(spec: &cognate_proto::v1::MethodSpec) -> Result<MethodId, Error> {
    let id = spec.method_id.as_slice().try_into().map(MethodId);
    id.map_err(|_| Error::Invalid("`method_id`: it has 16 bytes".to_owned()))
}
