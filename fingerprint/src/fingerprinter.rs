//! One pass over a document in bounded memory: read, cut, tag, and digest what was tagged.

use std::io::{self, ErrorKind, Read};
use std::sync::{Mutex, PoisonError};

use crate::chunk::{Chunk, ContentDigest, Tag};
use crate::key::{Key, first_16};
use crate::method::bsw_chunk::BswChunk;
use crate::recipe::Recipe;
use crate::signature::{Feature, Signature};
use crate::signer::Signer;
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
    chunker: Chunker,
    tag_key: [u8; 32],
    content_key: [u8; 32],
    buffer: Vec<u8>,
}

/// What says where chunks end.
enum Chunker {
    Tttd(Tttd),
    Bsw(Box<BswChunk>),
    /// Nothing is cut: the features of a signature are handed over in place of chunks. (The lock is for documents in memory,
    /// which do not need the fingerprinter to themselves.)
    Features(Mutex<Signer>),
}

impl Chunker {
    /// The length of the longest chunk, and how many bytes before a chunk the cut after it may depend on.
    fn reach_bytes(&self) -> (usize, usize) {
        match self {
            Chunker::Tttd(tttd) => (tttd.parameters().chunk_bytes_max as usize, WINDOW_BYTES),
            Chunker::Bsw(bsw) => (bsw.chunk_bytes_max() as usize, bsw.lookback_bytes()),
            Chunker::Features(_) => (0, 0),
        }
    }

    #[inline]
    fn cut(&self, data: &[u8], start: usize, at_end: bool) -> Option<usize> {
        match self {
            Chunker::Tttd(tttd) => tttd.cut(data, start, at_end),
            Chunker::Bsw(bsw) => bsw.cut(data, start, at_end),
            Chunker::Features(_) => None,
        }
    }
}

impl Fingerprinter {
    pub(crate) fn new(tttd: Tttd, key: &Key) -> Fingerprinter {
        Fingerprinter::of(Chunker::Tttd(tttd), key)
    }

    pub(crate) fn of_windows(bsw: BswChunk, key: &Key) -> Fingerprinter {
        Fingerprinter::of(Chunker::Bsw(Box::new(bsw)), key)
    }

    /// One whose chunks are the features of a signature, each at offset 0 and as long as it weighs.
    pub(crate) fn of_features(recipe: Recipe, key: &Key) -> Fingerprinter {
        Fingerprinter::of(Chunker::Features(Mutex::new(recipe.signer(key))), key)
    }

    fn of(chunker: Chunker, key: &Key) -> Fingerprinter {
        let (chunk_bytes_max, lookback_bytes) = chunker.reach_bytes();
        let buffer_bytes = match chunker {
            Chunker::Features(_) => 0,
            _ => lookback_bytes + chunk_bytes_max + READ_BYTES.max(chunk_bytes_max),
        };
        Fingerprinter {
            chunker,
            tag_key: key.derive("cognate tag v1"),
            content_key: key.derive("cognate content v1"),
            buffer: vec![0; buffer_bytes],
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
        if let Chunker::Features(signer) = &mut self.chunker {
            let signature = signer.get_mut().unwrap_or_else(PoisonError::into_inner).read(document)?;
            features(&signature).try_for_each(&mut each)?;
            return Ok(content(&signature));
        }
        let (_, lookback_bytes) = self.chunker.reach_bytes();
        let mut digest = ListDigest::new(&self.content_key);
        let mut offset = 0;
        let (mut start, mut filled) = (0, 0);
        loop {
            let at_end = fill(document, &mut self.buffer, &mut filled)?;
            let data = &self.buffer[..filled];
            while start < filled
                && let Some(length) = self.chunker.cut(data, start, at_end)
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
            let kept = start.saturating_sub(lookback_bytes);
            self.buffer.copy_within(kept..filled, 0);
            start -= kept;
            filled -= kept;
        }
    }

    /// The same for a document that is in memory as a whole: nothing is copied.
    ///
    /// A document that the method cannot read has no features here.
    pub fn slice(&self, document: &[u8], mut each: impl FnMut(Chunk)) -> Content {
        if let Chunker::Features(signer) = &self.chunker {
            let mut signer = signer.lock().unwrap_or_else(PoisonError::into_inner);
            // Only a document that is no text fails; what it is, is then all that can be said.
            let signature = signer.read(&mut &document[..]).unwrap_or_else(|_| signer.unread(document));
            features(&signature).for_each(each);
            return content(&signature);
        }
        let mut digest = ListDigest::new(&self.content_key);
        let mut start = 0;
        while start < document.len()
            && let Some(length) = self.chunker.cut(document, start, true)
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

/// The features of a signature in the form of chunks. An index, which is none, goes as the tag of one.
fn features(signature: &Signature) -> impl Iterator<Item = Chunk> {
    let chunk = |tag, length_bytes| Chunk { offset: 0, length_bytes, tag, repeated_byte: false };
    let index = signature.index.map(|index| chunk(Tag(index.to_be_bytes()), 1));
    signature.features.iter().map(move |feature: &Feature| chunk(feature.tag, feature.weight)).chain(index)
}

fn content(signature: &Signature) -> Content {
    let chunk_count = signature.features.len() + usize::from(signature.index.is_some());
    Content { size_bytes: signature.size_bytes, chunk_count: chunk_count as u64, digest: signature.digest }
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
