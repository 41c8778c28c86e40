//! The steps after freezing, which need no site any more: analyse, then publish.
//!
//! The output of an analysis is recorded before anything is published from it, so that a crash while publishing costs no
//! analysis. A file that turns out damaged is made again from its inputs: runs from segments, all else by
//! analysing again. The result is the same whatever had to be done again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cognate_durable::whole::{PUBLIC_FOLDER, TEMPORARY_EXTENSION, make_folder};
use cognate_proto::name::ScanId;
use cognate_similarity::Error as EngineError;

use crate::compare::Task;
use crate::error::Error;
use crate::fine::FineSource;
use crate::layer_result::LayerResult;
use crate::published::IntactResults;
use crate::result;
use crate::spark::Spark;
use crate::spec::{AnalysisPhase, ScanJob};
use crate::subject::Subject;
use cognate_storage::clock::{Clock, seconds};
use cognate_storage::indexes::Indexes;
use cognate_storage::journal::{Event, ScanEvent, What};
use cognate_storage::store::{IndexId, LayerRow, ScanRow, Store};
use cognate_storage::template::{self, Ignored};

/// Number of repairs of damage before it is reported.
const REPAIRS_MAX: u32 = 3;

/// Files of earlier steps and scans that may be used.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    /// The files of this scan.
    pub(crate) own: bool,
    /// Those of the scan with which it begins.
    pub(crate) base: bool,
}

/// Analyses frozen scans over the indexes of a store.
pub struct Analyser {
    /// The transactional view, in which steps are recorded.
    pub store: Arc<Store>,
    /// The indexes that scans freeze.
    pub indexes: Arc<Indexes>,
    /// The folder with a folder for each scan.
    pub folder: PathBuf,
    /// The clock for the times of scans.
    pub clock: Clock,
    /// The results that were found unchanged.
    pub checked: IntactResults,
    /// The clusters elsewhere that may group postings.
    pub spark: Spark,
}

/// A result file that was written and that no row refers to yet.
pub struct UnpublishedResult {
    /// The file.
    pub path: PathBuf,
    /// The end of the analysis, in seconds since 1970.
    pub finished: i64,
}

/// The name of a result in the folder of its scan.
const RESULT_FILE: &str = "result.sqlite";

