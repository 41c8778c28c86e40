//! Fingerprints of bytes under a method: chunks, with their fine chunks where they are asked for, or a signature.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_fingerprint::{
    Chunk, Content, ContentDigest, FineChunk, FineCutter, Fingerprinter, Key, Method, Signature, Signer, Tag,
};

/// Fingerprint under a method that cuts chunks, or under any other.
pub enum Became {
    /// The chunks, the content, and the fine chunks that were asked for.
    Chunks(Vec<Chunk>, Content, FineOfChunks),
    /// The signature.
    Signature(Signature),
}

/// Fine chunks by the tags of their chunks.
pub type FineOfChunks = BTreeMap<Tag, Vec<FineChunk>>;

/// Fingerprints one document after the other.
pub struct Machine(Kind);

enum Kind {
    Chunks(Box<Fingerprinter>),
    /// The same, where fine chunks are made as well.
    FineChunks(Box<Fingerprinter>, Arc<Mutex<Seen>>),
    Signature(Signer),
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
    /// many.
    pub fn new(method: &Method, key: &Key, fine_max: usize) -> Machine {
        if !method.capabilities().has_chunks() {
            return Machine(Kind::Signature(method.signer(key)));
        }
        let visiting = (fine_max > 0 && method.capabilities().fine).then(|| {
            let (seen, cutter) = (Arc::<Mutex<Seen>>::default(), FineCutter::new(key));
            let of_visitor = Arc::clone(&seen);
            let visitor = move |chunk: &Chunk, bytes: &[u8]| lock(&of_visitor).take(*chunk, bytes, &cutter, fine_max);
            Some((method.visiting_fingerprinter(key, Box::new(visitor))?, seen))
        });
        Machine(match visiting.flatten() {
            Some((fingerprinter, seen)) => Kind::FineChunks(Box::new(fingerprinter), seen),
            None => Kind::Chunks(Box::new(method.fingerprinter(key))),
        })
    }

    /// Fingerprints a document. Without `keep_chunks` the list of chunks may stay empty.
    ///
    /// # Errors
    /// Those of the reader, and one of a document that the method cannot be used with
    /// ([`UnsupportedDocument`](cognate_fingerprint::UnsupportedDocument)).
    pub fn read(&mut self, from: &mut impl Read, keep_chunks: bool) -> io::Result<Became> {
        Ok(match &mut self.0 {
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
            Kind::Signature(signer) => Became::Signature(signer.read(from)?),
        })
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
            Became::Signature(_) => &[],
        };
        chunks.iter().enumerate().filter(|(_, chunk)| chunk.repeated_byte).map(|(number, _)| number).collect()
    }

    /// The size of the document in bytes, and its digest.
    pub fn identity(&self) -> (u64, ContentDigest) {
        match self {
            Became::Chunks(_, content, _) => (content.size_bytes, content.digest),
            Became::Signature(signature) => (signature.size_bytes, signature.digest),
        }
    }
}
