//! What a scan is told, and what it tells while it runs.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::selection::SelectionRule;
use cognate_proto::v1;
use cognate_similarity::Thresholds;
use tokio::sync::{Notify, watch};

use super::refine::Refine;

/// What a scan is to do.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// The repositories, by site.
    pub repositories: Vec<(SiteName, RepositoryName)>,
    /// How documents are compared: under one view, or under their bytes and then under their text. What one finds never
    /// meets what the other does.
    pub layers: Vec<Layer>,
    /// Whether messages with the same EDRM Message ID Hash form a set.
    pub match_message_ids: bool,
    /// Whether only what crosses parties (or sites, where there is one party) counts.
    pub across_only: bool,
    /// Whether clusters are made greedily around representatives, and are not the connected components.
    pub greedy: bool,
    /// Which documents it is about.
    pub selection: SelectionRule,
    /// Which documents were planted so that they must be found: patterns, as in a selection.
    pub control: Vec<String>,
    /// Whether what symbolic links point to is read as well.
    pub follow_symlinks: bool,
    /// Whether the sites fingerprint with a key, as far as it is known beforehand.
    pub keyed: bool,
    /// Whether the sites are synced first; otherwise their last indexes are analysed.
    pub sync: bool,
    /// How long to wait for a site; `None`: as long as it takes.
    pub sync_deadline: Option<Duration>,
    /// Working memory of the analysis, in bytes.
    pub memory_budget_bytes: u64,
    /// Threads of the analysis.
    pub threads: NonZeroUsize,
    /// Only documents that an earlier scan left interesting; `None`: all.
    pub refine: Option<Refine>,
    /// Whether a missing site makes it fail.
    pub require_complete: bool,
    /// A comparison within one process: the sites are its own, so that their policies are not asked, and nothing is kept
    /// of it beside the result.
    pub in_process: bool,
}

/// How documents are compared under one view.
#[derive(Clone, Debug)]
pub struct Layer {
    /// How they are fingerprinted.
    pub method: Method,
    /// Under which id the sites' features stand, where it is known beforehand; needed to analyse without syncing.
    pub method_id: Option<MethodId>,
    /// What makes a link.
    pub thresholds: Thresholds,
}

impl ScanSpec {
    /// What the scan compares under its first view, which may be its only one.
    pub(crate) fn first(&self) -> &Layer {
        &self.layers[0]
    }

    /// Every index that the scan is about: the place of its repository, and of its layer. Those of a repository follow each
    /// other.
    pub(crate) fn targets(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let layers = self.layers.len();
        (0..self.repositories.len()).flat_map(move |repository| (0..layers).map(move |layer| (repository, layer)))
    }
}

impl From<&ScanSpec> for v1::ScanSpec {
    fn from(spec: &ScanSpec) -> v1::ScanSpec {
        let repositories = spec.repositories.iter();
        let deadline_ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        v1::ScanSpec {
            repositories: repositories
                .map(|(site, repository)| v1::RepositoryRef {
                    site: site.to_string(),
                    repository: repository.to_string(),
                })
                .collect(),
            method: Some((&spec.first().method).into()),
            min_shared_bytes: spec.first().thresholds.min_shared_bytes,
            min_containment: spec.first().thresholds.min_containment.to_string(),
            across_only: spec.across_only,
            selection: Some((&spec.selection).into()),
            follow_symlinks: spec.follow_symlinks,
            no_sync: !spec.sync,
            sync_deadline_ms: spec.sync_deadline.map(deadline_ms),
            memory_budget_bytes: spec.memory_budget_bytes,
            threads: u32::try_from(spec.threads.get()).unwrap_or(u32::MAX),
            require_complete: spec.require_complete,
            origin: String::new(),
            refine: spec.refine.as_ref().map(Into::into),
            text: spec.layers.get(1).map(|layer| v1::TextLayer {
                method: Some((&layer.method).into()),
                min_shared_bytes: layer.thresholds.min_shared_bytes,
            }),
            match_message_ids: spec.match_message_ids,
            control: spec.control.clone(),
            greedy: spec.greedy,
        }
    }
}

/// How far a scan is.
#[derive(Clone, Debug, Default)]
pub struct ScanProgress {
    /// Every repository, in the order of the specification.
    pub repositories: Vec<RepositoryProgress>,
    /// What the analysis is at, once it has begun.
    pub analysis: Option<(AnalysisPhase, u64, u64)>,
    /// What it waits for before it goes on, where that is room on the disk.
    pub waiting: Option<String>,
    /// How it ended, once it has.
    pub ended: Option<ScanEnd>,
}

/// How far a repository's sync is.
#[derive(Clone, Debug, Default)]
pub struct RepositoryProgress {
    /// Whether the site is there.
    pub attached: bool,
    /// Files and folders that the walk has come across.
    pub entries_seen: u64,
    /// Whether the walk is at its end.
    pub walk_finished: bool,
    /// Documents that are dealt with.
    pub documents_done: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Whether it has ended, and with which failure.
    pub ended: Option<Result<(), String>>,
}

/// What an analysis is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnalysisPhase {
    /// Putting the documents of all indexes together.
    Freezing,
    /// Finding what contents share.
    Comparing,
    /// Writing the result.
    Publishing,
}

/// How a scan ended.
#[derive(Clone, Debug)]
pub enum ScanEnd {
    /// There is a result, at this place.
    Published(PathBuf),
    /// There is none, because of this.
    Failed(String),
    /// Somebody stopped it.
    Cancelled,
}

/// One scan at work.
pub(crate) struct Scan {
    pub(crate) id: ScanId,
    pub(crate) spec: ScanSpec,
    pub(crate) progress: watch::Sender<ScanProgress>,
    /// Looked at by the analysis.
    pub(crate) cancelled: AtomicBool,
    halted: AtomicBool,
    woken: Notify,
    asked: Notify,
}

impl Scan {
    pub(crate) fn new(id: ScanId, spec: ScanSpec) -> Scan {
        Scan {
            id,
            spec,
            progress: watch::Sender::new(ScanProgress::default()),
            cancelled: AtomicBool::new(false),
            halted: AtomicBool::new(false),
            woken: Notify::new(),
            asked: Notify::new(),
        }
    }

    /// Stops the scan for good.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.woken.notify_waiters();
    }

    /// Stops the scan where it is: the next start goes on with it.
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Whether the scan was stopped for the next start to go on with.
    pub(crate) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Has the scan go on at once where it waits for room.
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
        if !self.cancelled.load(Ordering::Relaxed) {
            woken.await;
        }
    }
}
