//! Fine chunks for the coordinator: documents that have chosen contents are read once more, and chosen chunks are cut again.
//!
//! A chunk is cut again only if its tag is still the chosen one, so that a document that has changed gives only what it still
//! holds. Of a long document that has its old stamp, nothing but the chosen chunks is read. Each chunk is taken from the content that the choice names, at its first place there: the answer is the same
//! however many threads read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cognate_fingerprint::{Chunk, ChunkTagger, ChunkVisitor, ContentDigest, FineChunk, FineCutter, Fingerprinter, Tag};
use cognate_proto::file_hash::HashKinds;
use cognate_proto::fine::{AnswerTables, FineChoice};
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;
use cognate_proto::v1::FineAnswerTable;

use super::job::Job;
use super::listed::{Listed, Part};
use super::syncs::Syncs;
use crate::documents::file_calls::FileCalls;
use crate::documents::outcome::{Fingerprinted, ReadOutcome};
use crate::documents::reader::Reader;
use crate::documents::root::Root;
use crate::documents::tools::Tools;
use crate::error::SyncError;
use crate::records::answers::ChunkLimit;
use crate::records::cache::Cache;

/// The outcome of a choice whose fine chunks are sent.
pub(crate) struct FineChunks {
    /// Contents that no document has any more.
    pub(crate) changed_contents: u64,
    pub(crate) read_bytes: u64,
}

/// The data that all readers of one choice share.
struct Shared<'a> {
    job: &'a Job,
    root: &'a Root,
    cache: Option<&'a Cache>,
    /// Files that are read as a whole, ascending, each with the chosen contents that it holds.
    files: Vec<(DocumentPath, Vec<ContentDigest>)>,
    next: AtomicUsize,
    /// Parts of long documents of which only the chosen chunks are read.
    parts: Vec<Part<'a>>,
    next_part: AtomicUsize,
    /// The chosen contents that were found; those of long documents are first taken as found.
    found: Mutex<HashSet<ContentDigest>>,
    /// Contents of long documents that have changed.
    lost: Mutex<HashSet<ContentDigest>>,
    chosen: HashMap<ContentDigest, Vec<Tag>>,
    /// The number of each chunk in the question.
    numbers: foldhash::HashMap<Tag, u32>,
    read_bytes: AtomicU64,
    /// Sends a table; false if nobody waits for it any more.
    send: &'a (dyn Fn(FineAnswerTable) -> bool + Sync),
    cancelled: &'a AtomicBool,
}

impl Syncs {
    /// Cuts chosen chunks of a repository again, if they are not more than this share of its chunks in a day, and sends each table as soon
    /// as it is full. Blocks.
    pub(crate) fn fine_chunks(
        &self,
        job: &Job,
        choice: FineChoice,
        share: f64,
        send: &(dyn Fn(FineAnswerTable) -> bool + Sync),
        cancelled: &AtomicBool,
    ) -> Result<FineChunks, SyncError> {
        if let Some(answers) = &self.answers {
            let in_index = self.records.index_chunks(&job.repository, job.method_id)?;
            let tags: Vec<Tag> = choice.tags().collect();
            answers.take_chunks(&job.repository, job.method_id, ChunkLimit { share, in_index }, &tags)?;
        }
        let root = Root::open(&job.path, job.follow_symlinks, &job.own_files)
            .map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
        let cache = self.records.cache()?;
        let numbers = choice.tags().zip(0..).collect();
        let chosen: HashMap<ContentDigest, Vec<Tag>> = choice.contents.into_iter().collect();
        let (mut files, mut listed) = (Vec::new(), Vec::new());
        for (path, contents) in self.files_with_contents(job, &chosen.keys().copied().collect())? {
            if cancelled.load(Ordering::Relaxed) {
                return Err(SyncError::Cancelled);
            }
            let of_list = match contents[..] {
                [content] => Listed::find(&self.records, (job, &root), &path, (content, &chosen[&content])),
                _ => None,
            };
            match of_list {
                Some(of_list) => listed.push(of_list),
                None => files.push((path, contents)),
            }
        }
        let shared = Shared {
            job,
            root: &root,
            cache: cache.as_deref(),
            files,
            next: AtomicUsize::new(0),
            parts: listed.iter().flat_map(Listed::parts).collect(),
            next_part: AtomicUsize::new(0),
            found: Mutex::new(listed.iter().map(|listed| listed.content).collect()),
            lost: Mutex::default(),
            chosen,
            numbers,
            read_bytes: AtomicU64::new(0),
            send,
            cancelled,
        };
        let read: Vec<io::Result<()>> = std::thread::scope(|scope| {
            let read = || self.read_all(&shared);
            let readers: Vec<_> = (0..self.settings.threads.get()).map(|_| scope.spawn(read)).collect();
            readers.into_iter().map(|reader| reader.join().expect("readers do not panic")).collect()
        });
        if job.method.view().is_text() {
            self.processes.stop();
        }
        if cancelled.load(Ordering::Relaxed) {
            return Err(SyncError::Cancelled);
        }
        let read: io::Result<()> = read.into_iter().collect();
        read.map_err(|source| self.records.failure(source))?;
        let found = shared.found.into_inner().expect("no reader panicked while it held this lock");
        let lost = shared.lost.into_inner().expect("no reader panicked while it held this lock");
        Ok(FineChunks {
            changed_contents: (shared.chosen.len() - found.difference(&lost).count()) as u64,
            read_bytes: shared.read_bytes.into_inner(),
        })
    }

