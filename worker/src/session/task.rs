//! The handles of one task of a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cognate_proto::name::one_line;
use cognate_proto::v1::AttachRequest;

use super::site::Site;
use crate::error::{SiteError, SyncError};
use crate::sending::outgoing::Outgoing;
use crate::sending::push::PushLink;

/// Interval in which a wait checks for a cancellation.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// One task of a session: a sync, an estimate, or a query by hashes.
pub(super) struct Task {
    /// The key under which the session can cancel it.
    pub(super) key: u64,
    pub(super) site: Arc<Site>,
    pub(super) link: PushLink,
    pub(super) up: Outgoing<AttachRequest>,
    /// The session ends: what is cancelled now continues in the next session.
    pub(super) ending: Arc<AtomicBool>,
}

/// The end of a task: its key, and an error that ends the session.
pub(super) type TaskEnd = (u64, Option<SiteError>);

/// The error of a session that a failed task ends, if it ends it.
pub(super) fn session_error(error: SyncError) -> Option<SiteError> {
    match error {
        SyncError::Violation(what) => Some(SiteError::Violation(what)),
        SyncError::Ledger(error) => Some(SiteError::Ledger(error)),
        _ => None,
    }
}

/// The error of a session in which an answer could not be sent. The coordinator waits for it for as long as the session lasts: so the
/// session ends, and the next one is asked again.
pub(super) fn unsent(error: SyncError) -> SiteError {
    let status = tonic::Status::aborted(one_line(&error.to_string()));
    session_error(error).unwrap_or_else(|| SiteError::Session(Box::new(status)))
}

/// Waits without a limit of time, until a cancellation.
pub(super) async fn unless_cancelled<T>(
    cancelled: &AtomicBool,
    waiting: impl Future<Output = T>,
) -> Result<T, SyncError> {
    tokio::pin!(waiting);
    loop {
        match tokio::time::timeout(CHECK_INTERVAL, &mut waiting).await {
            Ok(done) => return Ok(done),
            Err(_) if cancelled.load(Ordering::Relaxed) => return Err(SyncError::Cancelled),
            Err(_) => {}
        }
    }
}
