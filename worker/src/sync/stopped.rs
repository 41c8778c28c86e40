//! The reasons why an attempt of a sync ends early.

use crate::error::SyncError;
use crate::sending::push::PushError;

/// The reason why an attempt ends early.
pub(super) enum Stopped {
    Failed(SyncError),
    /// The coordinator lost contents that it had: the index must start again.
    UnknownContents,
    /// The stored list in this file cannot be read: its documents must be read again.
    ListLost(u64),
}

impl From<SyncError> for Stopped {
    fn from(error: SyncError) -> Stopped {
        Stopped::Failed(error)
    }
}

impl From<PushError> for Stopped {
    fn from(error: PushError) -> Stopped {
        match error {
            PushError::UnknownContents => Stopped::UnknownContents,
            other => Stopped::Failed(other.into()),
        }
    }
}

impl From<PushError> for SyncError {
    fn from(error: PushError) -> SyncError {
        match error {
            PushError::Status(status) => status.into(),
            PushError::UnknownContents => SyncError::Violation("it misses contents before it got any".into()),
            PushError::Violation(what) => SyncError::Violation(what),
            PushError::Ledger(error) => error.into(),
            PushError::Cancelled => SyncError::Cancelled,
        }
    }
}
