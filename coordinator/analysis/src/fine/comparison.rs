//! The comparison of a layer by fine chunks, from top to bottom:
//!
//! ```text
//! coarse links ─ propose ─▶ pairs ─ ask ─▶ fine chunks ─ measure ─▶ measured pairs ─ find frames ─▶ links outside of frames
//!                   └───── sample ─────▶ sites ─ count ─▶ exact measures of some pairs
//! ```

use cognate_similarity::{Analysis, ContentIndex, Link, LinkFile};
use foldhash::{HashSet, HashSetExt as _};

use super::candidates::Candidates;
use super::exact::{ExactFigures, Failures};
use super::expansions::{Expansions, ExpansionsWriter};
use super::frames::{FrameContents, contents_of};
use super::links::{MeasuredPair, MeasuredPairs, Measuring, PairMeasurements};
use super::loose::Loose;
use super::pair::Pair;
use super::parts::Parts;
use super::sample::Sampling;
use super::tag_list::TagList;
use super::wanted::{WantedChunk, each_once};
use super::{FineFigures, FineFindings, FineRoot, FineRound};
use crate::alignment::Alignment;
use crate::checkpoint::Checkpoint;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;
use crate::threads::{next_to_sites, side_by_side};
use crate::undecided::{UndecidedContents, UndecidedReason};

/// The outcome of a comparison by fine chunks.
pub(crate) struct FineComparison {
    pub(crate) links: LinkFile,
    pub(crate) findings: FineFindings,
    pub(crate) exact: ExactFigures,
}

/// The chunks that the sites were asked to cut again.
struct AskedChunks {
    /// All of them.
    tags: TagList,
    /// Those that contents of many kinds have.
    spread: Vec<WantedChunk>,
    /// The fine chunks that the sites gave.
    expansions: Expansions,
}

