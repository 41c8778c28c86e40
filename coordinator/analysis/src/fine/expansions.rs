//! The fine chunks of chunks, in a file: a record for each chunk, then an index of all records in the order of their tags, and at
//! the end a checksum of everything before it. The file stays with the latest scan of its kind, so that a scan of the same
//! documents asks for nothing again. A scan reads and checks all of it; a page that shows one pair uses the index (`lookup.rs`).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cognate_durable::whole::Draft;
use cognate_fingerprint::{FineChunk, Tag};
use cognate_proto::fine::Expansion;
use foldhash::{HashMap, HashMapExt as _};

use super::chunk_file::{
    self, CHECKSUM_BYTES, ChunkLocation, FINE_BYTES, Footer, HEADER_BYTES, MAGIC, ROW_BYTES, damaged, fine_chunks,
};
use super::tag_list::TagList;
use crate::error::Error;

/// Chunks of earlier comparisons that stay in any case.
const KEPT_CHUNKS_MAX: usize = 1 << 16;
/// Bytes that are read at once, unless one chunk has more.
const READ_BYTES_MAX: u64 = 1 << 18;
/// Bytes that are written and hashed at once.
const HELD_BYTES_MAX: usize = 1 << 18;
/// Bytes between two chunks that are read as well, because another call costs more.
const GAP_BYTES_MAX: u64 = 1 << 12;

/// The memory with which one thread reads chunks, one portion after the other.
#[derive(Default)]
pub(super) struct Reading {
    portions: Portions,
    fine: Vec<FineChunk>,
}

/// The chunks that are to be read, and the bytes of one portion of them.
#[derive(Default)]
struct Portions {
    wanted: Vec<(ChunkLocation, usize)>,
    bytes: Vec<u8>,
}

/// A finished file.
#[derive(Debug)]
pub(super) struct Expansions {
    file: File,
    path: PathBuf,
    tags: TagList,
    /// Of each tag, where its fine chunks are.
    places: Vec<ChunkLocation>,
}

/// A file that is being written.
pub(super) struct ExpansionsWriter {
    draft: Draft,
    file: File,
    /// Bytes that are neither written nor hashed yet: both cost little for many bytes at once.
    held: Vec<u8>,
    hasher: blake3::Hasher,
    end: u64,
    places: HashMap<Tag, ChunkLocation>,
}

