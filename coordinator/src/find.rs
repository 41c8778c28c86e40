//! Find: where copies, versions and parts of documents are that somebody has. What is asked for are fingerprints; the
//! documents, their names and the key stay with who asks.
//!
//! The indexes that stand are searched one after the other by their runs, as they were sealed; nothing is synced. What a
//! method's postings tell is exact for methods that cut; others' signatures are read back and held against each other.

mod fingerprints;
pub mod hashes;
mod measure;
mod query;
pub mod record;
mod search;
pub(crate) mod stored;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use cognate_fingerprint::{ContentDigest, Method, MethodId, RunLengths, Runs};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FindRelation;

pub use self::fingerprints::Fingerprints;
pub use self::query::{FindQuery, Least, Sought};
use crate::coordinator::Coordinator;
use crate::error::Error;
use crate::report::Ratio;
use crate::store::SlotKey;

pub(crate) use self::query::Arriving;

/// A repository, and whether it was searched.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// The site's party.
    pub party: String,
    /// The site.
    pub site: String,
    /// The repository.
    pub repository: String,
    /// What was searched of it; nothing: it has no index under the method.
    pub searched: Option<Searched>,
    /// It has an index under the same method that was made with another key, or none.
    pub other_key: bool,
}

/// An index that was searched.
#[derive(Clone, Copy, Debug)]
pub struct Searched {
    /// Its documents.
    pub documents: u64,
    /// Of them, those that the site could not read: they were not searched.
    pub unread: u64,
    /// When it was sealed; seconds since 1970.
    pub sealed: i64,
}

/// What was found of all that was sought.
#[derive(Clone, Default, Debug)]
pub struct Answer {
    /// All repositories that who asks may see and asked about, by site and name.
    pub coverage: Vec<Coverage>,
    /// How long runs must be that are found, where the method can tell: of bytes without repeats.
    pub run_lengths: Option<RunLengths>,
    /// What was found of each document that was sought, in their order.
    pub documents: Vec<Found>,
}

/// What was found of one document.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its size.
    pub size_bytes: u64,
    /// Of it, what templates and chunks of one repeated byte are: they count for nothing.
    pub template_bytes: u64,
    /// How long runs of this document must be that are found elsewhere.
    pub run_lengths: Option<RunLengths>,
    /// The strongest matches: identical ones first, then by what is shared, falling.
    pub matches: Vec<Match>,
    /// How many documents match, and how many of them are not among the holders of `matches`.
    pub documents: u64,
    /// See `documents`.
    pub documents_omitted: u64,
}

/// A content that has something in common with what was sought.
#[derive(Clone, Debug)]
pub struct Match {
    /// Which content.
    pub digest: ContentDigest,
    /// Its size.
    pub size_bytes: u64,
    /// What the two have in common.
    pub measure: Measure,
    /// How many documents have it.
    pub documents: u64,
    /// The first of them, by site, repository and path.
    pub holders: Vec<Holder>,
}

/// What two contents have in common, as far as the method can tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    /// What was found, to what was sought.
    pub relation: FindRelation,
    /// Bytes in common.
    pub shared_bytes: Option<u64>,
    /// What they share of what either has.
    pub resemblance: Option<Share>,
    /// What of the sought document is in the one that was found.
    pub sought_in_found: Option<Share>,
    /// What of the one that was found is in the sought document.
    pub found_in_sought: Option<Share>,
    /// Whether it was estimated from samples.
    pub estimated: bool,
}

/// A ratio, and the interval that holds it in 95 of 100 cases where it is an estimate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share {
    /// The ratio.
    pub ratio: Ratio,
    /// From and to.
    pub interval: Option<[Ratio; 2]>,
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
    /// When it was last modified; seconds since 1970.
    pub modified: i64,
    /// The site's party.
    pub party: String,
}

