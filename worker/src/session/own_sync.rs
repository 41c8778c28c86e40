//! Syncs that this site itself requests.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::sync::job::{Counters, Job, SyncOutcome};

/// A request of this site for a sync.
pub(crate) struct OwnSyncRequest {
    pub(crate) job: Job,
    pub(crate) counters: Arc<Counters>,
    pub(crate) done: oneshot::Sender<Result<SyncOutcome, OwnSyncFailure>>,
}

/// The failure of such a sync.
pub(crate) struct OwnSyncFailure {
    pub(crate) reason: String,
    /// This site's key or parameters differ from those of the other sites.
    pub(crate) is_mismatch: bool,
}
