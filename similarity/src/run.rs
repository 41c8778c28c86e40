//! Runs: sorted, immutable files of postings, the form in which a store keeps its shards.
//!
//! A run is a header, then blocks. All numbers are little-endian.
//!
//! | part | bytes |
//! |---|---|
//! | magic `CGNATRUN` | 8 |
//! | version, 1 | 4 |
//! | records per block, 1024 | 4 |
//! | records in the run | 8 |
//! | shard table: number of the first record of each of the 256 shards, and the end | 257 x 8 |
//! | checksum of all the above | 16 |
//! | blocks, the last one as short as it needs to be: records of 24 bytes, then a checksum | n x 24 + 16 |
//!
//! A record is tag (16), length with the template flag in the high bit (4), ordinal (4); records ascend by tag, then
//! ordinal. A shard is the records whose tags begin with its byte, so the table alone finds it. Checksums are BLAKE3 cut
//! to 16 bytes; a block's covers the header's checksum and the block's number too, so that blocks of other runs or
//! places do not pass. A run appears under its name only when complete: it is written beside it and renamed.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cognate_fingerprint::Tag;

use crate::checksum::{CHECKSUM_BYTES, Checksum, checksum};
use crate::error::Error;

mod merge;

pub use merge::merge_runs;

/// Shards of a run: one for each leading byte of a tag.
pub const SHARDS: u32 = 256;

const MAGIC: &[u8; 8] = b"CGNATRUN";
const VERSION: u32 = 1;
const TABLE_ENTRIES: usize = SHARDS as usize + 1;
const HEADER_BYTES: usize = 8 + 4 + 4 + 8 + TABLE_ENTRIES * 8 + CHECKSUM_BYTES;
const RECORD_BYTES: usize = 24;
/// Small enough that a merge of hundreds of runs holds only megabytes, large enough that checksums cost nothing.
const BLOCK_RECORDS: u32 = 1024;
const BLOCK_BYTES: usize = BLOCK_RECORDS as usize * RECORD_BYTES + CHECKSUM_BYTES;
const TEMPLATE_BIT: u32 = 1 << 31;

/// One occurrence of a chunk in one of the contents that a run was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunRecord {
    /// The keyed hash of the chunk.
    pub tag: Tag,
    /// The chunk's length, below 2^31.
    pub length_bytes: u32,
    /// Whether the chunk is declared boilerplate.
    pub template: bool,
    /// The content, by its number within the run; the caller knows what it stands for.
    pub ordinal: u32,
}

impl RunRecord {
    /// The order of records in a run.
    fn order(&self) -> (Tag, u32, u32, bool) {
        (self.tag, self.ordinal, self.length_bytes, self.template)
    }
}

/// How to write a run.
#[derive(Clone, Copy, Debug)]
pub struct WriteRun {
    /// Whether the file and its folder are flushed to the disk before the call returns.
    pub sync: bool,
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunSummary {
    /// Records in the run.
    pub records: u64,
    /// Size of the file.
    pub file_bytes: u64,
}

/// Sorts the records and writes them as a run, replacing whatever stood under the name.
///
/// # Errors
///
/// When a length does not fit or the file cannot be written; nothing new stands under the name then.
pub fn write_run(path: &Path, records: &mut [RunRecord], options: &WriteRun) -> Result<RunSummary, Error> {
    if let Some(long) = records.iter().find(|r| r.length_bytes >= TEMPLATE_BIT) {
        return Err(Error::LengthTooLarge { length_bytes: long.length_bytes });
    }
    records.sort_unstable_by_key(RunRecord::order);
    let starts = shard_starts(records);
    write_in_place(path, &starts, options, |blocks| records.iter().try_for_each(|record| blocks.push(record)))
}

/// Writes a run beside its place and puts it there once it is whole. `starts` is its shard table; `fill` pushes as many
/// records, in their order.
fn write_in_place(
    path: &Path,
    starts: &[u64],
    options: &WriteRun,
    fill: impl FnOnce(&mut BlockWriter<'_>) -> Result<(), Error>,
) -> Result<RunSummary, Error> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let beside = PathBuf::from(beside);
    let written = BlockWriter::create(&beside, starts)
        .and_then(|mut blocks| fill(&mut blocks).and_then(|()| blocks.finish(options)))
        .and_then(|file_bytes| put_in_place(&beside, path, options).map(|()| file_bytes));
    match written {
        Ok(file_bytes) => Ok(RunSummary { records: starts[TABLE_ENTRIES - 1], file_bytes }),
        Err(error) => {
            // The first error is the one worth telling; a leftover is overwritten by the next attempt.
            let _ = fs::remove_file(&beside);
            Err(error)
        }
    }
}

/// Writes the records of a run block by block.
struct BlockWriter<'a> {
    path: &'a Path,
    file: BufWriter<File>,
    seal: Checksum,
    block: Vec<u8>,
    blocks: u64,
    file_bytes: u64,
}

