//! Questions by hashes of files to sites, and their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cognate_proto::file_hash::FileHashList;
use cognate_proto::limits::FILE_HASH_HOLDERS_MAX;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashCoverage, FileHashHit, FileHashQuery, FileHashState};

use super::Sessions;
use super::questions::{Asked, NoAnswer, Questions};
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

/// The open questions.
pub(super) type FileHashQuestions = Questions<SiteQuestion, SiteAnswer>;

pub(super) fn questions() -> FileHashQuestions {
    Questions::within(ANSWER_MAX)
}

impl Sessions {
    /// Asks a site, and waits for its answer; an error is one line for people.
    pub(crate) async fn query(&self, site: &SiteName, question: SiteQuestion) -> Result<SiteAnswer, String> {
        let message = |number, question: &SiteQuestion| {
            Down::FileHashQuery(FileHashQuery {
                query: number,
                hashes: question.list.hashes().len() as u64,
                repositories: question.repositories.iter().map(ToString::to_string).collect(),
                holders_max: question.holders_max,
                asked_by: question.asked_by.clone(),
            })
        };
        self.ask(&self.file_hash_questions, site, question, message).await.map_err(NoAnswer::reason)
    }

    /// The hashes that a site was asked about.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a question.
    pub(crate) fn hashes_asked(&self, site: &SiteName, number: u64) -> Result<Arc<FileHashList>, Error> {
        Ok(Arc::clone(&self.file_hash_questions.asked(site, number)?.question.list))
    }

    /// Begins to receive a site's answer.
    ///
    /// # Errors
    /// See [`Sessions::hashes_asked`].
    pub(crate) fn answering(&self, site: &SiteName, number: u64) -> Result<Answering<'_>, Error> {
        Ok(Answering { asked: self.file_hash_questions.asked(site, number)?, answer: SiteAnswer::default() })
    }
}

/// An incomplete answer.
pub(crate) struct Answering<'a> {
    asked: Asked<'a, SiteQuestion, SiteAnswer>,
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
                let asked = self.asked.question.repositories.iter().find(|name| name.as_str() == coverage.repository);
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
                    false => Err(NoAnswer::given(&end.failure, false)),
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
        if !follows || hit.number as usize >= self.asked.question.list.hashes().len() {
            return Err(nonsense("names a hash that was not asked for, or out of order"));
        }
        let (files, holders) = self.answer.hits.entry(hit.number).or_default();
        *files = (*files).max(hit.files);
        self.answer.files += hit.holders.len();
        let too_many = holders.len() + hit.holders.len() > self.asked.question.holders_max as usize
            || self.answer.files > FILE_HASH_HOLDERS_MAX;
        if too_many || (holders.len() + hit.holders.len()) as u64 > *files {
            return Err(nonsense("names more files than were asked for"));
        }
        for holder in hit.holders {
            let state = holder.state();
            let named = self.asked.question.repositories.iter().find(|name| name.as_str() == holder.repository);
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
    pub(crate) fn finish(&self, answer: Result<SiteAnswer, NoAnswer>) {
        self.asked.answer(answer);
    }
}
