//! Runs: sorted, immutable files of postings.
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
//! ordinal. A shard is the records whose tags begin with its byte, so the table alone finds it. Checksums are BLAKE3
//! cut to 16 bytes; a block's covers the header's checksum and the block's number too, so that blocks of other runs or
//! places do not pass. A run appears under its name only when complete: it is written under another name and renamed.

mod format;
mod merge;
mod read;
mod write;

pub use format::{RunRecord, SHARDS};
pub use merge::merge_runs;
pub use read::{Run, RunReader};
pub use write::{RunSummary, WriteRun, write_run};

#[cfg(test)]
mod tests;
