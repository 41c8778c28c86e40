//! Find by hashes: the files that have an MD5, SHA-1 or SHA-256 of a list. No index has these: the list goes to the
//! sites that store such hashes of their files, and only hits come back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cognate_desk::find::hashes::{HashAnswer, HashCoverage, HashHolder, HashQuery};
use cognate_proto::file_hash::{FileHashList, HashKinds};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::v1::FileHashCoverage;
use tokio::task::JoinSet;

use super::Finder;
use crate::error::Error;
use crate::session::{SiteAnswer, SiteQuestion};

/// The query to a site, or the reason for having none.
struct SitePart {
    site: SiteName,
    party: String,
    repositories: Vec<RepositoryName>,
    /// Of the kinds on the list.
    kinds: HashKinds,
    refusal: Option<String>,
}

impl Finder {
    /// Asks the sites that store hashes of their files. Only sites that `sees` allows are asked or named.
    ///
    /// # Errors
    /// When a site or repository that is asked about is not there, or the state cannot be read.
    pub(crate) async fn find_hashes(
        self: Arc<Self>,
        query: HashQuery,
        asked_by: &str,
        sees: &(dyn Fn(&SiteName) -> bool + Sync),
    ) -> Result<HashAnswer, Error> {
        let places = self.repositories(&query.repositories, sees)?;
        let mut asking = JoinSet::new();
        for part in self.parts(&query, places)? {
            let list = query.list.hashes().iter().copied().filter(|hash| part.kinds.contains(hash.kind())).collect();
            let list = Arc::new(FileHashList::new(list).map_err(|error| Error::Invalid(error.to_string()))?);
            let question = SiteQuestion {
                list,
                repositories: part.repositories.clone(),
                holders_max: query.holders_max,
                asked_by: asked_by.to_owned(),
            };
            let finder = Arc::clone(&self);
            asking.spawn(async move {
                let answer = match &part.refusal {
                    Some(refusal) => Err(refusal.clone()),
                    None => finder.sessions.query(&part.site, question.clone()).await,
                };
                (part, question.list, answer)
            });
        }
        let mut whole = HashAnswer::default();
        while let Some(answered) = asking.join_next().await {
            let (part, list, answer) = answered.expect("asking a site does not panic");
            add(&mut whole, &query.list, part, &list, answer);
        }
        whole.finish(query.holders_max);
        Ok(whole)
    }

    /// The query to each site.
    fn parts(&self, query: &HashQuery, places: BTreeSet<(SiteName, RepositoryName)>) -> Result<Vec<SitePart>, Error> {
        let mut sites: BTreeMap<SiteName, Vec<RepositoryName>> = BTreeMap::new();
        places.into_iter().for_each(|(site, repository)| sites.entry(site).or_default().push(repository));
        let mut parts = Vec::new();
        for (site, repositories) in sites {
            let party = self.store.party_of_data(&site)?.map(|party| party.to_string()).unwrap_or_default();
            let attached = self.sessions.attached(&site);
            let kinds = attached.as_ref().map(|attached| attached.file_hashes).unwrap_or_default();
            let offered = attached.as_ref().map(|attached| attached.repositories.clone()).unwrap_or_default();
            let refusal = match &attached {
                None => Some("its site is not attached"),
                Some(attached) if attached.paused => Some("its site is paused"),
                Some(_) if kinds.is_empty() => Some("its site keeps no hashes of files (policy.file_hashes)"),
                Some(_) => None,
            };
            let refusal = refusal.map(str::to_owned).or_else(|| {
                let stored = kinds.and(query.list.kinds());
                stored.is_empty().then(|| missing(query.list.kinds()))
            });
            let kinds = if refusal.is_some() { HashKinds::NONE } else { kinds.and(query.list.kinds()) };
            let (offered, gone): (Vec<_>, Vec<_>) =
                repositories.into_iter().partition(|name| refusal.is_some() || offered.contains(name));
            let part = |repositories, kinds, refusal| SitePart {
                site: site.clone(),
                party: party.clone(),
                repositories,
                kinds,
                refusal,
            };
            if !gone.is_empty() {
                parts.push(part(gone, HashKinds::NONE, Some("its site does not offer it now".to_owned())));
            }
            if !offered.is_empty() {
                parts.push(part(offered, kinds, refusal));
            }
        }
        Ok(parts)
    }
}

fn missing(kinds: HashKinds) -> String {
    format!("its site keeps no {kinds} of its files (policy.file_hashes)")
}

/// Adds the answer of one site, whose list was a part of the full one.
fn add(
    all: &mut HashAnswer,
    whole: &FileHashList,
    part: SitePart,
    list: &FileHashList,
    answer: Result<SiteAnswer, String>,
) {
    let SitePart { site, party, repositories, kinds, .. } = part;
    let (answer, failure) = match answer {
        Ok(answer) => (answer, None),
        Err(failure) => (SiteAnswer::default(), Some(failure)),
    };
    let others = whole.kinds().but(kinds);
    for repository in repositories {
        let coverage = answer.coverage.get(&repository);
        let reason = match (&failure, coverage) {
            (Some(failure), _) => failure.clone(),
            (None, None) => "its site said nothing of it".to_owned(),
            (None, Some(_)) if !others.is_empty() => missing(others),
            (None, Some(_)) => String::new(),
        };
        let FileHashCoverage { files, files_without, synced, .. } = coverage.cloned().unwrap_or_default();
        all.coverage.push(HashCoverage {
            party: party.clone(),
            site: site.to_string(),
            repository: repository.to_string(),
            kinds: if coverage.is_some() { kinds } else { HashKinds::NONE },
            reason,
            files,
            files_without,
            synced,
        });
    }
    for (number, (files, holders)) in answer.hits {
        let hash = list.hashes().get(number as usize);
        let Some(number) = hash.and_then(|hash| whole.number(hash)) else { continue };
        let hit = all.hits.entry(number).or_default();
        hit.files += files;
        hit.holders.extend(holders.into_iter().map(|file| HashHolder {
            party: party.clone(),
            site: site.clone(),
            repository: file.repository,
            path: file.path,
            size_bytes: file.size_bytes,
            modified: file.modified,
            state: file.state,
        }));
    }
}
