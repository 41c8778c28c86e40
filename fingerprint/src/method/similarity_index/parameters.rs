//! The parameters of `similarity-index`.

use crate::method::similarity_index::formula::Formula;

/// The parameters of `similarity-index`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimilarityIndex {
    /// The way in which the number is made.
    pub formula: Formula,
    /// The length of a k-gram in elements, 1 to 4096.
    pub k: u32,
    /// The window of winnowing in k-grams, 1 to 65,536.
    pub w: u32,
    /// The number of lowest or highest hashes in the signature, 1 to 65,536.
    pub sample: u32,
    /// The number of most frequent words in the signature, 1 to 65,536.
    pub words: u32,
    /// The seed of the random third.
    pub seed: u32,
    /// True if hashes are signed, as in Java; false if their bits are read as unsigned numbers.
    pub signed: bool,
}

impl SimilarityIndex {
    /// The number that a hash is read as.
    pub(super) fn number(&self, hash: i32) -> i64 {
        if self.signed { hash.into() } else { hash.cast_unsigned().into() }
    }
}
