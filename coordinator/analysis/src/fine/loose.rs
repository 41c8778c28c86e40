//! What contents have in common over *loose* links: those of two contents of which one has less than four fifths of the other. The rows of
//! frames are counted over that alone (`frames`), and links without their frames follow from it (`outside`).

use std::collections::hash_map::Entry;
use std::path::Path;

use cognate_fingerprint::Tag;
use cognate_similarity::fine::{ChunkCount, FineMeasure};
use foldhash::HashMap;

use super::bits::Bits;
use super::expansions::Expansions;
use super::loose_links::{KeptLinks, LooseLinks};
use super::pair::Pair;
use crate::error::Error;

/// What one thread has found.
#[derive(Default)]
pub(super) struct Loose {
    marks: HashMap<(u32, Tag), Bits>,
    links: LooseLinks,
}

/// The fine chunks of each content that it has in common with others over loose links, by contents and then by tags.
pub(super) struct LooseMarks(Vec<((u32, Tag), Bits)>);

/// The chunks that were added to a measure on either side, in order, each with the number of times.
pub(super) type AddedChunks = [Vec<(Tag, u32)>; 2];

/// A pair that was measured, and is a loose link.
pub(super) struct LoosePair<'a> {
    pub(super) pair: Pair,
    pub(super) common: &'a [ChunkCount],
    /// The measure of their fine chunks, with the chunks that were added to it on either side; nothing if they share none.
    pub(super) measured: Option<(&'a FineMeasure, &'a AddedChunks)>,
}

/// The chunks that count for loose links, and the space for the links.
pub(super) struct LooseLimits<'a> {
    /// The chunks that the sites were asked for, ascending.
    pub(super) asked: &'a [Tag],
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
            if limits.asked.binary_search(&chunk.tag).is_err() {
                continue;
            }
            let Some(count) = limits.expansions.count(&chunk.tag) else { continue };
            for content in [pair.0, pair.1] {
                self.mark(content, chunk.tag, Bits::all(count));
            }
        }
        for (side, content) in [(0, pair.0), (1, pair.1)] {
            let Some((measure, added)) = measured else { break };
            for (number, (fine, bytes)) in measure.counted(side) {
                let ((tag, _), bits) = (added[side][number], Bits::of(bytes));
                if is_kept {
                    self.links.add(side, tag, fine, bytes, &bits);
                }
                self.mark(content, tag, bits);
            }
        }
        if is_kept { self.links.end(*pair, limits.folder) } else { Ok(()) }
    }

    fn mark(&mut self, content: u32, tag: Tag, bits: Bits) {
        match self.marks.entry((content, tag)) {
            Entry::Occupied(mut known) => known.get_mut().add(&bits),
            Entry::Vacant(known) => drop(known.insert(bits)),
        }
    }

    /// Everything that the threads have found: the marks, and the links that were kept, by their pairs.
    pub(super) fn merge(all: Vec<Loose>) -> Result<(LooseMarks, KeptLinks), Error> {
        let (mut marks, mut links): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for loose in all {
            marks.extend(loose.marks);
            links.push(loose.links);
        }
        marks.sort_unstable_by_key(|(place, _)| *place);
        marks.dedup_by(|(later, of_later), (place, bits)| {
            let same = later == place;
            if same {
                bits.add(of_later);
            }
            same
        });
        Ok((LooseMarks(marks), KeptLinks::of(links)?))
    }
}

impl LooseMarks {
    /// The chunks of a content that have fine chunks in common with others, by their tags.
    pub(super) fn of(&self, content: u32) -> &[((u32, Tag), Bits)] {
        let start = self.0.partition_point(|((other, _), _)| *other < content);
        let end = start + self.0[start..].partition_point(|((other, _), _)| *other == content);
        &self.0[start..end]
    }

    /// The number of these fine chunks in all contents.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|(_, bits)| bits.count()).sum()
    }
}
