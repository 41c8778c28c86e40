//! A segment: the append-only, checksummed file of the batches of one index, as they came. It is the record; everything
//! else about an index can be derived from it, including its site and method.
//!
//! All numbers are little-endian. The header:
//!
//! | part | bytes |
//! |---|---|
//! | magic `CGNATSEG` | 8 |
//! | version: 1 | 4 |
//! | length of the message | 4 |
//! | checksum of all the above and the message | 16 |
//! | message, an encoded [`SegmentHeader`] | |
//!
//! Then records:
//!
//! | part | bytes |
//! |---|---|
//! | length of the body | 4 |
//! | kind, see [`Kind`] | 1 |
//! | sequence of the batch | 8 |
//! | digest of the body | 16 |
//! | checksum of the header's checksum and all the above, so that records of another segment do not pass | 8 |
//! | body | |
//!
//! Checksums and digests are BLAKE3, cut short.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use cognate_durable::whole::sync_folder_of;
use cognate_proto::batch::body_digest;
use cognate_proto::limits::BATCH_BODY_BYTES_MAX;
use cognate_proto::v1;
use prost::Message as _;

use crate::error::Error;

const MAGIC: &[u8; 8] = b"CGNATSEG";
const VERSION: u32 = 1;
const FIXED_BYTES: usize = 8 + 4 + 4 + 16;
/// Names and a method: far less than this.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
const RECORD_HEADER_BYTES: usize = 4 + 1 + 8 + 16 + 8;
const SUMMED_BYTES: usize = RECORD_HEADER_BYTES - 8;

/// Size of a record with the largest body: the most that an incomplete tail can have.
pub(crate) const RECORD_BYTES_MAX: u64 = (RECORD_HEADER_BYTES + BATCH_BODY_BYTES_MAX) as u64;

/// Whose batches a segment holds.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SegmentHeader {
    #[prost(string, tag = "1")]
    pub(crate) site: String,
    #[prost(string, tag = "2")]
    pub(crate) repository: String,
    /// With its `method_id`.
    #[prost(message, optional, tag = "3")]
    pub method: Option<v1::MethodSpec>,
    #[prost(fixed64, tag = "4")]
    pub(crate) epoch: u64,
    #[prost(uint32, tag = "5")]
    pub(crate) chunk_bytes_max: u32,
    /// True if the site fingerprinted with a key.
    #[prost(bool, tag = "6")]
    pub keyed: bool,
    /// Digest of the chosen contents: 16 bytes; none: all of the repository.
    #[prost(bytes = "vec", tag = "7")]
    pub scope: Vec<u8>,
}

/// Kinds of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A batch, as it came.
    Batch = 1,
    /// An encoded [`SealRecord`]: both sides had the same after the batch of this sequence.
    Seal = 2,
    /// An encoded [`BaseRecord`]: the batches up to this sequence have been compacted.
    Base = 3,
    /// A piece of the compacted batches, in the form of a batch's body. All pieces have the sequence of the base.
    Compacted = 4,
}

/// Agreement of site and coordinator at the end of a sync.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SealRecord {
    /// 32 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) root: Vec<u8>,
    /// Seconds since 1970.
    #[prost(sint64, tag = "2")]
    pub time: i64,
    /// Order of seals; greater than that of any seal before it at this coordinator.
    #[prost(uint64, tag = "3")]
    pub(crate) number: u64,
    /// Summary that the sync sent next to the index. It comes after the seal, which is then written once more.
    #[prost(message, optional, tag = "4")]
    pub(crate) summary: Option<v1::SyncSummary>,
    /// The site's fingerprint of a known text: 16 bytes or none.
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) canary: Vec<u8>,
}

/// State of compacted batches, besides the rows of the index.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BaseRecord {
    /// The sum of the row hashes of contents that no document had any more: they are part of the root for ever.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) dropped_root: Vec<u8>,
    /// The chain over the digests of the batches, and what their bodies came to.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) head: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub(crate) body_bytes: u64,
    /// Digests of the last of them, 16 bytes each; they distinguish a repetition from a contradiction.
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) digests: Vec<u8>,
}

/// One record as it is stored.
#[derive(Debug)]
pub struct Record {
    pub(crate) kind: Kind,
    pub(crate) sequence: u64,
    pub(crate) digest: [u8; 16],
    pub(crate) body: Vec<u8>,
    /// End of the record in the file.
    pub(crate) end: u64,
}

/// Appends records.
pub struct SegmentWriter {
    path: PathBuf,
    file: BufWriter<File>,
    sum: [u8; 16],
    end: u64,
    durable: bool,
}

