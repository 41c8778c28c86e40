//! Chosen chunks of long documents: the stored list of a content says where its chunks are, so that nothing else of the document is read.
//!
//! A scan asks for the chunks of a long document in many portions. To read the whole document for each of them would take a time that grows with
//! the square of its length. The list, which is read for each, is a fiftieth of a document whose chunks have 1000 bytes.

use std::io::{self, Read as _};
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::{ChunkTagger, ContentDigest, Tag};
use cognate_proto::path::DocumentPath;

use super::job::Job;
use crate::documents::file_calls::FileCalls;
use crate::documents::holes::HoleReader;
use crate::documents::root::Root;
use crate::pace::{Pace, Paced};
use crate::records::stamp::Stamp;
use crate::records::store::Records;

/// A shorter list has fewer chunks than a portion or two.
const LIST_BYTES_MIN: u64 = 256 << 10;
/// The bytes between two chunks that are read with them: a call takes as long.
const GAP_BYTES_MAX: u64 = 16 << 10;
/// Chunks of a part: enough to fill the lanes of a processor.
const PART_CHUNKS_MAX: usize = 256;
/// Bytes of these chunks, but for the last one.
const PART_BYTES_MAX: u64 = 1 << 20;

/// A chosen chunk of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    offset: u64,
    length_bytes: u32,
    tag: Tag,
}

impl Place {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.length_bytes)
    }
}

/// A long document that has not changed since its list was stored.
pub(super) struct Listed {
    pub(super) content: ContentDigest,
    path: DocumentPath,
    stamp: Stamp,
    /// All that are chosen, ascending.
    places: Vec<Place>,
}

/// Chosen chunks of a document that one reader reads.
pub(super) struct Part<'a> {
    listed: &'a Listed,
    places: &'a [Place],
}

impl Listed {
    /// The document at `path` with the chunks `chosen` of its content; nothing if it is to be read as a whole, since it is short, has changed, or its
    /// list cannot be read or has not all of them.
    pub(super) fn find(
        records: &Records,
        (job, root): (&Job, &Root),
        path: &DocumentPath,
        (content, chosen): (ContentDigest, &[Tag]),
    ) -> Option<Listed> {
        if job.method.view().is_text() {
            return None;
        }
        let list = records.stored_list(&job.repository, job.method_id, path, &content)?;
        if list.location.length_bytes < LIST_BYTES_MIN {
            return None;
        }
        if !root.stat(path).is_ok_and(|stat| Stamp::of(&stat) == list.stamp) {
            return None;
        }
        let mut wanted: foldhash::HashSet<Tag> = chosen.iter().copied().collect();
        let (mut places, mut offset) = (Vec::with_capacity(wanted.len()), 0);
        let read = records.lists.read(list.location, |table| {
            for (tag, &length_bytes) in table.tags.as_chunks().0.iter().zip(&table.length_bytes) {
                let tag = Tag(*tag);
                if wanted.remove(&tag) {
                    places.push(Place { offset, length_bytes, tag });
                }
                offset += u64::from(length_bytes);
            }
            Ok(())
        });
        // The places of chunks are of the document with LF where its lines end with CR LF: it is shorter, and read as a whole.
        let is_complete = read.is_ok() && wanted.is_empty() && offset == list.stamp.length_bytes;
        is_complete.then(|| Listed { content, path: path.clone(), stamp: list.stamp, places })
    }

    /// The chosen chunks in parts, each for one reader.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut rest = &self.places[..];
        std::iter::from_fn(move || {
            let mut bytes = 0;
            let is_full = |(number, place): (usize, &Place)| {
                let was_full = number == PART_CHUNKS_MAX || bytes >= PART_BYTES_MAX;
                bytes += u64::from(place.length_bytes);
                was_full
            };
            let count = rest.iter().enumerate().position(is_full).unwrap_or(rest.len());
            let places = rest.split_off(..count).filter(|places| !places.is_empty())?;
            Some(Part { listed: self, places })
        })
    }
}

