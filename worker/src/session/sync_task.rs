//! The tasks of a session that sync or estimate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cognate_proto::name::one_line;
use cognate_proto::scope::{Scope, ScopeAnnouncement};
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::{Assignment, SyncEnded, SyncProgress, SyncSummary};
use tokio::sync::OwnedSemaphorePermit;

use super::own_sync::{OwnSyncFailure, OwnSyncRequest};
use super::task::{Task, TaskEnd, session_error, unless_cancelled};
use crate::error::{SiteError, SyncError};
use crate::random::fraction;
use crate::sending::backoff::{BackOff, NextAttempt, after_status};
use crate::sync::estimate::estimate;
use crate::sync::job::{Counters, Job, SyncOutcome};

/// Interval of progress reports within one process.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of progress reports over a network, where each is written to the ledger.
const PROGRESS_INTERVAL_REMOTE: Duration = Duration::from_secs(1);

/// Carries out an assignment of the coordinator, and reports its end.
pub(super) async fn run_assignment(task: Task, assignment: Assignment) -> TaskEnd {
    let (key, number, estimate_only) = (task.key, assignment.assignment, assignment.estimate_only);
    let (up, ending) = (task.up.clone(), Arc::clone(&task.ending));
    let result = match task.site.offer.check(assignment) {
        Err(error) => Err(error),
        Ok(job) if estimate_only => run_estimate(task, job).await,
        Ok(job) => run_sync(&task, Arc::new(job), Arc::default()).await.map(|outcome| outcome.summary),
    };
    if ending.load(Ordering::Relaxed) && matches!(result, Err(SyncError::Cancelled | SyncError::Push(_))) {
        // This is no failure: the coordinator sends the assignment again in the next session.
        return (key, None);
    }
    let refused = matches!(result, Err(SyncError::Policy(_)));
    let (failure, summary, fatal) = match result {
        Ok(summary) => (String::new(), Some(summary), None),
        Err(error) => {
            let assignment = format!("{number:016x}");
            match error {
                // Somebody wanted it.
                SyncError::Cancelled => tracing::info!(assignment, "a sync was cancelled"),
                _ => tracing::warn!(%error, assignment, "a sync failed"),
            }
            (one_line(&error.to_string()), None, session_error(error))
        }
    };
    let sent = up.send(Up::Ended(SyncEnded { assignment: number, failure, summary, refused })).await;
    (key, fatal.or(sent.err().map(SiteError::from)))
}

/// Carries out a sync that this site requested, and reports its end to the coordinator and to the requester.
pub(super) async fn run_own_sync(task: Task, request: OwnSyncRequest) -> TaskEnd {
    let result = run_sync(&task, Arc::new(request.job), request.counters).await;
    let (failure, summary) = match &result {
        Ok(outcome) => (String::new(), Some(outcome.summary.clone())),
        Err(error) => {
            tracing::warn!(%error, "a sync that this site requested failed");
            (one_line(&error.to_string()), None)
        }
    };
    let ended = SyncEnded { failure: failure.clone(), summary, ..SyncEnded::default() };
    let sent = task.up.send(Up::Ended(ended)).await;
    let (answer, fatal) = match result {
        Ok(outcome) => (Ok(outcome), None),
        Err(error) => {
            let failure = OwnSyncFailure { reason: failure, is_mismatch: error.is_mismatch() };
            (Err(failure), session_error(error))
        }
    };
    // The requester may have gone.
    let _ = request.done.send(answer);
    (task.key, fatal.or(sent.err().map(SiteError::from)))
}

async fn run_estimate(task: Task, job: Job) -> Result<SyncSummary, SyncError> {
    let Task { site, link, .. } = task;
    let bytes_per_second = site.status.bytes_per_second();
    let estimating =
        tokio::task::spawn_blocking(move || estimate(&site.syncs, &job, bytes_per_second, &link.cancelled));
    estimating.await.unwrap_or(Err(SyncError::Crashed))
}

/// Runs a sync when it is its turn, and reports its progress. A failure that may pass is tried again while the session
/// lasts.
async fn run_sync(task: &Task, job: Arc<Job>, counters: Arc<Counters>) -> Result<SyncOutcome, SyncError> {
    let (site, cancelled) = (&task.site, &task.link.cancelled);
    let turn = unless_cancelled(cancelled, Arc::clone(&site.sync_turn).acquire_owned()).await?;
    let turn = Arc::new(turn.expect("the semaphore is never closed"));
    let mut back_off = BackOff::default();
    loop {
        unless_cancelled(cancelled, site.pace.open()).await?;
        let number = site.status.begin(&job, &counters);
        let result = attempt(task, &job, &counters, &turn).await;
        let failure = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
        site.status.end(number, &job, result.as_ref().map_err(|_| failure.as_str()));
        let wait_min = match &result {
            Err(SyncError::Push(status)) => match after_status(status) {
                NextAttempt::Usual => Duration::ZERO,
                NextAttempt::NotBefore(wait_min) => wait_min,
                _ => return result,
            },
            _ => return result,
        };
        let wait = back_off.next(fraction()).max(wait_min);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(error = failure, repository = %job.repository, wait_ms, "a sync is tried again");
        unless_cancelled(cancelled, tokio::time::sleep(wait)).await?;
    }
}

/// Requests the contents of a refinement. Only the sync whose turn it is holds them, so there is one scope at a time.
async fn request_scope(task: &Task, assignment: u64, refinement: ScopeAnnouncement) -> Result<Scope, SyncError> {
    let requesting = task.link.connection.scope(assignment, refinement);
    unless_cancelled(&task.link.cancelled, requesting).await?
}

/// Runs one attempt of a sync on a thread that may block.
async fn attempt(
    task: &Task,
    job: &Arc<Job>,
    counters: &Arc<Counters>,
    turn: &Arc<OwnedSemaphorePermit>,
) -> Result<SyncOutcome, SyncError> {
    let scope = match job.refinement {
        Some(refinement) => Some(request_scope(task, job.assignment, refinement).await?),
        None => None,
    };
    let mut sync = {
        let (site, job, counters) = (Arc::clone(&task.site), Arc::clone(job), Arc::clone(counters));
        let (link, turn) = (task.link.clone(), Arc::clone(turn));
        tokio::task::spawn_blocking(move || {
            // The thread holds its turn until it has really ended, even if nothing waits for it any more.
            let _turn = turn;
            site.syncs.sync(&job, scope, &link, &counters)
        })
    };
    let is_remote = task.site.is_remote();
    let mut interval = tokio::time::interval(if is_remote { PROGRESS_INTERVAL_REMOTE } else { PROGRESS_INTERVAL });
    // The coordinator did not request a sync of this site's own, and sees only its push.
    let report = async || match job.assignment {
        0 => Ok(()),
        number => task.up.send_if_free(Up::Progress(progress(number, counters))).await,
    };
    let result = loop {
        tokio::select! {
            ended = &mut sync => break ended.unwrap_or(Err(SyncError::Crashed)),
            _ = interval.tick() => report().await?,
        }
    };
    report().await?;
    result
}

fn progress(assignment: u64, counters: &Counters) -> SyncProgress {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    SyncProgress {
        assignment,
        entries_seen: of(&counters.entries_seen),
        documents_done: of(&counters.documents_done),
        read_bytes: counters.read_so_far_bytes(),
        open_bytes: of(&counters.open_files.left_bytes),
        sent_bytes: of(&counters.sent_bytes),
        walk_finished: counters.walk_finished.load(Ordering::Relaxed),
    }
}
