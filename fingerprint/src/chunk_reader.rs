//! One pass over a document in bounded memory: read, cut, tag many chunks at a time, hash the list of tags, and sample.
//!
//! Several readers may share a long document in [`segments`].

pub(crate) mod segments;

use std::io::{self, ErrorKind, Read};
use std::ops::{ControlFlow, Range};

use crate::candidates::{Candidates, Finder};
use crate::chunk::{Chunk, Content, ContentDigest, Tag};
use crate::chunk_tagger::ChunkTagger;
use crate::key::{Key, first_16};
use crate::lanes::ManyHasher;
use crate::method::bsw_chunk::BswChunk;
use crate::sparse::ReadSparse;
use crate::tttd::{Tttd, WINDOW_BYTES};
use crate::window_sample::{OpenSample, SAMPLE_WINDOW_BYTES, WindowSample, WindowSampler};

/// The least number of bytes that the reader is asked for at a time.
const READ_BYTES: usize = 256 * 1024;

/// Chunks that are tagged at a time: side by side, many short ones cost less than one after the other.
const CHUNKS_TAGGED_MAX: usize = 512;
/// Bytes of these chunks, but for the last one: few enough that they stay in a near cache from cutting to tagging.
const BYTES_TAGGED_MAX: usize = 256 * 1024;

/// Bytes of the list of tags that are hashed at a time: sixteen pieces of BLAKE3, which fill the lanes of its crate.
const PENDING_BYTES_MAX: usize = 16 * 1024;

// The bytes that stay in the buffer before a chunk are those of a window, too.
const _: () = assert!(SAMPLE_WINDOW_BYTES <= WINDOW_BYTES);

/// The rule that decides where chunks end.
pub(crate) enum Chunker {
    Tttd(Tttd),
    Bsw(Box<BswChunk>),
}

/// The rule that decides where chunks end, made ready for documents.
enum Cutter {
    /// With a sampler, if there are to be samples.
    Tttd(Box<Finder>),
    Bsw(Box<BswChunk>),
}

impl Cutter {
    /// The length of the longest chunk.
    fn chunk_bytes_max(&self) -> usize {
        match self {
            Cutter::Tttd(finder) => finder.tttd().parameters().chunk_bytes_max as usize,
            Cutter::Bsw(bsw) => bsw.chunk_bytes_max() as usize,
        }
    }

    /// The number of bytes before a chunk that decide where the chunk ends.
    fn lookback_bytes(&self) -> usize {
        match self {
            Cutter::Tttd(_) => WINDOW_BYTES,
            Cutter::Bsw(bsw) => bsw.lookback_bytes(),
        }
    }

    /// What finds candidates, if they are looked for before chunks are cut.
    fn looking_ahead(&self) -> Option<&Finder> {
        match self {
            Cutter::Tttd(finder) => Some(&**finder).filter(|finder| finder.looks_ahead()),
            Cutter::Bsw(_) => None,
        }
    }

    fn sampler(&self) -> Option<&WindowSampler> {
        match self {
            Cutter::Tttd(finder) => finder.sampler(),
            Cutter::Bsw(_) => None,
        }
    }
}

/// Several contents with their chunks.
#[derive(Default, Debug)]
pub struct Contents {
    contents: Vec<Content>,
    /// Those of the first content, then those of the second, and so on.
    chunks: Vec<Chunk>,
}

impl Contents {
    /// Each content with its chunks, in the order of the documents.
    pub fn iter(&self) -> impl Iterator<Item = (Content, &[Chunk])> {
        let mut rest = &self.chunks[..];
        self.contents.iter().map(move |content| {
            let count = usize::try_from(content.chunk_count).expect("these chunks are in memory");
            (content.clone(), rest.split_off(..count).expect("all chunks are there"))
        })
    }

    /// Adds a content with its chunks.
    pub(crate) fn push(&mut self, content: Content, chunks: impl IntoIterator<Item = Chunk>) {
        self.contents.push(content);
        self.chunks.extend(chunks);
    }
}

/// Memory that the next document uses again.
#[derive(Default)]
struct Memory {
    candidates: Candidates,
    pending: Vec<u8>,
}

/// The state of a document that is followed, from its beginning or from a later place.
struct Progress {
    candidates: Candidates,
    sample: Option<OpenSample>,
}

impl Progress {
    /// The sample of a document that has been followed to its end.
    fn take_sample(&mut self) -> WindowSample {
        self.sample.take().map_or(WindowSample::NONE, OpenSample::finish)
    }
}

