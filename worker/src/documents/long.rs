//! Long documents: the readers that have no other document to read cut their segments.
//!
//! The reader that took a long document joins its segments in order, and cuts one itself whenever the next is not there. So nobody waits for the
//! others as long as all have documents to read, and the longest document of a folder does not keep one reader busy while all others are idle.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use cognate_fingerprint::{Chunk, Content, Segment, Segmenter};

use super::file_calls::{FileCalls, no_answer};
use super::holes::HoleReader;
use super::open_files::Open;
use super::tools::Tools;
use crate::pace::Paced;

/// A document is cut in segments if it has more than so many.
const SEGMENTS_LEAST: u64 = 2;
/// For each reader, so many segments of all documents may be taken and not yet joined.
const SEGMENTS_PER_READER: u64 = 2;

/// The long documents that the readers of a sync have open.
pub(crate) struct LongDocuments {
    state: Mutex<State>,
    changed: Condvar,
    segments_waiting_max: u64,
}

struct State {
    /// The readers that still take documents.
    at_work: Vec<Arc<FileCalls>>,
    /// The number of the next document.
    number: u64,
    open: BTreeMap<u64, LongDocument>,
}

/// A document whose segments are being cut.
struct LongDocument {
    /// The reader that joins its segments.
    owner: Arc<FileCalls>,
    file: Arc<File>,
    size_bytes: u64,
    segment_bytes: u64,
    /// The first segment that nobody has taken.
    next: u64,
    /// The segments that are joined.
    joined: u64,
    /// The readers of those that are taken and not cut.
    taken: BTreeMap<u64, Arc<FileCalls>>,
    /// Those that are cut and not joined.
    cut: BTreeMap<u64, io::Result<Segment>>,
}

/// The next step of the reader of a long document.
enum Turn<'a> {
    Join(io::Result<Segment>, Range<u64>),
    Cut(Taken<'a>),
    End,
}

impl LongDocument {
    fn places(&self, segment: u64) -> Range<u64> {
        let begin = segment * self.segment_bytes;
        begin..self.size_bytes.min(begin + self.segment_bytes)
    }

    /// True if its reader has not been given up.
    fn is_joined(&self) -> bool {
        !self.owner.is_given_up()
    }

    fn segments(&self) -> u64 {
        self.size_bytes.div_ceil(self.segment_bytes)
    }
}

impl State {
    /// The segments that are taken and not yet joined.
    fn waiting(&self) -> u64 {
        self.open.values().filter(|document| document.is_joined()).map(|document| document.next - document.joined).sum()
    }
}

impl LongDocuments {
    /// No documents yet, of so many readers.
    pub(crate) fn new(readers: usize) -> LongDocuments {
        LongDocuments {
            state: Mutex::new(State { at_work: Vec::new(), number: 0, open: BTreeMap::new() }),
            changed: Condvar::new(),
            segments_waiting_max: SEGMENTS_PER_READER * readers as u64,
        }
    }

    /// A reader that takes documents, until this is dropped. All readers must have theirs before the first of them [helps](LongDocuments::help).
    pub(crate) fn at_work(self: &Arc<Self>, calls: &Arc<FileCalls>) -> AtWork {
        self.lock().at_work.push(Arc::clone(calls));
        AtWork { documents: Arc::clone(self), calls: Arc::clone(calls) }
    }

    /// Nothing waits any more for a reader that the file system does not answer. A document of which it has a segment fails.
    pub(crate) fn give_up(&self, calls: &Arc<FileCalls>) {
        calls.give_up();
        self.leave(calls);
    }

    fn leave(&self, calls: &Arc<FileCalls>) {
        self.lock().at_work.retain(|at_work| !Arc::ptr_eq(at_work, calls));
        self.changed.notify_all();
    }

