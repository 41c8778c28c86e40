//! The outcome of reading a document.

use cognate_fingerprint::{Chunk, Content};
use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use cognate_view::Candidate;
use smallvec::SmallVec;

use crate::records::cache::known::StoredPart;
use crate::records::file_hashes::FileHashes;
use crate::records::lists::Location;
use crate::records::stamp::Stamp;

/// The outcome of reading a document.
#[expect(clippy::large_enum_variant, reason = "most documents are read, and their outcome goes to another thread")]
pub(crate) enum ReadOutcome {
    Fingerprinted(Fingerprinted),
    /// The document could not be read.
    Failed(DocumentState),
    /// The document is larger than the selection allows.
    NotSelected,
}

/// A document that was read.
pub(crate) struct Fingerprinted {
    pub(crate) own: PartOutcome,
    /// The documents inside of it, under a text view, with their full paths.
    pub(crate) inside: Vec<(DocumentPath, PartOutcome)>,
    /// The list file that holds the long lists of this document, and nothing else.
    pub(crate) spool_file: Option<u64>,
    pub(crate) stamp: Stamp,
    pub(crate) class: FileClass,
    /// The guess by its first bytes if its text speaks for the file.
    pub(crate) candidate: Candidate,
    /// Some of its pages are pictures, or all of it is one: the outcome depends on the recognition of text.
    pub(crate) has_pictures: bool,
    /// The digest of its bytes, if a text view needed it.
    pub(crate) bytes_digest: Option<[u8; 16]>,
    /// The hashes of its bytes that this site stores.
    pub(crate) hashes: FileHashes,
    /// The document changed during every read.
    pub(crate) changing: bool,
    /// The next read would have the same outcome as long as the stamp is the same. Only such a document is remembered.
    pub(crate) settled: bool,
    /// Number of bytes that were read, repeated reads included.
    pub(crate) read_bytes: u64,
}

impl Fingerprinted {
    /// True if its bytes wait to be fingerprinted.
    pub(crate) fn is_waiting(&self) -> bool {
        self.own.state == DocumentState::Read && self.own.content.is_none()
    }
}

/// The outcome for a document, or for one inside of it.
pub(crate) struct PartOutcome {
    pub(crate) state: DocumentState,
    pub(crate) content: Option<(Content, Chunks)>,
    pub(crate) message_id_hash: Option<[u8; 16]>,
}

impl PartOutcome {
    /// That of a document whose bytes wait to be fingerprinted.
    pub(crate) fn waiting() -> PartOutcome {
        PartOutcome { state: DocumentState::Read, content: None, message_id_hash: None }
    }

    pub(crate) fn read(content: Content, chunks: Chunks) -> PartOutcome {
        PartOutcome { state: DocumentState::Read, content: Some((content, chunks)), message_id_hash: None }
    }
}

impl From<StoredPart> for PartOutcome {
    fn from(part: StoredPart) -> PartOutcome {
        let content = part.list.map(|(content, location)| (content, Chunks::Stored(location)));
        PartOutcome { state: part.state, content, message_id_hash: part.message_id_hash }
    }
}

/// A list of chunks in memory, with room for those of most documents in itself. Otherwise readers would ask for memory that the collector
/// gives back, and wait for each other.
pub(crate) type HeldChunks = SmallVec<[Chunk; 8]>;

/// The list of chunks of a content.
#[expect(clippy::large_enum_variant, reason = "most documents have a short list")]
pub(crate) enum Chunks {
    /// A short list, in memory.
    Held(HeldChunks),
    /// A list in a list file.
    Stored(Location),
}
