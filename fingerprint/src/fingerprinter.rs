//! Turns documents into chunks, the form in which the documents of every method are sent.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::algorithm::Algorithm;
use crate::assembly::DocumentReader;
use crate::chunk::{Chunk, Content, Tag};
use crate::chunk_reader::segments::{Join, Segment};
use crate::chunk_reader::{ChunkReader, Contents};
use crate::feature_reader::FeatureReader;
use crate::key::Key;
use crate::signature::{Feature, Signature};
use crate::sparse::{Dense, ReadSparse};
use crate::window_sample::WindowSample;

/// Sees chunks with their bytes.
pub type ChunkVisitor = dyn FnMut(&Chunk, &[u8]) + Send;

/// Carries a method out, for one document after the other. Its memory is one buffer of a few hundred kilobytes, or twice
/// the longest chunk if that is more, however long the documents are.
///
/// Features that are no chunks have the form of chunks here: each at offset 0 and as long as it weighs.
pub struct Fingerprinter {
    reader: Reader,
}

enum Reader {
    Chunks(Box<ChunkReader>),
    /// Chunks go to a visitor, with their bytes. The lock is as the next one.
    Visited(Box<ChunkReader>, Mutex<Box<ChunkVisitor>>),
    /// The lock is for documents in memory, which several threads may give to one fingerprinter.
    Features(Mutex<FeatureReader>),
}

impl Fingerprinter {
    pub(crate) fn new(algorithm: Algorithm, key: &Key) -> Fingerprinter {
        let reader = match DocumentReader::new(algorithm, key) {
            DocumentReader::Chunks(reader) => Reader::Chunks(reader),
            DocumentReader::Features(reader) => Reader::Features(Mutex::new(reader)),
        };
        Fingerprinter { reader }
    }

    /// A fingerprinter that shows chunks to a visitor instead of handing them over; nothing for a method without chunks.
    pub(crate) fn visited(algorithm: Algorithm, key: &Key, visitor: Box<ChunkVisitor>) -> Option<Fingerprinter> {
        let DocumentReader::Chunks(reader) = DocumentReader::new(algorithm, key) else { return None };
        Some(Fingerprinter { reader: Reader::Visited(reader, Mutex::new(visitor)) })
    }

    /// The same without window samples: the contents that it gives have empty ones.
    #[must_use]
    pub fn without_samples(mut self) -> Fingerprinter {
        if let Reader::Chunks(reader) | Reader::Visited(reader, _) = &mut self.reader {
            reader.leave_samples();
        }
        self
    }

    /// Reads `document` to its end and hands every chunk, in order, to `each`.
    ///
    /// The result does not depend on how many bytes the reader gives at a time.
    ///
    /// # Errors
    /// If the reader fails (an interruption is tried again), if `each` fails, or if the method does not support the
    /// document (see [`Signer::read`](crate::Signer::read)). The chunks handed over until then are a part of the document.
    pub fn read(&mut self, document: &mut impl Read, each: impl FnMut(Chunk) -> io::Result<()>) -> io::Result<Content> {
        self.read_sparse(&mut Dense(document), each)
    }

