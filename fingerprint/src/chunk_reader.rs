//! One pass over a document in bounded memory: read, cut, tag many chunks at a time, hash the list of tags, and sketch.

use std::io::{self, ErrorKind, Read};

use crate::chunk::{Chunk, Content, ContentDigest, Tag};
use crate::content_sketch::{ContentSketch, SKETCH_WINDOW_BYTES, Sketcher, Sketching};
use crate::key::{Key, first_16};
use crate::lanes::ManyHasher;
use crate::method::bsw_chunk::BswChunk;
use crate::tttd::{Tttd, WINDOW_BYTES};

/// The least number of bytes that the reader is asked for at a time.
const READ_BYTES: usize = 256 * 1024;

/// Chunks that are tagged at a time: side by side, many short ones cost less than one after the other.
const CHUNKS_TAGGED_MAX: usize = 512;
/// Bytes of these chunks, but for the last one: few enough that they stay in a near cache from cutting to sketching.
const BYTES_TAGGED_MAX: usize = 256 * 1024;

// The bytes that stay in the buffer before a chunk are those of a window, too.
const _: () = assert!(SKETCH_WINDOW_BYTES <= WINDOW_BYTES);

/// The rule that decides where chunks end.
pub(crate) enum Chunker {
    Tttd(Tttd),
    Bsw(Box<BswChunk>),
}

impl Chunker {
    /// The length of the longest chunk.
    fn chunk_bytes_max(&self) -> usize {
        match self {
            Chunker::Tttd(tttd) => tttd.parameters().chunk_bytes_max as usize,
            Chunker::Bsw(bsw) => bsw.chunk_bytes_max() as usize,
        }
    }

    /// The number of bytes before a chunk that decide where the chunk ends.
    fn lookback_bytes(&self) -> usize {
        match self {
            Chunker::Tttd(_) => WINDOW_BYTES,
            Chunker::Bsw(bsw) => bsw.lookback_bytes(),
        }
    }

    #[inline]
    fn cut(&self, data: &[u8], start: usize, at_end: bool) -> Option<usize> {
        match self {
            Chunker::Tttd(tttd) => tttd.cut(data, start, at_end),
            Chunker::Bsw(bsw) => bsw.cut(data, start, at_end),
        }
    }
}

/// Cuts documents into chunks. Its memory is one buffer of a few hundred kilobytes, or twice the longest chunk if that is
/// more, however long the documents are.
pub(crate) struct ChunkReader {
    chunker: Chunker,
    /// Only contents of TTTD have sketches.
    sketcher: Option<Sketcher>,
    tags: ManyHasher,
    content_key: [u8; 32],
    buffer: Vec<u8>,
}

impl ChunkReader {
    /// A reader that makes sketches if `sketches` is set and the chunker is TTTD.
    pub(crate) fn new(chunker: Chunker, key: &Key, sketches: bool) -> ChunkReader {
        let sketcher = match &chunker {
            Chunker::Tttd(tttd) if sketches => Some(Sketcher::new(tttd.table(), key)),
            Chunker::Tttd(_) | Chunker::Bsw(_) => None,
        };
        let chunk_bytes_max = chunker.chunk_bytes_max();
        let buffer_bytes = chunker.lookback_bytes() + chunk_bytes_max + READ_BYTES.max(chunk_bytes_max);
        ChunkReader {
            chunker,
            sketcher,
            tags: ManyHasher::keyed(key.derive("cognate tag v1")),
            content_key: key.derive("cognate content v1"),
            buffer: vec![0; buffer_bytes],
        }
    }

    /// Does not make sketches from now on.
    pub(crate) fn leave_sketches(&mut self) {
        self.sketcher = None;
    }

