//! Loose links that are kept until the frames of their contents are known: what two contents have in common, chunk by chunk. They are in
//! files without names, one for each thread, which end with the scan, however it ends.
//!
//! ```text
//! record   [3 counts │ common chunks         │ counted chunks of a │ counted chunks of b]
//! common   [tag 16 │ length 4 │ count 4]
//! counted  [tag 16 │ bytes 4 │ bits' bytes 4 │ lost chunks 4 │ a bit for each fine chunk │ (place 4, bytes 1) for each that is cut short]
//! ```

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::{FineChunk, Tag};
use cognate_similarity::fine::{ChunkCount, Part};

use super::bits::Bits;
use super::pair::Pair;
use crate::error::Error;

/// The links that one thread keeps.
#[derive(Default)]
pub(super) struct LooseLinks {
    file: Option<LinkFile>,
    links: Vec<KeptLink>,
    end: u64,
    record: Record,
}

struct LinkFile {
    writer: BufWriter<File>,
    path: PathBuf,
}

/// A link in the file.
struct KeptLink {
    pair: Pair,
    offset: u64,
    length: usize,
}

/// The link at hand: the number of its common chunks and of the counted chunks of both sides, and their bytes.
#[derive(Default)]
struct Record {
    counts: [u32; 3],
    parts: [Vec<u8>; 3],
}

/// What the contents of a loose link have in common, in the bytes of its record.
pub(super) struct LooseLink<'a> {
    /// Their common chunks, each as often as both have it.
    pub(super) common: Vec<ChunkCount>,
    /// Of each content, the chunks of which fine chunks count.
    pub(super) counted: [Vec<CountedChunk<'a>>; 2],
}

/// A chunk of which fine chunks count.
pub(super) struct CountedChunk<'a> {
    pub(super) tag: Tag,
    /// The bytes that count.
    pub(super) bytes: u32,
    /// A bit for each fine chunk that counts, the first in the lowest bit of the first byte.
    fine: &'a [u8],
    /// The fine chunks of which fewer bytes count than they have: the place of each, and the bytes that do not.
    lost: &'a [[u8; LOST_BYTES]],
}

/// A place, and a number of bytes.
const LOST_BYTES: usize = 4 + 1;

impl LooseLinks {
    /// Begins a link with its common chunks.
    pub(super) fn begin(&mut self, common: &[ChunkCount]) {
        let Record { counts, parts } = &mut self.record;
        parts.iter_mut().for_each(Vec::clear);
        *counts = [as_number(common.len()), 0, 0];
        for chunk in common {
            parts[0].extend_from_slice(&chunk.tag.0);
            parts[0].extend_from_slice(&chunk.length_bytes.to_le_bytes());
            parts[0].extend_from_slice(&chunk.count.to_le_bytes());
        }
    }

    /// Adds a chunk of one side to the link that was begun, with the bytes that count of each fine chunk, and their bits.
    pub(super) fn add(&mut self, side: usize, tag: Tag, fine: &[FineChunk], counted: &[u8], bits: &Bits) {
        self.record.counts[1 + side] += 1;
        let record = &mut self.record.parts[1 + side];
        let lost = (0_u32..).zip(fine.iter().zip(counted));
        let lost = lost.filter(|(_, (fine, bytes))| **bytes > 0 && **bytes < fine.length_bytes);
        let bytes: u32 = counted.iter().map(|bytes| u32::from(*bytes)).sum();
        record.extend_from_slice(&tag.0);
        record.extend_from_slice(&bytes.to_le_bytes());
        record.extend_from_slice(&as_number(size_of_val(bits.words())).to_le_bytes());
        record.extend_from_slice(&as_number(lost.clone().count()).to_le_bytes());
        bits.words().iter().for_each(|word| record.extend_from_slice(&word.to_le_bytes()));
        for (place, (fine, bytes)) in lost {
            record.extend_from_slice(&place.to_le_bytes());
            record.push(fine.length_bytes - bytes);
        }
    }

