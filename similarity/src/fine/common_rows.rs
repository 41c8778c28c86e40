//! The rows of two contents that both may have, and a table of their places.
//!
//! Most rows of unlike contents are in one of the two alone. [`Present`] tells that of nearly all of them, so that only the others go
//! into tables. Here a row is the 32 bits of its hash: of large contents, tables of rows would be too far from the processor. Where two
//! hashes are equal, the fine chunks of the rows are compared.

use std::hash::{BuildHasher as _, RandomState};

use cognate_fingerprint::FineChunk;

use super::{PARTNERS_MAX, ROW};
use crate::present::{Present, bits_for, hash, highest};

/// Bits for each row of a content, as a power of two: those of a large one still fit a near cache.
const PRESENT_BITS: u32 = 3;
/// A row that crosses the end of a chunk: it is equal to no other.
pub(super) const NO_ROW: RowHash = RowHash(0);
/// In the place of the next one: there is none.
const NO_PLACE: u32 = u32::MAX;

/// The hash of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RowHash(u32);

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

/// The places of each row of one side. A row that is there once takes one look at the memory, which is what a look costs where
/// contents are large.
#[derive(Debug, Default)]
struct RowTable {
    /// By the hash of the row; where several rows belong into one slot, the later ones are in the next free slots.
    slots: Vec<Slot>,
    /// Per place, the next place of the same row.
    next: Vec<u32>,
}

/// A row with its first place; [`NO_ROW`] in a free slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    row: RowHash,
    place: u32,
}

impl RowHash {
    /// The hash as one of 64 bits.
    fn wide(self) -> u64 {
        u64::from(self.0) << 32
    }
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

/// The fine chunks of the row at a place.
fn row_at(fine: &[FineChunk], place: usize) -> Option<&[FineChunk]> {
    fine.get(place..place + ROW)
}

impl CommonRows {
    /// The hash of a row.
    pub(super) fn hash(&self, row: u64) -> RowHash {
        let highest = u32::try_from(hash(row, self.multiplier) >> 32).expect("32 bits are left");
        // Two rows may have one hash, but no row has that of none.
        RowHash(highest.max(1))
    }

    /// Finds the rows that both may have.
    pub(super) fn find(&mut self, a: &[RowHash], b: &[RowHash]) {
        let CommonRows { present, places, .. } = self;
        let find = |rows: &[RowHash], places: &mut Vec<u32>, present: &Present| {
            places.clear();
            places.resize(rows.len(), 0);
            let mut count = 0;
            // Which rows may be common is hard to foresee, so that a branch would cost more than a write.
            for (place, row) in rows.iter().enumerate() {
                places[count] = as_number(place);
                count += usize::from(present.may_have(row.wide()) & (*row != NO_ROW));
            }
            places.truncate(count);
        };
        let [of_a, of_b] = places;
        present.fill(b.iter().map(|row| row.wide()), PRESENT_BITS);
        find(a, of_a, present);
        present.fill(of_a.iter().map(|place| a[*place as usize].wide()), PRESENT_BITS);
        find(b, of_b, present);
    }

    /// The places of a side's rows that the other one may have, ascending.
    pub(super) fn of_side(&self, side: usize) -> &[u32] {
        &self.places[side]
    }

    /// Makes the table of a side, which has these rows and fine chunks.
    pub(super) fn fill(&mut self, side: usize, rows: &[RowHash], fine: &[FineChunk]) {
        self.table.fill(&self.places[side], rows, fine);
    }

    /// The first places of a row on the side with the table, ascending: at most [`PARTNERS_MAX`]. `row` is the hash of the first
    /// fine chunks of `own`, and `other` are the fine chunks of that side.
    pub(super) fn places(&self, row: RowHash, own: &[FineChunk], other: &[FineChunk]) -> impl Iterator<Item = usize> {
        self.table.places(row, own, other).take(PARTNERS_MAX)
    }
}

impl RowTable {
    /// Takes the rows at some places, which ascend.
    fn fill(&mut self, places: &[u32], rows: &[RowHash], fine: &[FineChunk]) {
        self.slots.clear();
        // A quarter of the slots or more stay free.
        self.slots.resize(1 << bits_for(places.len() + places.len() / 3 + 1), Slot::default());
        self.next.resize(self.next.len().max(rows.len()), NO_PLACE);
        // The last one first, so that the first one of a row is found first.
        for place in places.iter().rev() {
            let row = rows[*place as usize];
            let number = self.number(row, &fine[*place as usize..], fine);
            let slot = &mut self.slots[number];
            self.next[*place as usize] = if slot.row == NO_ROW { NO_PLACE } else { slot.place };
            *slot = Slot { row, place: *place };
        }
    }

    /// The number of the slot that has a row, or that is free for it. `own` begins with its fine chunks, and `other` are those of
    /// the side with the table.
    fn number(&self, row: RowHash, own: &[FineChunk], other: &[FineChunk]) -> usize {
        let last = self.slots.len() - 1;
        let mut number = highest(row.wide(), self.slots.len().trailing_zeros());
        loop {
            let slot = self.slots[number];
            let is_same = || row_at(own, 0) == row_at(other, slot.place as usize);
            if slot.row == NO_ROW || (slot.row == row && is_same()) {
                return number;
            }
            number = (number + 1) & last;
        }
    }

    fn places(&self, row: RowHash, own: &[FineChunk], other: &[FineChunk]) -> impl Iterator<Item = usize> {
        let slot = self.slots[self.number(row, own, other)];
        let first = if slot.row == NO_ROW { NO_PLACE } else { slot.place };
        let is_there = |place: &u32| *place != NO_PLACE;
        let following = move |place: &u32| Some(self.next[*place as usize]).filter(is_there);
        std::iter::successors(Some(first).filter(is_there), following).map(|place| place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_hash_are_told_apart_by_their_fine_chunks_and_each_has_its_first_places_in_order() {
        let row = |tag: u8| [FineChunk { tag, length_bytes: 7 }; ROW];
        // Three rows take turns, and all of them have one of two hashes.
        let fine: Vec<FineChunk> = (0..60).flat_map(|number| row(number % 3)).collect();
        let places: Vec<u32> = (0..60).map(|number| 3 * number).collect();
        for hashes in [[5, 5, 5], [5, u32::MAX, 5], [1, 1, u32::MAX]] {
            let rows: Vec<RowHash> = (0..fine.len()).map(|place| RowHash(hashes[place / 3 % 3])).collect();
            let mut common = CommonRows { places: [Vec::new(), places.clone()], ..CommonRows::default() };
            common.fill(1, &rows, &fine);
            for (number, hash) in (0..3).zip(hashes) {
                let found: Vec<usize> = common.places(RowHash(hash), &row(number), &fine).collect();
                let expected: Vec<usize> = (0..8).map(|turn| 9 * turn + 3 * usize::from(number)).collect();
                assert_eq!(found, expected, "{hashes:?}");
            }
            assert_eq!(
                common.places(RowHash(5), &row(9), &fine).count(),
                0,
                "a row that is not there, of a known hash"
            );
        }
    }
}
