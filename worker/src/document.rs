//! One document: open it safely, read it once, see whether it held still, and say what it came to.

use std::io::{self, Read as _};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use cognate_fingerprint::{Content, Fingerprinter};
use cognate_proto::batch::DocumentState;
use cognate_proto::limits::CONTENT_CHUNKS_MAX;
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;
use cognate_proto::v1::{ChunkTable, FileClass};

use crate::census::Head;
use crate::lists::{Lists, Location};
use crate::pace::{Pace, Paced};
use crate::root::{Root, state_of};
use crate::stamp::Stamp;

/// How often a document that changes under the reader's eyes is read.
const READS_MAX: usize = 3;

/// What reading a document led to.
pub(crate) enum Reading {
    /// It was fingerprinted.
    Done(Box<Fingerprinted>),
    /// It could not be read, and why.
    Failed(DocumentState),
    /// It is larger than what the scan is about.
    NotSelected,
}

/// A document that was read.
pub(crate) struct Fingerprinted {
    pub(crate) content: Content,
    pub(crate) chunks: Chunks,
    pub(crate) stamp: Stamp,
    pub(crate) class: FileClass,
    /// It changed each time it was read.
    pub(crate) changing: bool,
    /// Its stamp can be relied on at the next sync.
    pub(crate) settled: bool,
    /// How many bytes were read, failed attempts and all.
    pub(crate) read_bytes: u64,
}

/// The list of a content: in memory, or in the lists of the site when it is long.
pub(crate) enum Chunks {
    Held(ChunkTable),
    Listed(Location),
}

/// Reads documents, one after the other.
pub(crate) struct Reader<'a> {
    pub(crate) root: &'a Root,
    pub(crate) lists: &'a Lists,
    pub(crate) selection: &'a Selection,
    pub(crate) fingerprinter: Fingerprinter,
    pub(crate) clock: fn() -> SystemTime,
    pub(crate) pace: &'a Pace,
    pub(crate) cancelled: &'a AtomicBool,
}

impl Reader<'_> {
    /// Reads a document. One that changes while it is read is read again, twice at most.
    ///
    /// # Errors
    /// When the site's own lists cannot be written: what is wrong with the document is a reading.
    pub(crate) fn read(&mut self, path: &DocumentPath) -> io::Result<Reading> {
        let mut read_bytes = 0;
        for attempt in 1..=READS_MAX {
            match self.read_once(path)? {
                Reading::Done(mut done) => {
                    read_bytes += done.read_bytes;
                    if !done.changing || attempt == READS_MAX {
                        done.read_bytes = read_bytes;
                        return Ok(Reading::Done(done));
                    }
                    self.discard(&done.chunks)?;
                }
                other => return Ok(other),
            }
        }
        unreachable!("the last attempt returns")
    }

    fn read_once(&mut self, path: &DocumentPath) -> io::Result<Reading> {
        let read_began = (self.clock)();
        let (file, stat) = match self.root.open_document(path) {
            Ok(opened) => opened,
            Err(state) => return Ok(Reading::Failed(state)),
        };
        let stamp = Stamp::of(&stat);
        if !self.selection.selects_size(stamp.length_bytes) {
            return Ok(Reading::NotSelected);
        }
        // A file that grows as fast as it is read would never end: what it held when it was opened is read, and no more.
        let paced = Paced::new((&file).take(stamp.length_bytes), self.pace, self.cancelled);
        let mut head = Head::new(paced);
        let mut spool = Spool::new(self.lists);
        let content = match self.fingerprinter.read(&mut head, |chunk| spool.push(&chunk)) {
            Ok(content) => content,
            // The spool's errors are the site's own; the file's are the document's.
            Err(error) if spool.failed => return Err(error),
            Err(error) => return Ok(Reading::Failed(state_of(&error))),
        };
        let after = rustix::fs::fstat(&file).map(|stat| Stamp::of(&stat));
        let still = after.is_ok_and(|after| after == stamp) && content.size_bytes == stamp.length_bytes;
        Ok(Reading::Done(Box::new(Fingerprinted {
            content,
            class: head.class(),
            read_bytes: head.passed_bytes(),
            chunks: spool.finish()?,
            stamp,
            changing: !still,
            settled: still && stamp.is_settled_before(read_began),
        })))
    }

    /// Removes what a reading that is of no use left behind.
    pub(crate) fn discard(&self, chunks: &Chunks) -> io::Result<()> {
        match chunks {
            Chunks::Listed(location) => self.lists.delete(location.file),
            Chunks::Held(_) => Ok(()),
        }
    }
}