impl SegmentWriter {
    /// Opens a segment whose first `committed_bytes` count, or creates it if there are none. Bytes after them were
    /// never acknowledged and is cut off.
    pub(crate) fn open(
        path: &Path,
        header: &SegmentHeader,
        committed_bytes: u64,
        durable: bool,
    ) -> Result<SegmentWriter, Error> {
        let (encoded, sum) = encode_header(header);
        let open = || -> io::Result<(File, u64)> {
            let mut file = OpenOptions::new().append(true).create(true).open(path)?;
            if file.metadata()?.len() < committed_bytes {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it is shorter than what was acknowledged"));
            }
            file.set_len(committed_bytes)?;
            let mut end = committed_bytes;
            if end == 0 {
                file.write_all(&encoded)?;
                end = encoded.len() as u64;
            }
            Ok((file, end))
        };
        let (file, end) = open().map_err(Error::state(path))?;
        if durable {
            // The name must survive a loss of power as well as the bytes.
            file.sync_all().and_then(|()| sync_folder_of(path)).map_err(Error::sync(path))?;
        }
        let file = BufWriter::with_capacity(1 << 18, file);
        Ok(SegmentWriter { path: path.to_owned(), file, sum, end, durable })
    }

    /// Appends a batch whose digest has been checked.
    pub(crate) fn append(&mut self, sequence: u64, digest: [u8; 16], body: &[u8]) -> Result<(), Error> {
        self.write(Kind::Batch, sequence, digest, body)
    }

    /// Appends a record of another kind.
    pub(crate) fn append_record(&mut self, kind: Kind, sequence: u64, body: &[u8]) -> Result<(), Error> {
        self.write(kind, sequence, body_digest(body), body)
    }

    fn write(&mut self, kind: Kind, sequence: u64, digest: [u8; 16], body: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(body.len()).expect("bodies are limited");
        let mut header = [0; RECORD_HEADER_BYTES];
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4] = kind as u8;
        header[5..13].copy_from_slice(&sequence.to_le_bytes());
        header[13..SUMMED_BYTES].copy_from_slice(&digest);
        let sum = record_sum(&self.sum, &header[..SUMMED_BYTES]);
        header[SUMMED_BYTES..].copy_from_slice(&sum);
        let written = self.file.write_all(&header).and_then(|()| self.file.write_all(body));
        written.map_err(Error::state(&self.path))?;
        self.end += (RECORD_HEADER_BYTES + body.len()) as u64;
        Ok(())
    }

    /// Length of the segment with all appended records.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Brings what was appended to the disk, and answers how much there is.
    pub(crate) fn commit(&mut self) -> Result<u64, Error> {
        self.file.flush().map_err(Error::state(&self.path))?;
        crate::failpoint!("ingest.after_write");
        if self.durable {
            self.file.get_ref().sync_data().map_err(Error::sync(&self.path))?;
        }
        crate::failpoint!("ingest.after_seg_fsync");
        Ok(self.end)
    }
}

/// Reads a segment from its beginning, or from a place where a record begins.
pub struct SegmentReader {
    path: PathBuf,
    reader: BufReader<File>,
    header: SegmentHeader,
    sum: [u8; 16],
    at: u64,
    /// True if the file ended within the record that was read last.
    ran_out: bool,
}

/// The next item of a segment.
pub enum Next {
    /// A record that matches its checksum.
    Record(Record),
    /// The file ends where a record ends.
    End,
    /// No complete record follows: it was never finished, or is damaged.
    Broken,
}

