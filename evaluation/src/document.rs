//! A document of an experiment.

/// A document in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Document {
    /// Its path below the corpus.
    pub(crate) path: String,
    /// Its bytes, or its text.
    pub(crate) bytes: Vec<u8>,
}

/// The number of bytes in all documents together.
pub(crate) fn total_bytes(documents: &[Document]) -> usize {
    documents.iter().map(|document| document.bytes.len()).sum()
}
