//! The rows that this site has sent of one index: a log of the rows of every batch, written before the batch is sent.
//!
//! The log up to the batch that the coordinator reports as durable is what the coordinator holds; a sync sends the
//! difference between it and the repository. Acknowledgements are not recorded, and nothing here must reach the disk in
//! time: a log that is older than the coordinator's state is noticed, and the index starts again from the cache, under
//! another epoch, without reading a document. So does an index whose site now sends samples and did not, or the other way round.

mod log;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use cognate_fingerprint::{Content, ContentDigest};
use cognate_proto::batch::{DocumentRow, DocumentState};
use cognate_proto::documents::{Documents, IndexedDocument};
use cognate_proto::index_digest::{IndexDigest, RowHash, RowSum};
use cognate_proto::path::DocumentPath;
use foldhash::HashSetExt as _;

pub(crate) use self::log::IndexUpload;
use self::log::{ContentNumbers, Log, LogRecord, SNAPSHOT_ROWS};

/// The state of one index as the coordinator holds it, as far as this site knows.
pub(crate) struct SentState {
    log: Option<Log>,
    upload: IndexUpload,
    sequence: u64,
    root: RowSum,
    /// Those that this sync has come to are seen.
    documents: Documents,
    contents: HashMap<ContentDigest, ContentNumbers>,
    /// Rows written since the log was last replaced.
    rows_logged: usize,
    /// Without a log: a document for each content.
    held_files: HeldFiles,
}

/// A document for each content.
pub(crate) type HeldFiles = HashMap<ContentDigest, DocumentPath>;

/// The documents of an index, in which those of chosen contents are looked for.
#[derive(Default)]
pub(crate) struct SentFiles {
    documents: Documents,
    /// Of each document, in their order, whether it is the first with its content.
    firsts: Vec<bool>,
    /// The document at which the next query begins, and its number: the last one that queries have found without beginning again at the first.
    next: Option<(DocumentPath, usize)>,
    /// Chunks of all contents that some document has, one that occurs again counted again.
    chunks: u64,
}

impl SentFiles {
    /// `chunks_of` has the number of chunks of a content.
    fn of(mut documents: Documents, chunks_of: impl Fn(&ContentDigest) -> u64) -> SentFiles {
        documents.settle();
        let mut seen = foldhash::HashSet::with_capacity(documents.len());
        let mut chunks = 0;
        let firsts = documents.iter().map(|(_, document)| {
            let new = document.content.filter(|content| seen.insert(*content));
            chunks += new.as_ref().map_or(0, &chunks_of);
            new.is_some()
        });
        let firsts = firsts.collect();
        SentFiles { firsts, documents, next: None, chunks }
    }

    /// The number of chunks of all contents that some document has.
    pub(crate) fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The first document, by its path, of each of these contents that some document has. Queries that follow each other ask for contents in the order
    /// of their documents, so each begins where the one before ended: all of them together go through the documents once.
    pub(crate) fn find(&mut self, contents: &HashSet<ContentDigest>) -> HeldFiles {
        let mut found = HeldFiles::new();
        if contents.is_empty() {
            return found;
        }
        let begin = self.next.take();
        let (from, number) = begin.as_ref().map_or((None, 0), |(path, number)| (Some(path), *number));
        let after = self.documents.iter_from(from).zip(number..);
        let before = self.documents.iter().zip(0..number);
        let mut last = None;
        for ((path, document), place) in after.chain(before).filter(|(_, place)| self.firsts[*place]) {
            let Some(content) = document.content.filter(|content| contents.contains(content)) else { continue };
            if place >= number {
                last = Some((path.clone(), place));
            }
            found.insert(content, path);
            if found.len() == contents.len() {
                break;
            }
        }
        self.next = last.or(begin);
        found
    }
}

impl SentState {
    /// A state for a single sync: it has no log and remembers no documents.
    pub(crate) fn ephemeral(upload: IndexUpload) -> SentState {
        SentState {
            log: None,
            upload,
            sequence: 0,
            root: RowSum::default(),
            documents: Documents::default(),
            contents: HashMap::new(),
            rows_logged: 0,
            held_files: HashMap::new(),
        }
    }