impl<'a> Part<'a> {
    /// The document.
    pub(super) fn listed(&self) -> &'a Listed {
        self.listed
    }

    /// Reads the chunks and hands over those that still have their tags. Returns the number of bytes that were read, or nothing if the document has
    /// changed.
    ///
    /// # Errors
    /// If the document cannot be read, or has become shorter.
    pub(super) fn read(
        &self,
        root: &Root,
        tagger: &ChunkTagger,
        (pace, cancelled): (&Pace, &AtomicBool),
        mut each: impl FnMut(Tag, &[u8]),
    ) -> io::Result<Option<u64>> {
        let Listed { path, stamp, .. } = self.listed;
        // Opened for each part: a portion may be of thousands of documents.
        let Ok((file, stat)) = root.open_document(path) else { return Ok(None) };
        if Stamp::of(&stat) != *stamp {
            return Ok(None);
        }
        let (mut bytes, mut starts) = (Vec::new(), Vec::with_capacity(self.places.len()));
        for close in self.places.chunk_by(|one, next| next.offset - one.end() <= GAP_BYTES_MAX) {
            let ([first, .., last] | [first @ last]) = close else { continue };
            let start = bytes.len();
            let in_memory = |offset: u64| usize::try_from(offset - first.offset).expect("a few megabytes");
            bytes.resize(start + in_memory(last.end()), 0);
            let reader = HoleReader::from_place(&file, first.offset, stamp.length_bytes, FileCalls::unwatched());
            Paced::new(reader, pace, cancelled).read_exact(&mut bytes[start..])?;
            starts.extend(close.iter().map(|place| start + in_memory(place.offset)));
        }
        let of_place = |(place, start): (&Place, &usize)| &bytes[*start..start + place.length_bytes as usize];
        let chunks: Vec<&[u8]> = self.places.iter().zip(&starts).map(of_place).collect();
        let mut is_complete = true;
        for ((place, bytes), tag) in self.places.iter().zip(&chunks).zip(tagger.tags(&chunks)) {
            match tag == place.tag {
                true => each(tag, bytes),
                false => is_complete = false,
            }
        }
        Ok(is_complete.then_some(bytes.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use cognate_fingerprint::{Chunk, Key, Method, View};
    use cognate_proto::limits::CONTENT_CHUNKS_MAX;
    use cognate_proto::name::RepositoryName;
    use cognate_proto::selection::Selection;
    use cognate_proto::v1::ChunkTable;

    use super::*;
    use crate::policy::Policy;
    use crate::records::lists::Location;
    use crate::records::store::{Held, StampedList};

    /// A site that remembers nothing and has read one document.
    struct Site {
        folder: tempfile::TempDir,
        job: Job,
        records: Records,
        root: Root,
        document: Vec<u8>,
        chunks: Vec<Chunk>,
        content: ContentDigest,
    }

    impl Site {
        fn new(document_bytes: usize) -> Site {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("root");
            std::fs::create_dir(&path).unwrap();
            let mut document = vec![0; document_bytes];
            blake3::Hasher::new().finalize_xof().fill(&mut document);
            std::fs::write(path.join("image"), &document).unwrap();
            let method = Method::tttd(View::Raw, 80).unwrap();
            let mut chunks = Vec::new();
            let content = method.fingerprinter(&Key::none()).slice(&document, |chunk| chunks.push(chunk)).digest;
            let records = Records::open(&folder.path().join("state"), false, true, 0).unwrap();
            let root = Root::open(&path, false, &[]).unwrap();
            let site = Site { job: job(path, method), records, root, document, chunks, content, folder };
            site.hold(site.stored());
            site
        }

        fn path() -> DocumentPath {
            DocumentPath::new(b"image").unwrap()
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("root/image")
        }

        /// The list of the document, in a file of its own.
        fn stored(&self) -> Location {
            let mut writer = self.records.lists.writer();
            let mut all: Option<Location> = None;
            for part in self.chunks.chunks(CONTENT_CHUNKS_MAX) {
                let added = writer.append(&ChunkTable::of(part)).unwrap();
                all = Some(match all {
                    Some(before) => Location { length_bytes: before.length_bytes + added.length_bytes, ..before },
                    None => added,
                });
            }
            writer.flush().unwrap();
            all.unwrap()
        }

        fn hold(&self, location: Location) {
            let (_, stat) = self.root.open_document(&Site::path()).unwrap();
            let lists = [(self.content, StampedList { stamp: Stamp::of(&stat), location })].into();
            let held = Held { lists, ..Held::default() };
            self.records.hold(&self.job.repository, self.job.method_id, held);
        }

        fn find(&self, chosen: &[Tag]) -> Option<Listed> {
            Listed::find(&self.records, (&self.job, &self.root), &Site::path(), (self.content, chosen))
        }

        /// The chunks that are read, and whether no part has an unexpected one.
        fn read(&self, chosen: &[Tag]) -> (Vec<(Tag, Vec<u8>)>, bool) {
            let listed = self.find(chosen).unwrap();
            let (pace, cancelled) =
                (Pace::new(&Policy::everything(), || std::time::UNIX_EPOCH), AtomicBool::new(false));
            let (mut read, mut is_complete) = (Vec::new(), true);
            for part in listed.parts() {
                let each = |tag, bytes: &[u8]| read.push((tag, bytes.to_vec()));
                let of_part = part.read(&self.root, &ChunkTagger::new(&Key::none()), (&pace, &cancelled), each);
                is_complete &= of_part.unwrap().is_some();
            }
            (read, is_complete)
        }

        fn bytes(&self, chunk: &Chunk) -> &[u8] {
            let start = usize::try_from(chunk.offset).unwrap();
            &self.document[start..start + chunk.length_bytes as usize]
        }
    }

    fn job(path: PathBuf, method: Method) -> Job {
        Job {
            assignment: 0,
            repository: RepositoryName::main(),
            path,
            method,
            method_id: method.id(&Key::none()),
            selection: Arc::new(Selection::all()),
            follow_symlinks: false,
            own_files: Arc::new([]),
            sentinel: None,
            accepts_removals: false,
            keeps_text: false,
            refinement: None,
        }
    }

    fn tags<'c>(chunks: impl IntoIterator<Item = &'c Chunk>) -> Vec<Tag> {
        chunks.into_iter().map(|chunk| chunk.tag).collect()
    }

    fn lists(state: &Path) -> usize {
        std::fs::read_dir(state.join("lists")).unwrap().count()
    }

    #[test]
    fn chosen_chunks_of_a_long_document_are_read_from_their_places() {
        let site = Site::new(2 << 20);
        // Some close to each other, some in a row, some far apart, and the first and the last.
        for step in [1, 3, 1000, 6000] {
            let last = site.chunks.last().into_iter();
            let mut chosen: Vec<&Chunk> = site.chunks.iter().step_by(step).chain(last).collect();
            chosen.dedup();
            let expected: Vec<_> = chosen.iter().map(|chunk| (chunk.tag, site.bytes(chunk).to_vec())).collect();
            let mut asked = tags(chosen);
            asked.reverse();
            assert!(site.read(&asked) == (expected, true), "every {step}");
        }
    }

    #[test]
    fn a_document_is_read_as_a_whole_if_it_is_short_or_has_changed_or_its_list_has_not_all_of_them() {
        assert!(Site::new(20_000).find(&[]).is_none());
        let site = Site::new(2 << 20);
        let first = site.chunks[0].tag;
        assert!(site.find(&[first]).is_some());
        assert!(site.find(&[first, Tag([7; 16])]).is_none());
        std::fs::write(site.file(), b"another").unwrap();
        assert!(site.find(&[first]).is_none());
        let site = Site::new(2 << 20);
        std::fs::remove_dir_all(site.folder.path().join("state/lists")).unwrap();
        assert!(site.find(&[first]).is_none());
    }

    #[test]
    fn a_chunk_that_is_no_longer_what_its_list_says_is_noticed() {
        let site = Site::new(2 << 20);
        let chosen: Vec<&Chunk> = site.chunks.iter().step_by(50).collect();
        let listed = site.chunks[100];
        let file = std::fs::OpenOptions::new().write(true).open(site.file()).unwrap();
        file.write_all_at(&[site.bytes(&listed)[0] ^ 1], listed.offset).unwrap();
        // As if the change had left the stamp.
        site.hold(site.stored());
        let (read, is_complete) = site.read(&tags(chosen.iter().copied()));
        assert!(!is_complete);
        let expected = chosen.iter().filter(|chunk| chunk.tag != listed.tag).map(|chunk| chunk.tag);
        assert!(read.iter().map(|(tag, _)| *tag).eq(expected));
    }

    #[test]
    fn a_document_that_changes_before_it_is_read_gives_nothing() {
        let site = Site::new(2 << 20);
        let listed = site.find(&tags(&site.chunks[..9])).unwrap();
        std::fs::write(site.file(), b"another").unwrap();
        let (pace, cancelled) = (Pace::new(&Policy::everything(), || std::time::UNIX_EPOCH), AtomicBool::new(false));
        let part = listed.parts().next().unwrap();
        let read =
            part.read(&site.root, &ChunkTagger::new(&Key::none()), (&pace, &cancelled), |_, _| panic!("no chunk"));
        assert_eq!(read.unwrap(), None);
    }

    #[test]
    fn the_lists_of_a_sync_are_held_until_the_next() {
        let site = Site::new(2 << 20);
        let state = site.folder.path().join("state");
        assert_eq!(lists(&state), 1);
        site.hold(site.stored());
        assert_eq!(lists(&state), 1);
        assert!(site.find(&tags(&site.chunks[5..9])).is_some());
    }
}
