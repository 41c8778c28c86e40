//! Fingerprints of bytes under a method: chunks, with their fine chunks where they are asked for, or a signature.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_fingerprint::{
    Chunk, Content, ContentDigest, Feature, FineChunk, FineCutter, Fingerprinter, Key, LineReader, Method, Signature,
    Signer, Tag, Verification, View,
};

/// Fingerprint under a method that cuts chunks, or under any other.
pub enum Became {
    /// The chunks, the content, and the fine chunks that were asked for.
    Chunks(Vec<Chunk>, Content, FineOfChunks),
    /// The signature, and the words of the document by which a proposal is verified, if they were asked for: each with its
    /// count, ascending.
    Signature(Signature, Terms),
}

/// Features under the method that verifies.
pub type Terms = Vec<Feature>;

/// A text that is longer has no terms: it is in memory while they are counted.
const TERMS_BYTES_MAX: usize = 64 << 20;

/// Fine chunks by the tags of their chunks.
pub type FineOfChunks = BTreeMap<Tag, Vec<FineChunk>>;

/// Fingerprints one document after the other.
pub struct Machine {
    kind: Kind,
    /// Documents are compared by their bytes.
    reads_bytes: bool,
}

enum Kind {
    Chunks(Box<Fingerprinter>),
    /// The same, where fine chunks are made as well.
    FineChunks(Box<Fingerprinter>, Arc<Mutex<Seen>>),
    Signature(Signer),
    /// The same for a method that only proposes, and the signer of the method that verifies.
    Verified(Signer, Signer),
}

/// Chunks of the document that is being read, with their fine chunks. A document with more fine chunks than are wanted has
/// none.
#[derive(Default)]
struct Seen {
    chunks: Vec<Chunk>,
    fine: FineOfChunks,
    fine_count: usize,
}

impl Machine {
    /// A machine for a method. It makes fine chunks, if the method has any, unless `fine_max` is 0: of documents that have at most so
    /// many. Under a method whose proposals are verified by words, it makes these, unless `fine_max` is 0.
    pub fn new(method: &Method, key: &Key, fine_max: usize) -> Machine {
        let reads_bytes = method.view() == View::Raw;
        if !method.capabilities().has_chunks() {
            let signer = method.signer(key);
            let kind = match verifier(method).filter(|_| fine_max > 0) {
                Some(verifier) => Kind::Verified(signer, verifier.signer(key)),
                None => Kind::Signature(signer),
            };
            return Machine { kind, reads_bytes };
        }
        let visiting = (fine_max > 0 && method.capabilities().fine).then(|| {
            let (seen, cutter) = (Arc::<Mutex<Seen>>::default(), FineCutter::new(key));
            let of_visitor = Arc::clone(&seen);
            let visitor = move |chunk: &Chunk, bytes: &[u8]| lock(&of_visitor).take(*chunk, bytes, &cutter, fine_max);
            Some((method.visiting_fingerprinter(key, Box::new(visitor))?, seen))
        });
        let kind = match visiting.flatten() {
            Some((fingerprinter, seen)) => Kind::FineChunks(Box::new(fingerprinter), seen),
            None => Kind::Chunks(Box::new(method.fingerprinter(key))),
        };
        Machine { kind, reads_bytes }
    }

    /// Fingerprints a document. Without `keep_chunks` the list of chunks may stay empty.
    ///
    /// # Errors
    /// Those of the reader, and one of a document that the method cannot be used with
    /// ([`UnsupportedDocument`](cognate_fingerprint::UnsupportedDocument)).
    pub fn read(&mut self, from: &mut impl Read, keep_chunks: bool) -> io::Result<Became> {
        if !self.reads_bytes {
            return self.kind.read(from, keep_chunks);
        }
        let mut lines = LineReader::new(from)?;
        Ok(match self.kind.read(&mut lines, keep_chunks)? {
            Became::Chunks(chunks, content, fine) => Became::Chunks(chunks, lines.finish(content).0, fine),
            Became::Signature(signature, terms) => {
                let digest = lines.digest(signature.digest);
                Became::Signature(Signature { digest, ..signature }, terms)
            }
        })
    }
}

impl Kind {
    fn read(&mut self, from: &mut impl Read, keep_chunks: bool) -> io::Result<Became> {
        Ok(match self {
            Kind::Chunks(fingerprinter) => {
                let mut chunks = Vec::new();
                let content = fingerprinter.read(from, |chunk| {
                    if keep_chunks {
                        chunks.push(chunk);
                    }
                    Ok(())
                })?;
                Became::Chunks(chunks, content, FineOfChunks::new())
            }
            Kind::FineChunks(fingerprinter, seen) => {
                *lock(seen) = Seen::default();
                let content = fingerprinter.read(from, |_| Ok(()))?;
                let Seen { chunks, fine, .. } = std::mem::take(&mut *lock(seen));
                Became::Chunks(chunks, content, fine)
            }
            Kind::Signature(signer) => Became::Signature(signer.read(from)?, Terms::new()),
            Kind::Verified(signer, verifier) => {
                let mut kept = Kept { from, bytes: Vec::new(), too_long: false };
                let signature = signer.read(&mut kept)?;
                let terms = match kept.too_long {
                    true => Terms::new(),
                    false => verifier.read(&mut kept.bytes.as_slice())?.features,
                };
                Became::Signature(signature, terms)
            }
        })
    }
}

/// The method that verifies by words what a method only proposes.
pub fn verifier(method: &Method) -> Option<Method> {
    method.verifier().filter(|_| method.capabilities().verified_by == Some(Verification::Cosine))
}

/// A reader that keeps what it has read.
struct Kept<'a, R> {
    from: &'a mut R,
    bytes: Vec<u8>,
    too_long: bool,
}

impl<R: Read> Read for Kept<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.too_long |= self.bytes.len() + count > TERMS_BYTES_MAX;
        match self.too_long {
            true => self.bytes = Vec::new(),
            false => self.bytes.extend_from_slice(&buffer[..count]),
        }
        Ok(count)
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().expect("nothing panics while it is held")
}

impl Seen {
    fn take(&mut self, chunk: Chunk, bytes: &[u8], cutter: &FineCutter, fine_max: usize) {
        self.chunks.push(chunk);
        // A chunk of one repeated byte counts for nothing.
        if chunk.repeated_byte || self.fine_count > fine_max || self.fine.contains_key(&chunk.tag) {
            return;
        }
        let mut fine = Vec::new();
        cutter.cut(bytes, |one| fine.push(one));
        self.fine_count += fine.len();
        self.fine.insert(chunk.tag, fine);
        if self.fine_count > fine_max {
            self.fine.clear();
        }
    }
}

impl Became {
    /// Indexes of chunks that repeat one byte.
    pub fn repeated(&self) -> Vec<usize> {
        let chunks = match self {
            Became::Chunks(chunks, ..) => chunks.as_slice(),
            Became::Signature(..) => &[],
        };
        chunks.iter().enumerate().filter(|(_, chunk)| chunk.repeated_byte).map(|(number, _)| number).collect()
    }

    /// The size of the document in bytes, and its digest.
    pub fn identity(&self) -> (u64, ContentDigest) {
        match self {
            Became::Chunks(_, content, _) => (content.size_bytes, content.digest),
            Became::Signature(signature, _) => (signature.size_bytes, signature.digest),
        }
    }
}
