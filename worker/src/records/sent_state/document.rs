//! The row of a document as it was sent.

use cognate_fingerprint::ContentDigest;
use cognate_proto::batch::{DocumentRow, DocumentState};
use cognate_proto::path::DocumentPath;

/// A document's row without its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentDocument {
    pub(crate) state: DocumentState,
    pub(crate) content: Option<ContentDigest>,
    pub(crate) modified: i64,
    pub(crate) message_id_hash: Option<[u8; 16]>,
}

impl SentDocument {
    pub(crate) fn with_path(self, path: DocumentPath) -> DocumentRow {
        DocumentRow {
            path,
            state: self.state,
            content: self.content,
            modified: self.modified,
            message_id_hash: self.message_id_hash,
        }
    }
}

impl From<&DocumentRow> for SentDocument {
    fn from(row: &DocumentRow) -> SentDocument {
        SentDocument {
            state: row.state,
            content: row.content,
            modified: row.modified,
            message_id_hash: row.message_id_hash,
        }
    }
}
