//! The log of what was sent of one index.
//!
//! A log of [`cognate_durable`]. Its first record is the epoch (u64, little-endian) and a byte that is 1 if contents have their
//! samples; each of the others is an encoded
//! [`LogRecord`]. It is never synced, see [`SentState`](super::SentState).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use cognate_durable::log::{Format, Next, OpenError, Place};
use cognate_durable::whole::{Draft, PUBLIC};
use cognate_fingerprint::ContentDigest;
use cognate_proto::batch::DocumentRow;
use cognate_proto::v1;
use prost::Message as _;

/// Number of rows in one record of a rewritten log.
pub(super) const SNAPSHOT_ROWS: usize = 4096;
/// Bytes of all paths of one record, at most: a snapshot in which every path has the greatest length.
const RECORD_PATH_BYTES_MAX: usize = SNAPSHOT_ROWS * cognate_proto::limits::PATH_BYTES_MAX;
/// With paths of the greatest length, the other columns take far less than they.
const FORMAT: Format = Format { magic: b"cognate sent 1\n", record_bytes_max: 2 * RECORD_PATH_BYTES_MAX };

/// One upload of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IndexUpload {
    /// Its epoch.
    pub(crate) epoch: u64,
    /// True if its contents have their samples: all of them, or none has.
    pub(crate) samples: bool,
}

/// What the row of a content consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ContentNumbers {
    pub(super) size_bytes: u64,
    pub(super) chunk_count: u64,
    /// The digest of its sample; 0: it was sent without.
    pub(super) sample_digest: u64,
}

impl IndexUpload {
    fn to_bytes(self) -> [u8; 9] {
        let mut bytes = [u8::from(self.samples); 9];
        bytes[..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<IndexUpload> {
        let (epoch, samples) = bytes.split_first_chunk()?;
        let samples = match samples {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(IndexUpload { epoch: u64::from_le_bytes(*epoch), samples })
    }
}

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
    /// Empty if no content of the record has a sample.
    #[prost(fixed64, repeated, tag = "6")]
    content_sample_digests: Vec<u64>,
}

impl LogRecord {
    pub(super) fn new(
        sequence: u64,
        documents: &[DocumentRow],
        contents: &[(ContentDigest, ContentNumbers)],
    ) -> LogRecord {
        let numbers = || contents.iter().map(|(_, numbers)| numbers);
        let has_samples = numbers().any(|numbers| numbers.sample_digest != 0);
        let samples = numbers().filter(|_| has_samples).map(|numbers| numbers.sample_digest);
        LogRecord {
            sequence,
            documents: Some(v1::DocumentTable::from_rows(documents, &HashMap::new())),
            content_digests: contents.iter().flat_map(|(digest, _)| digest.0).collect(),
            content_sizes: numbers().map(|numbers| numbers.size_bytes).collect(),
            content_chunk_counts: numbers().map(|numbers| numbers.chunk_count).collect(),
            content_sample_digests: samples.collect(),
        }
    }

    /// The rows of the documents; `None` where the record is not valid.
    pub(super) fn documents(&self) -> Option<Vec<DocumentRow>> {
        self.documents.as_ref().map_or(Some(Vec::new()), |table| table.rows(&[], RECORD_PATH_BYTES_MAX).ok())
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = (ContentDigest, ContentNumbers)> + '_ {
        let counts = self.content_sizes.iter().copied().zip(self.content_chunk_counts.iter().copied());
        let samples = self.content_sample_digests.iter().copied().chain(std::iter::repeat(0));
        let numbers = counts.zip(samples).map(|((size_bytes, chunk_count), sample_digest)| ContentNumbers {
            size_bytes,
            chunk_count,
            sample_digest,
        });
        let digests = self.content_digests.as_chunks::<16>().0.iter().map(|digest| ContentDigest(*digest));
        digests.zip(numbers)
    }
}

/// An open log.
pub(super) struct Log {
    path: PathBuf,
    /// `None`: it is only read.
    writer: Option<cognate_durable::log::Log>,
}

impl Log {
    /// Opens a log, or creates one without an epoch. Call [`resume`](Log::resume) or [`restart`](Log::restart) before appending.
    pub(super) fn open(path: &Path) -> io::Result<Log> {
        let writer = cognate_durable::log::Log::open(path, FORMAT, PUBLIC, false)?;
        Ok(Log { path: path.to_owned(), writer: Some(writer) })
    }

    /// A log that will only be read.
    pub(super) fn to_read(path: &Path) -> Log {
        Log { path: path.to_owned(), writer: None }
    }

    /// Reads the log from its beginning; `None` if there is none, or it has no epoch.
    pub(super) fn read(&self) -> io::Result<Option<(IndexUpload, Records)>> {
        let mut records = match cognate_durable::log::Records::open(&self.path, FORMAT) {
            Ok(records) => records,
            Err(OpenError::OtherMagic(_)) => return Ok(None),
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(OpenError::Io(error)) => return Err(error),
        };
        let Next::Record(first) = records.next()? else { return Ok(None) };
        Ok(IndexUpload::from_bytes(&first).map(|upload| (upload, Records(records))))
    }

    pub(super) fn append(&mut self, record: &LogRecord) -> io::Result<()> {
        Ok(self.writer()?.append(&record.encode_to_vec())?)
    }

    /// Continues at a place to which [`Records`] came, and removes everything after it.
    pub(super) fn resume(&mut self, place: Place) -> io::Result<()> {
        self.writer()?.resume(place)
    }

    /// Empties the log and starts it for another upload.
    pub(super) fn restart(&mut self, upload: IndexUpload) -> io::Result<()> {
        let writer = self.writer()?;
        writer.restart()?;
        Ok(writer.append(&upload.to_bytes())?)
    }

    /// Replaces the log by one that holds only the given records.
    pub(super) fn replace(&mut self, upload: IndexUpload, records: impl Iterator<Item = LogRecord>) -> io::Result<()> {
        let draft = Draft::begin(&self.path)?;
        let mut snapshot = Log::open(draft.temporary())?;
        snapshot.restart(upload)?;
        for record in records {
            snapshot.append(&record)?;
        }
        draft.publish()?;
        self.writer = snapshot.writer;
        Ok(())
    }

    fn writer(&mut self) -> io::Result<&mut cognate_durable::log::Log> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("the log is only read"))
    }
}

/// The records of a log, one after the other.
pub(super) struct Records(cognate_durable::log::Records);

impl Records {
    /// The place of the next record.
    pub(super) fn place(&self) -> Place {
        self.0.place()
    }

    /// The next record; `None` at the end of the file and before a damaged record.
    pub(super) fn next(&mut self) -> io::Result<Option<LogRecord>> {
        let Next::Record(body) = self.0.next()? else { return Ok(None) };
        Ok(LogRecord::decode(body.as_slice()).ok())
    }
}
