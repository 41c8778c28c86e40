//! What contents have in common over *loose* links: those of two contents of which one has less than four fifths of the other. The rows of
//! frames are counted over that alone (`frames`), and links without their frames follow from it (`outside`).

use std::collections::hash_map::Entry;
use std::path::Path;

use cognate_similarity::fine::{ChunkCount, FineMeasure};
use foldhash::HashMap;

use super::bits::{Bits, BitsPool, PooledBits};
use super::expansions::Expansions;
use super::loose_links::{KeptLinks, LooseLinks};
use super::pair::Pair;
use super::tag_list::TagList;
use crate::error::Error;

/// What one thread has found.
#[derive(Default)]
pub(super) struct Loose {
    marks: HashMap<ChunkOfContent, PooledBits>,
    bits: BitsPool,
    links: LooseLinks,
}

/// A content, and the place of a chunk of it among those that the sites were asked for.
type ChunkOfContent = (u32, u32);

/// The fine chunks of each content that it has in common with others over loose links, by contents and then by chunks.
pub(super) struct LooseMarks {
    marks: Vec<(ChunkOfContent, PooledBits)>,
    bits: BitsPool,
}

/// A chunk that was added to a measure.
#[derive(Clone, Copy)]
pub(super) struct AddedChunk {
    /// Its place among those that the sites were asked for.
    pub(super) place: u32,
    /// The number of times that it was added.
    pub(super) count: u32,
}

/// The chunks that were added to a measure on either side, in order.
pub(super) type AddedChunks = [Vec<AddedChunk>; 2];

/// A pair that was measured, and is a loose link.
pub(super) struct LoosePair<'a> {
    pub(super) pair: Pair,
    pub(super) common: &'a [ChunkCount],
    /// The measure of their fine chunks, with the chunks that were added to it on either side; nothing if they share none.
    pub(super) measured: Option<(&'a FineMeasure, &'a AddedChunks)>,
}

/// The chunks that count for loose links, and the space for the links.
pub(super) struct LooseLimits<'a> {
    /// The chunks that the sites were asked for.
    pub(super) asked: &'a TagList,
    pub(super) expansions: &'a Expansions,
    /// The folder for the files of links.
    pub(super) folder: &'a Path,
    /// The bytes that the links of one thread may take there. Further links are measured again.
    pub(super) links_bytes_max: u64,
}

impl Loose {
    /// Adds a loose link: what its contents have in common, and the link itself while there is space for it.
    pub(super) fn add(&mut self, loose: &LoosePair<'_>, limits: &LooseLimits<'_>) -> Result<(), Error> {
        let LoosePair { pair, common, measured } = loose;
        let is_kept = self.links.held_bytes() < limits.links_bytes_max;
        if is_kept {
            self.links.begin(common);
        }
        for chunk in *common {
            // Chunks that an earlier comparison asked for alone must not count: the result would depend on it.
            let Some(place) = limits.asked.place(&chunk.tag) else { continue };
            let Some(count) = limits.expansions.count(&chunk.tag) else { continue };
            for content in [pair.0, pair.1] {
                self.mark(content, place, &Bits::all(count));
            }
        }
        for (side, content) in [(0, pair.0), (1, pair.1)] {
            let Some((measure, added)) = measured else { break };
            for (number, (fine, bytes)) in measure.counted(side) {
                let (AddedChunk { place, .. }, bits) = (added[side][number], Bits::of(bytes));
                if is_kept {
                    self.links.add(side, limits.asked.tags()[place as usize], fine, bytes, &bits);
                }
                self.mark(content, place, &bits);
            }
        }
        if is_kept { self.links.end(*pair, limits.folder) } else { Ok(()) }
    }

    fn mark(&mut self, content: u32, place: u32, bits: &Bits) {
        match self.marks.entry((content, place)) {
            Entry::Occupied(known) => self.bits.add(*known.get(), bits),
            Entry::Vacant(known) => drop(known.insert(self.bits.put(bits))),
        }
    }

    /// Everything that the threads have found: the marks, and the links that were kept, by their pairs.
    pub(super) fn merge(all: Vec<Loose>) -> Result<(LooseMarks, KeptLinks), Error> {
        let (mut marks, mut bits, mut links) = (Vec::new(), BitsPool::default(), Vec::new());
        for loose in all {
            let start = bits.absorb(loose.bits);
            marks.extend(loose.marks.into_iter().map(|(chunk, at)| (chunk, at.moved_by(start))));
            links.push(loose.links);
        }
        marks.sort_unstable_by_key(|(chunk, _)| *chunk);
        marks.dedup_by(|(later, of_later), (chunk, at)| {
            let same = later == chunk;
            if same {
                bits.add_from(*at, *of_later);
            }
            same
        });
        Ok((LooseMarks { marks, bits }, KeptLinks::of(links)?))
    }
}

impl LooseMarks {
    /// The chunks of a content that have fine chunks in common with others, by their places among those that the sites were asked for, each with the
    /// words of its bits.
    pub(super) fn of(&self, content: u32) -> impl ExactSizeIterator<Item = (u32, &[u64])> {
        let start = self.marks.partition_point(|((other, _), _)| *other < content);
        let end = start + self.marks[start..].partition_point(|((other, _), _)| *other == content);
        self.marks[start..end].iter().map(|((_, place), at)| (*place, self.bits.words(*at)))
    }

    /// The number of these fine chunks in all contents.
    pub(super) fn count(&self) -> u64 {
        self.bits.count(self.marks.iter().map(|(_, at)| *at))
    }
}
