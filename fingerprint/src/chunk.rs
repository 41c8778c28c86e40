//! A chunk as the rest of the system sees it: where it lies, how long it is, and the tag that stands for its bytes.

use crate::hex::identity;

identity! {
    /// The keyed hash of a chunk: what two documents share when they share it.
    ///
    /// The first 16 bytes of keyed BLAKE3 over the chunk's bytes, under a key that is derived from the federation key.
    /// Among 10^10 different chunks, two meet by chance with a probability of about 1.5 · 10^-19.
    Tag
}

identity! {
    /// What the documents with the same bytes have in common: the keyed hash of a content's list of tags and lengths.
    ContentDigest
}

/// One run of bytes that the content itself delimits. The chunks of a document tile it without gap or overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// Where the chunk begins, in bytes from the start of the document.
    pub offset: u64,
    /// How long it is: 1 to `chunk_bytes_max` of its method.
    pub length_bytes: u32,
    /// The keyed hash of its bytes.
    pub tag: Tag,
    /// Whether it is one byte value over and over (a length of 1 counts): the built-in template, which carries no
    /// evidence. It is said here because nobody can tell it from a tag.
    pub repeated_byte: bool,
}
