//! The rows of two contents that both may have, and a table of their places.
//!
//! Most rows of unlike contents are in one of the two alone. [`Present`] tells that of nearly all of them, so that only the others go
//! into tables. Here a row is the 32 bits of its hash: tables of the rows of large contents would be too far from the processor.
//! Callers compare the fine chunks of a row with those at the places that they get.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use cognate_fingerprint::FineChunk;

use super::{FINE_BITS, ROW};
use crate::present::{Present, bits_for, hash, highest};

/// Bits for each row of a content, as a power of two: those of a large one still fit a near cache.
const PRESENT_BITS: u32 = 3;
/// A row that crosses the end of a chunk: it is equal to no other.
pub(super) const NO_ROW: RowHash = RowHash(0);

/// The hash of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowHash(u32);

/// The places of rows that both contents may have, in either content.
#[derive(Debug, Default)]
pub(super) struct CommonRows {
    present: Present,
    /// Per side, the places of rows that the other one may have, ascending.
    places: [Vec<u32>; 2],
    table: RowTable,
}

/// The places of the rows of one side, in lists by the highest bits of their hashes. The rows of a list are next to each other, so that
/// a look-up of a row with many places waits for the memory once.
#[derive(Debug, Default)]
struct RowTable {
    bits: u32,
    /// The start of each list in `rows`; at the end, the number of all rows.
    starts: Vec<u32>,
    /// The rows of all lists with their places, which ascend in each.
    rows: Vec<(RowHash, u32)>,
}

impl RowHash {
    /// The hash as one of 64 bits.
    fn wide(self) -> u64 {
        u64::from(self.0) << 32
    }
}

/// Appends the hashes of the rows of a chunk, one for each of its fine chunks: that of the row which begins there. Hashes of one
/// process alone can be compared: a site may send any rows, so the hash depends on a number that nobody knows beforehand, and no
/// result depends on the hash.
pub fn hash_rows(fine: &[FineChunk], rows: &mut Vec<RowHash>) {
    hash_rows_of(ROW, fine, rows);
}

/// The same for rows of another number of fine chunks.
pub(super) fn hash_rows_of(row_length: usize, fine: &[FineChunk], rows: &mut Vec<RowHash>) {
    static MULTIPLIER: OnceLock<u64> = OnceLock::new();
    let multiplier = *MULTIPLIER.get_or_init(|| RandomState::new().hash_one(0_u8) | 1);
    let code = |fine: &FineChunk| u64::from(fine.tag) << 4 | u64::from(fine.length_bytes.wrapping_sub(1) & 0xf);
    let end = rows.len() + fine.len();
    let mask = u64::MAX >> (u64::BITS as usize - FINE_BITS as usize * row_length);
    let (before, rest) = fine.split_at(fine.len().min(row_length - 1));
    let mut row = before.iter().fold(0, |row, fine| row << FINE_BITS | code(fine));
    rows.extend(rest.iter().map(|fine| {
        row = row << FINE_BITS | code(fine);
        let highest = u32::try_from(hash(row & mask, multiplier) >> 32).expect("32 bits are left");
        // Two rows may have one hash, but no row has that of none.
        RowHash(highest.max(1))
    }));
    rows.resize(end, NO_ROW);
}

/// A place among the rows of a content.
fn as_number(place: usize) -> u32 {
    u32::try_from(place).expect("a content has fewer than 2^32 fine chunks")
}

impl CommonRows {
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

    /// Makes the table of a side, which has these rows.
    pub(super) fn fill(&mut self, side: usize, rows: &[RowHash]) {
        self.table.fill(&self.places[side], rows);
    }

    /// The places of rows with this hash on the side with the table, ascending.
    pub(super) fn places(&self, row: RowHash) -> impl Iterator<Item = usize> {
        self.table.places(row)
    }
}

impl RowTable {
    /// Takes the rows at some places, which ascend.
    fn fill(&mut self, places: &[u32], rows: &[RowHash]) {
        self.bits = bits_for(places.len() + places.len() / 3 + 1);
        let list = |place: u32| highest(rows[place as usize].wide(), self.bits);
        self.starts.clear();
        self.starts.resize((1 << self.bits) + 1, 0);
        places.iter().for_each(|place| self.starts[list(*place)] += 1);
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.rows.clear();
        self.rows.resize(places.len(), (NO_ROW, 0));
        // From the end of each list on: what its start counts down to.
        for place in places.iter().rev() {
            let start = &mut self.starts[list(*place)];
            *start -= 1;
            self.rows[*start as usize] = (rows[*place as usize], *place);
        }
    }

    fn places(&self, row: RowHash) -> impl Iterator<Item = usize> {
        let list = highest(row.wide(), self.bits);
        let rows = &self.rows[self.starts[list] as usize..self.starts[list + 1] as usize];
        rows.iter().filter(move |(there, _)| *there == row).map(|(_, place)| *place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_a_hash_are_those_of_its_rows_in_order_whatever_else_is_in_its_list() {
        // Hashes that begin alike are in one list.
        let hashes = [5, 6, u32::MAX, 5, 1, u32::MAX - 1].map(RowHash);
        let rows: Vec<RowHash> = (0..600).map(|place| hashes[place % hashes.len()]).collect();
        let taken: Vec<u32> = (0..600).filter(|place| place % 7 != 0).collect();
        let mut common = CommonRows { places: [Vec::new(), taken.clone()], ..CommonRows::default() };
        common.fill(1, &rows);
        for hash in hashes.into_iter().chain([RowHash(7)]) {
            let found: Vec<usize> = common.places(hash).collect();
            let is_it = |place: &usize| rows[*place] == hash;
            let expected: Vec<usize> = taken.iter().map(|place| *place as usize).filter(is_it).collect();
            assert_eq!(found, expected, "{hash:?}");
        }
    }

    #[test]
    fn equal_rows_have_equal_hashes_and_what_is_cut_off_at_the_end_is_no_row() {
        let fine = |numbers: &[u8]| -> Vec<FineChunk> {
            numbers.iter().map(|number| FineChunk { tag: *number, length_bytes: 1 + number % 16 }).collect()
        };
        let mut rows = vec![RowHash(9)];
        for numbers in [&[1, 2, 3, 1, 2, 3, 4][..], &[], &[1], &[1, 2], &[1, 2, 3]] {
            hash_rows(&fine(numbers), &mut rows);
        }
        let is_row: Vec<bool> = rows[1..].iter().map(|row| *row != NO_ROW).collect();
        let expected = [5, 2, 0, 1, 0, 2, 1, 2]
            .chunks(2)
            .flat_map(|counts| [vec![true; counts[0]], vec![false; counts[1]]].concat());
        assert_eq!(is_row, expected.collect::<Vec<_>>());
        assert!(rows[1] == rows[4] && rows[1] == rows[11] && rows[1] != rows[2] && rows[2] != rows[5]);
    }
}
