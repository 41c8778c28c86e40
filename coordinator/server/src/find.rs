//! Find: the places of copies, versions and parts of given documents. A query has fingerprints; the documents, their
//! names and the key stay with the person who asks.
//!
//! The current indexes are searched one after the other by their runs, as they were sealed; nothing is synced. The
//! answer from a method's postings is exact for methods that cut; the signatures of others are read back and compared. Then
//! sites are asked for the fine chunks of the strongest matches, or for the words of what a method only proposes, as far as
//! they are attached and allow it.

mod arrivals;
mod draft;
mod fine;
mod hashes;
mod search;
mod verify;

use crate::identity::Members;
use crate::session::Sessions;
use cognate_storage::indexes::Indexes;
use cognate_storage::store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use cognate_desk::find::{Answer, Coverage, FindQuery, Search, Sees, Unsearched};
use cognate_fingerprint::{Key, Method, Runs};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::Precision;

use crate::error::Error;
use cognate_storage::disk::blocking;
use cognate_storage::store::SlotKey;

pub(crate) use self::arrivals::Arrivals;

/// Finds that run at the same time: each may use a few hundred megabytes of memory.
pub(crate) const FINDS_AT_ONCE: usize = 2;
/// Finds that search, or wait for sites: each has its query and what it found in memory.
pub(crate) const FINDS_UNDER_WAY: usize = 6;

/// Searches indexes for documents, and asks sites for hashes of files.
pub(crate) struct Finder {
    pub(crate) store: Arc<Store>,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) members: Arc<Members>,
    pub(crate) sessions: Arc<Sessions>,
    /// Queries that are not complete.
    pub(crate) arrivals: Arrivals,
    pub(crate) turns: Semaphore,
    pub(crate) under_way: Semaphore,
}

/// What a search by whole chunks found.
struct Searching {
    answer: Answer,
    drafts: Vec<draft::Draft>,
    /// What sites are asked for; nothing if the answer is by whole chunks alone.
    plan: Option<Plan>,
}

/// What sites are asked for.
enum Plan {
    /// The fine chunks of the strongest matches.
    Fine(fine::Plan),
    /// The words of what the method only proposes.
    Terms(verify::Plan),
}

impl Search for Finder {
    type Error = Error;

    async fn search(self: &Arc<Self>, query: FindQuery, sees: Sees, until: Instant) -> Result<Answer, Error> {
        self.find(Arc::new(query), sees, None, until).await
    }
}

impl Finder {
    /// Searches the current indexes for documents, and measures the strongest matches by fine chunks. Only sites that `sees`
    /// allows are read, asked, or named in the answer. The `turn` ends before sites are asked, and they are waited for `until` a moment.
    ///
    /// # Errors
    /// Fails if a site or repository that is asked about is not there, or the state cannot be read.
    pub(crate) async fn find(
        self: &Arc<Self>,
        query: Arc<FindQuery>,
        sees: Sees,
        turn: Option<SemaphorePermit<'_>>,
        until: Instant,
    ) -> Result<Answer, Error> {
        let _place = self.under_way.acquire().await.map_err(|_| Error::Cancelled)?;
        let (finder, asked) = (Arc::clone(self), Arc::clone(&query));
        let searching = blocking(move || finder.by_whole_chunks(&asked, &*sees)).await?;
        drop(turn);
        let Searching { mut answer, drafts, plan } = searching;
        let Some(mut plan) = plan else {
            for draft in drafts {
                let mut found = draft.found;
                found.list(query.matches_max);
                answer.documents.push(found);
            }
            return Ok(answer);
        };
        match &mut plan {
            Plan::Fine(plan) => self.ask_sites(plan, until).await,
            Plan::Terms(plan) => self.ask_terms(plan, until).await,
        }
        blocking(move || {
            match plan {
                Plan::Fine(plan) => plan.finish(drafts, &mut answer),
                Plan::Terms(plan) => plan.finish(drafts, &mut answer),
            }
            Ok(answer)
        })
        .await
    }

