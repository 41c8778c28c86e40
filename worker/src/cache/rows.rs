//! How what is known of a document stands in the cache: encoded messages, each behind a byte that says their version.

use cognate_fingerprint::{Content, ContentDigest, MethodId};
use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use prost::Message as _;

use super::{Known, LastSync, Made, Piece};
use crate::file_hash::FileHashes;
use crate::lists::Location;
use crate::stamp::Stamp;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StampRow {
    #[prost(uint64, tag = "1")]
    length_bytes: u64,
    #[prost(sint64, tag = "2")]
    modified_ns: i64,
    #[prost(sint64, tag = "3")]
    changed_ns: i64,
    #[prost(uint64, tag = "4")]
    inode: u64,
    #[prost(enumeration = "FileClass", tag = "5")]
    class: i32,
    #[prost(message, repeated, tag = "6")]
    made: Vec<MadeRow>,
    #[prost(bytes = "vec", tag = "7")]
    bytes_digest: Vec<u8>,
    #[prost(bytes = "vec", tag = "8")]
    hashes: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MadeRow {
    #[prost(bytes = "vec", tag = "1")]
    method_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    digest: Vec<u8>,
    #[prost(uint64, tag = "3")]
    size_bytes: u64,
    #[prost(uint64, tag = "4")]
    chunk_count: u64,
    #[prost(uint64, tag = "5")]
    file: u64,
    #[prost(uint64, tag = "6")]
    offset: u64,
    #[prost(uint64, tag = "7")]
    list_bytes: u64,
    /// 0: read.
    #[prost(enumeration = "DocumentState", tag = "8")]
    state: i32,
    #[prost(bytes = "vec", tag = "9")]
    message_id_hash: Vec<u8>,
    #[prost(uint32, tag = "10")]
    inside: u32,
    /// Of one that is inside of another: its path.
    #[prost(bytes = "vec", tag = "11")]
    path: Vec<u8>,
}

impl MadeRow {
    pub(super) fn of(method_id: MethodId, piece: &Piece, inside: u32) -> MadeRow {
        let mut row = MadeRow {
            method_id: method_id.0.to_vec(),
            state: if piece.state == DocumentState::Read { 0 } else { piece.state.into() },
            message_id_hash: piece.message_id_hash.map(Vec::from).unwrap_or_default(),
            inside,
            ..MadeRow::default()
        };
        row.set_location(piece);
        row
    }

    /// One that is inside of another document.
    pub(super) fn inside(method_id: MethodId, path: &DocumentPath, piece: &Piece) -> MadeRow {
        MadeRow { path: path.as_bytes().to_vec(), ..MadeRow::of(method_id, piece, 0) }
    }

    pub(super) fn path(&self) -> Option<DocumentPath> {
        DocumentPath::new(&self.path).ok()
    }

    pub(super) fn location(&self) -> Location {
        Location { file: self.file, offset: self.offset, length_bytes: self.list_bytes }
    }

    pub(super) fn set_location(&mut self, piece: &Piece) {
        if let Some((content, location)) = &piece.listed {
            self.digest = content.digest.0.to_vec();
            (self.size_bytes, self.chunk_count) = (content.size_bytes, content.chunk_count);
            (self.file, self.offset, self.list_bytes) = (location.file, location.offset, location.length_bytes);
        }
    }

    pub(super) fn piece(&self) -> Option<Piece> {
        let listed = || {
            let digest = ContentDigest(self.digest.as_slice().try_into().ok()?);
            let content = Content { size_bytes: self.size_bytes, chunk_count: self.chunk_count, digest };
            Some((content, self.location()))
        };
        let message_id_hash = match self.message_id_hash.as_slice() {
            [] => None,
            bytes => Some(bytes.try_into().ok()?),
        };
        Some(match DocumentState::try_from(self.state).ok()? {
            DocumentState::Unspecified => {
                Piece { state: DocumentState::Read, listed: Some(listed()?), message_id_hash }
            }
            state => Piece { state, listed: None, message_id_hash },
        })
    }
}

impl From<Location> for MadeRow {
    fn from(Location { file, offset, length_bytes: list_bytes }: Location) -> MadeRow {
        MadeRow { file, offset, list_bytes, ..MadeRow::default() }
    }
}

pub(super) fn encode(known: &Known) -> Vec<u8> {
    let row = StampRow {
        length_bytes: known.stamp.length_bytes,
        modified_ns: known.stamp.modified_ns,
        changed_ns: known.stamp.changed_ns,
        inode: known.stamp.inode,
        class: known.class.into(),
        made: known.made.iter().map(|made| MadeRow::of(made.method_id, &made.piece, made.inside)).collect(),
        bytes_digest: known.bytes_digest.map(Vec::from).unwrap_or_default(),
        hashes: known.hashes.to_bytes(),
    };
    let mut value = vec![1];
    row.encode(&mut value).expect("a vector takes everything");
    value
}

pub(super) fn decode(value: &[u8]) -> Option<Known> {
    let (1, row) = value.split_first().map(|(version, row)| (*version, row))? else { return None };
    let row = StampRow::decode(row).ok()?;
    let made = |row: MadeRow| {
        let method_id = MethodId(row.method_id.as_slice().try_into().ok()?);
        Some(Made { method_id, piece: row.piece()?, inside: row.inside })
    };
    Some(Known {
        stamp: Stamp {
            length_bytes: row.length_bytes,
            modified_ns: row.modified_ns,
            changed_ns: row.changed_ns,
            inode: row.inode,
        },
        class: row.class(),
        bytes_digest: row.bytes_digest.as_slice().try_into().ok(),
        hashes: FileHashes::from_bytes(&row.hashes)?,
        made: row.made.into_iter().map(made).collect::<Option<_>>()?,
    })
}

impl LastSync {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [self.documents.to_be_bytes(), self.files.to_be_bytes(), self.seconds.to_be_bytes()].concat()
    }

    /// Earlier versions wrote the number of documents alone.
    pub(super) fn from_bytes(bytes: &[u8]) -> LastSync {
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|number| u64::from_be_bytes(*number));
        let mut next = || numbers.next().unwrap_or(0);
        LastSync { documents: next(), files: next(), seconds: next().cast_signed() }
    }
}
