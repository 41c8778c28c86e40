//! What the readers hand to the collector: each document with its outcome.

use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;

use crate::documents::outcome::Fingerprinted;
use crate::records::cache::known::{KnownDocument, MethodResult};

/// A document with the outcome of its reader.
pub(super) struct Outcome {
    pub(super) path: DocumentPath,
    pub(super) result: DocumentResult,
}

impl Outcome {
    /// The number of documents inside that it has in memory.
    pub(super) fn inside(&self) -> usize {
        match &self.result {
            DocumentResult::Read(done, _) => done.inside.len(),
            _ => 0,
        }
    }
}

/// The outcome of a reader for one document.
#[expect(
    clippy::large_enum_variant,
    reason = "most documents are read, and memory would be given back by another thread"
)]
pub(super) enum DocumentResult {
    /// The stored result is used.
    Unchanged(Box<StoredDocument>),
    /// The document was read. Results of other methods for the same stamp come with it.
    Read(Fingerprinted, Option<Box<KnownDocument>>),
    /// The document cannot be read.
    Failed(DocumentState),
    /// The document is larger than the selection allows.
    NotSelected,
    /// The document is not what a refinement chose.
    Outdated,
}

/// A stored result. The documents inside are in the cache.
pub(super) struct StoredDocument {
    pub(super) known: KnownDocument,
    pub(super) result: MethodResult,
    /// The bytes of the paths of the documents inside.
    pub(super) inside_path_bytes: u64,
}
