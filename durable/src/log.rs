//! Logs: append-only files of records, each checked and chained to the one before it.
//!
//! A log begins with a magic, the same for all logs of a kind. Then records, all numbers little-endian:
//!
//! | part | bytes |
//! |---|---|
//! | length of the body | 4 |
//! | BLAKE3 of the hash of the record before (32 zero bytes at first) and the body | 32 |
//! | checksum of the above: BLAKE3, cut short | 8 |
//! | body | |
//!
//! By the chain, nothing can be changed, removed or inserted without showing. After a crash, the last record may be
//! incomplete, or have the right length and the wrong bytes, or be zeros. [`Records`] distinguishes these from damage
//! elsewhere; the owner of the log decides what it removes, and continues with [`Log::resume`].

mod records;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

pub use self::records::{Next, OpenError, Records};
use crate::whole::sync_folder_of;

/// Bytes of the hash of a record.
pub const HASH_BYTES: usize = 32;
/// Bytes in front of each body.
pub const HEADER_BYTES: usize = 4 + HASH_BYTES + 8;

/// A kind of log.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The first bytes of the file.
    pub magic: &'static [u8],
    /// The length of the longest body, in bytes.
    pub record_bytes_max: usize,
}

impl Format {
    /// The place of the first record.
    pub const fn start(&self) -> Place {
        Place { end: self.magic.len() as u64, hash: [0; HASH_BYTES] }
    }
}

/// A place between two records. The default is no place of any log: it comes before all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Place {
    /// Bytes of the file up to there.
    pub end: u64,
    /// The hash of the record before it; zeros at the first.
    pub hash: [u8; HASH_BYTES],
}

impl Place {
    /// The place after a record.
    fn after(self, body: &[u8]) -> Place {
        Place { end: self.end + (HEADER_BYTES + body.len()) as u64, hash: chained(&self.hash, body) }
    }
}

/// An open log, to append to it.
#[derive(Debug)]
pub struct Log {
    file: File,
    format: Format,
    place: Place,
}

/// The reason why a record was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The body is longer than the format allows. The log is as before.
    #[error("a record of {0} bytes is too long")]
    TooLong(usize),
    /// The disk refused it. The log is as before.
    #[error(transparent)]
    Refused(io::Error),
    /// The disk refused it, and a part of it could not be removed again.
    #[error(transparent)]
    Torn(io::Error),
}

impl From<AppendError> for io::Error {
    fn from(error: AppendError) -> io::Error {
        match error {
            AppendError::TooLong(_) => io::Error::new(io::ErrorKind::InvalidInput, error),
            AppendError::Refused(error) | AppendError::Torn(error) => error,
        }
    }
}

impl Log {
    /// Opens a log, or creates it with a mode, which the process' mask restricts; `durable`: a new one is synced with
    /// its folder. The log is at its first record: read [`Records`] and call [`resume`](Log::resume) before appending.
    ///
    /// # Errors
    /// Fails if it cannot be opened or created.
    pub fn open(path: &Path, format: Format, mode: u32, durable: bool) -> io::Result<Log> {
        let file = OpenOptions::new().read(true).append(true).create(true).mode(mode).open(path)?;
        let mut log = Log { file, format, place: format.start() };
        let length = log.file.metadata()?.len();
        // There is no record in it. A shorter file was not created completely, and after a loss of power it may have its
        // length and zeros.
        if length < format.start().end || (length == format.start().end && log.begins_with_zeros()?) {
            log.restart()?;
        }
        // A process that ended before the first record may have synced neither the file nor its name.
        if durable && length <= format.start().end {
            log.file.sync_all()?;
            sync_folder_of(path)?;
        }
        Ok(log)
    }

    fn begins_with_zeros(&self) -> io::Result<bool> {
        let mut magic = vec![0; self.format.magic.len()];
        self.file.read_exact_at(&mut magic, 0)?;
        Ok(magic.iter().all(|byte| *byte == 0))
    }

    /// Removes all records.
    ///
    /// # Errors
    /// Fails if the disk refuses it.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all(self.format.magic)?;
        self.place = self.format.start();
        Ok(())
    }

    /// Continues at a place to which [`Records`] came. All bytes after it are removed.
    ///
    /// # Errors
    /// Fails if they cannot be removed.
    pub fn resume(&mut self, place: Place) -> io::Result<()> {
        if self.file.metadata()?.len() != place.end {
            self.file.set_len(place.end)?;
        }
        self.place = place;
        Ok(())
    }

    /// The place after the last record.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Appends a record. It survives the process once this returns, and a loss of power after [`sync`](Log::sync).
    ///
    /// # Errors
    /// Fails if it is too long, or the disk refuses it.
    pub fn append(&mut self, body: &[u8]) -> Result<(), AppendError> {
        let fits = u32::try_from(body.len()).ok().filter(|_| body.len() <= self.format.record_bytes_max);
        let length = fits.ok_or(AppendError::TooLong(body.len()))?;
        debug_assert!(self.file.metadata().is_ok_and(|file| file.len() == self.place.end), "it was not resumed");
        let after = self.place.after(body);
        let mut record = Vec::with_capacity(HEADER_BYTES + body.len());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&after.hash);
        record.extend_from_slice(&checksum(&record));
        record.extend_from_slice(body);
        if let Err(error) = self.file.write_all(&record) {
            // A part of a record must not come before the next one.
            return Err(match self.file.set_len(self.place.end) {
                Ok(()) => AppendError::Refused(error),
                Err(error) => AppendError::Torn(error),
            });
        }
        self.place = after;
        Ok(())
    }

    /// Syncs all records to the disk.
    ///
    /// # Errors
    /// Fails if that fails. The state of the disk is unknown then, and another attempt could hide the failure.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn chained(hash: &[u8; HASH_BYTES], body: &[u8]) -> [u8; HASH_BYTES] {
    *blake3::Hasher::new().update(hash).update(body).finalize().as_bytes()
}

fn checksum(header: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&blake3::hash(header).as_bytes()[..8]);
    sum
}

#[cfg(test)]
mod tests;
