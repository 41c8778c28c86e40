//! The links of a layer after its candidates were measured by fine chunks.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::path::Path;

use cognate_fingerprint::{Feature, FineChunk, Tag};
use cognate_similarity::fine::{
    ByChunks, CLOSE_LOOK_TIMES, ChunkCount, FineMeasure, Part, RowHash, SharedBytes, hash_rows,
};
use cognate_similarity::{
    Binding, ContentIndex, Error as EngineError, Link, LinkFile, LinkWriter, OmittedLinks, Thresholds,
};
use foldhash::HashMap;

use super::coverage::{SharedFineChunks, roots_of};
use super::expansions::{Expansions, Reading};
use super::loose::{AddedChunk, AddedChunks, Loose, LooseLimits, LoosePair};
use super::loose_links::{KeptLinks, LooseLink};
use super::outside::OutsideLink;
use super::pair::Pair;
use super::parts::{PartBytes, Parts};
use super::tag_list::TagList;
use super::wanted::compared;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;
use crate::kinds::is_most;
use crate::subject::Subject;

/// The space on the disk for loose links until their frames are known, in working memories. Links beyond it are measured again.
const LOOSE_LINKS_SPACE: u64 = 8;
/// Fine chunks that a thread holds at most.
const CACHE_FINE_CHUNKS_MAX: usize = 1 << 20;

/// Of what a close look shows, one part in so many may be in common beyond it (`docs/decisions/0064-close-look.md`).
const UNSEEN_SHARE: u64 = 4;

/// A pair that was measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct MeasuredPair {
    pub(super) a: u32,
    pub(super) b: u32,
    /// Bytes of whole chunks in common.
    coarse: SharedBytes,
    /// The same with fine chunks.
    shared: SharedBytes,
    /// True if every chunk that is left was cut again.
    pub(super) complete: bool,
}

impl MeasuredPair {
    /// A pair that is measured by whole chunks alone, without templates or frames.
    pub(super) fn by_chunks(a: u32, b: u32, shared_bytes: u64) -> MeasuredPair {
        let shared = SharedBytes::whole(shared_bytes);
        MeasuredPair { a, b, coarse: shared, shared, complete: false }
    }

    pub(super) fn contents(&self) -> (u32, u32) {
        (self.a, self.b)
    }

    pub(super) fn shared_bytes(&self) -> u64 {
        self.shared.outside_templates
    }

    /// The link of the bytes that the pair has in common outside of templates.
    pub(super) fn link(&self) -> Link {
        Link { a: ContentIndex(self.a), b: ContentIndex(self.b), shared_bytes: self.shared.outside_templates }
    }
}

/// The fine chunks, and the templates and frames among them, with which pairs are measured.
#[derive(Clone, Copy)]
pub(super) struct Measuring<'a> {
    /// The chunks that the sites were asked for.
    pub(super) asked: &'a TagList,
    pub(super) expansions: &'a Expansions,
    pub(super) parts: &'a Parts,
    /// Of every content, the bytes that are part of templates and frames.
    pub(super) of_contents: &'a [PartBytes],
}

/// The pairs that one thread has measured, and fine chunks that it may need again.
#[derive(Default)]
struct PairMeter {
    pairs: Vec<MeasuredPair>,
    measure: FineMeasure,
    known: KnownChunks,
    reading: Reading,
    /// The chunks in common of the pair at hand.
    common: Vec<ChunkCount>,
    /// The chunks that were added to the measure.
    added: AddedChunks,
    covered: SharedFineChunks,
    loose: Loose,
}

/// The measured pairs, and what decides which of them are links.
pub(super) struct MeasuredPairs {
    /// By (a, b).
    pub(super) pairs: Vec<MeasuredPair>,
    /// Of every content, the bytes that are part of templates.
    pub(super) of_templates: Vec<PartBytes>,
}

/// Everything that the first measurement gives, part by part.
pub(super) struct PairMeasurements {
    /// The pairs, by (a, b).
    pub(super) pairs: Vec<MeasuredPair>,
    pub(super) shared: Vec<SharedFineChunks>,
    pub(super) loose: Vec<Loose>,
}

/// Chunks with their fine chunks, which follow each other in one memory.
#[derive(Default)]
struct KnownChunks {
    /// Of each chunk its places; nothing if it was not cut again.
    places: HashMap<Tag, Option<KnownPlaces>>,
    fine: Vec<FineChunk>,
    /// Per fine chunk, the hash of the row that begins there.
    rows: Vec<RowHash>,
    parts: Vec<Part>,
}