impl SegmentReader {
    /// Opens a segment and checks its header.
    pub(crate) fn open(path: &Path) -> Result<SegmentReader, Error> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged(path, "it is gone")),
            opened => opened.map_err(Error::state(path))?,
        };
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut fixed = [0; FIXED_BYTES];
        if !filled(&mut reader, &mut fixed).map_err(Error::state(path))? {
            return Err(damaged(path, "its header is cut short at byte 0"));
        }
        if fixed[..8] != MAGIC[..] {
            return Err(damaged(path, "it does not begin like a segment, at byte 0"));
        }
        let word = |place: usize| u32::from_le_bytes(fixed[place..place + 4].try_into().expect("four bytes"));
        let (version, length) = (word(8), word(12) as usize);
        if length > MESSAGE_BYTES_MAX {
            return Err(damaged(path, "its header does not match its checksum, at byte 0"));
        }
        let mut message = vec![0; length];
        let complete = filled(&mut reader, &mut message).map_err(Error::state(path))?;
        let sum = header_sum(&fixed[..16], &message);
        if !complete || sum != fixed[16..] {
            return Err(damaged(path, "its header does not match its checksum, at byte 0"));
        }
        if version != VERSION {
            return Err(Error::OtherVersion { path: path.to_owned(), found: version, known: VERSION });
        }
        let header = SegmentHeader::decode(message.as_slice());
        let header = header.map_err(|_| damaged(path, "its header cannot be read, at byte 0"))?;
        Ok(SegmentReader {
            path: path.to_owned(),
            reader,
            header,
            sum,
            at: (FIXED_BYTES + length) as u64,
            ran_out: false,
        })
    }

    pub(crate) fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Position of the next record.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// True if the last record is broken because the file ends within it, and not because its bytes are wrong.
    pub(crate) fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// Goes on at a place where a record begins.
    pub(crate) fn seek(&mut self, at: u64) -> Result<(), Error> {
        self.reader.seek(SeekFrom::Start(at)).map_err(Error::state(&self.path))?;
        self.at = at;
        Ok(())
    }

    /// The next record, checked.
    pub(crate) fn next(&mut self) -> Result<Next, Error> {
        let next = self.read_record().map_err(Error::state(&self.path))?;
        if let Next::Record(record) = &next {
            self.at = record.end;
        }
        Ok(next)
    }

    fn read_record(&mut self) -> io::Result<Next> {
        if self.reader.fill_buf()?.is_empty() {
            return Ok(Next::End);
        }
        let mut header = [0; RECORD_HEADER_BYTES];
        self.ran_out = !filled(&mut self.reader, &mut header)?;
        if self.ran_out || record_sum(&self.sum, &header[..SUMMED_BYTES]) != header[SUMMED_BYTES..] {
            return Ok(Next::Broken);
        }
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        let kind = match header[4] {
            1 => Kind::Batch,
            2 => Kind::Seal,
            3 => Kind::Base,
            4 => Kind::Compacted,
            _ => return Ok(Next::Broken),
        };
        if length > BATCH_BODY_BYTES_MAX {
            return Ok(Next::Broken);
        }
        let digest = header[13..SUMMED_BYTES].try_into().expect("sixteen bytes");
        let mut body = vec![0; length];
        self.ran_out = !filled(&mut self.reader, &mut body)?;
        if self.ran_out || body_digest(&body) != digest {
            return Ok(Next::Broken);
        }
        let sequence = u64::from_le_bytes(header[5..13].try_into().expect("eight bytes"));
        let end = self.at + (RECORD_HEADER_BYTES + length) as u64;
        Ok(Next::Record(Record { kind, sequence, digest, body, end }))
    }
}

/// Reads the records of the first `committed_bytes` of a segment, checking every one.
pub(crate) fn read(
    path: &Path,
    committed_bytes: u64,
    mut each: impl FnMut(Record) -> Result<(), Error>,
) -> Result<(), Error> {
    if committed_bytes == 0 {
        return Ok(());
    }
    let mut reader = SegmentReader::open(path)?;
    while reader.at() < committed_bytes {
        let at = reader.at();
        match reader.next()? {
            Next::Record(record) if record.end <= committed_bytes => each(record)?,
            Next::Record(_) => return Err(damaged(path, &format!("a record reaches beyond the end at byte {at}"))),
            Next::Broken => return Err(damaged(path, &format!("a record does not match its checksum at byte {at}"))),
            Next::End => return Err(damaged(path, &format!("it is cut short at byte {at}"))),
        }
    }
    Ok(())
}

fn encode_header(header: &SegmentHeader) -> (Vec<u8>, [u8; 16]) {
    let message = header.encode_to_vec();
    let mut encoded = Vec::with_capacity(FIXED_BYTES + message.len());
    encoded.extend_from_slice(MAGIC);
    encoded.extend_from_slice(&VERSION.to_le_bytes());
    encoded.extend_from_slice(&u32::try_from(message.len()).expect("names are short").to_le_bytes());
    let sum = header_sum(&encoded, &message);
    encoded.extend_from_slice(&sum);
    encoded.extend_from_slice(&message);
    (encoded, sum)
}

fn header_sum(fixed: &[u8], message: &[u8]) -> [u8; 16] {
    cut(blake3::Hasher::new().update(fixed).update(message).finalize())
}

fn record_sum(header_sum: &[u8; 16], record_header: &[u8]) -> [u8; 8] {
    cut(blake3::Hasher::new().update(header_sum).update(record_header).finalize())
}

fn cut<const BYTES: usize>(hash: blake3::Hash) -> [u8; BYTES] {
    let mut sum = [0; BYTES];
    sum.copy_from_slice(&hash.as_bytes()[..BYTES]);
    sum
}

