//! The rows of the cache: every key family with its lifetime, its key bytes and its value. This file is the format.
//!
//! Each family is a sled tree. Integers in keys are big-endian, so that rows sort by number. A repository name and a path
//! never contain a byte of 0, which ends them in a key. Values are protobuf messages or integers; a value that cannot be
//! decoded counts as missing.

use cognate_fingerprint::{Content, ContentDigest, MethodId, WindowSample};
use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use cognate_view::Candidate;
use prost::Message as _;

use super::known::{KnownDocument, LastSync, MethodResult, StoredPart};
use crate::records::file_hashes::FileHashes;
use crate::records::lists::Location;
use crate::records::stamp::Stamp;
use crate::records::text_key::TextKey;

/// The family of a key: one sled tree each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Documents,
    Inside,
    Texts,
    Repositories,
    Settings,
}

impl Family {
    /// The name of the tree.
    pub(super) fn tree(self) -> &'static str {
        match self {
            Family::Documents => "documents",
            Family::Inside => "inside",
            Family::Texts => "texts",
            Family::Repositories => "repositories",
            Family::Settings => "settings",
        }
    }
}

/// A key of the cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Key {
    /// Family `documents`, one per path, from the first sync that read the document until a sync finds it removed.
    /// Key: repository, 0, path. Value: [`KnownDocument`].
    Document(RepositoryName, DocumentPath),
    /// Family `inside`, one for each [`PARTS_PER_ROW`] documents inside of a document under a method; lives as long as the method's result.
    /// Key: repository, 0, path of the outer document, 0, method id (16), number of the row (u32). Value: [`Parts`].
    Inside(RepositoryName, DocumentPath, MethodId, u32),
    /// Family `texts`, one per extraction, until the file that holds the text is removed.
    /// Key: text key (16). Value: [`Location`].
    Text(TextKey),
    /// Family `repositories`, one per repository, written by every sync of the complete repository.
    /// Key: repository. Value: [`LastSync`].
    Repository(RepositoryName),
    /// Family `settings`, written when the cache is created.
    /// Key: `schema`. Value: the version of the rows (u32).
    Schema,
    /// Family `settings`, written by every compaction of the lists.
    /// Key: `compacted`. Value: [`ListSize`] after the compaction.
    Compacted,
}

impl Key {
    pub(super) fn family(&self) -> Family {
        match self {
            Key::Document(..) => Family::Documents,
            Key::Inside(..) => Family::Inside,
            Key::Text(_) => Family::Texts,
            Key::Repository(_) => Family::Repositories,
            Key::Schema | Key::Compacted => Family::Settings,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Key::Document(repository, path) => [&Key::documents_of(repository), path.as_bytes()].concat(),
            Key::Inside(repository, path, method_id, number) => {
                [&Key::inside_of(repository, path, *method_id)[..], &number.to_be_bytes()].concat()
            }
            Key::Text(key) => key.as_bytes().to_vec(),
            Key::Repository(repository) => repository.as_str().as_bytes().to_vec(),
            Key::Schema => b"schema".to_vec(),
            Key::Compacted => b"compacted".to_vec(),
        }
    }

    /// Reads the bytes of [`Key::to_bytes`].
    pub(super) fn from_bytes(family: Family, bytes: &[u8]) -> Option<Key> {
        Some(match family {
            Family::Documents => {
                let (repository, path) = split_repository(bytes)?;
                Key::Document(repository, DocumentPath::new(path).ok()?)
            }
            Family::Inside => {
                let (repository, rest) = split_repository(bytes)?;
                let (path, id) = rest.split_at_checked(rest.len().checked_sub(1 + 16 + 4)?)?;
                let (0, id) = id.split_first().map(|(zero, id)| (*zero, id))? else { return None };
                let (method_id, number) = id.split_at(16);
                let (method_id, number) = (method_id.try_into().ok()?, number.try_into().ok()?);
                let path = DocumentPath::new(path).ok()?;
                Key::Inside(repository, path, MethodId(method_id), u32::from_be_bytes(number))
            }
            Family::Texts => Key::Text(TextKey::from_bytes(bytes.try_into().ok()?)),
            Family::Repositories => Key::Repository(std::str::from_utf8(bytes).ok()?.parse().ok()?),
            Family::Settings => match bytes {
                b"schema" => Key::Schema,
                b"compacted" => Key::Compacted,
                _ => return None,
            },
        })
    }

