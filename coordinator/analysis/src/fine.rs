//! Fine figures of a layer: after the comparison by whole chunks, sites cut the chunks that candidate pairs do not share into
//! fine chunks, and the links follow from both (`docs/decisions/0028-fine-figures.md`).
//!
//! `candidates` bounds the pairs, `wanted` finds their chunks and asks for them, `expansions` keeps the answers, which `kept` reads once more for a pair of a result, and
//! `links` measures the pairs again. `loose` and `loose_links` keep what unlike contents have in common, in which `frames` finds what many of them have (`docs/decisions/0035-frames.md`), `parts` knows
//! what of a chunk is template or frame, `outside` has the links without their frames, and `describe` what people read about frames. `sample` draws some of the pairs, `exact` has the sites measure them exactly, and `answers`
//! keeps what they count: that is how far reported shares are from the truth, with fine chunks or without.

mod agreeing;
mod answers;
mod bits;
mod candidates;
mod chunk_file;
mod coverage;
mod describe;
mod exact;
mod expansions;
mod frames;
mod kept;
mod links;
mod lookup;
mod loose;
mod loose_links;
#[cfg(test)]
mod oracle;
mod outside;
mod pair;
mod pair_sums;
mod parts;
mod placed;
mod sample;
mod sharing;
mod wanted;

use std::path::{Path, PathBuf};

use cognate_fingerprint::{Method, MethodId, Tag};
use cognate_proto::fine::{Expansion, FineChoice};
use cognate_proto::measure::{ContentPair, PairMeasure};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_similarity::frame::FrameRow;
use cognate_similarity::{Analysis, LinkFile};

use self::candidates::Candidates;
use self::exact::Failures;
use self::expansions::{Expansions, ExpansionsWriter};
use self::frames::{Compared, contents_of};
use self::links::{Measured, MeasuredPair, Measuring};
use self::loose::Loose;
use self::parts::{PartBytes, Parts};
use self::sample::Sampling;
use self::wanted::{Left, WantedChunk, each_once};
use crate::alignment::Alignment;
use crate::checkpoint::Checkpoint;
use crate::compare::Task;
use crate::error::Error;
use crate::threads::{next_to_sites, side_by_side};

pub(crate) use self::describe::Frame;
pub(crate) use self::exact::ExactFigures;
pub(crate) use self::outside::{OutsideLink, outside_of};

pub use kept::KeptFineChunks;

/// A request to a site: chunks of one of its repositories that it cuts again.
#[derive(Clone)]
pub struct FineRequest {
    /// The site.
    pub site: SiteName,
    /// The repository.
    pub repository: RepositoryName,
    /// The method under which the chunks were sent.
    pub method: Method,
    /// Its id under the site's key.
    pub method_id: MethodId,
    /// The contents and chunks.
    pub choice: FineChoice,
}

/// The answer of a site.
#[derive(Default)]
pub struct FineAnswer {
    /// The chunks that it cut, each of the request at most once.
    pub expansions: Vec<Expansion>,
    /// Contents that it could not read, because their documents are gone or have changed.
    pub changed_contents: u64,
    /// Bytes of documents that it read.
    pub read_bytes: u64,
    /// Bytes of its messages.
    pub sent_bytes: u64,
}

/// The reason why a site gives no fine chunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FineFailure {
    /// One line for people.
    pub reason: String,
    /// True if the site's policy refuses them, or the scan asks no site; else they were to be had, and are not there now.
    pub refused: bool,
}

impl FineFailure {
    /// A failure that may pass.
    pub fn passing(reason: impl Into<String>) -> FineFailure {
        FineFailure { reason: reason.into(), refused: false }
    }
}

/// A request to a site: pairs of contents that it has, which it measures exactly.
#[derive(Clone)]
pub struct MeasureRequest {
    /// The site.
    pub site: SiteName,
    /// Its repositories that have the contents.
    pub repositories: Vec<RepositoryName>,
    /// The method under which the contents were sent.
    pub method: Method,
    /// Its id under the site's key.
    pub method_id: MethodId,
    /// The pairs.
    pub pairs: Vec<ContentPair>,
}

/// The counts of a site.
#[derive(Default)]
pub struct MeasureAnswer {
    /// The pairs whose documents are unchanged, ascending by their places in the request.
    pub measures: Vec<PairMeasure>,
    /// Bytes of documents that it read.
    pub read_bytes: u64,
}

/// The sites, as an analysis asks them for fine chunks and for exact measures.
pub trait FineSource: Sync {
    /// Asks several sites for fine chunks at the same time. The answers come in the order of the requests.
    fn ask(&self, requests: Vec<FineRequest>) -> Vec<Result<FineAnswer, FineFailure>>;

    /// Asks several sites for exact measures at the same time. The answers come in the order of the requests.
    fn measure(&self, requests: Vec<MeasureRequest>) -> Vec<Result<MeasureAnswer, FineFailure>>;
}

