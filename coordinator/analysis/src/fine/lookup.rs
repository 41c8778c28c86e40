//! Fine chunks of a few chunks out of a large file: found by its index, and checked one by one. Nothing but the index is read as a
//! whole, and nothing is kept in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cognate_fingerprint::{FineChunk, Tag};

use super::chunk_file::{ChunkLocation, FINE_BYTES, Footer, HEADER_BYTES, MAGIC, ROW_BYTES, damaged, fine_chunks};
use crate::error::Error;

/// Bytes of the index that are read at once; a multiple of a row.
const READ_BYTES: u64 = 1 << 18;

/// A file in which single chunks are looked up.
#[derive(Debug)]
pub(super) struct Lookup {
    file: File,
    path: PathBuf,
    start: u64,
    rows: u64,
}

impl Lookup {
    /// Opens a file, and checks its index.
    pub(super) fn open(path: &Path) -> Result<Lookup, Error> {
        let read = || -> io::Result<Lookup> {
            let file = File::open(path)?;
            let mut magic = [0; MAGIC.len()];
            file.read_exact_at(&mut magic, 0)?;
            let footer = Footer::read(&file)?;
            let (mut hasher, mut at) = (blake3::Hasher::new(), footer.start);
            let end = footer.start + footer.rows * ROW_BYTES as u64;
            let mut bytes = Vec::new();
            while at < end {
                let length = READ_BYTES.min(end - at);
                bytes.resize(usize::try_from(length).expect("a portion fits the memory"), 0);
                file.read_exact_at(&mut bytes, at)?;
                hasher.update(&bytes);
                at += length;
            }
            if magic != MAGIC || *hasher.finalize().as_bytes() != footer.hash {
                return Err(damaged());
            }
            Ok(Lookup { file, path: path.to_owned(), start: footer.start, rows: footer.rows })
        };
        read().map_err(Error::state(path))
    }

    /// The fine chunks of a chunk, if it was cut again.
    pub(super) fn get(&self, tag: &Tag) -> Result<Option<Vec<FineChunk>>, Error> {
        let read = || -> io::Result<Option<Vec<FineChunk>>> {
            let Some(place) = self.place(tag)? else { return Ok(None) };
            let mut bytes = vec![0; FINE_BYTES * place.count as usize];
            self.file.read_exact_at(&mut bytes, place.offset)?;
            if crc32fast::hash(&bytes) != place.check {
                return Err(damaged());
            }
            Ok(Some(fine_chunks(&bytes).collect()))
        };
        read().map_err(Error::state(&self.path))
    }

    /// Where the chunk is, by bisection.
    fn place(&self, tag: &Tag) -> io::Result<Option<ChunkLocation>> {
        let (mut from, mut to) = (0, self.rows);
        let mut row = [0; ROW_BYTES];
        while from < to {
            let middle = from + (to - from) / 2;
            self.file.read_exact_at(&mut row, self.start + middle * ROW_BYTES as u64)?;
            match row[..16].cmp(&tag.0[..]) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => {
                    let offset = u64::from_le_bytes(row[16..24].try_into().expect("eight bytes"));
                    let number = |at: usize| u32::from_le_bytes(row[at..at + 4].try_into().expect("four bytes"));
                    let place = ChunkLocation { offset, count: number(24), check: number(28) };
                    let is_inside = offset >= (MAGIC.len() + HEADER_BYTES) as u64 && place.end() <= self.start;
                    return if is_inside { Ok(Some(place)) } else { Err(damaged()) };
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use cognate_proto::fine::Expansion;

    use super::super::chunk_file::CHECKSUM_BYTES;
    use super::super::expansions::ExpansionsWriter;
    use super::*;

    fn expansion(number: u8) -> Expansion {
        let fine = FineChunk { tag: number, length_bytes: 9 };
        Expansion { tag: Tag([number.wrapping_mul(37); 16]), fine: vec![fine; usize::from(number)] }
    }

    fn written(numbers: std::ops::Range<u8>) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fine");
        let mut writer = ExpansionsWriter::create(&path).unwrap();
        numbers.for_each(|number| writer.push(&expansion(number)).unwrap());
        drop(writer.finish(false).unwrap());
        (folder, path)
    }

    #[test]
    fn each_chunk_of_a_file_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 200] {
            let (_folder, path) = written(0..count);
            let lookup = Lookup::open(&path).unwrap();
            for number in 0..=255 {
                let Expansion { tag, fine } = expansion(number);
                assert_eq!(lookup.get(&tag).unwrap(), (number < count).then_some(fine), "{number} of {count}");
            }
        }
    }

    #[test]
    fn damage_is_never_taken_for_the_chunks_or_for_their_absence() {
        let (_folder, path) = written(1..6);
        let intact = std::fs::read(&path).unwrap();
        let footer = Footer::read(&File::open(&path).unwrap()).unwrap();
        for place in 0..intact.len() - CHECKSUM_BYTES {
            let mut damaged = intact.clone();
            damaged[place] ^= 0x20;
            std::fs::write(&path, damaged).unwrap();
            let in_index = place >= usize::try_from(footer.start).unwrap();
            let opened = Lookup::open(&path);
            assert_eq!(opened.is_err(), in_index || place < MAGIC.len(), "byte {place}");
            let Ok(lookup) = opened else { continue };
            for number in 1..6 {
                let Expansion { tag, fine } = expansion(number);
                assert!(lookup.get(&tag).is_err() || lookup.get(&tag).unwrap() == Some(fine), "byte {place}");
            }
        }
    }
}
