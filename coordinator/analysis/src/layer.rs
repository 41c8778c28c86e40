//! What happens to one layer of a scan, from top to bottom:
//!
//! ```text
//! indexes ─ freeze ─▶ frozen set ─ compare ─▶ links and clusters ─ conclude ─▶ findings and figures
//! ```
//!
//! Methods differ in the second step alone: there is a function for each [`Comparison`], and all of them return [`ComparedLayer`]. A method
//! that is compared in another way is one more variant and one more function.

use std::path::Path;

use cognate_fingerprint::Verification;
use cognate_proto::options::{Engine, ScanView};
use cognate_similarity::frame::FrameRow;
use cognate_similarity::{Analysis, Clustering, Link, RunShards};
use cognate_storage::store::{LayerRow, ScanRow, ScanStep};

use crate::alignment::{self, AlignmentFindings, AlignmentRequest, EarlierView};
use crate::analyser::{Analyser, Trust};
use crate::checkpoint::{self, Checkpoint};
use crate::clusters::{self, Links};
use crate::compare::Task;
use crate::error::Error;
use crate::findings::{Findings, LinkEvidence, LinkFindings};
use crate::fine::{
    ExactFigures, FineFigures, FineFiles, FineFindings, FineRound, FineSource, OutsideLink, rests_on_frame,
};
use crate::freeze::{FreezeRequest, FrozenSet, IgnoreReason, OtherLayer};
use crate::layer_result::LayerResult;
use crate::measure::{Measures, engine_thresholds};
use crate::spec::{AnalysisPhase, Comparison, Layer, ScanJob};
use crate::subject::Subject;
use crate::threads::{next_to_sites, side_by_side};
use crate::verify::VerifiedPair;

/// A layer of a scan that is being analysed.
struct LayerSteps<'a> {
    analyser: &'a Analyser,
    scan: &'a ScanJob,
    /// Its number in the scan.
    number: usize,
    /// The folder of the scan.
    folder: &'a Path,
    source: &'a dyn FineSource,
    trust: Trust,
    /// The layer of bytes, if this is the one of text.
    earlier: Option<&'a LayerResult>,
}

/// The outcome of a comparison.
struct ComparedLayer<'a> {
    analysis: Analysis,
    links: Links,
    measures: Measures,
    open: OpenFigures<'a>,
}

/// Figures that only people read. Nothing else waits for them, so they are made while the conclusions are drawn.
enum OpenFigures<'a> {
    None,
    /// The sites measure a sample of the pairs exactly.
    Sample(FineRound<'a>),
    /// The frames among the fine chunks are described.
    Frames(Box<FineFindings>, ExactFigures),
}

impl Analyser {
    /// Analyses the layers of a scan, as far as that is not done. One follows the other: each has the working memory for itself.
    pub(crate) fn layers(
        &self,
        scan: &ScanJob,
        row: &mut ScanRow,
        source: &dyn FineSource,
        trust: Trust,
    ) -> Result<Vec<LayerResult>, Error> {
        let folder = self.scan_folder(scan.id);
        let mut layers: Vec<LayerResult> = Vec::new();
        for number in 0..scan.spec.layers.len() {
            (scan.progress)(AnalysisPhase::Freezing, 0, 0);
            let earlier = layers.first();
            let steps = LayerSteps { analyser: self, scan, number, folder: &folder, source, trust, earlier };
            let layer = steps.result(row)?;
            layers.push(layer);
        }
        Ok(layers)
    }
}

impl<'a> LayerSteps<'a> {
    fn result(&self, row: &mut ScanRow) -> Result<LayerResult, Error> {
        let (mut frozen, template_rows) = self.freeze(row)?;
        let comparison = self.scan.spec.comparison(self.number);
        self.record_kind(row, comparison);
        let compared = match comparison {
            Comparison::FineChunks => self.compare_fine_chunks(row, &mut frozen, template_rows)?,
            Comparison::SampledChunks => self.compare_sampled_chunks(row, &frozen, template_rows)?,
            Comparison::Chunks => self.compare_weights(row, &frozen, Measures::of_chunks())?,
            Comparison::Samples(estimate) => self.compare_weights(row, &frozen, Measures::of_samples(estimate))?,
            Comparison::Signatures { .. } => self.compare_signatures(&frozen)?,
            Comparison::Proposals(verification) => self.compare_proposals(row, &frozen, verification)?,
        };
        let (view, clusters) = (self.layer().method.view(), compared.analysis.clusters.len());
        tracing::info!(scan = %self.scan.id, %view, clusters, "analysed");
        self.conclude(frozen, compared)
    }