/// The place of a chunk, and the places of its fine chunks and their parts.
#[derive(Clone)]
struct KnownPlaces {
    /// Among the chunks that the sites were asked for.
    chunk: u32,
    fine: Range<usize>,
    parts: Range<usize>,
}

/// The fine chunks of a chunk with their rows, and what each is part of; no parts: all are the contents' own.
struct CutChunk<'a> {
    /// Its place among those that the sites were asked for.
    place: u32,
    fine: &'a [FineChunk],
    rows: &'a [RowHash],
    parts: &'a [Part],
}

impl Task<'_> {
    /// Measures every pair.
    pub(super) fn measure_pairs(&self, pairs: &[(u32, u32)], with: Measuring<'_>) -> Result<PairMeasurements, Error> {
        let spec = &self.scan.spec;
        let limits = LooseLimits {
            asked: with.asked,
            expansions: with.expansions,
            folder: self.spill_dir,
            links_bytes_max: spec.memory_budget_bytes * LOOSE_LINKS_SPACE / spec.threads.get() as u64,
        };
        let found = self.each_pair(pairs, PairMeter::default, &|found: &mut PairMeter, pair, of_a, of_b| {
            let measured = found.measure(self, pair, [of_a, of_b], with)?;
            let shares_fine = measured.shared.all > measured.coarse.all;
            if shares_fine {
                found.cover(pair, self.subject);
            }
            if self.is_loose(&measured, with.of_contents) {
                let measured = shares_fine.then_some((&found.measure, &found.added));
                let pair = LoosePair { pair, common: &found.common, measured };
                found.loose.add(&pair, &limits)?;
            }
            found.pairs.push(measured);
            Ok(())
        })?;
        let mut all = PairMeasurements { pairs: Vec::new(), shared: Vec::new(), loose: Vec::new() };
        for found in found {
            all.pairs.extend(found.pairs);
            all.shared.push(found.covered);
            all.loose.push(found.loose);
        }
        all.pairs.sort_unstable();
        Ok(all)
    }

    /// Of the pairs that are links between contents of two kinds which both have frames, what they have in common outside of them.
    /// Coarse links that are no candidates are measured by whole chunks, and links without frames by what crowds have.
    pub(super) fn measure_outside(
        &self,
        coarse: &Links,
        measured: &[MeasuredPair],
        kinds: &[u32],
        kept: &KeptLinks,
        with: Measuring<'_>,
    ) -> Result<Vec<OutsideLink>, Error> {
        let has_frame = |content: u32| with.of_contents[content as usize].frame > 0;
        let are_unlike = |(a, b): Pair| kinds[a as usize] != kinds[b as usize];
        let may_rest = |(a, b): Pair| has_frame(a) && has_frame(b) && are_unlike((a, b));
        let (mut no_candidates, mut without_frame) = (Vec::new(), Vec::new());
        coarse.for_each(|Link { a, b, shared_bytes }| {
            let pair = (a.0, b.0);
            if are_unlike(pair) && measured.binary_search_by_key(&pair, MeasuredPair::contents).is_err() {
                match may_rest(pair) {
                    true => no_candidates.push(pair),
                    false => without_frame.push((pair, *shared_bytes)),
                }
            }
        })?;
        let by_chunks =
            self.each_pair(&no_candidates, Vec::new, &|found: &mut Vec<MeasuredPair>, (a, b), of_a, of_b| {
                let ByChunks { shared_bytes, common, .. } = compared(of_a, of_b);
                let shared = with.parts.of_common(shared_bytes, &common);
                found.push(MeasuredPair { a, b, coarse: shared, shared, complete: false });
                Ok(())
            })?;
        let links = measured.iter().filter(|pair| self.link_of(pair, with.of_contents).is_some());
        let (links, others): (Vec<&MeasuredPair>, Vec<&MeasuredPair>) =
            links.partition(|pair| may_rest(pair.contents()));
        let others = others.into_iter().filter(|pair| are_unlike(pair.contents()));
        without_frame.extend(others.map(|pair| (pair.contents(), pair.shared_bytes())));
        let mut with_frame = self.measure_links(&links, kept, with)?;
        with_frame.extend(by_chunks.concat());
        with_frame.retain(|pair| pair.shared.outside_frames < pair.shared.outside_templates);
        let mut outside: Vec<OutsideLink> =
            with_frame.iter().map(|pair| self.outside(pair, with.of_contents)).collect();
        outside.extend(self.links_of_crowds(&without_frame, kinds));
        outside.sort_unstable_by_key(|link| (link.a, link.b));
        Ok(outside)
    }

    /// The pairs that are no links and may be, with the most that they may share.
    pub(super) fn close_pairs(&self, measured: &[MeasuredPair]) -> Vec<Pair> {
        measured.iter().filter(|pair| self.is_close(pair)).map(MeasuredPair::contents).collect()
    }

    /// True if a pair is no link, and would be one with the most that it may share, or one of the two has enough of the other: what it has twice
    /// and the other once is shared once.
    fn is_close(&self, pair: &MeasuredPair) -> bool {
        let SharedBytes { all, outside_templates, of_each, .. } = pair.shared;
        let weights = [pair.a, pair.b].map(|content| self.weight(content));
        let smaller = weights[0].min(weights[1]);
        let most = |bytes: u64| bytes + bytes / UNSEEN_SHARE;
        let min_containment = self.scan.spec.layers[self.layer].thresholds.min_containment;
        let mut own = of_each.iter().map(|bytes| most(bytes.saturating_sub(all - outside_templates))).zip(weights);
        !self.is_link(pair.shared_bytes(), smaller)
            && (self.is_link(most(pair.shared_bytes()), smaller)
                || own.any(|(bytes, weight)| min_containment.is_reached_by(bytes, weight)))
    }

    /// True if a pair is no link by its fine chunks, and not far from one.
    fn needs_close_look(&self, pair: &MeasuredPair, of_contents: &[PartBytes]) -> bool {
        let smaller = self.own_bytes(pair.a, of_contents).min(self.own_bytes(pair.b, of_contents));
        let is_link = |times: u64| self.is_link(times.saturating_mul(pair.shared_bytes()), smaller);
        !is_link(1) && is_link(CLOSE_LOOK_TIMES)
    }

    /// Links of which the frames are known now. Those that were not `kept` are measured again.
    fn measure_links(
        &self,
        links: &[&MeasuredPair],
        kept: &KeptLinks,
        with: Measuring<'_>,
    ) -> Result<Vec<MeasuredPair>, Error> {
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for pair in links {
            match kept.place(pair.contents()) {
                Some(place) => known.push((**pair, place)),
                None => others.push(pair.contents()),
            }
        }
        let again = self.each_pair(&others, PairMeter::default, &|found: &mut PairMeter, pair, of_a, of_b| {
            let measured = found.measure(self, pair, [of_a, of_b], with)?;
            found.pairs.push(measured);
            Ok(())
        })?;
        let begin = <(PairMeter, Vec<u8>)>::default;
        let found =
            self.on_threads(&known, &begin, &|(found, record): &mut (PairMeter, Vec<u8>), (measured, place)| {
                kept.read(*place, record)?;
                let measured = found.outside_frames(*measured, &LooseLink::of(record), with)?;
                found.pairs.push(measured);
                Ok(())
            })?;
        let found = found.into_iter().map(|(found, _)| found);
        Ok(again.into_iter().chain(found).flat_map(|found| found.pairs).collect())
    }

    /// A link without its frames: it rests on them if it would be none.
    fn outside(&self, pair: &MeasuredPair, of_contents: &[PartBytes]) -> OutsideLink {
        let own = |content: u32| {
            let PartBytes { template, frame } = of_contents[content as usize];
            self.weight(content).saturating_sub(template + frame)
        };
        let own_bytes = [pair.a, pair.b].map(own);
        let smaller = own_bytes[0].min(own_bytes[1]);
        // Runs reach into what is next to them by a few bytes.
        let shared_bytes = pair.shared.outside_frames.min(smaller);
        let is_link = self.is_link(shared_bytes, smaller);
        OutsideLink { a: pair.a, b: pair.b, shared_bytes, own_bytes, rests_on_frame: !is_link }
    }

    /// Writes the links: of the comparison by whole chunks, and of the pairs that were measured, which come by (a, b). Links of
    /// the comparison that it does not report are no longer omitted where they were measured.
    pub(super) fn write_fine_links(
        &self,
        coarse: &Links,
        measured: &MeasuredPairs,
        path: &Path,
        binding: &Binding,
        omitted: &mut OmittedLinks,
    ) -> Result<LinkFile, Error> {
        let MeasuredPairs { pairs, of_templates } = measured;
        let mut writer = LinkWriter::create(path, binding)?;
        let mut known = |pair: &MeasuredPair| {
            let weights = [self.weight(pair.a), self.weight(pair.b)];
            if omitted.count > 0 && self.is_link(pair.coarse.all, weights[0].min(weights[1])) {
                omitted.discount(pair.coarse.all, weights);
            }
            self.link_of(pair, of_templates)
        };

        let mut measured = pairs.iter().peekable();
        let mut failure: Option<EngineError> = None;
        coarse.for_each(|link| {
            let mut group = Vec::new();
            while let Some(pair) = measured.next_if(|pair| (pair.a, pair.b) < (link.a.0, link.b.0)) {
                group.extend(known(pair));
            }
            match measured.next_if(|pair| (pair.a, pair.b) == (link.a.0, link.b.0)) {
                Some(pair) => group.extend(self.link_of(pair, of_templates)),
                // Rows of templates may cover part of its common chunks. Only a measured pair knows how much, so the link is bounded by the sizes.
                None => {
                    let [own_a, own_b] = [link.a, link.b].map(|content| self.own_bytes(content.0, of_templates));
                    group.push(Link { shared_bytes: link.shared_bytes.min(own_a).min(own_b), ..*link });
                }
            }
            if failure.is_none() {
                failure = writer.push(&group).err();
            }
        })?;
        failure.map_or(Ok(()), Err)?;
        let rest: Vec<Link> = measured.filter_map(known).collect();
        writer.push(&rest)?;
        writer.finish(false)?;
        Ok(LinkFile::open(path, binding)?)
    }

    /// True if two contents that share these bytes are linked, by the size of the smaller one.
    pub(super) fn is_link(&self, shared_bytes: u64, smaller: u64) -> bool {
        let Thresholds { min_shared_bytes, min_containment } = self.scan.spec.layers[self.layer].thresholds;
        let reaches = shared_bytes >= min_shared_bytes || min_containment.is_reached_by(shared_bytes, smaller);
        shared_bytes > 0 && reaches
    }

    /// True if a pair is a link of two contents of which one has less than four fifths of the other.
    fn is_loose(&self, pair: &MeasuredPair, of_contents: &[PartBytes]) -> bool {
        let most_of = |content: u32| is_most(pair.shared_bytes(), self.own_bytes(content, of_contents));
        self.link_of(pair, of_contents).is_some() && !(most_of(pair.a) && most_of(pair.b))
    }

    /// The link of a pair outside of templates, if it is one.
    pub(super) fn link_of(&self, pair: &MeasuredPair, of_contents: &[PartBytes]) -> Option<Link> {
        let smaller = self.own_bytes(pair.a, of_contents).min(self.own_bytes(pair.b, of_contents));
        let link = pair.link();
        // Runs reach into what is next to them by a few bytes.
        let shared_bytes = link.shared_bytes.min(smaller);
        self.is_link(shared_bytes, smaller).then_some(Link { shared_bytes, ..link })
    }
}

