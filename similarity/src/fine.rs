//! Fine figures: two contents measured by their chunks and, of what is left, by fine chunks.
//!
//! `shared(x, y)` is the sum over common chunks of the lesser count times the length, plus the same sum over the fine chunks
//! of those chunks that are left on both sides. A chunk of which x has more occurrences than y is left as often as x has it
//! more. Whole chunks are decided first, so fine chunks never make a pair share less.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4.

use std::collections::HashMap;

use cognate_fingerprint::{FineChunk, Tag};

use crate::error::Error;
use crate::link::Link;
use crate::posting::{ContentIndex, Posting};
use crate::shards::Shards;

/// Occurrences of a chunk in a content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChunkCount {
    /// The tag of the chunk.
    pub tag: Tag,
    /// Its length.
    pub length_bytes: u32,
    /// The number of its occurrences.
    pub count: u32,
}

/// A pair of contents by whole chunks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByChunks {
    /// The bytes of chunks in common.
    pub shared_bytes: u64,
    /// The chunks that are left of the first and of the second content, ascending.
    pub left: [Vec<ChunkCount>; 2],
}

/// The chunks of a content counted, ascending by tag and length, from its chunks in any order.
pub fn counted(chunks: impl Iterator<Item = (Tag, u32)>) -> Vec<ChunkCount> {
    let mut all: Vec<(Tag, u32)> = chunks.collect();
    all.sort_unstable();
    let same = all.chunk_by(|a, b| a == b);
    let count = |same: &[(Tag, u32)]| u32::try_from(same.len()).unwrap_or(u32::MAX);
    same.map(|same| ChunkCount { tag: same[0].0, length_bytes: same[0].1, count: count(same) }).collect()
}

/// Compares two contents by whole chunks, each ascending by tag and length.
pub fn by_chunks(a: &[ChunkCount], b: &[ChunkCount]) -> ByChunks {
    let mut found = ByChunks::default();
    let key = |chunk: &ChunkCount| (chunk.tag, chunk.length_bytes);
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (None, None) => return found,
            (Some(first), second) if second.is_none_or(|second| key(first) < key(second)) => {
                found.left[0].extend(a.next().copied());
            }
            (Some(first), Some(second)) if key(first) == key(second) => {
                let common = first.count.min(second.count);
                found.shared_bytes += u64::from(common) * u64::from(first.length_bytes);
                for (side, chunk) in [(0, **first), (1, **second)] {
                    let count = chunk.count - common;
                    found.left[side].extend((count > 0).then_some(ChunkCount { count, ..chunk }));
                }
                (a.next(), b.next());
            }
            _ => found.left[1].extend(b.next().copied()),
        }
    }
}

/// Fine chunks, packed for comparison: a tag and a length in one word.
pub type FineWord = u64;

/// Packs a fine chunk.
pub fn fine_word(fine: FineChunk) -> FineWord {
    let mut word = [0; 8];
    word[..6].copy_from_slice(&fine.tag);
    word[6] = fine.length_bytes;
    u64::from_le_bytes(word)
}

fn fine_bytes(word: FineWord) -> u64 {
    word >> 48
}

/// The bytes of fine chunks that two lists have in common, each fine chunk as often as the list has it that has it less
/// often. The lists are sorted in place.
pub fn fine_shared_bytes(a: &mut [FineWord], b: &mut [FineWord]) -> u64 {
    a.sort_unstable();
    b.sort_unstable();
    let (mut at_a, mut at_b, mut shared) = (0, 0, 0);
    while let (Some(first), Some(second)) = (a.get(at_a), b.get(at_b)) {
        let order = first.cmp(second);
        if order.is_eq() {
            shared += fine_bytes(*first);
        }
        at_a += usize::from(order.is_le());
        at_b += usize::from(order.is_ge());
    }
    shared
}

/// Visits every pair of contents that share a chunk which at most `holders_max` contents have, templates apart: once for
/// each such chunk, with its bytes in common.
///
/// # Errors
///
/// If the postings cannot be read, and whatever `visit` returns.
pub fn pairs_of_rare_chunks(
    shards: &dyn Shards,
    shard: u32,
    holders_max: usize,
    visit: &mut dyn FnMut(Link) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut of_tag: Vec<Posting> = Vec::new();
    shards.visit(shard, &mut |postings| {
        for posting in postings.iter().filter(|posting| !posting.template) {
            if of_tag.first().is_some_and(|first| first.tag != posting.tag) {
                pairs_of_tag(&of_tag, holders_max, visit)?;
                of_tag.clear();
            }
            of_tag.push(*posting);
        }
        Ok(())
    })?;
    pairs_of_tag(&of_tag, holders_max, visit)
}

