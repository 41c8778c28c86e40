//! Questions for fine chunks to sites, and their answers, which come in parts.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_analysis::fine::{FineAnswer, FineRequest, FineSiteEnd};
use cognate_fingerprint::Tag;
use cognate_proto::fine::{Expansion, FineChoice, answered};
use cognate_proto::name::SiteName;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::fine_chunks_request::Message as Up;
use cognate_proto::v1::{FineQuery, MethodSpec};
use prost::Message as _;
use tokio::sync::{mpsc, oneshot};

use super::questions::{Asked, NoAnswer, Questions};
use super::{Live, Sessions, lock};
use crate::error::Error;

/// The facts about a scan that a site's policy decides by.
#[derive(Clone, Copy)]
pub(crate) struct FineScan {
    /// The scan crosses parties.
    pub(crate) across_parties: bool,
    /// The scan read the targets of symbolic links as well.
    pub(crate) follow_symlinks: bool,
}

/// A question, as long as it is open.
pub(super) struct FineQuestion {
    /// The caller's number.
    number: usize,
    choice: FineChoice,
    /// The chunks of the choice, in its order.
    asked: Vec<Tag>,
    /// The chunks that no part has had yet.
    left: Arc<Mutex<HashSet<Tag>>>,
    parts: mpsc::Sender<FinePart>,
}

/// A part of an answer.
pub(crate) struct FinePart {
    /// The number that the caller gave its question.
    pub(crate) number: usize,
    pub(crate) expansions: Vec<Expansion>,
    /// Bytes of the message.
    pub(crate) sent_bytes: u64,
    /// Whoever keeps the part sends here, and the site may send more.
    pub(crate) kept: oneshot::Sender<()>,
}

/// The open questions, each with its contents and chunks.
pub(super) type OpenFineQuestions = Questions<FineQuestion, FineSiteEnd>;

/// Questions that are waited for as long as the caller does: a site may read for hours, and its session shows that it is alive.
pub(super) fn questions() -> OpenFineQuestions {
    Questions::within(Duration::MAX)
}

impl Sessions {
    /// Asks a site for fine chunks, whose parts go to `parts` under the number of the request, and waits for the end of its answer. After
    /// an error, the request has only the chunks that no part had: asked again, the site sends the rest.
    pub(crate) async fn ask_fine(
        &self,
        number: usize,
        request: &mut FineRequest,
        scan: FineScan,
        parts: mpsc::Sender<FinePart>,
    ) -> Result<FineSiteEnd, NoAnswer> {
        let asked: Vec<Tag> = request.choice.tags().collect();
        let left: Arc<Mutex<HashSet<Tag>>> = Arc::new(Mutex::new(asked.iter().copied().collect()));
        let question = FineQuestion { number, choice: request.choice.clone(), asked, left: Arc::clone(&left), parts };
        let message = |query, question: &FineQuestion| {
            Down::FineQuery(FineQuery {
                query,
                repository: request.repository.to_string(),
                method: Some(MethodSpec {
                    method_id: request.method_id.0.to_vec(),
                    ..MethodSpec::from(&request.method)
                }),
                across_parties: scan.across_parties,
                contents: question.choice.contents.len() as u64,
                chunks: question.asked.len() as u64,
                follow_symlinks: scan.follow_symlinks,
            })
        };
        let asked = self.ask(&self.fine_questions, &request.site, question, message).await;
        if asked.is_err() {
            request.choice.retain(&lock(&left));
        }
        asked
    }

    /// Asks a site for fine chunks, and waits for all of its answer.
    pub(crate) async fn ask_fine_at_once(
        &self,
        mut request: FineRequest,
        scan: FineScan,
    ) -> Result<FineAnswer, NoAnswer> {
        let mut answer = FineAnswer::default();
        let mut take = |part: FinePart| {
            answer.expansions.extend(part.expansions);
            answer.sent_bytes += part.sent_bytes;
            // The site may be gone.
            let _ = part.kept.send(());
        };
        let (parts, mut arriving) = mpsc::channel(1);
        let asking = self.ask_fine(0, &mut request, scan, parts);
        tokio::pin!(asking);
        let end = loop {
            tokio::select! {
                Some(part) = arriving.recv() => take(part),
                end = &mut asking => break end?,
            }
        };
        while let Ok(part) = arriving.try_recv() {
            take(part);
        }
        Ok(FineAnswer { changed_contents: end.changed_contents, read_bytes: end.read_bytes, ..answer })
    }

    /// The contents and chunks that a site was asked about.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a question.
    pub(crate) fn fine_choice(&self, site: &SiteName, number: u64) -> Result<FineChoice, Error> {
        Ok(self.fine_questions.asked(site, number)?.question.choice.clone())
    }

    /// Begins to receive a site's answer.
    ///
    /// # Errors
    /// See [`Sessions::fine_choice`].
    pub(crate) fn answering_fine(&self, site: &SiteName, number: u64) -> Result<AnsweringFine<'_>, Error> {
        let asked = self.fine_questions.asked(site, number)?;
        let live = self.live(site).ok_or_else(|| Error::Stale("the session has ended".to_owned()))?;
        Ok(AnsweringFine { asked, live })
    }
}

/// An incomplete answer.
pub(crate) struct AnsweringFine<'a> {
    asked: Asked<'a, FineQuestion, FineSiteEnd>,
    live: Live,
}

/// The outcome of a message.
pub(crate) enum TakenFine {
    /// A part of the answer. The receiver resolves once the part is kept.
    Part(oneshot::Receiver<()>),
    /// The last message.
    End,
}

impl AnsweringFine<'_> {
    /// Resolves when the session of the site ends: nothing more comes of this answer.
    pub(crate) async fn ended(&mut self) {
        self.live.ended().await;
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// Fails if the message is not expected here, or no caller waits for it any more.
    pub(crate) async fn take(&mut self, message: Up) -> Result<TakenFine, Error> {
        match message {
            Up::Answer(_) => Err(Error::Invalid("an answer of fine chunks begins twice".to_owned())),
            Up::Table(table) => {
                let sent_bytes = table.encoded_len() as u64;
                let question = &self.asked.question;
                let found = answered(&table, &question.asked, &mut *lock(&question.left));
                let expansions = found.map_err(|error| Error::Invalid(error.to_string()))?;
                let (kept, is_kept) = oneshot::channel();
                let sent =
                    question.parts.send(FinePart { number: question.number, expansions, sent_bytes, kept }).await;
                sent.map_err(|_| Error::Stale("no caller waits for this answer any more".to_owned()))?;
                Ok(TakenFine::Part(is_kept))
            }
            Up::End(end) => {
                self.finish(match end.failure.is_empty() {
                    true => Ok(FineSiteEnd { changed_contents: end.changed_contents, read_bytes: end.read_bytes }),
                    false if end.closed => Err(NoAnswer::absent(&end.failure)),
                    false => Err(NoAnswer::given(&end.failure, end.refused)),
                });
                Ok(TakenFine::End)
            }
        }
    }

    /// Hands the end to the caller that waits for it.
    pub(crate) fn finish(&self, end: Result<FineSiteEnd, NoAnswer>) {
        self.asked.answer(end);
    }
}
