//! The rows of two contents that both may have, and a table of their places.
//!
//! Most rows of unlike contents are in one of the two alone. [`Present`] tells that of nearly all of them, so that only the others go
//! into tables.

use std::hash::{BuildHasher as _, RandomState};

use super::{NO_ROW, PARTNERS_MAX};
use crate::present::{Present, bits_for, hash};

/// Bits for each row of a content, as a power of two: those of a large one still fit a near cache.
const PRESENT_BITS: u32 = 3;

/// The places of rows that both contents may have, in either content. A site may send any rows, so the hash depends on a
/// number that nobody knows beforehand, and no result depends on the hash.
#[derive(Debug)]
pub(super) struct CommonRows {
    multiplier: u64,
    present: Present,
    /// Per side, the places of rows that the other one may have, ascending.
    places: [Vec<u32>; 2],
    table: RowTable,
}

/// The first places of each row of one side. A row that is there once takes one look at the memory, which is what a look costs where
/// contents are large.
#[derive(Debug, Default)]
struct RowTable {
    /// By the hash of the row; where rows have one hash, the later ones are in the next free slots.
    slots: Vec<Slot>,
    /// The places of rows that occur more than once, after the first.
    later: Vec<LaterPlaces>,
}

/// A row with its first place; [`NO_ROW`] in a free slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    row: u64,
    place: u32,
    /// The number of its later places, counted from 1; 0: there are none.
    later: u32,
}

/// The places of a row after the first.
#[derive(Debug, Default)]
struct LaterPlaces {
    count: u32,
    places: [u32; PARTNERS_MAX - 1],
}

impl Default for CommonRows {
    fn default() -> CommonRows {
        CommonRows {
            multiplier: RandomState::new().hash_one(0_u8) | 1,
            present: Present::default(),
            places: Default::default(),
            table: RowTable::default(),
        }
    }
}

/// A place among the rows of a content.
fn as_number(place: usize) -> u32 {
    u32::try_from(place).expect("a content has fewer than 2^32 fine chunks")
}

impl CommonRows {
    /// Finds the rows that both may have.
    pub(super) fn find(&mut self, a: &[u64], b: &[u64]) {
        let CommonRows { multiplier, present, places, .. } = self;
        let find = |rows: &[u64], places: &mut Vec<u32>, present: &Present| {
            places.clear();
            places.resize(rows.len(), 0);
            let mut count = 0;
            // Which rows may be common is hard to foresee, so that a branch would cost more than a write.
            for (place, row) in rows.iter().enumerate() {
                places[count] = as_number(place);
                count += usize::from(present.may_have(*row, *multiplier) & (*row != NO_ROW));
            }
            places.truncate(count);
        };
        let [of_a, of_b] = places;
        present.fill(b.iter().copied(), *multiplier, PRESENT_BITS);
        find(a, of_a, present);
        present.fill(of_a.iter().map(|place| a[*place as usize]), *multiplier, PRESENT_BITS);
        find(b, of_b, present);
    }

    /// The places of a side's rows that the other one may have, ascending.
    pub(super) fn of_side(&self, side: usize) -> &[u32] {
        &self.places[side]
    }

    /// Makes the table of a side, whose rows are these.
    pub(super) fn fill(&mut self, side: usize, rows: &[u64]) {
        let CommonRows { multiplier, places, table, .. } = self;
        table.fill(places[side].iter().map(|place| (*place, rows[*place as usize])), *multiplier);
    }

    /// The first places of a row on the side with the table, ascending: at most [`PARTNERS_MAX`].
    pub(super) fn places(&self, row: u64) -> impl Iterator<Item = usize> {
        self.table.places(row, self.multiplier)
    }
}

impl RowTable {
    /// Takes rows by their places, which ascend.
    fn fill(&mut self, places: impl ExactSizeIterator<Item = (u32, u64)>, multiplier: u64) {
        self.later.clear();
        self.slots.clear();
        // A quarter of the slots or more stay free.
        self.slots.resize(1 << bits_for(places.len() + places.len() / 3 + 1), Slot::default());
        for (place, row) in places {
            let number = self.number(row, multiplier);
            let slot = &mut self.slots[number];
            if slot.row == NO_ROW {
                *slot = Slot { row, place, later: 0 };
                continue;
            }
            if slot.later == 0 {
                self.later.push(LaterPlaces::default());
                slot.later = as_number(self.later.len());
            }
            let later = &mut self.later[slot.later as usize - 1];
            if let Some(free) = later.places.get_mut(later.count as usize) {
                *free = place;
                later.count += 1;
            }
        }
    }

    /// The number of the slot that has a row, or that is free for it.
    fn number(&self, row: u64, multiplier: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut number = hash(row, multiplier, self.slots.len().trailing_zeros());
        while self.slots[number].row != row && self.slots[number].row != NO_ROW {
            number = (number + 1) & last;
        }
        number
    }

    fn places(&self, row: u64, multiplier: u64) -> impl Iterator<Item = usize> {
        let slot = self.slots[self.number(row, multiplier)];
        let first = (slot.row == row).then_some(slot.place);
        let later = slot.later.checked_sub(1).map(|number| &self.later[number as usize]);
        let later = later.map_or(&[][..], |later| &later.places[..later.count as usize]);
        first.into_iter().chain(later.iter().copied()).map(|place| place as usize)
    }
}
