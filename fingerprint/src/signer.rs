//! Turns documents into signatures, the form in which the documents of every method are compared.

use std::io::{self, Read};

use crate::algorithm::Algorithm;
use crate::assembly::DocumentReader;
use crate::chunk_reader::ChunkReader;
use crate::key::Key;
use crate::signature::{Feature, Signature};
use crate::sparse::Dense;

/// Makes signatures. Its memory is a few hundred kilobytes and the signature itself, however long the documents are;
/// algorithms that need more say so in their documentation.
pub struct Signer {
    reader: DocumentReader,
}

impl Signer {
    pub(crate) fn new(algorithm: Algorithm, key: &Key) -> Signer {
        let mut reader = DocumentReader::new(algorithm, key);
        if let DocumentReader::Chunks(reader) = &mut reader {
            // A signature has no sample.
            reader.leave_samples();
        }
        Signer { reader }
    }

    /// Reads `document` to its end. The result does not depend on how many bytes the reader gives at a time.
    ///
    /// # Errors
    /// If the reader fails (an interruption is tried again). If the method does not support the document, the error is of
    /// the kind `InvalidData` and holds an [`UnsupportedDocument`](crate::UnsupportedDocument).
    pub fn read(&mut self, document: &mut impl Read) -> io::Result<Signature> {
        match &mut self.reader {
            DocumentReader::Chunks(reader) => read_chunks(reader, document),
            DocumentReader::Features(reader) => reader.read(document),
        }
    }
}

fn read_chunks(reader: &mut ChunkReader, document: &mut impl Read) -> io::Result<Signature> {
    let mut features = Vec::new();
    let content = reader.read_with(&mut Dense(document), |chunk, _| {
        features.push(Feature { tag: chunk.tag, weight: chunk.length_bytes });
        Ok(())
    })?;
    Ok(Signature {
        size_bytes: content.size_bytes,
        digest: content.digest,
        windows: content.chunk_count,
        features,
        index: None,
        shortage: None,
    })
}
