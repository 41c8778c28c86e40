//! Postings: each records that a chunk occurs in a content. An analysis starts from them alone.

use cognate_fingerprint::Tag;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Dense number of a content inside one analysis.
///
/// Contents are numbered by ascending content digest, so the order of these numbers is the order of digests. Ties
/// are broken by them ("the smaller digest"), so the engine needs no digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct ContentIndex(pub u32);

impl ContentIndex {
    /// The place of this content in arrays that have one element per content.
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// One occurrence of a chunk in a content; a chunk that occurs k times in a content is k postings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posting {
    /// The keyed hash of the chunk.
    pub tag: Tag,
    /// The chunk's length. A tag with two lengths counts as two chunks.
    pub length_bytes: u32,
    /// True if the chunk is declared boilerplate; such a chunk makes no link.
    pub template: bool,
    /// The content in which it occurs.
    pub content: ContentIndex,
}
