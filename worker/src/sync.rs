//! One sync: bring the coordinator's index of one repository under one method up to date.
//!
//! Walk, readers and collector work side by side, joined by bounded channels. The walk names documents; each reader asks
//! the cache, and reads what is new; the collector, alone, compares with what the coordinator has, fills batches, and
//! remembers. What was there and was not come across is removed at the end, and the index is sealed with its root.

mod collect;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::batch::DocumentState;
use cognate_proto::file_hash::HashKinds;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::scope::{Announced, Scope, ScopeId};
use cognate_proto::selection::Selection;
use cognate_proto::v1::{OpenIndex, SkipReason, SkippedCount, SyncSummary};

use crate::cache::{Cache, Known, Made, Piece};
use crate::document::{Fingerprinted, Reader, Reading, Sight};
use crate::error::SyncError;
use crate::outbox::Outbox;
use crate::push::{Link, Push, PushError};
use crate::refine::{Chosen, keep_few_logs};
use crate::root::{Root, state_of};
use crate::site::Site;
use crate::stamp::Stamp;
use crate::walk::{Entry, Skipped, walk};

/// How many entries go from hand to hand at a time: fewer would cost more in waking than in reading.
const ENTRIES_AT_A_TIME: usize = 32;
/// How many such handfuls may wait between two stages.
const HANDFULS_WAITING: usize = 16;

/// What a sync has done so far; shared with whoever shows it.
#[derive(Default, Debug)]
pub struct Counters {
    /// Files and folders that the walk has come across.
    pub entries_seen: AtomicU64,
    /// Documents that are dealt with.
    pub documents_done: AtomicU64,
    /// Documents that were read.
    pub documents_read: AtomicU64,
    /// Bytes that were read.
    pub read_bytes: AtomicU64,
    /// Bytes of messages that were sent.
    pub sent_bytes: AtomicU64,
    /// The walk is at its end: `entries_seen` will not grow any more.
    pub walk_finished: AtomicBool,
}

/// What is to be synced, checked.
pub(crate) struct Job {
    pub(crate) assignment: u64,
    pub(crate) repository: RepositoryName,
    pub(crate) path: PathBuf,
    pub(crate) method: Method,
    pub(crate) method_id: MethodId,
    pub(crate) selection: Arc<Selection>,
    pub(crate) follow_symlinks: bool,
    /// Only documents with contents that are chosen; `None`: all.
    pub(crate) refinement: Option<Announced>,
}

impl Job {
    /// Which contents its index is about; `None`: all of the repository.
    pub(crate) fn scope(&self) -> Option<ScopeId> {
        self.refinement.map(|refinement| refinement.id)
    }
}

/// What a sync came to.
pub(crate) struct Finished {
    pub(crate) summary: SyncSummary,
    /// How many documents the index holds.
    pub(crate) documents: u64,
    /// How many could not be read, and the first of them.
    pub(crate) unreadable: u64,
    pub(crate) unreadable_documents: Vec<(DocumentPath, DocumentState)>,
    /// How fast documents were read, where enough were.
    pub(crate) bytes_per_second: Option<u64>,
}

/// What one sync works with.
struct Work<'a> {
    job: &'a Job,
    root: &'a Root,
    /// Which documents it is about; `None`: what the walk comes across.
    chosen: Option<&'a Chosen>,
    cache: Option<&'a Cache>,
    counters: &'a Counters,
    cancelled: &'a AtomicBool,
}

/// A document with what the readers found out about it.
struct Outcome {
    path: DocumentPath,
    found: Found,
}

enum Found {
    /// Its stamp is the one that is remembered, and this method has been over it: what it made of the document, and of what
    /// is inside of it.
    Unchanged(Box<Known>, Box<Made>, Vec<(DocumentPath, Piece)>),
    /// It was read. What other methods made of the same bytes before stands beside it.
    Read(Box<Fingerprinted>, Option<Box<Known>>),
    /// It cannot be read.
    Failed(DocumentState),
    /// It is larger than what the scan is about.
    NotSelected,
    /// A refinement chose what it was before.
    Outdated,
}

