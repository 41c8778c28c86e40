//! Fine figures: two contents measured by their chunks and, of what is left, by fine chunks.
//!
//! `shared(x, y)` is the sum over common chunks of the lesser count times the length, plus the bytes that the chunks left on
//! both sides have in common by their fine chunks ([`FineMeasure`]). A chunk of which x has more occurrences than y is left as
//! often as x has it more. Whole chunks are decided first, so fine chunks never make a pair share less.
//!
//! A fine chunk has about seven bytes and a tag of eight bits. It counts where two of them that follow each other in a chunk
//! follow each other in a chunk of the other content as well, three in long contents.
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
                a.next();
                b.next();
            }
            _ => found.left[1].extend(b.next().copied()),
        }
    }
}

/// Fine chunks in a row that must agree before they count. Two are 22 bits or more, so that among 16,384 of them less than
/// one in a hundred agrees by chance.
const ROW: usize = 2;
/// The same where a content has more than [`ROW_FINE_CHUNKS_MAX`] fine chunks left.
const LONG_ROW: usize = 3;
/// See [`LONG_ROW`].
const ROW_FINE_CHUNKS_MAX: usize = 1 << 14;
/// Fewer rows are sorted faster by comparison.
const SORTED_BY_PASSES_MIN: usize = 128;
/// Bits of a fine chunk in a row: its tag, and its length less 1.
const FINE_BITS: u32 = 12;
/// Bits of the place of a row; the others are the row itself.
const PLACE_BITS: u32 = 64 - 3 * FINE_BITS;
const _: () = assert!(LONG_ROW == 3 && ROW < LONG_ROW);

/// Measures pairs by the fine chunks of those chunks that are left. It holds memory that one pair after the other uses.
#[derive(Debug, Default)]
pub struct FineMeasure {
    sides: [Side; 2],
}

/// The fine chunks of one content.
#[derive(Debug, Default)]
struct Side {
    /// In the order of its chunks; where a chunk ends is a fine chunk without bytes.
    fine: Vec<FineChunk>,
    /// Each row with the place where it begins, ascending.
    rows: Vec<u64>,
    /// Working space of the sort.
    spare: Vec<u64>,
    /// Per fine chunk, whether it is in a row that both have.
    common: Vec<bool>,
}

impl FineMeasure {
    /// Begins a pair.
    pub fn begin(&mut self) {
        self.sides.iter_mut().for_each(|side| side.fine.clear());
    }

    /// Adds a chunk that is left of the first (0) or of the second (1) content.
    pub fn add(&mut self, side: usize, fine: &[FineChunk]) {
        let chunks = &mut self.sides[side].fine;
        chunks.extend_from_slice(fine);
        chunks.push(FineChunk { tag: 0, length_bytes: 0 });
    }

    /// The bytes in common: of each content the fine chunks in rows that both have, a row as often as the content has it that
    /// has it less often, the first ones of the other; then the lesser of the two.
    pub fn shared_bytes(&mut self) -> u64 {
        let most = self.sides.iter().map(|side| side.fine.len()).max().unwrap_or(0);
        let row = if most > ROW_FINE_CHUNKS_MAX { LONG_ROW } else { ROW };
        self.sides.iter_mut().for_each(|side| side.find_rows(row));
        let [a, b] = &mut self.sides;
        let (mut at_a, mut at_b) = (0, 0);
        while let (Some(first), Some(second)) = (a.rows.get(at_a), b.rows.get(at_b)) {
            let order = (first >> PLACE_BITS).cmp(&(second >> PLACE_BITS));
            if order.is_eq() {
                a.mark(at_a, row);
                b.mark(at_b, row);
            }
            at_a += usize::from(order.is_le());
            at_b += usize::from(order.is_ge());
        }
        a.common_bytes().min(b.common_bytes())
    }
}

impl FineMeasure {
    /// Of each chunk that was added on a side, in order, which fine chunks are in common: after
    /// [`shared_bytes`](FineMeasure::shared_bytes).
    pub fn common(&self, side: usize) -> impl Iterator<Item = &[bool]> {
        let Side { fine, common, .. } = &self.sides[side];
        let mut start = 0;
        let ends = fine.iter().enumerate().filter(|(_, fine)| fine.length_bytes == 0).map(|(end, _)| end);
        ends.map(move |end| {
            let of_chunk = &common[start..end];
            start = end + 1;
            of_chunk
        })
    }
}

impl Side {
    fn find_rows(&mut self, row: usize) {
        self.rows.clear();
        self.common.clear();
        self.common.resize(self.fine.len(), false);
        for (place, fine) in (0_u64..).zip(self.fine.windows(row)) {
            if fine.iter().all(|fine| fine.length_bytes > 0) {
                let word = |fine: &FineChunk| u64::from(fine.tag) << 4 | u64::from((fine.length_bytes - 1) & 0xf);
                let packed = fine.iter().fold(0, |packed, fine| packed << FINE_BITS | word(fine));
                self.rows.push(packed << PLACE_BITS | place);
            }
        }
        sort_rows(&mut self.rows, &mut self.spare, row);
    }