impl Task<'_> {
    /// Compares the candidates by fine chunks, and adds to the overlap of the analysis what they cover.
    pub(crate) fn fine_links(
        &self,
        coarse: &Links,
        alignment: &Alignment,
        own: &Checkpoint,
        round: &FineRound<'_>,
        analysis: &mut Analysis,
    ) -> Result<FineComparison, Error> {
        let mut candidates = self.fine_candidates(coarse, alignment)?;
        let mut sampling = Sampling::of(self.subject);
        [&candidates.pairs, &candidates.complete].into_iter().for_each(|pairs| sampling.add_all(pairs));
        let sample = sampling.finish();
        let mut undecided = UndecidedContents::new(self.subject);
        let (asked, roots) = self.ask_for_fine_chunks(coarse, &mut candidates, round, &mut undecided)?;
        let spec = &self.scan.spec;
        let count = || self.measures(&sample, &self.absent_sites(&roots), round);
        let measure = || self.measure_candidates(coarse, &candidates, asked, round, analysis);
        let (answers, (findings, measured, close)) = next_to_sites(spec.in_process, spec.threads, count, measure)?;
        self.mark_undecided(&mut undecided, &measured.pairs, &roots);
        close.iter().for_each(|pair| undecided.pair((*pair).into(), UndecidedReason::Close));
        undecided.crowded(&self.without_link_elsewhere(candidates.crowded_but_satisfied, coarse, &measured)?);
        let figures = FineFigures { roots, undecided: undecided.finish(), ..findings.figures };
        let exact = self.exact(&sample, &self.reported(&sample, &measured.pairs)?, answers);
        let links =
            self.write_fine_links(coarse, &measured, &round.files.links, own.binding(), &mut analysis.omitted)?;
        Ok(FineComparison { links, findings: FineFindings { figures, ..findings }, exact })
    }

    /// Has the sites cut what the candidates do not share, and what contents of many kinds have. Candidates of which too much is left are
    /// omitted.
    fn ask_for_fine_chunks(
        &self,
        coarse: &Links,
        candidates: &mut Candidates,
        round: &FineRound<'_>,
        undecided: &mut UndecidedContents<'_>,
    ) -> Result<(AskedChunks, Vec<FineRoot>), Error> {
        let remaining = self.remaining_chunks(&candidates.pairs)?;
        candidates.omit(&remaining.too_long);
        undecided.cut(remaining.too_long.iter().copied());
        undecided.crowded(&candidates.crowded);
        let spread = self.spread_chunks(coarse, &contents_of(&candidates.pairs))?;
        let wanted = each_once([&remaining.chunks[..], &spread].concat());
        drop(remaining);
        let mut earlier = Vec::new();
        for files in round.earlier.iter().filter(|files| files.has_chunks()) {
            match Expansions::open(&files.expansions) {
                Ok(expansions) => earlier.push(expansions),
                Err(error) => tracing::info!(%error, "the fine chunks of an earlier scan are not used"),
            }
        }
        let mut writer = ExpansionsWriter::create(&round.files.expansions)?;
        let tags = TagList::of(wanted.iter().map(|chunk| chunk.tag).collect());
        let roots = self.ask(&wanted, &tags, round, &earlier, &mut writer)?;
        drop(wanted);
        if round.keeps_earlier {
            earlier.iter().try_for_each(|expansions| writer.keep(expansions))?;
        }
        let expansions = writer.finish(round.durable)?;
        round.files.remove_arrivals();
        Ok((AskedChunks { tags, spread, expansions }, roots))
    }

    /// Measures the candidates by the fine chunks that the sites gave, and finds the frames among these. The figures are without those of
    /// the sites. The third are pairs that are no links and may be.
    fn measure_candidates(
        &self,
        coarse: &Links,
        candidates: &Candidates,
        asked: AskedChunks,
        round: &FineRound<'_>,
        analysis: &mut Analysis,
    ) -> Result<(FineFindings, MeasuredPairs, Vec<Pair>), Error> {
        let AskedChunks { tags, spread, expansions } = asked;
        let mut parts = Parts::of_templates(&round.template_rows);
        self.measure_parts(&mut parts, tags.tags(), &expansions)?;
        let of_templates = self.part_bytes(&parts)?;
        let with = Measuring { asked: &tags, expansions: &expansions, parts: &parts, of_contents: &of_templates };
        let PairMeasurements { pairs, shared, loose } = self.measure_pairs(&candidates.pairs, with)?;
        let measured = MeasuredPairs { pairs, of_templates };
        let pairs: Vec<Pair> = measured.pairs.iter().map(MeasuredPair::contents).collect();
        // The choice keeps one thread busy. Meanwhile all threads work on the coverage.
        let cover = || {
            let added = self.add_coverage(shared, &tags, &expansions, &parts, &mut analysis.overlap)?;
            self.unmeasured_bytes(tags.tags(), &expansions, &parts, &pairs, [&analysis.overlap, &added])
        };
        let choose = || -> Result<_, Error> {
            let kinds = self.kinds(coarse, &measured)?;
            let contents = self.contents_with_loose_links(coarse, &measured, &kinds)?;
            let (marks, kept) = Loose::merge(loose)?;
            Ok((kinds, contents, marks, kept))
        };
        let (unmeasured, chosen) = side_by_side(self.scan.spec.threads, cover, choose);
        let unmeasured = unmeasured?;
        let (kinds, contents, marks, kept) = chosen?;
        let chunks = self.chunks_of(&contents, &tags)?;
        let frame_contents = FrameContents {
            contents: &contents,
            chunks: &chunks,
            asked: &tags,
            marks: &marks,
            expansions: &expansions,
        };
        self.find_frames(&frame_contents, &kinds, &spread, &mut parts)?;
        let of_contents = self.part_bytes(&parts)?;
        let with = Measuring { asked: &tags, expansions: &expansions, parts: &parts, of_contents: &of_contents };
        let complete = measured.pairs.iter().filter(|pair| pair.complete).count();
        let figures = FineFigures {
            unmeasured,
            fine_pairs: complete as u64,
            coarse_pairs: (measured.pairs.len() - complete) as u64,
            omitted_pairs: candidates.omitted + analysis.omitted.count,
            template_rows: round.template_rows.len() as u64,
            outside: self.measure_outside(coarse, &measured.pairs, &kinds, &kept, with)?,
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
        let template_bytes = measured.of_templates.iter().map(|bytes| bytes.template).collect();
        let close = self.close_pairs(&measured.pairs);
        Ok((FineFindings { figures, template_bytes, parts, expansions, contents }, measured, close))
    }

    /// Of some contents, which ascend, those that have no link with a content at another place.
    fn without_link_elsewhere(
        &self,
        mut contents: Vec<u32>,
        coarse: &Links,
        measured: &MeasuredPairs,
    ) -> Result<Vec<u32>, Error> {
        let mut linked: HashSet<u32> = HashSet::new();
        let mut add = |link: &Link| {
            let ends = [link.a.0, link.b.0];
            if ends.iter().any(|content| contents.binary_search(content).is_ok()) && self.subject.is_across(ends) {
                linked.extend(ends);
            }
        };
        coarse.for_each(&mut add)?;
        measured.pairs.iter().filter_map(|pair| self.link_of(pair, &measured.of_templates)).for_each(|link| add(&link));
        contents.retain(|content| !linked.contains(content));
        Ok(contents)
    }

    /// Takes in the pairs of which some chunk was not cut again, whichever of the sites that hold one of the two is the reason.
    fn mark_undecided(&self, undecided: &mut UndecidedContents<'_>, pairs: &[MeasuredPair], roots: &[FineRoot]) {
        let gave_none = |content: u32| {
            let mut holders = self.subject.copies.of_content(ContentIndex(content)).iter();
            holders.any(|place| roots[usize::from(self.subject.frozen.root_of(*place))].failure.is_some())
        };
        for pair in pairs.iter().filter(|pair| !pair.complete) {
            let (a, b) = pair.contents();
            let failed = gave_none(a) || gave_none(b);
            undecided.pair([a, b], if failed { UndecidedReason::SiteGaveNone } else { UndecidedReason::Incomplete });
        }
    }

    /// The sites that did not answer a request for fine chunks, though their policy allows it.
    fn absent_sites(&self, roots: &[FineRoot]) -> Failures {
        let roots = self.subject.frozen.roots.iter().zip(roots);
        let failed = roots.filter_map(|(root, fine)| Some((root.site_number, fine.failure.clone()?)));
        failed.filter(|(_, failure)| !failure.refused).collect()
    }
}
