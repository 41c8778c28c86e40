//! The matches of a document by whole chunks, before sites are asked.

use cognate_desk::find::{Found, Match};
use cognate_similarity::fine::ChunkCount;

/// Matches of a document that are measured by fine chunks: the strongest by whole chunks.
pub(super) const CANDIDATES_MAX: usize = 32;

/// The matches of a document by whole chunks.
pub(super) struct Draft {
    /// The matches, the strongest first.
    pub(super) found: Found,
    /// Contents below the thresholds, the strongest first.
    pub(super) below: Vec<Match>,
    /// The bytes of the document that count.
    pub(super) payload_bytes: u64,
    /// The chunks of the document that count.
    pub(super) chunks: Vec<ChunkCount>,
}