    /// The files that had these contents when they were last sent, ascending, each with its contents.
    pub(super) fn files_with_contents(
        &self,
        job: &Job,
        contents: &HashSet<ContentDigest>,
    ) -> Result<Vec<(DocumentPath, Vec<ContentDigest>)>, SyncError> {
        let documents = self.records.documents_with_contents(&job.repository, job.method_id, contents)?;
        let mut files: BTreeMap<DocumentPath, Vec<ContentDigest>> = BTreeMap::new();
        for (content, path) in documents {
            // A document inside of another is read with the outer file.
            let outer = if job.method.view().is_text() { DocumentPath::new(path.file()).ok() } else { None };
            files.entry(outer.unwrap_or(path)).or_default().push(content);
        }
        Ok(files.into_iter().collect())
    }

    /// Forgets where contents were, which is kept between queries.
    pub(crate) fn forget_files(&self) {
        self.records.forget_files();
    }

    /// One reader: takes files until there are no more.
    fn read_all(&self, shared: &Shared<'_>) -> io::Result<()> {
        let Shared { job, root, cache, cancelled, .. } = *shared;
        let cut = Arc::new(Mutex::new(Cut::new(self.answers.is_some())));
        let (of_visitor, cutter) = (Arc::clone(&cut), FineCutter::new(&self.settings.key));
        let visitor = move |chunk: &Chunk, bytes: &[u8]| {
            of_visitor.lock().expect("nothing panics while it is held").take(chunk, bytes, &cutter);
        };
        self.read_parts(shared, &cut);
        let all = Selection::all();
        let mut reader = self.chunk_reader((job, root, cache), Box::new(visitor), &all, cancelled)?;
        while let Some((path, contents)) = shared.files.get(shared.next.fetch_add(1, Ordering::Relaxed)) {
            if cancelled.load(Ordering::Relaxed) || !shared.send_full(&cut) {
                break;
            }
            let tags = contents.iter().flat_map(|content| &shared.chosen[content]);
            let wanted = tags.map(|tag| (*tag, shared.numbers[tag])).collect();
            cut.lock().expect("nothing panics while it is held").wanted = wanted;
            let known = cache.and_then(|cache| cache.get(&job.repository, path));
            // A document that cannot be read now counts as changed.
            let ReadOutcome::Fingerprinted(done) = reader.read(path, known.as_ref())? else { continue };
            shared.note(&done);
            reader.discard(&done)?;
        }
        drop(reader);
        let mut cut = cut.lock().expect("nothing panicked while it was held");
        // Whoever waits for the answer hears of its end in any case.
        let _ = cut.tables.finish().into_iter().all(shared.send);
        Ok(())
    }

