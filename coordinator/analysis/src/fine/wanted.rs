//! The chunks that candidate pairs do not share.

use cognate_fingerprint::{Feature, Tag};
use cognate_similarity::fine::{ByChunks, ChunkCount, by_chunks, counted};

use super::pair::{Pair, ascending as ascending_pairs};
use crate::compare::Task;
use crate::error::Error;

/// A chunk that somebody has to cut, and the first content that has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WantedChunk {
    pub(super) tag: Tag,
    pub(super) content: u32,
    pub(super) length_bytes: u32,
}

/// Bytes that are left of a content at most in a pair that is measured (`docs/decisions/0028-fine-figures.md`). The contents of the oracle are short.
pub(super) const LEFT_BYTES_MAX: u64 = if cfg!(test) { 2600 } else { 1 << 30 };

/// The chunks that are left of pairs, and the pairs that are left out.
pub(super) struct RemainingChunks {
    /// Each chunk once, ascending.
    pub(super) chunks: Vec<WantedChunk>,
    /// Pairs of which too much is left to be measured, ascending.
    pub(super) too_long: Vec<Pair>,
}

/// Chunks of one thread, with repetitions that are removed now and then.
#[derive(Default)]
struct ChunkCollector {
    chunks: Vec<WantedChunk>,
    distinct: usize,
    too_long: Vec<Pair>,
}

/// Compares two contents by their features.
pub(super) fn compared(a: &[Feature], b: &[Feature]) -> ByChunks {
    let chunks = |features: &[Feature]| counted(features.iter().map(|feature| (feature.tag, feature.weight)));
    by_chunks(&chunks(a), &chunks(b))
}

/// Chunks in their order, each once.
pub(super) fn each_once(mut chunks: Vec<WantedChunk>) -> Vec<WantedChunk> {
    // A stable sort merges what is in order already.
    chunks.sort();
    chunks.dedup_by_key(|chunk| chunk.tag);
    chunks
}

/// True if what is left of a content has more bytes.
fn is_too_long(left: &[ChunkCount], bytes_max: u64) -> bool {
    let bytes = left.iter().map(|chunk| u64::from(chunk.count) * u64::from(chunk.length_bytes));
    bytes.fold(0, u64::saturating_add) > bytes_max
}

impl Task<'_> {
    /// The chunks that are left of any pair.
    pub(super) fn remaining_chunks(&self, pairs: &[Pair]) -> Result<RemainingChunks, Error> {
        let mut gathered =
            self.each_pair(pairs, ChunkCollector::default, &|gathered: &mut ChunkCollector, (a, b), of_a, of_b| {
                let left = compared(of_a, of_b).left;
                // If nothing is left of one of the two, they have nothing more in common.
                if left.iter().any(Vec::is_empty) {
                    return Ok(());
                }
                if left.iter().any(|left| is_too_long(left, LEFT_BYTES_MAX)) {
                    gathered.too_long.push((a, b));
                } else {
                    for (content, left) in [a, b].into_iter().zip(left) {
                        gathered.add(left.iter().map(|chunk| WantedChunk {
                            tag: chunk.tag,
                            content,
                            length_bytes: chunk.length_bytes,
                        }));
                    }
                }
                Ok(())
            })?;
        let too_long = gathered.iter_mut().flat_map(|gathered| std::mem::take(&mut gathered.too_long)).collect();
        let ascending: Vec<Vec<WantedChunk>> = std::thread::scope(|scope| {
            let sorting = gathered.into_iter().map(|gathered| scope.spawn(|| gathered.finish()));
            let sorting: Vec<_> = sorting.collect();
            sorting.into_iter().map(|sorted| sorted.join().expect("nothing there panics")).collect()
        });
        Ok(RemainingChunks { chunks: each_once(ascending.concat()), too_long: ascending_pairs(too_long) })
    }
}

impl ChunkCollector {
    fn add(&mut self, chunks: impl Iterator<Item = WantedChunk>) {
        self.chunks.extend(chunks);
        if self.chunks.len() > 1 << 16 && self.chunks.len() > 2 * self.distinct {
            self.sort();
        }
    }

    /// The chunks, ascending, each once.
    fn finish(mut self) -> Vec<WantedChunk> {
        self.sort();
        self.chunks
    }

    fn sort(&mut self) {
        self.chunks.sort_unstable();
        self.chunks.dedup_by_key(|chunk| chunk.tag);
        self.distinct = self.chunks.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_left_out_if_the_rest_of_one_of_the_two_is_too_long() {
        let left = |counts: &[(u32, u32)]| -> Vec<ChunkCount> {
            let chunk = |&(length_bytes, count): &(u32, u32)| ChunkCount { tag: Tag([1; 16]), length_bytes, count };
            counts.iter().map(chunk).collect()
        };
        assert!(!is_too_long(&left(&[(1000, 3), (500, 1)]), 3500));
        assert!(is_too_long(&left(&[(1000, 3), (501, 1)]), 3500));
        assert!(is_too_long(&left(&[(u32::MAX, u32::MAX); 3]), LEFT_BYTES_MAX));
    }
}
