//! The rows of sampled chunks, looked up among the fine chunks of whole places.
//!
//! A row is three fine chunks, about 21 bytes. Rows that follow each other in a chunk, and are at another place in whatever documents, are a run. A
//! run counts from [`RUN_BYTES_MIN`] on, and with [`BYTES_AT_END`] more at each of its ends.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::FineChunk;
use cognate_similarity::fine::Part;

/// Fine chunks of a row.
const ROW: usize = 3;
/// Bits of a fine chunk in a row: its tag, and its length less 1.
const FINE_BITS: usize = 12;
/// The least bytes of a run that counts.
const RUN_BYTES_MIN: u64 = 22;
/// The bytes in common beyond either end of a run, on average.
const BYTES_AT_END: u64 = 4;
/// Fine chunks of a run that is certain. In shorter ones a few bytes more or less decide.
const CERTAIN_RUN: usize = 5;
/// Bits of the filter for each row.
const FILTER_BITS: usize = 8;
/// The rows of the sampled chunks, and the places at which each was found.
pub(super) struct SampledRows {
    /// Each once.
    rows: Vec<u64>,
    /// A number that nobody knows beforehand: a site could otherwise send rows that all belong into one slot. No result depends on it.
    multiplier: u64,
    /// By the highest bits of the hash, whether some row has them: it fits a near cache, and most rows of other chunks are not there.
    filter: Vec<u64>,
    /// By the highest bits of the hash of a row, its number, counted from 1; where several rows belong into one slot, the later ones are in the
    /// next free slots. Half of the slots or more are free.
    slots: Vec<u32>,
    /// Words of `found` for each row.
    words: usize,
    found: Vec<AtomicU64>,
}

/// Bytes of one chunk that another place has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CoveredBytes {
    pub(super) all: u64,
    /// Of these, in short runs and at the ends of runs.
    pub(super) uncertain: u64,
}

impl SampledRows {
    pub(super) fn of(mut rows: Vec<u64>, place_count: usize) -> SampledRows {
        rows.sort_unstable();
        rows.dedup();
        let words = place_count.div_ceil(64);
        let found = (0..rows.len() * words).map(|_| AtomicU64::new(0)).collect();
        let slots = vec![0; (2 * rows.len()).next_power_of_two().max(2)];
        let filter = vec![0; (rows.len() * FILTER_BITS / 64).max(1).next_power_of_two()];
        let multiplier = RandomState::new().hash_one(0_u8) | 1;
        let mut sampled = SampledRows { rows, multiplier, filter, slots, words, found };
        for number in 0..sampled.rows.len() {
            let row = sampled.rows[number];
            let (word, bit) = sampled.filter_place(row);
            sampled.filter[word] |= bit;
            let slot = sampled.slot(row);
            sampled.slots[slot] = u32::try_from(number + 1).expect("samples have fewer than 2^32 rows");
        }
        sampled
    }