/// Cuts documents into chunks. Its memory is one buffer of a few hundred kilobytes, or twice the longest chunk if that is
/// more, however long the documents are.
pub(crate) struct ChunkReader {
    cutter: Cutter,
    tagger: ChunkTagger,
    content_key: [u8; 32],
    /// Under the same key, for the lists of many contents at a time.
    lists: ManyHasher,
    buffer: Vec<u8>,
    memory: Memory,
}

impl ChunkReader {
    /// A reader that makes samples if `samples` is set and the chunker is TTTD.
    pub(crate) fn new(chunker: Chunker, key: &Key, samples: bool) -> ChunkReader {
        let cutter = match chunker {
            Chunker::Tttd(tttd) => Cutter::Tttd(Box::new(Finder::new(tttd, samples.then(|| WindowSampler::new(key))))),
            Chunker::Bsw(bsw) => Cutter::Bsw(bsw),
        };
        let chunk_bytes_max = cutter.chunk_bytes_max();
        let buffer_bytes = cutter.lookback_bytes() + chunk_bytes_max + READ_BYTES.max(chunk_bytes_max);
        let content_key = key.derive("cognate content v1");
        ChunkReader {
            cutter,
            tagger: ChunkTagger::new(key),
            content_key,
            lists: ManyHasher::keyed(content_key),
            buffer: vec![0; buffer_bytes],
            memory: Memory::default(),
        }
    }

    /// Finds candidates place by place from now on.
    #[cfg(test)]
    pub(crate) fn make_plain(&mut self) {
        if let Cutter::Tttd(finder) = &mut self.cutter {
            finder.make_plain();
        }
    }

    /// Does not make samples from now on.
    pub(crate) fn leave_samples(&mut self) {
        if let Cutter::Tttd(finder) = &mut self.cutter {
            finder.leave_samples();
        }
    }

    /// Reads `document` to its end and hands every chunk, in order, to `each`, with its bytes.
    pub(crate) fn read_with(
        &mut self,
        document: &mut impl ReadSparse,
        mut each: impl FnMut(Chunk, &[u8]) -> io::Result<()>,
    ) -> io::Result<Content> {
        let Memory { candidates, pending } = std::mem::take(&mut self.memory);
        let mut progress = self.begin(candidates);
        let mut digest = ListDigest::new(&self.content_key, pending);
        let size_bytes = self.follow(document, 0..u64::MAX, &mut progress, |chunk, bytes| {
            digest.add(&chunk);
            each(chunk, bytes)?;
            Ok(ControlFlow::Continue(()))
        })?;
        let (content, pending) = digest.finish(size_bytes, progress.take_sample());
        self.memory = Memory { candidates: progress.candidates, pending };
        Ok(content)
    }