    /// Opens the log at `path`. If there is none that can be read, or it is of contents that have samples where `fresh` has none or
    /// the other way round, starts one for `fresh`.
    pub(crate) fn open(path: &Path, fresh: IndexUpload) -> io::Result<SentState> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let log = Log::open(path)?;
        let logged = log.read()?.map(|(upload, _)| upload).filter(|logged| logged.samples == fresh.samples);
        let mut state = SentState { log: Some(log), ..SentState::ephemeral(logged.unwrap_or(fresh)) };
        if logged.is_none() {
            state.restart(fresh.epoch)?;
        }
        Ok(state)
    }

    /// Reads everything that was ever sent of an index; `None` if there is no log.
    pub(crate) fn read(path: &Path) -> io::Result<Option<SentState>> {
        let log = Log::to_read(path);
        let Some((upload, mut records)) = log.read()? else { return Ok(None) };
        // With a log it remembers documents. This log is never written.
        let mut state = SentState { log: Some(log), ..SentState::ephemeral(upload) };
        while let Some(record) = records.next()? {
            if !state.replay(&record) {
                break;
            }
        }
        Ok(Some(state))
    }

    /// The documents that have a content, with it.
    pub(crate) fn documents_with_content(&self) -> impl Iterator<Item = (DocumentPath, ContentDigest)> {
        self.documents.iter().filter_map(|(path, sent)| Some((path, sent.content?)))
    }

    /// Its documents, to look for contents.
    pub(crate) fn into_sent_files(self) -> SentFiles {
        let SentState { documents, contents, .. } = self;
        SentFiles::of(documents, |content| contents.get(content).map_or(0, |numbers| numbers.chunk_count))
    }

    /// A document for each content of a sync without a log.
    pub(crate) fn take_files(&mut self) -> HeldFiles {
        std::mem::take(&mut self.held_files)
    }

    /// True if the index has a row for the path.
    pub(crate) fn contains(&self, path: &DocumentPath) -> bool {
        self.documents.contains(path)
    }

    /// The epoch of the index.
    pub(crate) fn epoch(&self) -> u64 {
        self.upload.epoch
    }

    /// True if contents go with their samples.
    pub(crate) fn has_samples(&self) -> bool {
        self.upload.samples
    }

    /// The number of the last batch that was sent, or 0.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The multiset digest of the index, with everything that was sent.
    pub(crate) fn root(&self) -> IndexDigest {
        self.root.digest()
    }

    /// Goes to the state after `committed_sequence`, the last batch that is durable at the coordinator. Later records are
    /// removed, because their batches must be sent again. Returns true if both ends then have the same digest.
    pub(crate) fn resume(&mut self, committed_sequence: u64, committed_root: IndexDigest) -> io::Result<bool> {
        let Some(log) = &self.log else { return Ok(committed_sequence == 0) };
        let Some((_, mut records)) = log.read()? else { return Ok(false) };
        let mut place = records.place();
        while let Some(record) = records.next()? {
            if record.sequence > committed_sequence {
                break;
            }
            if !self.replay(&record) {
                return Ok(false);
            }
            place = records.place();
        }
        self.log.as_mut().map_or(Ok(()), |log| log.resume(place))?;
        Ok(self.sequence == committed_sequence && self.root() == committed_root)
    }

    /// Starts the index again, empty.
    pub(crate) fn restart(&mut self, epoch: u64) -> io::Result<()> {
        let upload = IndexUpload { epoch, ..self.upload };
        if let Some(log) = &mut self.log {
            log.restart(upload)?;
        }
        *self = SentState { log: self.log.take(), ..SentState::ephemeral(upload) };
        Ok(())
    }

    /// True if the content was sent, or is in the batch that is being filled.
    pub(crate) fn has_content(&self, digest: &ContentDigest) -> bool {
        self.contents.contains_key(digest)
    }

    /// The row of a document in the index. The document counts as seen by this sync.
    pub(crate) fn see(&mut self, path: &DocumentPath) -> Option<IndexedDocument> {
        self.documents.see(path)
    }

    /// The size of a document in the index, if it has a content.
    pub(crate) fn size_of(&self, path: &DocumentPath) -> Option<u64> {
        let digest = self.documents.get(path)?.content?;
        self.contents.get(&digest).map(|numbers| numbers.size_bytes)
    }

    /// Adds a content to the batch that is being filled.
    pub(crate) fn add_content(&mut self, content: &Content) {
        self.add_numbers(content.digest, numbers(content));
    }

    fn add_numbers(&mut self, digest: ContentDigest, numbers: ContentNumbers) {
        if self.contents.insert(digest, numbers).is_none() {
            let ContentNumbers { size_bytes, chunk_count, sample_digest } = numbers;
            self.root.add_content(digest, size_bytes, chunk_count, sample_digest);
        }
    }

    /// Adds a document to the batch that is being filled, or removes it from the index. It counts as seen by this sync.
    pub(crate) fn add_document(&mut self, row: &DocumentRow) {
        self.put_document(row);
        self.documents.see(&row.path);
    }

    fn put_document(&mut self, row: &DocumentRow) {
        let removed = row.state == DocumentState::Removed;
        if !removed {
            self.root.add_document(row);
        }
        if self.log.is_none() {
            if let Some(content) = row.content {
                self.held_files.entry(content).or_insert_with(|| row.path.clone());
            }
            return;
        }
        let earlier = match removed {
            true => self.documents.remove(&row.path),
            false => self.documents.insert(row.path.clone(), IndexedDocument::from(row)),
        };
        if let Some(earlier) = earlier {
            self.root.remove(RowHash::of_document(&earlier.with_path(row.path.clone())));
        }
    }

    /// The documents of the index that this sync has not seen, ascending.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = DocumentPath> {
        self.documents.unseen()
    }

    /// Number of documents in the index; 0 without a log, which does not count them.
    pub(crate) fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    /// Logs the rows of the next batch, before it is sent, and returns its number.
    pub(crate) fn log_batch(&mut self, documents: &[DocumentRow], contents: &[Content]) -> io::Result<u64> {
        self.sequence += 1;
        self.rows_logged += documents.len();
        if let Some(log) = &mut self.log {
            let contents: Vec<_> = contents.iter().map(|content| (content.digest, numbers(content))).collect();
            log.append(&LogRecord::new(self.sequence, documents, &contents))?;
        }
        Ok(self.sequence)
    }

    /// Ends a sealed sync. A log that has grown to many times its content is replaced by a shorter one.
    pub(crate) fn finish_sync(&mut self) -> io::Result<()> {
        self.documents.forget_seen();
        let Some(log) = &mut self.log else { return Ok(()) };
        if self.rows_logged < 2 * self.documents.len() + 2 * SNAPSHOT_ROWS {
            return Ok(());
        }
        let mut documents = self.documents.iter().map(|(path, sent)| sent.with_path(path));
        let contents: Vec<_> = self.contents.iter().map(|(digest, numbers)| (*digest, *numbers)).collect();
        let sequence = self.sequence;
        let rows = std::iter::from_fn(|| {
            let rows: Vec<DocumentRow> = documents.by_ref().take(SNAPSHOT_ROWS).collect();
            (!rows.is_empty()).then(|| LogRecord::new(sequence, &rows, &[]))
        });
        log.replace(
            self.upload,
            rows.chain(contents.chunks(SNAPSHOT_ROWS).map(|rows| LogRecord::new(sequence, &[], rows))),
        )?;
        self.rows_logged = self.documents.len();
        Ok(())
    }

    /// Applies a logged record; `false` if it is not valid.
    fn replay(&mut self, record: &LogRecord) -> bool {
        let Some(documents) = record.documents() else { return false };
        record.contents().for_each(|(digest, numbers)| self.add_numbers(digest, numbers));
        documents.iter().for_each(|row| self.put_document(row));
        self.rows_logged += documents.len();
        self.sequence = record.sequence;
        true
    }
}

fn numbers(content: &Content) -> ContentNumbers {
    let Content { size_bytes, chunk_count, .. } = *content;
    ContentNumbers { size_bytes, chunk_count, sample_digest: content.sample.digest() }
}

#[cfg(test)]
mod tests;
