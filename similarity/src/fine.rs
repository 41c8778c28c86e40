//! Fine figures: two contents measured by their chunks and, of what is left, by fine chunks.
//!
//! `shared(x, y)` is the sum over common chunks of the lesser count times the length, plus the bytes that the chunks left on
//! both sides have in common by their fine chunks ([`FineMeasure`]). A chunk of which x has more occurrences than y is left as
//! often as x has it more. Whole chunks are decided first, so fine chunks never make a pair share less.
//!
//! A fine chunk has about seven bytes and a tag of eight bits. Two contents have a *run* in common where two fine chunks that
//! follow each other in a chunk follow each other in a chunk of the other content as well, three in long contents. At either end of
//! a run is a *border*: the next fine chunk, if its four bytes towards the run agree with those of the fine chunk at
//! the same place of the other content. A run counts if it has [`RUN_BYTES_MIN`] bytes with its borders, so that phrases which all
//! documents of one kind have in common count for nothing. A border counts but for one byte: somewhere in it
//! the two differ.
//!
//! [`places`](FineMeasure::places) has the bytes that were counted, with their offsets.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4.

mod places;

use std::collections::HashMap;
use std::ops::Range;

use cognate_fingerprint::{FineChunk, Tag};

pub use self::places::FinePlace;
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
/// The least bytes of a run that counts, with its borders.
pub const RUN_BYTES_MIN: u64 = 32;
/// The place of a row that the other content does not have.
const NOWHERE: u32 = u32::MAX;
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
    /// Fine chunks in a row that had to agree.
    row: usize,
    /// The bytes that each content counts.
    counted_bytes: [u64; 2],
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
    /// Per fine chunk, the place of the row that begins there in the other content.
    partners: Vec<u32>,
    /// Per fine chunk, what it is to the other content.
    common: Vec<Common>,
}

