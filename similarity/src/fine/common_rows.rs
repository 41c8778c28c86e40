//! The rows of two contents that both may have, and a table of their places.
//!
//! Most rows of unlike contents are in one of the two alone. A bit for each hash of a row tells that of nearly all of them, in a few
//! kilobytes, so that only the others go into tables.

use std::hash::{BuildHasher as _, RandomState};

use super::NO_ROW;

/// The places of rows that both contents may have, in either content. A site may send any rows, so the hash depends on a
/// number that nobody knows beforehand, and no result depends on the hash.
#[derive(Debug)]
pub(super) struct CommonRows {
    multiplier: u64,
    present: Present,
    /// Per side, the places of rows that the other one may have, ascending.
    places: [Vec<u32>; 2],
    /// Per hash, the first of the places.
    first: Vec<u32>,
    /// Per place, the next with the same hash.
    next: Vec<u32>,
    bits: u32,
}

/// A bit for each hash of some rows.
#[derive(Debug, Default)]
struct Present {
    bits: u32,
    words: Vec<u64>,
}

/// Bits for each row, as a power of two: one in eight rows passes by chance, or fewer.
const PRESENT_BITS: u32 = 3;
/// No place.
const NOWHERE: u32 = u32::MAX;

impl Default for CommonRows {
    fn default() -> CommonRows {
        CommonRows {
            multiplier: RandomState::new().hash_one(0_u8) | 1,
            present: Present::default(),
            places: Default::default(),
            first: Vec::new(),
            next: Vec::new(),
            bits: 1,
        }
    }
}

/// The hash of a row: it has this many bits.
fn hash(row: u64, multiplier: u64, bits: u32) -> usize {
    usize::try_from(row.wrapping_mul(multiplier) >> (64 - bits)).expect("a hash has few bits")
}

/// A place among the rows of a content.
fn as_number(place: usize) -> u32 {
    u32::try_from(place).expect("a content has fewer than 2^32 fine chunks")
}

/// The bits of a hash for so many rows.
fn bits_for(rows: usize) -> u32 {
    rows.next_power_of_two().trailing_zeros().max(1)
}

impl Present {
    fn fill(&mut self, rows: impl ExactSizeIterator<Item = u64>, multiplier: u64) {
        self.bits = bits_for(rows.len()) + PRESENT_BITS;
        self.words.clear();
        self.words.resize((1 << self.bits) / 64 + 1, 0);
        for row in rows {
            let bit = hash(row, multiplier, self.bits);
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    fn may_have(&self, row: u64, multiplier: u64) -> bool {
        let bit = hash(row, multiplier, self.bits);
        self.words[bit / 64] >> (bit % 64) & 1 == 1
    }
}

impl CommonRows {
    /// Finds the rows that both may have.
    pub(super) fn find(&mut self, a: &[u64], b: &[u64]) {
        let CommonRows { multiplier, present, places, .. } = self;
        let find = |rows: &[u64], places: &mut Vec<u32>, present: &Present| {
            let may_be_common = |row: u64| present.may_have(row, *multiplier) && row != NO_ROW;
            let found = rows.iter().enumerate().filter(|(_, row)| may_be_common(**row));
            places.clear();
            places.extend(found.map(|(place, _)| as_number(place)));
        };
        let [of_a, of_b] = places;
        present.fill(b.iter().copied(), *multiplier);
        find(a, of_a, present);
        present.fill(of_a.iter().map(|place| a[*place as usize]), *multiplier);
        find(b, of_b, present);
    }

    /// The places of a side's rows that the other one may have, ascending.
    pub(super) fn of_side(&self, side: usize) -> &[u32] {
        &self.places[side]
    }

    /// Makes the table of a side, whose rows are these.
    pub(super) fn fill(&mut self, side: usize, rows: &[u64]) {
        let places = &self.places[side];
        self.bits = bits_for(places.len());
        self.first.clear();
        self.first.resize(1 << self.bits, NOWHERE);
        self.next.clear();
        self.next.resize(places.len(), NOWHERE);
        for (number, place) in places.iter().enumerate().rev() {
            let first = &mut self.first[hash(rows[*place as usize], self.multiplier, self.bits)];
            self.next[number] = std::mem::replace(first, as_number(number));
        }
    }

    /// The places of the side with the table whose rows have the hash of this one, ascending.
    pub(super) fn places(&self, side: usize, row: u64) -> impl Iterator<Item = usize> {
        let known = |number: u32| (number != NOWHERE).then_some(number);
        let first = known(self.first[hash(row, self.multiplier, self.bits)]);
        let numbers = std::iter::successors(first, move |last| known(self.next[*last as usize]));
        numbers.map(move |number| self.places[side][number as usize] as usize)
    }
}
