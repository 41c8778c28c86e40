//! Rows, each once: a table that is used again for one content or kind after the other, in place of sorting their rows.

use std::hash::{BuildHasher as _, RandomState};

use super::{FrameRow, ROW_BITS};
use crate::present::{hash, highest};

/// The last turn before the table is emptied: a slot has no more bits for it.
const TURN_MAX: u64 = u64::MAX >> ROW_BITS;
/// The least number of slots.
const SLOTS_MIN: usize = 1 << 10;

/// Rows that were taken since the last [`begin`](DistinctRows::begin), each once, in the order in which they first came. A site may
/// send any rows, so the hash depends on a number that nobody knows beforehand, and no result depends on it.
#[derive(Debug)]
pub struct DistinctRows {
    multiplier: u64,
    /// By the hash of the row: the row, and above it the turn in which it was taken. In an earlier turn's slot is no row.
    slots: Vec<u64>,
    /// 1 or more, so that an empty slot belongs to an earlier turn.
    turn: u64,
    rows: Vec<FrameRow>,
}

impl Default for DistinctRows {
    fn default() -> DistinctRows {
        let multiplier = RandomState::new().hash_one(0_u8) | 1;
        DistinctRows { multiplier, slots: vec![0; SLOTS_MIN], turn: 1, rows: Vec::new() }
    }
}

impl DistinctRows {
    /// Forgets all rows.
    pub fn begin(&mut self) {
        self.rows.clear();
        self.turn += 1;
        if self.turn > TURN_MAX {
            self.slots.fill(0);
            self.turn = 1;
        }
    }

    /// Takes a row, unless it is there.
    pub fn add(&mut self, row: FrameRow) {
        if self.put(row) {
            self.rows.push(row);
            // A quarter of the slots or more stay free.
            if self.rows.len() > self.slots.len() / 4 * 3 {
                self.grow();
            }
        }
    }

    /// The rows, each once.
    pub fn rows(&self) -> &[FrameRow] {
        &self.rows
    }

    /// False if the row is there.
    fn put(&mut self, row: FrameRow) -> bool {
        let last = self.slots.len() - 1;
        let taken = self.turn << ROW_BITS | row.0;
        let mut number = highest(hash(row.0, self.multiplier), self.slots.len().trailing_zeros());
        while self.slots[number] >> ROW_BITS == self.turn {
            if self.slots[number] == taken {
                return false;
            }
            number = (number + 1) & last;
        }
        self.slots[number] = taken;
        true
    }

    fn grow(&mut self) {
        let slots = self.slots.len() * 2;
        // The old table goes first: with a large one, both would take as much memory as the rows of a document.
        drop(std::mem::take(&mut self.slots));
        self.slots = vec![0; slots];
        for place in 0..self.rows.len() {
            self.put(self.rows[place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_there_once_whatever_came_in_turns_before(
            turns in prop::collection::vec(prop::collection::vec(0..4000_u64, 0..3000), 1..5),
            is_late in any::<bool>(),
        ) {
            let mut distinct = DistinctRows::default();
            if is_late {
                // The table is emptied in between.
                distinct.turn = TURN_MAX - 1;
            }
            for numbers in turns {
                distinct.begin();
                let mut expected: Vec<FrameRow> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                for number in numbers {
                    let row = FrameRow(number.wrapping_mul(0x1234_5678_9abd) & super::super::ROW_MASK);
                    distinct.add(row);
                    expected.extend(seen.insert(row).then_some(row));
                }
                prop_assert_eq!(distinct.rows(), expected);
            }
        }
    }
}