impl PairMeter {
    /// Measures a pair by the chunks that both have, and by the fine chunks of the others; closely, if it is not far from a link.
    fn measure(
        &mut self,
        task: &Task<'_>,
        pair: Pair,
        features: [&[Feature]; 2],
        with: Measuring<'_>,
    ) -> Result<MeasuredPair, Error> {
        let ((a, b), [of_a, of_b]) = (pair, features);
        let ByChunks { shared_bytes, common, left } = compared(of_a, of_b);
        let coarse = with.parts.of_common(shared_bytes, &common);
        self.common = common;
        let mut measured = MeasuredPair { a, b, coarse, shared: coarse, complete: true };
        // If nothing is left of one of the two, they have nothing more in common.
        if left.iter().any(Vec::is_empty) {
            return Ok(measured);
        }
        self.measure.begin();
        self.added.iter_mut().for_each(Vec::clear);
        self.read(left.iter().flatten().map(|chunk| chunk.tag), with)?;
        for (side, left) in left.iter().enumerate() {
            measured.complete &= self.add(side, left);
        }
        measured.shared = coarse.plus(self.measure.shared_bytes());
        if task.needs_close_look(&measured, with.of_contents) {
            measured.shared = coarse.plus(self.measure.shared_bytes_closely());
        }
        Ok(measured)
    }