/// What is known of the fine figures of a layer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FineFigures {
    /// Pairs that were measured by fine chunks.
    pub(crate) fine_pairs: u64,
    /// Candidates of which some chunk could not be cut again.
    pub(crate) coarse_pairs: u64,
    /// Pairs that were not measured, because their contents have too many candidates.
    pub(crate) omitted_pairs: u64,
    /// Of each root, in their order.
    pub(crate) roots: Vec<FineRoot>,
    /// Rows of the templates in force.
    pub(crate) template_rows: u64,
    /// The frames, by the documents that have them.
    pub(crate) frames: Vec<Frame>,
    /// The links of which a frame is part, by (a, b).
    pub(crate) outside: Vec<OutsideLink>,
}

/// The fine chunks that a repository gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FineRoot {
    /// Chunks that the site was asked to cut.
    pub(crate) chunks: u64,
    /// Of these, chunks that it cut, now or for an earlier scan.
    pub(crate) expanded_chunks: u64,
    /// Contents whose documents are gone or have changed.
    pub(crate) changed_contents: u64,
    /// The reason why the site gave no more fine chunks.
    pub(crate) failure: Option<FineFailure>,
    /// Bytes of documents that it read for them.
    pub(crate) read_bytes: u64,
    /// Bytes of its messages with them.
    pub(crate) sent_bytes: u64,
}

/// The figures of a round of fine chunks, and the data from which its frames are described.
pub(crate) struct FineFound {
    /// The figures, without a description of the frames.
    pub(crate) figures: FineFigures,
    /// Of every content, the bytes that rows of templates cover: they count for its size no more than those of template chunks. Nothing:
    /// of no content any.
    pub(crate) template_bytes: Vec<u64>,
    parts: Parts,
    expansions: Expansions,
    /// The contents that may have frames, ascending.
    contents: Vec<u32>,
}

/// The files of a layer's fine figures, in the folder of its scan.
#[derive(Debug)]
pub(crate) struct FineFiles {
    links: PathBuf,
    expansions: PathBuf,
    answers: PathBuf,
}

impl FineFiles {
    pub(crate) fn new(folder: &Path, layer: usize) -> FineFiles {
        FineFiles {
            links: folder.join(format!("fine-links-{layer}")),
            expansions: folder.join(format!("fine-chunks-{layer}")),
            answers: folder.join(format!("exact-measures-{layer}")),
        }
    }

    /// The files of a comparison within one process, whose fine chunks stay for the next one with the same method.
    pub(crate) fn in_process(folder: &Path, scans: &Path, layer: usize, method_id: MethodId) -> FineFiles {
        let expansions = scans.join(format!("fine-chunks-{method_id}"));
        let answers = scans.join(format!("exact-measures-{method_id}"));
        FineFiles { expansions, answers, ..FineFiles::new(folder, layer) }
    }

    fn has_chunks(&self) -> bool {
        self.expansions.is_file()
    }

    /// True if there are answers of sites, which a later scan may use.
    pub(crate) fn has_any(&self) -> bool {
        self.has_chunks() || self.answers.is_file()
    }

    /// Removes the links, which nothing but the result needs, and keeps what a later scan may use.
    pub(crate) fn remove_links(&self) {
        let _ = std::fs::remove_file(&self.links);
    }

    /// Removes the answers of sites, which a later scan has taken over.
    pub(crate) fn remove(&self) {
        self.remove_links();
        let _ = std::fs::remove_file(&self.expansions);
        let _ = std::fs::remove_file(&self.answers);
    }
}

/// The sites and files of one round.
pub(crate) struct FineRound<'a> {
    pub(crate) source: &'a dyn FineSource,
    pub(crate) method_id: MethodId,
    pub(crate) files: FineFiles,
    /// Rows of the templates in force, ascending.
    pub(crate) template_rows: Vec<FrameRow>,
    /// The files of the latest scans under the same method.
    pub(crate) earlier: Vec<FineFiles>,
    /// True if all fine chunks of earlier comparisons stay: one file serves those of a state, whatever each is about.
    pub(crate) keeps_earlier: bool,
    /// True if the fine chunks must survive a loss of power.
    pub(crate) durable: bool,
}

/// The chunks that the sites were asked to cut again.
struct CutAgain<'a> {
    /// Those that contents of many kinds have.
    spread: &'a [WantedChunk],
    /// All of them, ascending.
    chunks: Vec<Tag>,
    /// The fine chunks that the sites gave.
    expansions: Expansions,
}

