//! The values of the cache: what this site remembers of a document, of the parts inside it, and of a repository.

use cognate_fingerprint::{Content, MethodId};
use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use cognate_view::Candidate;

use crate::records::file_hashes::FileHashes;
use crate::records::lists::Location;
use crate::records::stamp::Stamp;

/// A remembered document: everything that is known of one path.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KnownDocument {
    pub(crate) stamp: Stamp,
    pub(crate) class: FileClass,
    /// The guess by its first bytes if its text speaks for the file.
    pub(crate) candidate: Candidate,
    /// The digest of the bytes, if a text view needed it: extracted text is stored under it.
    pub(crate) bytes_digest: Option<[u8; 16]>,
    /// The hashes of the bytes that this site stores.
    pub(crate) hashes: FileHashes,
    /// The result of each method that has read the document.
    pub(crate) results: Vec<MethodResult>,
}

impl KnownDocument {
    /// The result of one method.
    pub(crate) fn result(&self, method_id: MethodId) -> Option<&MethodResult> {
        self.results.iter().find(|result| result.method_id == method_id)
    }
}

/// The result of one method for one document.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MethodResult {
    pub(crate) method_id: MethodId,
    /// The result for the document itself.
    pub(crate) own: StoredPart,
    /// Number of documents inside this one, which have rows of their own.
    pub(crate) inside: u32,
    /// The recognition of text on which the result depends; `None`: it depends on none.
    pub(crate) recognition: Option<u64>,
}

/// The stored result for a document, or for one inside of a document.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StoredPart {
    pub(crate) state: DocumentState,
    /// The content and the place of its list of chunks.
    pub(crate) list: Option<(Content, Location)>,
    pub(crate) message_id_hash: Option<[u8; 16]>,
}

/// The outcome of the last sync of a complete repository.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct LastSync {
    /// Number of documents in the index.
    pub(crate) documents: u64,
    /// Number of files that the walk reported, including unreadable ones; 0: unknown.
    pub(crate) files: u64,
    /// The end of the sync in seconds since 1970.
    pub(crate) seconds: i64,
    /// Device and inode of the root.
    pub(crate) root: (u64, u64),
}

/// A path to remember or to forget.
pub(crate) struct Change {
    pub(crate) path: DocumentPath,
    /// The new value; `None`: forget the path.
    pub(crate) known: Option<KnownDocument>,
    /// The documents inside of it, under the method that has just read it.
    pub(crate) inside: Option<(MethodId, Vec<(DocumentPath, StoredPart)>)>,
}

impl Change {
    /// Forgets a document.
    pub(crate) fn forget(path: DocumentPath) -> Change {
        Change { path, known: None, inside: None }
    }
}

/// The new place of a list.
pub(crate) enum ListMove {
    /// The list stays where it is.
    Stays,
    To(Location),
    /// The list cannot be read any more.
    Gone,
}