    /// Cuts segments of the documents of other readers, until none of these takes documents any more.
    pub(crate) fn help(&self, tools: &mut Tools<'_>) {
        while let Some(taken) = self.take(tools.calls) {
            taken.cut(tools);
        }
    }

    /// Reads a document and hands over its chunks; `None` if it is not cut in segments. `joined` receives the number of bytes whenever more of them are
    /// joined.
    pub(super) fn read(
        &self,
        tools: &mut Tools<'_>,
        (file, size_bytes): (&File, u64),
        joined: impl FnMut(u64),
        each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> Option<io::Result<Content>> {
        let segment_bytes = tools.fingerprinter.segmenter()?.segment_bytes();
        if size_bytes <= SEGMENTS_LEAST * segment_bytes || has_holes(file, size_bytes) {
            return None;
        }
        // Without a descriptor for the others, it is read in order.
        let opened = self.open(file, size_bytes, segment_bytes, tools.calls).ok()?;
        Some(opened.read(tools, (file, size_bytes), joined, each))
    }

    fn open(&self, file: &File, size_bytes: u64, segment_bytes: u64, calls: &Arc<FileCalls>) -> io::Result<Opened<'_>> {
        let file = Arc::new(file.try_clone()?);
        let mut state = self.lock();
        let number = state.number;
        state.number += 1;
        let document = LongDocument {
            owner: Arc::clone(calls),
            file,
            size_bytes,
            segment_bytes,
            next: 0,
            joined: 0,
            taken: BTreeMap::new(),
            cut: BTreeMap::new(),
        };
        state.open.insert(number, document);
        self.changed.notify_all();
        Ok(Opened { documents: self, number })
    }

    /// Waits for a segment of any document; `None` once no reader takes documents, or this one was given up.
    fn take(&self, calls: &Arc<FileCalls>) -> Option<Taken<'_>> {
        let mut state = self.lock();
        loop {
            if calls.is_given_up() {
                return None;
            }
            if state.waiting() < self.segments_waiting_max {
                let mut joined = state.open.iter_mut().filter(|(_, document)| document.is_joined());
                let taken = joined.find_map(|(number, document)| self.taken(*number, document, calls));
                if taken.is_some() {
                    return taken;
                }
            }
            if state.at_work.is_empty() {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// The next segment of a document, if there is one.
    fn taken(&self, number: u64, document: &mut LongDocument, calls: &Arc<FileCalls>) -> Option<Taken<'_>> {
        let segment = document.next;
        if segment == document.segments() {
            return None;
        }
        document.next += 1;
        document.taken.insert(segment, Arc::clone(calls));
        let (file, size_bytes) = (Arc::clone(&document.file), document.size_bytes);
        Some(Taken { documents: self, number, segment, file, size_bytes, places: document.places(segment), cut: None })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds this lock")
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).expect("no code panics while it holds this lock")
    }
}

/// A reader that takes documents.
pub(crate) struct AtWork {
    documents: Arc<LongDocuments>,
    calls: Arc<FileCalls>,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.documents.leave(&self.calls);
    }
}

/// A long document, which others may help with until this is dropped.
struct Opened<'a> {
    documents: &'a LongDocuments,
    number: u64,
}

