//! One document: open it safely, read it once, see whether it held still, and say what it came to.

mod inside;
mod spool;

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use cognate_fingerprint::{Content, Fingerprinter, View};
use cognate_proto::batch::DocumentState;
use cognate_proto::file_hash::HashKinds;
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;
use cognate_proto::v1::{ChunkTable, FileClass};

pub(crate) use self::inside::Sight;
use self::spool::Spool;
use crate::cache::Known;
use crate::census::Head;
use crate::file_hash::{FileHashes, Hashed};
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
    pub(crate) own: Finding,
    /// What is inside of it, under a text view, by full path.
    pub(crate) inside: Vec<(DocumentPath, Finding)>,
    /// The list file that holds long lists of it, and nothing else.
    pub(crate) spooled: Option<u64>,
    pub(crate) stamp: Stamp,
    pub(crate) class: FileClass,
    /// The digest of its bytes, where a text view asked for it.
    pub(crate) bytes_digest: Option<[u8; 16]>,
    /// The hashes of its bytes that the site keeps.
    pub(crate) hashes: FileHashes,
    /// It changed each time it was read.
    pub(crate) changing: bool,
    /// What was found will be found again: its stamp can be relied on at the next sync, and nothing went wrong but by the
    /// document itself.
    pub(crate) settled: bool,
    /// How many bytes were read, failed attempts and all.
    pub(crate) read_bytes: u64,
}

/// What became of a document, or of one inside of it.
pub(crate) struct Finding {
    pub(crate) state: DocumentState,
    pub(crate) content: Option<(Content, Chunks)>,
    pub(crate) message_id_hash: Option<[u8; 16]>,
}

impl Finding {
    pub(crate) fn read(content: Content, chunks: Chunks) -> Finding {
        Finding { state: DocumentState::Read, content: Some((content, chunks)), message_id_hash: None }
    }
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
    pub(crate) view: View,
    /// How text is come by, under a text view.
    pub(crate) sight: Option<Sight<'a>>,
    /// Of which kinds hashes of whole documents are made.
    pub(crate) hashes: HashKinds,
    pub(crate) clock: fn() -> SystemTime,
    pub(crate) pace: &'a Pace,
    pub(crate) cancelled: &'a AtomicBool,
}

impl Reader<'_> {
    /// Reads a document. One that changes while it is read is read again, twice at most. `earlier` is what is known of it
    /// from before, with the stamp that it had a moment ago.
    ///
    /// # Errors
    /// When the site's own records cannot be written or no text can be had of anything: what is wrong with the document is
    /// a reading.
    pub(crate) fn read(&mut self, path: &DocumentPath, earlier: Option<&Known>) -> io::Result<Reading> {
        let mut read_bytes = 0;
        for attempt in 1..=READS_MAX {
            match self.read_once(path, earlier)? {
                Reading::Done(mut done) => {
                    read_bytes += done.read_bytes;
                    if !done.changing || attempt == READS_MAX {
                        done.read_bytes = read_bytes;
                        return Ok(Reading::Done(done));
                    }
                    self.discard(&done)?;
                }
                other => return Ok(other),
            }
        }
        unreachable!("the last attempt returns")
    }

    fn read_once(&mut self, path: &DocumentPath, earlier: Option<&Known>) -> io::Result<Reading> {
        let read_began = (self.clock)();
        let (file, stat) = match self.root.open_document(path) {
            Ok(opened) => opened,
            Err(state) => return Ok(Reading::Failed(state)),
        };
        let stamp = Stamp::of(&stat);
        if !self.selection.selects_size(stamp.length_bytes) {
            return Ok(Reading::NotSelected);
        }
        let reading = match self.view {
            View::Raw => self.read_bytes(&file, stamp)?,
            View::Text | View::Passages => {
                self.read_inside(path, &file, stamp, earlier.filter(|known| known.stamp == stamp))?
            }
        };
        let Reading::Done(mut done) = reading else { return Ok(reading) };
        let after = rustix::fs::fstat(&file).map(|stat| Stamp::of(&stat));
        done.changing |= !after.is_ok_and(|after| after == stamp);
        done.settled &= !done.changing && stamp.is_settled_before(read_began);
        Ok(Reading::Done(done))
    }

    fn read_bytes(&mut self, file: &File, stamp: Stamp) -> io::Result<Reading> {
        // A file that grows as fast as it is read would never end: what it held when it was opened is read, and no more.
        let paced = Paced::new(file.take(stamp.length_bytes), self.pace, self.cancelled);
        let mut hashed = Hashed::new(Head::new(paced), self.hashes);
        let mut spool = Spool::new(self.lists);
        let content = match self.fingerprinter.read(&mut hashed, |chunk| spool.push(&chunk)) {
            Ok(content) => content,
            // The spool's errors are the site's own; the file's are the document's.
            Err(error) if spool.failed => return Err(error),
            Err(error) => return Ok(Reading::Failed(state_of(&error))),
        };
        let (head, hashes) = hashed.finish();
        let chunks = spool.end_list()?;
        Ok(Reading::Done(Box::new(Fingerprinted {
            own: Finding::read(content, chunks),
            inside: Vec::new(),
            spooled: spool.finish()?,
            class: head.class(),
            bytes_digest: None,
            hashes,
            read_bytes: head.passed_bytes(),
            stamp,
            changing: content.size_bytes != stamp.length_bytes,
            settled: true,
        })))
    }

    /// Removes what a reading that is of no use left behind.
    pub(crate) fn discard(&self, done: &Fingerprinted) -> io::Result<()> {
        done.spooled.map_or(Ok(()), |file| self.lists.delete(file))
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Key, Method};
    use cognate_proto::limits::CONTENT_CHUNKS_MAX;

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
            view: View::Raw,
            sight: None,
            hashes: HashKinds::NONE,
            clock: || std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 33),
            pace: &Pace::new(&crate::policy::Policy::everything(), || std::time::UNIX_EPOCH),
            cancelled: &AtomicBool::new(false),
        };
        with(reader.read(&DocumentPath::new(b"file").unwrap(), None).unwrap(), &lists);
    }

    #[test]
    fn a_long_list_is_kept_in_a_file_and_is_the_same() {
        let mut content = vec![0; 2 << 20];
        blake3::Hasher::new().finalize_xof().fill(&mut content);
        let size_bytes = content.len() as u64;
        check(&content, |reading, lists| {
            let Reading::Done(done) = reading else { panic!("it can be read") };
            let Some((content, Chunks::Listed(location))) = done.own.content else { panic!("it is long") };
            assert_eq!(done.spooled, Some(location.file));
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
            assert_eq!((rows, sum), (content.chunk_count, size_bytes));
        });
    }

    #[test]
    fn a_file_that_holds_still_is_settled_and_known_by_its_stamp() {
        check(b"hello", |reading, _| {
            let Reading::Done(done) = reading else { panic!("it can be read") };
            assert!(done.settled && !done.changing);
            let (content, _) = done.own.content.unwrap();
            assert_eq!((content.size_bytes, done.stamp.length_bytes, done.read_bytes), (5, 5, 5));
        });
    }
}