    /// A measured pair whose frames are known now.
    fn outside_frames(
        &mut self,
        measured: MeasuredPair,
        link: &LooseLink<'_>,
        with: Measuring<'_>,
    ) -> Result<MeasuredPair, Error> {
        let has_part = |tag: &Tag| with.parts.of_tag(tag) != PartBytes::default();
        self.read(link.counted.iter().flatten().map(|chunk| chunk.tag).filter(has_part), with)?;
        let mut outside = [0; 2];
        for (side, counted) in link.counted.iter().enumerate() {
            for chunk in counted {
                let cut = if has_part(&chunk.tag) { self.known.cut(&chunk.tag) } else { None };
                outside[side] += cut.map_or(u64::from(chunk.bytes), |cut| chunk.own_bytes(cut.fine, cut.parts));
            }
        }
        let coarse = with.parts.of_common(measured.coarse.all, &link.common);
        let outside_frames = coarse.outside_frames + outside[0].min(outside[1]);
        Ok(MeasuredPair { coarse, shared: SharedBytes { outside_frames, ..measured.shared }, ..measured })
    }

    /// Notes what each of the two has in common with the other, for the overlap of their places.
    fn cover(&mut self, pair: Pair, subject: &Subject<'_>) {
        let (a, b) = pair;
        let [of_a, of_b] = [a, b].map(|content| roots_of(subject, content));
        // A single root, and the same: no two places have anything in common here.
        if of_a == of_b && of_a.len() == 1 {
            return;
        }
        for (side, content, others) in [(0, a, of_b), (1, b, of_a)] {
            self.covered.add(&self.measure, side, content, &self.added[side], &others);
        }
    }

