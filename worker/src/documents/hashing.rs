//! Hashing of a file while it is read for another purpose.

use std::io::{self, Read};

use cognate_fingerprint::ReadSparse;
use cognate_proto::file_hash::{FileHash, HashKind, HashKinds};
use md5::{Digest as _, Md5};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use crate::records::file_hashes::FileHashes;

/// A reader that hashes all bytes that it reads.
pub(crate) struct HashingReader<R> {
    inner: R,
    md5: Option<Md5>,
    sha1: Option<Context>,
    sha256: Option<Context>,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(inner: R, kinds: HashKinds) -> HashingReader<R> {
        let context = |kind, algorithm| kinds.contains(kind).then(|| Context::new(algorithm));
        HashingReader {
            inner,
            md5: kinds.contains(HashKind::Md5).then(Md5::new),
            sha1: context(HashKind::Sha1, &SHA1_FOR_LEGACY_USE_ONLY),
            sha256: context(HashKind::Sha256, &SHA256),
        }
    }

    /// The inner reader, and the hashes of all bytes that were read.
    pub(crate) fn finish(self) -> (R, FileHashes) {
        let HashingReader { inner, md5, sha1, sha256 } = self;
        let mut hashes = Vec::new();
        hashes.extend(md5.map(|md5| FileHash::Md5(md5.finalize().into())));
        let mut add = |kind: HashKind, context: Option<Context>| {
            hashes.extend(context.and_then(|context| kind.hash(context.finish().as_ref())));
        };
        add(HashKind::Sha1, sha1);
        add(HashKind::Sha256, sha256);
        (inner, FileHashes::new(hashes))
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        let bytes = &buffer[..length];
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        [&mut self.sha1, &mut self.sha256].into_iter().flatten().for_each(|context| context.update(bytes));
        Ok(length)
    }
}

impl<R: ReadSparse> ReadSparse for HashingReader<R> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        // What is hashed is read.
        let is_idle = self.md5.is_none() && self.sha1.is_none() && self.sha256.is_none();
        if is_idle { self.inner.zeros_ahead() } else { Ok(0) }
    }

    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
        self.inner.skip_zeros(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(bytes: &[u8], kinds: HashKinds) -> FileHashes {
        let mut hashed = HashingReader::new(bytes, kinds);
        io::copy(&mut hashed, &mut io::sink()).unwrap();
        hashed.finish().1
    }

    #[test]
    fn hashes_equal_the_published_test_vectors() {
        let all = hashes(b"abc", HashKind::ALL.into_iter().collect());
        let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
        // The test vectors of RFC 1321 and FIPS 180.
        assert_eq!(
            lines,
            [
                "900150983cd24fb0d6963f7d28e17f72",
                "a9993e364706816aba3e25717850c26c9cd0d89d",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ]
        );
        let one = [HashKind::Sha1].into_iter().collect();
        assert_eq!(hashes(b"abc", one).kinds(), one);
        assert_eq!(hashes(b"abc", HashKinds::NONE), FileHashes::default());
    }
}
