//! The hashes of one file, as the cache stores them. They never leave this site.

use cognate_proto::file_hash::{FileHash, HashKind, HashKinds};

/// The stored hashes of one file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct FileHashes(Vec<FileHash>);

impl FileHashes {
    pub(crate) fn new(hashes: Vec<FileHash>) -> FileHashes {
        FileHashes(hashes)
    }

    /// The kinds of the hashes.
    pub(crate) fn kinds(&self) -> HashKinds {
        self.0.iter().map(FileHash::kind).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FileHash> {
        self.0.iter()
    }

    /// Reads the bytes of [`FileHashes::to_bytes`]; `None` where they are not valid.
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

    /// All hashes, each after a byte for its kind.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|hash| [&[hash.kind() as u8], hash.as_bytes()].concat()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_hashes_are_read_completely_or_not_at_all() {
        let all = HashKind::ALL.map(|kind| kind.hash(&vec![7; kind.bytes()]).unwrap());
        let hashes = FileHashes::new(all.to_vec());
        let bytes = hashes.to_bytes();
        assert_eq!(FileHashes::from_bytes(&bytes), Some(hashes));
        assert_eq!(FileHashes::from_bytes(&[]), Some(FileHashes::default()));
        for cut in 1..bytes.len() {
            let read = FileHashes::from_bytes(&bytes[..cut]);
            assert!(read.is_none_or(|read| read.to_bytes().len() == cut), "cut at {cut}");
        }
        assert_eq!(FileHashes::from_bytes(&[9, 1, 2]), None);
    }
}
