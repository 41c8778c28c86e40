//! A running daemon, as its control socket, its schedule and its sessions use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cognate_durable::whole::{PRIVATE, write_whole};
use cognate_fingerprint::{Method, View};
use cognate_proto::name::RepositoryName;
use cognate_proto::selection::SelectionRule;
use tokio::sync::{mpsc, oneshot, watch};

use super::dialer::CertificateStatus;
use crate::error::SyncError;
use crate::ledger::Ledger;
use crate::off_tasks::off_tasks;
use crate::sending::connection::Connection;
use crate::session::own_sync::{OwnSyncFailure, OwnSyncRequest};
use crate::session::site::Site;
use crate::session::status::{IndexStatus, SiteStatus};
use crate::sync::job::{Counters, Job, SyncOutcome};

/// A running daemon.
pub(super) struct Daemon {
    pub(super) site: Arc<Site>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) requests: mpsc::Sender<OwnSyncRequest>,
    /// The connection of the current session.
    pub(super) connection: watch::Sender<Option<Connection>>,
    pub(super) certificate: watch::Sender<Option<CertificateStatus>>,
}

/// A sync that this site has requested.
pub(super) struct OwnSync {
    pub(super) method: String,
    pub(super) chunk_bytes: u32,
    pub(super) counters: Arc<Counters>,
    pub(super) answer: oneshot::Receiver<Result<SyncOutcome, OwnSyncFailure>>,
}

impl Daemon {
    /// The status of the site, with the facts that only the daemon knows.
    pub(super) fn status(&self) -> SiteStatus {
        SiteStatus {
            paused: self.site.pace.is_paused(),
            outside_hours: !self.site.pace.is_within_hours(),
            ..self.site.status.status()
        }
    }

    /// Pauses or resumes the site, also for the time after a restart.
    pub(super) async fn set_paused(&self, paused: bool) -> Result<(), String> {
        let marker = paused_marker(&self.site.config.state_dir);
        let mark = move || {
            let done = match paused {
                true => write_whole(&marker, b"paused by `worker pause`\n", PRIVATE),
                false => match std::fs::remove_file(&marker) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                },
            };
            done.map_err(|error| format!("`{}`: {error}", marker.display()))
        };
        off_tasks(mark).await?;
        self.site.pace.set_paused(paused);
        Ok(())
    }

    pub(super) fn certificate(&self) -> Option<CertificateStatus> {
        self.certificate.borrow().clone()
    }

    /// The connection to the coordinator, while the site is attached.
    pub(super) fn connection(&self) -> Option<Connection> {
        self.connection.borrow().clone()
    }

    /// Requests a sync of a repository under every method that it was synced with before. Where `accepts_removals`, documents
    /// are removed even if more are gone than are there.
    pub(super) fn request_syncs(
        &self,
        repository: &RepositoryName,
        accepts_removals: bool,
    ) -> Result<Vec<OwnSync>, SyncError> {
        let mut syncs = Vec::new();
        for index in self.site.status.indexes(repository) {
            let Some(method) = index.method() else { continue };
            let (selection, follow_symlinks) = (index.selection(), index.follow_symlinks);
            let mut job = self.site.offer.own_job(repository.clone(), method, selection, follow_symlinks)?;
            job.accepts_removals |= accepts_removals;
            // With another key or another version of the method, this site does not make that index any more.
            if job.method_id.to_string() == index.method_id {
                syncs.push(self.request(job));
            }
        }
        if syncs.is_empty() {
            // Only to return the error of a repository that cannot be synced.
            let method = Method::tttd(View::Raw, 1000).expect("1000 is in the range");
            self.site.offer.own_job(repository.clone(), method, SelectionRule::default(), false)?;
        }
        Ok(syncs)
    }

    /// True if the last sync of a repository is at least `every` ago. A repository that was never synced is not due,
    /// because no scan has requested it.
    pub(super) fn is_due(&self, repository: &RepositoryName, every: Duration) -> bool {
        let now = self.site.status.now();
        self.site.status.indexes(repository).iter().any(|index| is_due(index, every, now))
    }

    fn request(&self, job: Job) -> OwnSync {
        let (done, answer) = oneshot::channel();
        let counters = Arc::new(Counters::default());
        let method = job.method.name().to_owned();
        let chunk_bytes = job.method.chunk_bytes();
        let request = OwnSyncRequest { job, counters: Arc::clone(&counters), done };
        // If the queue is full, the requester sees the same as after the end of the session.
        let _ = self.requests.try_send(request);
        OwnSync { method, chunk_bytes, counters, answer }
    }
}

fn is_due(index: &IndexStatus, every: Duration, now: i64) -> bool {
    let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX);
    let last = index.finished.max(index.failed).unwrap_or(0);
    now.saturating_sub(last) >= every
}

/// The file that marks a pause.
pub(super) fn paused_marker(state_dir: &Path) -> PathBuf {
    state_dir.join("paused")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_due_when_its_last_sync_or_failure_is_long_ago() {
        let check = |finished, failed, now, due| {
            let index = IndexStatus { finished, failed, ..IndexStatus::default() };
            assert_eq!(is_due(&index, Duration::from_secs(60), now), due, "{finished:?} {failed:?} {now}");
        };
        check(Some(100), None, 159, false);
        check(Some(100), None, 160, true);
        check(Some(100), Some(150), 160, false);
        check(Some(100), Some(150), 210, true);
        check(None, Some(150), 210, true);
        check(None, None, 60, true);
        check(Some(i64::MAX), None, 0, false);
    }
}
