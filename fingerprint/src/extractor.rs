//! The interface of the algorithms that make features from the bytes of a document.

use crate::signature::{Feature, Shortage, UnsupportedDocument};

/// Makes the features of one document after the other.
pub(crate) trait Extractor: Send {
    /// Takes the next bytes of the document.
    fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument>;

    /// Ends the document, or gives it up, and returns what was extracted. The extractor is ready for another document.
    fn finish(&mut self) -> Extracted;
}

/// The features of a document.
pub(crate) struct Extracted {
    /// The number of windows, shingles or words in the document, repeats counted.
    pub(crate) windows: u64,
    /// The features, each once and in ascending order.
    pub(crate) features: Vec<Feature>,
    /// The Similarity Index, if the algorithm makes one.
    pub(crate) index: Option<i128>,
    /// The reason why there are no features, if the document is too short.
    pub(crate) shortage: Option<Shortage>,
}
