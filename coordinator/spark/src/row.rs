//! A row of the exchange, and the sum by which both ends see that they have the same rows.
//!
//! The sum adds up Spark's `xxhash64` of every row, computed here and there independently: a row that is lost, doubled or changed changes it.

use std::ops::AddAssign;

use cognate_fingerprint::Tag;
use twox_hash::XxHash64;

/// The columns, in the order in which they are hashed.
pub(crate) const COLUMNS: [&str; 6] = ["tag_high", "tag_low", "content", "length", "occurrences", "flags"];
/// Set of a row whose chunk is declared boilerplate.
pub(crate) const TEMPLATE: i32 = 1;
/// Set of a row whose content is held by several groups; above [`TEMPLATE`], so that the largest flags of a tag show it.
pub(crate) const SEVERAL: i32 = 2;
/// Spark's seed.
const SEED: u64 = 42;

/// The occurrences of a chunk in a content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) tag: Tag,
    pub(crate) content: i32,
    pub(crate) length: i32,
    pub(crate) occurrences: i32,
    pub(crate) flags: i32,
}

impl Row {
    /// The halves of the tag.
    pub(crate) fn halves(&self) -> (i64, i64) {
        let half = |at: usize| i64::from_be_bytes(self.tag.0[at..at + 8].try_into().expect("a half has 8 bytes"));
        (half(0), half(8))
    }

    /// The tag of two halves.
    pub(crate) fn tag_of(high: i64, low: i64) -> Tag {
        let mut tag = [0; 16];
        tag[..8].copy_from_slice(&high.to_be_bytes());
        tag[8..].copy_from_slice(&low.to_be_bytes());
        Tag(tag)
    }

    /// What Spark's `xxhash64(tag_high, tag_low, content, length, occurrences, flags)` is: each column is hashed with the hash of those
    /// before it as the seed.
    pub(crate) fn hash(&self) -> i64 {
        let (high, low) = self.halves();
        let hash = XxHash64::oneshot(SEED, &high.to_le_bytes());
        let hash = XxHash64::oneshot(hash, &low.to_le_bytes());
        let words = [self.content, self.length, self.occurrences, self.flags];
        words.iter().fold(hash, |hash, word| XxHash64::oneshot(hash, &word.to_le_bytes())).cast_signed()
    }
}

/// The number of some rows, and the sum of their hashes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Sum {
    pub(crate) rows: u64,
    pub(crate) hashes: i128,
}

impl Sum {
    pub(crate) fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.hashes += i128::from(row.hash());
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Sum) {
        self.rows += other.rows;
        self.hashes += other.hashes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_hashed_as_spark_hashes_it() {
        // SELECT xxhash64(-1L, 7L, 3, 1000, 1, 2), xxhash64(0L, 0L, 0, 0, 0, 0) of Spark 4.0.1 and of Sail 0.7.2.
        let row = Row { tag: Row::tag_of(-1, 7), content: 3, length: 1000, occurrences: 1, flags: SEVERAL };
        let none = Row { tag: Row::tag_of(0, 0), content: 0, length: 0, occurrences: 0, flags: 0 };
        assert_eq!([row.hash(), none.hash()], [-3_917_172_457_802_740_128, 8_392_210_428_002_020_729]);
    }

    #[test]
    fn a_tag_comes_back_from_its_halves() {
        let tag = Tag(*b"0123456789abcdef");
        let (high, low) = Row { tag, content: 0, length: 0, occurrences: 0, flags: 0 }.halves();
        assert_eq!(Row::tag_of(high, low), tag);
    }

    #[test]
    fn one_bit_of_any_column_changes_the_sum() {
        let row = Row { tag: Row::tag_of(1, 2), content: 3, length: 4, occurrences: 5, flags: 0 };
        let changed = [
            Row { tag: Row::tag_of(0, 2), ..row },
            Row { tag: Row::tag_of(1, 3), ..row },
            Row { content: 2, ..row },
            Row { length: 5, ..row },
            Row { occurrences: 4, ..row },
            Row { flags: TEMPLATE, ..row },
        ];
        assert!(changed.iter().all(|changed| changed.hash() != row.hash()));
    }
}
