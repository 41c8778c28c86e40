//! Index digests: a worker and a coordinator with equal digests have the same index.
//!
//! A digest is an incremental multiset hash: the sum, modulo 2^256, of a hash of every row. Adding and removing a row
//! cost one hash each, whatever the size of the index, and the order of rows does not matter. It protects against loss
//! and mistakes, not against a malicious worker, which could send any index.

use std::fmt;
use std::sync::LazyLock;

use cognate_fingerprint::{ContentDigest, ManyHasher};

use crate::batch::DocumentRow;

/// Makes the row hashes. Their key is no secret, it only separates them from other hashes.
static ROWS: LazyLock<ManyHasher> =
    LazyLock::new(|| ManyHasher::keyed(blake3::derive_key("cognate index root v1", &[])));

/// The rows whose hashes are made side by side.
const ROWS_SIDE_BY_SIDE: usize = 64;

/// The multiset hash of the rows of an index.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexDigest([u64; 4]);

/// The hash of one row; a digest is the sum of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowHash([u64; 4]);

/// A digest to which many rows are added: their hashes are made side by side.
#[derive(Clone, Default, Debug)]
pub struct RowSum {
    digest: IndexDigest,
    /// The rows that are not in the digest yet, one after the other.
    rows: Vec<u8>,
    /// The end of each.
    ends: Vec<usize>,
}

impl IndexDigest {
    /// Adds a row.
    pub fn add(&mut self, row: RowHash) {
        let mut carry = false;
        for (sum, word) in self.0.iter_mut().zip(row.0) {
            let (partial, over) = sum.overflowing_add(word);
            let (total, over_again) = partial.overflowing_add(u64::from(carry));
            (*sum, carry) = (total, over || over_again);
        }
    }

    /// Removes a row that was added earlier.
    pub fn remove(&mut self, row: RowHash) {
        let mut borrow = false;
        for (sum, word) in self.0.iter_mut().zip(row.0) {
            let (partial, under) = sum.overflowing_sub(word);
            let (total, under_again) = partial.overflowing_sub(u64::from(borrow));
            (*sum, borrow) = (total, under || under_again);
        }
    }

    /// The digest as it is sent and stored.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads the bytes of [`IndexDigest::to_bytes`]; `None` unless there are 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<IndexDigest> {
        <[u8; 32]>::try_from(bytes).ok().map(|bytes| IndexDigest(words(bytes)))
    }
}

impl RowHash {
    /// The hash of a document's row.
    pub fn of_document(row: &DocumentRow) -> RowHash {
        let mut bytes = Vec::new();
        put_document(row, &mut bytes);
        RowHash::of(&bytes)
    }

    /// The hash of a content's row, with the digest of its sample.
    pub fn of_content(digest: ContentDigest, size_bytes: u64, chunk_count: u64, sample_digest: u64) -> RowHash {
        let mut bytes = Vec::new();
        put_content((digest, size_bytes, chunk_count, sample_digest), &mut bytes);
        RowHash::of(&bytes)
    }

    fn of(bytes: &[u8]) -> RowHash {
        RowHash(words(ROWS.hash_each(&[bytes])[0]))
    }
}

impl From<IndexDigest> for RowSum {
    fn from(digest: IndexDigest) -> RowSum {
        RowSum { digest, ..RowSum::default() }
    }
}

impl RowSum {
    /// The digest of all rows so far.
    pub fn digest(&self) -> IndexDigest {
        let mut digest = self.digest;
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let rows: Vec<&[u8]> = starts.zip(&self.ends).map(|(start, end)| &self.rows[start..*end]).collect();
        ROWS.hash_each(&rows).into_iter().for_each(|hash| digest.add(RowHash(words(hash))));
        digest
    }

    /// Adds the row of a document, as [`RowHash::of_document`] has it.
    pub fn add_document(&mut self, row: &DocumentRow) {
        put_document(row, &mut self.rows);
        self.end_row();
    }

    /// Adds the row of a content, as [`RowHash::of_content`] has it.
    pub fn add_content(&mut self, digest: ContentDigest, size_bytes: u64, chunk_count: u64, sample_digest: u64) {
        put_content((digest, size_bytes, chunk_count, sample_digest), &mut self.rows);
        self.end_row();
    }

    /// Removes a row that was added earlier.
    pub fn remove(&mut self, row: RowHash) {
        self.digest.remove(row);
    }

    fn end_row(&mut self) {
        self.ends.push(self.rows.len());
        if self.ends.len() == ROWS_SIDE_BY_SIDE {
            self.digest = self.digest();
            self.rows.clear();
            self.ends.clear();
        }
    }
}

/// Appends the row of a document.
fn put_document(row: &DocumentRow, bytes: &mut Vec<u8>) {
    bytes.push(b'D');
    bytes.extend_from_slice(&(row.state as i32).to_le_bytes());
    bytes.extend_from_slice(&row.content.map_or([0; 16], |digest| digest.0));
    bytes.extend_from_slice(&row.modified.to_le_bytes());
    bytes.extend_from_slice(row.path.as_bytes());
    // No path has a byte of 0, so that path and hash cannot be confused.
    if let Some(hash) = &row.message_id_hash {
        bytes.push(0);
        bytes.extend_from_slice(hash);
    }
}

/// Appends the row of a content.
fn put_content((digest, size_bytes, chunk_count, sample_digest): (ContentDigest, u64, u64, u64), bytes: &mut Vec<u8>) {
    bytes.push(b'C');
    bytes.extend_from_slice(&digest.0);
    [size_bytes, chunk_count, sample_digest].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
}

