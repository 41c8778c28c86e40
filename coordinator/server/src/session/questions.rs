//! Questions to sites that wait for their answers. Each has a number of its own, and only its site answers it.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_analysis::fine::FineFailure;
use cognate_proto::name::{SiteName, one_line};
use cognate_proto::v1::attach_response::Message as Down;
use tokio::sync::oneshot;

use super::{Sessions, lock};
use crate::error::Error;

/// The end of a question without an answer.
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

    /// The site's answer is not one to the question.
    pub(crate) fn unusable(error: &impl Display) -> NoAnswer {
        NoAnswer::Failed(FineFailure::passing(format!("its site's answer cannot be used: {error}")))
    }

    /// The site gives a reason.
    pub(super) fn given(reason: &str, refused: bool) -> NoAnswer {
        NoAnswer::Failed(FineFailure { reason: one_line(reason), refused })
    }

    fn late(within: Duration) -> NoAnswer {
        let minutes = within.as_secs() / 60;
        NoAnswer::Failed(FineFailure::passing(format!("its site did not answer within {minutes} minutes")))
    }

    /// One line for people.
    pub(super) fn reason(self) -> String {
        let (NoAnswer::Absent(failure) | NoAnswer::Failed(failure)) = self;
        failure.reason
    }
}

/// The questions of one kind that have not been answered.
pub(super) struct Questions<Q, A> {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open<Q, A>>>,
    answer_max: Duration,
}

struct Open<Q, A> {
    site: SiteName,
    question: Arc<Q>,
    /// Moves to the caller with the answer.
    answered: oneshot::Sender<Result<A, NoAnswer>>,
}

/// A question for as long as a caller waits for its answer.
struct Waiting<'a, Q, A> {
    questions: &'a Questions<Q, A>,
    number: u64,
}

impl<Q, A> Drop for Waiting<'_, Q, A> {
    fn drop(&mut self) {
        lock(&self.questions.open).remove(&self.number);
    }
}

impl<Q, A> Questions<Q, A> {
    /// Questions with the longest time for an answer.
    pub(super) fn within(answer_max: Duration) -> Questions<Q, A> {
        Questions { next: AtomicU64::new(1), open: Mutex::default(), answer_max }
    }

    /// The question of this number to a site.
    ///
    /// # Errors
    /// Fails if no caller waits for its answer.
    pub(super) fn asked(&self, site: &SiteName, number: u64) -> Result<Asked<'_, Q, A>, Error> {
        let open = lock(&self.open);
        let asked = open.get(&number).filter(|open| open.site == *site);
        let asked = asked.ok_or_else(|| Error::Stale("no caller waits for an answer to this question".to_owned()))?;
        Ok(Asked { questions: self, number, question: Arc::clone(&asked.question) })
    }
}

/// A question that its site is answering.
pub(super) struct Asked<'a, Q, A> {
    questions: &'a Questions<Q, A>,
    number: u64,
    pub(super) question: Arc<Q>,
}

impl<Q, A> Asked<'_, Q, A> {
    /// Hands the answer to the caller that waits for it.
    pub(super) fn answer(&self, answer: Result<A, NoAnswer>) {
        if let Some(open) = lock(&self.questions.open).remove(&self.number) {
            // The caller may have given up.
            let _ = open.answered.send(answer);
        }
    }
}

impl Sessions {
    /// Asks a site, by a message with the number of the question, and waits for its answer.
    pub(super) async fn ask<Q, A>(
        &self,
        questions: &Questions<Q, A>,
        site: &SiteName,
        question: Q,
        message: impl FnOnce(u64, &Q) -> Down,
    ) -> Result<A, NoAnswer> {
        let Some(mut live) = self.live(site) else { return Err(NoAnswer::absent("its site is not attached")) };
        let number = questions.next.fetch_add(1, Ordering::Relaxed);
        let message = message(number, &question);
        let (answered, answer) = oneshot::channel();
        let open = Open { site: site.clone(), question: Arc::new(question), answered };
        lock(&questions.open).insert(number, open);
        let _waiting = Waiting { questions, number };
        if !self.send(site, message) {
            return Err(NoAnswer::absent("its site does not read its messages"));
        }
        tokio::select! {
            answer = answer => answer.unwrap_or_else(|_| Err(NoAnswer::absent("its site did not answer"))),
            () = live.ended() => Err(NoAnswer::absent("its site disconnected before it answered")),
            () = tokio::time::sleep(questions.answer_max) => Err(NoAnswer::late(questions.answer_max)),
        }
    }
}
