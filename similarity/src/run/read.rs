//! Reading a run, shard by shard.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cognate_fingerprint::Tag;

use super::format::{
    BLOCK_RECORDS, HEADER_BYTES, MAGIC, RECORD_BYTES, RunRecord, TABLE_ENTRIES, VERSION, block_checksum, block_starts,
    corrupt, decode_record, long_word, word,
};
use crate::checksum::{CHECKSUM_BYTES, Checksum, checksum};
use crate::error::Error;

/// An open run.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    /// The file while any reader has it.
    file: Mutex<Weak<File>>,
    records: u64,
    pub(super) shard_starts: Vec<u64>,
    block_starts: Vec<u64>,
    header_sum: Checksum,
}

impl Run {
    /// Opens a run, checking its header and size; blocks are checked as they are read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no run, is of another version, is damaged or has been cut short.
    pub fn open(path: &Path) -> Result<Run, Error> {
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        let file_bytes = file.metadata().map_err(Error::io("inspect", path))?.len();
        let mut header = Vec::with_capacity(HEADER_BYTES);
        Read::by_ref(&mut file).take(HEADER_BYTES as u64).read_to_end(&mut header).map_err(Error::io("read", path))?;
        let run = decode_header(path, &header)?;
        if file_bytes != run.file_bytes() {
            return Err(corrupt(path, "its size is not what its header says"));
        }
        Ok(run)
    }

    /// Number of records of the run.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The file of the run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts reading the records of a shard.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened.
    pub fn shard(&self, shard: u32) -> Result<RunReader, Error> {
        let shard = shard as usize;
        let (start, end) = (self.shard_starts[shard], self.shard_starts[shard + 1]);
        let first_block = self.block_starts[shard];
        let mut reader = RunReader {
            file: None,
            path: self.path.clone(),
            header_sum: self.header_sum,
            place: HEADER_BYTES as u64 + start * RECORD_BYTES as u64 + first_block * CHECKSUM_BYTES as u64,
            first_block,
            next: 0,
            end: end - start,
            block: Vec::new(),
            block_start: 0,
        };
        if reader.end > 0 {
            reader.file = Some(self.file()?);
        }
        Ok(reader)
    }

    /// The file, which all readers share: many runs that each of many threads opens would need more descriptors than a process has.
    fn file(&self) -> Result<Arc<File>, Error> {
        let mut shared = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = shared.upgrade() {
            return Ok(file);
        }
        let file = Arc::new(File::open(&self.path).map_err(Error::io("open", &self.path))?);
        *shared = Arc::downgrade(&file);
        Ok(file)
    }

    fn file_bytes(&self) -> u64 {
        let blocks = self.block_starts[TABLE_ENTRIES - 1];
        HEADER_BYTES as u64 + self.records * RECORD_BYTES as u64 + blocks * CHECKSUM_BYTES as u64
    }
}

fn decode_header(path: &Path, header: &[u8]) -> Result<Run, Error> {
    if !header.starts_with(MAGIC) {
        return Err(Error::NotARun { path: path.to_owned() });
    }
    if header.len() < 16 {
        return Err(corrupt(path, "its header is cut short"));
    }
    let version = word(&header[8..12]);
    if version != VERSION {
        return Err(Error::UnsupportedVersion { path: path.to_owned(), version });
    }
    if header.len() < HEADER_BYTES {
        return Err(corrupt(path, "its header is cut short"));
    }
    let (fields, header_sum) = header.split_at(HEADER_BYTES - CHECKSUM_BYTES);
    let expected = checksum(&[fields]);
    if header_sum != expected {
        return Err(corrupt(path, "the checksum of its header does not match"));
    }
    let records = long_word(&fields[16..24]);
    let shard_starts: Vec<u64> = fields[24..].chunks_exact(8).map(long_word).collect();
    let usable = shard_starts.is_sorted()
        && shard_starts[0] == 0
        && shard_starts[TABLE_ENTRIES - 1] == records
        && records <= u64::MAX / (2 * RECORD_BYTES as u64)
        && word(&fields[12..16]) == BLOCK_RECORDS;
    if !usable {
        return Err(corrupt(path, "its header contradicts itself"));
    }
    let block_starts = block_starts(&shard_starts);
    Ok(Run { path: path.to_owned(), file: Mutex::default(), records, shard_starts, block_starts, header_sum: expected })
}