impl Task<'_> {
    /// Measures the candidates of a comparison by fine chunks, writes the links that follow, finds their frames, and adds to the overlap of
    /// what it found what fine chunks cover. The sites measure a sample exactly.
    pub(crate) fn fine_links(
        &self,
        coarse: &LinkFile,
        alignment: &Alignment,
        own: &Checkpoint,
        round: &FineRound<'_>,
        found: &mut Analysis,
    ) -> Result<(LinkFile, FineFound, ExactFigures), Error> {
        let mut sampling = Sampling::of(self.subject);
        let mut candidates = self.fine_candidates(coarse, alignment, &mut sampling)?;
        let sample = sampling.finish();
        let Left { chunks: left, too_long } = self.left_chunks(&candidates.pairs)?;
        candidates.omit(&too_long);
        let spread = self.spread_chunks(coarse, &contents_of(&candidates.pairs))?;
        let wanted = each_once([left, spread.clone()].concat());
        let chunks: Vec<Tag> = wanted.iter().map(|chunk| chunk.tag).collect();
        let mut earlier = Vec::new();
        for files in round.earlier.iter().filter(|files| files.has_chunks()) {
            match Expansions::open(&files.expansions) {
                Ok(expansions) => earlier.push(expansions),
                Err(error) => tracing::info!(%error, "the fine chunks of an earlier scan are not used"),
            }
        }
        let mut writer = ExpansionsWriter::create(&round.files.expansions)?;
        let roots = self.ask(wanted, round, &earlier, &mut writer)?;
        if round.keeps_earlier {
            earlier.iter().try_for_each(|expansions| writer.keep(expansions))?;
        }
        let expansions = writer.finish(round.durable)?;
        let absent = self.absent_sites(&roots);
        let cut = CutAgain { spread: &spread, chunks, expansions };
        let spec = &self.scan.spec;
        let count = || self.measures(&sample, &absent, round);
        let measure = || self.found_finely(coarse, &candidates, cut, &round.template_rows, found);
        let (counted, (fine, measured, of_templates)) = next_to_sites((spec.in_process, spec.threads), count, measure)?;
        let figures = FineFigures { roots, template_rows: round.template_rows.len() as u64, ..fine.figures };
        let exact = self.exact(&sample, &self.reported(&sample, &measured)?, counted);
        let measured = (measured.as_slice(), of_templates.as_slice());
        let links = self.write_fine_links(coarse, measured, (&round.files.links, own.binding()), &mut found.omitted)?;
        Ok((links, FineFound { figures, ..fine }, exact))
    }

    /// Measures pairs by the fine chunks that the sites gave, and finds their frames: the figures but for those of the sites, the pairs, and the
    /// bytes of each content in templates.
    fn found_finely(
        &self,
        coarse: &LinkFile,
        candidates: &Candidates,
        cut: CutAgain<'_>,
        template_rows: &[FrameRow],
        found: &mut Analysis,
    ) -> Result<(FineFound, Vec<MeasuredPair>, Vec<PartBytes>), Error> {
        let CutAgain { spread, chunks, expansions } = cut;
        let mut parts = Parts::of_templates(template_rows);
        self.measure_parts(&mut parts, &chunks, &expansions)?;
        let of_templates = self.part_bytes(&parts)?;
        let with = Measuring { expansions: &expansions, parts: &parts, of_contents: &of_templates };
        let Measured { pairs: measured, covered, loose } = self.measured_finely(&candidates.pairs, &chunks, with)?;
        // The choice keeps one thread busy. Meanwhile all threads work on the coverage.
        let cover = || self.add_coverage(covered, (&expansions, &parts), &mut found.overlap);
        let choose = || -> Result<_, Error> {
            let kinds = self.kinds(coarse, &measured, &of_templates)?;
            let contents = self.contents_with_loose_links(coarse, (&measured, &of_templates), &kinds)?;
            Ok((kinds, contents, Loose::merge(loose)?))
        };
        let (overlap, chosen) = side_by_side(self.scan.spec.threads, cover, choose);
        overlap?;
        let (kinds, contents, (marks, loose)) = chosen?;
        let chunks = self.chunks_of(&contents, &chunks)?;
        let compared = Compared { contents: &contents, chunks: &chunks, marks: &marks, expansions: &expansions };
        self.find_frames(&compared, &kinds, spread, &mut parts)?;
        let of_contents = self.part_bytes(&parts)?;
        let with = Measuring { expansions: &expansions, parts: &parts, of_contents: &of_contents };
        let figures = FineFigures {
            fine_pairs: measured.iter().filter(|one| one.complete).count() as u64,
            coarse_pairs: measured.iter().filter(|one| !one.complete).count() as u64,
            omitted_pairs: candidates.omitted + found.omitted.count,
            outside: self.measured_outside((&measured, &kinds), &loose, with)?,
            ..FineFigures::default()
        };
        tracing::info!(
            candidates = candidates.pairs.len(),
            omitted = figures.omitted_pairs,
            fine = figures.fine_pairs,
            coarse = figures.coarse_pairs,
            with_frame = figures.outside.len(),
            "measured by fine chunks"
        );
        let template_bytes = of_templates.iter().map(|bytes| bytes.template).collect();
        Ok((FineFound { figures, template_bytes, parts, expansions, contents }, measured, of_templates))
    }

    /// The sites that did not answer a request for fine chunks, though their policy allows it.
    fn absent_sites(&self, roots: &[FineRoot]) -> Failures {
        let roots = self.subject.frozen.roots.iter().zip(roots);
        let failed = roots.filter_map(|(root, fine)| Some((root.site_number, fine.failure.clone()?)));
        failed.filter(|(_, failure)| !failure.refused).collect()
    }
}
