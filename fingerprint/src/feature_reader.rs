//! Reads a document, hashes its bytes, and hands them to the extractor that makes its features.

use std::io::{self, ErrorKind, Read};

use crate::chunk::ContentDigest;
use crate::extractor::{Extracted, Extractor};
use crate::key::{Key, first_16};
use crate::signature::Signature;

/// The number of bytes that the reader is asked for at a time.
const READ_BYTES: usize = 256 * 1024;

/// Reads documents for an algorithm that does not cut them.
pub(crate) struct FeatureReader {
    content_key: [u8; 32],
    buffer: Vec<u8>,
    extractor: Box<dyn Extractor>,
}

impl FeatureReader {
    pub(crate) fn new(extractor: Box<dyn Extractor>, key: &Key) -> FeatureReader {
        FeatureReader { content_key: key.derive("cognate content v1"), buffer: Vec::new(), extractor }
    }

    /// Reads `document` to its end.
    pub(crate) fn read(&mut self, document: &mut impl Read) -> io::Result<Signature> {
        let signature = self.read_to_end(document);
        if signature.is_err() {
            // Nothing of this document may get into the next one.
            self.extractor.finish();
        }
        signature
    }

    fn read_to_end(&mut self, document: &mut impl Read) -> io::Result<Signature> {
        self.buffer.resize(READ_BYTES, 0);
        let mut hasher = blake3::Hasher::new_keyed(&self.content_key);
        let mut size_bytes = 0;
        loop {
            let count = match document.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&self.buffer[..count]);
            self.extractor.push(&self.buffer[..count])?;
            size_bytes += count as u64;
        }
        let Extracted { windows, features, index, shortage } = self.extractor.finish();
        let digest = ContentDigest(first_16(hasher.finalize()));
        Ok(Signature { size_bytes, digest, windows, features, index, shortage })
    }

    /// The signature of a document that the algorithm does not support: its size and digest, and no features.
    pub(crate) fn without_features(&self, document: &[u8]) -> Signature {
        Signature {
            size_bytes: document.len() as u64,
            digest: ContentDigest(first_16(blake3::keyed_hash(&self.content_key, document))),
            windows: 0,
            features: Vec::new(),
            index: None,
            shortage: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::signature::UnsupportedDocument;
    use crate::test_support::ShortReads;

    /// Counts the bytes of a document and refuses the byte `!`.
    #[derive(Default)]
    struct Counter {
        bytes: u64,
    }

    impl Extractor for Counter {
        fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument> {
            self.bytes += bytes.len() as u64;
            match bytes.iter().position(|byte| *byte == b'!') {
                Some(offset) => Err(UnsupportedDocument::Binary { offset: offset as u64 }),
                None => Ok(()),
            }
        }

        fn finish(&mut self) -> Extracted {
            let windows = std::mem::take(&mut self.bytes);
            Extracted { windows, features: Vec::new(), index: Some(i128::from(windows)), shortage: None }
        }
    }

    #[test]
    fn the_extractor_gets_every_byte_once_and_the_digest_is_that_of_the_bytes() {
        let mut reader = FeatureReader::new(Box::new(Counter::default()), &Key::none());
        for length in [0, 1, READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 3 * READ_BYTES] {
            let document = vec![b'x'; length];
            let signature = reader.read(&mut ShortReads { rest: &document, step: 100_000 }).unwrap();
            assert_eq!((signature.windows, signature.size_bytes), (length as u64, length as u64));
            assert_eq!(signature.digest, reader.without_features(&document).digest);
        }
    }

    #[test]
    fn a_refused_document_leaves_nothing_behind_for_the_next() {
        let mut reader = FeatureReader::new(Box::new(Counter::default()), &Key::none());
        let error = reader.read(&mut &b"no!"[..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(reader.read(&mut &b"yes"[..]).unwrap().windows, 3);
        let signature = reader.without_features(b"no!");
        assert_eq!((signature.size_bytes, signature.windows, signature.index), (3, 0, None));
    }

    #[test]
    fn the_digest_of_a_document_is_the_same_under_every_algorithm_that_does_not_cut() {
        let digest =
            |algorithm| crate::signer::Signer::new(algorithm, &Key::none()).read(&mut &b"a rose"[..]).unwrap().digest;
        let parsed = |name| crate::parse::algorithm(name, 1000, None, "").unwrap();
        for name in ["mod", "min", "sketch", "bsw", "shingle", "fuzzy", "similarity-index"] {
            assert_eq!(digest(parsed(name)), digest(Algorithm::Terms), "{name}");
        }
        assert_ne!(digest(parsed("tttd")), digest(Algorithm::Terms));
    }
}
