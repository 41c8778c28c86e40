//! The state of a scan for people: its row, and its progress while it runs.

use cognate_proto::name::ScanId;
use cognate_proto::v1;

use cognate_analysis::spec::AnalysisPhase;

use super::{RepositoryProgress, ScanProgress, Scans};
use crate::error::Error;
use cognate_storage::store::{ScanRow, ScanStep};

impl Scans {
    /// The present state of a scan.
    ///
    /// # Errors
    /// Fails if there is no scan with this id.
    pub(crate) fn state(&self, id: ScanId) -> Result<v1::ScanState, Error> {
        let row = self.records.store.scan(id)?.ok_or(Error::UnknownScan(id))?;
        Ok(self.state_of(id, row))
    }

    /// The present state of a scan with this row.
    pub(crate) fn state_of(&self, id: ScanId, row: ScanRow) -> v1::ScanState {
        let running = self.lock().get(&id).cloned();
        let progress = running.map(|scan| scan.progress.borrow().clone());
        let repositories = match &progress {
            Some(progress) if row.step() == ScanStep::Syncing => self.live_repositories(&row, progress),
            _ => ended_repositories(&row, progress.as_ref().map_or(&[], |progress| &progress.repositories)),
        };
        let waiting = progress.as_ref().and_then(|progress| progress.waiting.clone()).unwrap_or_default();
        let analysis = progress.and_then(|progress| progress.analysis).map(|(phase, done, total)| v1::AnalysisState {
            phase: phase_on_wire(phase).into(),
            done,
            total,
        });
        let result = self.analyser.result_path(id);
        let published = row.step() == ScanStep::Published;
        let result_bytes = if published { std::fs::metadata(result).map_or(0, |found| found.len()) } else { 0 };
        v1::ScanState {
            scan: id.0,
            status: status(&row).into(),
            started: row.started,
            finished: row.finished,
            failure_kind: row.failure_kind,
            failure: row.failure,
            repositories,
            analysis,
            launched_by: row.launched_by,
            digest: row.digest,
            result_bytes,
            waiting,
            options: row.options,
            name: row.name,
        }
    }

    fn live_repositories(&self, row: &ScanRow, progress: &ScanProgress) -> Vec<v1::RepositoryState> {
        let named = row.options.iter().flat_map(|options| &options.repositories);
        let live = |(place, repository): (usize, &v1::RepositoryRef)| {
            let live = progress.repositories.get(place).cloned().unwrap_or_default();
            let site = repository.site.parse().ok();
            v1::RepositoryState {
                repository: Some(repository.clone()),
                attached: site.is_some_and(|site| self.sessions.attached(&site).is_some()),
                entries_seen: live.entries_seen,
                walk_finished: live.walk_finished,
                documents_done: live.documents_done,
                read_bytes: live.read_bytes,
                sent_bytes: live.sent_bytes,
                open_bytes: live.open_bytes,
                ended: live.ended.is_some(),
                failure: live.ended.and_then(Result::err).unwrap_or_default(),
                ..v1::RepositoryState::default()
            }
        };
        named.enumerate().map(live).collect()
    }
}

/// The status that people see.
pub(crate) fn status(row: &ScanRow) -> v1::ScanStatus {
    match row.step() {
        ScanStep::Syncing => v1::ScanStatus::Syncing,
        ScanStep::Frozen | ScanStep::Analysed => v1::ScanStatus::Analysing,
        ScanStep::Published if row.is_partial() => v1::ScanStatus::Partial,
        ScanStep::Published => v1::ScanStatus::Complete,
        ScanStep::Failed => v1::ScanStatus::Failed,
        ScanStep::Cancelled => v1::ScanStatus::Cancelled,
    }
}

fn ended_repositories(row: &ScanRow, live: &[RepositoryProgress]) -> Vec<v1::RepositoryState> {
    let named = row.options.iter().flat_map(|options| &options.repositories);
    let ended = |(place, repository): (usize, &v1::RepositoryRef)| {
        let missing =
            row.missing.iter().find(|one| (&one.site, &one.repository) == (&repository.site, &repository.repository));
        // One for each layer.
        let frozen =
            row.frozen.iter().filter(|one| (&one.site, &one.repository) == (&repository.site, &repository.repository));
        let summaries: Vec<_> = frozen.map(|one| one.summary.clone().unwrap_or_default()).collect();
        let sum = |count: fn(&v1::SyncSummary) -> u64| summaries.iter().map(count).fold(0, u64::saturating_add);
        let live = live.get(place);
        v1::RepositoryState {
            fine_chunks: live.map_or(0, |live| live.fine_chunks),
            fine_chunks_done: live.map_or(0, |live| live.fine_chunks_done),
            waiting: live.map(|live| live.waiting.clone()).unwrap_or_default(),
            repository: Some(repository.clone()),
            ended: missing.is_some() || !summaries.is_empty(),
            walk_finished: !summaries.is_empty(),
            documents_done: sum(|summary| summary.read_documents),
            read_bytes: sum(|summary| summary.read_bytes),
            sent_bytes: sum(|summary| summary.sent_bytes),
            failure: missing.map(|one| one.reason.clone()).unwrap_or_default(),
            ..v1::RepositoryState::default()
        }
    };
    named.enumerate().map(ended).collect()
}

fn phase_on_wire(phase: AnalysisPhase) -> v1::AnalysisPhase {
    match phase {
        AnalysisPhase::Freezing => v1::AnalysisPhase::Freezing,
        AnalysisPhase::Exporting => v1::AnalysisPhase::Exporting,
        AnalysisPhase::Grouping => v1::AnalysisPhase::Grouping,
        AnalysisPhase::Fetching => v1::AnalysisPhase::Fetching,
        AnalysisPhase::Comparing => v1::AnalysisPhase::Comparing,
        AnalysisPhase::Publishing => v1::AnalysisPhase::Publishing,
    }
}
