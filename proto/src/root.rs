//! The root of an index: one number by which a worker and a coordinator see that they hold the same documents.
//!
//! It is an incremental multiset hash: the sum, modulo 2^256, of a hash of every row. Adding and removing a row cost one
//! hash each, whatever the index holds, and the order in which rows came does not matter. It guards against loss and
//! mistakes, not against the worker itself, which could send anything it likes anyway.

use std::fmt;
use std::sync::LazyLock;

use cognate_fingerprint::ContentDigest;

use crate::batch::DocumentRow;

/// The key of the row hashes: nobody's secret, only a purpose of its own.
static ROW_KEY: LazyLock<[u8; 32]> = LazyLock::new(|| blake3::derive_key("cognate index root v1", &[]));

/// The sum over the rows of an index.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Root([u64; 4]);

/// The hash of one row: what a root is a sum of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowHash([u64; 4]);

impl Root {
    /// Takes a row in.
    pub fn add(&mut self, row: RowHash) {
        let mut carry = false;
        for (sum, word) in self.0.iter_mut().zip(row.0) {
            let (partial, over) = sum.overflowing_add(word);
            let (total, over_again) = partial.overflowing_add(u64::from(carry));
            (*sum, carry) = (total, over || over_again);
        }
    }

    /// Takes a row out that was taken in before.
    pub fn remove(&mut self, row: RowHash) {
        let mut borrow = false;
        for (sum, word) in self.0.iter_mut().zip(row.0) {
            let (partial, under) = sum.overflowing_sub(word);
            let (total, under_again) = partial.overflowing_sub(u64::from(borrow));
            (*sum, borrow) = (total, under || under_again);
        }
    }

    /// The 32 bytes that are sent and stored.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads what [`Root::to_bytes`] wrote; `None` unless there are 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Root> {
        <[u8; 32]>::try_from(bytes).ok().map(|bytes| Root(words(bytes)))
    }
}

impl RowHash {
    /// The hash of a document's row.
    pub fn of_document(row: &DocumentRow) -> RowHash {
        let mut bytes = Vec::with_capacity(row.path.as_bytes().len() + 64);
        bytes.push(b'D');
        bytes.extend_from_slice(&(row.state as i32).to_le_bytes());
        bytes.extend_from_slice(&row.content.map_or([0; 16], |digest| digest.0));
        bytes.extend_from_slice(&row.modified.to_le_bytes());
        bytes.extend_from_slice(row.path.as_bytes());
        if let Some(hash) = row.message_id_hash {
            // No path has a byte of 0: nothing else looks like this.
            bytes.push(0);
            bytes.extend_from_slice(&hash);
        }
        RowHash::of(&bytes)
    }

    /// The hash of a content's row.
    pub fn of_content(digest: ContentDigest, size_bytes: u64, chunk_count: u64) -> RowHash {
        let mut bytes = [b'C'; 33];
        bytes[1..17].copy_from_slice(&digest.0);
        bytes[17..25].copy_from_slice(&size_bytes.to_le_bytes());
        bytes[25..].copy_from_slice(&chunk_count.to_le_bytes());
        RowHash::of(&bytes)
    }

    fn of(bytes: &[u8]) -> RowHash {
        RowHash(words(*blake3::keyed_hash(&ROW_KEY, bytes).as_bytes()))
    }
}

fn words(bytes: [u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    words
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root(")?;
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn order_does_not_matter_and_removing_undoes_adding(rows in proptest::collection::vec(any::<[u64; 4]>(), 0..9)) {
            let mut forwards = Root::default();
            rows.iter().for_each(|row| forwards.add(RowHash(*row)));
            let mut backwards = Root::default();
            rows.iter().rev().for_each(|row| backwards.add(RowHash(*row)));
            prop_assert_eq!(forwards, backwards);
            rows.iter().for_each(|row| forwards.remove(RowHash(*row)));
            prop_assert_eq!(forwards, Root::default());
            prop_assert_eq!(Root::from_bytes(&backwards.to_bytes()), Some(backwards));
        }
    }

    #[test]
    fn a_content_counts_by_all_it_says() {
        let of = RowHash::of_content;
        let digest = ContentDigest([1; 16]);
        assert_ne!(of(digest, 10, 1), of(digest, 11, 1));
        assert_ne!(of(digest, 10, 1), of(digest, 10, 2));
        assert_ne!(of(digest, 10, 1), of(ContentDigest([2; 16]), 10, 1));
    }
}