/// Takes the chunks of one document: a table while it is short, a list file of its own once it is not.
struct Spool<'a> {
    table: ChunkTable,
    writer: crate::lists::ListWriter<'a>,
    listed: Option<Location>,
    failed: bool,
}

impl<'a> Spool<'a> {
    fn new(lists: &'a Lists) -> Spool<'a> {
        Spool { table: ChunkTable::default(), writer: lists.writer(), listed: None, failed: false }
    }

    fn push(&mut self, chunk: &cognate_fingerprint::Chunk) -> io::Result<()> {
        if self.table.rows() == CONTENT_CHUNKS_MAX {
            let spilled = self.spill();
            self.failed = spilled.is_err();
            spilled?;
        }
        self.table.push(chunk);
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let piece = self.writer.append(&self.table)?;
        match &mut self.listed {
            Some(listed) => listed.length_bytes += piece.length_bytes,
            None => self.listed = Some(piece),
        }
        self.table = ChunkTable::default();
        Ok(())
    }

    fn finish(mut self) -> io::Result<Chunks> {
        if self.listed.is_none() {
            return Ok(Chunks::Held(self.table));
        }
        self.spill()?;
        self.writer.flush()?;
        Ok(Chunks::Listed(self.listed.expect("spilled above")))
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Key, Method, View};

    use super::*;

    fn check(content: &[u8], with: impl FnOnce(Reading, &Lists)) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        std::fs::write(folder.path().join("root/file"), content).unwrap();
        let root = Root::open(&folder.path().join("root"), false).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let selection = Selection::all();
        let mut reader = Reader {
            root: &root,
            lists: &lists,
            selection: &selection,
            fingerprinter: Method::tttd(View::Raw, 80).unwrap().fingerprinter(&Key::none()),
            clock: || std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 33),
            pace: &Pace::new(&crate::policy::Policy::everything(), || std::time::UNIX_EPOCH),
            cancelled: &AtomicBool::new(false),
        };
        with(reader.read(&DocumentPath::new(b"file").unwrap()).unwrap(), &lists);
    }

    #[test]
    fn a_long_list_is_kept_in_a_file_and_is_the_same() {
        let mut content = vec![0; 2 << 20];
        blake3::Hasher::new().finalize_xof().fill(&mut content);
        check(&content, |reading, lists| {
            let Reading::Done(done) = reading else { panic!("it can be read") };
            let Chunks::Listed(location) = done.chunks else { panic!("it is long") };
            let mut rows = 0;
            let mut sum = 0;
            lists
                .read(location, |table| {
                    assert!(table.rows() <= CONTENT_CHUNKS_MAX);
                    rows += table.rows() as u64;
                    sum += table.length_bytes.iter().copied().map(u64::from).sum::<u64>();
                    Ok(())
                })
                .unwrap();
            assert_eq!((rows, sum), (done.content.chunk_count, content.len() as u64));
        });
    }

    #[test]
    fn a_file_that_holds_still_is_settled_and_known_by_its_stamp() {
        check(b"hello", |reading, _| {
            let Reading::Done(done) = reading else { panic!("it can be read") };
            assert!(done.settled && !done.changing);
            assert_eq!((done.content.size_bytes, done.stamp.length_bytes, done.read_bytes), (5, 5, 5));
        });
    }
}
