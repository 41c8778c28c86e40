//! Hashes of files, as lists of known files name them, and the pieces in which such lists are sent.
//!
//! A list is ascending within each kind, MD5 before SHA-1 before SHA-256; by its place in that order each hash has a
//! number, which both ends know.

use std::fmt;
use std::str::FromStr;

use crate::limits::{FILE_HASHES_MAX, FILE_HASHES_PIECE};
use crate::v1;

/// The kinds of hashes in lists of known files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HashKind {
    /// 16 bytes. Two files with the same hash are easy to make.
    Md5,
    /// 20 bytes. Two files with the same hash can be made at some cost.
    Sha1,
    /// 32 bytes.
    Sha256,
}

/// A set of kinds of hashes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug)]
pub struct HashKinds(u8);

/// The hash of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileHash {
    /// See [`HashKind::Md5`].
    Md5([u8; 16]),
    /// See [`HashKind::Sha1`].
    Sha1([u8; 20]),
    /// See [`HashKind::Sha256`].
    Sha256([u8; 32]),
}

/// The hashes of a query, each once, by their numbers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FileHashList(Vec<FileHash>);

/// The error of a text that is no hash of a known kind.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not an MD5, SHA-1 or SHA-256 in hexadecimal digits")]
pub struct NoHash(String);

/// The error of a list that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// A hash is cut off.
    #[error("a hash of another length than its kind has")]
    Length,
    /// A piece is empty or longer than one may be.
    #[error("a piece of a list of hashes that is empty or too long")]
    Piece,
    /// There are more hashes than one query may have.
    #[error("a list of more than {FILE_HASHES_MAX} hashes: divide it into several queries")]
    TooMany,
    /// A hash does not come after the one before it.
    #[error("hashes of a list that are out of order")]
    Order,
}

impl HashKind {
    /// Every kind, in the order of a list.
    pub const ALL: [HashKind; 3] = [HashKind::Md5, HashKind::Sha1, HashKind::Sha256];

    /// Its name in configurations and outputs.
    pub fn name(self) -> &'static str {
        match self {
            HashKind::Md5 => "md5",
            HashKind::Sha1 => "sha1",
            HashKind::Sha256 => "sha256",
        }
    }

    /// The length of such a hash.
    pub fn bytes(self) -> usize {
        match self {
            HashKind::Md5 => 16,
            HashKind::Sha1 => 20,
            HashKind::Sha256 => 32,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The hash of this kind with these bytes; `None`: there are more or fewer.
    pub fn hash(self, bytes: &[u8]) -> Option<FileHash> {
        Some(match self {
            HashKind::Md5 => FileHash::Md5(bytes.try_into().ok()?),
            HashKind::Sha1 => FileHash::Sha1(bytes.try_into().ok()?),
            HashKind::Sha256 => FileHash::Sha256(bytes.try_into().ok()?),
        })
    }
}

impl FromStr for HashKind {
    type Err = String;

    fn from_str(text: &str) -> Result<HashKind, String> {
        let known = HashKind::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| format!("`{text}` is no known kind of hash: `md5`, `sha1`, `sha256`"))
    }
}

impl From<HashKind> for v1::FileHashKind {
    fn from(kind: HashKind) -> v1::FileHashKind {
        match kind {
            HashKind::Md5 => v1::FileHashKind::Md5,
            HashKind::Sha1 => v1::FileHashKind::Sha1,
            HashKind::Sha256 => v1::FileHashKind::Sha256,
        }
    }
}

impl HashKinds {
    /// The empty set.
    pub const NONE: HashKinds = HashKinds(0);

