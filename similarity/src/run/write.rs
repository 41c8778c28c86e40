//! Writing a run: under another name, then in place.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use cognate_durable::whole::{Draft, PUBLIC};

use super::format::{
    BLOCK_RECORDS, RECORD_BYTES, RunRecord, TABLE_ENTRIES, TEMPLATE_BIT, block_checksum, encode_header, encode_record,
    shard_starts,
};
use crate::checksum::{CHECKSUM_BYTES, Checksum};
use crate::error::Error;

/// Options of writing a run.
#[derive(Clone, Copy, Debug)]
pub struct WriteRun {
    /// True if the file and its folder are flushed to the disk before the call returns.
    pub sync: bool,
}

/// The size of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunSummary {
    /// Records in the run.
    pub records: u64,
    /// Size of the file.
    pub file_bytes: u64,
}

/// Sorts the records and writes them as a run, replacing the file of that name.
///
/// # Errors
///
/// If a length does not fit or the file cannot be written; the earlier file of that name stays then.
pub fn write_run(path: &Path, records: &mut [RunRecord], options: &WriteRun) -> Result<RunSummary, Error> {
    if let Some(long) = records.iter().find(|r| r.length_bytes >= TEMPLATE_BIT) {
        return Err(Error::LengthTooLarge { length_bytes: long.length_bytes });
    }
    records.sort_unstable_by_key(RunRecord::order);
    let starts = shard_starts(records);
    write_in_place(path, &starts, options, |blocks| records.iter().try_for_each(|record| blocks.push(record)))
}

/// Writes a run under another name and renames it once it is complete. `starts` is its shard table; `fill` pushes as
/// many records, in their order.
pub(super) fn write_in_place(
    path: &Path,
    starts: &[u64],
    options: &WriteRun,
    fill: impl FnOnce(&mut BlockWriter<'_>) -> Result<(), Error>,
) -> Result<RunSummary, Error> {
    let (draft, file) = Draft::create(path, PUBLIC).map_err(Error::io("create", path))?;
    let mut blocks = BlockWriter::create(draft.temporary(), file, starts)?;
    fill(&mut blocks)?;
    let file_bytes = blocks.finish()?;
    draft.finish(options.sync).map_err(Error::io("finish", path))?;
    Ok(RunSummary { records: starts[TABLE_ENTRIES - 1], file_bytes })
}

/// Writes the records of a run block by block.
pub(super) struct BlockWriter<'a> {
    path: &'a Path,
    file: BufWriter<File>,
    header_sum: Checksum,
    block: Vec<u8>,
    blocks: u64,
    file_bytes: u64,
    records: u64,
    /// The number of records at the end of each shard, from the shard of the last record on.
    shard_ends: &'a [u64],
}

impl<'a> BlockWriter<'a> {
    fn create(path: &'a Path, file: File, starts: &'a [u64]) -> Result<BlockWriter<'a>, Error> {
        let (header, header_sum) = encode_header(starts);
        let file = BufWriter::with_capacity(1 << 18, file);
        let block = Vec::with_capacity(BLOCK_RECORDS as usize * RECORD_BYTES + CHECKSUM_BYTES);
        let shard_ends = &starts[1..];
        let mut blocks =
            BlockWriter { path, file, header_sum, block, blocks: 0, file_bytes: 0, records: 0, shard_ends };
        blocks.write(&header)?;
        Ok(blocks)
    }

    pub(super) fn push(&mut self, record: &RunRecord) -> Result<(), Error> {
        while self.shard_ends.first().is_some_and(|end| *end <= self.records) {
            self.shard_ends = &self.shard_ends[1..];
        }
        encode_record(record, &mut self.block);
        self.records += 1;
        let is_full = self.block.len() == BLOCK_RECORDS as usize * RECORD_BYTES;
        if is_full || self.shard_ends.first() == Some(&self.records) { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), Error> {
        let mut block = std::mem::take(&mut self.block);
        let sum = block_checksum(&self.header_sum, self.blocks, &block);
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

    /// Ends the file and returns its size.
    fn finish(mut self) -> Result<u64, Error> {
        debug_assert!(self.block.is_empty(), "the last shard ends with the last record");
        self.file.flush().map_err(Error::io("write", self.path))?;
        Ok(self.file_bytes)
    }
}
