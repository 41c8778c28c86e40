//! Queries by hashes of files to sites, and their answers. Each site has a number of its own for its query, and answers
//! that number alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::file_hash::FileHashList;
use cognate_proto::limits::FILE_HASH_HOLDERS_MAX;
use cognate_proto::name::{RepositoryName, SiteName, one_line};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashCoverage, FileHashHit, FileHashQuery, FileHashState};
use tokio::sync::oneshot;

use super::{Sessions, lock};
use crate::error::Error;

/// The longest time in which a site looks through its hashes.
const ANSWER_MAX: Duration = Duration::from_secs(600);

/// A query to one site.
#[derive(Clone)]
pub(crate) struct SiteQuestion {
    /// The hashes, of kinds that it stores.
    pub(crate) list: Arc<FileHashList>,
    /// Its repositories that the query is about.
    pub(crate) repositories: Vec<RepositoryName>,
    /// The number of files that it names for a hash.
    pub(crate) holders_max: u32,
    /// The person who asks.
    pub(crate) asked_by: String,
}

/// The answer of a site, checked.
#[derive(Default, Debug)]
pub(crate) struct SiteAnswer {
    /// The coverage of each repository.
    pub(crate) coverage: BTreeMap<RepositoryName, FileHashCoverage>,
    /// By the number of the hash: the number of files that have it, and the first of them.
    pub(crate) hits: BTreeMap<u32, (u64, Vec<SiteFile>)>,
    files: usize,
}

/// A file that has a hash.
#[derive(Debug)]
pub(crate) struct SiteFile {
    pub(crate) repository: RepositoryName,
    pub(crate) path: DocumentPath,
    pub(crate) size_bytes: u64,
    pub(crate) modified: i64,
    pub(crate) state: FileHashState,
}

/// The questions that have not been answered.
#[derive(Default)]
pub(crate) struct Queries {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
}

struct Open {
    site: SiteName,
    question: SiteQuestion,
    /// Moves to the caller with the first answer.
    answered: oneshot::Sender<Result<SiteAnswer, String>>,
}

/// A query for as long as a caller waits for its answer.
struct Waiting<'a> {
    queries: &'a Queries,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.queries.open).remove(&self.number);
    }
}

impl Sessions {
    /// Asks a site, and waits for its answer; an error is one line for people.
    pub(crate) async fn query(&self, site: &SiteName, question: SiteQuestion) -> Result<SiteAnswer, String> {
        let Some(mut live) = self.live(site) else { return Err("its site is not attached".to_owned()) };
        let number = self.queries.next.fetch_add(1, Ordering::Relaxed) + 1;
        let message = Down::FileHashQuery(FileHashQuery {
            query: number,
            hashes: question.list.hashes().len() as u64,
            repositories: question.repositories.iter().map(ToString::to_string).collect(),
            holders_max: question.holders_max,
            asked_by: question.asked_by.clone(),
        });
        let (answered, answer) = oneshot::channel();
        lock(&self.queries.open).insert(number, Open { site: site.clone(), question, answered });
        let _waiting = Waiting { queries: &self.queries, number };
        if !self.send(site, message) {
            return Err("its site does not read its messages".to_owned());
        }
        tokio::select! {
            answer = answer => answer.unwrap_or_else(|_| Err("its site did not answer".to_owned())),
            () = live.ended() => Err("its site disconnected before it answered".to_owned()),
            () = tokio::time::sleep(ANSWER_MAX) => {
                Err(format!("its site did not answer within {} minutes", ANSWER_MAX.as_secs() / 60))
            }
        }
    }

    /// The hashes that a site was asked about.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a question.
    pub(crate) fn hashes_asked(&self, site: &SiteName, number: u64) -> Result<Arc<FileHashList>, Error> {
        self.asked(site, number).map(|question| question.list)
    }

    /// Begins to receive a site's answer.
    ///
    /// # Errors
    /// See [`Sessions::hashes_asked`].
    pub(crate) fn answering(&self, site: &SiteName, number: u64) -> Result<Answering<'_>, Error> {
        let question = self.asked(site, number)?;
        Ok(Answering { queries: &self.queries, number, question, answer: SiteAnswer::default() })
    }

    fn asked(&self, site: &SiteName, number: u64) -> Result<SiteQuestion, Error> {
        let open = lock(&self.queries.open);
        let asked = open.get(&number).filter(|open| open.site == *site);
        let asked = asked.ok_or_else(|| Error::Stale("no caller waits for an answer to this question".to_owned()))?;
        Ok(asked.question.clone())
    }
}

/// An incomplete answer.
pub(crate) struct Answering<'a> {
    queries: &'a Queries,
    number: u64,
    question: SiteQuestion,
    answer: SiteAnswer,
}

impl Answering<'_> {
    /// Receives the next message; returns true if it was the last.
    ///
    /// # Errors
    /// Fails if the message is not expected here.
    pub(crate) fn take(&mut self, message: Up) -> Result<bool, Error> {
        let nonsense = |what: &str| Error::Invalid(format!("an answer by hashes of files {what}"));
        match message {
            Up::Answer(_) => return Err(nonsense("begins twice")),
            Up::Coverage(coverage) => {
                let asked = self.question.repositories.iter().find(|name| name.as_str() == coverage.repository);
                let name = asked.ok_or_else(|| nonsense("is about a repository that was not asked for"))?;
                if !self.answer.hits.is_empty() || self.answer.coverage.insert(name.clone(), coverage).is_some() {
                    return Err(nonsense("reports the coverage twice, or too late"));
                }
            }
            Up::Hits(hits) => hits.hits.into_iter().try_for_each(|hit| self.hit(hit))?,
            Up::End(end) => {
                let answer = std::mem::take(&mut self.answer);
                self.finish(match end.failure.is_empty() {
                    true => Ok(answer),
                    false => Err(one_line(&end.failure)),
                });
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn hit(&mut self, hit: FileHashHit) -> Result<(), Error> {
        let nonsense = |what: &str| Error::Invalid(format!("an answer by hashes of files {what}"));
        let last = self.answer.hits.last_key_value().map(|(number, _)| *number);
        let follows = last.is_none_or(|last| last <= hit.number);
        if !follows || hit.number as usize >= self.question.list.hashes().len() {
            return Err(nonsense("names a hash that was not asked for, or out of order"));
        }
        let (files, holders) = self.answer.hits.entry(hit.number).or_default();
        *files = (*files).max(hit.files);
        self.answer.files += hit.holders.len();
        let too_many = holders.len() + hit.holders.len() > self.question.holders_max as usize
            || self.answer.files > FILE_HASH_HOLDERS_MAX;
        if too_many || (holders.len() + hit.holders.len()) as u64 > *files {
            return Err(nonsense("names more files than were asked for"));
        }
        for holder in hit.holders {
            let state = holder.state();
            let named = self.question.repositories.iter().find(|name| name.as_str() == holder.repository);
            holders.push(SiteFile {
                repository: named.cloned().ok_or_else(|| nonsense("is about a repository that was not asked for"))?,
                path: DocumentPath::new(&holder.path).map_err(|error| Error::Invalid(error.to_string()))?,
                size_bytes: holder.size_bytes,
                modified: holder.modified,
                state,
            });
        }
        Ok(())
    }

    /// Hands the answer to the caller that waits for it.
    pub(crate) fn finish(&self, answer: Result<SiteAnswer, String>) {
        let open = lock(&self.queries.open).remove(&self.number);
        if let Some(open) = open {
            // The caller may have given up.
            let _ = open.answered.send(answer);
        }
    }
}