    /// Does the same for a document that knows of runs of zeros: chunks of such a run are handed over without reading it. The
    /// result is the one of [`Fingerprinter::read`]. Methods without chunks read every byte.
    ///
    /// # Errors
    /// As [`Fingerprinter::read`].
    pub fn read_sparse(
        &mut self,
        document: &mut impl ReadSparse,
        mut each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<Content> {
        match &mut self.reader {
            Reader::Chunks(reader) => reader.read_with(document, |chunk, _| each(chunk)),
            Reader::Visited(reader, visitor) => {
                let visitor = visitor.get_mut().unwrap_or_else(PoisonError::into_inner);
                reader.read_with(document, |chunk, bytes| {
                    visitor(&chunk, bytes);
                    Ok(())
                })
            }
            Reader::Features(reader) => {
                let signature = reader.get_mut().unwrap_or_else(PoisonError::into_inner).read(document)?;
                features(&signature).try_for_each(&mut each)?;
                Ok(content(&signature))
            }
        }
    }

    /// Does the same for a document in memory, without a copy.
    ///
    /// A document that the method does not support has no features here.
    pub fn slice(&self, document: &[u8], each: impl FnMut(Chunk)) -> Content {
        match &self.reader {
            Reader::Chunks(reader) => reader.slice(document, each),
            Reader::Visited(reader, visitor) => {
                let mut visitor = visitor.lock().unwrap_or_else(PoisonError::into_inner);
                reader.slice_with(document, |chunk, bytes| visitor(&chunk, bytes))
            }
            Reader::Features(reader) => {
                let mut reader: MutexGuard<'_, _> = reader.lock().unwrap_or_else(PoisonError::into_inner);
                // Memory does not fail: the only error is a document that is not supported.
                let signature = reader.read(&mut &document[..]).unwrap_or_else(|_| reader.without_features(document));
                features(&signature).for_each(each);
                content(&signature)
            }
        }
    }

    /// Does the same for several short documents in memory, all side by side. If the method has chunks, this takes about half the time. All of
    /// their chunks are in memory at the end.
    pub fn slices(&mut self, documents: &[&[u8]]) -> Contents {
        if let Reader::Chunks(reader) = &mut self.reader {
            return reader.slices(documents);
        }
        let (mut contents, mut chunks) = (Contents::default(), Vec::new());
        for document in documents {
            let content = self.slice(document, |chunk| chunks.push(chunk));
            contents.push(content, chunks.drain(..));
        }
        contents
    }

    /// The cutter of segments of a long document, so that several fingerprinters can share it; nothing where the bytes must be seen in order: by a
    /// method without chunks, or by a visitor.
    pub fn segmenter(&mut self) -> Option<Segmenter<'_>> {
        match &mut self.reader {
            Reader::Chunks(reader) => Some(Segmenter { reader }),
            Reader::Visited(..) | Reader::Features(_) => None,
        }
    }
}

/// Cuts a long document in segments, each by any fingerprinter of the same method and key, and joins them, all by one. The result is that of
/// [`Fingerprinter::read`].
pub struct Segmenter<'a> {
    reader: &'a mut ChunkReader,
}

impl Segmenter<'_> {
    /// The length of all segments but the last one, in bytes: 8 MiB or more.
    pub fn segment_bytes(&self) -> u64 {
        self.reader.segment_bytes()
    }

    /// Cuts the segment with these places. `open` gives a reader of the document from a place on.
    ///
    /// # Errors
    /// If the reader fails.
    pub fn cut<R: Read>(&mut self, places: Range<u64>, open: impl FnOnce(u64) -> R) -> io::Result<Segment> {
        self.reader.segment(places, open)
    }

    /// Begins to join segments.
    pub fn join(&self) -> Join {
        self.reader.join()
    }

    /// Joins the next segment and hands its chunks, in order, to `each`. Where segments do not agree about a cut, the document is read again. Returns
    /// where the last chunk ends: before the segment does, if the document ends there.
    ///
    /// # Errors
    /// If the reader or `each` fails.
    pub fn join_segment<R: Read>(
        &mut self,
        join: &mut Join,
        segment: &Segment,
        open: impl FnOnce(u64) -> R,
        each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<u64> {
        self.reader.join_segment(join, segment, open, each)
    }

    /// The content of a document whose segments are all joined.
    pub fn finish(&self, join: Join) -> Content {
        self.reader.finish(join)
    }
}

/// The features of a signature in the form of chunks. The Similarity Index takes the place of a tag.
fn features(signature: &Signature) -> impl Iterator<Item = Chunk> {
    let chunk = |tag, length_bytes| Chunk { offset: 0, length_bytes, tag, repeated_byte: false };
    let index = signature.index.map(|index| chunk(Tag(index.to_be_bytes()), 1));
    signature.features.iter().map(move |feature: &Feature| chunk(feature.tag, feature.weight)).chain(index)
}

fn content(signature: &Signature) -> Content {
    let chunk_count = signature.features.len() + usize::from(signature.index.is_some());
    let (size_bytes, digest) = (signature.size_bytes, signature.digest);
    Content { size_bytes, chunk_count: chunk_count as u64, digest, sample: WindowSample::NONE }
}

#[cfg(test)]
mod tests;
