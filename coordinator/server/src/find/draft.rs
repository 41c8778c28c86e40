//! The matches of a document by whole chunks and window samples, before sites are asked.

use std::cmp::{Ordering, Reverse};

use cognate_desk::find::{Found, Match};
use cognate_similarity::fine::ChunkCount;

/// Matches of a document that are measured by fine chunks.
pub(super) const CANDIDATES_MAX: usize = 32;

/// Two measures of how much a content may have in common with a document, before it is measured by fine chunks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Strength {
    /// Bytes: by whole chunks, or by the window samples of both if that is more.
    pub(super) in_common_bytes: u64,
    /// The sum of the weights of the sample values in common. A value weighs the more, the fewer contents of the index have it. A sibling of a
    /// document in a crowd has much of it, and nothing rare; a document that has one passage of it has little, and that is rare.
    pub(super) rarity: u64,
}

/// A content that may have something in common with a document.
pub(super) struct Proposal {
    pub(super) strength: Strength,
    pub(super) one: Match,
}

/// The matches of a document before it is measured.
pub(super) struct Draft {
    /// The matches.
    pub(super) found: Found,
    /// Of each match, what it may have in common.
    pub(super) strengths: Vec<Strength>,
    /// Contents below the thresholds, of which more may be found.
    pub(super) below: Vec<Proposal>,
    /// The bytes of the document that count.
    pub(super) payload_bytes: u64,
    /// The chunks of the document that count.
    pub(super) chunks: Vec<ChunkCount>,
}

impl Proposal {
    /// Those with the most in common first.
    pub(super) fn by_bytes(a: &Proposal, b: &Proposal) -> Ordering {
        let key = |proposal: &Proposal| Reverse(proposal.strength.in_common_bytes);
        key(a).cmp(&key(b)).then_with(|| Match::order(&a.one, &b.one))
    }

    /// Those with the rarest in common first.
    pub(super) fn by_rarity(a: &Proposal, b: &Proposal) -> Ordering {
        b.strength.rarity.cmp(&a.strength.rarity).then_with(|| Proposal::by_bytes(a, b))
    }

    /// In the order of answers.
    pub(super) fn by_match(a: &Proposal, b: &Proposal) -> Ordering {
        Match::order(&a.one, &b.one)
    }
}
