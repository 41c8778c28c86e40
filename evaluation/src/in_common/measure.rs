//! The shares that are reported of a pair: by whole chunks, and by whole and fine chunks.

use std::collections::HashMap;

use cognate_fingerprint::{Chunk, FineChunk, FineCutter, Fingerprinter, Key, Method, Tag, View};
use cognate_similarity::fine::{ChunkCount, FineMeasure, by_chunks, counted};

use crate::error::Error;

/// A way to measure what two documents have in common.
#[derive(Debug)]
pub(crate) struct Way {
    /// The name in tables.
    pub(super) name: &'static str,
    mean: u64,
    fine: bool,
}

/// The number of ways.
pub(crate) const WAY_COUNT: usize = 3;

const OF_BYTES: [Way; WAY_COUNT] = [
    Way { name: "chunks, mean 1000", mean: 1000, fine: false },
    Way { name: "chunks, mean 100", mean: 100, fine: false },
    Way { name: "fine chunks of what is left", mean: 1000, fine: true },
];

const OF_TEXT: [Way; WAY_COUNT] = [
    Way { name: "chunks, mean 200", mean: 200, fine: false },
    Way { name: "chunks, mean 100", mean: 100, fine: false },
    Way { name: "fine chunks of what is left", mean: 200, fine: true },
];

/// The ways side by side, of bytes or of text; the last is the product's default, and the first the same without fine chunks.
pub(crate) fn ways(by_text: bool) -> &'static [Way; WAY_COUNT] {
    if by_text { &OF_TEXT } else { &OF_BYTES }
}

/// Measures pairs.
pub(crate) struct Measurer {
    chunkers: Vec<(u64, Fingerprinter)>,
    cutter: FineCutter,
}

/// The chunks of a document.
struct Cut<'d> {
    /// All but the runs of one byte, which are no evidence.
    counts: Vec<ChunkCount>,
    bytes: HashMap<Tag, &'d [u8]>,
    /// The bytes of all chunks that count.
    weight: u64,
}

impl Measurer {
    pub(crate) fn new() -> Result<Measurer, Error> {
        let mut chunkers = Vec::new();
        for mean in [1000, 200, 100] {
            let method = Method::tttd(View::Raw, mean).map_err(|error| Error::Method(error.to_string()))?;
            chunkers.push((mean, method.fingerprinter(&Key::none())));
        }
        Ok(Measurer { chunkers, cutter: FineCutter::new(&Key::none()) })
    }

    /// The share of the first document that is reported, 0 to 1, and the number of tags that are needed for it.
    pub(crate) fn share(&mut self, way: &Way, a: &[u8], b: &[u8]) -> (f64, usize) {
        let chunkers = &self.chunkers;
        let chunker = chunkers.iter().find(|(mean, _)| *mean == way.mean);
        let Some((_, chunker)) = chunker else { return (0.0, 0) };
        let cuts = [a, b].map(|document| Cut::of(chunker, document));
        let found = by_chunks(&cuts[0].counts, &cuts[1].counts);
        let mut tags = cuts.iter().map(|cut| cut.counts.len()).sum();
        let mut shared_bytes = found.shared_bytes;
        if way.fine && found.left.iter().all(|left| !left.is_empty()) {
            let mut measure = FineMeasure::default();
            measure.begin();
            for (side, (cut, left)) in cuts.iter().zip(&found.left).enumerate() {
                for chunk in left {
                    let fine = self.fine_chunks(cut.bytes[&chunk.tag]);
                    tags += fine.len();
                    (0..chunk.count).for_each(|_| measure.add(side, &fine, &[]));
                }
            }
            shared_bytes += measure.shared_bytes().all;
        }
        (shared_bytes as f64 / cuts[0].weight.max(1) as f64, tags)
    }

    fn fine_chunks(&self, chunk: &[u8]) -> Vec<FineChunk> {
        let mut all = Vec::new();
        self.cutter.cut(chunk, |fine| all.push(fine));
        all
    }
}

impl<'d> Cut<'d> {
    fn of(chunker: &Fingerprinter, document: &'d [u8]) -> Cut<'d> {
        let mut chunks: Vec<Chunk> = Vec::new();
        chunker.slice(document, |chunk| chunks.push(chunk));
        chunks.retain(|chunk| !chunk.repeated_byte);
        let mut bytes = HashMap::new();
        for chunk in &chunks {
            let start = usize::try_from(chunk.offset).unwrap_or(usize::MAX);
            bytes.insert(chunk.tag, &document[start..start + chunk.length_bytes as usize]);
        }
        Cut {
            counts: counted(chunks.iter().map(|chunk| (chunk.tag, chunk.length_bytes))),
            bytes,
            weight: chunks.iter().map(|chunk| u64::from(chunk.length_bytes)).sum(),
        }
    }
}