/// What a fine chunk of one content is to the other content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Common {
    /// It does not count.
    #[default]
    Not,
    /// It borders a run that counts: all but one byte of it counts.
    Border,
    /// It is in a run that counts.
    Run,
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

    /// The bytes in common: of each content the runs that count, with their borders, where a row occurs as often as the content
    /// has it that has it less often, the first ones of the other; then the lesser of the two.
    pub fn shared_bytes(&mut self) -> u64 {
        let most = self.sides.iter().map(|side| side.fine.len()).max().unwrap_or(0);
        let row = if most > ROW_FINE_CHUNKS_MAX { LONG_ROW } else { ROW };
        self.sides.iter_mut().for_each(|side| side.find_rows(row));
        let [a, b] = &mut self.sides;
        let (mut at_a, mut at_b) = (0, 0);
        while let (Some(first), Some(second)) = (a.rows.get(at_a), b.rows.get(at_b)) {
            let order = (first >> PLACE_BITS).cmp(&(second >> PLACE_BITS));
            if order.is_eq() {
                let (in_a, in_b) = (place_of(*first), place_of(*second));
                a.partners[in_a as usize] = in_b;
                b.partners[in_b as usize] = in_a;
            }
            at_a += usize::from(order.is_le());
            at_b += usize::from(order.is_ge());
        }
        self.counted_bytes = [a.find_runs(&b.fine, row), b.find_runs(&a.fine, row)];
        self.row = row;
        self.counted_bytes[0].min(self.counted_bytes[1])
    }

    /// What each fine chunk is to the other content, for each chunk that was added on a side, in order: after
    /// [`shared_bytes`](FineMeasure::shared_bytes).
    pub fn common(&self, side: usize) -> impl Iterator<Item = &[Common]> {
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
        for (place, fine) in (0_u64..).zip(self.fine.windows(row)) {
            if fine.iter().all(|fine| fine.length_bytes > 0) {
                let word = |fine: &FineChunk| u64::from(fine.tag) << 4 | u64::from((fine.length_bytes - 1) & 0xf);
                let packed = fine.iter().fold(0, |packed, fine| packed << FINE_BITS | word(fine));
                self.rows.push(packed << PLACE_BITS | place);
            }
        }
        sort_rows(&mut self.rows, &mut self.spare, row);
        self.partners.clear();
        self.partners.resize(self.fine.len(), NOWHERE);
        self.common.clear();
        self.common.resize(self.fine.len(), Common::Not);
    }

    /// Finds the runs that count, and returns their bytes with those of their borders.
    fn find_runs(&mut self, other: &[FineChunk], row: usize) -> u64 {
        let mut bytes = 0;
        let mut next = 0;
        while let Some(first) = (next..self.fine.len()).find(|place| self.partners[*place] != NOWHERE) {
            let mut last = first;
            // Rows that overlap, or that follow each other, are one run.
            while let Some(later) = (last + 1..=last + row).rev().find(|later| self.begins_row(*later)) {
                last = later;
            }
            next = last + row;
            bytes += self.count_run(first..next, row, other);
        }
        bytes
    }

    fn begins_row(&self, place: usize) -> bool {
        self.partners.get(place).is_some_and(|partner| *partner != NOWHERE)
    }

    /// Marks a run with its borders, and returns their bytes, if there are enough of them.
    fn count_run(&mut self, run: Range<usize>, row: usize, other: &[FineChunk]) -> u64 {
        let last_row = run.end - row;
        let before = run.start.checked_sub(1).filter(|before| {
            let opposite = (self.partners[run.start] as usize).checked_sub(1).map(|place| other[place]);
            opposite.is_some_and(|opposite| {
                are_chunks(self.fine[*before], opposite) && self.fine[*before].ends_like(opposite)
            })
        });
        let after = Some(run.end).filter(|after| {
            let opposite = other[self.partners[last_row] as usize + row];
            are_chunks(self.fine[*after], opposite) && self.fine[*after].begins_like(opposite)
        });
        let borders = [before, after].into_iter().flatten();
        let length = |place: usize| u64::from(self.fine[place].length_bytes);
        let bytes: u64 = run.clone().map(length).sum();
        if bytes + borders.clone().map(length).sum::<u64>() < RUN_BYTES_MIN {
            return 0;
        }
        // Two runs may have a border in common.
        let new = borders.clone().filter(|place| self.common[*place] == Common::Not);
        let counted = bytes + new.map(|place| length(place) - 1).sum::<u64>();
        self.common[run].fill(Common::Run);
        borders.for_each(|place| self.common[place] = Common::Border);
        counted
    }
}

/// True unless one of them is the end of a chunk.
fn are_chunks(a: FineChunk, b: FineChunk) -> bool {
    a.length_bytes > 0 && b.length_bytes > 0
}

