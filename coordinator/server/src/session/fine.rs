//! Queries for fine chunks to sites, and their answers. Each query has a number of its own, and only its site answers it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_analysis::fine::{FineAnswer, FineFailure, FineRequest};
use cognate_fingerprint::Tag;
use cognate_proto::fine::{FineChoice, expansions};
use cognate_proto::name::{SiteName, one_line};
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::fine_chunks_request::Message as Up;
use cognate_proto::v1::{FineQuery, MethodSpec};
use prost::Message as _;
use tokio::sync::{Notify, oneshot};

use super::{Sessions, lock};
use crate::error::Error;

/// The longest time in which a site cuts one portion of chunks again, and in which nothing of it comes: a site may read a
/// large document for some of them.
const ANSWER_MAX: Duration = Duration::from_secs(1800);
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// The facts about a scan that a site's policy decides by.
#[derive(Clone, Copy)]
pub(crate) struct FineScan {
    /// The scan crosses parties.
    pub(crate) across_parties: bool,
    /// The scan read the targets of symbolic links as well.
    pub(crate) follow_symlinks: bool,
}

/// The end of a query without an answer.
pub(crate) enum NoAnswer {
    /// The site was not there, or went away before it answered: asked again, it may answer.
    Absent(FineFailure),
    /// Any other reason.
    Failed(FineFailure),
}

impl NoAnswer {
    pub(crate) fn absent(reason: &str) -> NoAnswer {
        NoAnswer::Absent(FineFailure::passing(reason))
    }
}

/// The queries that have not been answered.
#[derive(Default)]
pub(super) struct FineQueries {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
}

struct Open {
    site: SiteName,
    choice: Arc<FineChoice>,
    heard: Arc<Notify>,
    /// Moves to the caller with the answer.
    answered: oneshot::Sender<Result<FineAnswer, NoAnswer>>,
}

/// A query for as long as a caller waits for its answer.
struct Waiting<'a> {
    queries: &'a FineQueries,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.queries.open).remove(&self.number);
    }
}

impl Sessions {
    /// Asks a site for fine chunks, and waits for its answer; an error has the reason.
    pub(crate) async fn ask_fine(&self, request: FineRequest, scan: FineScan) -> Result<FineAnswer, NoAnswer> {
        let FineRequest { site, repository, method, method_id, choice } = request;
        let Some(mut live) = self.live(&site) else { return Err(NoAnswer::absent("its site is not attached")) };
        let queries = &self.fine_queries;
        let number = queries.next.fetch_add(1, Ordering::Relaxed) + 1;
        let message = Down::FineQuery(FineQuery {
            query: number,
            repository: repository.to_string(),
            method: Some(MethodSpec { method_id: method_id.0.to_vec(), ..MethodSpec::from(&method) }),
            across_parties: scan.across_parties,
            contents: choice.contents.len() as u64,
            chunks: choice.tags().count() as u64,
            follow_symlinks: scan.follow_symlinks,
        });
        let (answered, answer) = oneshot::channel();
        let heard = Arc::new(Notify::new());
        let open = Open { site: site.clone(), choice: Arc::new(choice), heard: Arc::clone(&heard), answered };
        lock(&queries.open).insert(number, open);
        let _waiting = Waiting { queries, number };
        if !self.send(&site, message) {
            return Err(NoAnswer::absent("its site does not read its messages"));
        }
        tokio::select! {
            answer = answer => match answer {
                Ok(answer) => answer,
                Err(_) => Err(NoAnswer::absent("its site did not answer")),
            },
            () = live.ended() => Err(NoAnswer::absent("its site disconnected before it answered")),
            () = tokio::time::sleep(ANSWER_MAX) => Err(late(ANSWER_MAX)),
            () = silence(&heard) => Err(late(SILENCE_MAX)),
        }
    }

    /// The contents and chunks that a site was asked about.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a query.
    pub(crate) fn fine_choice(&self, site: &SiteName, number: u64) -> Result<Arc<FineChoice>, Error> {
        let open = lock(&self.fine_queries.open);
        let asked = open.get(&number).filter(|open| open.site == *site);
        let asked = asked.ok_or_else(|| Error::Stale("no caller waits for these fine chunks".to_owned()))?;
        Ok(Arc::clone(&asked.choice))
    }

    /// Begins to receive a site's answer.
    ///
    /// # Errors
    /// See [`Sessions::fine_choice`].
    pub(crate) fn answering_fine(&self, site: &SiteName, number: u64) -> Result<AnsweringFine<'_>, Error> {
        let choice = self.fine_choice(site, number)?;
        Ok(AnsweringFine {
            queries: &self.fine_queries,
            number,
            left: choice.tags().collect(),
            answer: FineAnswer::default(),
        })
    }
}

pub(super) fn late(within: Duration) -> NoAnswer {
    let minutes = within.as_secs() / 60;
    NoAnswer::Failed(FineFailure::passing(format!("its site did not answer within {minutes} minutes")))
}

/// Resolves when nothing has come for too long.
async fn silence(heard: &Notify) {
    while tokio::time::timeout(SILENCE_MAX, heard.notified()).await.is_ok() {}
}

/// An incomplete answer.
pub(crate) struct AnsweringFine<'a> {
    queries: &'a FineQueries,
    number: u64,
    /// The chunks that are not answered yet.
    left: HashSet<Tag>,
    answer: FineAnswer,
}

impl AnsweringFine<'_> {
    /// Receives the next message; returns true if it was the last.
    ///
    /// # Errors
    /// Fails if the message is not expected here.
    pub(crate) fn take(&mut self, message: Up) -> Result<bool, Error> {
        match message {
            Up::Answer(_) => Err(Error::Invalid("an answer of fine chunks begins twice".to_owned())),
            Up::Table(table) => {
                if let Some(open) = lock(&self.queries.open).get(&self.number) {
                    open.heard.notify_one();
                }
                self.answer.sent_bytes += table.encoded_len() as u64;
                let found = expansions(&table, &mut self.left);
                self.answer.expansions.extend(found.map_err(|error| Error::Invalid(error.to_string()))?);
                Ok(false)
            }
            Up::End(end) => {
                self.answer.changed_contents = end.changed_contents;
                self.answer.read_bytes = end.read_bytes;
                let answer = std::mem::take(&mut self.answer);
                self.finish(match end.failure.is_empty() {
                    true => Ok(answer),
                    false => {
                        Err(NoAnswer::Failed(FineFailure { reason: one_line(&end.failure), refused: end.refused }))
                    }
                });
                Ok(true)
            }
        }
    }

    /// Hands the answer to the caller that waits for it.
    pub(crate) fn finish(&self, answer: Result<FineAnswer, NoAnswer>) {
        if let Some(open) = lock(&self.queries.open).remove(&self.number) {
            // The caller may have given up.
            let _ = open.answered.send(answer);
        }
    }
}
