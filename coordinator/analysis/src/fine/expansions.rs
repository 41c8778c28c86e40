//! The fine chunks of chunks, in a file: a record for each chunk, and at the end a checksum of everything before it. The file
//! stays with the latest scan of its kind, so that a scan of the same documents asks for nothing again.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cognate_durable::whole::Draft;
use cognate_fingerprint::{FineChunk, Tag};
use cognate_proto::fine::Expansion;
use foldhash::{HashMap, HashMapExt as _};

use crate::error::Error;

const MAGIC: [u8; 8] = *b"CGNATFI1";
const CHECKSUM_BYTES: usize = 32;
/// A tag, and the number of fine chunks.
const HEADER_BYTES: usize = 16 + 4;
/// A length and a tag.
const FINE_BYTES: usize = 2;

/// Chunks of earlier comparisons that stay in any case.
const KEPT_CHUNKS_MAX: usize = 1 << 16;
/// Bytes that are read at once, unless one chunk has more.
const READ_BYTES_MAX: u64 = 1 << 18;
/// Bytes between two chunks that are read as well, because another call costs more.
const GAP_BYTES_MAX: u64 = 1 << 12;

/// Where the fine chunks of a chunk are.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    count: u32,
}

impl Place {
    fn end(self) -> u64 {
        self.offset + u64::from(self.count) * FINE_BYTES as u64
    }
}

/// The memory with which one thread reads chunks, one portion after the other.
#[derive(Default)]
pub(super) struct Reading {
    wanted: Vec<(Place, Tag)>,
    bytes: Vec<u8>,
    fine: Vec<FineChunk>,
}

/// A finished file.
#[derive(Debug)]
pub(super) struct Expansions {
    file: File,
    path: PathBuf,
    places: HashMap<Tag, Place>,
}

/// A file that is being written.
pub(super) struct ExpansionsWriter {
    draft: Draft,
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    end: u64,
    places: HashMap<Tag, Place>,
}

impl ExpansionsWriter {
    pub(super) fn create(path: &Path) -> Result<ExpansionsWriter, Error> {
        let (draft, file) = Draft::create(path, 0o600).map_err(Error::state(path))?;
        let mut writer = ExpansionsWriter {
            draft,
            file: BufWriter::with_capacity(1 << 18, file),
            hasher: blake3::Hasher::new(),
            end: 0,
            places: HashMap::new(),
        };
        writer.write(&MAGIC)?;
        Ok(writer)
    }

    /// True if the fine chunks of a chunk are in the file.
    pub(super) fn contains(&self, tag: &Tag) -> bool {
        self.places.contains_key(tag)
    }

    /// Adds a chunk, unless it is there.
    pub(super) fn push(&mut self, expansion: &Expansion) -> Result<(), Error> {
        if self.contains(&expansion.tag) {
            return Ok(());
        }
        let count = u32::try_from(expansion.fine.len()).expect("a chunk has a few thousand fine chunks");
        let mut record = Vec::with_capacity(HEADER_BYTES + FINE_BYTES * expansion.fine.len());
        record.extend_from_slice(&expansion.tag.0);
        record.extend_from_slice(&count.to_le_bytes());
        for fine in &expansion.fine {
            record.push(fine.length_bytes);
            record.push(fine.tag);
        }
        let offset = self.end + HEADER_BYTES as u64;
        self.places.insert(expansion.tag, Place { offset, count });
        self.write(&record)
    }

