//! A signature: what a document becomes under a method, as the weighted features that it may share with others.

use std::cmp::Reverse;

use crate::chunk::{ContentDigest, Tag};
use crate::key::{Key, first_16};

/// What two documents share when they share it.
///
/// The features that a method samples (`mod`, `min`, `bsw`, `shingle`) carry their rank in the last byte of their tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Feature {
    /// The keyed hash of the feature.
    pub tag: Tag,
    /// How much it counts: the bytes of a chunk, else 1.
    pub weight: u32,
}

impl Feature {
    /// How rare a sampled feature is: one in `2^rank` is of this rank or a higher one.
    pub fn rank(&self) -> u8 {
        self.tag.0[15]
    }

    /// The order in which `min` keeps the smallest: the rarest first, then by the hash. It is as good as random, the same
    /// at every site that has the key, and can be read off the features alone.
    pub fn order(&self) -> (Reverse<u8>, Tag) {
        (Reverse(self.rank()), self.tag)
    }
}

/// What a document became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// How many bytes were read.
    pub size_bytes: u64,
    /// The digest of the list of chunks, or of the bytes where the method does not cut.
    pub digest: ContentDigest,
    /// Of how many windows, shingles, words or chunks the features are a sample, repeats counted.
    pub windows: u64,
    /// The features: chunks in their order, with repeats; else each once, in ascending order.
    pub features: Vec<Feature>,
    /// The Similarity Index, for the method that makes no features.
    pub index: Option<i128>,
    /// Why there is nothing, where there is nothing.
    pub shortage: Option<Shortage>,
}

/// A document is too short for its method: it has no features, and that is no fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too short: {found} of the {needed} {unit} that the method needs")]
pub struct Shortage {
    /// How many there are.
    pub found: u64,
    /// How many there must be.
    pub needed: u64,
    /// Of what.
    pub unit: &'static str,
}

/// A document that a method cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unfit {
    /// A method of words met bytes that no text has.
    #[error(
        "not text: byte {offset} is zero; methods that read words need text (or the view `text`), others read any bytes"
    )]
    Binary {
        /// Where the byte is.
        offset: u64,
    },
    /// A method that needs the whole document at once met one that is too large.
    #[error("larger than {limit_bytes} bytes, the most that this method reads")]
    TooLarge {
        /// The most that it reads.
        limit_bytes: u64,
    },
}

impl From<Unfit> for std::io::Error {
    fn from(unfit: Unfit) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::InvalidData, unfit)
    }
}

/// Makes the tags of features.
#[derive(Clone)]
pub(crate) struct Tagger {
    tag_key: [u8; 32],
}

impl Tagger {
    pub(crate) fn new(key: &Key) -> Tagger {
        Tagger { tag_key: key.derive("cognate tag v1") }
    }

    pub(crate) fn tag(&self, bytes: &[u8]) -> Tag {
        Tag(first_16(blake3::keyed_hash(&self.tag_key, bytes)))
    }

    /// A feature of weight 1 whose canonical bytes are `bytes`.
    pub(crate) fn feature(&self, bytes: &[u8]) -> Feature {
        Feature { tag: self.tag(bytes), weight: 1 }
    }

    /// The feature of a sampled value: the hash of its eight bytes, and its rank, the number of zeros it begins with.
    pub(crate) fn sampled(&self, value: u64) -> Feature {
        let mut feature = self.feature(&value.to_le_bytes());
        feature.tag.0[15] = rank(value);
        feature
    }
}

/// The number of zero bits that a value begins with.
pub(crate) fn rank(value: u64) -> u8 {
    u8::try_from(value.leading_zeros()).expect("at most 64")
}