    /// Writes the link that was begun, into a file in the folder.
    pub(super) fn end(&mut self, pair: Pair, folder: &Path) -> Result<(), Error> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(LinkFile::create(folder)?),
        };
        let Record { counts, parts } = &self.record;
        let header = counts.map(u32::to_le_bytes);
        let mut length = 0;
        for part in [header.as_flattened()].into_iter().chain(parts.iter().map(Vec::as_slice)) {
            file.writer.write_all(part).map_err(Error::state(&file.path))?;
            length += part.len();
        }
        self.links.push(KeptLink { pair, offset: self.end, length });
        self.end += length as u64;
        Ok(())
    }

    /// The bytes that they take.
    pub(super) fn held_bytes(&self) -> u64 {
        self.end
    }
}

impl LinkFile {
    fn create(folder: &Path) -> Result<LinkFile, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = folder.join(format!("loose-{}.spill", NEXT.fetch_add(1, Ordering::Relaxed)));
        let create = || {
            std::fs::create_dir_all(folder)?;
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        };
        let file = create().map_err(Error::state(&path))?;
        Ok(LinkFile { writer: BufWriter::with_capacity(1 << 16, file), path })
    }
}

/// The links of all threads, by their pairs.
pub(super) struct KeptLinks {
    /// Per thread its file, unless it kept no link.
    files: Vec<Option<(File, PathBuf)>>,
    /// The links, by their pairs, each with its thread.
    links: Vec<(usize, KeptLink)>,
}

impl KeptLinks {
    pub(super) fn of(of_threads: Vec<LooseLinks>) -> Result<KeptLinks, Error> {
        let (mut files, mut links) = (Vec::new(), Vec::new());
        for (thread, of_thread) in of_threads.into_iter().enumerate() {
            links.extend(of_thread.links.into_iter().map(|link| (thread, link)));
            let file = of_thread.file.map(|LinkFile { writer, path }| match writer.into_inner() {
                Ok(file) => Ok((file, path)),
                Err(failure) => Err(Error::state(&path)(failure.into_error())),
            });
            files.push(file.transpose()?);
        }
        links.sort_unstable_by_key(|(_, link)| link.pair);
        Ok(KeptLinks { files, links })
    }

    /// The place of a pair's link, if it was kept.
    pub(super) fn place(&self, pair: Pair) -> Option<usize> {
        self.links.binary_search_by_key(&pair, |(_, link)| link.pair).ok()
    }

    /// Reads the record of the link at a place.
    pub(super) fn read(&self, place: usize, record: &mut Vec<u8>) -> Result<(), Error> {
        let (thread, link) = &self.links[place];
        let (file, path) = self.files[*thread].as_ref().expect("it has kept a link");
        record.resize(link.length, 0);
        file.read_exact_at(record, link.offset).map_err(Error::state(path))
    }
}

/// Takes apart the bytes that this process has written.
struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().expect("so many were taken")
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }
}

impl<'a> LooseLink<'a> {
    /// The link of a record.
    pub(super) fn of(record: &'a [u8]) -> LooseLink<'a> {
        let mut taken = RecordReader(record);
        let [common, first, second] = [(); 3].map(|()| taken.number());
        let common_chunk = |taken: &mut RecordReader<'_>| ChunkCount {
            tag: Tag(taken.array()),
            length_bytes: taken.number(),
            count: taken.number(),
        };
        LooseLink {
            common: (0..common).map(|_| common_chunk(&mut taken)).collect(),
            counted: [first, second].map(|count| (0..count).map(|_| CountedChunk::take(&mut taken)).collect()),
        }
    }
}