    /// True if the set has this kind.
    pub fn contains(self, kind: HashKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// True if the set has all kinds of another.
    pub fn contains_all(self, others: HashKinds) -> bool {
        self.0 & others.0 == others.0
    }

    /// True if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in both sets.
    pub fn and(self, others: HashKinds) -> HashKinds {
        HashKinds(self.0 & others.0)
    }

    /// The kinds that another set does not have.
    pub fn but(self, others: HashKinds) -> HashKinds {
        HashKinds(self.0 & !others.0)
    }

    /// The kinds in the order of a list.
    pub fn iter(self) -> impl Iterator<Item = HashKind> {
        HashKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// The kinds as a message has them.
    pub fn to_wire(self) -> Vec<i32> {
        self.iter().map(|kind| v1::FileHashKind::from(kind).into()).collect()
    }

    /// The kinds of a message, without those that this version does not know.
    pub fn from_wire(kinds: &[i32]) -> HashKinds {
        let known = |kind: &HashKind| kinds.contains(&v1::FileHashKind::from(*kind).into());
        HashKind::ALL.into_iter().filter(known).collect()
    }
}

impl FromIterator<HashKind> for HashKinds {
    fn from_iter<I: IntoIterator<Item = HashKind>>(kinds: I) -> HashKinds {
        HashKinds(kinds.into_iter().fold(0, |bits, kind| bits | kind.bit()))
    }
}

impl fmt::Display for HashKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, kind) in self.iter().enumerate() {
            write!(f, "{}{}", if place > 0 { ", " } else { "" }, kind.name())?;
        }
        Ok(())
    }
}

impl FileHash {
    /// Its kind.
    pub fn kind(&self) -> HashKind {
        match self {
            FileHash::Md5(_) => HashKind::Md5,
            FileHash::Sha1(_) => HashKind::Sha1,
            FileHash::Sha256(_) => HashKind::Sha256,
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            FileHash::Md5(bytes) => bytes,
            FileHash::Sha1(bytes) => bytes,
            FileHash::Sha256(bytes) => bytes,
        }
    }
}

impl FromStr for FileHash {
    type Err = NoHash;

    /// The number of digits decides the kind.
    fn from_str(text: &str) -> Result<FileHash, NoHash> {
        let no_hash = || NoHash(text.chars().take(80).collect());
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).map_err(|_| no_hash())?;
        HashKind::ALL.into_iter().find_map(|kind| kind.hash(&bytes)).ok_or_else(no_hash)
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{self}", self.kind().name())
    }
}

impl FileHashList {
    /// A list of hashes, given in any order and with repetitions.
    ///
    /// # Errors
    /// If there are too many.
    pub fn new(mut hashes: Vec<FileHash>) -> Result<FileHashList, ListError> {
        hashes.sort_unstable();
        hashes.dedup();
        if hashes.len() > FILE_HASHES_MAX { Err(ListError::TooMany) } else { Ok(FileHashList(hashes)) }
    }

    /// The hashes, by their numbers.
    pub fn hashes(&self) -> &[FileHash] {
        &self.0
    }

    /// The number of a hash, if it is on the list.
    pub fn number(&self, hash: &FileHash) -> Option<u32> {
        self.0.binary_search(hash).ok().and_then(|number| u32::try_from(number).ok())
    }

    /// The kinds of the hashes.
    pub fn kinds(&self) -> HashKinds {
        self.0.iter().map(FileHash::kind).collect()
    }

