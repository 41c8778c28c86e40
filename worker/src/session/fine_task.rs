//! The task of a session that cuts chunks of this site again, for the fine figures of a scan. The policy decides, and the
//! ledger holds every answer.

use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::one_line;
use cognate_proto::v1::fine_chunks_request::Message as Up;
use cognate_proto::v1::{FineAnswer, FineEnd, FineQuery};

use super::content_query::ContentQuery;
use super::task::{Task, TaskEnd, session_error, unless_cancelled, unsent};
use crate::error::SyncError;
use crate::sync::fine::FineChunks;

/// The longest wait for the hours or the end of a pause: the scan goes on without the fine chunks of a site that does not
/// read now.
pub(super) const OPEN_MAX: Duration = Duration::from_secs(1);

/// Answers a query for fine chunks.
pub(super) async fn run_fine_query(task: Task, query: FineQuery) -> TaskEnd {
    let (key, number) = (task.key, query.query);
    let mut messages = vec![Up::Answer(FineAnswer { query: number })];
    match cut(&task, query).await {
        Ok(FineChunks { tables, changed_contents, read_bytes }) => {
            messages.extend(tables.into_iter().map(Up::Table));
            messages.push(Up::End(FineEnd { changed_contents, read_bytes, ..FineEnd::default() }));
        }
        Err(SyncError::Cancelled) => return (key, None),
        Err(error) => {
            tracing::warn!(%error, "a query for fine chunks was not answered");
            let (failure, refused) = (one_line(&error.to_string()), matches!(error, SyncError::Policy(_)));
            if let Some(fatal) = session_error(error) {
                return (key, Some(fatal));
            }
            messages.push(Up::End(FineEnd { failure, refused, ..FineEnd::default() }));
        }
    }
    let sent = unless_cancelled(&task.link.cancelled, task.link.connection.fine_chunks(messages)).await;
    match sent.and_then(|sent| sent) {
        Ok(()) | Err(SyncError::Cancelled) => (key, None),
        Err(error) => {
            tracing::warn!(%error, "fine chunks could not be sent");
            (key, Some(unsent(error)))
        }
    }
}

async fn cut(task: &Task, query: FineQuery) -> Result<FineChunks, SyncError> {
    let (site, cancelled) = (&task.site, &task.link.cancelled);
    let (number, contents, chunks) = (query.query, query.contents, query.chunks);
    let share = site.offer.policy.fine_share(query.across_parties);
    let job = Arc::new(site.offer.check_fine(query)?);
    if tokio::time::timeout(OPEN_MAX, site.pace.open()).await.is_err() {
        return Err(SyncError::Assignment("the site is paused, or outside of its hours".to_owned()));
    }
    let requesting = task.link.connection.fine_choice(number, contents, chunks);
    let choice = unless_cancelled(cancelled, requesting).await??;
    let turn = unless_cancelled(cancelled, Arc::clone(&site.sync_turn).acquire_owned()).await?;
    let turn = turn.expect("the semaphore is never closed");
    tracing::debug!(repository = %job.repository, contents, chunks, "chunks are cut again");
    let (site, link) = (Arc::clone(site), task.link.clone());
    let cutting = tokio::task::spawn_blocking(move || {
        // The thread holds its turn until it has really ended, even if nothing waits for it any more.
        let _turn = turn;
        let _query = ContentQuery::begin(&site);
        site.syncs.fine_chunks(&job, choice, share, &link.cancelled)
    });
    cutting.await.unwrap_or(Err(SyncError::Crashed))
}
