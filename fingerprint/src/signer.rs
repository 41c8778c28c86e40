//! Documents in, signatures out, for every method: read, digest, and hand the bytes to what the method makes of them.

use std::io::{self, ErrorKind, Read};

use crate::chunk::ContentDigest;
use crate::fingerprinter::Fingerprinter;
use crate::key::{Key, first_16};
use crate::signature::{Feature, Shortage, Signature, Unfit};

/// How much is asked of the reader at a time.
const READ_BYTES: usize = 256 * 1024;

/// A method at work, on one document at a time.
pub(crate) trait Maker: Send {
    /// The next bytes of the document.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unfit>;

    /// The document has ended, or is given up: what it became. The maker is as new afterwards.
    fn finish(&mut self) -> Made;
}

/// What a maker made of a document.
pub(crate) struct Made {
    pub(crate) windows: u64,
    pub(crate) features: Vec<Feature>,
    pub(crate) index: Option<i128>,
    pub(crate) shortage: Option<Shortage>,
}

/// Makes signatures. Its memory is a few hundred kilobytes and the signature itself, however long the documents are; what
/// single methods need beyond that stands with them.
pub struct Signer {
    content_key: [u8; 32],
    buffer: Vec<u8>,
    work: Work,
}

enum Work {
    /// A method that cuts: its chunks are the features.
    Chunks(Box<Fingerprinter>),
    /// Any other.
    Maker(Box<dyn Maker>),
}

impl Signer {
    pub(crate) fn of_chunks(fingerprinter: Fingerprinter, key: &Key) -> Signer {
        Signer::new(Work::Chunks(Box::new(fingerprinter)), key)
    }

    pub(crate) fn of_maker(maker: Box<dyn Maker>, key: &Key) -> Signer {
        Signer::new(Work::Maker(maker), key)
    }

    fn new(work: Work, key: &Key) -> Signer {
        Signer { content_key: key.derive("cognate content v1"), buffer: Vec::new(), work }
    }

    /// Reads `document` to its end. The result does not depend on how many bytes the reader gives at a time.
    ///
    /// # Errors
    /// What the reader fails with (an interruption is tried again), and [`Unfit`] inside an error of the kind
    /// `InvalidData` when the method cannot read such a document.
    pub fn read(&mut self, document: &mut impl Read) -> io::Result<Signature> {
        match &mut self.work {
            Work::Chunks(fingerprinter) => chunks(fingerprinter, document),
            Work::Maker(maker) => {
                self.buffer.resize(READ_BYTES, 0);
                let read = made(maker.as_mut(), &self.content_key, &mut self.buffer, document);
                if read.is_err() {
                    // What is half done must not get into the next document.
                    maker.finish();
                }
                read
            }
        }
    }
}

impl Signer {
    /// The signature of a document that the method cannot read: its size and digest.
    pub(crate) fn unread(&self, document: &[u8]) -> Signature {
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

fn chunks(fingerprinter: &mut Fingerprinter, document: &mut impl Read) -> io::Result<Signature> {
    let mut features = Vec::new();
    let content = fingerprinter.read(document, |chunk| {
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

fn made(
    maker: &mut dyn Maker,
    content_key: &[u8; 32],
    buffer: &mut [u8],
    document: &mut impl Read,
) -> io::Result<Signature> {
    let mut hasher = blake3::Hasher::new_keyed(content_key);
    let mut size_bytes = 0;
    loop {
        let count = match document.read(buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..count]);
        maker.take(&buffer[..count])?;
        size_bytes += count as u64;
    }
    let Made { windows, features, index, shortage } = maker.finish();
    let digest = ContentDigest(first_16(hasher.finalize()));
    Ok(Signature { size_bytes, digest, windows, features, index, shortage })
}