impl<'a> CountedChunk<'a> {
    fn take(taken: &mut RecordReader<'a>) -> CountedChunk<'a> {
        let (tag, bytes) = (Tag(taken.array()), taken.number());
        let [fine, lost] = [(); 2].map(|()| taken.number() as usize);
        CountedChunk { tag, bytes, fine: taken.bytes(fine), lost: taken.bytes(lost * LOST_BYTES).as_chunks().0 }
    }

    /// The bytes that count of the contents' own text.
    pub(super) fn own_bytes(&self, fine: &[FineChunk], parts: &[Part]) -> u64 {
        let is_own = |place: usize| parts.get(place).is_none_or(|part| *part == Part::Own);
        let counts = |place: usize| self.fine.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1);
        let counted = fine.iter().enumerate().filter(|(place, _)| counts(*place) && is_own(*place));
        let lost = self.lost.iter().map(|[place @ .., bytes]| (u32::from_le_bytes(*place) as usize, *bytes));
        counted.map(|(_, fine)| u64::from(fine.length_bytes)).sum::<u64>()
            - lost.filter(|(place, _)| is_own(*place)).map(|(_, bytes)| u64::from(bytes)).sum::<u64>()
    }
}

fn as_number(count: usize) -> u32 {
    u32::try_from(count).expect("a content has fewer than 2^32 fine chunks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine(lengths: &[u8]) -> Vec<FineChunk> {
        lengths.iter().map(|length_bytes| FineChunk { tag: 0, length_bytes: *length_bytes }).collect()
    }

    fn common(number: u8) -> ChunkCount {
        ChunkCount { tag: Tag([number; 16]), length_bytes: 100, count: u32::from(number) }
    }

    #[test]
    fn a_chunk_counts_outside_of_its_frames_what_its_own_fine_chunks_count() {
        let folder = tempfile::tempdir().unwrap();
        let fine = fine(&[3, 9, 7, 5, 16]);
        let mut links = LooseLinks::default();
        links.begin(&[]);
        let counted = [2, 9, 7, 0, 15];
        links.add(1, Tag([1; 16]), &fine, &counted, &Bits::of(&counted));
        links.end((1, 2), folder.path()).unwrap();
        let mut record = Vec::new();
        KeptLinks::of(vec![links]).unwrap().read(0, &mut record).unwrap();
        let LooseLink { counted: [first, second], .. } = LooseLink::of(&record);
        assert_eq!((first.len(), second.len()), (0, 1));
        let chunk = &second[0];
        assert_eq!((chunk.bytes, chunk.own_bytes(&fine, &[])), (33, 33));
        use Part::{Frame, Own, Template};
        assert_eq!(chunk.own_bytes(&fine, &[Frame, Own, Template, Frame, Own]), 9 + 15);
        assert_eq!(chunk.own_bytes(&fine, &[Own, Frame, Frame, Frame, Frame]), 2);
    }

    #[test]
    fn links_of_several_threads_are_found_by_their_pairs_with_all_that_was_added_and_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("spill");
        let fine = fine(&[7; 100]);
        let counted = |number: u8| -> Vec<u8> { (0..100).map(|place| if place < number { 7 } else { 0 }).collect() };
        let mut threads = [(); 3].map(|()| LooseLinks::default());
        for number in 0..20_u8 {
            let links = &mut threads[usize::from(number % 2)];
            links.begin(&vec![common(number); usize::from(number) % 3]);
            for (side, times) in [(1, number % 4), (0, number % 2)] {
                for time in 0..times {
                    let counted = counted(number + time + 1);
                    links.add(side, Tag([number + time; 16]), &fine, &counted, &Bits::of(&counted));
                }
            }
            links.end((u32::from(number), 99), &folder).unwrap();
        }
        let kept = KeptLinks::of(threads.into()).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(kept.place((20, 99)), None);
        let mut record = Vec::new();
        for number in 0..20_u8 {
            kept.read(kept.place((u32::from(number), 99)).unwrap(), &mut record).unwrap();
            let link = LooseLink::of(&record);
            assert_eq!(link.common, vec![common(number); usize::from(number) % 3]);
            for (side, times) in [(0, number % 2), (1, number % 4)] {
                let found: Vec<(u8, u64)> =
                    link.counted[side].iter().map(|chunk| (chunk.tag.0[0], chunk.own_bytes(&fine, &[]))).collect();
                let added = (0..times).map(|time| (number + time, 7 * u64::from(number + time + 1)));
                assert_eq!(found, added.collect::<Vec<_>>(), "side {side} of {number}");
            }
        }
    }
}