    /// Hands over the chunks that begin in `places`, as if one began with the first of them, until `each` breaks; returns where the last one
    /// ends. `document` begins a [lookback](Cutter::lookback_bytes) before these places, or is complete if there are fewer bytes before them.
    ///
    /// Where a chunk and the bytes that decide about it are zeros, and zeros follow, the next chunk is the same again: as many
    /// as fit in a run of zeros that the document knows of are handed over without reading it. The place of the next byte
    /// relative to the buffer stays, so that everything after the run is as if it had been read.
    fn follow(
        &mut self,
        document: &mut impl ReadSparse,
        places: Range<u64>,
        progress: &mut Progress,
        mut each: impl FnMut(Chunk, &[u8]) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<u64> {
        let lookback_bytes = self.cutter.lookback_bytes();
        let mut offset = places.start;
        let (mut start, mut filled) =
            (usize::try_from(offset).map_or(lookback_bytes, |offset| offset.min(lookback_bytes)), 0);
        loop {
            let at_end = fill(document, &mut self.buffer, &mut filled)?;
            if filled <= start {
                // The document ends before these places.
                return Ok(offset);
            }
            let data = &self.buffer[..filled];
            loop {
                let wanted_bytes = places.end.saturating_sub(offset);
                let chunks = self.chunks(progress, data, start, wanted_bytes, at_end);
                let Some(first) = chunks.first().copied() else { break };
                let is_run =
                    !at_end && start >= lookback_bytes && is_zero(first) && is_zero(&data[start - lookback_bytes..]);
                let repeats = if is_run { document.zeros_ahead()? / first.len() as u64 } else { 0 };
                if repeats > 0 {
                    document.skip_zeros(repeats * first.len() as u64)?;
                    for (bytes, chunk) in self.tagged(vec![first], offset) {
                        for _ in 0..repeats {
                            let is_enough = each(Chunk { offset, ..chunk }, bytes)?.is_break();
                            offset += u64::from(chunk.length_bytes);
                            if is_enough {
                                return Ok(offset);
                            }
                        }
                    }
                }
                for (bytes, chunk) in self.tagged(chunks, offset) {
                    start += bytes.len();
                    offset += u64::from(chunk.length_bytes);
                    if each(chunk, bytes)?.is_break() {
                        return Ok(offset);
                    }
                }
            }
            if at_end || offset >= places.end {
                return Ok(offset);
            }
            // The chunked bytes are dropped, except for those that the next fingerprints look back at.
            let done = Candidates::shiftable(start.saturating_sub(lookback_bytes));
            self.buffer.copy_within(done..filled, 0);
            if self.cutter.looking_ahead().is_some() {
                progress.candidates.shift(done);
            }
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
        let mut progress = self.begin(Candidates::default());
        let mut digest = ListDigest::new(&self.content_key, Vec::new());
        let mut start = 0;
        loop {
            let chunks = self.chunks(&mut progress, document, start, u64::MAX, true);
            if chunks.is_empty() {
                return digest.finish(document.len() as u64, progress.take_sample()).0;
            }
            for (bytes, chunk) in self.tagged(chunks, start as u64) {
                digest.add(&chunk);
                each(chunk, bytes);
                start += bytes.len();
            }
        }
    }

    /// Does the same for short documents, all side by side: their chunks fill the lanes that those of one would leave empty.
    pub(crate) fn slices(&mut self, documents: &[&[u8]]) -> Contents {
        let (mut cuts, mut counts, mut samples) = (Vec::new(), Vec::with_capacity(documents.len()), Vec::new());
        for document in documents {
            let candidates = std::mem::take(&mut self.memory.candidates);
            let mut progress = self.begin(candidates);
            let (mut start, first) = (0, cuts.len());
            while start < document.len() {
                start = self.cut(&mut progress, document, start, document.len(), true, &mut cuts);
            }
            counts.push(cuts.len() - first);
            samples.push(progress.take_sample());
            self.memory.candidates = progress.candidates;
        }
        let mut tagged = cuts.iter().zip(self.tagger.tags(&cuts));
        let (mut chunks, mut rows) = (Vec::with_capacity(cuts.len()), Vec::with_capacity(cuts.len() * LIST_ROW_BYTES));
        for &count in &counts {
            let mut offset = 0;
            for (bytes, tag) in tagged.by_ref().take(count) {
                let chunk = chunk_of(bytes, tag, offset);
                offset += u64::from(chunk.length_bytes);
                put_row(&chunk, &mut rows);
                chunks.push(chunk);
            }
        }
        let mut rest = &rows[..];
        let lists: Vec<&[u8]> = counts
            .iter()
            .map(|count| rest.split_off(..count * LIST_ROW_BYTES).expect("a row for each chunk"))
            .collect();
        let digests = self.lists.hash_each(&lists).into_iter().map(|hash| ContentDigest(first_16(hash)));
        let contents = documents.iter().zip(digests).zip(counts).zip(samples).map(
            |(((document, digest), chunk_count), sample)| Content {
                size_bytes: document.len() as u64,
                chunk_count: chunk_count as u64,
                digest,
                sample,
            },
        );
        Contents { contents: contents.collect(), chunks }
    }

    /// Begins a document, in the memory of other candidates.
    fn begin(&self, candidates: Candidates) -> Progress {
        Progress { candidates: candidates.cleared(), sample: self.cutter.sampler().map(|_| OpenSample::new()) }
    }

    /// The next chunks from `start` on, as many as are tagged at a time and begin in the next `wanted_bytes`; none if no chunk ends in `data`.
    fn chunks<'a>(
        &self,
        progress: &mut Progress,
        data: &'a [u8],
        start: usize,
        wanted_bytes: u64,
        at_end: bool,
    ) -> Vec<&'a [u8]> {
        let bytes_max = usize::try_from(wanted_bytes).map_or(BYTES_TAGGED_MAX, |wanted| wanted.min(BYTES_TAGGED_MAX));
        let end = data.len().min(start + bytes_max);
        // Nearly as many as most documents have; a list that grows is copied several times.
        let foreseen = 4 * (end - start) / self.cutter.chunk_bytes_max() + 1;
        let mut chunks = Vec::with_capacity(foreseen.min(CHUNKS_TAGGED_MAX));
        self.cut(progress, data, start, end, at_end, &mut chunks);
        chunks
    }

