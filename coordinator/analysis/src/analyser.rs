//! The steps after freezing, which need no site any more: analyse, then publish.
//!
//! The output of an analysis is recorded before anything is published from it, so that a crash while publishing costs no
//! analysis. A file that turns out damaged is made again from its inputs: runs from segments, all else by
//! analysing again. The result is the same whatever had to be done again.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cognate_durable::whole::{PUBLIC_FOLDER, TEMPORARY_EXTENSION, make_folder};
use cognate_fingerprint::MethodId;
use cognate_proto::name::ScanId;
use cognate_proto::options::{Engine, Precision};
use cognate_proto::selection::Selection;
use cognate_similarity::frame::FrameRow;
use cognate_similarity::{Analysis, Clustering, Error as EngineError, LinkFile, RunShards};

use crate::alignment::{self, Alignment, Before, EachLink, Wanted};
use crate::checkpoint::{self, Checkpoint};
use crate::clusters::{self, Links};
use crate::compare::Task;
use crate::error::Error;
use crate::findings::Followed;
use crate::fine::{FineFigures, FineFiles, FineFound, FineRound, FineSource};
use crate::freeze::{Beside, Frozen, Why};
use crate::layered::Layered;
use crate::measure::{Measures, engine_thresholds};
use crate::published::Checked;
use crate::result;
use crate::spark::Spark;
use crate::spec::{AnalysisPhase, Layer, ScanJob};
use crate::subject::Subject;
use crate::threads::{next_to_sites, side_by_side};
use crate::verify::Verified;
use cognate_storage::clock::{Clock, seconds};
use cognate_storage::indexes::Indexes;
use cognate_storage::journal::{Event, ScanEvent, What};
use cognate_storage::store::{IndexId, LayerRow, ScanRow, ScanStep, Store};
use cognate_storage::template::{self, Ignored};

/// Number of earlier scans whose fine chunks are looked through.
const EARLIER_MAX: usize = 4;
/// Number of repairs of damage before it is reported.
const REPAIRS_MAX: u32 = 3;

/// Files of earlier steps and scans that may be used.
#[derive(Clone, Copy)]
struct Trust {
    /// The files of this scan.
    own: bool,
    /// Those of the scan before it.
    base: bool,
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
    pub checked: Checked,
    /// The clusters elsewhere that may group postings.
    pub spark: Spark,
}

/// A result file that was written and that no row refers to yet.
pub struct Written {
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

    /// The path of a scan's result, if the file is the one that was published: whoever opens a result asks here.
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
    pub fn analyse(&self, scan: &ScanJob, row: &mut ScanRow, source: &dyn FineSource) -> Result<Written, Error> {
        let folder = self.scan_folder(scan.id);
        let mut trust = Trust { own: true, base: true };
        for _ in 0..REPAIRS_MAX {
            match self.attempt(scan, row, &folder, (trust, source)) {
                Err(Error::Engine(error)) => self.mend(row, &folder, error, &mut trust)?,
                done => return done,
            }
        }
        self.attempt(scan, row, &folder, (trust, source))
    }

    /// Removes a damaged file so that it is not used again; returns any other error.
    fn mend(&self, row: &ScanRow, folder: &Path, error: EngineError, trust: &mut Trust) -> Result<(), Error> {
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
        folder: &Path,
        (trust, source): (Trust, &dyn FineSource),
    ) -> Result<Written, Error> {
        let at = |phase, done, total| {
            (scan.progress)(phase, done, total);
        };
        match scan.spec.in_process {
            true => std::fs::create_dir_all(folder),
            false => make_folder(folder, PUBLIC_FOLDER),
        }
        .map_err(Error::state(folder))?;
        // One layer after the other: each has the working memory for itself.
        let mut layers: Vec<Layered> = Vec::new();
        for layer in 0..scan.spec.layers.len() {
            at(AnalysisPhase::Freezing, 0, 0);
            let found = self.layer(scan, (row, layer), folder, (trust, source), layers.first())?;
            layers.push(found);
        }
        at(AnalysisPhase::Publishing, 0, 0);
        self.write_result(scan, row, &layers, folder)
    }