impl Opened<'_> {
    fn read(
        &self,
        tools: &mut Tools<'_>,
        (file, size_bytes): (&File, u64),
        mut joined: impl FnMut(u64),
        mut each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<Content> {
        let (mut join, mut end) = (segmenter(tools).join(), 0);
        loop {
            match self.turn(tools.calls) {
                Turn::Cut(taken) => taken.cut(tools),
                Turn::Join(segment, places) => {
                    let (pace, cancelled, calls, before) = (tools.pace, tools.cancelled, tools.calls, end);
                    let from =
                        |place| Paced::new(HoleReader::from_place(file, place, size_bytes, calls), pace, cancelled);
                    end = segmenter(tools).join_segment(&mut join, &segment?, from, &mut each)?;
                    joined(end - before);
                    if end < places.end {
                        // The document ends here: it has become shorter.
                        break;
                    }
                }
                Turn::End => break,
            }
        }
        Ok(segmenter(tools).finish(join))
    }

    /// Waits for the next segment in order, if all are taken.
    fn turn(&self, calls: &Arc<FileCalls>) -> Turn<'_> {
        let mut state = self.documents.lock();
        loop {
            let document = state.open.get_mut(&self.number).expect("it is open");
            if let Some(segment) = document.cut.remove(&document.joined) {
                let places = document.places(document.joined);
                document.joined += 1;
                self.documents.changed.notify_all();
                return Turn::Join(segment, places);
            }
            if document.joined == document.segments() {
                return Turn::End;
            }
            if document.taken.get(&document.joined).is_some_and(|reader| reader.is_given_up()) {
                return Turn::Join(Err(no_answer()), document.places(document.joined));
            }
            // The one that is to be joined next may always be taken, or all might wait.
            let is_next = document.next == document.joined;
            if is_next || state.waiting() < self.documents.segments_waiting_max {
                let document = state.open.get_mut(&self.number).expect("it is open");
                if let Some(taken) = self.documents.taken(self.number, document, calls) {
                    return Turn::Cut(taken);
                }
            }
            state = self.documents.wait(state);
        }
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.documents.lock().open.remove(&self.number);
        // Fewer segments wait now.
        self.documents.changed.notify_all();
    }
}

/// A segment that a reader has taken. If it is not cut, it has failed.
struct Taken<'a> {
    documents: &'a LongDocuments,
    number: u64,
    segment: u64,
    file: Arc<File>,
    size_bytes: u64,
    places: Range<u64>,
    cut: Option<io::Result<Segment>>,
}

impl Taken<'_> {
    fn cut(mut self, tools: &mut Tools<'_>) {
        let (pace, cancelled, calls, open_files) = (tools.pace, tools.cancelled, tools.calls, tools.open_files);
        // The kernel would not keep the pace of a site.
        if pace.is_free() {
            will_be_read(&self.file, &self.places);
        }
        let from = |place| {
            let reader = HoleReader::from_place(&self.file, place, self.size_bytes, calls);
            let reader = Paced::new(reader, pace, cancelled);
            // Its document counts by itself as a file to be read; these bytes count as read until they are joined.
            Open::new(reader, 0, open_files)
        };
        let cut = segmenter(tools).cut(self.places.clone(), from);
        self.cut = Some(cut);
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let cut = self.cut.take().unwrap_or_else(|| Err(io::Error::other("a segment was not cut")));
        // If the document is no longer open, its reader has given it up.
        if let Some(document) = self.documents.lock().open.get_mut(&self.number) {
            document.taken.remove(&self.segment);
            document.cut.insert(self.segment, cut);
        }
        self.documents.changed.notify_all();
    }
}

fn segmenter<'t>(tools: &'t mut Tools<'_>) -> Segmenter<'t> {
    tools.fingerprinter.segmenter().expect("all readers of a sync have the same method")
}

