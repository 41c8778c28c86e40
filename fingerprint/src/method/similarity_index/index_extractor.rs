//! Makes the Similarity Index of a document.

use crate::extractor::{Extracted, Extractor};
use crate::method::similarity_index::element_stream::ElementStream;
use crate::method::similarity_index::parameters::SimilarityIndex;
use crate::signature::UnsupportedDocument;
use crate::text::Words;

/// The largest document that is read if memory grows with it.
const LIMIT_BYTES: u64 = 256 << 20;

/// Makes the index of a document.
pub(crate) struct IndexExtractor {
    words: Words,
    stream: ElementStream,
    needs_whole_document: bool,
    read_bytes: u64,
}

impl IndexExtractor {
    pub(crate) fn new(index: SimilarityIndex) -> IndexExtractor {
        IndexExtractor {
            words: Words::default(),
            stream: ElementStream::new(index),
            needs_whole_document: index.formula.needs_whole_document(),
            read_bytes: 0,
        }
    }
}

impl Extractor for IndexExtractor {
    fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument> {
        self.read_bytes += bytes.len() as u64;
        if self.needs_whole_document && self.read_bytes > LIMIT_BYTES {
            return Err(UnsupportedDocument::TooLarge { limit_bytes: LIMIT_BYTES });
        }
        let stream = &mut self.stream;
        self.words.take(bytes, |token| stream.take(token))
    }

    fn finish(&mut self) -> Extracted {
        self.read_bytes = 0;
        let stream = &mut self.stream;
        self.words.finish(|token| stream.take(token));
        self.stream.finish()
    }
}