fn pairs_of_tag(
    postings: &[Posting],
    holders_max: usize,
    visit: &mut dyn FnMut(Link) -> Result<(), Error>,
) -> Result<(), Error> {
    if postings.len() < 2 {
        return Ok(());
    }
    let mut holders: HashMap<(u32, ContentIndex), u64> = HashMap::new();
    for posting in postings {
        *holders.entry((posting.length_bytes, posting.content)).or_default() += 1;
    }
    let mut holders: Vec<((u32, ContentIndex), u64)> = holders.into_iter().collect();
    holders.sort_unstable();
    for same in holders.chunk_by(|a, b| a.0.0 == b.0.0).filter(|same| same.len() <= holders_max) {
        for (place, ((length_bytes, a), a_count)) in same.iter().enumerate() {
            for ((_, b), b_count) in &same[place + 1..] {
                let shared_bytes = u64::from(*length_bytes) * a_count.min(b_count);
                visit(Link { a: *a, b: *b, shared_bytes })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;
    use crate::shards::MemoryShards;

    fn tag(number: u8) -> Tag {
        Tag([number; 16])
    }

    fn content(chunks: &[u8]) -> Vec<ChunkCount> {
        counted(chunks.iter().map(|number| (tag(*number), 100 + u32::from(*number))))
    }

    #[test]
    fn a_chunk_is_shared_as_often_as_both_have_it_and_left_as_often_as_one_has_it_more() {
        let found = by_chunks(&content(&[1, 1, 1, 2, 4]), &content(&[1, 3, 4]));
        assert_eq!(found.shared_bytes, 101 + 104);
        let one = |number, count| ChunkCount { tag: tag(number), length_bytes: 100 + u32::from(number), count };
        assert_eq!(found.left, [vec![one(1, 2), one(2, 1)], vec![one(3, 1)]]);
    }

    #[test]
    fn a_tag_with_two_lengths_counts_as_two_chunks() {
        let short = counted([(tag(1), 5)].into_iter());
        let found = by_chunks(&content(&[1]), &short);
        assert_eq!((found.shared_bytes, found.left[0].len(), found.left[1].len()), (0, 1, 1));
    }

    #[test]
    fn only_chunks_of_few_contents_make_pairs() {
        let posting = |number, content| Posting {
            tag: tag(number),
            length_bytes: 10,
            template: number == 9,
            content: ContentIndex(content),
        };
        let postings = [(1, 0), (1, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (3, 2), (9, 0), (9, 2)];
        let shards =
            MemoryShards::new(postings.map(|(number, content)| posting(number, content)).to_vec(), NonZeroU32::MIN);
        let found = |holders_max| {
            let mut found = Vec::new();
            pairs_of_rare_chunks(&shards, 0, holders_max, &mut |link| {
                found.push((link.a.0, link.b.0, link.shared_bytes));
                Ok(())
            })
            .unwrap();
            found.sort_unstable();
            found
        };
        assert_eq!(found(2), [(0, 1, 20)]);
        assert_eq!(found(3), [(0, 1, 10), (0, 1, 20), (0, 2, 10), (1, 2, 10)]);
    }

    proptest! {
        #[test]
        fn a_pair_by_chunks_equals_the_count_of_each_chunk(
            a in proptest::collection::vec(0_u8..12, 0..40),
            b in proptest::collection::vec(0_u8..12, 0..40),
        ) {
            let found = by_chunks(&content(&a), &content(&b));
            let times = |list: &[u8], number: u8| list.iter().filter(|one| **one == number).count() as u64;
            let shared: u64 =
                (0..12).map(|number| times(&a, number).min(times(&b, number)) * (100 + u64::from(number))).sum();
            prop_assert_eq!(found.shared_bytes, shared);
            for (side, list) in [(0, &a), (1, &b)] {
                let left: u64 = found.left[side].iter().map(|one| u64::from(one.count) * u64::from(one.length_bytes)).sum();
                let all: u64 = list.iter().map(|number| 100 + u64::from(*number)).sum();
                prop_assert_eq!(left + shared, all);
            }
        }

        #[test]
        fn fine_chunks_are_counted_as_a_multiset(
            a in proptest::collection::vec(0_u8..9, 0..60),
            b in proptest::collection::vec(0_u8..9, 0..60),
        ) {
            let words = |list: &[u8]| -> Vec<FineWord> {
                list.iter().map(|number| fine_word(FineChunk { tag: [*number; 6], length_bytes: 8 + *number })).collect()
            };
            let times = |list: &[u8], number: u8| list.iter().filter(|one| **one == number).count() as u64;
            let shared: u64 =
                (0..9).map(|number| times(&a, number).min(times(&b, number)) * (8 + u64::from(number))).sum();
            prop_assert_eq!(fine_shared_bytes(&mut words(&a), &mut words(&b)), shared);
        }
    }
}
