//! The collector: the one place where outcomes become batches, and where they are remembered.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::UNIX_EPOCH;

use cognate_fingerprint::{Content, ContentDigest};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState};
use cognate_proto::limits::CONTENT_CHUNKS_MAX;
use cognate_proto::path::{DocumentPath, INSIDE};
use cognate_proto::v1::{ChunkTable, SkipReason, SyncSummary};

use super::{Counters, Finished, Found, Job, Outcome, Work};
use crate::board::UNREADABLE_MAX;
use crate::cache::{Cache, Change, Known, LastSync, Made, Piece};
use crate::census::Census;
use crate::document::{Chunks, Finding, Fingerprinted};
use crate::error::SyncError;
use crate::lists::{ListWriter, Location};
use crate::outbox::Outbox;
use crate::push::{Counts, Push};
use crate::refine::Chosen;
use crate::site::Site;
use crate::stamp::Stamp;
use crate::walk::Skipped;

/// How many paths are remembered at a time.
const REMEMBERED_AT_A_TIME: usize = 1024;

pub(super) struct Collector<'a> {
    site: &'a Site,
    job: &'a Job,
    cache: Option<&'a Cache>,
    chosen: Option<&'a Chosen>,
    counters: &'a Counters,
    /// Entries that earlier attempts came across.
    entries_before: u64,
    skipped: &'a Skipped,
    outbox: Outbox,
    push: Push,
    batch: BatchBuilder,
    batch_contents: Vec<Content>,
    batch_chunks: u64,
    uploads: u64,
    list_writer: ListWriter<'a>,
    /// Lists that were written in this sync, by what they are the list of.
    listed: HashMap<ContentDigest, Location>,
    /// List files of single documents that are referred to from now on.
    spools_kept: HashSet<u64>,
    remembered: Vec<Change>,
    /// Whether what is read is remembered: until that fails.
    remembers: bool,
    /// Folders that could not be listed: what lies below them is not gone.
    unlisted: Vec<DocumentPath>,
    /// Files that were come across and selected, whatever became of them.
    files: u64,
    unreadable: u64,
    unreadable_documents: Vec<(DocumentPath, DocumentState)>,
    /// Documents that a refinement chose and that are not what they were.
    outdated: u64,
    census: Census,
}

/// Why collecting stopped before its end.
pub(super) enum Stopped {
    Sync(SyncError),
    UnknownContents,
    /// A list that was remembered is damaged or gone: in this file.
    ListLost(u64),
}