impl ExpansionsWriter {
    pub(super) fn create(path: &Path) -> Result<ExpansionsWriter, Error> {
        let (draft, file) = Draft::create(path, 0o600).map_err(Error::state(path))?;
        let mut writer = ExpansionsWriter {
            draft,
            file,
            held: Vec::with_capacity(HELD_BYTES_MAX),
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
        let bytes: Vec<u8> = expansion.fine.iter().flat_map(|fine| [fine.length_bytes, fine.tag]).collect();
        self.push_bytes(expansion.tag, &bytes)
    }

    /// Adds a chunk by the bytes of its fine chunks, unless it is there.
    pub(super) fn push_bytes(&mut self, tag: Tag, fine: &[u8]) -> Result<(), Error> {
        if self.contains(&tag) {
            return Ok(());
        }
        let count = u32::try_from(fine.len() / FINE_BYTES).expect("a chunk has a few thousand fine chunks");
        let check = crc32fast::hash(fine);
        self.places.insert(tag, ChunkLocation { offset: self.end + HEADER_BYTES as u64, count, check });
        self.write(&tag.0)?;
        self.write(&count.to_le_bytes())?;
        self.write(fine)
    }

    /// Adds those of the chunks that an earlier file has, in its order: chunks of one content follow each other there.
    pub(super) fn take_over(&mut self, earlier: &Expansions, tags: &[Tag]) -> Result<(), Error> {
        let mut portions = Portions::default();
        earlier.each_record(tags.iter().copied(), &mut portions, |number, fine| self.push_bytes(tags[number], fine))
    }

    /// Adds the chunks of an earlier file, unless they are many more than those of this one: most are then of no use.
    pub(super) fn keep(&mut self, earlier: &Expansions) -> Result<(), Error> {
        if earlier.places.len() > 2 * self.places.len() + KEPT_CHUNKS_MAX {
            return Ok(());
        }
        let missing: Vec<Tag> = earlier.tags.tags().iter().filter(|tag| !self.contains(tag)).copied().collect();
        self.take_over(earlier, &missing)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.end += bytes.len() as u64;
        self.held.extend_from_slice(bytes);
        if self.held.len() < HELD_BYTES_MAX { Ok(()) } else { self.write_held() }
    }

    /// Writes where each chunk is, in the order of the tags, and a footer that says where this index is.
    fn write_index(&mut self, tags: &[Tag], places: &[ChunkLocation]) -> Result<(), Error> {
        let (start, mut hasher) = (self.end, blake3::Hasher::new());
        for (tag, place) in tags.iter().zip(places) {
            let row = chunk_file::row(tag, *place);
            hasher.update(&row);
            self.write(&row)?;
        }
        let rows = (self.end - start) / ROW_BYTES as u64;
        self.write(&Footer { start, rows, hash: *hasher.finalize().as_bytes() }.to_bytes())
    }

    fn write_held(&mut self) -> Result<(), Error> {
        self.hasher.update(&self.held);
        self.file.write_all(&self.held).map_err(Error::state(self.draft.path()))?;
        self.held.clear();
        Ok(())
    }

    /// Puts the file in its place; with `sync` it is on the disk then.
    pub(super) fn finish(mut self, sync: bool) -> Result<Expansions, Error> {
        let path = self.draft.path().to_owned();
        let (tags, places) = by_tags(std::mem::take(&mut self.places));
        self.write_index(&tags, &places)?;
        self.write_held()?;
        self.file.write_all(self.hasher.finalize().as_bytes()).map_err(Error::state(&path))?;
        self.draft.finish(sync).map_err(Error::state(&path))?;
        let file = File::open(&path).map_err(Error::state(&path))?;
        Ok(Expansions { file, path, tags: TagList::of(tags), places })
    }
}

impl Expansions {
    /// Opens a file, and checks all of it.
    pub(super) fn open(path: &Path) -> Result<Expansions, Error> {
        let read = || -> io::Result<HashMap<Tag, ChunkLocation>> {
            let file = File::open(path)?;
            let all = file.metadata()?.len().checked_sub(CHECKSUM_BYTES as u64).ok_or_else(damaged)?;
            let end = Footer::read(&file)?.start;
            let hashed = HashingReader { file, left: all, hasher: blake3::Hasher::new() };
            let mut input = BufReader::with_capacity(HELD_BYTES_MAX, hashed);
            let (mut magic, mut header) = ([0; 8], [0; HEADER_BYTES]);
            input.read_exact(&mut magic)?;
            let mut offset = magic.len() as u64;
            let mut places = HashMap::new();
            while offset < end {
                input.read_exact(&mut header)?;
                let (tag, count) = header.split_first_chunk().expect("a header begins with a tag");
                let count = u32::from_le_bytes(count.try_into().expect("a count has four bytes"));
                let mut place = ChunkLocation { offset: offset + HEADER_BYTES as u64, count, check: 0 };
                if place.end() > end {
                    return Err(damaged());
                }
                place.check = pass_over(&mut input, place.end() - place.offset)?;
                places.insert(Tag(*tag), place);
                offset = place.end();
            }
            pass_over(&mut input, all.checked_sub(offset).ok_or_else(damaged)?)?;
            let HashingReader { mut file, hasher, .. } = input.into_inner();
            let mut checksum = [0; CHECKSUM_BYTES];
            file.read_exact(&mut checksum)?;
            let intact = magic == MAGIC && checksum == *hasher.finalize().as_bytes();
            if intact { Ok(places) } else { Err(damaged()) }
        };
        let places = read().map_err(Error::state(path))?;
        let file = File::open(path).map_err(Error::state(path))?;
        let (tags, places) = by_tags(places);
        Ok(Expansions { file, path: path.to_owned(), tags: TagList::of(tags), places })
    }

    fn location(&self, tag: &Tag) -> Option<ChunkLocation> {
        self.tags.place(tag).map(|place| self.places[place as usize])
    }

    /// True if a chunk was cut again.
    pub(super) fn contains(&self, tag: &Tag) -> bool {
        self.tags.contains(tag)
    }

    /// The number of fine chunks of a chunk, if it was cut again.
    pub(super) fn count(&self, tag: &Tag) -> Option<usize> {
        self.location(tag).map(|place| place.count as usize)
    }

    /// The place of a chunk in the file, if it was cut again.
    pub(super) fn offset(&self, tag: &Tag) -> Option<u64> {
        self.location(tag).map(|place| place.offset)
    }

    /// Those of the chunks that were cut again, in the order of the file.
    pub(super) fn in_order(&self, tags: &[Tag]) -> Vec<Tag> {
        let mut places: Vec<(u64, Tag)> = tags.iter().filter_map(|tag| Some((self.offset(tag)?, *tag))).collect();
        places.sort_unstable_by_key(|(offset, _)| *offset);
        places.into_iter().map(|(_, tag)| tag).collect()
    }

    /// Hands over the fine chunks of those of the chunks that were cut again, in the order of the file, each with its number among the tags.
    pub(super) fn each(
        &self,
        tags: impl IntoIterator<Item = Tag>,
        reading: &mut Reading,
        mut each: impl FnMut(usize, &[FineChunk]),
    ) -> Result<(), Error> {
        let Reading { portions, fine } = reading;
        self.each_record(tags, portions, |number, bytes| {
            fine.clear();
            fine.extend(fine_chunks(bytes));
            each(number, fine);
            Ok(())
        })
    }

