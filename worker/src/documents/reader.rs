//! Reading one document: open it safely, read it, and check that it did not change meanwhile.

use std::io;
use std::time::SystemTime;

use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;

use super::bytes::{keep_bytes, read_bytes};
use super::handful::Handful;
use super::long::LongDocuments;
use super::outcome::{Fingerprinted, ReadOutcome};
use super::text_reader::TextReader;
use super::tools::Tools;
use crate::records::cache::known::KnownDocument;
use crate::records::stamp::Stamp;

/// Number of times that a document is read if it changes meanwhile.
const READS_MAX: usize = 3;

/// Reads documents, one after the other.
pub(crate) struct Reader<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) clock: fn() -> SystemTime,
    /// Reads text, under a text view.
    pub(crate) text: Option<TextReader<'a>>,
    pub(crate) tools: Tools<'a>,
    /// Holds short documents until the caller [fingerprints](Reader::fingerprint_waiting) them; `None`: each is fingerprinted while it is read.
    pub(crate) handful: Option<Handful>,
    /// The long documents of all readers, if they share them.
    pub(crate) long: Option<&'a LongDocuments>,
}

impl Reader<'_> {
    /// Reads a document. If it changes meanwhile, it is read again, up to two times. `known` is what is remembered of it,
    /// with the stamp that it had a moment ago.
    ///
    /// # Errors
    /// If the site's own records cannot be written, or no text can be extracted of any document. A failure of the document
    /// is an outcome.
    pub(crate) fn read(&mut self, path: &DocumentPath, known: Option<&KnownDocument>) -> io::Result<ReadOutcome> {
        let mut read_bytes = 0;
        for attempt in 1..=READS_MAX {
            match self.read_once(path, known)? {
                ReadOutcome::Fingerprinted(mut done) => {
                    read_bytes += done.read_bytes;
                    if !done.changing || attempt == READS_MAX {
                        done.read_bytes = read_bytes;
                        return Ok(ReadOutcome::Fingerprinted(done));
                    }
                    self.discard(&done)?;
                }
                other => return Ok(other),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Fingerprints the documents that wait: `read` has all that were read since the last time, in this order, and not discarded.
    ///
    /// # Errors
    /// If the site's own records cannot be written.
    pub(crate) fn fingerprint_waiting<'d>(
        &mut self,
        read: impl Iterator<Item = &'d mut Fingerprinted>,
    ) -> io::Result<()> {
        let Some(handful) = &mut self.handful else { return Ok(()) };
        let mut waiting = read.filter(|done| done.is_waiting());
        handful.fingerprint(&mut self.tools.fingerprinter, self.tools.lists, |content, chunks, spool_file| {
            let done = waiting.next().expect("all that wait are here");
            done.own.content = Some((content, chunks));
            done.spool_file = spool_file;
        })
    }

    fn read_once(&mut self, path: &DocumentPath, known: Option<&KnownDocument>) -> io::Result<ReadOutcome> {
        let read_began = (self.clock)();
        let calls = self.tools.calls;
        let (file, stat) = match calls.make(|| self.tools.root.open_document(path)) {
            Ok(opened) => opened,
            Err(state) => return Ok(ReadOutcome::Failed(state)),
        };
        let stamp = Stamp::of(&stat);
        if !self.selection.selects(&stamp.facts(path)) {
            return Ok(ReadOutcome::NotSelected);
        }
        let known = known.filter(|known| known.stamp == stamp);
        let handful = self.handful.as_mut().filter(|handful| handful.has_room(stamp.length_bytes));
        let outcome = match (&mut self.text, handful) {
            (Some(text), _) => text.read(&mut self.tools, path, &file, stamp, known)?,
            (None, Some(handful)) => keep_bytes(&self.tools, handful, &file, stamp),
            (None, None) => read_bytes(&mut self.tools, self.long, &file, stamp)?,
        };
        let ReadOutcome::Fingerprinted(mut done) = outcome else { return Ok(outcome) };
        let stamp_after = calls.make(|| rustix::fs::fstat(&file)).map(|stat| Stamp::of(&stat));
        done.changing |= !stamp_after.is_ok_and(|after| after == stamp);
        done.settled &= !done.changing && stamp.is_settled_before(read_began);
        Ok(ReadOutcome::Fingerprinted(done))
    }

    /// Forgets the last outcome, which is not used: removes its list file, or its bytes if they wait.
    pub(crate) fn discard(&mut self, done: &Fingerprinted) -> io::Result<()> {
        if let Some(handful) = self.handful.as_mut().filter(|_| done.is_waiting()) {
            handful.forget_last();
        }
        done.spool_file.map_or(Ok(()), |file| self.tools.lists.delete(file))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use cognate_fingerprint::{Key, Method, View};
    use cognate_proto::file_hash::HashKinds;
    use cognate_proto::limits::CONTENT_CHUNKS_MAX;

    use super::*;
    use crate::documents::file_calls::FileCalls;
    use crate::documents::outcome::Chunks;
    use crate::documents::root::Root;
    use crate::pace::Pace;
    use crate::records::lists::Lists;

    /// A folder `root` of files with these names and contents, and one for lists.
    fn folder(files: &[(String, Vec<u8>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        for (name, content) in files {
            std::fs::write(folder.path().join("root").join(name), content).unwrap();
        }
        folder
    }

    fn with_reader(folder: &tempfile::TempDir, handful: Option<Handful>, with: impl FnOnce(&mut Reader<'_>, &Lists)) {
        let root = Root::open(&folder.path().join("root"), false, &[]).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let selection = Selection::all();
        let mut reader = Reader {
            selection: &selection,
            clock: || std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 33),
            text: None,
            handful,
            long: None,
            tools: Tools {
                root: &root,
                lists: &lists,
                fingerprinter: Method::tttd(View::Raw, 80).unwrap().fingerprinter(&Key::none()),
                hashes: HashKinds::NONE,
                pace: &Pace::new(&crate::policy::Policy::everything(), || std::time::UNIX_EPOCH),
                cancelled: &AtomicBool::new(false),
                calls: FileCalls::unwatched(),
                open_files: None,
                head: Vec::new(),
            },
        };
        with(&mut reader, &lists);
    }

    fn check(content: &[u8], with: impl FnOnce(ReadOutcome, &Lists)) {
        let folder = folder(&[("file".to_owned(), content.to_vec())]);
        with_reader(&folder, None, |reader, lists| {
            with(reader.read(&DocumentPath::new(b"file").unwrap(), None).unwrap(), lists);
        });
    }

    fn fingerprinted(reader: &mut Reader<'_>, name: &str) -> Fingerprinted {
        match reader.read(&DocumentPath::new(name.as_bytes()).unwrap(), None).unwrap() {
            ReadOutcome::Fingerprinted(done) => done,
            ReadOutcome::Failed(state) => panic!("{name}: {state:?}"),
            ReadOutcome::NotSelected => panic!("{name} is selected"),
        }
    }

    #[test]
    fn documents_that_wait_for_each_other_have_the_fingerprints_of_each_alone() {
        let noise = |length: usize| {
            let mut content = vec![0; length];
            blake3::Hasher::new().update(&length.to_le_bytes()).finalize_xof().fill(&mut content);
            content
        };
        // Shorter and longer than may wait, and more than there is room for.
        let lengths = [0, 1, 700, 16 << 10, (16 << 10) + 1, 90_000].into_iter().chain((0..40).map(|n| 9000 + n));
        let lines = |length: usize, end: &str| format!("line {length}{end}").repeat(length / 9).into_bytes();
        let of_lines = [1, 700, 15_000, 90_000].map(|length| lines(length, "\r\n"));
        let documents = lengths.map(noise).chain(of_lines.clone());
        let files: Vec<_> = documents.enumerate().map(|(number, content)| (format!("{number:02}"), content)).collect();
        let folder = folder(&files);
        let seen = |done: &Fingerprinted| {
            let Some((content, Chunks::Held(chunks))) = &done.own.content else { panic!("a short list") };
            let Fingerprinted { stamp, class, candidate, changing, settled, read_bytes, spool_file, .. } = done;
            let facts = (*stamp, *class, *candidate, (*changing, *settled), *read_bytes, *spool_file);
            (content.clone(), chunks.to_vec(), facts)
        };
        let mut alone = Vec::new();
        with_reader(&folder, None, |reader, _| {
            alone.extend(files.iter().map(|(name, _)| seen(&fingerprinted(reader, name))));
        });
        with_reader(&folder, Some(Handful::new()), |reader, _| {
            // Nothing of a handful, or of a document that is discarded, is left in the next.
            for _ in 0..2 {
                let mut together = Vec::new();
                for (name, _) in &files {
                    let discarded = fingerprinted(reader, name);
                    reader.discard(&discarded).unwrap();
                    together.push(fingerprinted(reader, name));
                }
                let waiting = together.iter().filter(|done| done.is_waiting()).count();
                assert!((5..files.len() - 2).contains(&waiting), "{waiting}");
                reader.fingerprint_waiting(together.iter_mut()).unwrap();
                assert!(together.iter().map(seen).eq(alone.iter().cloned()));
            }
        });
        // Lines that end with CR LF are those that end with LF, in a content of its own.
        let with_lf: Vec<_> = [1, 700, 15_000, 90_000].map(|length| (length.to_string(), lines(length, "\n"))).into();
        let folder = self::folder(&with_lf);
        let with_crlf = &alone[alone.len() - with_lf.len()..];
        with_reader(&folder, Some(Handful::new()), |reader, _| {
            let mut read: Vec<_> = with_lf.iter().map(|(name, _)| fingerprinted(reader, name)).collect();
            reader.fingerprint_waiting(read.iter_mut()).unwrap();
            for ((done, (content, chunks, facts)), bytes) in read.iter().zip(with_crlf).zip(of_lines) {
                let (of_lf, chunks_of_lf, ..) = seen(done);
                assert_eq!(
                    (&of_lf.sample, of_lf.size_bytes, &chunks_of_lf),
                    (&content.sample, content.size_bytes, chunks)
                );
                let expected = if bytes.is_empty() { of_lf.digest } else { of_lf.digest.of_crlf() };
                assert_eq!((content.digest, facts.3, facts.4), (expected, (false, true), bytes.len() as u64));
            }
        });
    }

    #[test]
    fn a_long_list_in_a_file_has_all_chunks() {
        let mut content = vec![0; 2 << 20];
        blake3::Hasher::new().finalize_xof().fill(&mut content);
        let size_bytes = content.len() as u64;
        check(&content, |outcome, lists| {
            let ReadOutcome::Fingerprinted(done) = outcome else { panic!("it can be read") };
            let Some((content, Chunks::Stored(location))) = done.own.content else { panic!("the list is long") };
            assert_eq!(done.spool_file, Some(location.file));
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
    fn a_file_that_does_not_change_is_settled() {
        check(b"hello", |outcome, _| {
            let ReadOutcome::Fingerprinted(done) = outcome else { panic!("it can be read") };
            assert!(done.settled && !done.changing);
            let (content, _) = done.own.content.unwrap();
            assert_eq!((content.size_bytes, done.stamp.length_bytes, done.read_bytes), (5, 5, 5));
        });
    }
}
