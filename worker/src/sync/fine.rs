//! Fine chunks for the coordinator: documents that have chosen contents are read once more, and chosen chunks are cut again.
//!
//! A chunk is cut again only if its tag is still the chosen one, so that a document that has changed gives only what it still
//! holds. Each chunk is taken from the content that the choice names, at its first place there: the answer is the same
//! however many threads read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cognate_fingerprint::{ContentDigest, FineChunk, Tag};
use cognate_proto::file_hash::HashKinds;
use cognate_proto::fine::{FineChoice, FineTables};
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;
use cognate_proto::v1::{ChunkTable, FineTable};

use super::job::Job;
use super::syncs::Syncs;
use crate::documents::outcome::{Chunks, Fingerprinted, ReadOutcome};
use crate::documents::reader::Reader;
use crate::documents::root::Root;
use crate::documents::tools::Tools;
use crate::error::SyncError;
use crate::records::cache::Cache;

/// The fine chunks of a choice.
pub(crate) struct FineChunks {
    pub(crate) tables: Vec<FineTable>,
    /// Contents that no document has any more.
    pub(crate) changed_contents: u64,
    pub(crate) read_bytes: u64,
}

/// The data that all readers of one choice share.
struct Shared<'a> {
    job: &'a Job,
    root: &'a Root,
    cache: Option<&'a Cache>,
    /// Files, ascending, each with the chosen contents that it holds.
    files: Vec<(DocumentPath, Vec<ContentDigest>)>,
    next: AtomicUsize,
    /// The chosen contents that were found unchanged.
    found: Mutex<HashSet<ContentDigest>>,
    chosen: HashMap<ContentDigest, Vec<Tag>>,
    read_bytes: AtomicU64,
    cancelled: &'a AtomicBool,
}

