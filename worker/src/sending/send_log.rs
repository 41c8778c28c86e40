//! The send log: every message is written to it before it is sent.

use std::sync::Arc;

use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::push_request::Message as PushUp;

use super::dry_run_file::DryRun;
use crate::ledger::{IndexEntry, Kind, Ledger, LedgerError};
use crate::off_tasks::off_tasks;

/// The place where messages are written before they are sent.
#[derive(Clone, Debug)]
pub(crate) enum SendLog {
    /// No log: site and coordinator are one process.
    None,
    /// The site's ledger, with the address of the coordinator.
    Ledger(Arc<Ledger>, Arc<str>),
    /// The file of a dry run, instead of sending.
    DryRun(Arc<DryRun>),
}

impl SendLog {
    /// Writes a message. It may be sent only after this call returns `Ok`.
    pub(crate) fn record(
        &self,
        kind: Kind,
        message: &impl prost::Message,
        index: impl FnOnce() -> Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        match self {
            SendLog::None => Ok(()),
            SendLog::Ledger(ledger, destination) => ledger.record(kind, destination, message, index()),
            SendLog::DryRun(dry_run) => dry_run.record(kind, message, index()),
        }
    }

    /// Writes a message of a task, and answers it when it may be sent: a thread that may wait for the disk writes it.
    pub(super) async fn recorded<M: prost::Message + 'static>(&self, kind: Kind, message: M) -> Result<M, LedgerError> {
        if matches!(self, SendLog::None) {
            return Ok(message);
        }
        let log = self.clone();
        off_tasks(move || log.record(kind, &message, || None).map(|()| message)).await
    }

    /// The same for messages that are sent together: all are on the disk before the first is sent.
    pub(super) async fn all_recorded<M: prost::Message + 'static>(
        &self,
        kind: Kind,
        messages: Vec<M>,
    ) -> Result<Vec<M>, LedgerError> {
        let log = self.clone();
        off_tasks(move || {
            messages.iter().try_for_each(|message| log.record(kind, message, || None))?;
            log.sync()?;
            Ok(messages)
        })
        .await
    }

    /// Syncs the log to the disk.
    fn sync(&self) -> Result<(), LedgerError> {
        match self {
            SendLog::Ledger(ledger, _) => ledger.sync(),
            SendLog::None | SendLog::DryRun(_) => Ok(()),
        }
    }
}

/// The kind of a message of the control stream.
pub(crate) fn attach_kind(message: &AttachUp) -> Kind {
    match message {
        AttachUp::Hello(_) => Kind::Hello,
        AttachUp::Progress(_) => Kind::Progress,
        AttachUp::Ended(ended) if ended.failure.is_empty() => Kind::Ended,
        AttachUp::Ended(_) => Kind::Failed,
        AttachUp::KeepAlive(_) => Kind::KeepAlive,
        AttachUp::State(_) => Kind::State,
    }
}

/// The kind of a message of a push.
pub(super) fn push_kind(message: Option<&PushUp>) -> Kind {
    match message {
        Some(PushUp::Open(_)) | None => Kind::Open,
        Some(PushUp::Batch(_)) => Kind::Batch,
        Some(PushUp::Seal(_)) => Kind::Seal,
    }
}
