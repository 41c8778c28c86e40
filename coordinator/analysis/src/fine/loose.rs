//! What contents have in common over *loose* links: those of two contents of which one has less than four fifths of the other. The rows of
//! frames are counted over that alone (`frames`), and links without their frames follow from it (`outside`).

use std::collections::hash_map::Entry;

use cognate_fingerprint::{FineChunk, Tag};
use cognate_similarity::fine::{ChunkCount, FineMeasure, Part};
use foldhash::HashMap;

use super::bits::Bits;
use super::expansions::Expansions;

/// What one thread has found, then all of them.
#[derive(Default)]
pub(super) struct Loose {
    marks: HashMap<(u32, Tag), Bits>,
    links: Vec<LooseLink>,
    links_bytes: u64,
}

/// The fine chunks of each content that it has in common with others over loose links, by contents and then by tags.
pub(super) struct LooseMarks(Vec<((u32, Tag), Bits)>);

/// What the contents of a loose link have in common.
pub(super) struct LooseLink {
    /// The contents: the smaller number first.
    pub(super) pair: (u32, u32),
    /// Their common chunks, each as often as both have it.
    pub(super) common: Vec<ChunkCount>,
    /// Of each content, the chunks of which fine chunks count.
    pub(super) counted: [Vec<CountedChunk>; 2],
}

/// A chunk of which fine chunks count.
pub(super) struct CountedChunk {
    pub(super) tag: Tag,
    /// The bytes that count.
    pub(super) bytes: u32,
    /// The fine chunks that count.
    fine: Bits,
    /// Those of them of which fewer bytes count than they have, and the bytes that do not.
    lost: Box<[(u32, u8)]>,
}

impl CountedChunk {
    /// The fine chunks of a chunk that count, if any does, from the bytes that count of each.
    fn of(tag: Tag, fine: &[FineChunk], counted: &[u8]) -> Option<CountedChunk> {
        let bytes: u32 = counted.iter().map(|bytes| u32::from(*bytes)).sum();
        let lost =
            (0..).zip(fine.iter().zip(counted)).filter(|(_, (fine, bytes))| **bytes > 0 && **bytes < fine.length_bytes);
        let lost = lost.map(|(place, (fine, bytes))| (place, fine.length_bytes - bytes)).collect();
        (bytes > 0).then(|| CountedChunk { tag, bytes, fine: Bits::of(counted), lost })
    }

    /// The bytes that count of the contents' own text.
    pub(super) fn own_bytes(&self, fine: &[FineChunk], parts: &[Part]) -> u64 {
        let is_own = |place: usize| parts.get(place).is_none_or(|part| *part == Part::Own);
        let counted = fine.iter().enumerate().filter(|(place, _)| self.fine.holds(*place) && is_own(*place));
        let lost = self.lost.iter().filter(|(place, _)| is_own(*place as usize));
        counted.map(|(_, fine)| u64::from(fine.length_bytes)).sum::<u64>()
            - lost.map(|(_, bytes)| u64::from(*bytes)).sum::<u64>()
    }

    /// The memory that it takes.
    fn held_bytes(&self) -> usize {
        size_of::<CountedChunk>() + self.fine.held_bytes() + size_of_val(&self.lost[..])
    }
}

impl LooseLink {
    /// The memory that it takes.
    fn held_bytes(&self) -> u64 {
        let in_fine: usize = self.counted.iter().flatten().map(CountedChunk::held_bytes).sum();
        (size_of::<LooseLink>() + size_of_val(&self.common[..]) + in_fine) as u64
    }
}

/// The chunks that were added to a measure on either side, in order, each with the number of times.
pub(super) type AddedChunks = [Vec<(Tag, u32)>; 2];

/// A pair that was measured, and is a loose link.
pub(super) struct LoosePair<'a> {
    pub(super) pair: (u32, u32),
    pub(super) common: &'a [ChunkCount],
    /// The measure of their fine chunks, with the chunks that were added to it on either side; nothing if they share none.
    pub(super) measured: Option<(&'a FineMeasure, &'a AddedChunks)>,
}

