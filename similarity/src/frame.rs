//! Frames: what many otherwise unlike contents have in common, as rows of fine chunks.
//!
//! A fine chunk has about seven bytes and a tag of eight bits, so that one alone identifies nothing. A [`FrameRow`] is four of
//! them that follow each other in a chunk: about 28 bytes, in 48 bits. [`rows`] lists those of a chunk, a [`RowFilter`] bounds
//! in how many contents each occurs, [`DistinctRows`] lists those of one content once, and [`mark`] finds the fine chunks that a set of rows covers.
//!
//! Source of the idea of counting in two passes: the multi-stage filters of Estan and Varghese, "New directions in traffic
//! measurement and accounting" (SIGCOMM 2002); here with one stage, and exact counts in the second pass.

mod distinct;

use std::sync::atomic::{AtomicU16, Ordering};

use cognate_fingerprint::FineChunk;

pub use self::distinct::DistinctRows;

use crate::fine::Part;
use crate::present::{Present, hash, highest};

/// Fine chunks of a row.
pub const ROW_FINE_CHUNKS: usize = 4;
/// Bits of a fine chunk in a row: its tag, and its length less 1.
const FINE_BITS: u32 = 12;
/// Bits of a row.
#[expect(clippy::cast_possible_truncation, reason = "a row has four fine chunks")]
const ROW_BITS: u32 = FINE_BITS * ROW_FINE_CHUNKS as u32;
/// The bits of a row in a word.
const ROW_MASK: u64 = (1 << ROW_BITS) - 1;
/// The bytes of a row where it is stored or sent.
pub const ROW_BYTES: usize = ROW_BITS as usize / 8;
/// The count at which a counter stops.
const COUNT_MAX: u16 = u16::MAX / 2;
/// The greatest number of counters of a filter, as a power of two: 64 MB.
const FILTER_BITS_MAX: u32 = 25;
/// Rows for each counter, as a power of two: two to four. Their sum stays far below the count that matters, and the counters of a source tree
/// fit the cache of a processor.
const ROWS_PER_COUNTER_BITS: u32 = 2;

/// Bits for each row of a set, as a power of two: one in 32 others has to be looked up, or fewer.
const PRESENT_BITS: u32 = 5;

/// The golden ratio spreads all bits to the highest ones (Knuth, The Art of Computer Programming 3, section 6.4).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fine chunks that follow each other in a chunk, by their tags and lengths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameRow(u64);

impl FrameRow {
    /// The row that begins one fine chunk later and ends with this one.
    fn next(self, fine: &FineChunk) -> FrameRow {
        let word = u64::from(fine.tag) << 4 | u64::from(fine.length_bytes.wrapping_sub(1) & 0xf);
        FrameRow((self.0 << FINE_BITS | word) & ROW_MASK)
    }

    /// A row as it is stored, the first fine chunk first.
    pub fn from_bytes(bytes: [u8; ROW_BYTES]) -> FrameRow {
        FrameRow(bytes.iter().fold(0, |row, byte| row << 8 | u64::from(*byte)))
    }

    /// The row as it is stored.
    pub fn to_bytes(self) -> [u8; ROW_BYTES] {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }

    /// The length of its first fine chunk. In a frame a row begins with each fine chunk, but for the last three of a chunk, so that the sum
    /// over all rows is about the length of the frame.
    pub fn first_bytes(self) -> u64 {
        (self.0 >> (ROW_BITS - FINE_BITS) & 0xf) + 1
    }

    /// Its place in a filter with 2^`bits` slots.
    fn slot(self, bits: u32) -> usize {
        highest(hash(self.0, MULTIPLIER), bits)
    }
}

/// The rows of a chunk, in order, each with the place of its first fine chunk.
pub fn rows(fine: &[FineChunk]) -> impl Iterator<Item = (usize, FrameRow)> {
    let mut row = FrameRow(0);
    let ending = fine.iter().map(move |fine| {
        row = row.next(fine);
        row
    });
    ending.skip(ROW_FINE_CHUNKS - 1).enumerate()
}

/// Marks the fine chunks of a chunk that rows of a set cover, unless they are something else than the content's own already.
pub fn mark(parts: &mut [Part], fine: &[FineChunk], set: &RowSet, part: Part) {
    if set.is_empty() {
        return;
    }
    for (place, _) in rows(fine).filter(|(_, row)| set.contains(*row)) {
        let covered = parts[place..place + ROW_FINE_CHUNKS].iter_mut();
        covered.filter(|known| **known == Part::Own).for_each(|known| *known = part);
    }
}

/// Rows. Many millions are looked up, most of which are not there: a bit for each hash tells that of nearly all of them, and the table
/// has only to be asked about the others. Sites choose rows, so that its hash has a random seed.
#[derive(Clone, Default)]
pub struct RowSet {
    rows: foldhash::HashSet<FrameRow>,
    present: Present,
}

