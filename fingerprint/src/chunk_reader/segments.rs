//! A long document cut in segments, by several readers, with exactly the cuts of one pass.
//!
//! The end of a chunk depends on its beginning and on the bytes from a little before it on. So two readers that began at
//! different places go on alike once they have one cut in common, which takes them a few chunks. A segment is cut from a place before it, as if a chunk began
//! there, so that this happens on the way ([`WARM_UP_CHUNKS`]). [`Join`] takes the segments in order: it looks for the cut where the one before ended, and
//! from there on the chunks of both are those of the document. If they do not agree, as in a long run of one byte, it reads on from the cut
//! before until they do, if need be to the end of the segment.

use std::io::{self, Read};
use std::ops::{ControlFlow, Range};

use super::{ChunkReader, Cutter, ListDigest};
use crate::chunk::{Chunk, Content};
use crate::sparse::Dense;
use crate::tttd::WINDOW_BYTES;
use crate::window_sample::{OpenSample, WindowSample};

/// The least length of a segment: long enough that the bytes before and after it, which are read twice, are a small part.
const SEGMENT_BYTES_MIN: u64 = 8 << 20;
/// At least so many chunks of the greatest length fit in a segment.
const SEGMENT_CHUNKS_MIN: u64 = 256;
/// A segment is cut from so many chunks of the greatest length before it.
const WARM_UP_CHUNKS: u64 = 8;

/// The chunks of a part of a document, and those from a little before it.
pub struct Segment {
    chunks: Vec<Chunk>,
    sample: Option<OpenSample>,
}

/// The segments of a document that are joined so far.
pub struct Join {
    /// The place at which the last chunk ends.
    end: u64,
    digest: ListDigest,
    sample: Option<OpenSample>,
}

impl Segment {
    /// The place at which the last chunk ends.
    fn end(&self) -> u64 {
        self.chunks.last().map_or(0, end)
    }

    /// The chunks from `offset` on, if one begins there.
    fn from(&self, offset: u64) -> Option<&[Chunk]> {
        let place = self.chunks.binary_search_by_key(&offset, |chunk| chunk.offset).ok()?;
        Some(&self.chunks[place..])
    }
}

impl Join {
    fn add(&mut self, chunk: Chunk, each: &mut impl FnMut(Chunk) -> io::Result<()>) -> io::Result<()> {
        self.end = end(&chunk);
        self.digest.add(&chunk);
        each(chunk)
    }
}

fn end(chunk: &Chunk) -> u64 {
    chunk.offset + u64::from(chunk.length_bytes)
}

impl ChunkReader {
    /// The length of a segment.
    pub(crate) fn segment_bytes(&self) -> u64 {
        SEGMENT_BYTES_MIN.max(SEGMENT_CHUNKS_MIN * self.cutter.chunk_bytes_max() as u64)
    }

    /// Cuts the segment with these places. `open` gives a reader of the document from a place on.
    pub(crate) fn segment<R: Read>(&mut self, places: Range<u64>, open: impl FnOnce(u64) -> R) -> io::Result<Segment> {
        let warm_up_bytes = WARM_UP_CHUNKS * self.cutter.chunk_bytes_max() as u64;
        let mut chunks = Vec::new();
        let begin = places.start.saturating_sub(warm_up_bytes);
        let sample = self.follow_from(begin..places.end, open, |chunk| {
            chunks.push(chunk);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Segment { chunks, sample })
    }

    /// Begins to join segments.
    pub(crate) fn join(&self) -> Join {
        Join {
            end: 0,
            digest: ListDigest::new(&self.content_key, Vec::new()),
            sample: self.cutter.sampler().map(|_| OpenSample::new()),
        }
    }

    /// Joins the next segment and hands over its chunks; returns where the last one ends.
    pub(crate) fn join_segment<R: Read>(
        &mut self,
        join: &mut Join,
        segment: &Segment,
        open: impl FnOnce(u64) -> R,
        mut each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<u64> {
        if let Some((joined, further)) = join.sample.as_mut().zip(segment.sample.as_ref()) {
            joined.merge(further);
        }
        if segment.from(join.end).is_none() && join.end < segment.end() {
            self.follow_from(join.end..segment.end(), open, |chunk| {
                join.add(chunk, &mut each)?;
                Ok(if segment.from(join.end).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        let rest = segment.from(join.end).unwrap_or_default();
        rest.iter().try_for_each(|chunk| join.add(*chunk, &mut each))?;
        Ok(join.end)
    }

    /// Ends a document whose segments are all joined.
    pub(crate) fn finish(&self, join: Join) -> Content {
        let sample = join.sample.map_or(WindowSample::NONE, OpenSample::finish);
        join.digest.finish(join.end, sample).0
    }

    /// Hands over the chunks that begin in `places`, as if one began with the first of them.
    fn follow_from<R: Read>(
        &mut self,
        places: Range<u64>,
        open: impl FnOnce(u64) -> R,
        mut each: impl FnMut(Chunk) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<Option<OpenSample>> {
        let candidates = std::mem::take(&mut self.memory.candidates);
        let mut progress = self.begin(candidates);
        let lookback_bytes = places.start.min(self.cutter.lookback_bytes() as u64);
        // With fewer bytes before them than decide about a place, the candidates are those from the beginning on.
        if let Cutter::Tttd(_) = self.cutter
            && lookback_bytes == WINDOW_BYTES as u64
        {
            progress.candidates.begin_at(WINDOW_BYTES);
            if let Some(sample) = &mut progress.sample {
                sample.begin_at(places.start);
            }
        }
        let mut document = Dense(open(places.start - lookback_bytes));
        self.follow(&mut document, places, &mut progress, |chunk, _| each(chunk))?;
        self.memory.candidates = progress.candidates;
        Ok(progress.sample)
    }
}

// The places of candidates begin at a multiple of their words.
const _: () = assert!(WINDOW_BYTES.is_multiple_of(u64::BITS as usize));

#[cfg(test)]
mod tests;
