//! One stream of messages to the coordinator. Nothing reaches it without an entry in the send log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::{AttachRequest, PushRequest};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::send_log::{SendLog, attach_kind, push_kind};
use crate::ledger::{IndexEntry, LedgerError};

/// Longest wait for a call with one answer, for the start of a session, and for a place in the control stream.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(60);

/// One direction of a stream to the coordinator.
pub(crate) struct Outgoing<M> {
    sender: mpsc::Sender<M>,
    log: SendLog,
    /// The time of the last message.
    last_sent: Arc<Mutex<Instant>>,
}

impl<M> Clone for Outgoing<M> {
    fn clone(&self) -> Outgoing<M> {
        Outgoing { sender: self.sender.clone(), log: self.log.clone(), last_sent: Arc::clone(&self.last_sent) }
    }
}

/// A reserved place for one message.
pub(crate) struct Permit<'a, M> {
    permit: mpsc::Permit<'a, M>,
    outgoing: &'a Outgoing<M>,
}

impl<M: prost::Message> Outgoing<M> {
    pub(super) fn new(sender: mpsc::Sender<M>, log: SendLog) -> Outgoing<M> {
        Outgoing { sender, log, last_sent: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Waits for a place; `None` when the stream has ended.
    pub(crate) async fn reserve(&self) -> Option<Permit<'_, M>> {
        let permit = self.sender.reserve().await.ok()?;
        Some(Permit { permit, outgoing: self })
    }

    /// A place, if one is free now.
    pub(crate) fn try_reserve(&self) -> Option<Permit<'_, M>> {
        let permit = self.sender.try_reserve().ok()?;
        Some(Permit { permit, outgoing: self })
    }

    /// The time of the last message.
    pub(crate) fn last_sent(&self) -> Instant {
        *self.last_sent.lock().expect("no code panics while it holds this lock")
    }

    /// Sets the time of the last message to now.
    pub(crate) fn mark_sent(&self) {
        *self.last_sent.lock().expect("no code panics while it holds this lock") = Instant::now();
    }
}

impl<M: prost::Message> Permit<'_, M> {
    /// Sends a message that is in the log.
    fn send(self, message: M) {
        self.permit.send(message);
        self.outgoing.mark_sent();
    }
}

impl Permit<'_, PushRequest> {
    /// Logs and sends a message of a push, from a thread that may wait for the disk.
    pub(crate) fn push(
        self,
        request: PushRequest,
        index: impl FnOnce() -> Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        self.outgoing.log.record(push_kind(request.message.as_ref()), &request, index)?;
        self.send(request);
        Ok(())
    }
}

impl Permit<'_, AttachRequest> {
    /// Logs and sends a message of the control stream.
    async fn attach(self, message: AttachUp) -> Result<(), LedgerError> {
        let kind = attach_kind(&message);
        let request = self.outgoing.log.recorded(kind, AttachRequest { message: Some(message) }).await?;
        self.send(request);
        Ok(())
    }
}

impl Outgoing<AttachRequest> {
    /// Sends a message on the control stream as soon as there is a place. If the stream has ended or does not move for a
    /// long time, the message is dropped.
    pub(crate) async fn send(&self, message: AttachUp) -> Result<(), LedgerError> {
        match tokio::time::timeout(ANSWER_MAX, self.reserve()).await {
            Ok(Some(permit)) => permit.attach(message).await,
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Sends a message if there is a place now; otherwise a later one replaces it.
    pub(crate) async fn send_if_free(&self, message: AttachUp) -> Result<(), LedgerError> {
        match self.try_reserve() {
            Some(permit) => permit.attach(message).await,
            None => Ok(()),
        }
    }
}
