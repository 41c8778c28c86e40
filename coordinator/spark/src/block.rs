//! Blocks: many rows of a table of the exchange as one text, so that an engine of SQL moves few and large rows.
//!
//! A row of such a table has a kind, a key by which it finds its task, and the block: base64 of a checksum and the payload. The checksum
//! covers kind and key as well. Checksums are added up over all blocks of a kind: a block that is lost, doubled or changed changes the sum.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use twox_hash::XxHash64;

use crate::row::Sum;

/// The columns of a table of blocks.
pub(crate) const COLUMNS: [&str; 3] = ["kind", "key", "block"];
/// Bytes of a payload from which a block is written.
pub(crate) const BLOCK_BYTES: usize = 1 << 18;
const SEED: u64 = 18;
const CHECKSUM_BYTES: usize = 8;

/// The kinds of blocks, in the order in which a task reads those of a key.
///
/// | kind | key | a row of the payload, numbers little-endian |
/// |---|---|---|
/// | report | any | text: what a task read and wrote |
/// | rules | each of a pass | text: [`crate::rules::Rules`] |
/// | facts | contents, partition | content, class of holders (u32 each), payload (u64) |
/// | places | contents | content, partition (u32 each) |
/// | postings | tags | tag (16 bytes), length with the highest bit for a template, content, class (u32 each) |
/// | chunks | contents, partition | content, tags, number, holders, length, count (u32 each) |
/// | holders | tags | number, content with the highest bit for its prefix (u32 each), payload (u64) |
/// | edges | any | two contents that could be linked (u32 each) |
/// | analysis | any | the file of an [`cognate_similarity::Analysis`] |
/// | links | any | two contents (u32 each), shared bytes (u64) |
/// | counts | contents | content, its shared chunks (u32 each) |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Report = 0,
    Rules = 1,
    Facts = 2,
    Places = 3,
    Postings = 4,
    Chunks = 5,
    Holders = 6,
    Edges = 7,
    Analysis = 8,
    Links = 9,
    Counts = 10,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Report,
        Kind::Rules,
        Kind::Facts,
        Kind::Places,
        Kind::Postings,
        Kind::Chunks,
        Kind::Holders,
        Kind::Edges,
        Kind::Analysis,
        Kind::Links,
        Kind::Counts,
    ];

    pub(crate) fn number(self) -> i32 {
        self as i32
    }

    pub(crate) fn of(number: i32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Bytes of a row; nothing where the payload is one.
    pub(crate) fn row_bytes(self) -> usize {
        match self {
            Kind::Report | Kind::Rules | Kind::Analysis => 1,
            Kind::Places | Kind::Edges | Kind::Counts => 8,
            Kind::Facts | Kind::Holders | Kind::Links => 16,
            Kind::Chunks => 24,
            Kind::Postings => 28,
        }
    }
}

/// The number and the sum of the checksums of the blocks of each kind.
pub(crate) type Sums = BTreeMap<Kind, Sum>;

/// Counts a block.
pub(crate) fn count(sums: &mut Sums, kind: Kind, checksum: u64) {
    let sum = sums.entry(kind).or_default();
    sum.rows += 1;
    sum.hashes += i128::from(checksum);
}

fn checksum(kind: Kind, key: i32, payload: &[u8]) -> u64 {
    let head = (u64::from(kind.number().cast_unsigned()) << 32) | u64::from(key.cast_unsigned());
    XxHash64::oneshot(XxHash64::oneshot(SEED, &head.to_le_bytes()), payload)
}

/// The text of a block, and its checksum.
pub(crate) fn encode(kind: Kind, key: i32, payload: &[u8]) -> (String, u64) {
    let checksum = checksum(kind, key, payload);
    let mut bytes = Vec::with_capacity(CHECKSUM_BYTES + payload.len());
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(payload);
    (BASE64.encode(bytes), checksum)
}

/// The payload of a block, and its checksum.
pub(crate) fn decode(kind: Kind, key: i32, text: &[u8]) -> Result<(Vec<u8>, u64)> {
    let mut bytes = BASE64.decode(text)?;
    if bytes.len() < CHECKSUM_BYTES {
        bail!("a block is too short");
    }
    let payload = bytes.split_off(CHECKSUM_BYTES);
    let found = u64::from_le_bytes(bytes.try_into().expect("it was split there"));
    if found != checksum(kind, key, &payload) || !payload.len().is_multiple_of(kind.row_bytes()) {
        bail!("the checksum of a block is wrong");
    }
    Ok((payload, found))
}

/// The words of a row.
pub(crate) fn words<const COUNT: usize>(row: &[u8]) -> [u32; COUNT] {
    let (words, _) = row.as_chunks::<4>();
    std::array::from_fn(|at| u32::from_le_bytes(words[at]))
}

/// A long number in a row.
pub(crate) fn long(row: &[u8]) -> u64 {
    u64::from_le_bytes(row[..8].try_into().expect("the row has 8 bytes there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_and_any_bit_of_it_is_missed() {
        let payload: Vec<u8> = (0..48).collect();
        let (text, checksum) = encode(Kind::Chunks, 7, &payload);
        assert_eq!(decode(Kind::Chunks, 7, text.as_bytes()).unwrap(), (payload, checksum));
        assert!(decode(Kind::Chunks, 8, text.as_bytes()).is_err(), "another key");
        assert!(decode(Kind::Facts, 7, text.as_bytes()).is_err(), "another kind");
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            assert!(decode(Kind::Chunks, 7, &damaged).is_err(), "byte {at}");
        }
        assert!(decode(Kind::Chunks, 7, b"").is_err());
    }

    #[test]
    fn a_kind_is_found_by_its_number() {
        Kind::ALL.into_iter().for_each(|kind| assert_eq!(Kind::of(kind.number()), Some(kind)));
        assert_eq!(Kind::of(11), None);
    }
}
