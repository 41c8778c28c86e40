//! The head of the journal: the place after the last record that was acknowledged, in a file of its own.
//!
//! The journal alone cannot tell a record that was never finished from one that was acknowledged and then damaged: both
//! end the chain. The head is written after a record is on the disk and before it is acknowledged, so a journal that does
//! not come as far has lost something.
//!
//! File: `cognate journal head 1\n`, then two slots, 4,096 and 8,192 bytes from the beginning, which are written in turn, so
//! that a loss of power in the middle of one leaves the other. A slot, little-endian: count of writes (8), bytes of the
//! journal (8), hash of its last record (32), checksum of these (8: BLAKE3, cut short).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cognate_durable::log::HASH_BYTES;
use cognate_durable::whole::{PUBLIC, write_whole};

use super::{Position, START};

const MAGIC: &[u8] = b"cognate journal head 1\n";
const SLOT_BYTES: usize = 8 + 8 + HASH_BYTES + 8;
const SLOTS: u64 = 2;
/// Two slots are never in one sector.
const SLOT_DISTANCE: u64 = 4096;

/// The open head.
pub(super) struct Head {
    file: File,
    /// Number of writes.
    count: u64,
}

/// A head as it is on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// There is none.
    Missing,
    /// No slot of it can be read.
    Damaged,
    /// The last place that was written, with the count of writes.
    At(Position, u64),
}

/// The file of a journal's head.
pub(super) fn path_of(journal: &Path) -> PathBuf {
    journal.with_extension("head")
}

/// Reads a head.
pub(super) fn read(path: &Path) -> io::Result<Found> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
        bytes => bytes?,
    };
    let slots = (0..SLOTS).filter_map(|slot| {
        let start = usize::try_from((slot + 1) * SLOT_DISTANCE).ok()?;
        parse(bytes.get(start..start + SLOT_BYTES)?)
    });
    let newest = slots.max_by_key(|(_, count)| *count).filter(|_| bytes.starts_with(MAGIC));
    Ok(newest.map_or(Found::Damaged, |(at, count)| Found::At(at, count)))
}

impl Head {
    /// Opens the head, or makes one at the first record.
    pub(super) fn open(path: &Path, found: Found, durable: bool) -> io::Result<Head> {
        let Found::At(_, count) = found else {
            let mut bytes = MAGIC.to_vec();
            bytes.resize(usize::try_from(SLOT_DISTANCE).expect("4096 fits"), 0);
            bytes.extend_from_slice(&slot(START, 0));
            write_whole(path, &bytes, PUBLIC)?;
            let file = File::options().write(true).open(path)?;
            // Both slots have their room, so that no later write makes the file longer.
            file.set_len((SLOTS + 1) * SLOT_DISTANCE)?;
            if durable {
                file.sync_all()?;
            }
            return Ok(Head { file, count: 0 });
        };
        Ok(Head { file: File::options().write(true).open(path)?, count })
    }

    /// Writes a place. `durable`: it survives a loss of power once this returns.
    pub(super) fn write(&mut self, at: Position, durable: bool) -> io::Result<()> {
        self.count += 1;
        let start = (self.count % SLOTS + 1) * SLOT_DISTANCE;
        self.file.write_all_at(&slot(at, self.count), start)?;
        if durable { self.file.sync_data() } else { Ok(()) }
    }
}

fn slot(at: Position, count: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&at.end.to_le_bytes());
    bytes.extend_from_slice(&at.hash);
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

fn parse(bytes: &[u8]) -> Option<(Position, u64)> {
    let (front, sum) = bytes.split_at_checked(SLOT_BYTES - 8)?;
    let (count, rest) = front.split_first_chunk()?;
    let (end, hash) = rest.split_first_chunk()?;
    let at = Position { end: u64::from_le_bytes(*end), hash: hash.try_into().ok()? };
    (sum == checksum(front)).then(|| (at, u64::from_le_bytes(*count)))
}

fn checksum(front: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&blake3::hash(front).as_bytes()[..8]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u8) -> Position {
        Position { end: u64::from(number) * 100, hash: [number; HASH_BYTES] }
    }

    #[test]
    fn the_last_place_that_was_written_is_read_and_one_damaged_slot_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.head");
        assert_eq!(read(&path).unwrap(), Found::Missing);
        let mut head = Head::open(&path, Found::Missing, true).unwrap();
        assert_eq!(read(&path).unwrap(), Found::At(START, 0));
        let length = path.metadata().unwrap().len();
        for number in 1..=5 {
            head.write(place(number), true).unwrap();
            assert_eq!(path.metadata().unwrap().len(), length, "no full disk keeps a head from being written");
            assert_eq!(read(&path).unwrap(), Found::At(place(number), number.into()));
        }
        let mut again = Head::open(&path, read(&path).unwrap(), true).unwrap();
        again.write(place(6), true).unwrap();
        let intact = std::fs::read(&path).unwrap();
        let newest = usize::try_from(SLOT_DISTANCE).unwrap();
        for byte in newest..newest + SLOT_BYTES {
            let mut damaged = intact.clone();
            damaged[byte] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(read(&path).unwrap(), Found::At(place(5), 5), "byte {byte}");
            damaged[byte + newest] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(read(&path).unwrap(), Found::Damaged, "byte {byte}");
        }
        for length in [0, 10, MAGIC.len(), newest] {
            std::fs::write(&path, &intact[..length]).unwrap();
            assert_eq!(read(&path).unwrap(), Found::Damaged, "{length} bytes");
        }
    }
}