impl Loose {
    /// Adds a loose link. It is kept if all that are kept take no more than `links_bytes_max`; what contents have in common over it, always.
    /// `chunks` are those that the sites were asked for, ascending.
    pub(super) fn add(
        &mut self,
        loose: &LoosePair<'_>,
        (chunks, expansions): (&[Tag], &Expansions),
        links_bytes_max: u64,
    ) {
        let LoosePair { pair, common, measured } = loose;
        for chunk in *common {
            // Chunks that an earlier comparison asked for alone must not count: the result would depend on it.
            if chunks.binary_search(&chunk.tag).is_err() {
                continue;
            }
            let Some(count) = expansions.count(&chunk.tag) else { continue };
            for content in [pair.0, pair.1] {
                self.mark((content, chunk.tag), Bits::all(count));
            }
        }
        let mut counted = [Vec::new(), Vec::new()];
        if let Some((measure, added)) = measured {
            for (side, content) in [(0, pair.0), (1, pair.1)] {
                for ((tag, _), (fine, bytes)) in added[side].iter().zip(measure.counted(side)) {
                    let Some(chunk) = CountedChunk::of(*tag, fine, bytes) else { continue };
                    self.mark((content, *tag), chunk.fine.clone());
                    counted[side].push(chunk);
                }
            }
        }
        let link = LooseLink { pair: *pair, common: common.to_vec(), counted };
        let held_bytes = link.held_bytes();
        if self.links_bytes + held_bytes <= links_bytes_max {
            self.links_bytes += held_bytes;
            self.links.push(link);
        }
    }

    fn mark(&mut self, place: (u32, Tag), bits: Bits) {
        match self.marks.entry(place) {
            Entry::Occupied(mut known) => known.get_mut().add(&bits),
            Entry::Vacant(known) => drop(known.insert(bits)),
        }
    }

    /// Everything that the threads have found: the marks, and the links that were kept, by their pairs.
    pub(super) fn merge(all: Vec<Loose>) -> (LooseMarks, Vec<LooseLink>) {
        let (mut marks, mut links): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for loose in all {
            marks.extend(loose.marks);
            links.extend(loose.links);
        }
        marks.sort_unstable_by_key(|(place, _)| *place);
        marks.dedup_by(|(later, of_later), (place, bits)| {
            let same = later == place;
            if same {
                bits.add(of_later);
            }
            same
        });
        links.sort_unstable_by_key(|link| link.pair);
        (LooseMarks(marks), links)
    }
}

impl LooseMarks {
    /// The chunks of a content that have fine chunks in common with others.
    pub(super) fn of(&self, content: u32) -> impl Iterator<Item = (&Tag, &Bits)> {
        let start = self.0.partition_point(|((other, _), _)| *other < content);
        let own = self.0[start..].iter().take_while(move |((other, _), _)| *other == content);
        own.map(|((_, tag), bits)| (tag, bits))
    }

    /// The number of these fine chunks in all contents.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|(_, bits)| bits.count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_counts_outside_of_its_frames_what_its_own_fine_chunks_count() {
        let fine = [3, 9, 7, 5, 16].map(|length_bytes| FineChunk { tag: 0, length_bytes });
        let chunk = CountedChunk::of(Tag([1; 16]), &fine, &[2, 9, 7, 0, 15]).unwrap();
        assert_eq!((chunk.bytes, chunk.own_bytes(&fine, &[])), (33, 33));
        use Part::{Frame, Own, Template};
        assert_eq!(chunk.own_bytes(&fine, &[Frame, Own, Template, Frame, Own]), 9 + 15);
        assert_eq!(chunk.own_bytes(&fine, &[Own, Frame, Frame, Frame, Frame]), 2);
        assert!(CountedChunk::of(Tag([1; 16]), &fine, &[0; 5]).is_none());
    }
}