    /// The common beginning of the keys of a repository's documents.
    pub(super) fn documents_of(repository: &RepositoryName) -> Vec<u8> {
        [repository.as_str().as_bytes(), &[0]].concat()
    }

    /// The common beginning of the keys of everything inside of a document, under one method.
    pub(super) fn inside_of(repository: &RepositoryName, path: &DocumentPath, method_id: MethodId) -> Vec<u8> {
        [repository.as_str().as_bytes(), &[0], path.as_bytes(), &[0], &method_id.0].concat()
    }
}

fn split_repository(bytes: &[u8]) -> Option<(RepositoryName, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let repository = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    Some((repository, &bytes[end + 1..]))
}

#[derive(Clone, PartialEq, prost::Message)]
struct DocumentRow {
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
    results: Vec<ResultRow>,
    #[prost(bytes = "vec", tag = "7")]
    bytes_digest: Vec<u8>,
    #[prost(bytes = "vec", tag = "8")]
    hashes: Vec<u8>,
    /// 1 for the first guess, so that a row without one counts as missing.
    #[prost(uint32, tag = "10")]
    candidate: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResultRow {
    #[prost(bytes = "vec", tag = "1")]
    method_id: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    own: Option<PartRow>,
    #[prost(uint32, tag = "3")]
    inside: u32,
    #[prost(fixed64, optional, tag = "4")]
    recognition: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PartRow {
    #[prost(enumeration = "DocumentState", tag = "1")]
    state: i32,
    #[prost(bytes = "vec", tag = "2")]
    digest: Vec<u8>,
    #[prost(uint64, tag = "3")]
    size_bytes: u64,
    #[prost(uint64, tag = "4")]
    chunk_count: u64,
    #[prost(message, optional, tag = "5")]
    location: Option<LocationRow>,
    #[prost(bytes = "vec", tag = "6")]
    message_id_hash: Vec<u8>,
    /// The path of a document that is inside of another.
    #[prost(bytes = "vec", tag = "7")]
    path: Vec<u8>,
    /// The window sample of its content.
    #[prost(bytes = "vec", tag = "8")]
    sample: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LocationRow {
    #[prost(uint64, tag = "1")]
    file: u64,
    #[prost(uint64, tag = "2")]
    offset: u64,
    #[prost(uint64, tag = "3")]
    length_bytes: u64,
}

/// The size of all lists: bytes and files.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ListSize {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// A value of the cache, as bytes and back.
pub(super) trait Value: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    /// Reads the bytes of [`Value::to_bytes`]; `None` where they are not valid.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Value for KnownDocument {
    fn to_bytes(&self) -> Vec<u8> {
        let result = |result: &MethodResult| ResultRow {
            method_id: result.method_id.0.to_vec(),
            own: Some(PartRow::from(&result.own)),
            inside: result.inside,
            recognition: result.recognition,
        };
        let row = DocumentRow {
            length_bytes: self.stamp.length_bytes,
            modified_ns: self.stamp.modified_ns,
            changed_ns: self.stamp.changed_ns,
            inode: self.stamp.inode,
            class: self.class.into(),
            results: self.results.iter().map(result).collect(),
            bytes_digest: self.bytes_digest.map(Vec::from).unwrap_or_default(),
            hashes: self.hashes.to_bytes(),
            candidate: self.candidate as u32 + 1,
        };
        row.encode_to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<KnownDocument> {
        let row = DocumentRow::decode(bytes).ok()?;
        let class = row.class();
        let result = |row: ResultRow| {
            let method_id = MethodId(row.method_id.as_slice().try_into().ok()?);
            let ResultRow { inside, recognition, .. } = row;
            Some(MethodResult { method_id, own: row.own?.part()?, inside, recognition })
        };
        Some(KnownDocument {
            stamp: Stamp {
                length_bytes: row.length_bytes,
                modified_ns: row.modified_ns,
                changed_ns: row.changed_ns,
                inode: row.inode,
            },
            class,
            candidate: candidate(row.candidate)?,
            bytes_digest: optional_16(&row.bytes_digest)?,
            hashes: FileHashes::from_bytes(&row.hashes)?,
            results: row.results.into_iter().map(result).collect::<Option<_>>()?,
        })
    }
}

/// A guess by its number.
fn candidate(number: u32) -> Option<Candidate> {
    let all = [Candidate::No, Candidate::Picture, Candidate::Document];
    all.into_iter().find(|candidate| *candidate as u32 + 1 == number)
}

/// Documents inside of another that a row has. A row for each would be an update of a page of the database each, which stays in memory
/// until the page is written: a hundred thousand of them took some hundred megabytes.
pub(super) const PARTS_PER_ROW: usize = 64;

/// Documents inside of another that follow each other, with their full paths.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Parts(pub(super) Vec<(DocumentPath, StoredPart)>);

#[derive(Clone, PartialEq, prost::Message)]
struct PartsRow {
    #[prost(message, repeated, tag = "1")]
    parts: Vec<PartRow>,
}

impl Value for Parts {
    fn to_bytes(&self) -> Vec<u8> {
        let row = |(path, part): &(DocumentPath, StoredPart)| PartRow {
            path: path.as_bytes().to_vec(),
            ..PartRow::from(part)
        };
        PartsRow { parts: self.0.iter().map(row).collect() }.encode_to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Parts> {
        let part = |row: PartRow| Some((DocumentPath::new(&row.path).ok()?, row.part()?));
        let parts = PartsRow::decode(bytes).ok()?.parts.into_iter().map(part).collect::<Option<Vec<_>>>()?;
        (1..=PARTS_PER_ROW).contains(&parts.len()).then_some(Parts(parts))
    }
}

impl Value for Location {
    fn to_bytes(&self) -> Vec<u8> {
        LocationRow::from(*self).encode_to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Location> {
        Some(LocationRow::decode(bytes).ok()?.into())
    }
}

impl Value for LastSync {
    fn to_bytes(&self) -> Vec<u8> {
        let seconds = self.seconds.to_be_bytes();
        let numbers = [self.documents, self.files, self.root.0, self.root.1].map(u64::to_be_bytes);
        [&numbers.concat()[..], &seconds].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<LastSync> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let &[documents, files, device, inode, seconds] = numbers else { return None };
        let [documents, files, device, inode] = [documents, files, device, inode].map(u64::from_be_bytes);
        Some(LastSync { documents, files, root: (device, inode), seconds: i64::from_be_bytes(seconds) })
    }
}

impl Value for ListSize {
    fn to_bytes(&self) -> Vec<u8> {
        [self.bytes.to_be_bytes(), self.files.to_be_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<ListSize> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let &[bytes, files] = numbers else { return None };
        Some(ListSize { bytes: u64::from_be_bytes(bytes), files: u64::from_be_bytes(files) })
    }
}

impl Value for u32 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<u32> {
        bytes.try_into().ok().map(u32::from_be_bytes)
    }
}

impl From<&StoredPart> for PartRow {
    fn from(part: &StoredPart) -> PartRow {
        let mut row = PartRow {
            state: part.state.into(),
            message_id_hash: part.message_id_hash.map(Vec::from).unwrap_or_default(),
            ..PartRow::default()
        };
        if let Some((content, location)) = &part.list {
            row.digest = content.digest.0.to_vec();
            (row.size_bytes, row.chunk_count) = (content.size_bytes, content.chunk_count);
            row.sample = content.sample.as_bytes().to_vec();
            row.location = Some((*location).into());
        }
        row
    }
}

impl PartRow {
    fn part(self) -> Option<StoredPart> {
        let list = match self.location.clone() {
            None => None,
            Some(location) => {
                let digest = ContentDigest(self.digest.as_slice().try_into().ok()?);
                let sample = WindowSample::from_bytes(self.sample.clone())?;
                let content = Content { size_bytes: self.size_bytes, chunk_count: self.chunk_count, digest, sample };
                Some((content, location.into()))
            }
        };
        let state = DocumentState::try_from(self.state).ok()?;
        // A document that was read has a content, and no other has one.
        let is_consistent = state.has_content() == list.is_some() && state != DocumentState::Changing;
        is_consistent.then_some(StoredPart { state, list, message_id_hash: optional_16(&self.message_id_hash)? })
    }
}

impl From<Location> for LocationRow {
    fn from(Location { file, offset, length_bytes }: Location) -> LocationRow {
        LocationRow { file, offset, length_bytes }
    }
}

impl From<LocationRow> for Location {
    fn from(LocationRow { file, offset, length_bytes }: LocationRow) -> Location {
        Location { file, offset, length_bytes }
    }
}

/// Sixteen bytes or none; the outer `None`: another length.
fn optional_16(bytes: &[u8]) -> Option<Option<[u8; 16]>> {
    match bytes {
        [] => Some(None),
        bytes => Some(Some(bytes.try_into().ok()?)),
    }
}

#[cfg(test)]
mod tests;