    /// Adds the chunks of an earlier file, unless they are many more than those of this one: most are then of no use.
    pub(super) fn keep(&mut self, earlier: &Expansions) -> Result<(), Error> {
        if earlier.places.len() > 2 * self.places.len() + KEPT_CHUNKS_MAX {
            return Ok(());
        }
        let mut tags: Vec<Tag> = earlier.places.keys().copied().collect();
        tags.sort_unstable();
        for tag in tags {
            if let Some(fine) = earlier.get(&tag)? {
                self.push(&Expansion { tag, fine })?;
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.hasher.update(bytes);
        self.end += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::state(self.draft.path()))
    }

    /// Puts the file in its place; with `sync` it is on the disk then.
    pub(super) fn finish(mut self, sync: bool) -> Result<Expansions, Error> {
        let path = self.draft.path().to_owned();
        let checksum = *self.hasher.finalize().as_bytes();
        self.file.write_all(&checksum).and_then(|()| self.file.flush()).map_err(Error::state(&path))?;
        self.draft.finish(sync).map_err(Error::state(&path))?;
        let file = File::open(&path).map_err(Error::state(&path))?;
        Ok(Expansions { file, path, places: self.places })
    }
}

impl Expansions {
    /// Opens a file, and checks all of it.
    pub(super) fn open(path: &Path) -> Result<Expansions, Error> {
        let read = || -> io::Result<HashMap<Tag, Place>> {
            let file = File::open(path)?;
            let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
            let end = file.metadata()?.len().checked_sub(CHECKSUM_BYTES as u64).ok_or_else(damaged)?;
            let mut input = BufReader::with_capacity(1 << 18, file);
            let (mut hasher, mut at) = (blake3::Hasher::new(), 0_u64);
            let mut take = |input: &mut BufReader<File>, bytes: &mut [u8]| {
                input.read_exact(bytes)?;
                hasher.update(bytes);
                at += bytes.len() as u64;
                if at <= end { Ok(at) } else { Err(damaged()) }
            };
            let mut magic = [0; 8];
            let mut offset = take(&mut input, &mut magic)?;
            let mut places = HashMap::new();
            while offset < end {
                let (mut tag, mut count) = ([0; 16], [0; 4]);
                take(&mut input, &mut tag)?;
                offset = take(&mut input, &mut count)?;
                let count = u32::from_le_bytes(count);
                let length = u64::from(count) * FINE_BYTES as u64;
                if length > end - offset {
                    return Err(damaged());
                }
                places.insert(Tag(tag), Place { offset, count });
                let mut fine = vec![0; usize::try_from(length).map_err(|_| damaged())?];
                offset = take(&mut input, &mut fine)?;
            }
            let mut checksum = [0; CHECKSUM_BYTES];
            input.read_exact(&mut checksum)?;
            let intact = magic == MAGIC && checksum == *hasher.finalize().as_bytes();
            if intact { Ok(places) } else { Err(damaged()) }
        };
        let places = read().map_err(Error::state(path))?;
        let file = File::open(path).map_err(Error::state(path))?;
        Ok(Expansions { file, path: path.to_owned(), places })
    }

    /// The number of fine chunks of a chunk, if it was cut again.
    pub(super) fn count(&self, tag: &Tag) -> Option<usize> {
        self.places.get(tag).map(|place| place.count as usize)
    }

    /// Those of the chunks that were cut again, in the order of the file.
    pub(super) fn in_order(&self, tags: &[Tag]) -> Vec<Tag> {
        let mut places: Vec<(u64, Tag)> =
            tags.iter().filter_map(|tag| Some((self.places.get(tag)?.offset, *tag))).collect();
        places.sort_unstable_by_key(|(offset, _)| *offset);
        places.into_iter().map(|(_, tag)| tag).collect()
    }

    /// Hands over the fine chunks of those of the chunks that were cut again, in the order of the file. Chunks of one content follow each
    /// other there, so that few calls read them.
    pub(super) fn each(
        &self,
        tags: impl IntoIterator<Item = Tag>,
        reading: &mut Reading,
        mut each: impl FnMut(Tag, &[FineChunk]),
    ) -> Result<(), Error> {
        let Reading { wanted, bytes, fine } = reading;
        wanted.clear();
        wanted.extend(tags.into_iter().filter_map(|tag| Some((*self.places.get(&tag)?, tag))));
        wanted.sort_unstable_by_key(|(place, _)| place.offset);
        let mut rest = wanted.as_slice();
        while let Some((first, _)) = rest.first() {
            let mut end = first.end();
            let follows = |(place, _): &&(Place, Tag)| {
                let is_near = place.offset <= end + GAP_BYTES_MAX && place.end() - first.offset <= READ_BYTES_MAX;
                end = if is_near { place.end() } else { end };
                is_near
            };
            let count = 1 + rest[1..].iter().take_while(follows).count();
            let (portion, later) = rest.split_at(count);
            bytes.resize(in_memory(end - first.offset), 0);
            self.file.read_exact_at(bytes, first.offset).map_err(Error::state(&self.path))?;
            for (place, tag) in portion {
                let start = in_memory(place.offset - first.offset);
                fine.clear();
                fine.extend(fine_chunks(&bytes[start..start + FINE_BYTES * place.count as usize]));
                each(*tag, fine);
            }
            rest = later;
        }
        Ok(())
    }

