//! Hashes of whole files, where the site keeps them: made while a document is read anyway, kept in the cache, and never
//! sent. A list of known files comes here to be held against them ([`look_up`]).

pub(crate) mod look_up;

use std::io::{self, Read};

use cognate_proto::file_hash::{FileHash, HashKind, HashKinds};
use md5::{Digest as _, Md5};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// What is kept of one file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct FileHashes(Vec<FileHash>);

impl FileHashes {
    /// Of which kinds there are hashes.
    pub(crate) fn kinds(&self) -> HashKinds {
        self.0.iter().map(FileHash::kind).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FileHash> {
        self.0.iter()
    }

    /// From what was kept, one hash behind the other, each behind a byte that says which kind it is.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<FileHashes> {
        let mut hashes = Vec::new();
        while let Some((kind, rest)) = bytes.split_first() {
            let kind = HashKind::ALL.get(usize::from(*kind))?;
            let (hash, rest) = rest.split_at_checked(kind.bytes())?;
            hashes.push(kind.hash(hash)?);
            bytes = rest;
        }
        Some(FileHashes(hashes))
    }

    /// See [`FileHashes::from_bytes`].
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|hash| [&[hash.kind() as u8], hash.as_bytes()].concat()).collect()
    }
}

/// A reader that hashes what passes.
pub(crate) struct Hashed<R> {
    inner: R,
    md5: Option<Md5>,
    sha1: Option<Context>,
    sha256: Option<Context>,
}

impl<R: Read> Hashed<R> {
    pub(crate) fn new(inner: R, kinds: HashKinds) -> Hashed<R> {
        let context = |kind, algorithm| kinds.contains(kind).then(|| Context::new(algorithm));
        Hashed {
            inner,
            md5: kinds.contains(HashKind::Md5).then(Md5::new),
            sha1: context(HashKind::Sha1, &SHA1_FOR_LEGACY_USE_ONLY),
            sha256: context(HashKind::Sha256, &SHA256),
        }
    }

    /// The reader below, and the hashes of all that has passed.
    pub(crate) fn finish(self) -> (R, FileHashes) {
        let Hashed { inner, md5, sha1, sha256 } = self;
        let mut hashes = Vec::new();
        hashes.extend(md5.map(|md5| FileHash::Md5(md5.finalize().into())));
        let mut add = |kind: HashKind, context: Option<Context>| {
            hashes.extend(context.and_then(|context| kind.hash(context.finish().as_ref())));
        };
        add(HashKind::Sha1, sha1);
        add(HashKind::Sha256, sha256);
        (inner, FileHashes(hashes))
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        let passed = &buffer[..length];
        if let Some(md5) = &mut self.md5 {
            md5.update(passed);
        }
        [&mut self.sha1, &mut self.sha256].into_iter().flatten().for_each(|context| context.update(passed));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(bytes: &[u8], kinds: HashKinds) -> FileHashes {
        let mut hashed = Hashed::new(bytes, kinds);
        io::copy(&mut hashed, &mut io::sink()).unwrap();
        hashed.finish().1
    }

    #[test]
    fn what_passes_is_hashed_as_everybody_hashes_it() {
        let all = hashes(b"abc", HashKind::ALL.into_iter().collect());
        let told: Vec<String> = all.iter().map(ToString::to_string).collect();
        // The test vectors of RFC 1321 and FIPS 180.
        assert_eq!(
            told,
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

    #[test]
    fn what_was_kept_is_read_back_or_not_at_all() {
        let all = hashes(b"abc", HashKind::ALL.into_iter().collect());
        let bytes = all.to_bytes();
        assert_eq!(FileHashes::from_bytes(&bytes), Some(all));
        assert_eq!(FileHashes::from_bytes(&[]), Some(FileHashes::default()));
        assert_eq!(FileHashes::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(FileHashes::from_bytes(&[9, 1, 2]), None);
    }
}