impl BlockWriter<'_> {
    fn create<'a>(path: &'a Path, starts: &[u64]) -> Result<BlockWriter<'a>, Error> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let (header, seal) = encode_header(starts);
        let file = BufWriter::with_capacity(1 << 18, file);
        let block = Vec::with_capacity(BLOCK_BYTES);
        let mut blocks = BlockWriter { path, file, seal, block, blocks: 0, file_bytes: 0 };
        blocks.write(&header)?;
        Ok(blocks)
    }

    fn push(&mut self, record: &RunRecord) -> Result<(), Error> {
        encode_record(record, &mut self.block);
        if self.block.len() == BLOCK_RECORDS as usize * RECORD_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), Error> {
        let mut block = std::mem::take(&mut self.block);
        let sum = block_checksum(&self.seal, self.blocks, &block);
        block.extend_from_slice(&sum);
        self.write(&block)?;
        self.blocks += 1;
        block.clear();
        self.block = block;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file_bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io("write", self.path))
    }

    /// Tells the size of the file.
    fn finish(mut self, options: &WriteRun) -> Result<u64, Error> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.file.flush().map_err(Error::io("write", self.path))?;
        if options.sync {
            self.file.get_ref().sync_all().map_err(Error::io("sync", self.path))?;
        }
        Ok(self.file_bytes)
    }
}

fn put_in_place(from: &Path, to: &Path, options: &WriteRun) -> Result<(), Error> {
    fs::rename(from, to).map_err(Error::io("rename", from))?;
    if !options.sync {
        return Ok(());
    }
    // A rename is durable only once its folder is.
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}

/// Number of the first record of each shard, and the end.
fn shard_starts(sorted: &[RunRecord]) -> Vec<u64> {
    (0..=SHARDS).map(|shard| sorted.partition_point(|r| u32::from(r.tag.0[0]) < shard) as u64).collect()
}

fn encode_header(starts: &[u64]) -> (Vec<u8>, Checksum) {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&BLOCK_RECORDS.to_le_bytes());
    header.extend_from_slice(&starts[TABLE_ENTRIES - 1].to_le_bytes());
    starts.iter().for_each(|start| header.extend_from_slice(&start.to_le_bytes()));
    let seal = checksum(&[&header]);
    header.extend_from_slice(&seal);
    (header, seal)
}

fn encode_record(record: &RunRecord, out: &mut Vec<u8>) {
    let flag = if record.template { TEMPLATE_BIT } else { 0 };
    out.extend_from_slice(&record.tag.0);
    out.extend_from_slice(&(record.length_bytes | flag).to_le_bytes());
    out.extend_from_slice(&record.ordinal.to_le_bytes());
}

fn decode_record(bytes: &[u8]) -> RunRecord {
    let length = word(&bytes[16..20]);
    RunRecord {
        tag: Tag(bytes[..16].try_into().expect("a tag has 16 bytes")),
        length_bytes: length & !TEMPLATE_BIT,
        template: length & TEMPLATE_BIT != 0,
        ordinal: word(&bytes[20..24]),
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("a word has 4 bytes"))
}

fn long_word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a long word has 8 bytes"))
}

fn block_checksum(seal: &Checksum, number: u64, block: &[u8]) -> Checksum {
    checksum(&[seal, &number.to_le_bytes(), block])
}