    /// Puts the documents of all indexes together, and leaves out what is ignored. Returns the rows of templates as well, which count only
    /// among fine chunks.
    fn freeze(&self, row: &ScanRow) -> Result<(FrozenSet, Vec<FrameRow>), Error> {
        let (scan, method) = (self.scan, &self.layer().method);
        let other_layer = match self.earlier {
            Some(bytes) => OtherLayer::Bytes(&bytes.frozen),
            None => scan.spec.layers.get(1).map_or(OtherLayer::None, |text| OtherLayer::Text(1, text.method.view())),
        };
        let selection = scan.spec.selection()?;
        let indexes = &*self.analyser.indexes;
        let request = FreezeRequest { indexes, row, layer: self.number, method, selection: &selection, other_layer };
        let mut frozen = FrozenSet::build(&request)?;
        let ignored = self.analyser.frozen_templates(row, self.number)?;
        frozen.set_aside(ignored.tags, IgnoreReason::Template)?;
        frozen.set_controls(&scan.spec.options.control)?;
        if scan.spec.comparison(self.number).has_chunks() {
            self.analyser.set_crowds_aside(scan, self.number, &mut frozen)?;
        }
        let (documents, contents) = (frozen.documents.len(), frozen.contents.len());
        tracing::info!(scan = %scan.id, view = %method.view(), documents, contents, "frozen");
        Ok((frozen, ignored.rows))
    }

    /// Notes what a later scan must share to begin with the output of this one. A comparison pair by pair is not continued.
    fn record_kind(&self, row: &mut ScanRow, comparison: Comparison) {
        let across_only = self.scan.spec.options.across_only;
        let kind = match comparison.is_by_weights() {
            true => checkpoint::kind(row, self.number, &self.layer().thresholds, across_only),
            false => Vec::new(),
        };
        row.set_layer(self.number, LayerRow { kind, ..row.layer(self.number) });
    }