impl Site {
    /// Carries a job out, over the contents of a scope where it refines. Blocks; an index that the coordinator has lost is
    /// begun anew, once.
    pub(crate) fn sync(
        &self,
        job: &Job,
        scope: Option<Scope>,
        link: &Link,
        counters: &Counters,
    ) -> Result<Finished, SyncError> {
        let root = Root::open(&job.path, job.follow_symlinks)
            .map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
        let cache = self.cache()?;
        let chosen = scope.map(|scope| self.chosen(job, scope)).transpose()?;
        let (chosen, cache_used) = (chosen.as_ref(), cache.as_deref());
        let work = Work { job, root: &root, chosen, cache: cache_used, counters, cancelled: &link.cancelled };
        let began = Instant::now();
        let mut finished = self.sync_with(&work, link)?;
        finished.bytes_per_second = speed(finished.summary.read_bytes, began.elapsed());
        if let Some(cache) = &cache
            && let Err(error) = crate::compaction::compact(cache, &self.lists)
        {
            tracing::warn!(%error, "lists that nothing refers to any more could not be removed");
        }
        if job.method.view().is_text() {
            self.children.rest();
            let trimmed = cache.as_deref().map_or(Ok(()), |cache| self.texts.trim(cache));
            if let Err(error) = trimmed {
                tracing::warn!(%error, "kept text could not be trimmed");
            }
        }
        Ok(finished)
    }

    fn sync_with(&self, work: &Work<'_>, link: &Link) -> Result<Finished, SyncError> {
        let job = work.job;
        let mut outbox = self.outbox(job)?;
        let mut begun_anew = false;
        loop {
            let Some(push) = self.opened_push(job, link, &mut outbox)? else { return Err(SyncError::Disagreement) };
            match self.attempt(work, outbox, push) {
                Err(Attempt::UnknownContents(_)) if begun_anew => return Err(SyncError::Disagreement),
                Err(Attempt::UnknownContents(returned)) => {
                    begun_anew = true;
                    outbox = *returned;
                    outbox.restart(fresh_epoch()).map_err(|source| self.records(source))?;
                }
                // Each file is lost once: there is an end to this.
                Err(Attempt::ListLost(file)) if self.lost_lists().insert(file) => outbox = self.outbox(job)?,
                Err(Attempt::ListLost(_)) => return Err(SyncError::Disagreement),
                Err(Attempt::Failed(error)) => return Err(error),
                Ok(finished) => return Ok(finished),
            }
        }
    }

    /// Opens the index at the coordinator, and begins it anew where the two sides do not hold the same.
    fn opened_push(&self, job: &Job, link: &Link, outbox: &mut Outbox) -> Result<Option<Push>, SyncError> {
        for _ in 0..2 {
            let open = OpenIndex {
                assignment: job.assignment,
                repository: job.repository.to_string(),
                method_id: job.method_id.0.to_vec(),
                epoch: outbox.epoch(),
                scope: job.scope().map(|scope| scope.0.to_vec()).unwrap_or_default(),
            };
            let (push, opened) = Push::open(link, open)?;
            let agreed = outbox.resume(opened.committed_sequence, opened.root);
            if agreed.map_err(|source| self.records(source))? {
                return Ok(Some(push));
            }
            tracing::info!(repository = %job.repository, "the coordinator holds another state of the index: beginning anew");
            push.close();
            outbox.restart(fresh_epoch()).map_err(|source| self.records(source))?;
        }
        Ok(None)
    }

    fn attempt(&self, work: &Work<'_>, outbox: Outbox, push: Push) -> Result<Finished, Attempt> {
        let Work { job, root, chosen, counters, cancelled, .. } = *work;
        let skipped = Arc::new(Skipped::default());
        let mut collector = collect::Collector::new(self, work, outbox, push, &skipped);
        let collected = std::thread::scope(|scope| {
            let (entries_to, entries) = sync_channel(HANDFULS_WAITING);
            let (outcomes_to, outcomes) = sync_channel(HANDFULS_WAITING);
            let walker = {
                let (selection, skipped) = (&job.selection, &skipped);
                scope.spawn(move || {
                    let walked = hand_over(entries_to, cancelled, |each| match chosen {
                        None => walk(root, selection, job.follow_symlinks, skipped, each),
                        Some(chosen) => {
                            let _ = chosen.documents(selection).all(|path| each(Entry::Document(path.clone())));
                            Ok(())
                        }
                    });
                    counters.walk_finished.store(true, Ordering::Relaxed);
                    walked
                })
            };
            let entries = Arc::new(Mutex::new(entries));
            for _ in 0..self.config.threads.get() {
                let (entries, outcomes_to) = (Arc::clone(&entries), outcomes_to.clone());
                scope.spawn(move || self.read_entries(work, &entries, &outcomes_to));
            }
            // The readers' ends must be the only ones, or a stage would wait for what never comes.
            drop((entries, outcomes_to));
            let collected = collector.collect_all(outcomes, cancelled);
            let walked = walker.join().expect("the walk does not panic");
            collected?;
            walked.map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
            Ok(())
        });
        match collected {
            Ok(()) if cancelled.load(Ordering::Relaxed) => {
                collector.keep_what_was_read();
                Err(Attempt::Failed(SyncError::Cancelled))
            }
            Ok(()) => {
                let mut finished = collector.finish()?;
                finished.summary.skipped = skipped_counts(&skipped);
                Ok(finished)
            }
            Err(collect::Stopped::Sync(error)) => {
                // What was read until now need not be read again.
                collector.keep_what_was_read();
                Err(Attempt::Failed(error))
            }
            Err(collect::Stopped::UnknownContents) => Err(Attempt::UnknownContents(Box::new(collector.into_outbox()))),
            Err(collect::Stopped::ListLost(file)) => {
                collector.close();
                Err(Attempt::ListLost(file))
            }
        }
    }