    /// Adds the chunks that are left of one content, which were read; false if some of them were not cut.
    fn add(&mut self, side: usize, left: &[ChunkCount]) -> bool {
        let mut complete = true;
        for chunk in left {
            match self.known.cut(&chunk.tag) {
                None => complete = false,
                Some(cut) => (0..chunk.count).for_each(|_| {
                    self.measure.add_hashed(side, cut.fine, cut.rows, cut.parts);
                    self.added[side].push(AddedChunk { place: cut.place, count: chunk.count });
                }),
            }
        }
        complete
    }

    /// Reads those of the chunks that are not known.
    fn read(&mut self, tags: impl Iterator<Item = Tag>, with: Measuring<'_>) -> Result<(), Error> {
        let PairMeter { known, reading, .. } = self;
        let missing = known.missing(tags);
        with.expansions.each(missing.iter().copied(), reading, |number, fine| {
            let tag = missing[number];
            let place = with.asked.place(&tag).expect("sites were asked for what is left of a pair");
            known.put(tag, place, fine, &with.parts.of_chunk(&tag, fine));
        })
    }
}

impl KnownChunks {
    /// Those of the chunks that are not known, which count as not cut again until they are put. Before, all are forgotten if they are too many.
    fn missing(&mut self, tags: impl Iterator<Item = Tag>) -> Vec<Tag> {
        if self.fine.len() + self.places.len() > CACHE_FINE_CHUNKS_MAX {
            self.places.clear();
            self.fine.clear();
            self.rows.clear();
            self.parts.clear();
        }
        let mut missing = Vec::new();
        for tag in tags {
            if let Entry::Vacant(unknown) = self.places.entry(tag) {
                unknown.insert(None);
                missing.push(tag);
            }
        }
        missing
    }

    fn put(&mut self, tag: Tag, place: u32, fine: &[FineChunk], parts: &[Part]) {
        let (of_fine, of_parts) = (self.fine.len(), self.parts.len());
        self.fine.extend_from_slice(fine);
        hash_rows(fine, &mut self.rows);
        self.parts.extend_from_slice(parts);
        let places = KnownPlaces { chunk: place, fine: of_fine..self.fine.len(), parts: of_parts..self.parts.len() };
        self.places.insert(tag, Some(places));
    }

    /// A chunk that was missing once; nothing if it was not cut again.
    fn cut(&self, tag: &Tag) -> Option<CutChunk<'_>> {
        let KnownPlaces { chunk, fine, parts } = self.places[tag].clone()?;
        let (rows, parts) = (&self.rows[fine.clone()], &self.parts[parts]);
        Some(CutChunk { place: chunk, fine: &self.fine[fine], rows, parts })
    }
}
