//! A chunk: its offset, its length, and the tag of its bytes; and the result of a document: the digest of its list of chunks, and its
//! sample.

use crate::hex::identity;
use crate::window_sample::WindowSample;

identity! {
    /// The keyed hash of a chunk. Two documents share a chunk if they have a tag in common.
    ///
    /// The first 16 bytes of keyed BLAKE3 over the chunk's bytes, under a key that is derived from the federation key.
    /// Among 10^10 different chunks, two meet by chance with a probability of about 1.5 · 10^-19.
    Tag
}

identity! {
    /// The keyed hash of a content's list of tags and lengths, or of its bytes where the method does not cut: the same for
    /// all documents with the same bytes.
    ContentDigest
}

/// One run of bytes that the content itself delimits. The chunks of a document tile it without gap or overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// The start of the chunk, in bytes from the start of the document.
    pub offset: u64,
    /// Its length: 1 to `chunk_bytes_max` of its method.
    pub length_bytes: u32,
    /// The keyed hash of its bytes.
    pub tag: Tag,
    /// True if all its bytes are equal (so also at a length of 1): the built-in template, which carries no evidence. The
    /// flag is here because a tag does not show it.
    pub repeated_byte: bool,
}

/// The result of reading a document to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    /// The number of bytes that were read.
    pub size_bytes: u64,
    /// The number of chunks. With a method that cuts it is 0 only for an empty document.
    pub chunk_count: u64,
    /// The digest of the list of tags and lengths, or of the bytes where the method does not cut.
    pub digest: ContentDigest,
    /// The sample; empty where the method has no fine chunks ([`Capabilities::fine`](crate::Capabilities::fine)).
    pub sample: WindowSample,
}
