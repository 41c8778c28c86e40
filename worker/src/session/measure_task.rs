//! The task of a session that measures pairs of contents of this site exactly, for the expected error of a scan. The policy
//! decides, only counts leave, and the ledger holds every answer.

use std::sync::Arc;

use cognate_proto::name::one_line;
use cognate_proto::v1::{MeasureAnswer, MeasureQuery};

use super::content_query::ContentQuery;
use super::fine_task::OPEN_MAX;
use super::task::{Task, TaskEnd, session_error, unless_cancelled, unsent};
use crate::error::SyncError;
use crate::sync::measure::Measured;

/// Answers a query for the exact measure.
pub(super) async fn run_measure_query(task: Task, query: MeasureQuery) -> TaskEnd {
    let (key, number) = (task.key, query.query);
    let answer = match measure(&task, &query).await {
        Ok(Measured { pairs, read_bytes }) => {
            let pairs = pairs.into_iter().map(Into::into).collect();
            MeasureAnswer { query: number, pairs, read_bytes, ..MeasureAnswer::default() }
        }
        Err(SyncError::Cancelled) => return (key, None),
        Err(error) => {
            tracing::warn!(%error, "a query for the exact measure was not answered");
            let (failure, refused) = (one_line(&error.to_string()), matches!(error, SyncError::Policy(_)));
            if let Some(fatal) = session_error(error) {
                return (key, Some(fatal));
            }
            MeasureAnswer { query: number, failure, refused, ..MeasureAnswer::default() }
        }
    };
    let sent = unless_cancelled(&task.link.cancelled, task.link.connection.measures(answer)).await;
    match sent.and_then(|sent| sent) {
        Ok(()) | Err(SyncError::Cancelled) => (key, None),
        Err(error) => {
            tracing::warn!(%error, "counts of the exact measure could not be sent");
            (key, Some(unsent(error)))
        }
    }
}

async fn measure(task: &Task, query: &MeasureQuery) -> Result<Measured, SyncError> {
    let (site, cancelled) = (&task.site, &task.link.cancelled);
    let (jobs, pairs) = site.offer.check_measure(query)?;
    if tokio::time::timeout(OPEN_MAX, site.pace.open()).await.is_err() {
        return Err(SyncError::Closed);
    }
    let turn = unless_cancelled(cancelled, Arc::clone(&site.sync_turn).acquire_owned()).await?;
    let turn = turn.expect("the semaphore is never closed");
    tracing::debug!(pairs = pairs.len(), "pairs are measured exactly");
    let (site, link) = (Arc::clone(site), task.link.clone());
    let measuring = tokio::task::spawn_blocking(move || {
        // The thread holds its turn until it has really ended, even if nothing waits for it any more.
        let _turn = turn;
        let _query = ContentQuery::begin(&site);
        site.syncs.measure(&jobs, &pairs, &link.cancelled)
    });
    measuring.await.unwrap_or(Err(SyncError::Crashed))
}