    /// The pieces in which it is sent.
    pub fn pieces(&self) -> impl Iterator<Item = v1::FileHashTable> + '_ {
        self.0.chunks(FILE_HASHES_PIECE).map(|hashes| {
            let of = |kind| {
                hashes.iter().filter(move |hash| hash.kind() == kind).flat_map(FileHash::as_bytes).copied().collect()
            };
            v1::FileHashTable { md5: of(HashKind::Md5), sha1: of(HashKind::Sha1), sha256: of(HashKind::Sha256) }
        })
    }

    /// Adds a received piece. Memory grows with the bytes received, never with an announced number.
    ///
    /// # Errors
    /// If the piece cannot come next.
    pub fn take(&mut self, piece: &v1::FileHashTable) -> Result<(), ListError> {
        let before = self.0.len();
        let fields = [(HashKind::Md5, &piece.md5), (HashKind::Sha1, &piece.sha1), (HashKind::Sha256, &piece.sha256)];
        for (kind, bytes) in fields {
            if !bytes.len().is_multiple_of(kind.bytes()) {
                return Err(ListError::Length);
            }
            for hash in bytes.chunks_exact(kind.bytes()).filter_map(|bytes| kind.hash(bytes)) {
                if self.0.last().is_some_and(|last| *last >= hash) {
                    return Err(ListError::Order);
                }
                self.0.push(hash);
            }
        }
        match self.0.len() - before {
            1..=FILE_HASHES_PIECE if self.0.len() <= FILE_HASHES_MAX => Ok(()),
            1..=FILE_HASHES_PIECE => Err(ListError::TooMany),
            _ => Err(ListError::Piece),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(number: u32) -> FileHash {
        let kind = HashKind::ALL[usize::try_from(number % 3).unwrap()];
        let mut bytes = vec![0; kind.bytes()];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        kind.hash(&bytes).unwrap()
    }

    fn list(hashes: u32) -> FileHashList {
        FileHashList::new((0..hashes).rev().chain(0..1).map(hash).collect()).unwrap()
    }

    #[test]
    fn the_number_of_digits_decides_the_kind_of_hash() {
        let md5: FileHash = "D41D8CD98F00B204E9800998ECF8427E".parse().unwrap();
        assert_eq!((md5.kind(), md5.to_string().as_str()), (HashKind::Md5, "d41d8cd98f00b204e9800998ecf8427e"));
        let sha1: FileHash = "da39a3ee5e6b4b0d3255bfef95601890afd80709".parse().unwrap();
        assert_eq!(sha1.kind(), HashKind::Sha1);
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256.parse::<FileHash>().unwrap().to_string(), sha256);
        for nonsense in ["", "d41d", "g41d8cd98f00b204e9800998ecf8427e", &sha256[1..], &format!("{sha256}00")] {
            assert!(nonsense.parse::<FileHash>().unwrap_err().to_string().contains("is not an MD5"), "{nonsense}");
        }
    }

    #[test]
    fn a_list_arrives_as_it_was_sent_and_each_hash_has_its_number() {
        let piece = u32::try_from(FILE_HASHES_PIECE).unwrap();
        for (hashes, pieces) in [(1, 1), (piece, 1), (piece + 1, 2), (3 * piece, 3)] {
            let sent = list(hashes);
            assert_eq!(sent.hashes().len(), usize::try_from(hashes).unwrap());
            assert_eq!(sent.pieces().count(), pieces);
            let mut arrived = FileHashList::default();
            sent.pieces().for_each(|piece| arrived.take(&piece).unwrap());
            assert_eq!(arrived, sent);
            for (number, hash) in (0..).zip(arrived.hashes()) {
                assert_eq!(arrived.number(hash), Some(number));
            }
            assert_eq!(arrived.number(&hash(hashes)), None);
        }
        assert_eq!(list(3).kinds(), HashKind::ALL.into_iter().collect());
        assert_eq!(list(1).kinds().to_string(), "md5");
    }

    #[test]
    fn an_invalid_list_is_refused_with_its_reason() {
        let piece = |md5: &[u8], sha1: &[u8]| v1::FileHashTable {
            md5: md5.to_vec(),
            sha1: sha1.to_vec(),
            ..v1::FileHashTable::default()
        };
        let check = |pieces: &[v1::FileHashTable], error| {
            let mut arriving = FileHashList::default();
            assert_eq!(pieces.iter().try_for_each(|piece| arriving.take(piece)), Err(error));
        };
        check(&[piece(&[1; 17], &[])], ListError::Length);
        check(&[piece(&[1; 32], &[])], ListError::Order);
        check(&[piece(&[], &[1; 20]), piece(&[1; 16], &[])], ListError::Order);
        check(&[piece(&[], &[])], ListError::Piece);
        let long: Vec<u8> = (0..=u32::try_from(FILE_HASHES_PIECE).unwrap())
            .flat_map(|number| [number.to_be_bytes(), [0; 4], [0; 4], [0; 4]].concat())
            .collect();
        check(&[piece(&long, &[])], ListError::Piece);
    }

    #[test]
    fn unknown_kinds_are_left_out() {
        let kinds: HashKinds = [HashKind::Md5, HashKind::Sha256].into_iter().collect();
        assert_eq!(HashKinds::from_wire(&[3, 1, 99, 0]), kinds);
        assert_eq!(HashKinds::from_wire(&kinds.to_wire()), kinds);
        assert!(kinds.contains_all(HashKinds::NONE) && !HashKinds::NONE.contains_all(kinds));
        assert_eq!(kinds.but([HashKind::Md5].into_iter().collect()).to_string(), "sha256");
        assert_eq!("sha256".parse(), Ok(HashKind::Sha256));
        assert!("sha512".parse::<HashKind>().unwrap_err().contains("`sha512`"));
    }

    fn md5(number: usize) -> FileHash {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
        FileHash::Md5(bytes)
    }

    #[test]
    fn a_list_has_as_many_hashes_as_a_query_may_and_no_more() {
        let mut most: Vec<FileHash> = (0..=FILE_HASHES_MAX).map(md5).collect();
        assert_eq!(FileHashList::new(most.clone()), Err(ListError::TooMany));
        let one = |number| FileHashList(vec![md5(number)]).pieces().next().unwrap();
        most.truncate(FILE_HASHES_MAX - 1);
        let mut arrived = FileHashList::new(most).unwrap();
        assert_eq!(arrived.take(&one(FILE_HASHES_MAX - 1)), Ok(()));
        assert_eq!(arrived.take(&one(FILE_HASHES_MAX)), Err(ListError::TooMany));
    }

    proptest! {
        #[test]
        fn a_list_of_a_stranger_is_refused_or_each_of_its_hashes_has_a_number_of_its_own(
            pieces in prop::collection::vec(prop::collection::vec((0..3_usize, 0..6_u8), 0..5), 0..3),
            cut: bool,
        ) {
            let mut arriving = FileHashList::default();
            let mut is_refused = false;
            for hashes in &pieces {
                let of = |kind: HashKind| -> Vec<u8> {
                    let own = hashes.iter().filter(|(place, _)| HashKind::ALL[*place] == kind);
                    own.flat_map(|(_, byte)| vec![*byte; kind.bytes()]).collect()
                };
                let mut piece =
                    v1::FileHashTable { md5: of(HashKind::Md5), sha1: of(HashKind::Sha1), sha256: of(HashKind::Sha256) };
                piece.sha256.extend(cut.then_some(7));
                is_refused |= arriving.take(&piece).is_err();
            }
            prop_assert!(is_refused || !cut || pieces.is_empty());
            if !is_refused {
                prop_assert_eq!(arriving.hashes().len(), pieces.iter().map(Vec::len).sum::<usize>());
                for (number, hash) in (0..).zip(arriving.hashes()) {
                    prop_assert_eq!(arriving.number(hash), Some(number));
                }
            }
        }

        #[test]
        fn a_hash_comes_back_from_its_digits(bytes: [u8; 32], kind in 0..3_usize, upper: bool) {
            let kind = HashKind::ALL[kind];
            let hash = kind.hash(&bytes[..kind.bytes()]).unwrap();
            let digits = if upper { hash.to_string().to_uppercase() } else { hash.to_string() };
            prop_assert_eq!(digits.parse(), Ok(hash));
            prop_assert_eq!(kind.hash(&bytes[..kind.bytes() - 1]), None);
        }
    }
}
