//! The form of a file of fine chunks: its head, a record for each chunk, an index in the order of the tags, a footer that says where
//! the index is, and a checksum of everything before it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use cognate_fingerprint::{FineChunk, Tag};

pub(super) const MAGIC: [u8; 8] = *b"CGNATFI2";
pub(super) const CHECKSUM_BYTES: usize = 32;
/// A tag, and the number of fine chunks.
pub(super) const HEADER_BYTES: usize = 16 + 4;
/// A length and a tag.
pub(super) const FINE_BYTES: usize = 2;
/// A row of the index: tag, offset, number of fine chunks, CRC-32 of their bytes.
pub(super) const ROW_BYTES: usize = 16 + 8 + 4 + 4;
/// Where the index begins, its rows, and the hash of it.
const FOOTER_BYTES: usize = 8 + 8 + 32;
/// Where the fine chunks of a chunk are.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkLocation {
    pub(super) offset: u64,
    pub(super) count: u32,
    /// CRC-32 of the bytes there.
    pub(super) check: u32,
}

impl ChunkLocation {
    pub(super) fn end(self) -> u64 {
        self.offset + u64::from(self.count) * FINE_BYTES as u64
    }
}

/// The end of a file before its checksum: where its index is.
pub(super) struct Footer {
    pub(super) start: u64,
    pub(super) rows: u64,
    pub(super) hash: [u8; 32],
}

impl Footer {
    pub(super) fn to_bytes(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..8].copy_from_slice(&self.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.rows.to_le_bytes());
        bytes[16..].copy_from_slice(&self.hash);
        bytes
    }

    /// The footer of a file, if the index that it names fills the place before it.
    pub(super) fn read(file: &File) -> io::Result<Footer> {
        let end = file.metadata()?.len().checked_sub((FOOTER_BYTES + CHECKSUM_BYTES) as u64).ok_or_else(damaged)?;
        let mut bytes = [0; FOOTER_BYTES];
        file.read_exact_at(&mut bytes, end)?;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let (start, rows) = (number(0), number(8));
        let fits = rows.checked_mul(ROW_BYTES as u64).and_then(|bytes| bytes.checked_add(start)) == Some(end);
        if !fits || start < MAGIC.len() as u64 {
            return Err(damaged());
        }
        Ok(Footer { start, rows, hash: bytes[16..].try_into().expect("a hash has 32 bytes") })
    }
}

/// A row of the index.
pub(super) fn row(tag: &Tag, place: ChunkLocation) -> [u8; ROW_BYTES] {
    let mut bytes = [0; ROW_BYTES];
    bytes[..16].copy_from_slice(&tag.0);
    bytes[16..24].copy_from_slice(&place.offset.to_le_bytes());
    bytes[24..28].copy_from_slice(&place.count.to_le_bytes());
    bytes[28..].copy_from_slice(&place.check.to_le_bytes());
    bytes
}

pub(super) fn fine_chunks(bytes: &[u8]) -> impl Iterator<Item = FineChunk> {
    let fine = |[length_bytes, tag]: &[u8; FINE_BYTES]| FineChunk { tag: *tag, length_bytes: *length_bytes };
    bytes.as_chunks::<FINE_BYTES>().0.iter().map(fine)
}

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged")
}