impl From<SyncError> for Stopped {
    fn from(error: SyncError) -> Stopped {
        Stopped::Sync(error)
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        site: &'a Site,
        work: &Work<'a>,
        outbox: Outbox,
        push: Push,
        skipped: &'a Skipped,
    ) -> Collector<'a> {
        let sequence = outbox.sequence();
        Collector {
            site,
            job: work.job,
            cache: work.cache,
            chosen: work.chosen,
            counters: work.counters,
            entries_before: work.counters.entries_seen.load(Ordering::Relaxed),
            skipped,
            outbox,
            push,
            batch: BatchBuilder::default(),
            batch_contents: Vec::new(),
            batch_chunks: 0,
            // Not used before in this epoch, not even by a sync that was cut off.
            uploads: sequence << 20,
            list_writer: site.lists.writer(),
            listed: HashMap::new(),
            spools_kept: HashSet::new(),
            remembered: Vec::new(),
            remembers: true,
            unlisted: Vec::new(),
            files: 0,
            unreadable: 0,
            unreadable_documents: Vec::new(),
            outdated: 0,
            census: Census::default(),
        }
    }

    /// Takes outcomes until the readers are done.
    pub(super) fn collect_all(
        &mut self,
        outcomes: Receiver<io::Result<Vec<Outcome>>>,
        cancelled: &AtomicBool,
    ) -> Result<(), Stopped> {
        for handful in outcomes {
            if cancelled.load(Ordering::Relaxed) {
                return Err(SyncError::Cancelled.into());
            }
            for outcome in handful.map_err(|source| self.site.records(source))? {
                self.collect(outcome)?;
            }
            self.counters.sent_bytes.store(self.push.sent_bytes(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Removes what was not come across, sends the rest, and seals the index.
    pub(super) fn finish(mut self) -> Result<Finished, super::Attempt> {
        let result = self.seal();
        match result {
            Ok(finished) => Ok(finished),
            Err(Stopped::Sync(error)) => {
                self.keep_what_was_read();
                Err(super::Attempt::Failed(error))
            }
            Err(Stopped::UnknownContents) => Err(super::Attempt::UnknownContents(Box::new(self.into_outbox()))),
            Err(Stopped::ListLost(file)) => {
                self.push.close();
                Err(super::Attempt::ListLost(file))
            }
        }
    }

    /// Gives up the push.
    pub(super) fn close(self) {
        self.push.close();
    }

    /// Gives up the push, and hands the outbox back.
    pub(super) fn into_outbox(self) -> Outbox {
        self.push.close();
        self.outbox
    }

    /// Remembers what was read so far, though the sync has failed.
    pub(super) fn keep_what_was_read(&mut self) {
        if let Err(error) = self.remember() {
            tracing::warn!(%error, "what was read cannot be remembered; it will be read again");
        }
    }

    fn seal(&mut self) -> Result<Finished, Stopped> {
        let counters = self.counters;
        self.guard_root(counters)?;
        for path in self.outbox.unseen() {
            if self.is_gone(&path) {
                // One that a refinement leaves out may be there, and known for another method.
                if self.chosen.is_none() {
                    self.remembered.push(Change::forget(path.clone()));
                }
                self.send(DocumentRow::without_content(path, DocumentState::Removed))?;
            }
        }
        self.flush_batch()?;
        self.remember()?;
        let (sequence, root) = (self.outbox.sequence(), self.outbox.root());
        let sent_bytes = self.push.seal(sequence, root, self.job.method.canary(&self.site.config.key))?;
        counters.sent_bytes.store(sent_bytes, Ordering::Relaxed);
        self.outbox.finish_sync().map_err(|source| self.site.records(source))?;
        match (self.cache, self.chosen) {
            (Some(cache), None) => cache.finish_sync(&self.job.repository, Some(self.last_sync())),
            // How many documents the repository holds, only a sync of all of them can tell.
            (Some(cache), Some(_)) => cache.finish_sync(&self.job.repository, None),
            (None, _) => {}
        }
        let summary = SyncSummary {
            read_bytes: counters.read_bytes.load(Ordering::Relaxed),
            read_documents: counters.documents_read.load(Ordering::Relaxed),
            sent_bytes,
            skipped: Vec::new(),
            census: self.census.rows(),
            estimate: None,
            refined: self.chosen.map(|chosen| chosen.summary(self.outdated)),
        };
        Ok(Finished {
            summary,
            documents: self.outbox.documents(),
            unreadable: self.unreadable,
            unreadable_documents: std::mem::take(&mut self.unreadable_documents),
            bytes_per_second: None,
        })
    }

    fn last_sync(&self) -> LastSync {
        let now = (self.site.config.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        LastSync {
            documents: self.outbox.documents(),
            files: self.files,
            seconds: i64::try_from(now).unwrap_or(i64::MAX),
        }
    }

    /// A root without a single entry that held documents before is more likely not mounted than emptied.
    fn guard_root(&self, counters: &Counters) -> Result<(), SyncError> {
        let Some(cache) = self.cache else { return Ok(()) };
        let documents = cache.last_sync(&self.job.repository).documents;
        if self.chosen.is_some() {
            let held = std::fs::read_dir(&self.job.path).is_ok_and(|mut entries| entries.next().is_some());
            let empty = documents > 0 && !held;
            return if empty { Err(SyncError::RootGuard { path: self.job.path.clone(), documents }) } else { Ok(()) };
        }
        let reasons = [SkipReason::SystemFolder, SkipReason::NotSelected, SkipReason::Symlink, SkipReason::Special];
        let left_out: u64 = reasons.into_iter().map(|reason| self.skipped.of(reason)).sum();
        let entries = counters.entries_seen.load(Ordering::Relaxed) - self.entries_before;
        if documents > 0 && entries == 0 && left_out == 0 {
            return Err(SyncError::RootGuard { path: self.job.path.clone(), documents });
        }
        Ok(())
    }

    /// Whether a document that was not come across is gone, as far as this sync can tell.
    fn is_gone(&self, path: &DocumentPath) -> bool {
        let below = |folder: &DocumentPath| {
            let rest = path.as_bytes().strip_prefix(folder.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"/") || rest.starts_with(INSIDE.as_bytes()))
        };
        let file = if self.job.method.view().is_text() { path.file() } else { path.as_bytes() };
        self.job.selection.selects_path(file) && !self.unlisted.iter().any(below)
    }

    fn collect(&mut self, outcome: Outcome) -> Result<(), Stopped> {
        self.counters.documents_done.fetch_add(1, Ordering::Relaxed);
        let path = outcome.path;
        self.files += u64::from(!matches!(outcome.found, Found::NotSelected | Found::Outdated));
        match outcome.found {
            Found::NotSelected => {
                self.skipped.count(SkipReason::NotSelected);
                // A smaller version of it that stands in the index from before is gone.
                let selection = &self.job.selection;
                if self.outbox.size_of(&path).is_some_and(|size_bytes| !selection.selects_size(size_bytes)) {
                    self.outbox.leave(path);
                }
                Ok(())
            }
            Found::Outdated => {
                self.outdated += 1;
                Ok(())
            }
            Found::Failed(state) => {
                self.unlisted.push(path.clone());
                self.count_unreadable(&path, state);
                self.send_if_new(DocumentRow::without_content(path, state))
            }
            Found::Unchanged(known, made, inside) => {
                self.census.count(known.class, known.stamp.length_bytes);
                for (path, piece) in inside {
                    self.send_finding(path, finding_of(piece), known.stamp)?;
                }
                self.send_finding(path, finding_of(made.piece), known.stamp)
            }
            Found::Read(done, earlier) => self.collect_read(path, *done, earlier),
        }
    }

    /// What the site's policy lets others know of a document's time.
    fn told(&self, stamp: Stamp) -> i64 {
        self.site.config.policy.times.told(stamp.modified_seconds())
    }

    fn count_unreadable(&mut self, path: &DocumentPath, state: DocumentState) {
        self.unreadable += 1;
        if self.unreadable_documents.len() < UNREADABLE_MAX {
            self.unreadable_documents.push((path.clone(), state));
        }
    }

    fn collect_read(
        &mut self,
        path: DocumentPath,
        done: Fingerprinted,
        earlier: Option<Box<Known>>,
    ) -> Result<(), Stopped> {
        self.census.count(done.class, done.stamp.length_bytes);
        if self.cache.is_some() && self.remembers && done.settled {
            match self.change(path.clone(), &done, earlier) {
                Ok(change) => self.remembered.push(change),
                Err(error) => self.remember_no_more(&error),
            }
            if self.remembered.len() >= REMEMBERED_AT_A_TIME {
                self.remember()?;
            }
        }
        let seen = if done.changing { DocumentState::Changing } else { DocumentState::Read };
        let as_seen = |finding: Finding| match finding.state {
            DocumentState::Read => Finding { state: seen, ..finding },
            _ => finding,
        };
        for (path, finding) in done.inside {
            self.send_finding(path, as_seen(finding), done.stamp)?;
        }
        self.send_finding(path, as_seen(done.own), done.stamp)?;
        if let Some(file) = done.spooled.filter(|file| !self.spools_kept.contains(file)) {
            // Nothing refers to it any more; what is left of it would only take room.
            let _ = self.site.lists.delete(file);
        }
        Ok(())
    }

    /// What is to be known of a document from now on. Its lists are written.
    fn change(&mut self, path: DocumentPath, done: &Fingerprinted, earlier: Option<Box<Known>>) -> io::Result<Change> {
        let method_id = self.job.method_id;
        let own = self.piece(&done.own)?;
        let mut inside = Vec::with_capacity(done.inside.len());
        for (path, finding) in &done.inside {
            inside.push((path.clone(), self.piece(finding)?));
        }
        // What other methods made of it holds only for the bytes that the stamp stands for.
        let same = earlier.filter(|known| known.stamp == done.stamp);
        let bytes_digest = done.bytes_digest.or(same.as_ref().and_then(|known| known.bytes_digest));
        let mut made = same.map(|known| known.made).unwrap_or_default();
        made.retain(|made| made.method_id != method_id);
        let count = u32::try_from(inside.len()).map_err(|_| io::Error::other("too many documents inside of one"))?;
        made.push(Made { method_id, piece: own, inside: count });
        let known = Known { stamp: done.stamp, class: done.class, bytes_digest, hashes: done.hashes.clone(), made };
        Ok(Change { path, known: Some(known), inside: Some((method_id, inside)) })
    }

    fn piece(&mut self, finding: &Finding) -> io::Result<Piece> {
        let listed = match &finding.content {
            Some((content, chunks)) => Some((*content, self.list(content, chunks)?)),
            None => None,
        };
        Ok(Piece { state: finding.state, listed, message_id_hash: finding.message_id_hash })
    }

    /// Where the list lies that will be remembered; it is written unless it was before.
    fn list(&mut self, content: &Content, chunks: &Chunks) -> io::Result<Location> {
        if let Some(location) = self.listed.get(&content.digest) {
            return Ok(*location);
        }
        let location = match chunks {
            Chunks::Listed(location) => {
                self.spools_kept.insert(location.file);
                *location
            }
            Chunks::Held(table) => self.list_writer.append(table)?,
        };
        self.listed.insert(content.digest, location);
        Ok(location)
    }

    /// A disk that takes no more costs reading again, not the sync: what is not remembered yet is not.
    fn remember_no_more(&mut self, error: &io::Error) {
        tracing::warn!(%error, "what is read cannot be remembered; it will be read again at the next sync");
        self.remembers = false;
        self.remembered.retain(|change| change.known.is_none());
    }

    /// Lists first, then the rows that point to them.
    fn remember(&mut self) -> Result<(), SyncError> {
        if let Err(error) = self.list_writer.flush() {
            self.remember_no_more(&error);
        }
        if let Some(cache) = self.cache {
            crate::failpoint!("worker.cache_write");
            cache.apply(&self.job.repository, &self.remembered);
        }
        self.remembered.clear();
        Ok(())
    }

    fn send_finding(&mut self, path: DocumentPath, finding: Finding, stamp: Stamp) -> Result<(), Stopped> {
        let Finding { state, content, message_id_hash } = finding;
        let Some((content, chunks)) = content else {
            if !matches!(state, DocumentState::NoText | DocumentState::Container) {
                self.count_unreadable(&path, state);
            }
            return self.send_if_new(DocumentRow { message_id_hash, ..DocumentRow::without_content(path, state) });
        };
        let modified = self.told(stamp);
        let row = DocumentRow { path, state, content: Some(content.digest), modified, message_id_hash };
        self.send_read(row, content, chunks)
    }

    fn send_read(&mut self, row: DocumentRow, content: Content, chunks: Chunks) -> Result<(), Stopped> {
        if self.outbox.has_document(&row) {
            return Ok(());
        }
        if !self.outbox.has_content(&content.digest) {
            self.send_content(&content, chunks)?;
        }
        self.send(row)
    }

    fn send_if_new(&mut self, row: DocumentRow) -> Result<(), Stopped> {
        if self.outbox.has_document(&row) {
            return Ok(());
        }
        self.send(row)
    }

    fn send_content(&mut self, content: &Content, chunks: Chunks) -> Result<(), Stopped> {
        self.batch_chunks += if content.chunk_count <= CONTENT_CHUNKS_MAX as u64 { content.chunk_count } else { 0 };
        match chunks {
            Chunks::Held(table) => self.batch.content(content, &table),
            Chunks::Listed(location) if content.chunk_count <= CONTENT_CHUNKS_MAX as u64 => {
                let mut whole = ChunkTable::default();
                self.read_list(location, |_, table| {
                    whole.append(&table);
                    Ok(())
                })?;
                self.batch.content(content, &whole);
            }
            Chunks::Listed(location) => {
                self.uploads += 1;
                let upload = self.uploads;
                self.read_list(location, |collector, table| {
                    collector.batch_chunks += table.rows() as u64;
                    collector.batch.part(upload, table, None);
                    collector.flush_if_full()
                })?;
                self.batch.part(upload, ChunkTable::default(), Some(content));
            }
        }
        self.outbox.add_content(content);
        self.batch_contents.push(*content);
        Ok(())
    }

    /// Reads a list piece by piece. The pieces are collected by the lists' own reader; what the coordinator says to them
    /// must not be mistaken for damage, so it is kept apart.
    fn read_list(
        &mut self,
        location: Location,
        mut each: impl FnMut(&mut Self, ChunkTable) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let site = self.site;
        let mut stopped = None;
        let read = site.lists.read(location, |table| {
            each(self, table).map_err(|reason| {
                stopped = Some(reason);
                io::Error::other("stopped")
            })
        });
        match (stopped, read) {
            (Some(reason), _) => Err(reason),
            (None, Err(error)) => {
                tracing::warn!(%error, file = location.file, "a list is damaged or gone: its documents are read again");
                Err(Stopped::ListLost(location.file))
            }
            (None, Ok(())) => Ok(()),
        }
    }

    fn send(&mut self, row: DocumentRow) -> Result<(), Stopped> {
        self.outbox.add_document(&row);
        self.batch.document(row);
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<(), Stopped> {
        if self.batch.is_full() { self.flush_batch() } else { Ok(()) }
    }

    fn flush_batch(&mut self) -> Result<(), Stopped> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (body, documents) = self.batch.finish();
        let contents = std::mem::take(&mut self.batch_contents);
        let sequence = self.outbox.log_batch(&documents, &contents).map_err(|source| self.site.records(source))?;
        let counts = Counts {
            documents: documents.len() as u64,
            contents: contents.len() as u64,
            chunks: std::mem::take(&mut self.batch_chunks),
        };
        Ok(self.push.batch(sequence, body, counts)?)
    }
}

fn finding_of(piece: Piece) -> Finding {
    let content = piece.listed.map(|(content, location)| (content, Chunks::Listed(location)));
    Finding { state: piece.state, content, message_id_hash: piece.message_id_hash }
}
