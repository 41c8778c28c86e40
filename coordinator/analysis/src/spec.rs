//! The options of a scan, checked, and the scan as an analysis sees it.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::selection::SelectionRule;
use cognate_proto::v1;
use cognate_similarity::Thresholds;

use crate::refine::Refine;

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
    pub fn first(&self) -> &Layer {
        &self.layers[0]
    }

    /// Every index that the scan is about: the place of its repository, and of its layer. Those of a repository follow each
    /// other.
    pub fn targets(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
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

/// A scan as an analysis sees it.
pub struct ScanJob {
    /// The scan.
    pub id: ScanId,
    /// Its options.
    pub spec: ScanSpec,
    /// Set by another thread to end the analysis.
    pub cancelled: AtomicBool,
    /// Receives the phase, the steps done and the steps in total.
    pub progress: Box<dyn Fn(AnalysisPhase, u64, u64) + Send + Sync>,
}

impl ScanJob {
    /// A job that nobody watches.
    pub fn unwatched(id: ScanId, spec: ScanSpec) -> ScanJob {
        ScanJob { id, spec, cancelled: AtomicBool::new(false), progress: Box::new(|_, _, _| {}) }
    }
}