/// An open run.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    records: u64,
    shard_starts: Vec<u64>,
    seal: Checksum,
}

impl Run {
    /// Opens a run, checking its header and size; blocks are checked as they are read.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no run, is of another version, is damaged or has been cut short.
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

    /// How many records the run holds.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Where the run lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts reading the records of a shard.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn shard(&self, shard: u32) -> Result<RunReader, Error> {
        let shard = shard as usize;
        let (next, end) = (self.shard_starts[shard], self.shard_starts[shard + 1]);
        let mut reader = RunReader {
            file: None,
            path: self.path.clone(),
            seal: self.seal,
            records: self.records,
            next,
            end,
            file_block: u64::MAX,
            block: Vec::new(),
            block_start: 0,
        };
        if next < end {
            reader.file = Some(File::open(&self.path).map_err(Error::io("open", &self.path))?);
        }
        Ok(reader)
    }

    fn file_bytes(&self) -> u64 {
        let blocks = self.records.div_ceil(u64::from(BLOCK_RECORDS));
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
    let (fields, seal) = header.split_at(HEADER_BYTES - CHECKSUM_BYTES);
    let expected = checksum(&[fields]);
    if seal != expected {
        return Err(corrupt(path, "the checksum of its header does not match"));
    }
    let records = long_word(&fields[16..24]);
    let shard_starts: Vec<u64> = fields[24..].chunks_exact(8).map(long_word).collect();
    let usable = shard_starts.is_sorted()
        && shard_starts[TABLE_ENTRIES - 1] == records
        && records <= u64::MAX / (2 * RECORD_BYTES as u64)
        && word(&fields[12..16]) == BLOCK_RECORDS;
    if !usable {
        return Err(corrupt(path, "its header contradicts itself"));
    }
    Ok(Run { path: path.to_owned(), records, shard_starts, seal: expected })
}

fn corrupt(path: &Path, detail: &'static str) -> Error {
    Error::Corrupt { path: path.to_owned(), detail }
}

/// The records of one shard of a run, in order, one block in memory at a time.
#[derive(Debug)]
pub struct RunReader {
    /// `None` when the shard is empty.
    file: Option<File>,
    path: PathBuf,
    seal: Checksum,
    records: u64,
    /// Number of the next record, and of the one after the shard's last.
    next: u64,
    end: u64,
    /// The block before which the file stands.
    file_block: u64,
    /// The checked bytes of the block that was read last, and the number of its first record.
    block: Vec<u8>,
    block_start: u64,
}

impl RunReader {
    /// The next record, without passing it; `None` after the last.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or a block is damaged.
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

    /// Passes the records of all lesser tags, by halves: few blocks are read on the way.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or a block is damaged.
    pub fn seek(&mut self, tag: Tag) -> Result<(), Error> {
        let per_block = u64::from(BLOCK_RECORDS);
        // What comes before `least` is passed; what stands at `most`, where it is a record, is not.
        let (mut least, mut most) = (self.next, self.end);
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
        let Some(file) = &mut self.file else {
            return Err(corrupt(&self.path, "an empty shard has records"));
        };
        let number = self.next / u64::from(BLOCK_RECORDS);
        if number != self.file_block {
            let place = HEADER_BYTES as u64 + number * BLOCK_BYTES as u64;
            file.seek(SeekFrom::Start(place)).map_err(Error::io("read", &self.path))?;
        }
        self.file_block = number + 1;
        self.block_start = number * u64::from(BLOCK_RECORDS);
        let left = self.records - self.block_start;
        let records = left.min(u64::from(BLOCK_RECORDS));
        let records = usize::try_from(records).expect("a block holds a thousand records");
        self.block.resize(records * RECORD_BYTES + CHECKSUM_BYTES, 0);
        file.read_exact(&mut self.block).map_err(Error::io("read", &self.path))?;
        let sum = self.block.split_off(records * RECORD_BYTES);
        if sum != block_checksum(&self.seal, number, &self.block) {
            return Err(corrupt(&self.path, "the checksum of a block does not match"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