    /// Puts the next chunks that begin from `start` to `end`, as many as are tagged at a time, behind those that are there; returns where they
    /// end.
    fn cut<'a>(
        &self,
        progress: &mut Progress,
        data: &'a [u8],
        mut start: usize,
        end: usize,
        at_end: bool,
        chunks: &mut Vec<&'a [u8]>,
    ) -> usize {
        let chunks_max = chunks.len() + CHUNKS_TAGGED_MAX;
        let Progress { candidates, sample } = progress;
        let looking = self.cutter.looking_ahead();
        if let Some(finder) = looking {
            candidates.look(finder, data, start, end + self.cutter.chunk_bytes_max(), at_end, sample.as_mut());
        }
        while chunks.len() < chunks_max && start < end {
            let length = match (&self.cutter, looking) {
                (_, Some(finder)) => candidates.cut(finder.tttd(), start, at_end && candidates.end() == data.len()),
                (Cutter::Tttd(finder), None) => finder.tttd().cut(data, start, at_end),
                (Cutter::Bsw(bsw), None) => bsw.cut(data, start, at_end),
            };
            let Some(length) = length else { break };
            chunks.push(&data[start..start + length]);
            start += length;
        }
        start
    }

    /// Chunks that follow each other from `offset` on, with their tags.
    fn tagged<'a>(&self, chunks: Vec<&'a [u8]>, mut offset: u64) -> impl Iterator<Item = (&'a [u8], Chunk)> + use<'a> {
        let tags = self.tagger.tags(&chunks);
        chunks.into_iter().zip(tags).map(move |(bytes, tag)| {
            let chunk = chunk_of(bytes, tag, offset);
            offset += bytes.len() as u64;
            (bytes, chunk)
        })
    }
}

/// The chunk with these bytes and this tag.
fn chunk_of(bytes: &[u8], tag: Tag, offset: u64) -> Chunk {
    Chunk {
        offset,
        length_bytes: u32::try_from(bytes.len()).expect("a chunk is at most a few megabytes"),
        tag,
        repeated_byte: bytes.iter().all(|byte| *byte == bytes[0]),
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
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

/// The bytes of a chunk in the list whose digest is that of the content.
const LIST_ROW_BYTES: usize = 20;

/// Puts a chunk at the end of such a list: its tag, and its length as four little-endian bytes.
fn put_row(chunk: &Chunk, list: &mut Vec<u8>) {
    list.extend_from_slice(&chunk.tag.0);
    list.extend_from_slice(&chunk.length_bytes.to_le_bytes());
}

/// The digest of a list of chunks, computed as the list grows.
struct ListDigest {
    key: [u8; 32],
    /// What was hashed; none as long as all is pending: a state of the hasher has two kilobytes, most lists a tenth of that.
    hasher: Option<Box<blake3::Hasher>>,
    pending: Vec<u8>,
    chunk_count: u64,
}

impl ListDigest {
    fn new(content_key: &[u8; 32], mut pending: Vec<u8>) -> ListDigest {
        pending.clear();
        ListDigest { key: *content_key, hasher: None, pending, chunk_count: 0 }
    }

    fn add(&mut self, chunk: &Chunk) {
        // A call of the hasher for each twenty bytes would cost more than the hashing.
        if self.pending.len() + LIST_ROW_BYTES > PENDING_BYTES_MAX {
            let begin = || Box::new(blake3::Hasher::new_keyed(&self.key));
            self.hasher.get_or_insert_with(begin).update(&self.pending);
            self.pending.clear();
        }
        put_row(chunk, &mut self.pending);
        self.chunk_count += 1;
    }

    /// The content, and the memory of the list.
    fn finish(self, size_bytes: u64, sample: WindowSample) -> (Content, Vec<u8>) {
        let hash = match self.hasher {
            Some(mut hasher) => hasher.update(&self.pending).finalize(),
            None => blake3::keyed_hash(&self.key, &self.pending),
        };
        let digest = ContentDigest(first_16(hash));
        (Content { size_bytes, chunk_count: self.chunk_count, digest, sample }, self.pending)
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the documents of these tests are short")]
mod tests;