impl Syncs {
    /// Cuts chosen chunks of a repository again. Blocks.
    pub(crate) fn fine_chunks(
        &self,
        job: &Job,
        choice: FineChoice,
        cancelled: &AtomicBool,
    ) -> Result<FineChunks, SyncError> {
        let root = Root::open(&job.path, job.follow_symlinks)
            .map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
        let cache = self.records.cache()?;
        let chosen: HashMap<ContentDigest, Vec<Tag>> = choice.contents.into_iter().collect();
        let shared = Shared {
            job,
            root: &root,
            cache: cache.as_deref(),
            files: self.files_with_contents(job, &chosen)?,
            next: AtomicUsize::new(0),
            found: Mutex::default(),
            chosen,
            read_bytes: AtomicU64::new(0),
            cancelled,
        };
        let tables: Vec<io::Result<Vec<FineTable>>> = std::thread::scope(|scope| {
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
        let tables: io::Result<Vec<Vec<FineTable>>> = tables.into_iter().collect();
        let found = shared.found.into_inner().expect("no reader panicked while it held this lock");
        Ok(FineChunks {
            tables: tables.map_err(|source| self.records.failure(source))?.into_iter().flatten().collect(),
            changed_contents: (shared.chosen.len() - found.len()) as u64,
            read_bytes: shared.read_bytes.into_inner(),
        })
    }

    /// The files that had these contents when they were last sent, ascending, each with its contents.
    fn files_with_contents(
        &self,
        job: &Job,
        chosen: &HashMap<ContentDigest, Vec<Tag>>,
    ) -> Result<Vec<(DocumentPath, Vec<ContentDigest>)>, SyncError> {
        let documents = self.records.documents_with_contents(&job.repository, job.method_id, chosen)?;
        let mut files: BTreeMap<DocumentPath, Vec<ContentDigest>> = BTreeMap::new();
        for (content, path) in documents {
            // A document inside of another is read with the outer file.
            let outer = if job.method.view().is_text() { DocumentPath::new(path.file()).ok() } else { None };
            files.entry(outer.unwrap_or(path)).or_default().push(content);
        }
        Ok(files.into_iter().collect())
    }

    /// One reader: takes files until there are no more.
    fn read_all(&self, shared: &Shared<'_>) -> io::Result<Vec<FineTable>> {
        let Shared { job, root, cache, cancelled, .. } = *shared;
        // The chunks of the file that is being read, each to be cut once.
        let wanted: Arc<Mutex<HashSet<Tag>>> = Arc::default();
        let of_file = Arc::clone(&wanted);
        let take = move |tag: &Tag| of_file.lock().expect("nothing panics while it is held").remove(tag);
        let fingerprinter = job.method.fine_fingerprinter(&self.settings.key, Box::new(take));
        let fingerprinter = fingerprinter.ok_or_else(|| io::Error::other("the method has no fine chunks"))?;
        let all = Selection::all();
        let mut reader = Reader {
            selection: &all,
            clock: self.settings.clock,
            text: self.text_reader(job, cache)?,
            tools: Tools {
                root,
                lists: &self.records.lists,
                fingerprinter,
                hashes: HashKinds::NONE,
                pace: &self.pace,
                cancelled,
            },
        };
        let mut tables = FineTables::default();
        while let Some((path, contents)) = shared.files.get(shared.next.fetch_add(1, Ordering::Relaxed)) {
            if cancelled.load(Ordering::Relaxed) {
                break;
            }
            let tags = contents.iter().flat_map(|content| &shared.chosen[content]).copied();
            *wanted.lock().expect("nothing panics while it is held") = tags.collect();
            let known = cache.and_then(|cache| cache.get(&job.repository, path));
            // A document that cannot be read now counts as changed.
            let ReadOutcome::Fingerprinted(done) = reader.read(path, known.as_ref())? else { continue };
            self.take(shared, &done, &mut tables)?;
            reader.discard(&done)?;
        }
        Ok(tables.finish())
    }

    fn take(&self, shared: &Shared<'_>, done: &Fingerprinted, tables: &mut FineTables) -> io::Result<()> {
        shared.read_bytes.fetch_add(done.read_bytes, Ordering::Relaxed);
        let inside = done.inside.iter().map(|(_, part)| part);
        for (content, chunks) in inside.chain([&done.own]).filter_map(|part| part.content.as_ref()) {
            if shared.chosen.contains_key(&content.digest) {
                let mut found = shared.found.lock().expect("no reader panics while it holds this lock");
                found.insert(content.digest);
            }
            let mut grouped = Grouped::default();
            match chunks {
                Chunks::Held(table) => grouped.take(table, tables),
                Chunks::Stored(location) => self.records.lists.read(*location, |table| {
                    grouped.take(&table, tables);
                    Ok(())
                })?,
            }
        }
        Ok(())
    }
}

/// A list of chunks, each followed by its fine chunks, that is put together again: the lengths tell where the next begins.
#[derive(Default)]
struct Grouped {
    /// The chunk whose fine chunks follow, and the bytes that are left of it.
    open: Option<(Tag, u32)>,
    fine: Vec<FineChunk>,
}

impl Grouped {
    fn take(&mut self, table: &ChunkTable, tables: &mut FineTables) {
        for (tag, length_bytes, _) in table.iter() {
            let Some((coarse, rest)) = &mut self.open else {
                self.open = Some((tag, length_bytes));
                continue;
            };
            let length = u8::try_from(length_bytes).expect("a fine chunk is at most 16 bytes long");
            self.fine.push(FineChunk { tag: tag.0[0], length_bytes: length });
            *rest -= length_bytes;
            if *rest == 0 {
                tables.push(*coarse, self.fine.drain(..));
                self.open = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Key, Method, View};
    use cognate_proto::fine::expansions;

    use super::*;

    #[test]
    fn fine_chunks_are_grouped_by_their_chunk_wherever_a_list_is_split() {
        let document: Vec<u8> = (0..20_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let method = Method::tttd(View::Raw, 80).unwrap();
        let mut tags = HashSet::new();
        method.fingerprinter(&Key::none()).slice(&document, |chunk| drop(tags.insert(chunk.tag)));
        let fine = method.fine_fingerprinter(&Key::none(), Box::new(|_| true)).unwrap();
        let mut rows = Vec::new();
        fine.slice(&document, |chunk| rows.push(chunk));
        let packed = |split: usize| {
            let (mut grouped, mut tables) = (Grouped::default(), FineTables::default());
            for part in rows.chunks(split) {
                let mut table = ChunkTable::default();
                part.iter().for_each(|chunk| table.push(chunk));
                grouped.take(&table, &mut tables);
            }
            assert!(grouped.open.is_none());
            tables.finish()
        };
        let whole = packed(rows.len());
        assert_eq!(packed(7), whole);
        let found: usize = whole.iter().map(|table| expansions(table, &mut tags.clone()).unwrap().len()).sum();
        assert!(found > 500);
    }
}
