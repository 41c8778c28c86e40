//! Reading a log, record by record. The log may grow in the meantime; what was not there at the beginning is not read.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{Format, HASH_BYTES, HEADER_BYTES, Place, checksum};

/// Reads the records of a log.
#[derive(Debug)]
pub struct Records {
    file: BufReader<File>,
    format: Format,
    place: Place,
    length: u64,
}

/// The reason why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin with the magic. These are its first bytes, as many as the magic has, or all.
    #[error("it begins with other bytes")]
    OtherMagic(Vec<u8>),
}

/// The answer to a request for the next record.
#[derive(PartialEq, Eq, Debug)]
pub enum Next {
    /// The body of a record.
    Record(Vec<u8>),
    /// The log ends here.
    End,
    /// The file ends within the record.
    Incomplete,
    /// The record is not the one that was written here.
    Changed {
        /// Its body, where it could be read.
        body: Option<Vec<u8>>,
        /// Nothing follows the record, so a loss of power can have been the reason.
        is_last: bool,
    },
}

impl Records {
    /// Opens a log at its first record.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is no log of this format.
    pub fn open(path: &Path, format: Format) -> Result<Records, OpenError> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut magic = Vec::new();
        file.by_ref().take(format.start().end).read_to_end(&mut magic)?;
        if magic != format.magic {
            return Err(OpenError::OtherMagic(magic));
        }
        Ok(Records { file, format, place: format.start(), length })
    }

    /// The place of the next record.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The size of the file when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Continues at another place. A place that is none of this log shows at the next record.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn seek(&mut self, place: Place) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(place.end))?;
        self.place = place;
        Ok(())
    }

    /// The next record. After anything but a record, the next call gives no reliable answer.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "anything but a record ends the iteration")]
    pub fn next(&mut self) -> io::Result<Next> {
        // Outside of the records is neither an end nor a cut: whoever resumed there would lose them, or add zeros.
        if self.place.end < self.format.start().end {
            return Ok(Next::Changed { body: None, is_last: false });
        }
        let Some(rest) = self.length.checked_sub(self.place.end) else {
            return Ok(Next::Changed { body: None, is_last: false });
        };
        if rest == 0 {
            return Ok(Next::End);
        }
        if rest < HEADER_BYTES as u64 {
            return Ok(Next::Incomplete);
        }
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact(&mut header)?;
        let Some((length, hash)) = parse(&header) else {
            // After a loss of power, a page that was never written reads as zeros.
            let is_last = header.ends_with(&[0; 8]) && self.rest_is_zero()?;
            return Ok(Next::Changed { body: None, is_last });
        };
        let end = HEADER_BYTES as u64 + length as u64;
        if end > rest {
            return Ok(Next::Incomplete);
        }
        if length > self.format.record_bytes_max {
            return Ok(Next::Changed { body: None, is_last: false });
        }
        let mut body = vec![0; length];
        self.file.read_exact(&mut body)?;
        let after = self.place.after(&body);
        if after.hash != hash {
            return Ok(Next::Changed { body: Some(body), is_last: end == rest });
        }
        self.place = after;
        Ok(Next::Record(body))
    }

    /// The body of the record that ends at a place. It is searched backwards, which is fast where records are short,
    /// and its hash is compared; the hash of the record before it is unknown.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn ending_at(&self, place: Place) -> io::Result<Option<Vec<u8>>> {
        let start = self.format.start().end;
        let window = ((HEADER_BYTES + self.format.record_bytes_max) as u64).min(place.end.saturating_sub(start));
        if self.length < place.end || window < HEADER_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(window).expect("a record fits into memory")];
        self.file.get_ref().read_exact_at(&mut bytes, place.end - window)?;
        Ok((0..=bytes.len() - HEADER_BYTES).rev().find_map(|at| {
            let (header, body) = bytes[at..].split_first_chunk()?;
            // The cheap comparison first: the checksum of every place would take long.
            let fits = header[..4] == u32::try_from(body.len()).ok()?.to_le_bytes();
            let (_, hash) = if fits { parse(header)? } else { return None };
            (hash == place.hash).then(|| body.to_vec())
        }))
    }

    fn rest_is_zero(&mut self) -> io::Result<bool> {
        let record_bytes_max = self.format.record_bytes_max as u64;
        let mut rest = Vec::new();
        self.file.by_ref().take(record_bytes_max + 1).read_to_end(&mut rest)?;
        Ok(rest.len() as u64 <= record_bytes_max && rest.iter().all(|byte| *byte == 0))
    }
}

/// The length and the hash in a header whose checksum matches.
fn parse(header: &[u8; HEADER_BYTES]) -> Option<(usize, [u8; HASH_BYTES])> {
    let (front, sum) = header.split_at(4 + HASH_BYTES);
    let (length, hash) = front.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if checksum(front) == sum { Some((length, hash.try_into().ok()?)) } else { None }
}