    /// Takes parts of long documents until there are no more.
    fn read_parts(&self, shared: &Shared<'_>, cut: &Mutex<Cut>) {
        let (tagger, cutter) = (ChunkTagger::new(&self.settings.key), FineCutter::new(&self.settings.key));
        while let Some(part) = shared.parts.get(shared.next_part.fetch_add(1, Ordering::Relaxed)) {
            if !shared.send_full(cut) {
                return;
            }
            let mut cut = cut.lock().expect("nothing panics while it is held");
            let read = part.read(shared.root, &tagger, (&self.pace, shared.cancelled), |tag, bytes| {
                cut.add(shared.numbers[&tag], bytes, &cutter);
            });
            match read {
                Ok(Some(bytes)) => {
                    shared.read_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
                // A document that cannot be read now counts as changed.
                Ok(None) | Err(_) => {
                    let mut lost = shared.lost.lock().expect("no reader panics while it holds this lock");
                    lost.insert(part.listed().content);
                }
            }
        }
    }
}

impl Syncs {
    /// A reader of documents that shows their chunks to a visitor, and sends nothing.
    pub(super) fn chunk_reader<'a>(
        &'a self,
        (job, root, cache): (&Job, &'a Root, Option<&'a Cache>),
        visitor: Box<ChunkVisitor>,
        selection: &'a Selection,
        cancelled: &'a AtomicBool,
    ) -> io::Result<Reader<'a>> {
        let fingerprinter = job.method.visiting_fingerprinter(&self.settings.key, visitor);
        let fingerprinter = fingerprinter.map(Fingerprinter::without_samples);
        Ok(Reader {
            selection,
            clock: self.settings.clock,
            text: self.text_reader(job, cache),
            handful: None,
            long: None,
            tools: Tools {
                root,
                lists: &self.records.lists,
                fingerprinter: fingerprinter.ok_or_else(|| io::Error::other("the method has no chunks"))?,
                hashes: HashKinds::NONE,
                pace: &self.pace,
                cancelled,
                calls: FileCalls::unwatched(),
                open_files: None,
                head: Vec::new(),
            },
        })
    }
}

impl Shared<'_> {
    /// Sends the tables of a reader that are full; false if nobody waits for them any more.
    fn send_full(&self, cut: &Mutex<Cut>) -> bool {
        let full = cut.lock().expect("nothing panics while it is held").tables.take_full();
        full.into_iter().all(self.send)
    }

    /// Notes the contents of a file that was read.
    fn note(&self, done: &Fingerprinted) {
        self.read_bytes.fetch_add(done.read_bytes, Ordering::Relaxed);
        let inside = done.inside.iter().map(|(_, part)| part);
        let contents = inside.chain([&done.own]).filter_map(|part| part.content.as_ref());
        let chosen = contents.map(|(content, _)| content.digest).filter(|digest| self.chosen.contains_key(digest));
        self.found.lock().expect("no reader panics while it holds this lock").extend(chosen);
    }
}

/// The chunks of one reader that were cut again.
struct Cut {
    /// Chunks of the file that is being read, each to be cut once, with their numbers.
    wanted: foldhash::HashMap<Tag, u32>,
    tables: AnswerTables,
    fine: Vec<FineChunk>,
}

impl Cut {
    fn new(is_remote: bool) -> Cut {
        Cut { wanted: foldhash::HashMap::default(), tables: AnswerTables::new(is_remote), fine: Vec::new() }
    }

    fn take(&mut self, chunk: &Chunk, bytes: &[u8], cutter: &FineCutter) {
        if let Some(number) = self.wanted.remove(&chunk.tag) {
            self.add(number, bytes, cutter);
        }
    }

    fn add(&mut self, number: u32, bytes: &[u8], cutter: &FineCutter) {
        cutter.cut(bytes, |fine| self.fine.push(fine));
        self.tables.push(number, self.fine.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Key, Method, View};
    use cognate_proto::fine::answered;

    use super::*;

    #[test]
    fn wanted_chunks_are_cut_once_and_no_others() {
        let document: Vec<u8> = (0..20_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let method = Method::tttd(View::Raw, 80).unwrap();
        let mut tags = Vec::new();
        method.fingerprinter(&Key::none()).slice(&document, |chunk| tags.push(chunk.tag));
        let asked: Vec<Tag> = tags.iter().step_by(3).copied().collect();
        let wanted = asked.iter().copied().zip(0..).collect();
        let cut = Arc::new(Mutex::new(Cut { wanted, ..Cut::new(true) }));
        let (of_visitor, cutter) = (Arc::clone(&cut), FineCutter::new(&Key::none()));
        let visitor = move |chunk: &Chunk, bytes: &[u8]| of_visitor.lock().unwrap().take(chunk, bytes, &cutter);
        let reader = method.visiting_fingerprinter(&Key::none(), Box::new(visitor)).unwrap();
        for _ in 0..2 {
            reader.slice(&document, |_| panic!("chunks go to the visitor"));
        }
        let tables = cut.lock().unwrap().tables.finish();
        let mut left: HashSet<Tag> = asked.iter().copied().collect();
        let found: usize = tables.iter().map(|table| answered(table, &asked, &mut left).unwrap().len()).sum();
        assert_eq!((found, left.len()), (asked.len(), 0));
    }
}
