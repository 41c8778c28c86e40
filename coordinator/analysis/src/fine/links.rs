//! The links of a layer after its candidates were measured by fine chunks.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cognate_fingerprint::{Feature, FineChunk, Tag};
use cognate_similarity::fine::{ChunkCount, FineMeasure};
use cognate_similarity::{Binding, ContentIndex, Error as EngineError, Link, LinkFile, LinkWriter, OmittedLinks};

use super::coverage::{Covered, roots_of};
use super::expansions::Expansions;
use super::wanted::compared;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// Fine chunks that a thread holds at most.
const CACHE_FINE_CHUNKS_MAX: usize = 1 << 18;

/// A pair that was measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct MeasuredPair {
    a: u32,
    b: u32,
    /// Bytes of whole chunks in common.
    coarse_bytes: u64,
    /// The same with fine chunks.
    shared_bytes: u64,
    /// True if every chunk that is left was cut again.
    pub(super) complete: bool,
}

impl MeasuredPair {
    /// A pair that is measured by whole chunks alone.
    pub(super) fn by_chunks(a: u32, b: u32, shared_bytes: u64) -> MeasuredPair {
        MeasuredPair { a, b, coarse_bytes: shared_bytes, shared_bytes, complete: false }
    }

    pub(super) fn contents(&self) -> (u32, u32) {
        (self.a, self.b)
    }

    pub(super) fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }
}

/// The pairs that one thread has measured, and fine chunks that it may need again.
#[derive(Default)]
struct Measuring {
    pairs: Vec<MeasuredPair>,
    measure: FineMeasure,
    known: HashMap<Tag, Option<Arc<[FineChunk]>>>,
    held: usize,
    /// The chunks that were added to the measure on each side, in order, each with the number of times.
    added: [Vec<(Tag, u32)>; 2],
    covered: Covered,
}