    /// Searches by whole chunks. Blocks for as long as reading the indexes takes.
    fn by_whole_chunks(&self, query: &Arc<FindQuery>, sees: &dyn Fn(&SiteName) -> bool) -> Result<Searching, Error> {
        let places = self.places(query, sees)?;
        let is_unkeyed = query.method_id == query.method.id(&Key::none());
        let across_parties = self.crosses_parties(sees)?;
        let crosses_unkeyed = is_unkeyed && across_parties;
        let names = places.keys().map(|(site, repository)| (site.to_string(), repository.to_string()));
        let _hold = self.indexes.hold(names);
        let runs = Runs::of(&query.method);
        let mut search = search::Search::new(self, query)?;
        let mut coverage = Vec::new();
        for ((site, repository), other_key) in places {
            let party = self.store.party_of_data(&site)?.map(|party| party.to_string()).unwrap_or_default();
            let refuses = crosses_unkeyed && !self.agrees_unkeyed(&site)?;
            let key = SlotKey { site, repository, method_id: query.method_id, scope: None };
            let searched = match refuses {
                true => Err(Unsearched::Refuses),
                false => search.index(&key, &party)?.ok_or(if other_key {
                    Unsearched::OtherKey
                } else {
                    Unsearched::NoIndex
                }),
            };
            coverage.push(Coverage {
                party,
                site: key.site.to_string(),
                repository: key.repository.to_string(),
                searched,
            });
        }
        let (mut drafts, templates) = search.finish(runs.as_ref());
        let run_lengths = runs.map(|runs| runs.lengths());
        let mut answer = Answer { coverage, run_lengths, ..Answer::default() };
        if query.is_verified() {
            let plan = self.verify_plan(query, &drafts, across_parties)?;
            return Ok(Searching { answer, drafts, plan: Some(Plan::Terms(plan)) });
        }
        if !query.is_fine() {
            answer.precision = query.has_precision().then_some(Precision::Coarse);
            let all = drafts.iter_mut().flat_map(|draft| &mut draft.found.matches);
            all.for_each(|one| one.precision = answer.precision);
            return Ok(Searching { answer, drafts, plan: None });
        }
        let plan = self.fine_plan(query, &drafts, &templates, across_parties)?;
        Ok(Searching { answer, drafts, plan: Some(Plan::Fine(plan)) })
    }

    /// True if whoever asks sees sites of several parties: then the question is one of another party.
    fn crosses_parties(&self, sees: &dyn Fn(&SiteName) -> bool) -> Result<bool, Error> {
        let mut parties = BTreeSet::new();
        for (key, ..) in self.indexes.all()?.into_iter().filter(|(key, ..)| sees(&key.site)) {
            // Of a site that was revoked, what it sent is still its party's.
            parties.insert(self.store.party_of_data(&key.site)?.map(|party| party.to_string()));
        }
        Ok(parties.len() > 1)
    }

    /// True if the policy of a site allows what crosses parties without a key, as it said last.
    fn agrees_unkeyed(&self, site: &SiteName) -> Result<bool, Error> {
        match self.sessions.attached(site) {
            Some(attached) => Ok(attached.unkeyed_across_parties),
            None => Ok(self.store.seen(site)?.unkeyed_across_parties),
        }
    }

    /// The repositories that the query is about; true if one has an index under the method with another key.
    fn places(
        &self,
        query: &FindQuery,
        sees: &dyn Fn(&SiteName) -> bool,
    ) -> Result<BTreeMap<(SiteName, RepositoryName), bool>, Error> {
        let places = self.repositories(&query.repositories, sees)?;
        let mut places: BTreeMap<_, _> = places.into_iter().map(|place| (place, false)).collect();
        for (key, _, row) in self.indexes.all()? {
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

    /// The repositories that the query is about: all that are known, of sites that `sees` allows.
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
        places.extend(self.indexes.all()?.into_iter().map(|(key, ..)| (key.site, key.repository)));
        places.retain(|(site, _)| sees(site));
        let is_within = |place: &(SiteName, RepositoryName),
                         (site, repository): &(SiteName, Option<RepositoryName>)| {
            place.0 == *site && repository.as_ref().is_none_or(|repository| place.1 == *repository)
        };
        if let Some((site, repository)) = asked.iter().find(|asked| !places.iter().any(|place| is_within(place, asked)))
        {
            let name =
                repository.as_ref().map_or_else(|| site.to_string(), |repository| format!("{site}/{repository}"));
            return Err(Error::UnknownMember(format!("no repository `{name}`: `cognate repo list` lists them")));
        }
        places.retain(|place| asked.is_empty() || asked.iter().any(|asked| is_within(place, asked)));
        Ok(places)
    }
}

#[cfg(test)]
mod tests;
