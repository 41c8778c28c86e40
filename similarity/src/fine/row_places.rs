//! A table of the places at which each row of a content begins.

use std::hash::{BuildHasher as _, RandomState};

use super::NO_ROW;

/// The places of the rows of a content: chained, ascending, by a hash of the row. A site may send any rows, so the hash depends on a
/// number that nobody knows beforehand, and no result depends on the hash.
#[derive(Debug)]
pub(super) struct RowPlaces {
    multiplier: u64,
    bits: u32,
    /// Per longer hash, a bit if there is a place: most rows of unlike contents are found to have none in a few kilobytes.
    present: Vec<u64>,
    /// Per hash, the first place.
    first: Vec<u32>,
    /// Per place, the next with the same hash.
    next: Vec<u32>,
}

/// Bits by which the hash for `present` is longer: one row in sixteen or fewer passes by chance.
const PRESENT_BITS: u32 = 3;
/// No place.
const NOWHERE: u32 = u32::MAX;

impl Default for RowPlaces {
    fn default() -> RowPlaces {
        let multiplier = RandomState::new().hash_one(0_u8) | 1;
        RowPlaces { multiplier, bits: 1, present: Vec::new(), first: Vec::new(), next: Vec::new() }
    }
}

impl RowPlaces {
    pub(super) fn fill(&mut self, rows: &[u64]) {
        self.bits = rows.len().next_power_of_two().trailing_zeros().max(1);
        self.present.clear();
        self.present.resize((1 << (self.bits + PRESENT_BITS)) / 64 + 1, 0);
        self.first.clear();
        self.first.resize(1 << self.bits, NOWHERE);
        self.next.clear();
        self.next.resize(rows.len(), NOWHERE);
        for (place, row) in rows.iter().enumerate().rev().filter(|(_, row)| **row != NO_ROW) {
            let bit = self.hash(*row, self.bits + PRESENT_BITS);
            self.present[bit / 64] |= 1 << (bit % 64);
            let hash = self.hash(*row, self.bits);
            let number = u32::try_from(place).expect("a content has fewer than 2^32 fine chunks");
            self.next[place] = std::mem::replace(&mut self.first[hash], number);
        }
    }

    fn hash(&self, row: u64, bits: u32) -> usize {
        usize::try_from(row.wrapping_mul(self.multiplier) >> (64 - bits)).expect("a hash has few bits")
    }

    /// The places of rows with the hash of this one, ascending.
    pub(super) fn of(&self, row: u64) -> impl Iterator<Item = usize> {
        let place = |place: u32| (place != NOWHERE).then_some(place as usize);
        let bit = self.hash(row, self.bits + PRESENT_BITS);
        let is_present = self.present[bit / 64] >> (bit % 64) & 1 == 1;
        let first = if is_present { place(self.first[self.hash(row, self.bits)]) } else { None };
        std::iter::successors(first, move |last| place(self.next[*last]))
    }
}