impl Task<'_> {
    /// Measures every pair, by (a, b).
    pub(super) fn measured_finely(
        &self,
        pairs: &[(u32, u32)],
        expansions: &Expansions,
    ) -> Result<(Vec<MeasuredPair>, Vec<Covered>), Error> {
        let found = self.each_pair(pairs, Measuring::default, &|measuring: &mut Measuring, pair, of_a, of_b| {
            let measured = measuring.pair(pair, of_a, of_b, expansions)?;
            if measured.shared_bytes > measured.coarse_bytes {
                measuring.cover(pair, self.subject);
            }
            measuring.pairs.push(measured);
            Ok(())
        })?;
        let (mut all, mut covered) = (Vec::new(), Vec::new());
        for measuring in found {
            all.extend(measuring.pairs);
            covered.push(measuring.covered);
        }
        all.sort_unstable();
        Ok((all, covered))
    }

    /// Writes the links: of the comparison by whole chunks, and of the pairs that were measured, which come by (a, b). Links of
    /// the comparison that it does not report are no longer omitted where they were measured.
    pub(super) fn write_fine_links(
        &self,
        coarse: &LinkFile,
        measured: &[MeasuredPair],
        path: &Path,
        binding: &Binding,
        omitted: &mut OmittedLinks,
    ) -> Result<LinkFile, Error> {
        let mut writer = LinkWriter::create(path, binding)?;
        let weight = |content: u32| self.subject.frozen.contents[content as usize].weight;
        let mut known = |pair: &MeasuredPair| {
            if omitted.count > 0 && self.is_coarse_link(pair) {
                omitted.discount(pair.coarse_bytes, [weight(pair.a), weight(pair.b)]);
            }
            self.link_of(pair)
        };
        let mut measured = measured.iter().peekable();
        let mut failure: Option<EngineError> = None;
        coarse.for_each(|link| {
            let mut group = Vec::new();
            while let Some(pair) = measured.next_if(|pair| (pair.a, pair.b) < (link.a.0, link.b.0)) {
                group.extend(known(pair));
            }
            match measured.next_if(|pair| (pair.a, pair.b) == (link.a.0, link.b.0)) {
                // Fine chunks only add to a link.
                Some(pair) => group.push(Link { shared_bytes: pair.shared_bytes.max(link.shared_bytes), ..*link }),
                None => group.push(*link),
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

    /// True if a pair is a link by whole chunks.
    fn is_coarse_link(&self, pair: &MeasuredPair) -> bool {
        self.link_of(&MeasuredPair { shared_bytes: pair.coarse_bytes, ..*pair }).is_some()
    }

    /// The link of a pair that is none by whole chunks, if it is one now: fine chunks count for containment alone.
    pub(super) fn link_of(&self, pair: &MeasuredPair) -> Option<Link> {
        let contents = &self.subject.frozen.contents;
        let smaller = contents[pair.a as usize].weight.min(contents[pair.b as usize].weight);
        let thresholds = self.scan.spec.layers[self.layer].thresholds;
        let by_containment =
            pair.shared_bytes > 0 && thresholds.min_containment.is_reached_by(pair.shared_bytes, smaller);
        let by_bytes = pair.coarse_bytes > 0 && pair.coarse_bytes >= thresholds.min_shared_bytes;
        let link = Link { a: ContentIndex(pair.a), b: ContentIndex(pair.b), shared_bytes: pair.shared_bytes };
        (by_containment || by_bytes).then_some(link)
    }
}

impl Measuring {
    fn pair(
        &mut self,
        (a, b): (u32, u32),
        of_a: &[Feature],
        of_b: &[Feature],
        expansions: &Expansions,
    ) -> Result<MeasuredPair, Error> {
        let found = compared(of_a, of_b);
        let (mut complete, mut fine_bytes) = (true, 0);
        if found.left.iter().all(|left| !left.is_empty()) {
            self.measure.begin();
            self.added.iter_mut().for_each(Vec::clear);
            for (side, left) in found.left.iter().enumerate() {
                complete &= self.add(side, left, expansions)?;
            }
            fine_bytes = self.measure.shared_bytes();
        }
        let shared_bytes = found.shared_bytes + fine_bytes;
        Ok(MeasuredPair { a, b, coarse_bytes: found.shared_bytes, shared_bytes, complete })
    }

    /// Notes what each of the two has in common with the other, for the overlap of their places.
    fn cover(&mut self, (a, b): (u32, u32), subject: &Subject<'_>) {
        let [of_a, of_b] = [a, b].map(|content| roots_of(subject, content));
        // A single root, and the same: no two places have anything in common here.
        if of_a == of_b && of_a.len() == 1 {
            return;
        }
        for (side, content, others) in [(0, a, of_b), (1, b, of_a)] {
            self.covered.add(&self.measure, side, content, &self.added[side], &others);
        }
    }

    /// Adds the chunks that are left of one content; false if some of them were not cut.
    fn add(&mut self, side: usize, left: &[ChunkCount], expansions: &Expansions) -> Result<bool, Error> {
        let mut complete = true;
        for chunk in left {
            match self.of_chunk(&chunk.tag, expansions)? {
                None => complete = false,
                Some(fine) => (0..chunk.count).for_each(|_| {
                    self.measure.add(side, &fine);
                    self.added[side].push((chunk.tag, chunk.count));
                }),
            }
        }
        Ok(complete)
    }

    fn of_chunk(&mut self, tag: &Tag, expansions: &Expansions) -> Result<Option<Arc<[FineChunk]>>, Error> {
        if let Some(known) = self.known.get(tag) {
            return Ok(known.clone());
        }
        let fine: Option<Arc<[FineChunk]>> = expansions.get(tag)?.map(Into::into);
        if self.held > CACHE_FINE_CHUNKS_MAX {
            self.known.clear();
            self.held = 0;
        }
        self.held += 1 + fine.as_ref().map_or(0, |fine| fine.len());
        self.known.insert(*tag, fine.clone());
        Ok(fine)
    }
}