fn words(bytes: [u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    words
}

impl fmt::Debug for IndexDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexDigest(")?;
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::batch::DocumentState;
    use crate::path::DocumentPath;

    proptest! {
        #[test]
        fn the_hash_of_a_document_is_that_of_its_fields_one_after_the_other(
            length in prop_oneof![1..40_usize, 1000..1100_usize],
            message in any::<Option<[u8; 16]>>(),
            content in any::<Option<[u8; 16]>>(),
            modified in any::<i64>(),
        ) {
            let path = DocumentPath::new(&vec![b'p'; length]).unwrap();
            let content = content.map(ContentDigest);
            let row = DocumentRow { path, state: DocumentState::Changing, content, modified, message_id_hash: message };
            let mut bytes = vec![b'D'];
            bytes.extend((row.state as i32).to_le_bytes());
            bytes.extend(content.map_or([0; 16], |digest| digest.0));
            bytes.extend(modified.to_le_bytes());
            bytes.extend(row.path.as_bytes());
            bytes.extend(message.iter().flat_map(|hash| [&[0], &hash[..]].concat()));
            let key = blake3::derive_key("cognate index root v1", &[]);
            prop_assert_eq!(RowHash::of_document(&row), RowHash(words(blake3::keyed_hash(&key, &bytes).into())));
        }

        #[test]
        fn a_sum_of_any_rows_is_that_of_their_hashes(
            rows in proptest::collection::vec((any::<bool>(), any::<u64>(), 1..300_usize), 0..200),
            removed in any::<prop::sample::Index>(),
        ) {
            let document = |length: usize| DocumentRow { path: DocumentPath::new(&vec![b'p'; length]).unwrap(), ..row() };
            let (mut sum, mut digest) = (RowSum::from(IndexDigest([5; 4])), IndexDigest([5; 4]));
            let mut hashes = Vec::new();
            for (is_document, number, length) in rows {
                if is_document {
                    sum.add_document(&document(length));
                    hashes.push(RowHash::of_document(&document(length)));
                } else {
                    sum.add_content(ContentDigest([1; 16]), number, 1, 2);
                    hashes.push(RowHash::of_content(ContentDigest([1; 16]), number, 1, 2));
                }
            }
            hashes.iter().for_each(|hash| digest.add(*hash));
            prop_assert_eq!(sum.digest(), digest);
            if !hashes.is_empty() {
                let hash = hashes[removed.index(hashes.len())];
                sum.remove(hash);
                digest.remove(hash);
            }
            prop_assert_eq!(sum.digest(), digest);
        }

        #[test]
        fn order_does_not_matter_and_removing_undoes_adding(rows in proptest::collection::vec(any::<[u64; 4]>(), 0..9)) {
            let mut forwards = IndexDigest::default();
            rows.iter().for_each(|row| forwards.add(RowHash(*row)));
            let mut backwards = IndexDigest::default();
            rows.iter().rev().for_each(|row| backwards.add(RowHash(*row)));
            prop_assert_eq!(forwards, backwards);
            rows.iter().for_each(|row| forwards.remove(RowHash(*row)));
            prop_assert_eq!(forwards, IndexDigest::default());
            prop_assert_eq!(IndexDigest::from_bytes(&backwards.to_bytes()), Some(backwards));
        }
    }

    #[test]
    fn the_hash_of_a_content_depends_on_each_of_its_fields() {
        let of = RowHash::of_content;
        let digest = ContentDigest([1; 16]);
        let row = of(digest, 10, 1, 5);
        assert_ne!(row, of(digest, 11, 1, 5));
        assert_ne!(row, of(digest, 10, 2, 5));
        assert_ne!(row, of(digest, 10, 1, 6));
        assert_ne!(row, of(ContentDigest([2; 16]), 10, 1, 5));
    }

    fn row() -> DocumentRow {
        DocumentRow {
            path: DocumentPath::new(b"a/b").unwrap(),
            state: DocumentState::Read,
            content: Some(ContentDigest([1; 16])),
            modified: 7,
            message_id_hash: None,
        }
    }

    #[test]
    fn the_hash_of_a_document_depends_on_each_of_its_fields() {
        let rows = [
            row(),
            DocumentRow { path: DocumentPath::new(b"a/c").unwrap(), ..row() },
            DocumentRow { state: DocumentState::Changing, ..row() },
            DocumentRow { content: Some(ContentDigest([2; 16])), ..row() },
            DocumentRow { content: None, ..row() },
            DocumentRow { modified: 8, ..row() },
            DocumentRow { message_id_hash: Some([0; 16]), ..row() },
            DocumentRow { message_id_hash: Some([1; 16]), ..row() },
        ];
        let hashes = rows.each_ref().map(RowHash::of_document);
        for (a, x) in hashes.iter().enumerate() {
            for (b, y) in hashes.iter().enumerate() {
                assert_eq!(x == y, a == b, "{a} {b}");
            }
        }
    }

    #[test]
    fn sums_carry_and_borrow_through_all_words() {
        let most = RowHash([u64::MAX; 4]);
        let one = RowHash([1, 0, 0, 0]);
        let mut digest = IndexDigest::default();
        digest.add(most);
        digest.add(one);
        assert_eq!(digest, IndexDigest::default());
        digest.remove(one);
        assert_eq!(digest.to_bytes(), [255; 32]);
        digest.remove(most);
        assert_eq!(digest, IndexDigest::default());
    }

    #[test]
    fn only_thirty_two_bytes_are_a_digest() {
        for length in [0, 31, 33] {
            assert_eq!(IndexDigest::from_bytes(&vec![0; length]), None);
        }
        assert_eq!(IndexDigest::from_bytes(&[0; 32]), Some(IndexDigest::default()));
    }
}