impl FromIterator<FrameRow> for RowSet {
    fn from_iter<T: IntoIterator<Item = FrameRow>>(rows: T) -> RowSet {
        let rows: foldhash::HashSet<FrameRow> = rows.into_iter().collect();
        let mut present = Present::default();
        present.fill(rows.iter().map(|row| hash(row.0, MULTIPLIER)), PRESENT_BITS);
        RowSet { rows, present }
    }
}

impl RowSet {
    /// True if the row is in the set.
    pub fn contains(&self, row: FrameRow) -> bool {
        !self.is_empty() && self.present.may_have(hash(row.0, MULTIPLIER)) && self.rows.contains(&row)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Its rows, in any order.
    pub fn iter(&self) -> impl Iterator<Item = FrameRow> {
        self.rows.iter().copied()
    }
}

/// Bounds from above in how many contents each row occurs: counters in a fixed amount of memory, where rows that meet in one
/// count together. Several threads may count at once.
pub struct RowFilter {
    bits: u32,
    counters: Vec<AtomicU16>,
}

impl RowFilter {
    /// A filter for about `rows` rows.
    pub fn new(rows: u64) -> RowFilter {
        let bits = (u64::BITS - rows.leading_zeros()).saturating_sub(ROWS_PER_COUNTER_BITS).clamp(10, FILTER_BITS_MAX);
        RowFilter { bits, counters: (0..1_usize << bits).map(|_| AtomicU16::new(0)).collect() }
    }