/// The place in a row's number.
fn place_of(row: u64) -> u32 {
    u32::try_from(row & ((1 << PLACE_BITS) - 1)).expect("places have fewer than 32 bits")
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

    /// Fine chunks of which some begin or end alike.
    const NUMBERS: [u8; 9] = [10, 11, 19, 27, 16, 24, 0, 2, 8];

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
            a in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&NUMBERS), 1..90), 0..5),
            b in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&NUMBERS), 1..90), 0..5),
        ) {
            let mut measure = FineMeasure::default();
            for _ in 0..2 {
                measure.begin();
                a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk)));
                b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk)));
                prop_assert_eq!(measure.shared_bytes(), counted_bytes(&a, &b).min(counted_bytes(&b, &a)));
            }
        }
    }

    fn of_numbers(numbers: &[u8]) -> Vec<FineChunk> {
        numbers
            .iter()
            .map(|number| FineChunk { tag: *number, length_bytes: length(*number).to_le_bytes()[0] })
            .collect()
    }

    fn length(number: u8) -> u64 {
        4 + u64::from(number % 12)
    }

    /// What counts of a towards b, fine chunk by fine chunk.
    fn counted_bytes(a: &[Vec<u8>], b: &[Vec<u8>]) -> u64 {
        // Where the rows of b are that no row of a has taken, the first last.
        let mut free: HashMap<(u8, u8), Vec<(usize, usize)>> = HashMap::new();
        for (number, chunk) in b.iter().enumerate().rev() {
            for (place, pair) in chunk.windows(2).enumerate().rev() {
                free.entry((pair[0], pair[1])).or_default().push((number, place));
            }
        }
        let mut bytes = 0;
        for chunk in a {
            let rows: Vec<Option<(usize, usize)>> =
                chunk.windows(2).map(|pair| free.get_mut(&(pair[0], pair[1])).and_then(Vec::pop)).collect();
            let in_row: Vec<bool> = (0..chunk.len())
                .map(|place| (place > 0 && rows[place - 1].is_some()) || rows.get(place).is_some_and(Option::is_some))
                .collect();
            bytes += counted_in_chunk(chunk, &rows, &in_row, b);
        }
        bytes
    }

    fn counted_in_chunk(chunk: &[u8], rows: &[Option<(usize, usize)>], in_row: &[bool], b: &[Vec<u8>]) -> u64 {
        let (mut whole, mut borders) = (vec![false; chunk.len()], vec![false; chunk.len()]);
        let mut places = 0..chunk.len();
        while let Some(start) = places.find(|place| in_row[*place]) {
            let end = (start..chunk.len()).find(|place| !in_row[*place]).unwrap_or(chunk.len());
            let (first, last) = (rows[start].unwrap(), rows[end - 2].unwrap());
            let mut found = Vec::new();
            if start > 0 && first.1 > 0 && (chunk[start - 1] ^ b[first.0][first.1 - 1]) >> 3 & 7 == 0 {
                found.push(start - 1);
            }
            if end < chunk.len() && b[last.0].get(last.1 + 2).is_some_and(|other| (chunk[end] ^ other) & 7 == 0) {
                found.push(end);
            }
            let sum: u64 = chunk[start..end].iter().copied().map(length).sum();
            if sum + found.iter().map(|place| length(chunk[*place])).sum::<u64>() >= 32 {
                whole[start..end].fill(true);
                found.into_iter().for_each(|place| borders[place] = true);
            }
            places = end..chunk.len();
        }
        let of = |place: usize| match (whole[place], borders[place]) {
            (true, _) => length(chunk[place]),
            (false, true) => length(chunk[place]) - 1,
            (false, false) => 0,
        };
        (0..chunk.len()).map(of).sum()
    }

    fn shared(a: &[&[u8]], b: &[&[u8]]) -> u64 {
        let mut measure = FineMeasure::default();
        measure.begin();
        a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk)));
        b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk)));
        measure.shared_bytes()
    }

    #[test]
    fn runs_do_not_cross_chunks_and_count_from_their_least_length_on() {
        // A fine chunk of number n has 4 + n bytes.
        assert_eq!(shared(&[&[11, 3, 10]], &[&[10, 4, 11]]), 0, "no row");
        assert_eq!(shared(&[&[10, 11, 8]], &[&[10, 11, 8]]), 14 + 15 + 12);
        assert_eq!(shared(&[&[10, 11]], &[&[10, 11]]), 0, "29 bytes");
        assert_eq!(shared(&[&[10, 11], &[8]], &[&[10, 11, 8]]), 0, "in two chunks");
        assert_eq!(shared(&[&[8, 9, 10, 8, 9, 10]], &[&[8, 9, 10]]), 12 + 13 + 14, "as often as the other has it");
        assert_eq!(shared(&[], &[&[1, 2]]), 0);
    }

    #[test]
    fn a_border_that_agrees_towards_the_run_counts_but_for_a_byte() {
        // The lowest three bits are of the beginning, the next three of the end: 19 begins like 43, and 16 ends like 17.
        assert_eq!(shared(&[&[10, 11, 19]], &[&[10, 11, 43]]), 14 + 15 + 10, "the end begins alike");
        assert_eq!(shared(&[&[10, 11, 19]], &[&[10, 11, 18]]), 0, "nothing agrees");
        assert_eq!(shared(&[&[16, 10, 11]], &[&[17, 10, 11]]), 14 + 15 + 7, "the beginning ends alike");
        assert_eq!(shared(&[&[24, 10, 11]], &[&[17, 10, 11]]), 0, "it begins alike alone");
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
        assert_eq!((shared(&[5, 6]), shared(&[5, 6, 7, 8, 9])), (0, 35));
    }
}