    /// A reader: takes handfuls of entries until there are no more.
    fn read_entries(
        &self,
        work: &Work<'_>,
        entries: &Mutex<Receiver<Vec<Entry>>>,
        outcomes: &SyncSender<io::Result<Vec<Outcome>>>,
    ) {
        let Work { job, root, counters, cancelled, .. } = *work;
        let sight = match self.sight(work) {
            Ok(sight) => sight,
            Err(error) => {
                // Whoever collects ends the sync with it; where nobody does any more, it has ended.
                let _ = outcomes.send(Err(error));
                return;
            }
        };
        let mut reader = Reader {
            root,
            lists: &self.lists,
            selection: &job.selection,
            fingerprinter: job.method.fingerprinter(&self.config.key),
            view: job.method.view(),
            sight,
            hashes: if work.cache.is_some() { self.config.policy.file_hashes } else { HashKinds::NONE },
            clock: self.config.clock,
            pace: &self.pace,
            cancelled,
        };
        loop {
            let Ok(handful) = entries.lock().expect("readers do not panic").recv() else { return };
            counters.entries_seen.fetch_add(handful.len() as u64, Ordering::Relaxed);
            let read: io::Result<Vec<Outcome>> = handful
                .into_iter()
                .map(|entry| match entry {
                    Entry::Unreadable(path, state) => Ok(Outcome { path, found: Found::Failed(state) }),
                    Entry::Document(path) => {
                        let found = self.look_at(work, &mut reader, &path)?;
                        Ok(Outcome { path, found })
                    }
                })
                .collect();
            let failed = read.is_err();
            if outcomes.send(read).is_err() || failed {
                return;
            }
        }
    }

    /// How a reader comes by text, where the job's view is of text.
    fn sight<'a>(&'a self, work: &Work<'a>) -> io::Result<Option<Sight<'a>>> {
        if !work.job.method.view().is_text() {
            return Ok(None);
        }
        let started = |error| io::Error::other(format!("no process can be started that reads documents: {error}"));
        Ok(Some(Sight {
            pool: self.children.pool().map_err(started)?,
            kept: work.cache.map(|cache| (cache, self.texts.writer())),
            message_id_hashes: self.config.policy.message_id_hashes,
        }))
    }

    /// Asks the cache, and reads the document where it cannot answer.
    fn look_at(&self, work: &Work<'_>, reader: &mut Reader<'_>, path: &DocumentPath) -> io::Result<Found> {
        let Work { job, counters, .. } = *work;
        let mut earlier = None;
        if let Some(cache) = work.cache {
            let stamp = match reader.root.stat(path).map_err(|error| state_of(&error)) {
                Ok(stat) => Stamp::of(&stat),
                Err(DocumentState::Vanished) if work.chosen.is_some() => return Ok(Found::Outdated),
                Err(state) => return Ok(Found::Failed(state)),
            };
            earlier = cache.get(&job.repository, path).filter(|known| known.stamp == stamp).map(Box::new);
            let is_chosen = |chosen: &Chosen| {
                earlier
                    .as_ref()
                    .is_some_and(|known| chosen.holds(known, &stamp, |made| cache.inside(&job.repository, path, made)))
            };
            if !work.chosen.is_none_or(is_chosen) {
                return Ok(Found::Outdated);
            }
            if let Some(known) = &earlier
                && known.hashes.kinds().contains_all(self.config.policy.file_hashes)
                && let Some(made) = known.made.iter().find(|made| made.method_id == job.method_id)
                && let Some(inside) = cache.inside(&job.repository, path, made)
                && !self.is_any_lost(inside.iter().map(|(_, piece)| piece).chain([&made.piece]))
            {
                if !job.selection.selects_size(stamp.length_bytes) {
                    return Ok(Found::NotSelected);
                }
                let made = Box::new(made.clone());
                return Ok(Found::Unchanged(earlier.expect("known"), made, inside));
            }
        }
        Ok(match reader.read(path, earlier.as_deref())? {
            Reading::Failed(state) => Found::Failed(state),
            Reading::NotSelected => Found::NotSelected,
            Reading::Done(done) => {
                counters.read_bytes.fetch_add(done.read_bytes, Ordering::Relaxed);
                counters.documents_read.fetch_add(1, Ordering::Relaxed);
                let held_still = !done.changing && earlier.as_ref().is_some_and(|known| known.stamp == done.stamp);
                if work.chosen.is_some() && !held_still {
                    reader.discard(&done)?;
                    return Ok(Found::Outdated);
                }
                Found::Read(done, earlier)
            }
        })
    }