    /// By whole chunks first; then the candidates by fine chunks, among which rows of templates are left out of all sizes.
    fn compare_fine_chunks(
        &self,
        row: &mut ScanRow,
        frozen: &mut FrozenSet,
        template_rows: Vec<FrameRow>,
    ) -> Result<ComparedLayer<'a>, Error> {
        let subject = self.subject(frozen);
        let own = self.checkpoint(row, &subject);
        let (mut analysis, coarse) = self.weigh(row, &subject, &own)?;
        let round = self.fine_round(row, template_rows)?;
        let measures = Measures::of_chunks();
        let AlignmentFindings { alignment, .. } = self.align(&subject, &coarse, &[], &measures)?;
        let fine = self.task(&subject, |task| task.fine_links(&coarse, &alignment, &own, &round, &mut analysis))?;
        frozen.leave_out(&fine.findings.template_bytes);
        let links = Links::File(fine.links);
        let analysis = clusters::clustered(analysis, frozen, &links, &measures, self.clustering())?;
        Ok(ComparedLayer { analysis, links, measures, open: OpenFigures::Frames(Box::new(fine.findings), fine.exact) })
    }

    /// By whole chunks alone, and a sample of the pairs exactly.
    fn compare_sampled_chunks(
        &self,
        row: &mut ScanRow,
        frozen: &FrozenSet,
        template_rows: Vec<FrameRow>,
    ) -> Result<ComparedLayer<'a>, Error> {
        let compared = self.compare_weights(row, frozen, Measures::of_chunks())?;
        // Without an index there is no site to ask.
        let open = match row.method_id(self.number) {
            Some(_) => OpenFigures::Sample(self.fine_round(row, template_rows)?),
            None => OpenFigures::None,
        };
        Ok(ComparedLayer { open, ..compared })
    }

    /// By what the engine weighs.
    fn compare_weights(
        &self,
        row: &mut ScanRow,
        frozen: &FrozenSet,
        measures: Measures,
    ) -> Result<ComparedLayer<'a>, Error> {
        let subject = self.subject(frozen);
        let own = self.checkpoint(row, &subject);
        let (mut analysis, links) = self.weigh(row, &subject, &own)?;
        // The engine puts connected clusters together itself.
        if self.clustering() == Clustering::Greedy {
            analysis = clusters::clustered(analysis, frozen, &links, &measures, Clustering::Greedy)?;
        }
        Ok(ComparedLayer { analysis, links, measures, open: OpenFigures::None })
    }

    /// By the signatures of the pairs that have enough in common.
    fn compare_signatures(&self, frozen: &FrozenSet) -> Result<ComparedLayer<'a>, Error> {
        let pairs = self.task(&self.subject(frozen), |task| task.estimated())?;
        self.cluster_pairs(frozen, pairs)
    }

    /// By what was read again of the pairs that the method proposes. If nothing was proposed, nothing was read again.
    fn compare_proposals(
        &self,
        row: &ScanRow,
        frozen: &FrozenSet,
        verification: Verification,
    ) -> Result<ComparedLayer<'a>, Error> {
        let pairs = match self.analyser.second(self.scan, row, self.number, frozen)? {
            None => Vec::new(),
            Some(second) => self.task(&self.subject(frozen), |task| {
                self.task(&self.subject(&second.frozen), |again| task.verified(again, &second.numbers, verification))
            })?,
        };
        self.cluster_pairs(frozen, pairs)
    }

    fn cluster_pairs(&self, frozen: &FrozenSet, pairs: Vec<VerifiedPair>) -> Result<ComparedLayer<'a>, Error> {
        let (links, measures) = (Links::of(&pairs), Measures::of_pairs(pairs));
        let analysis = clusters::clustered(clusters::without(), frozen, &links, &measures, self.clustering())?;
        Ok(ComparedLayer { analysis, links, measures, open: OpenFigures::None })
    }

    /// Follows the links to what documents, places and clusters have in common, and makes the open figures meanwhile.
    fn conclude(&self, mut frozen: FrozenSet, compared: ComparedLayer<'_>) -> Result<LayerResult, Error> {
        let (subject, spec) = (self.subject(&frozen), &self.scan.spec);
        let ComparedLayer { analysis, links, measures, open } = compared;
        let follow = |outside: &[OutsideLink]| -> Result<(AlignmentFindings, LinkFindings), Error> {
            let aligned = self.align(&subject, &links, outside, &measures)?;
            let (analysis, links, measures) = (&analysis, &links, &measures);
            // Beside bytes, the layer of text speaks for office files, PDF, mail and web pages, and has the text of others too.
            let by_document = self.number > 0 && spec.options.view == ScanView::Both;
            let alignment = &aligned.alignment;
            let evidence = LinkEvidence { analysis, links, outside, measures, alignment, by_document };
            let findings = LinkFindings::of(&subject, &evidence, spec.threads)?;
            Ok((aligned, findings))
        };
        let ((AlignmentFindings { alignment, votes }, of_links), fine, exact) = match open {
            OpenFigures::None => (follow(&[])?, None, None),
            OpenFigures::Sample(round) => {
                let align = || Ok(self.align(&subject, &links, &[], &measures)?.alignment);
                let count = || self.task(&subject, |task| task.coarse_exact(&links, align, &round));
                let (exact, followed) = next_to_sites(spec.in_process, spec.threads, count, || follow(&[]))?;
                (followed, None, Some(exact))
            }
            OpenFigures::Frames(found, exact) => {
                let describe = || self.task(&subject, |task| task.described_frames(&found, &analysis.clusters));
                let (followed, frames) = side_by_side(spec.threads, || follow(&found.figures.outside), describe);
                (followed?, Some(FineFigures { frames: frames?, ..found.figures }), Some(exact))
            }
        };
        let findings = Findings { analysis, copies: subject.copies, alignment, votes, measures, of_links };
        // The postings are not needed any more.
        frozen.shards = RunShards::new(Vec::new());
        Ok(LayerResult { frozen, findings, fine, exact })
    }

    /// The links and clusters by weights: of an attempt that was interrupted, or of the engine now.
    fn weigh(&self, row: &mut ScanRow, subject: &Subject<'_>, own: &Checkpoint) -> Result<(Analysis, Links), Error> {
        let is_recorded = row.step() == ScanStep::Analysed && row.layer(self.number).binding == own.binding();
        let analysis = match is_recorded && self.trust.own {
            true => own.analysis()?,
            false => self.run_engine(row, subject, own)?,
        };
        Ok((analysis, Links::File(own.links()?)))
    }

    /// Runs the engine, and records the scan as analysed.
    fn run_engine(&self, row: &mut ScanRow, subject: &Subject<'_>, own: &Checkpoint) -> Result<Analysis, Error> {
        let (scan, number) = (self.scan, self.number);
        let spill_dir = self.folder.join("spill");
        let durable = !scan.spec.in_process;
        let report = |done, total| {
            let (earlier, layers) = (number as u64, scan.spec.layers.len() as u64);
            (scan.progress)(AnalysisPhase::Comparing, earlier * total + done, layers * total);
        };
        let thresholds = engine_thresholds(self.layer(), scan.spec.comparison(number));
        let spark = &self.analyser.spark;
        let task =
            Task { subject, scan, layer: number, thresholds, spill_dir: &spill_dir, durable, progress: &report, spark };
        // A cluster of machines groups all postings, those of an earlier scan too: people who ask for it want it to do the work.
        let begins_with_earlier = durable && self.trust.base && scan.spec.options.engine == Engine::Native;
        let base = if begins_with_earlier { self.analyser.base(scan.id, row, number)? } else { None };
        let analysis = task.analyse(base.as_ref(), own)?;
        let _ = std::fs::remove_dir(&spill_dir);
        // A comparison within one process is not resumed, and no later one begins with it.
        if durable {
            own.write(subject, &analysis)?;
            cognate_storage::failpoint!("scan.before_analysed");
            row.step = ScanStep::Analysed.into();
            row.set_layer(number, LayerRow { binding: own.binding().to_vec(), ..row.layer(number) });
            self.analyser.record(scan.id, row)?;
            cognate_storage::failpoint!("scan.after_analysed");
        }
        Ok(analysis)
    }

    fn layer(&self) -> &'a Layer {
        &self.scan.spec.layers[self.number]
    }

    fn subject<'f>(&self, frozen: &'f FrozenSet) -> Subject<'f> {
        Subject::of(frozen, self.scan.spec.options.across_only)
    }

    fn task<T>(&self, subject: &Subject<'_>, work: impl FnOnce(&Task<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.analyser.task(self.scan, self.number, subject, work)
    }

    fn clustering(&self) -> Clustering {
        if self.scan.spec.options.greedy { Clustering::Greedy } else { Clustering::Connected }
    }

    /// The files of the engine's output, which are bound to what it is about.
    fn checkpoint(&self, row: &ScanRow, subject: &Subject<'_>) -> Checkpoint {
        let binding = checkpoint::binding(subject, &row.layer(self.number).kind);
        Checkpoint::new(self.folder, self.number, binding)
    }

    /// Finds the folders of two repositories that are compared with each other, by the links of this layer and those of the earlier one. Links
    /// that rest on frames are no evidence.
    fn align(
        &self,
        subject: &Subject<'_>,
        links: &Links,
        outside: &[OutsideLink],
        measures: &Measures,
    ) -> Result<AlignmentFindings, Error> {
        let earlier = self.earlier.map(|layer| EarlierView { frozen: &layer.frozen, votes: &layer.findings.votes });
        let request = alignment_request(self.scan, subject.frozen)?;
        let each_link = |visit: &mut dyn FnMut(&Link)| {
            links.for_each(|link| {
                if !rests_on_frame(outside, link) {
                    visit(link)
                }
            })
        };
        alignment::find(subject, &each_link, measures, &request, earlier)
    }

    /// The files and sites of the fine chunks.
    fn fine_round(&self, row: &ScanRow, template_rows: Vec<FrameRow>) -> Result<FineRound<'a>, Error> {
        let LayerSteps { analyser, scan, folder, source, .. } = *self;
        let method_id = row.method_id(self.number);
        let method_id = method_id.ok_or_else(|| Error::Refused("a scan without a method".to_owned()))?;
        let in_process = scan.spec.in_process;
        let (files, earlier) = if in_process {
            let files = || FineFiles::in_process(folder, &analyser.folder, self.number, method_id);
            (files(), vec![files()])
        } else {
            // An attempt that was interrupted has asked already.
            let own = FineFiles::new(folder, self.number);
            let earlier = analyser.earlier_fine_chunks(scan.id, method_id)?;
            (FineFiles::new(folder, self.number), [own].into_iter().chain(earlier).collect())
        };
        Ok(FineRound {
            source,
            method_id,
            files,
            template_rows,
            earlier,
            keeps_earlier: in_process,
            durable: !in_process,
        })
    }
}

/// The alignment that the options of a scan ask for, with the first repository first.
fn alignment_request(scan: &ScanJob, frozen: &FrozenSet) -> Result<AlignmentRequest, Error> {
    let options = &scan.spec.options;
    let mut given = options.aligned_folders().map_err(|error| Error::Invalid(error.to_string()))?;
    let first = frozen.roots.first().map(|root| (&root.site, &root.repository));
    // Repositories are frozen in the order of their names.
    if options.repositories.first().map(|(site, repository)| (site, repository)) != first {
        given.iter_mut().for_each(|folders| folders.swap(0, 1));
    }
    Ok(AlignmentRequest { given, search: !options.no_align })
}
