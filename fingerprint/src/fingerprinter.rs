//! One pass over a document in bounded memory: read, cut, tag, and digest what was tagged.

use std::io::{self, ErrorKind, Read};

use crate::chunk::{Chunk, ContentDigest, Tag};
use crate::key::{Key, first_16};
use crate::tttd::{Tttd, WINDOW_BYTES};

/// How much is asked of the reader at a time, at least.
const READ_BYTES: usize = 256 * 1024;

/// What a whole document came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// How many bytes were read.
    pub size_bytes: u64,
    /// How many chunks they were cut into; 0 only for an empty document.
    pub chunk_count: u64,
    /// The digest of the list of tags and lengths.
    pub digest: ContentDigest,
}

/// Carries a method out. Its memory is one buffer of a few hundred kilobytes, or twice the greatest chunk if that is
/// more, however long the documents are.
pub struct Fingerprinter {
    tttd: Tttd,
    tag_key: [u8; 32],
    content_key: [u8; 32],
    buffer: Vec<u8>,
}

impl Fingerprinter {
    pub(crate) fn new(tttd: Tttd, key: &Key) -> Fingerprinter {
        let chunk_bytes_max = tttd.parameters().chunk_bytes_max as usize;
        Fingerprinter {
            buffer: vec![0; WINDOW_BYTES + chunk_bytes_max + READ_BYTES.max(chunk_bytes_max)],
            tttd,
            tag_key: key.derive("cognate tag v1"),
            content_key: key.derive("cognate content v1"),
        }
    }

    /// Reads `document` to its end and hands every chunk, in order, to `each`.
    ///
    /// The result does not depend on how many bytes the reader gives at a time.
    ///
    /// # Errors
    /// What the reader fails with (an interruption is tried again) and what `each` fails with; what was handed over
    /// before that is part of a document only.
    pub fn read(
        &mut self,
        document: &mut impl Read,
        mut each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<Content> {
        let mut digest = ListDigest::new(&self.content_key);
        let mut offset = 0;
        let (mut start, mut filled) = (0, 0);
        loop {
            let at_end = fill(document, &mut self.buffer, &mut filled)?;
            let data = &self.buffer[..filled];
            while start < filled
                && let Some(length) = self.tttd.cut(data, start, at_end)
            {
                let chunk = self.tagged(&data[start..start + length], offset);
                digest.add(&chunk);
                each(chunk)?;
                start += length;
                offset += u64::from(chunk.length_bytes);
            }
            if at_end {
                return Ok(digest.finish(offset));
            }
            // What was chunked makes room, but for the bytes that the next fingerprints still look back at.
            let kept = start.saturating_sub(WINDOW_BYTES);
            self.buffer.copy_within(kept..filled, 0);
            start -= kept;
            filled -= kept;
        }
    }

    /// The same for a document that is in memory as a whole: nothing is copied.
    pub fn slice(&self, document: &[u8], mut each: impl FnMut(Chunk)) -> Content {
        let mut digest = ListDigest::new(&self.content_key);
        let mut start = 0;
        while start < document.len()
            && let Some(length) = self.tttd.cut(document, start, true)
        {
            let chunk = self.tagged(&document[start..start + length], start as u64);
            digest.add(&chunk);
            each(chunk);
            start += length;
        }
        digest.finish(document.len() as u64)
    }

    fn tagged(&self, bytes: &[u8], offset: u64) -> Chunk {
        Chunk {
            offset,
            length_bytes: u32::try_from(bytes.len()).expect("a chunk is at most a few megabytes"),
            tag: Tag(first_16(blake3::keyed_hash(&self.tag_key, bytes))),
            repeated_byte: bytes.iter().all(|byte| *byte == bytes[0]),
        }
    }
}

/// Reads until the buffer is full, or says that the document has ended.
fn fill(document: &mut impl Read, buffer: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < buffer.len() {
        match document.read(&mut buffer[*filled..]) {
            Ok(0) => return Ok(true),
            Ok(count) => *filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The digest of a list of (tag, length as four little-endian bytes), taken as the list grows.
struct ListDigest {
    hasher: blake3::Hasher,
    pending: Vec<u8>,
    chunk_count: u64,
}

impl ListDigest {
    fn new(content_key: &[u8; 32]) -> ListDigest {
        ListDigest { hasher: blake3::Hasher::new_keyed(content_key), pending: Vec::with_capacity(1024), chunk_count: 0 }
    }

    fn add(&mut self, chunk: &Chunk) {
        // Twenty bytes at a time would cost the hasher more than the hashing.
        if self.pending.len() + 20 > self.pending.capacity() {
            self.hasher.update(&self.pending);
            self.pending.clear();
        }
        self.pending.extend_from_slice(&chunk.tag.0);
        self.pending.extend_from_slice(&chunk.length_bytes.to_le_bytes());
        self.chunk_count += 1;
    }

    fn finish(mut self, size_bytes: u64) -> Content {
        let digest = ContentDigest(first_16(self.hasher.update(&self.pending).finalize()));
        Content { size_bytes, chunk_count: self.chunk_count, digest }
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the documents of these tests are short")]
mod tests;