    /// Counts the rows of a content, each of which comes once.
    pub fn add(&self, rows: &[FrameRow]) {
        for row in rows {
            let counter = &self.counters[row.slot(self.bits)];
            // Below the greatest number there is room for every thread.
            if counter.load(Ordering::Relaxed) < COUNT_MAX {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The least count, `least` or more, that at most `counters_max` counters reach.
    pub fn least_for(&self, least: u16, counters_max: usize) -> u16 {
        let mut reached = vec![0_usize; 1 + usize::from(COUNT_MAX)];
        let counts = self.counters.iter().map(|counter| counter.load(Ordering::Relaxed).min(COUNT_MAX));
        counts.for_each(|count| reached[usize::from(count)] += 1);
        let mut sum = 0;
        for count in (least..=COUNT_MAX).rev() {
            sum += reached[usize::from(count)];
            if sum > counters_max {
                return count + 1;
            }
        }
        least
    }

    /// The rows that may occur in `least` contents or more, in a sixteenth of the memory.
    pub fn reaching(&self, least: u16) -> FrequentRows {
        let reaches = |counter: &AtomicU16| u64::from(counter.load(Ordering::Relaxed).min(COUNT_MAX) >= least);
        let word = |counters: &[AtomicU16]| counters.iter().rev().fold(0, |word, counter| word << 1 | reaches(counter));
        FrequentRows { bits: self.bits, words: self.counters.chunks(64).map(word).collect() }
    }
}

/// Rows of a filter that may occur often enough: a bit for each counter.
pub struct FrequentRows {
    bits: u32,
    words: Vec<u64>,
}

impl FrequentRows {
    /// False if the row occurs in fewer contents.
    pub fn may_have(&self, row: FrameRow) -> bool {
        let slot = row.slot(self.bits);
        self.words[slot / 64] >> (slot % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fine(numbers: &[u8]) -> Vec<FineChunk> {
        numbers.iter().map(|number| FineChunk { tag: *number, length_bytes: 1 + number % 16 }).collect()
    }

    #[test]
    fn a_row_comes_back_from_its_bytes_and_knows_tags_and_lengths() {
        let chunk = fine(&[250, 3, 0, 77, 15]);
        let found: Vec<FrameRow> = rows(&chunk).map(|(_, row)| row).collect();
        assert_eq!(found.len(), 2);
        for row in &found {
            assert_eq!(FrameRow::from_bytes(row.to_bytes()), *row);
        }
        assert_eq!(found[0].to_bytes(), [0xfa, 0xa0, 0x33, 0x00, 0x04, 0xdd]);
        assert_eq!(found.iter().map(|row| row.first_bytes()).collect::<Vec<_>>(), [11, 4]);
        let mut longer = chunk.clone();
        longer[1].length_bytes += 1;
        assert_ne!(rows(&longer).next().unwrap().1, found[0]);
        assert_eq!(rows(&chunk[..3]).count(), 0, "shorter than a row");
    }

    #[test]
    fn rows_of_a_set_cover_their_fine_chunks_and_change_no_other_part() {
        let chunk = fine(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let set: RowSet = rows(&chunk).filter(|(place, _)| *place == 1).map(|(_, row)| row).collect();
        let mut parts = vec![Part::Own; 9];
        parts[2] = Part::Template;
        mark(&mut parts, &chunk, &set, Part::Frame);
        use Part::{Frame, Own, Template};
        assert_eq!(parts, [Own, Frame, Template, Frame, Frame, Own, Own, Own, Own]);
    }

    fn may_reach(filter: &RowFilter, row: FrameRow, least: u16) -> bool {
        let frequent = filter.reaching(least);
        let reaches = |slot: usize| filter.counters[slot].load(Ordering::Relaxed).min(COUNT_MAX) >= least;
        assert_eq!(frequent.may_have(row), reaches(row.slot(filter.bits)));
        frequent.may_have(row)
    }

    #[test]
    fn a_filter_counts_no_row_too_little_and_bounds_how_many_pass() {
        let filter = RowFilter::new(3);
        let all: Vec<FrameRow> = (0..40_000).map(|number| FrameRow(number * 7919)).collect();
        filter.add(&all);
        for _ in 0..4 {
            filter.add(&all[..10]);
        }
        assert!(
            all.iter().all(|row| may_reach(&filter, *row, 1))
                && all[..10].iter().all(|row| may_reach(&filter, *row, 5))
        );
        assert_eq!(filter.least_for(5, 1 << 20), 5);
        let least = filter.least_for(5, 7);
        assert!(
            least > 5 && filter.counters.iter().filter(|count| count.load(Ordering::Relaxed) >= least).count() <= 7,
            "{least}"
        );
    }

    #[test]
    fn a_counter_stops_at_its_greatest_count_and_never_begins_again() {
        let filter = RowFilter::new(1);
        let row = FrameRow(7);
        for _ in 0..u32::from(u16::MAX) + 5 {
            filter.add(&[row]);
        }
        assert!(may_reach(&filter, row, COUNT_MAX) && !may_reach(&filter, row, COUNT_MAX + 1));
        // One counter reaches the greatest count; no count is so great that none does.
        assert_eq!((filter.least_for(2, 1), filter.least_for(2, 0)), (2, COUNT_MAX + 1));
        assert_eq!(filter.least_for(COUNT_MAX, 0), COUNT_MAX + 1);
    }

    #[test]
    fn the_memory_of_a_filter_is_bounded_whatever_number_of_rows_is_announced() {
        for (rows, bits) in [(0, 10), (1 << 11, 10), (1 << 12, 11), (u64::MAX, FILTER_BITS_MAX)] {
            let filter = RowFilter::new(rows);
            assert_eq!((filter.bits, filter.counters.len()), (bits, 1 << bits), "{rows}");
            // The rows at both ends have places in it.
            [FrameRow(0), FrameRow((1 << ROW_BITS) - 1)].iter().for_each(|row| filter.add(&[*row]));
        }
    }

    #[test]
    fn threads_that_count_at_once_lose_no_row() {
        let filter = RowFilter::new(100);
        let all: Vec<FrameRow> = (0..100).map(FrameRow).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..250).for_each(|_| filter.add(&all)));
            }
        });
        assert!(all.iter().all(|row| may_reach(&filter, *row, 1000)));
        let counted: u64 = filter.counters.iter().map(|count| u64::from(count.load(Ordering::Relaxed))).sum();
        assert_eq!(counted, 4 * 250 * 100);
    }

    proptest! {
        #[test]
        fn a_fine_chunk_is_covered_exactly_if_it_is_in_a_row_of_the_set(
            numbers in prop::collection::vec(0..4_u8, 0..30),
            chosen in prop::collection::vec(any::<bool>(), 30),
        ) {
            let chunk = fine(&numbers);
            let set: RowSet = rows(&chunk).filter(|(place, _)| chosen[*place]).map(|(_, row)| row).collect();
            let mut parts = vec![Part::Own; chunk.len()];
            mark(&mut parts, &chunk, &set, Part::Frame);
            for (at, part) in parts.into_iter().enumerate() {
                let is_in = |(place, row): (usize, FrameRow)| (place..place + ROW_FINE_CHUNKS).contains(&at) && set.contains(row);
                prop_assert_eq!(part == Part::Frame, rows(&chunk).any(is_in), "{}", at);
            }
        }

        #[test]
        fn different_fine_chunks_are_different_rows(a in any::<[(u8, u8); 4]>(), b in any::<[(u8, u8); 4]>()) {
            let chunks = |of: [(u8, u8); 4]| of.map(|(tag, length)| FineChunk { tag, length_bytes: 1 + length % 16 });
            let (a, b) = (chunks(a), chunks(b));
            let row = rows(&a).next().unwrap().1;
            prop_assert_eq!(row == rows(&b).next().unwrap().1, a == b);
            prop_assert_eq!(FrameRow::from_bytes(row.to_bytes()), row);
            prop_assert_eq!(row.first_bytes(), u64::from(a[0].length_bytes));
        }
    }
}