    /// Hands over the bytes of those of the chunks that were cut again, in the order of the file, each with its number among the tags. Chunks of one
    /// content follow each other there, so that few calls read them.
    fn each_record(
        &self,
        tags: impl IntoIterator<Item = Tag>,
        portions: &mut Portions,
        mut each: impl FnMut(usize, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Portions { wanted, bytes } = portions;
        wanted.clear();
        let located = tags.into_iter().enumerate().filter_map(|(number, tag)| Some((self.location(&tag)?, number)));
        wanted.extend(located);
        wanted.sort_unstable_by_key(|(place, _)| place.offset);
        let mut rest = wanted.as_slice();
        while let Some((first, _)) = rest.first() {
            let mut end = first.end();
            let follows = |(place, _): &&(ChunkLocation, usize)| {
                let is_near = place.offset <= end + GAP_BYTES_MAX && place.end() - first.offset <= READ_BYTES_MAX;
                end = if is_near { place.end() } else { end };
                is_near
            };
            let count = 1 + rest[1..].iter().take_while(follows).count();
            let (portion, later) = rest.split_at(count);
            bytes.resize(in_memory(end - first.offset), 0);
            self.file.read_exact_at(bytes, first.offset).map_err(Error::state(&self.path))?;
            for (place, number) in portion {
                let start = in_memory(place.offset - first.offset);
                each(*number, &bytes[start..start + FINE_BYTES * place.count as usize])?;
            }
            rest = later;
        }
        Ok(())
    }

    /// The fine chunks of a chunk, if it was cut again.
    pub(super) fn get(&self, tag: &Tag) -> Result<Option<Vec<FineChunk>>, Error> {
        let Some(ChunkLocation { offset, count, .. }) = self.location(tag) else { return Ok(None) };
        let mut bytes = vec![0; FINE_BYTES * count as usize];
        self.file.read_exact_at(&mut bytes, offset).map_err(Error::state(&self.path))?;
        Ok(Some(fine_chunks(&bytes).collect()))
    }
}

/// The tags, ascending, and the place of each.
fn by_tags(places: HashMap<Tag, ChunkLocation>) -> (Vec<Tag>, Vec<ChunkLocation>) {
    let mut rows: Vec<(Tag, ChunkLocation)> = places.into_iter().collect();
    rows.sort_unstable_by_key(|(tag, _)| *tag);
    rows.into_iter().unzip()
}

/// Everything of a file before its checksum, and the hash of what was read.
struct HashingReader {
    file: File,
    left: u64,
    hasher: blake3::Hasher,
}

impl io::Read for HashingReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = (&self.file).take(self.left).read(bytes)?;
        self.left -= count as u64;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }
}

/// Reads on without keeping anything: the CRC-32 of what was there.
fn pass_over(input: &mut impl BufRead, mut bytes: u64) -> io::Result<u32> {
    let mut check = crc32fast::Hasher::new();
    while bytes > 0 {
        let held = input.fill_buf()?;
        let here = held.len().min(in_memory(bytes));
        if here == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        check.update(&held[..here]);
        input.consume(here);
        bytes -= here as u64;
    }
    Ok(check.finalize())
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
        let path = folder.path().join("fine");
        let written = [writer.finish(false).unwrap(), Expansions::open(&path).unwrap()];
        let mut reading = Reading::default();
        let unknown = Tag([7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8]);
        for (step, written) in
            [1, 2, 7, 100, 255].into_iter().flat_map(|step| written.each_ref().map(|file| (step, file)))
        {
            let numbers = || (0..=255).rev().step_by(step);
            let mut left: Vec<u8> = numbers().collect();
            let tags: Vec<Tag> = numbers().map(|number| Tag([number; 16])).chain([unknown]).collect();
            written
                .each(tags.iter().copied(), &mut reading, |number, fine| {
                    let number = tags[number].0[0];
                    assert_eq!(left.pop(), Some(number), "in the order of the file, each once");
                    assert_eq!(fine, long(number).fine, "{number}");
                })
                .unwrap();
            assert!(left.is_empty(), "every {step}th: {left:?}");
        }
        let mut next = ExpansionsWriter::create(&folder.path().join("next")).unwrap();
        let tags: Vec<Tag> = (0..=255).rev().step_by(3).map(|number| Tag([number; 16])).collect();
        next.take_over(&written[1], &tags).unwrap();
        let next = next.finish(false).unwrap();
        for number in 0..=255 {
            let expected = (number % 3 == 0).then(|| long(number).fine);
            assert_eq!(next.get(&Tag([number; 16])).unwrap(), expected, "{number}");
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
