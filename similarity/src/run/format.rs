//! The bytes of a run: its header and its records.

use std::path::Path;

use cognate_fingerprint::Tag;

use crate::checksum::{CHECKSUM_BYTES, Checksum, checksum};
use crate::error::Error;

/// Shards of a run: one for each leading byte of a tag.
pub const SHARDS: u32 = 256;

pub(super) const MAGIC: &[u8; 8] = b"CGNATRUN";
pub(super) const VERSION: u32 = 1;
pub(super) const TABLE_ENTRIES: usize = SHARDS as usize + 1;
pub(super) const HEADER_BYTES: usize = 8 + 4 + 4 + 8 + TABLE_ENTRIES * 8 + CHECKSUM_BYTES;
pub(super) const RECORD_BYTES: usize = 24;
/// Records of a block. The last block of a shard may have fewer, so that no block has records of two shards. Small enough that a merge of
/// hundreds of runs holds only megabytes, large enough that checksums cost little.
pub(super) const BLOCK_RECORDS: u32 = 1024;
#[cfg(test)]
pub(super) const BLOCK_BYTES: usize = BLOCK_RECORDS as usize * RECORD_BYTES + CHECKSUM_BYTES;
pub(super) const TEMPLATE_BIT: u32 = 1 << 31;

/// One occurrence of a chunk in one of the contents that a run was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunRecord {
    /// The keyed hash of the chunk.
    pub tag: Tag,
    /// The chunk's length, below 2^31.
    pub length_bytes: u32,
    /// True if the chunk is declared boilerplate.
    pub template: bool,
    /// The content, by its number within the run; the caller knows which one it is.
    pub ordinal: u32,
}

impl RunRecord {
    /// The order of records in a run.
    pub(super) fn order(&self) -> (Tag, u32, u32, bool) {
        (self.tag, self.ordinal, self.length_bytes, self.template)
    }
}

/// Number of the first record of each shard, and the end.
pub(super) fn shard_starts(sorted: &[RunRecord]) -> Vec<u64> {
    (0..=SHARDS).map(|shard| sorted.partition_point(|r| u32::from(r.tag.0[0]) < shard) as u64).collect()
}

/// Number of the first block of each shard, and the end, of a run with this table of records.
pub(super) fn block_starts(shard_starts: &[u64]) -> Vec<u64> {
    let blocks = shard_starts.windows(2).map(|two| (two[1] - two[0]).div_ceil(BLOCK_RECORDS.into()));
    let ends = blocks.scan(0, |end, blocks| {
        *end += blocks;
        Some(*end)
    });
    [0].into_iter().chain(ends).collect()
}

pub(super) fn encode_header(starts: &[u64]) -> (Vec<u8>, Checksum) {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&BLOCK_RECORDS.to_le_bytes());
    header.extend_from_slice(&starts[TABLE_ENTRIES - 1].to_le_bytes());
    starts.iter().for_each(|start| header.extend_from_slice(&start.to_le_bytes()));
    let header_sum = checksum(&[&header]);
    header.extend_from_slice(&header_sum);
    (header, header_sum)
}

pub(super) fn encode_record(record: &RunRecord, out: &mut Vec<u8>) {
    let flag = if record.template { TEMPLATE_BIT } else { 0 };
    out.extend_from_slice(&record.tag.0);
    out.extend_from_slice(&(record.length_bytes | flag).to_le_bytes());
    out.extend_from_slice(&record.ordinal.to_le_bytes());
}

pub(super) fn decode_record(bytes: &[u8]) -> RunRecord {
    let length = word(&bytes[16..20]);
    RunRecord {
        tag: Tag(bytes[..16].try_into().expect("a tag has 16 bytes")),
        length_bytes: length & !TEMPLATE_BIT,
        template: length & TEMPLATE_BIT != 0,
        ordinal: word(&bytes[20..24]),
    }
}

pub(super) fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("a word has 4 bytes"))
}

pub(super) fn long_word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a long word has 8 bytes"))
}

pub(super) fn block_checksum(header_sum: &Checksum, number: u64, block: &[u8]) -> Checksum {
    checksum(&[header_sum, &number.to_le_bytes(), block])
}

pub(super) fn corrupt(path: &Path, detail: &'static str) -> Error {
    Error::Corrupt { path: path.to_owned(), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_its_bytes() {
        for (length_bytes, template, ordinal) in
            [(0, false, 0), (TEMPLATE_BIT - 1, true, u32::MAX), (7, true, 0), (TEMPLATE_BIT - 1, false, 3)]
        {
            let record = RunRecord { tag: Tag([9; 16]), length_bytes, template, ordinal };
            let mut bytes = Vec::new();
            encode_record(&record, &mut bytes);
            assert_eq!(bytes.len(), RECORD_BYTES);
            assert_eq!(decode_record(&bytes), record);
        }
    }

    #[test]
    fn records_are_ordered_by_tag_then_ordinal() {
        let record = |first: u8, ordinal: u32, length_bytes: u32| {
            let mut tag = [0; 16];
            tag[0] = first;
            RunRecord { tag: Tag(tag), length_bytes, template: false, ordinal }
        };
        let records = [record(0, 0, 9), record(0, 1, 2), record(0, 1, 3), record(0, 7, 1), record(200, 0, 1)];
        assert!(records.is_sorted_by_key(RunRecord::order));
    }

    #[test]
    fn the_table_has_the_first_record_of_each_shard() {
        let record = |first: u8| RunRecord { tag: Tag([first; 16]), length_bytes: 1, template: false, ordinal: 0 };
        for (firsts, expected) in [
            (&[][..], vec![]),
            (&[0, 0, 0], vec![(1, 3), (255, 3), (256, 3)]),
            (&[5, 5, 255], vec![(0, 0), (5, 0), (6, 2), (255, 2), (256, 3)]),
            (&[255], vec![(0, 0), (255, 0), (256, 1)]),
        ] {
            let records: Vec<_> = firsts.iter().copied().map(record).collect();
            let starts = shard_starts(&records);
            assert_eq!(starts.len(), TABLE_ENTRIES);
            for (shard, start) in expected {
                assert_eq!(starts[shard], start, "{shard} of {firsts:?}");
            }
        }
    }

    #[test]
    fn the_checksum_of_a_header_depends_on_its_table() {
        let (header, sum) = encode_header(&[0; TABLE_ENTRIES]);
        assert_eq!(header.len(), HEADER_BYTES);
        assert_eq!(header[HEADER_BYTES - CHECKSUM_BYTES..], sum);
        let mut other = [0; TABLE_ENTRIES];
        other[TABLE_ENTRIES - 1] = 1;
        assert_ne!(encode_header(&other).1, sum);
        assert_ne!(block_checksum(&sum, 0, b"x"), block_checksum(&sum, 1, b"x"));
    }
}
