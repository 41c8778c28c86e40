//! A signature: the weighted features of a document under a method. Documents are compared by their signatures.

use std::cmp::Reverse;

use crate::chunk::{ContentDigest, Tag};
use crate::key::{Key, first_16};

/// A part of a document that other documents may have too.
///
/// The features that a method samples (`mod`, `min`, `bsw`, `shingle`) carry their rank in the last byte of their tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Feature {
    /// The keyed hash of the feature.
    pub tag: Tag,
    /// The bytes of a chunk, else 1.
    pub weight: u32,
}

impl Feature {
    /// The rank of a sampled feature, 0 to 64: one feature in `2^rank` has this rank or a higher one.
    pub fn rank(&self) -> u8 {
        self.tag.0[15]
    }

    /// The order by which `min` keeps the smallest: the rarest first, then by the hash. It is as good as random, it is the
    /// same at every site that has the key, and it follows from the features alone.
    pub fn order(&self) -> (Reverse<u8>, Tag) {
        (Reverse(self.rank()), self.tag)
    }
}

/// The signature of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The number of bytes that were read.
    pub size_bytes: u64,
    /// The digest of the list of chunks, or of the bytes where the method does not cut.
    pub digest: ContentDigest,
    /// The number of windows, shingles, words or chunks in the document, repeats counted; the features are a sample of
    /// them.
    pub windows: u64,
    /// The features. Chunks are in the order of the document, with repeats; others are ascending, each once.
    pub features: Vec<Feature>,
    /// The Similarity Index, for the method that makes one in place of features.
    pub index: Option<i128>,
    /// The reason why there are no features, if the document is too short.
    pub shortage: Option<Shortage>,
}

/// The document is too short for the method. It has no features, and that is not an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too short: {found} of the {needed} {unit} that the method needs")]
pub struct Shortage {
    /// The number of units in the document.
    pub found: u64,
    /// The number of units that the method needs.
    pub needed: u64,
    /// The unit: bytes, words, letters or lines.
    pub unit: &'static str,
}

/// The reason why a method does not support a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnsupportedDocument {
    /// The method reads words, and the document has a byte that no text has.
    #[error(
        "not text: byte {offset} is zero; methods that read words need text (or the view `text`), others read any bytes"
    )]
    Binary {
        /// The offset of the byte in the document.
        offset: u64,
    },
    /// The method keeps what it reads, and the document is too large for that.
    #[error("larger than {limit_bytes} bytes, the most that this method reads")]
    TooLarge {
        /// The size of the largest document that the method reads.
        limit_bytes: u64,
    },
}

impl From<UnsupportedDocument> for std::io::Error {
    fn from(unsupported: UnsupportedDocument) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::InvalidData, unsupported)
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

    /// The feature of a sampled value: the hash of its eight bytes, with its rank in the last byte.
    pub(crate) fn sampled(&self, value: u64) -> Feature {
        let mut feature = self.feature(&value.to_le_bytes());
        feature.tag.0[15] = rank(value);
        feature
    }
}

/// The rank of a value: the number of its leading zero bits.
pub(crate) fn rank(value: u64) -> u8 {
    u8::try_from(value.leading_zeros()).expect("at most 64")
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_by_rank_and_then_by_tag(values in proptest::collection::vec(any::<u64>(), 0..40)) {
            let tagger = Tagger::new(&Key::none());
            let mut features: Vec<Feature> = values.iter().map(|value| tagger.sampled(value >> (value % 64))).collect();
            features.sort_by_key(Feature::order);
            let is_ordered = |a: &Feature, b: &Feature| a.rank() > b.rank() || a.rank() == b.rank() && a.tag <= b.tag;
            prop_assert!(features.is_sorted_by(is_ordered));
        }

        #[test]
        fn a_sampled_feature_is_the_hash_of_its_value_and_holds_its_rank(value: u64, key: [u8; 32]) {
            let tagger = Tagger::new(&Key::parse(&key).unwrap());
            let (feature, plain) = (tagger.sampled(value), tagger.feature(&value.to_le_bytes()));
            prop_assert_eq!(feature.tag.0[..15].to_vec(), plain.tag.0[..15].to_vec());
            prop_assert_eq!(u32::from(feature.rank()), value.leading_zeros());
            prop_assert_eq!((feature.weight, plain.weight), (1, 1));
        }
    }

    #[test]
    fn an_unsupported_document_is_found_again_in_the_error_of_a_reader() {
        for unsupported in [UnsupportedDocument::Binary { offset: 7 }, UnsupportedDocument::TooLarge { limit_bytes: 9 }]
        {
            let error = std::io::Error::from(unsupported);
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert_eq!(error.get_ref().and_then(|inner| inner.downcast_ref()), Some(&unsupported));
        }
        let shortage = Shortage { found: 3, needed: 50, unit: "words" };
        assert_eq!(shortage.to_string(), "too short: 3 of the 50 words that the method needs");
    }
}
