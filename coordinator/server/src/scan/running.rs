//! A scan in progress: its progress as others watch it, and the ways to stop or wake it.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cognate_analysis::spec::{AnalysisPhase, ScanJob, ScanSpec};
use cognate_proto::name::ScanId;
use cognate_proto::v1::FailureKind;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::sync::DEADLINE_MAX;

/// The progress of a scan.
#[derive(Clone, Debug, Default)]
pub struct ScanProgress {
    /// Every repository, in the order of the specification.
    pub repositories: Vec<RepositoryProgress>,
    /// The phase of the analysis, once it has begun.
    pub analysis: Option<(AnalysisPhase, u64, u64)>,
    /// The reason of a wait, if it waits for disk space, or for sites.
    pub waiting: Option<String>,
    /// The end, once it has ended.
    pub ended: Option<ScanEnd>,
}

/// The progress of a repository: of its sync, and of its answers to the analysis.
#[derive(Clone, Debug, Default)]
pub struct RepositoryProgress {
    /// True if the site is attached.
    pub attached: bool,
    /// Files and folders that the walk has come across.
    pub entries_seen: u64,
    /// True if the walk is at its end.
    pub walk_finished: bool,
    /// Documents that are dealt with.
    pub documents_done: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes that are still to be read of the files at hand.
    pub open_bytes: u64,
    /// Set once it has ended, with its failure, if it failed.
    pub ended: Option<Result<(), String>>,
    /// Chunks that the analysis asks the site to cut again; 0 before it asks.
    pub fine_chunks: u64,
    /// Of these, chunks that have come.
    pub fine_chunks_done: u64,
    /// The reason why the analysis waits for the site; empty if it does not.
    pub waiting: String,
}

impl RepositoryProgress {
    /// True if the site has looked into the folder.
    pub(crate) fn has_begun(&self) -> bool {
        self.entries_seen > 0 || self.walk_finished
    }
}

/// The end of a scan.
#[derive(Clone, Debug)]
pub enum ScanEnd {
    /// There is a result, at this place.
    Published(PathBuf),
    /// There is no result, for this reason.
    Failed {
        /// The kind of the failure, which programs decide on.
        kind: FailureKind,
        /// One line for people.
        reason: String,
    },
    /// Somebody stopped it.
    Cancelled,
}

/// One scan at work.
pub(crate) struct Scan {
    pub(crate) job: ScanJob,
    pub(crate) progress: watch::Sender<ScanProgress>,
    woken: Notify,
    asked: Notify,
    /// The time for which the analysis has waited for fine chunks.
    waited: Mutex<Duration>,
}

impl std::ops::Deref for Scan {
    type Target = ScanJob;

    fn deref(&self) -> &ScanJob {
        &self.job
    }
}

impl Scan {
    pub(crate) fn new(id: ScanId, spec: ScanSpec) -> Scan {
        let progress = watch::Sender::new(ScanProgress::default());
        let analysis = progress.clone();
        let report = move |phase, done, total| {
            analysis.send_modify(|progress| progress.analysis = Some((phase, done, total)));
        };
        let [cancelled, halted] = [false; 2].map(AtomicBool::new);
        Scan {
            job: ScanJob { id, spec, cancelled, halted, progress: Box::new(report) },
            progress,
            woken: Notify::new(),
            asked: Notify::new(),
            waited: Mutex::default(),
        }
    }

    /// Waits for something of sites; the time counts.
    pub(crate) async fn waits<T>(&self, waiting: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = waiting.await;
        *self.waited.lock().expect("nothing panics while it is held") += began.elapsed();
        done
    }

    /// The time from which the analysis goes on without the fine chunks that have not come.
    pub(crate) fn fine_deadline(&self) -> Option<Instant> {
        let waited = *self.waited.lock().expect("nothing panics while it is held");
        let limit = self.job.spec.options.sync_deadline?.min(DEADLINE_MAX);
        Instant::now().checked_add(limit.saturating_sub(waited))
    }

    /// Stops the scan for good.
    pub(crate) fn cancel(&self) {
        self.job.cancelled.store(true, Ordering::Relaxed);
        self.woken.notify_waiters();
    }

    /// Stops the scan where it is: it continues at the next start.
    pub(crate) fn halt(&self) {
        self.job.halted.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// True if the scan was stopped for the next start to continue.
    pub(crate) fn is_halted(&self) -> bool {
        self.job.halted.load(Ordering::Relaxed)
    }

    /// Makes the scan continue at once if it waits for disk space.
    pub(crate) fn ask(&self) {
        self.asked.notify_waiters();
    }

    /// Resolves when somebody asks from now on.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Resolves once the scan is to stop.
    pub(crate) async fn stopped(&self) {
        let woken = self.woken.notified();
        if !self.job.cancelled.load(Ordering::Relaxed) {
            woken.await;
        }
    }
}