/// Several readers of one open file are no sequence to the kernel, which would not read ahead for them.
fn will_be_read(file: &File, places: &Range<u64>) {
    #[cfg(target_os = "linux")]
    if let Some(bytes) = std::num::NonZeroU64::new(places.end - places.start) {
        // A file system that takes no advice reads as it does.
        let _ = rustix::fs::fadvise(file, places.start, Some(bytes), rustix::fs::Advice::WillNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, places);
}

/// True if the file system says that there is a hole in the file: who reads from the beginning to the end leaves holes out.
fn has_holes(file: &File, size_bytes: u64) -> bool {
    rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)).is_ok_and(|hole| hole < size_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use cognate_fingerprint::{Fingerprinter, Key, Method, View};
    use cognate_proto::file_hash::HashKinds;

    use super::*;
    use crate::documents::root::Root;
    use crate::pace::Pace;
    use crate::policy::Policy;
    use crate::records::lists::Lists;

    fn fingerprinter() -> Fingerprinter {
        Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::none())
    }

    /// The parts of the tools of a reader.
    struct Site {
        _folder: tempfile::TempDir,
        root: Root,
        lists: Lists,
        pace: Pace,
        cancelled: AtomicBool,
    }

    impl Site {
        fn new() -> Site {
            let folder = tempfile::tempdir().unwrap();
            Site {
                root: Root::open(folder.path(), false, &[]).unwrap(),
                lists: Lists::open(&folder.path().join("lists")).unwrap(),
                pace: Pace::new(&Policy::everything(), || std::time::UNIX_EPOCH),
                cancelled: AtomicBool::new(false),
                _folder: folder,
            }
        }

        fn tools(&self) -> Tools<'_> {
            Tools {
                root: &self.root,
                lists: &self.lists,
                fingerprinter: fingerprinter(),
                hashes: HashKinds::NONE,
                pace: &self.pace,
                cancelled: &self.cancelled,
                calls: FileCalls::unwatched(),
                open_files: None,
                head: Vec::new(),
            }
        }
    }

    /// A file of noise with a run of one byte across the places where segments meet.
    fn file(size_bytes: usize) -> (File, Vec<u8>) {
        let mut bytes = vec![0; size_bytes];
        blake3::Hasher::new().finalize_xof().fill(&mut bytes);
        bytes[(16 << 20) - 70_000..(16 << 20) + 5000].fill(b'x');
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &bytes).unwrap();
        (file, bytes)
    }

    #[test]
    fn a_document_that_readers_share_has_the_chunks_of_one_reader() {
        let (file, bytes) = file((35 << 20) + 123);
        let mut expected = Vec::new();
        let content = fingerprinter().slice(&bytes, |chunk| expected.push(chunk));
        for readers in 1..=4 {
            let (site, long) = (Site::new(), Arc::new(LongDocuments::new(readers)));
            std::thread::scope(|scope| {
                let at_work = long.at_work(FileCalls::unwatched());
                for _ in 1..readers {
                    scope.spawn(|| long.help(&mut site.tools()));
                }
                let (mut chunks, mut joined_bytes) = (Vec::new(), 0);
                let each = |chunk| {
                    chunks.push(chunk);
                    Ok(())
                };
                let read =
                    long.read(&mut site.tools(), (&file, bytes.len() as u64), |bytes| joined_bytes += bytes, each);
                assert_eq!(read.unwrap().unwrap(), content);
                assert!(chunks == expected, "{readers} readers");
                assert_eq!(joined_bytes, bytes.len() as u64);
                drop(at_work);
            });
        }
    }

    #[test]
    fn short_and_sparse_documents_are_read_in_order() {
        let (site, long) = (Site::new(), LongDocuments::new(1));
        let is_shared =
            |file: &File, size_bytes| long.read(&mut site.tools(), (file, size_bytes), |_| (), |_| Ok(())).is_some();
        let (dense, bytes) = file((16 << 20) + 5000);
        assert!(is_shared(&dense, bytes.len() as u64));
        assert!(!is_shared(&dense, 16 << 20));
        let sparse = tempfile::tempfile().unwrap();
        sparse.set_len(40 << 20).unwrap();
        assert!(!is_shared(&sparse, 40 << 20));
    }

    #[test]
    fn a_document_that_is_given_up_leaves_no_reader_waiting() {
        let (file, bytes) = file(40 << 20);
        let (site, long) = (Site::new(), Arc::new(LongDocuments::new(3)));
        std::thread::scope(|scope| {
            let at_work = long.at_work(FileCalls::unwatched());
            for _ in 1..3 {
                scope.spawn(|| long.help(&mut site.tools()));
            }
            let document = (&file, bytes.len() as u64);
            let refused = long.read(&mut site.tools(), document, |_| (), |_| Err(io::Error::other("no room")));
            assert_eq!(refused.unwrap().unwrap_err().to_string(), "no room");
            site.cancelled.store(true, Ordering::Relaxed);
            let stopped = long.read(&mut site.tools(), document, |_| (), |_| Ok(()));
            assert_eq!(stopped.unwrap().unwrap_err().to_string(), "stopped");
            drop(at_work);
        });
        assert!(long.lock().open.is_empty());
    }

    #[test]
    fn a_segment_that_is_taken_and_not_cut_fails_its_document() {
        let (file, bytes) = file(20 << 20);
        let long = LongDocuments::new(2);
        let calls = FileCalls::unwatched();
        let opened = long.open(&file, bytes.len() as u64, 8 << 20, calls).unwrap();
        drop(long.take(calls));
        assert!(matches!(opened.turn(calls), Turn::Join(Err(_), _)));
    }

    #[test]
    fn a_reader_that_is_given_up_fails_the_document_of_its_segment_and_its_own_document_takes_no_place() {
        let (file, bytes) = file(40 << 20);
        let long = Arc::new(LongDocuments::new(1));
        let [owner, stuck] = [FileCalls::default(), FileCalls::default()].map(Arc::new);
        let open = |calls| long.open(&file, bytes.len() as u64, 8 << 20, calls).unwrap();
        let (_own_at_work, _stuck_at_work) = (long.at_work(&owner), long.at_work(&stuck));
        let (opened, of_stuck) = (open(&owner), open(&stuck));
        let taken = long.take(&stuck).unwrap();
        assert_eq!((taken.number, taken.segment), (opened.number, 0));
        let Turn::Cut(own) = of_stuck.turn(&stuck) else { panic!("nobody has taken it") };
        long.give_up(&stuck);
        let Turn::Join(Err(error), _) = opened.turn(&owner) else { panic!("nobody cuts it") };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // What the other had open neither waits nor is helped with.
        assert_eq!(long.lock().waiting(), 1);
        assert_eq!(long.take(&owner).unwrap().number, opened.number);
        assert_eq!(long.lock().at_work.len(), 1);
        drop((taken, own));
        assert!(long.take(&stuck).is_none(), "it would fail the documents of others");
    }

    #[test]
    fn no_more_segments_wait_than_a_few_for_each_reader_and_the_next_to_be_joined_is_always_to_be_had() {
        let (file, bytes) = file(20 << 20);
        let long = Arc::new(LongDocuments::new(1));
        let calls = FileCalls::unwatched();
        let at_work = long.at_work(calls);
        let open = || long.open(&file, bytes.len() as u64, 8 << 20, calls).unwrap();
        let (first, second) = (open(), open());
        let taken = [long.take(calls).unwrap(), long.take(calls).unwrap()];
        assert!(taken.iter().all(|taken| taken.number == first.number));
        // Two wait, as many as one reader may have.
        let Turn::Cut(own) = second.turn(calls) else { panic!("nobody has taken it") };
        assert_eq!((own.number, own.segment), (second.number, 0));
        drop(at_work);
        assert!(long.take(calls).is_none());
    }

    #[test]
    fn a_document_that_has_become_shorter_is_read_up_to_where_it_ends() {
        let (file, bytes) = file(18 << 20);
        let (site, long) = (Site::new(), LongDocuments::new(1));
        let content = fingerprinter().slice(&bytes, |_| ());
        // Whoever took every segment of what it claims to have would never come to an end.
        let opened = long.open(&file, 1 << 62, 8 << 20, FileCalls::unwatched()).unwrap();
        let mut joined_bytes = 0;
        let read = opened.read(&mut site.tools(), (&file, 1 << 62), |bytes| joined_bytes += bytes, |_| Ok(()));
        assert_eq!((read.unwrap(), joined_bytes), (content, bytes.len() as u64));
    }
}