    /// The slot that has a row, or that is free for it.
    fn slot(&self, row: u64) -> usize {
        let mut slot = self.highest(row, self.slots.len().trailing_zeros());
        while let Some(number) = self.slots[slot].checked_sub(1) {
            if self.rows[number as usize] == row {
                break;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// The highest bits of the hash of a row.
    fn highest(&self, row: u64, bits: u32) -> usize {
        usize::try_from(row.wrapping_mul(self.multiplier) >> (u64::BITS - bits)).expect("a table fits the memory")
    }

    fn filter_place(&self, row: u64) -> (usize, u64) {
        let place = self.highest(row, self.filter.len().trailing_zeros() + 6);
        (place / 64, 1 << (place % 64))
    }

    fn number(&self, row: u64) -> Option<usize> {
        let (word, bit) = self.filter_place(row);
        if self.filter[word] & bit == 0 {
            return None;
        }
        self.slots[self.slot(row)].checked_sub(1).map(|number| number as usize)
    }

    /// Notes that a row is at these places.
    pub(super) fn mark(&self, row: u64, places: &[u16]) {
        let Some(number) = self.number(row) else { return };
        for place in places {
            let word = &self.found[number * self.words + usize::from(place / 64)];
            let bit = 1 << (place % 64);
            // Most are there already, and to read costs less.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// The numbers of the rows of a sampled chunk.
    pub(super) fn found_in(&self, fine: &[FineChunk]) -> Vec<usize> {
        rows_of(fine).map(|row| self.number(row).expect("all rows of the samples are there")).collect()
    }

    pub(super) fn is_at(&self, number: usize, place: usize) -> bool {
        self.found[number * self.words + place / 64].load(Ordering::Relaxed) >> (place % 64) & 1 == 1
    }
}

/// The rows of a chunk, in order.
pub(super) fn rows_of(fine: &[FineChunk]) -> impl Iterator<Item = u64> {
    let mut row = 0_u64;
    fine.iter().enumerate().filter_map(move |(place, fine)| {
        let word = u64::from(fine.tag) << 4 | u64::from(fine.length_bytes.wrapping_sub(1) & 0xf);
        row = (row << FINE_BITS | word) & (u64::MAX >> (u64::BITS as usize - FINE_BITS * ROW));
        (place + 1 >= ROW).then_some(row)
    })
}

/// The bytes of a chunk that are no template.
pub(super) fn own_bytes(fine: &[FineChunk], parts: &[Part]) -> u64 {
    let own = fine.iter().enumerate().filter(|(place, _)| parts.get(*place) != Some(&Part::Template));
    own.map(|(_, fine)| u64::from(fine.length_bytes)).sum()
}

/// The bytes of a chunk in runs of rows that are there.
pub(super) fn covered(fine: &[FineChunk], parts: &[Part], is_there: impl Fn(usize) -> bool) -> CoveredBytes {
    let mut in_run = vec![false; fine.len()];
    for row in (0..(fine.len() + 1).saturating_sub(ROW)).filter(|row| is_there(*row)) {
        in_run[row..row + ROW].fill(true);
    }
    let (mut all, mut certain, mut start) = (0, 0, 0);
    for run in in_run.chunk_by(|a, b| a == b) {
        let end = start + run.len();
        let bytes: u64 = fine[start..end].iter().map(|fine| u64::from(fine.length_bytes)).sum();
        if run[0] && bytes >= RUN_BYTES_MIN {
            let own = own_bytes(&fine[start..end], parts.get(start..end).unwrap_or_default());
            let ends = u64::from(start > 0) + u64::from(end < fine.len());
            all += if own > 0 { own + BYTES_AT_END * ends } else { 0 };
            certain += if run.len() >= CERTAIN_RUN { own } else { 0 };
        }
        start = end;
    }
    let all = all.min(own_bytes(fine, parts));
    CoveredBytes { all, uncertain: all.saturating_sub(certain) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cognate_fingerprint::SplitMix64;

    use super::*;

    fn fine(lengths: &[u8]) -> Vec<FineChunk> {
        (0..).zip(lengths).map(|(tag, length_bytes)| FineChunk { tag, length_bytes: *length_bytes }).collect()
    }

    fn bytes(covered: CoveredBytes) -> (u64, u64) {
        (covered.all, covered.uncertain)
    }

    #[test]
    fn rows_are_found_where_they_were_marked_and_nowhere_else() {
        let mut random = SplitMix64::new(7);
        let mut chunk = |count: usize| -> Vec<FineChunk> {
            // Few fine chunks, so that rows repeat.
            let mut one = || FineChunk { tag: (random.next() % 3) as u8, length_bytes: 1 + (random.next() % 3) as u8 };
            (0..count).map(|_| one()).collect()
        };
        let samples: Vec<Vec<FineChunk>> = (0..20).map(|_| chunk(12)).collect();
        let at_places: Vec<Vec<FineChunk>> = (0..70).map(|_| chunk(30)).collect();
        let sampled = SampledRows::of(samples.iter().flat_map(|chunk| rows_of(chunk)).collect(), at_places.len());
        for (place, chunk) in (0..).zip(&at_places) {
            rows_of(chunk).for_each(|row| sampled.mark(row, &[place]));
        }
        let triples = |chunk: &[FineChunk]| chunk.windows(3).map(<[FineChunk]>::to_vec).collect::<Vec<_>>();
        let mut found_count = 0;
        for (place, there) in at_places.iter().enumerate() {
            let there: BTreeSet<Vec<FineChunk>> = triples(there).into_iter().collect();
            for sample in &samples {
                let found = sampled.found_in(sample);
                assert_eq!(found.len(), 10);
                for (number, triple) in found.into_iter().zip(triples(sample)) {
                    assert_eq!(sampled.is_at(number, place), there.contains(&triple), "{place}");
                    found_count += usize::from(there.contains(&triple));
                }
            }
        }
        assert!(found_count > 100 && found_count < 70 * 20 * 10 / 2, "{found_count}");
        assert!(SampledRows::of(Vec::new(), 3).number(5).is_none());
    }

    #[test]
    fn runs_of_rows_count_with_a_few_bytes_at_each_end() {
        let chunk = fine(&[7; 12]);
        assert_eq!(bytes(covered(&chunk, &[], |_| true)), (84, 0), "all of it, and nothing beyond");
        // One row in the middle, and two that follow each other without a row between.
        assert_eq!(bytes(covered(&chunk, &[], |row| row == 4)), (0, 0), "21 bytes");
        assert_eq!(bytes(covered(&chunk, &[], |row| row == 4 || row == 7)), (42 + 8, 8));
        assert_eq!(bytes(covered(&chunk, &[], |row| row == 0 || row == 1)), (28 + 4, 32), "four are not certain");
        assert_eq!(bytes(covered(&fine(&[7, 7, 8, 9]), &[], |row| row == 0)), (22 + 4, 26));
        assert_eq!(bytes(covered(&fine(&[7, 7]), &[], |_| true)), (0, 0), "no row");
    }

    #[test]
    fn bytes_of_templates_do_not_count() {
        let chunk = fine(&[7; 6]);
        let parts = [Part::Own, Part::Own, Part::Own, Part::Own, Part::Frame, Part::Template];
        assert_eq!(own_bytes(&chunk, &parts), 35);
        assert_eq!(bytes(covered(&chunk, &parts, |_| true)), (35, 0));
        assert_eq!(bytes(covered(&chunk, &[Part::Template; 6], |row| row < 2)), (0, 0));
    }
}