/// The records that are passed one by one before a search for a tag begins.
const NEAR_RECORDS: usize = 4;

/// The records of one shard of a run, in order, one block in memory at a time.
#[derive(Debug)]
pub struct RunReader {
    /// `None` when the shard is empty.
    file: Option<Arc<File>>,
    path: PathBuf,
    header_sum: Checksum,
    /// The place of the shard in the file, and the number of its first block among those of the run.
    place: u64,
    first_block: u64,
    /// The next record, counted from the shard's first, and the number of all.
    next: u64,
    end: u64,
    /// The checked bytes of the block that was read last, and the number of its first record.
    block: Vec<u8>,
    block_start: u64,
}

impl RunReader {
    /// The next record, without passing it; `None` after the last.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or a block is damaged.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<RunRecord>, Error> {
        if self.next >= self.end {
            return Ok(None);
        }
        let loaded = (self.block.len() / RECORD_BYTES) as u64;
        // A record before the block is as far from it as one after its end.
        if self.next.wrapping_sub(self.block_start) >= loaded {
            self.load()?;
        }
        let at = usize::try_from(self.next - self.block_start).expect("a place within a block") * RECORD_BYTES;
        Ok(Some(decode_record(&self.block[at..at + RECORD_BYTES])))
    }

    /// Passes the record that [`peek`](RunReader::peek) showed.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// Passes the records of all lesser tags. It looks at the next few, in the block at hand, in the next one, then twice as far with each step, and
    /// ends with a binary search: one tag reads few blocks, and many tags, one after the other, read each block about once.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or a block is damaged.
    pub fn seek(&mut self, tag: Tag) -> Result<(), Error> {
        // Where most tags are wanted, it is one of the next.
        for _ in 0..NEAR_RECORDS {
            match self.peek()? {
                Some(found) if found.tag < tag => self.advance(),
                _ => return Ok(()),
            }
        }
        let per_block = u64::from(BLOCK_RECORDS);
        // Records before `least` are passed; the record at `most`, if there is one, is not.
        let (mut least, mut most) = (self.next, self.end);
        let mut passed_blocks = 0_u64;
        while least < most {
            let step = passed_blocks.max(1);
            let last = (least / per_block + step) * per_block - 1;
            if last >= most {
                break;
            }
            self.next = last;
            let Some(found) = self.peek()? else { break };
            if found.tag >= tag {
                most = last;
                break;
            }
            least = last + 1;
            passed_blocks += step;
        }
        while least < most {
            // The first record of the block in the middle, or where one block is left, the record in the middle of it.
            let middle = least + (most - least) / 2;
            let first = (middle / per_block * per_block).max(least);
            let at = if first > least { first } else { middle };
            self.next = at;
            let Some(found) = self.peek()? else { break };
            if found.tag < tag { least = at + 1 } else { most = at }
        }
        self.next = least;
        Ok(())
    }

    fn load(&mut self) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Err(corrupt(&self.path, "an empty shard has records"));
        };
        let number = self.next / u64::from(BLOCK_RECORDS);
        // Until the block is checked there is none: nobody may read it after an error.
        let mut block = std::mem::take(&mut self.block);
        let per_block = u64::from(BLOCK_RECORDS) * RECORD_BYTES as u64 + CHECKSUM_BYTES as u64;
        let place = self.place + number * per_block;
        self.block_start = number * u64::from(BLOCK_RECORDS);
        let left = self.end - self.block_start;
        let records = left.min(u64::from(BLOCK_RECORDS));
        let records = usize::try_from(records).expect("a block holds a thousand records");
        block.resize(records * RECORD_BYTES + CHECKSUM_BYTES, 0);
        file.read_exact_at(&mut block, place).map_err(Error::io("read", &self.path))?;
        let sum = block.split_off(records * RECORD_BYTES);
        if sum != block_checksum(&self.header_sum, self.first_block + number, &block) {
            return Err(corrupt(&self.path, "the checksum of a block does not match"));
        }
        self.block = block;
        Ok(())
    }
}
