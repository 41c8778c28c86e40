//! A segment: the append-only, checksummed file of the batches of one index, as they came. It is the record; everything
//! else about an index can be made from it.
//!
//! Record: length of the body (u32), sequence (u64), digest of the body (16 bytes), checksum of those three (8 bytes),
//! body. All numbers are little-endian.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use cognate_proto::batch::body_digest;
use cognate_proto::limits::BATCH_BODY_BYTES_MAX;

use crate::error::Error;

const HEADER_BYTES: usize = 4 + 8 + 16 + 8;

/// One batch as it is stored.
pub(crate) struct Record {
    pub(crate) sequence: u64,
    pub(crate) digest: [u8; 16],
    pub(crate) body: Vec<u8>,
}

/// Appends records.
pub(crate) struct SegmentWriter {
    path: PathBuf,
    file: BufWriter<File>,
    end: u64,
    durable: bool,
}

impl SegmentWriter {
    /// Opens or makes a segment whose first `committed_bytes` count. What lies beyond was never acknowledged and is cut
    /// off.
    pub(crate) fn open(path: &Path, committed_bytes: u64, durable: bool) -> Result<SegmentWriter, Error> {
        let open = || -> io::Result<File> {
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            if file.metadata()?.len() < committed_bytes {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it is shorter than what was acknowledged"));
            }
            file.set_len(committed_bytes)?;
            if durable {
                // The name must survive a loss of power as well as the bytes.
                file.sync_all()?;
                path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
            }
            Ok(file)
        };
        let file = open().map_err(Error::state(path))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        Ok(SegmentWriter { path: path.to_owned(), file, end: committed_bytes, durable })
    }

    /// Appends a batch whose digest has been checked.
    pub(crate) fn append(&mut self, sequence: u64, digest: [u8; 16], body: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(body.len()).expect("bodies are limited");
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4..12].copy_from_slice(&sequence.to_le_bytes());
        header[12..28].copy_from_slice(&digest);
        let sum = checksum(&header[..28]);
        header[28..].copy_from_slice(&sum);
        let written = self.file.write_all(&header).and_then(|()| self.file.write_all(body));
        written.map_err(Error::state(&self.path))?;
        self.end += (HEADER_BYTES + body.len()) as u64;
        Ok(())
    }

    /// Brings what was appended to the disk, and answers how much there is.
    pub(crate) fn commit(&mut self) -> Result<u64, Error> {
        let durable = self.durable;
        let synced = self.file.flush().and_then(|()| if durable { self.file.get_ref().sync_data() } else { Ok(()) });
        synced.map_err(Error::state(&self.path))?;
        Ok(self.end)
    }
}

/// Reads the records of the first `committed_bytes` of a segment, checking every one.
pub(crate) fn read(
    path: &Path,
    committed_bytes: u64,
    mut each: impl FnMut(Record) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rest = committed_bytes;
    if rest == 0 {
        return Ok(());
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Corrupt { path: path.to_owned(), detail: "it is gone".to_owned() });
        }
        Err(error) => return Err(Error::state(path)(error)),
    };
    let mut reader = BufReader::with_capacity(1 << 18, file);
    while rest > 0 {
        let damaged = |detail: &str| Error::Corrupt {
            path: path.to_owned(),
            detail: format!("{detail} at byte {}", committed_bytes - rest),
        };
        let record = read_record(&mut reader).map_err(Error::state(path))?;
        let record = record.ok_or_else(|| damaged("a record does not match its checksum"))?;
        let record_bytes = (HEADER_BYTES + record.body.len()) as u64;
        rest = rest.checked_sub(record_bytes).ok_or_else(|| damaged("a record reaches beyond the end"))?;
        each(record)?;
    }
    Ok(())
}

fn read_record(reader: &mut impl io::Read) -> io::Result<Option<Record>> {
    let mut header = [0; HEADER_BYTES];
    if !filled(reader, &mut header)? || checksum(&header[..28]) != header[28..] {
        return Ok(None);
    }
    let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
    if length > BATCH_BODY_BYTES_MAX {
        return Ok(None);
    }
    let digest = header[12..28].try_into().expect("sixteen bytes");
    let mut body = vec![0; length];
    if !filled(reader, &mut body)? || body_digest(&body) != digest {
        return Ok(None);
    }
    let sequence = u64::from_le_bytes(header[4..12].try_into().expect("eight bytes"));
    Ok(Some(Record { sequence, digest, body }))
}

fn filled(reader: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn checksum(header: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&blake3::hash(header).as_bytes()[..8]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> (tempfile::TempDir, PathBuf, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.seg");
        let mut writer = SegmentWriter::open(&path, 0, true).unwrap();
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
        let mut writer = SegmentWriter::open(&path, committed_bytes, false).unwrap();
        writer.append(3, body_digest(b"third"), b"third").unwrap();
        let end = writer.commit().unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), end);
        assert_eq!(bodies(&path, end).unwrap()[2], (3, b"third".to_vec()));
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
    fn a_segment_shorter_than_what_was_acknowledged_is_refused() {
        let (_folder, path, committed_bytes) = segment();
        std::fs::write(&path, b"short").unwrap();
        assert!(bodies(&path, committed_bytes).is_err());
        assert!(SegmentWriter::open(&path, committed_bytes, false).is_err());
    }
}
