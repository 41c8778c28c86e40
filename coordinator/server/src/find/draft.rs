//! The matches of a document by whole chunks, before sites are asked.

use std::cmp::Ordering;

use cognate_desk::find::{Found, Match};
use cognate_similarity::fine::ChunkCount;

/// Matches of a document that are measured by fine chunks: the strongest by whole chunks.
pub(super) const CANDIDATES_MAX: usize = 32;

/// A content below the thresholds, of which more may be found.
pub(super) struct Proposal {
    /// The bytes that it has in common with the document: by whole chunks, or by the window samples of both if that is more.
    pub(super) in_common_bytes: u64,
    pub(super) one: Match,
}

/// The matches of a document by whole chunks.
pub(super) struct Draft {
    /// The matches, the strongest first.
    pub(super) found: Found,
    /// Contents below the thresholds, the strongest first.
    pub(super) below: Vec<Proposal>,
    /// The bytes of the document that count.
    pub(super) payload_bytes: u64,
    /// The chunks of the document that count.
    pub(super) chunks: Vec<ChunkCount>,
}

impl Proposal {
    /// The strongest first.
    pub(super) fn order(a: &Proposal, b: &Proposal) -> Ordering {
        b.in_common_bytes.cmp(&a.in_common_bytes).then_with(|| Match::order(&a.one, &b.one))
    }
}