    /// Freezes and analyses a layer, as far as that is not done.
    fn layer(
        &self,
        scan: &ScanJob,
        (row, layer): (&mut ScanRow, usize),
        folder: &Path,
        (trust, source): (Trust, &dyn FineSource),
        earlier: Option<&Layered>,
    ) -> Result<Layered, Error> {
        let selection = Selection::new(scan.spec.options.selection()).map_err(|e| Error::Invalid(e.to_string()))?;
        let Layer { method, thresholds, .. } = &scan.spec.layers[layer];
        let beside = match earlier {
            Some(before) => Beside::Bytes(&before.frozen),
            None => scan.spec.layers.get(1).map_or(Beside::Nothing, |text| Beside::Text(1, text.method.view())),
        };
        let mut frozen = Frozen::build(&self.indexes, (row, layer), method, &selection, beside)?;
        let ignored = self.frozen_templates(row, layer)?;
        frozen.set_aside(ignored.tags.clone(), Why::Template)?;
        frozen.set_controls(&scan.spec.options.control)?;
        self.set_crowds_aside(scan, layer, &mut frozen)?;
        let (documents, contents) = (frozen.documents.len(), frozen.contents.len());
        tracing::info!(scan = %scan.id, view = %method.view(), documents, contents, "frozen");
        let subject = Subject::of(&frozen, scan.spec.options.across_only);
        // An analysis that compares pair by pair is not continued.
        let kind = match method.capabilities().fixed_size {
            false => checkpoint::kind(row, layer, thresholds, scan.spec.options.across_only),
            true => Vec::new(),
        };
        let own = Checkpoint::new(folder, layer, checkpoint::binding(&subject, &kind));
        let before = row.layer(layer);
        row.set_layer(layer, LayerRow { kind, ..before });
        let align = |subject: &Subject<'_>, each_link: EachLink<'_>, measures: &Measures| -> Result<Alignment, Error> {
            let before = earlier
                .map(|layer| Before { frozen: &layer.frozen, votes: layer.findings.partners.votes(&layer.frozen) });
            alignment::found(subject, (each_link, measures), &wanted_alignment(scan, subject.frozen)?, before)
        };
        let (mut fine, mut exact, mut sample_round) = (None, None, None);
        let (analysis, links, measures) = if method.capabilities().fixed_size {
            let verified = self.look(scan, (row, layer), &subject)?;
            let (links, measures) = (Links::of(&verified), Measures::of_verified(verified));
            (clusters::of_links(&frozen, &links, &measures, scan.spec.options.greedy)?, links, measures)
        } else {
            let recorded = row.step() == ScanStep::Analysed && row.layer(layer).binding == own.binding() && trust.own;
            let (mut analysis, coarse) = match recorded {
                true => (own.analysis()?, own.links()?),
                false => self.compare(scan, (row, layer), &subject, &own, trust)?,
            };
            let measures = Measures::of_weights(method);
            let links = if scan.spec.precision(layer) == Some(Precision::Fine) {
                let round = self.fine_round(scan, (row, layer), (folder, source), ignored.rows)?;
                let alignment = align(&subject, &|visit| Ok(coarse.for_each(visit)?), &measures)?;
                let (links, found, sample) = self.task(scan, layer, &subject, |task| {
                    task.fine_links(&coarse, &alignment, &own, &round, &mut analysis)
                })?;
                frozen.leave_out(&found.template_bytes);
                (fine, exact) = (Some(found), Some(sample));
                Links::File(links)
            } else {
                // Sites find contents in what they sent of complete repositories, and a refinement is an index of its own.
                if scan.spec.precision(layer).is_some()
                    && scan.spec.options.refine.is_none()
                    && row.method_id(layer).is_some()
                {
                    sample_round = Some(self.fine_round(scan, (row, layer), (folder, source), ignored.rows)?);
                }
                Links::File(coarse)
            };
            let clustering = if scan.spec.options.greedy { Clustering::Greedy } else { Clustering::Connected };
            let is_clustered = fine.is_none() && clustering == Clustering::Connected;
            let analysis = match is_clustered {
                true => analysis,
                false => clusters::clustered(analysis, (&frozen, &links, &measures), clustering)?,
            };
            (analysis, links, measures)
        };
        tracing::info!(scan = %scan.id, view = %method.view(), clusters = analysis.clusters.len(), "analysed");
        let subject = Subject::of(&frozen, scan.spec.options.across_only);
        let follow = || -> Result<_, Error> {
            let alignment = align(&subject, &|visit| links.for_each(visit), &measures)?;
            let outside = fine.as_ref().map_or(&[][..], |found: &FineFound| &found.figures.outside);
            let followed =
                Followed::of(&subject, &analysis, (&links, outside), &measures, &alignment, scan.spec.threads)?;
            Ok((alignment, followed))
        };
        // Only people read how exact figures are, and what is said about frames: nothing else waits for it.
        let ((alignment, followed), frames) = match (&links, &sample_round) {
            (Links::File(coarse), Some(round)) => {
                let align = || align(&subject, &|visit| Ok(coarse.for_each(visit)?), &measures);
                let count = || self.task(scan, layer, &subject, |task| task.coarse_exact(coarse, align, round));
                let (counted, followed) = next_to_sites((scan.spec.in_process, scan.spec.threads), count, follow)?;
                exact = Some(counted);
                (followed, None)
            }
            _ => {
                let describe =
                    |found| self.task(scan, layer, &subject, |task| task.described_frames(found, &analysis.clusters));
                let describe = || fine.as_ref().map(describe).transpose();
                let (followed, frames) = side_by_side(scan.spec.threads, follow, describe);
                (followed?, frames?)
            }
        };
        let findings = followed.with(subject, analysis, measures, alignment);
        let figures = fine.map(|found| FineFigures { frames: frames.unwrap_or_default(), ..found.figures });
        // The postings are not needed any more.
        frozen.shards = RunShards::new(Vec::new());
        Ok(Layered { frozen, findings, fine: figures, exact })
    }