    fn mark(&mut self, number: usize, row: usize) {
        let place = self.rows[number] & ((1 << PLACE_BITS) - 1);
        let place = usize::try_from(place).expect("it was a place before");
        self.common[place..place + row].fill(true);
    }

    fn common_bytes(&self) -> u64 {
        let common = self.fine.iter().zip(&self.common).filter(|(_, common)| **common);
        common.map(|(fine, _)| u64::from(fine.length_bytes)).sum()
    }
}

/// Sorts rows that come by their places: some passes over a few bits each, which keep the order of places.
fn sort_rows(rows: &mut Vec<u64>, spare: &mut Vec<u64>, row: usize) {
    if rows.len() < SORTED_BY_PASSES_MIN {
        return rows.sort_unstable();
    }
    let digit_bits = if rows.len() < 4096 { 8 } else { 12 };
    spare.resize(rows.len(), 0);
    let mut starts = vec![0_usize; (1 << digit_bits) + 1];
    for shift in (PLACE_BITS..64).step_by(digit_bits).take((12 * row).div_ceil(digit_bits)) {
        let digit = |row: u64| usize::try_from((row >> shift) & ((1 << digit_bits) - 1)).expect("it has twelve bits");
        starts.fill(0);
        rows.iter().for_each(|row| starts[digit(*row) + 1] += 1);
        (1..starts.len()).for_each(|place| starts[place] += starts[place - 1]);
        for row in rows.iter() {
            let start = &mut starts[digit(*row)];
            spare[*start] = *row;
            *start += 1;
        }
        std::mem::swap(rows, spare);
    }
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
        fn fine_chunks_are_shared_as_their_definition_says(
            a in proptest::collection::vec(proptest::collection::vec(0_u8..9, 1..90), 0..5),
            b in proptest::collection::vec(proptest::collection::vec(0_u8..9, 1..90), 0..5),
        ) {
            let mut measure = FineMeasure::default();
            for _ in 0..2 {
                measure.begin();
                a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk)));
                b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk)));
                prop_assert_eq!(measure.shared_bytes(), covered(&a, &b).min(covered(&b, &a)));
            }
        }
    }

    fn of_numbers(numbers: &[u8]) -> Vec<FineChunk> {
        numbers.iter().map(|number| FineChunk { tag: *number, length_bytes: 4 + *number }).collect()
    }

    /// The bytes of a in pairs that b has, by counting every pair.
    fn covered(a: &[Vec<u8>], b: &[Vec<u8>]) -> u64 {
        let mut left: HashMap<(u8, u8), u32> = HashMap::new();
        for pair in b.iter().flat_map(|chunk| chunk.windows(2)) {
            *left.entry((pair[0], pair[1])).or_default() += 1;
        }
        let mut bytes = 0;
        for chunk in a {
            let mut common = vec![false; chunk.len()];
            for (place, pair) in chunk.windows(2).enumerate() {
                let Some(count) = left.get_mut(&(pair[0], pair[1])).filter(|count| **count > 0) else { continue };
                *count -= 1;
                (common[place], common[place + 1]) = (true, true);
            }
            let shared = chunk.iter().zip(common).filter(|(_, common)| *common);
            bytes += shared.map(|(number, _)| 4 + u64::from(*number)).sum::<u64>();
        }
        bytes
    }

    #[test]
    fn a_fine_chunk_alone_counts_for_nothing_and_rows_do_not_cross_chunks() {
        let shared = |a: &[&[u8]], b: &[&[u8]]| {
            let mut measure = FineMeasure::default();
            measure.begin();
            a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk)));
            b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk)));
            measure.shared_bytes()
        };
        assert_eq!(shared(&[&[1, 2, 3]], &[&[3, 9, 1]]), 0);
        assert_eq!(shared(&[&[1, 2, 3]], &[&[2, 3, 9]]), 6 + 7);
        assert_eq!(shared(&[&[1], &[2]], &[&[1, 2]]), 0);
        assert_eq!(shared(&[&[1, 2, 1, 2]], &[&[1, 2]]), 5 + 6);
        assert_eq!(shared(&[], &[&[1, 2]]), 0);
    }

    #[test]
    fn in_long_contents_three_in_a_row_must_agree() {
        let long: Vec<u8> = (0..20_000_u32).map(|number| (number % 251).to_le_bytes()[0]).collect();
        let fine = |numbers: &[u8]| -> Vec<FineChunk> {
            numbers.iter().map(|number| FineChunk { tag: *number, length_bytes: 7 }).collect()
        };
        let shared = |other: &[u8]| {
            let mut measure = FineMeasure::default();
            measure.begin();
            measure.add(0, &fine(&long));
            measure.add(1, &fine(other));
            measure.shared_bytes()
        };
        assert_eq!((shared(&[5, 6]), shared(&[5, 6, 7])), (0, 21));
    }
}
