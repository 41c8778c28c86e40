//! The log of what was sent of one index.
//!
//! File: the epoch (u64, little-endian), then records of length (u32), checksum (8 bytes) and an encoded [`LogRecord`].

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use cognate_fingerprint::{Content, ContentDigest};
use cognate_proto::batch::DocumentRow;
use cognate_proto::v1;
use prost::Message as _;

pub(super) const EPOCH_BYTES: u64 = 8;
const HEADER_BYTES: usize = 4 + 8;
const RECORD_BYTES_MAX: usize = 4 << 20;
/// Number of rows in one record of a rewritten log.
pub(super) const SNAPSHOT_ROWS: usize = 4096;
/// Bytes of all paths of one record, at most: a snapshot in which every path has the greatest length.
const RECORD_PATH_BYTES_MAX: usize = SNAPSHOT_ROWS * cognate_proto::limits::PATH_BYTES_MAX;

/// Size in bytes and number of chunks of a content.
pub(super) type ContentNumbers = (u64, u64);

/// The rows of one batch.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LogRecord {
    #[prost(uint64, tag = "1")]
    pub(super) sequence: u64,
    #[prost(message, optional, tag = "2")]
    documents: Option<v1::DocumentTable>,
    #[prost(bytes = "vec", tag = "3")]
    content_digests: Vec<u8>,
    #[prost(uint64, repeated, tag = "4")]
    content_sizes: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    content_chunk_counts: Vec<u64>,
}

impl LogRecord {
    pub(super) fn new(sequence: u64, documents: &[DocumentRow], contents: &[Content]) -> LogRecord {
        LogRecord {
            sequence,
            documents: Some(v1::DocumentTable::from_rows(documents, &HashMap::new())),
            content_digests: contents.iter().flat_map(|content| content.digest.0).collect(),
            content_sizes: contents.iter().map(|content| content.size_bytes).collect(),
            content_chunk_counts: contents.iter().map(|content| content.chunk_count).collect(),
        }
    }

    /// The rows of the documents; `None` where the record is not valid.
    pub(super) fn documents(&self) -> Option<Vec<DocumentRow>> {
        self.documents.as_ref().map_or(Some(Vec::new()), |table| table.rows(&[], RECORD_PATH_BYTES_MAX).ok())
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = Content> + '_ {
        let numbers = self.content_sizes.iter().copied().zip(self.content_chunk_counts.iter().copied());
        let digests = self.content_digests.as_chunks::<16>().0.iter().map(|digest| ContentDigest(*digest));
        digests.zip(numbers).map(|(digest, numbers)| content(digest, numbers))
    }
}

pub(super) fn content(digest: ContentDigest, (size_bytes, chunk_count): ContentNumbers) -> Content {
    Content { size_bytes, chunk_count, digest }
}

/// An open log.
pub(super) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Opens a log to append to it, or creates an empty file.
    pub(super) fn open(path: &Path) -> io::Result<Log> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        Ok(Log { path: path.to_owned(), file })
    }

    /// Opens an existing log that will only be read; `None` if there is none.
    pub(super) fn open_to_read(path: &Path) -> io::Result<Option<Log>> {
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => Ok(Some(Log { path: path.to_owned(), file: opened? })),
        }
    }

    /// Reads the log from its beginning; `None` if it has no epoch.
    pub(super) fn read(&self) -> io::Result<Option<(u64, Records)>> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(&self.path)?);
        let mut epoch = [0; 8];
        let is_there = read_all(&mut file, &mut epoch)?;
        Ok(is_there.then_some((u64::from_le_bytes(epoch), Records { file, end: EPOCH_BYTES })))
    }

    pub(super) fn append(&mut self, record: &LogRecord) -> io::Result<()> {
        let body = record.encode_to_vec();
        let length = u32::try_from(body.len()).expect("a record is about as large as a batch");
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&blake3::hash(&body).as_bytes()[..8]);
        bytes.extend_from_slice(&body);
        self.file.write_all(&bytes)
    }

    /// Removes everything after `end`.
    pub(super) fn cut(&self, end: u64) -> io::Result<()> {
        self.file.set_len(end)
    }

    /// Empties the log and starts it under an epoch.
    pub(super) fn restart(&mut self, epoch: u64) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all(&epoch.to_le_bytes())
    }

    /// Replaces the log by one that holds only the given records.
    pub(super) fn replace(&mut self, epoch: u64, records: impl Iterator<Item = LogRecord>) -> io::Result<()> {
        let fresh = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&fresh)?;
        file.write_all(&epoch.to_le_bytes())?;
        let mut snapshot = Log { path: fresh.clone(), file };
        for record in records {
            snapshot.append(&record)?;
        }
        std::fs::rename(&fresh, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        Ok(())
    }
}

/// The records of a log, one after the other.
pub(super) struct Records {
    file: BufReader<File>,
    end: u64,
}

impl Records {
    /// The next record and its end in the file; `None` at the end of the file and before a damaged record.
    pub(super) fn next(&mut self) -> io::Result<Option<(LogRecord, u64)>> {
        let mut header = [0; HEADER_BYTES];
        if !read_all(&mut self.file, &mut header)? {
            return Ok(None);
        }
        let (length, sum) = header.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        if length > RECORD_BYTES_MAX {
            return Ok(None);
        }
        let mut body = vec![0; length];
        if !read_all(&mut self.file, &mut body)? || &blake3::hash(&body).as_bytes()[..8] != sum {
            return Ok(None);
        }
        self.end += (HEADER_BYTES + length) as u64;
        Ok(LogRecord::decode(body.as_slice()).ok().map(|record| (record, self.end)))
    }
}

/// Fills the buffer; `false` if the file ends before.
fn read_all(reader: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