    /// The files and sites of the fine chunks of a layer.
    fn fine_round<'a>(
        &self,
        scan: &ScanJob,
        (row, layer): (&ScanRow, usize),
        (folder, source): (&Path, &'a dyn FineSource),
        template_rows: Vec<FrameRow>,
    ) -> Result<FineRound<'a>, Error> {
        let method_id = row.method_id(layer).ok_or_else(|| Error::Refused("a scan without a method".to_owned()))?;
        if scan.spec.in_process {
            let files = || FineFiles::in_process(folder, &self.folder, layer, method_id);
            let earlier = vec![files()];
            let files = files();
            return Ok(FineRound {
                source,
                method_id,
                files,
                template_rows,
                earlier,
                keeps_earlier: true,
                durable: false,
            });
        }
        let (files, earlier) = (FineFiles::new(folder, layer), self.earlier_fine_chunks(scan.id, method_id)?);
        Ok(FineRound { source, method_id, files, template_rows, earlier, keeps_earlier: false, durable: true })
    }

    /// The answers that the latest published scans under a method had from sites, whatever else they were about: a scan of each kind
    /// keeps its own.
    pub(crate) fn earlier_fine_chunks(&self, id: ScanId, method_id: MethodId) -> Result<Vec<FineFiles>, Error> {
        let scans = self.store.scans()?.into_iter();
        let published = scans.filter(|(other, row)| *other != id && row.step() == ScanStep::Published);
        let layers = published.flat_map(|(other, row)| {
            let of_method = (0..row.layer_count()).filter(|layer| row.method_id(*layer) == Some(method_id));
            of_method.map(|layer| (row.number, FineFiles::new(&self.scan_folder(other), layer))).collect::<Vec<_>>()
        });
        let mut earlier: Vec<(u64, FineFiles)> = layers.filter(|(_, files)| files.has_any()).collect();
        earlier.sort_unstable_by_key(|(number, _)| Reverse(*number));
        earlier.truncate(EARLIER_MAX);
        Ok(earlier.into_iter().map(|(_, files)| files).collect())
    }

    /// Finds the links of a layer whose method needs to look at pairs one by one.
    fn look(
        &self,
        scan: &ScanJob,
        (row, layer): (&ScanRow, usize),
        subject: &Subject<'_>,
    ) -> Result<Vec<Verified>, Error> {
        let method = &scan.spec.layers[layer].method;
        if !method.capabilities().only_proposes() {
            return self.task(scan, layer, subject, |task| task.estimated(method, &task.candidates(method)?));
        }
        // If nothing was proposed, nothing was read again.
        let Some(second) = self.second(scan, (row, layer), subject.frozen)? else { return Ok(Vec::new()) };
        let of_second = Subject::of(&second.frozen, scan.spec.options.across_only);
        self.task(scan, layer, subject, |task| {
            self.task(scan, layer, &of_second, |again| task.verified(again, &second.numbers))
        })
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

    /// The step from frozen to analysed, for one layer.
    fn compare(
        &self,
        scan: &ScanJob,
        (row, layer): (&mut ScanRow, usize),
        subject: &Subject<'_>,
        own: &Checkpoint,
        trust: Trust,
    ) -> Result<(Analysis, LinkFile), Error> {
        let spill_dir = self.scan_folder(scan.id).join("spill");
        let durable = !scan.spec.in_process;
        let (place, layers) = (layer as u64, scan.spec.layers.len() as u64);
        let report = |done, total| {
            (scan.progress)(AnalysisPhase::Comparing, place * total + done, layers * total);
        };
        let Layer { method, thresholds, .. } = &scan.spec.layers[layer];
        let thresholds = engine_thresholds(method, *thresholds);
        let spark = &self.spark;
        let task = Task { subject, scan, layer, thresholds, spill_dir: &spill_dir, durable, progress: &report, spark };
        // The cluster groups all postings, those of an earlier scan too: whoever asks for a cluster wants it to do the work.
        let is_native = scan.spec.options.engine == Engine::Native;
        let base = if durable && trust.base && is_native { self.base(scan.id, row, layer)? } else { None };
        let analysis = task.analyse(base.as_ref(), own)?;
        let _ = std::fs::remove_dir(&spill_dir);
        // A comparison within one process is not gone on with, and no later one begins with it.
        if durable {
            own.write(subject, &analysis)?;
            cognate_storage::failpoint!("scan.before_analysed");
            row.step = ScanStep::Analysed.into();
            let before = row.layer(layer);
            row.set_layer(layer, LayerRow { binding: own.binding().to_vec(), ..before });
            self.record(scan.id, row)?;
            cognate_storage::failpoint!("scan.after_analysed");
        }
        Ok((analysis, own.links()?))
    }

    fn write_result(&self, scan: &ScanJob, row: &ScanRow, layers: &[Layered], folder: &Path) -> Result<Written, Error> {
        let path = folder.join(RESULT_FILE);
        let finished = seconds((self.clock)());
        let durable = !scan.spec.in_process;
        let spoken = result::layers_with_documents(scan, layers);
        result::write(&path, &result::Publication { scan, row, finished, layers: spoken, synced: layers, durable })?;
        Ok(Written { path, finished })
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

    /// Output of the latest published scan for a layer of the same kind, if it still exists.
    fn base(&self, id: ScanId, row: &ScanRow, layer: usize) -> Result<Option<Checkpoint>, Error> {
        let Some((base, place, found)) = self.latest_alike(id, row, layer)? else { return Ok(None) };
        let Ok(binding) = found.layer(place).binding.as_slice().try_into() else { return Ok(None) };
        let checkpoint = Checkpoint::new(&self.scan_folder(base), place, binding);
        match checkpoint.links() {
            Ok(_) => {
                tracing::info!(scan = %id, %base, "it begins with what an earlier scan found");
                Ok(Some(checkpoint))
            }
            Err(error) => {
                tracing::info!(scan = %id, %base, %error, "what an earlier scan found is not used");
                Ok(None)
            }
        }
    }

    /// The latest published scan with a layer of the same kind, and the number of that layer.
    fn latest_alike(&self, id: ScanId, row: &ScanRow, layer: usize) -> Result<Option<(ScanId, usize, ScanRow)>, Error> {
        let kind = row.layer(layer).kind;
        let scans = self.store.scans()?.into_iter().filter(|(other, _)| *other != id);
        let alike = scans.filter_map(|(other, found)| Some((other, alike(&found, &kind)?, found)));
        Ok(alike.max_by_key(|(.., row)| row.number))
    }

    /// Of the layers of a kind, only the latest keeps what the next one begins with.
    pub fn keep_latest(&self, scan: &ScanJob, row: &ScanRow) -> Result<(), Error> {
        let own = self.scan_folder(scan.id);
        let scans = if scan.spec.in_process { Vec::new() } else { self.store.scans()? };
        for layer in 0..scan.spec.layers.len() {
            if scan.spec.in_process {
                checkpoint::remove(&own, layer)?;
            }
            FineFiles::new(&own, layer).remove_links();
            let kind = row.layer(layer).kind;
            for (other, found) in scans.iter().filter(|(other, _)| *other != scan.id) {
                match alike(found, &kind) {
                    None => {}
                    Some(place) if found.number < row.number => {
                        checkpoint::remove(&self.scan_folder(*other), place)?;
                        FineFiles::new(&self.scan_folder(*other), place).remove();
                    }
                    Some(_) => {
                        checkpoint::remove(&own, layer)?;
                        FineFiles::new(&own, layer).remove();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Number of the layer of a published scan that is of a kind.
fn alike(found: &ScanRow, kind: &[u8]) -> Option<usize> {
    let is_alike = |layer: &usize| !kind.is_empty() && found.layer(*layer).kind == kind;
    (0..found.layer_count()).find(is_alike).filter(|_| found.step() == ScanStep::Published)
}

/// The alignment that a scan wants, with the first repository first.
fn wanted_alignment(scan: &ScanJob, frozen: &Frozen) -> Result<Wanted, Error> {
    let options = &scan.spec.options;
    let mut given = options.aligned_folders().map_err(|error| Error::Invalid(error.to_string()))?;
    let first = frozen.roots.first().map(|root| (&root.site, &root.repository));
    // Repositories are frozen in the order of their names.
    if options.repositories.first().map(|(site, repository)| (site, repository)) != first {
        given.iter_mut().for_each(|folders| folders.swap(0, 1));
    }
    Ok(Wanted { given, search: !options.no_align })
}