impl Analyser {
    /// The folder of a scan's files.
    pub fn scan_folder(&self, id: ScanId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// The path of a scan's result, if it has one.
    pub fn result_path(&self, id: ScanId) -> PathBuf {
        self.scan_folder(id).join(RESULT_FILE)
    }

    /// The path of a scan's result, if the file is the one that was published. A result is opened by this path alone.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has changed since it was published.
    pub fn published(&self, id: ScanId) -> Result<PathBuf, Error> {
        let path = self.result_path(id);
        // Results of `compare` are recorded without a digest, and scans that have not ended have none.
        if let Some(row) = self.store.scan(id)?.filter(|row| !row.file_digest.is_empty()) {
            self.checked.check(id, &path, &row.file_digest)?;
        }
        Ok(path)
    }

    /// Writes down how far a scan is, before anything is built on it.
    pub fn record(&self, id: ScanId, row: &ScanRow) -> Result<(), Error> {
        let what = What::Scan(ScanEvent { id: id.0, row: row.clone() });
        Ok(self.store.record(&Event {
            time: seconds((self.clock)()),
            by: row.launched_by.clone(),
            what: Some(what),
        })?)
    }

    /// Fixes which templates are set aside: marks that come later are for later scans.
    pub fn freeze_templates(&self, mut row: ScanRow) -> Result<ScanRow, Error> {
        for layer in 0..row.layer_count() {
            let Some(method_id) = row.method_id(layer) else { continue };
            let (templates, ignored) = template::in_force(&self.store, method_id)?;
            let templates_digest = if templates.is_empty() { String::new() } else { ignored.digest(method_id) };
            row.set_layer(layer, LayerRow { templates, templates_digest, ..row.layer(layer) });
        }
        Ok(row)
    }

    /// The tags and rows that were fixed for a layer of a scan.
    pub(crate) fn frozen_templates(&self, row: &ScanRow, layer: usize) -> Result<Ignored, Error> {
        let LayerRow { templates, templates_digest, .. } = row.layer(layer);
        let ignored = template::ignored_by(&self.store, &templates)?;
        match row.method_id(layer) {
            Some(method_id) if !ignored.is_empty() && ignored.digest(method_id) != templates_digest => Err(
                Error::Refused("the templates that it was frozen with are not what they were: launch it again".into()),
            ),
            _ => Ok(ignored),
        }
    }

    /// Analyses a frozen scan and writes its result file. `row` is brought up to date and recorded as steps end; `source` asks
    /// the sites for fine chunks.
    ///
    /// # Errors
    /// Fails if the scan is cancelled, the state cannot be read or written, or damage comes back after a repair.
    pub fn analyse(
        &self,
        scan: &ScanJob,
        row: &mut ScanRow,
        source: &dyn FineSource,
    ) -> Result<UnpublishedResult, Error> {
        let folder = self.scan_folder(scan.id);
        let mut trust = Trust { own: true, base: true };
        for _ in 0..REPAIRS_MAX {
            match self.attempt(scan, row, source, trust) {
                Err(Error::Engine(error)) => self.repair(row, &folder, error, &mut trust)?,
                done => return done,
            }
        }
        self.attempt(scan, row, source, trust)
    }

    /// Removes a damaged file so that it is not used again; returns any other error.
    fn repair(&self, row: &ScanRow, folder: &Path, error: EngineError, trust: &mut Trust) -> Result<(), Error> {
        let path = match &error {
            EngineError::Corrupt { path, .. } => path.clone(),
            // A file of the checkpoint that is gone is as good as damaged.
            EngineError::Io { path, source, .. } if source.kind() == std::io::ErrorKind::NotFound => path.clone(),
            _ => return Err(error.into()),
        };
        if path.starts_with(folder) {
            tracing::warn!(%error, "everything is compared again");
            trust.own = false;
        } else if path.starts_with(&self.folder) {
            tracing::warn!(%error, "what the scan before this one left is not used");
            trust.base = false;
        } else if matches!(error, EngineError::Corrupt { .. }) {
            tracing::warn!(%error, "the runs are rebuilt from the segments");
            row.frozen.iter().try_for_each(|row| self.indexes.rebuild_runs(IndexId(row.index)))?;
        } else {
            return Err(error.into());
        }
        Ok(())
    }

    fn attempt(
        &self,
        scan: &ScanJob,
        row: &mut ScanRow,
        source: &dyn FineSource,
        trust: Trust,
    ) -> Result<UnpublishedResult, Error> {
        let folder = self.scan_folder(scan.id);
        match scan.spec.in_process {
            true => std::fs::create_dir_all(&folder),
            false => make_folder(&folder, PUBLIC_FOLDER),
        }
        .map_err(Error::state(&folder))?;
        let layers = self.layers(scan, row, source, trust)?;
        row.coarse = layers.iter().flat_map(LayerResult::without_fine_chunks).collect();
        (scan.progress)(AnalysisPhase::Publishing, 0, 0);
        self.write_result(scan, row, &layers, &folder)
    }

    /// Does a part of the analysis of a layer.
    pub(crate) fn task<T>(
        &self,
        scan: &ScanJob,
        layer: usize,
        subject: &Subject<'_>,
        work: impl FnOnce(&Task<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let spill_dir = self.scan_folder(scan.id).join("spill");
        let progress = |done, total| {
            (scan.progress)(AnalysisPhase::Comparing, done, total);
        };
        let thresholds = scan.spec.layers[layer].thresholds;
        let done = work(&Task {
            subject,
            scan,
            layer,
            thresholds,
            spill_dir: &spill_dir,
            durable: false,
            progress: &progress,
            spark: &self.spark,
        });
        let _ = std::fs::remove_dir(&spill_dir);
        done
    }

    fn write_result(
        &self,
        scan: &ScanJob,
        row: &ScanRow,
        layers: &[LayerResult],
        folder: &Path,
    ) -> Result<UnpublishedResult, Error> {
        let path = folder.join(RESULT_FILE);
        let finished = seconds((self.clock)());
        let durable = !scan.spec.in_process;
        let spoken = result::layers_with_documents(scan, layers);
        result::write(&path, &result::Publication { scan, row, finished, layers: spoken, synced: layers, durable })?;
        Ok(UnpublishedResult { path, finished })
    }

    /// Removes what a scan that goes on has begun to write and not finished.
    pub fn remove_unfinished(&self, id: ScanId) -> Result<(), Error> {
        let folder = self.scan_folder(id);
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(Error::state(&folder))?,
        };
        for entry in entries {
            let path = entry.map_err(Error::state(&folder))?.path();
            let removed = match path.extension().and_then(|extension| extension.to_str()) {
                Some(TEMPORARY_EXTENSION) => std::fs::remove_file(&path),
                _ if path.is_dir() => std::fs::remove_dir_all(&path),
                _ => continue,
            };
            removed.map_err(Error::state(&path))?;
        }
        Ok(())
    }
}