impl Coordinator {
    /// Searches the indexes that stand for documents. Only sites that `sees` lets through are looked at or spoken of.
    ///
    /// Blocks for as long as reading the indexes takes.
    ///
    /// # Errors
    /// When a site or repository that is asked about is not there, or the state cannot be read.
    pub fn find(&self, query: &FindQuery, sees: &dyn Fn(&SiteName) -> bool) -> Result<Answer, Error> {
        let places = self.places(query, sees)?;
        let names = places.keys().map(|(site, repository)| (site.to_string(), repository.to_string()));
        let _hold = self.scans.indexes.hold(names);
        let runs = Runs::of(&query.method);
        let mut search = search::Search::new(self, query)?;
        let mut coverage = Vec::new();
        for ((site, repository), other_key) in places {
            let party = self.store.party_of(&site)?.map(|party| party.to_string()).unwrap_or_default();
            let key = SlotKey { site, repository, method_id: query.method_id, scope: None };
            let searched = search.index(&key, &party)?;
            coverage.push(Coverage {
                party,
                site: key.site.to_string(),
                repository: key.repository.to_string(),
                searched,
                other_key,
            });
        }
        let documents = search.finish(runs.as_ref());
        Ok(Answer { coverage, run_lengths: runs.map(|runs| runs.lengths()), documents })
    }

    /// The repositories that are asked about, each with whether it has an index under the method with another key.
    fn places(
        &self,
        query: &FindQuery,
        sees: &dyn Fn(&SiteName) -> bool,
    ) -> Result<BTreeMap<(SiteName, RepositoryName), bool>, Error> {
        let places = self.repositories(&query.repositories, sees)?;
        let mut places: BTreeMap<_, _> = places.into_iter().map(|place| (place, false)).collect();
        for (key, _, row) in self.scans.indexes.all()? {
            let is_same_method = || {
                let method = row.header.as_ref().and_then(|header| header.method.as_ref());
                method.and_then(|method| Method::try_from(method).ok()) == Some(query.method)
            };
            let other = key.method_id != query.method_id && key.scope.is_none() && row.sealed && is_same_method();
            if let Some(place) = places.get_mut(&(key.site, key.repository)) {
                *place |= other;
            }
        }
        Ok(places)
    }

    /// The repositories that are asked about: all that are known, of sites that `sees` lets through.
    fn repositories(
        &self,
        asked: &[(SiteName, Option<RepositoryName>)],
        sees: &dyn Fn(&SiteName) -> bool,
    ) -> Result<BTreeSet<(SiteName, RepositoryName)>, Error> {
        let mut places = BTreeSet::new();
        for member in self.members.list(cognate_proto::v1::MemberKind::Site)? {
            let Some(Ok(site)) = member.membership.map(|membership| membership.name.parse::<SiteName>()) else {
                continue;
            };
            let mut known = self.store.seen(&site)?.repositories;
            if let Some(attached) = self.sessions.attached(&site) {
                known.extend(attached.repositories.iter().map(ToString::to_string));
            }
            places.extend(known.iter().filter_map(|name| Some((site.clone(), name.parse().ok()?))));
        }
        places.extend(self.scans.indexes.all()?.into_iter().map(|(key, ..)| (key.site, key.repository)));
        places.retain(|(site, _)| sees(site));
        let is_within = |place: &(SiteName, RepositoryName),
                         (site, repository): &(SiteName, Option<RepositoryName>)| {
            place.0 == *site && repository.as_ref().is_none_or(|repository| place.1 == *repository)
        };
        if let Some((site, repository)) = asked.iter().find(|asked| !places.iter().any(|place| is_within(place, asked)))
        {
            let name =
                repository.as_ref().map_or_else(|| site.to_string(), |repository| format!("{site}/{repository}"));
            return Err(Error::UnknownMember(format!(
                "no repository `{name}`: `cognate repo list` shows what there is"
            )));
        }
        places.retain(|place| asked.is_empty() || asked.iter().any(|asked| is_within(place, asked)));
        Ok(places)
    }
}

/// The id of a method with a key that is not known here.
pub(crate) fn method_id_of(spec: &cognate_proto::v1::MethodSpec) -> Result<MethodId, Error> {
    let id = spec.method_id.as_slice().try_into().map(MethodId);
    id.map_err(|_| Error::Invalid("`method_id`: it has 16 bytes".to_owned()))
}