    /// Whether the list of any piece lies in a file that could not be read.
    fn is_any_lost<'p>(&self, mut pieces: impl Iterator<Item = &'p Piece>) -> bool {
        let lost = self.lost_lists();
        !lost.is_empty() && pieces.any(|piece| piece.listed.is_some_and(|(_, location)| lost.contains(&location.file)))
    }

    fn outbox(&self, job: &Job) -> Result<Outbox, SyncError> {
        let epoch = fresh_epoch();
        if !self.config.remember {
            return Ok(Outbox::ephemeral(epoch));
        }
        let log = self.outbox_path(&job.repository, job.method_id, job.scope());
        if job.refinement.is_some() {
            keep_few_logs(&log).map_err(|source| self.records(source))?;
        }
        Outbox::open(&log, epoch).map_err(|source| self.records(source))
    }
}

/// How an attempt ended that did not succeed.
enum Attempt {
    /// For good.
    Failed(SyncError),
    /// The coordinator lost contents that it had: the index must be begun anew.
    UnknownContents(Box<Outbox>),
    /// A list that was remembered cannot be read: its documents must be read again.
    ListLost(u64),
}

impl From<SyncError> for Attempt {
    fn from(error: SyncError) -> Attempt {
        Attempt::Failed(error)
    }
}

/// Hands entries over in handfuls, until nobody takes them any more.
fn hand_over(
    entries: SyncSender<Vec<Entry>>,
    cancelled: &AtomicBool,
    walk: impl FnOnce(&mut dyn FnMut(Entry) -> bool) -> io::Result<()>,
) -> io::Result<()> {
    let mut handful = Vec::with_capacity(ENTRIES_AT_A_TIME);
    walk(&mut |entry| {
        handful.push(entry);
        if handful.len() < ENTRIES_AT_A_TIME {
            return true;
        }
        let full = std::mem::replace(&mut handful, Vec::with_capacity(ENTRIES_AT_A_TIME));
        entries.send(full).is_ok() && !cancelled.load(Ordering::Relaxed)
    })?;
    // Nobody being left to take the last ones means that the sync has ended for another reason.
    let _ = entries.send(handful);
    Ok(())
}

fn skipped_counts(skipped: &Skipped) -> Vec<SkippedCount> {
    let reasons = [
        SkipReason::SystemFolder,
        SkipReason::NotSelected,
        SkipReason::Symlink,
        SkipReason::Special,
        SkipReason::OtherFileSystem,
    ];
    let count = |reason: SkipReason| SkippedCount { reason: reason.into(), entries: skipped.of(reason) };
    reasons.into_iter().map(count).filter(|count| count.entries > 0).collect()
}

/// An epoch that no index has had before.
pub(crate) fn fresh_epoch() -> u64 {
    // Without random numbers from the system nothing here is safe to go on with.
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u64::from_le_bytes(bytes).max(1)
}

impl From<PushError> for collect::Stopped {
    fn from(error: PushError) -> collect::Stopped {
        match error {
            PushError::Status(status) => collect::Stopped::Sync(status.into()),
            PushError::UnknownContents => collect::Stopped::UnknownContents,
            other => collect::Stopped::Sync(other.into()),
        }
    }
}

impl From<PushError> for SyncError {
    fn from(error: PushError) -> SyncError {
        match error {
            PushError::Status(status) => status.into(),
            PushError::UnknownContents => SyncError::Violation("it misses contents before it was told of any".into()),
            PushError::Violation(what) => SyncError::Violation(what),
            PushError::Ledger(error) => error.into(),
            PushError::Cancelled => SyncError::Cancelled,
        }
    }
}

/// Bytes a second, where enough were read for that to say something.
fn speed(read_bytes: u64, took: Duration) -> Option<u64> {
    const BYTES_LEAST: u64 = 4 << 20;
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    (read_bytes >= BYTES_LEAST).then(|| read_bytes.saturating_mul(1000) / took_ms)
}