fn filled(reader: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged(path: &Path, detail: &str) -> Error {
    Error::Corrupt { path: path.to_owned(), detail: detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> SegmentHeader {
        SegmentHeader { site: "a".into(), repository: "main".into(), epoch: 7, ..SegmentHeader::default() }
    }

    fn segment() -> (tempfile::TempDir, PathBuf, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.seg");
        let mut writer = SegmentWriter::open(&path, &header(), 0, true).unwrap();
        for (sequence, body) in [(1, &b"first"[..]), (2, b"second")] {
            writer.append(sequence, body_digest(body), body).unwrap();
        }
        let committed_bytes = writer.commit().unwrap();
        writer.append(3, body_digest(b"never acknowledged"), b"never acknowledged").unwrap();
        drop(writer);
        (folder, path, committed_bytes)
    }

    fn bodies(path: &Path, committed_bytes: u64) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut bodies = vec![];
        read(path, committed_bytes, |record| {
            bodies.push((record.sequence, record.body));
            Ok(())
        })?;
        Ok(bodies)
    }

    #[test]
    fn what_was_acknowledged_is_read_back_and_what_was_not_is_cut_off() {
        let (_folder, path, committed_bytes) = segment();
        let expected = vec![(1, b"first".to_vec()), (2, b"second".to_vec())];
        assert_eq!(bodies(&path, committed_bytes).unwrap(), expected);
        let mut writer = SegmentWriter::open(&path, &header(), committed_bytes, false).unwrap();
        writer.append(3, body_digest(b"third"), b"third").unwrap();
        let end = writer.commit().unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), end);
        assert_eq!(bodies(&path, end).unwrap()[2], (3, b"third".to_vec()));
    }

    #[test]
    fn a_segment_says_whose_it_is() {
        let (_folder, path, _) = segment();
        assert_eq!(*SegmentReader::open(&path).unwrap().header(), header());
    }

    #[test]
    fn a_flipped_bit_is_found_and_its_place_is_named() {
        let (_folder, path, committed_bytes) = segment();
        let intact = std::fs::read(&path).unwrap();
        for position in 0..usize::try_from(committed_bytes).unwrap() {
            let mut damaged = intact.clone();
            damaged[position] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            let error = bodies(&path, committed_bytes).unwrap_err().to_string();
            assert!(error.contains("1.seg") && error.contains("at byte"), "{error}");
        }
    }

    #[test]
    fn a_torn_end_differs_from_the_end_and_the_records_before_it_are_good() {
        let (_folder, path, committed_bytes) = segment();
        let intact = std::fs::read(&path).unwrap();
        for length in committed_bytes..intact.len() as u64 {
            std::fs::write(&path, &intact[..usize::try_from(length).unwrap()]).unwrap();
            let mut reader = SegmentReader::open(&path).unwrap();
            assert!(matches!(reader.next().unwrap(), Next::Record(Record { sequence: 1, .. })));
            assert!(matches!(reader.next().unwrap(), Next::Record(Record { sequence: 2, .. })));
            let end = reader.next().unwrap();
            assert!(if length == committed_bytes { matches!(end, Next::End) } else { matches!(end, Next::Broken) });
            assert_eq!(reader.at(), committed_bytes);
        }
    }

    #[test]
    fn a_segment_of_another_version_is_refused_and_the_version_is_named() {
        let (_folder, path, _) = segment();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[8] = 2;
        let message = bytes[FIXED_BYTES..FIXED_BYTES + header().encoded_len()].to_vec();
        let sum = header_sum(&bytes[..16], &message);
        bytes[16..FIXED_BYTES].copy_from_slice(&sum);
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(SegmentReader::open(&path), Err(Error::OtherVersion { found: 2, known: 1, .. })));
    }

    #[test]
    fn a_record_of_another_segment_does_not_pass() {
        let (folder, path, committed_bytes) = segment();
        let other = folder.path().join("2.seg");
        let mut writer =
            SegmentWriter::open(&other, &SegmentHeader { site: "b".into(), ..header() }, 0, false).unwrap();
        writer.append(1, body_digest(b"first"), b"first").unwrap();
        let end = usize::try_from(writer.commit().unwrap()).unwrap();
        let (mut mine, theirs) = (std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap());
        let record = end - RECORD_HEADER_BYTES - 5;
        mine[record..end].copy_from_slice(&theirs[record..end]);
        std::fs::write(&path, mine).unwrap();
        assert!(bodies(&path, committed_bytes).is_err());
    }

    #[test]
    fn a_segment_shorter_than_what_was_acknowledged_is_refused() {
        let (_folder, path, committed_bytes) = segment();
        std::fs::write(&path, b"short").unwrap();
        assert!(bodies(&path, committed_bytes).is_err());
        assert!(SegmentWriter::open(&path, &header(), committed_bytes, false).is_err());
    }
}
