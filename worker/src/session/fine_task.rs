//! The task of a session that cuts chunks of this site again, for the fine figures of a scan. The policy decides, and the
//! ledger holds every answer.

use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::one_line;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::fine_chunks_request::Message as Up;
use cognate_proto::v1::{FineEnd, FineQuery};
use tokio::sync::mpsc;

use super::content_query::ContentQuery;
use super::task::{Task, TaskEnd, session_error, unless_cancelled, unsent};
use crate::error::SyncError;
use crate::sync::fine::FineChunks;

/// The longest wait for the hours or the end of a pause.
pub(super) const OPEN_MAX: Duration = Duration::from_secs(1);

/// Messages that wait to be sent, so that reading goes on meanwhile.
const MESSAGES_WAITING: usize = 4;

/// Answers a query for fine chunks: what is cut is sent at once.
pub(super) async fn run_fine_query(task: Task, query: FineQuery) -> TaskEnd {
    let (key, number) = (task.key, query.query);
    let (messages, to_send) = mpsc::channel(MESSAGES_WAITING);
    let task = &task;
    // The messages end with this, whether there is a last one or not.
    let answering = async move {
        let end = match cut(task, query, messages.clone()).await {
            Ok(FineChunks { changed_contents, read_bytes }) => {
                FineEnd { changed_contents, read_bytes, ..FineEnd::default() }
            }
            Err(SyncError::Cancelled) => return None,
            Err(error) => {
                tracing::warn!(%error, "a query for fine chunks was not answered");
                let (failure, refused) = (one_line(&error.to_string()), matches!(error, SyncError::Policy(_)));
                let closed = matches!(error, SyncError::Closed);
                if let Some(fatal) = session_error(error) {
                    return Some(fatal);
                }
                FineEnd { failure, refused, closed, ..FineEnd::default() }
            }
        };
        // The call may have ended.
        let _ = messages.send(Up::End(end)).await;
        None
    };
    let cancelled = Arc::clone(&task.link.cancelled);
    let sending = async {
        let sent = unless_cancelled(&cancelled, task.link.connection.fine_chunks(number, to_send)).await;
        sent.and_then(|sent| sent)
    };
    let (fatal, sent) = tokio::join!(answering, sending);
    match sent {
        _ if fatal.is_some() => (key, fatal),
        Ok(_) | Err(SyncError::Cancelled) => (key, None),
        Err(error) => {
            tracing::warn!(%error, "fine chunks could not be sent");
            (key, Some(unsent(error)))
        }
    }
}

async fn cut(task: &Task, query: FineQuery, messages: mpsc::Sender<Up>) -> Result<FineChunks, SyncError> {
    let (site, cancelled) = (&task.site, &task.link.cancelled);
    let (number, contents, chunks) = (query.query, query.contents, query.chunks);
    let share = site.offer.policy.fine_share(query.across_parties);
    let job = Arc::new(site.offer.check_fine(query)?);
    if tokio::time::timeout(OPEN_MAX, site.pace.open()).await.is_err() {
        // The coordinator asks again once it hears that the site is open.
        task.up.send(AttachUp::State(site.state())).await?;
        return Err(SyncError::Closed);
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
        let send = |table| messages.blocking_send(Up::Table(table)).is_ok();
        site.syncs.fine_chunks(&job, choice, share, &send, &link.cancelled)
    });
    cutting.await.unwrap_or(Err(SyncError::Crashed))
}