    /// The fine chunks of a chunk, if it was cut again.
    pub(super) fn get(&self, tag: &Tag) -> Result<Option<Vec<FineChunk>>, Error> {
        let Some(Place { offset, count }) = self.places.get(tag) else { return Ok(None) };
        let mut bytes = vec![0; FINE_BYTES * *count as usize];
        self.file.read_exact_at(&mut bytes, *offset).map_err(Error::state(&self.path))?;
        Ok(Some(fine_chunks(&bytes).collect()))
    }
}

fn fine_chunks(bytes: &[u8]) -> impl Iterator<Item = FineChunk> {
    let fine = |[length_bytes, tag]: &[u8; FINE_BYTES]| FineChunk { tag: *tag, length_bytes: *length_bytes };
    bytes.as_chunks::<FINE_BYTES>().0.iter().map(fine)
}

/// A number of bytes that are read at once.
fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a portion fits the memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(number: u8) -> Expansion {
        let fine = |place: u8| FineChunk { tag: number ^ place, length_bytes: 1 + place % 16 };
        Expansion { tag: Tag([number; 16]), fine: (0..=number).map(fine).collect() }
    }

    #[test]
    fn fine_chunks_are_read_back_now_and_by_the_next_scan() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fine");
        let mut writer = ExpansionsWriter::create(&path).unwrap();
        for number in [3, 0, 200, 3] {
            writer.push(&expansion(number)).unwrap();
        }
        assert!(writer.contains(&Tag([200; 16])) && !writer.contains(&Tag([9; 16])));
        let written = writer.finish(false).unwrap();
        let mut next = ExpansionsWriter::create(&folder.path().join("next")).unwrap();
        next.push(&expansion(3)).unwrap();
        next.keep(&written).unwrap();
        for expansions in [written, Expansions::open(&path).unwrap(), next.finish(false).unwrap()] {
            for number in [0, 3, 200] {
                assert_eq!(expansions.get(&Tag([number; 16])).unwrap(), Some(expansion(number).fine));
            }
            assert_eq!(expansions.get(&Tag([9; 16])).unwrap(), None);
        }
    }

    #[test]
    fn chunks_are_read_together_whether_they_are_near_each_other_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ExpansionsWriter::create(&folder.path().join("fine")).unwrap();
        let long = |number: u8| {
            let fine = FineChunk { tag: number, length_bytes: 7 };
            Expansion { tag: Tag([number; 16]), fine: vec![fine; 1000 * usize::from(number)] }
        };
        (0..=255).for_each(|number| writer.push(&long(number)).unwrap());
        let written = writer.finish(false).unwrap();
        let mut reading = Reading::default();
        let unknown = Tag([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8]);
        for step in [1, 2, 7, 100, 255] {
            let numbers = || (0..=255).rev().step_by(step);
            let mut left: Vec<u8> = numbers().collect();
            let tags = numbers().map(|number| Tag([number; 16])).chain([unknown]);
            written
                .each(tags, &mut reading, |tag, fine| {
                    let number = tag.0[0];
                    assert_eq!(left.pop(), Some(number), "in the order of the file, each once");
                    assert_eq!(fine, long(number).fine, "{number}");
                })
                .unwrap();
            assert!(left.is_empty(), "every {step}th: {left:?}");
        }
    }

    #[test]
    fn a_damaged_file_is_refused_whichever_byte_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fine");
        let mut writer = ExpansionsWriter::create(&path).unwrap();
        writer.push(&expansion(2)).unwrap();
        writer.push(&expansion(5)).unwrap();
        drop(writer.finish(false).unwrap());
        let intact = std::fs::read(&path).unwrap();
        for place in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[place] ^= 0x20;
            std::fs::write(&path, damaged).unwrap();
            assert!(Expansions::open(&path).is_err(), "byte {place}");
            std::fs::write(&path, &intact[..place]).unwrap();
            assert!(Expansions::open(&path).is_err(), "{place} bytes");
        }
    }
}
