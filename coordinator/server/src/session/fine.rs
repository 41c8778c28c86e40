//! Questions for fine chunks to sites, and their answers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cognate_analysis::fine::{FineAnswer, FineRequest};
use cognate_fingerprint::Tag;
use cognate_proto::fine::{FineChoice, expansions};
use cognate_proto::name::SiteName;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::fine_chunks_request::Message as Up;
use cognate_proto::v1::{FineQuery, MethodSpec};
use prost::Message as _;

use super::Sessions;
use super::questions::{Asked, NoAnswer, Questions};
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

/// The open questions, each with its contents and chunks.
pub(super) type FineQuestions = Questions<FineChoice, FineAnswer>;

pub(super) fn questions() -> FineQuestions {
    Questions::within(ANSWER_MAX, SILENCE_MAX)
}

impl Sessions {
    /// Asks a site for fine chunks, and waits for its answer; an error has the reason.
    pub(crate) async fn ask_fine(&self, request: FineRequest, scan: FineScan) -> Result<FineAnswer, NoAnswer> {
        let FineRequest { site, repository, method, method_id, choice } = request;
        let message = |number, choice: &FineChoice| {
            Down::FineQuery(FineQuery {
                query: number,
                repository: repository.to_string(),
                method: Some(MethodSpec { method_id: method_id.0.to_vec(), ..MethodSpec::from(&method) }),
                across_parties: scan.across_parties,
                contents: choice.contents.len() as u64,
                chunks: choice.tags().count() as u64,
                follow_symlinks: scan.follow_symlinks,
            })
        };
        self.ask(&self.fine_questions, &site, choice, message).await
    }

    /// The contents and chunks that a site was asked about.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a question.
    pub(crate) fn fine_choice(&self, site: &SiteName, number: u64) -> Result<Arc<FineChoice>, Error> {
        Ok(self.fine_questions.asked(site, number)?.question)
    }

    /// Begins to receive a site's answer.
    ///
    /// # Errors
    /// See [`Sessions::fine_choice`].
    pub(crate) fn answering_fine(&self, site: &SiteName, number: u64) -> Result<AnsweringFine<'_>, Error> {
        let asked = self.fine_questions.asked(site, number)?;
        Ok(AnsweringFine { left: asked.question.tags().collect(), asked, answer: FineAnswer::default() })
    }
}

/// An incomplete answer.
pub(crate) struct AnsweringFine<'a> {
    asked: Asked<'a, FineChoice, FineAnswer>,
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
                self.asked.heard();
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
                    false => Err(NoAnswer::given(&end.failure, end.refused)),
                });
                Ok(true)
            }
        }
    }

    /// Hands the answer to the caller that waits for it.
    pub(crate) fn finish(&self, answer: Result<FineAnswer, NoAnswer>) {
        self.asked.answer(answer);
    }
}