    /// Reads `document` to its end and hands every chunk, in order, to `each`.
    pub(crate) fn read(
        &mut self,
        document: &mut impl Read,
        mut each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<Content> {
        self.read_with(document, |chunk, _| each(chunk))
    }

    /// Does the same, and hands over the bytes of every chunk with it.
    pub(crate) fn read_with(
        &mut self,
        document: &mut impl Read,
        mut each: impl FnMut(Chunk, &[u8]) -> io::Result<()>,
    ) -> io::Result<Content> {
        let lookback_bytes = self.chunker.lookback_bytes();
        let mut digest = ListDigest::new(&self.content_key);
        let mut sketching = self.sketcher.as_ref().map(|sketcher| (sketcher, sketcher.begin()));
        let mut offset = 0;
        let (mut start, mut filled) = (0, 0);
        loop {
            let at_end = fill(document, &mut self.buffer, &mut filled)?;
            let data = &self.buffer[..filled];
            loop {
                let chunks = self.chunks(data, start, at_end);
                if chunks.is_empty() {
                    break;
                }
                for (bytes, chunk) in self.tagged(chunks, offset) {
                    digest.add(&chunk);
                    let end = start + bytes.len();
                    if let Some((sketcher, sketching)) = &mut sketching {
                        sketcher.add(sketching, &data[..end], start);
                    }
                    each(chunk, bytes)?;
                    start = end;
                    offset += u64::from(chunk.length_bytes);
                }
            }
            if at_end {
                return Ok(digest.finish(offset, finished(&sketching)));
            }
            // The chunked bytes are dropped, except for those that the next fingerprints look back at.
            let done = start.saturating_sub(lookback_bytes);
            self.buffer.copy_within(done..filled, 0);
            start -= done;
            filled -= done;
        }
    }

    /// Does the same for a document in memory, without a copy.
    pub(crate) fn slice(&self, document: &[u8], mut each: impl FnMut(Chunk)) -> Content {
        self.slice_with(document, |chunk, _| each(chunk))
    }

    /// Does the same, and hands over the bytes of every chunk with it.
    pub(crate) fn slice_with(&self, document: &[u8], mut each: impl FnMut(Chunk, &[u8])) -> Content {
        let mut digest = ListDigest::new(&self.content_key);
        let mut sketching = self.sketcher.as_ref().map(|sketcher| (sketcher, sketcher.begin()));
        let mut start = 0;
        loop {
            let chunks = self.chunks(document, start, true);
            if chunks.is_empty() {
                return digest.finish(document.len() as u64, finished(&sketching));
            }
            for (bytes, chunk) in self.tagged(chunks, start as u64) {
                digest.add(&chunk);
                let end = start + bytes.len();
                if let Some((sketcher, sketching)) = &mut sketching {
                    sketcher.add(sketching, &document[..end], start);
                }
                each(chunk, bytes);
                start = end;
            }
        }
    }

    /// The next chunks from `start` on, as many as are tagged at a time; none if no chunk ends in `data`.
    fn chunks<'a>(&self, data: &'a [u8], mut start: usize, at_end: bool) -> Vec<&'a [u8]> {
        let mut chunks = Vec::new();
        let end = data.len().min(start + BYTES_TAGGED_MAX);
        while chunks.len() < CHUNKS_TAGGED_MAX
            && start < end
            && let Some(length) = self.chunker.cut(data, start, at_end)
        {
            chunks.push(&data[start..start + length]);
            start += length;
        }
        chunks
    }

    /// Chunks that follow each other from `offset` on, with their tags.
    fn tagged<'a>(&self, chunks: Vec<&'a [u8]>, mut offset: u64) -> impl Iterator<Item = (&'a [u8], Chunk)> + use<'a> {
        let hashes = self.tags.hash_each(&chunks);
        chunks.into_iter().zip(hashes).map(move |(bytes, hash)| {
            let chunk = Chunk {
                offset,
                length_bytes: u32::try_from(bytes.len()).expect("a chunk is at most a few megabytes"),
                tag: Tag(first_16(hash)),
                repeated_byte: bytes.iter().all(|byte| *byte == bytes[0]),
            };
            offset += bytes.len() as u64;
            (bytes, chunk)
        })
    }
}

fn finished(sketching: &Option<(&Sketcher, Sketching)>) -> ContentSketch {
    sketching.as_ref().map_or(ContentSketch::NONE, |(sketcher, sketching)| sketcher.finish(sketching))
}

/// Reads until the buffer is full; true if the document has ended.
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

/// The digest of a list of (tag, length as four little-endian bytes), computed as the list grows.
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
        // A call of the hasher for each twenty bytes would cost more than the hashing.
        if self.pending.len() + 20 > self.pending.capacity() {
            self.hasher.update(&self.pending);
            self.pending.clear();
        }
        self.pending.extend_from_slice(&chunk.tag.0);
        self.pending.extend_from_slice(&chunk.length_bytes.to_le_bytes());
        self.chunk_count += 1;
    }

    fn finish(mut self, size_bytes: u64, sketch: ContentSketch) -> Content {
        let digest = ContentDigest(first_16(self.hasher.update(&self.pending).finalize()));
        Content { size_bytes, chunk_count: self.chunk_count, digest, sketch }
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the documents of these tests are short")]
mod tests;
