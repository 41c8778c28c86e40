//! The collector of a sync: the only place where outcomes become rows of the index and are remembered.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cognate_fingerprint::{Content, View};
use cognate_proto::batch::{DocumentRow, DocumentState};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::{FileClass, SkipReason, SyncSummary};
use cognate_view::Candidate;

use super::in_flight::InsideInFlight;
use super::index_sender::IndexSender;
use super::inside_share::{Decision, INSIDE_SENT_AT_ONCE_MAX, InsideShare, WaitingFile};
use super::job::{SyncOutcome, UNREADABLE_MAX};
use super::memory::Memory;
use super::office::OfficeList;
use super::read_outcome::{DocumentResult, Outcome, StoredDocument};
use super::read_stage::SyncContext;
use super::stopped::Stopped;
use crate::documents::file_class::ClassCounts;
use crate::documents::outcome::{Fingerprinted, PartOutcome};
use crate::documents::walk::Skipped;
use crate::error::SyncError;
use crate::plan::{RemovalRules, RootChange, RootDoubt};
use crate::policy::Times;
use crate::records::cache::known::{KnownDocument, LastSync};
use crate::records::sent_state::SentState;
use crate::records::stamp::Stamp;
use crate::records::store::Held;
use crate::sending::push::{InsideMax, Push};

/// A wait for the readers after which what they have read is remembered. One large document may take them hours, and a process that is
/// killed in that time begins with this document and not with those before it.
const REMEMBER_AFTER: Duration = Duration::from_secs(1);

/// Paths that are removed from the index at a time.
const REMOVED_AT_A_TIME: usize = 1 << 16;

/// A push whose index both ends hold in the same state.
pub(super) struct OpenPush {
    pub(super) push: Push,
    /// The documents inside of other documents that the coordinator takes.
    pub(super) inside_max: InsideMax,
}

/// The index that an attempt brings up to date.
pub(super) struct Upload {
    pub(super) sent: SentState,
    pub(super) push: OpenPush,
}

/// Names beyond the first of each file.
#[derive(Default)]
struct HardLinks {
    /// Files with several names, each counted once so far.
    seen: HashSet<Stamp>,
    documents: u64,
    bytes: u64,
}

impl HardLinks {
    /// Counts a name of a file that has several.
    fn count(&mut self, stamp: Stamp, size_bytes: u64) {
        if !self.seen.insert(stamp) {
            self.documents += 1;
            self.bytes += size_bytes;
        }
    }
}

/// The collector of one attempt.
pub(super) struct Collector<'a> {
    context: SyncContext<'a>,
    /// The precision of the times that are sent.
    times: Times,
    canary: [u8; 16],
    /// Entries that earlier attempts have counted.
    entries_before: u64,
    skipped: &'a Skipped,
    sender: IndexSender<'a>,
    memory: Memory<'a>,
    share: InsideShare,
    /// Files and folders that could not be read.
    failed: HashSet<DocumentPath>,
    /// Files that the walk saw and that are not selected.
    unselected: HashSet<DocumentPath>,
    /// Number of selected files of the walk, whatever their outcome.
    files: u64,
    unreadable: u64,
    unreadable_documents: Vec<(DocumentPath, DocumentState)>,
    /// Number of documents that are not what a refinement chose.
    outdated: u64,
    classes: ClassCounts,
    hard_links: HardLinks,
    /// The office files of a sync of bytes.
    office: Option<OfficeList>,
    /// The documents are those that another sync has listed, and there was no walk.
    is_listed: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        context: SyncContext<'a>,
        (times, canary): (Times, [u8; 16]),
        Upload { sent, push: OpenPush { push, inside_max } }: Upload,
        skipped: &'a Skipped,
    ) -> Collector<'a> {
        let SyncContext { job, records, cache, counters, recognition, .. } = context;
        Collector {
            context,
            times,
            canary,
            entries_before: counters.entries_seen.load(Ordering::Relaxed),
            skipped,
            sender: IndexSender::new(records, sent, push),
            memory: Memory::new(cache, &records.lists, &job.repository, (job.method_id, recognition.id)),
            share: InsideShare::new(inside_max),
            failed: HashSet::new(),
            unselected: HashSet::new(),
            files: 0,
            unreadable: 0,
            unreadable_documents: Vec::new(),
            outdated: 0,
            classes: ClassCounts::default(),
            hard_links: HardLinks::default(),
            office: OfficeList::of(job),
            is_listed: false,
        }
    }

    /// The documents are those that another sync has listed.
    pub(super) fn set_listed(&mut self, is_listed: bool) {
        self.is_listed = is_listed;
    }

    /// Takes outcomes until the readers have finished.
    pub(super) fn collect_all(
        &mut self,
        outcomes: Receiver<io::Result<Vec<Outcome>>>,
        in_flight: &InsideInFlight,
    ) -> Result<(), Stopped> {
        let SyncContext { records, counters, cancelled, .. } = self.context;
        let _arrival = in_flight.arrival();
        loop {
            let group = match outcomes.recv_timeout(REMEMBER_AFTER) {
                Ok(group) => group,
                Err(RecvTimeoutError::Timeout) => {
                    self.memory.flush_unwritten();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if cancelled.load(Ordering::Relaxed) {
                return Err(SyncError::Cancelled.into());
            }
            for outcome in group.map_err(|source| records.failure(source))? {
                let inside = outcome.inside();
                self.collect(outcome)?;
                in_flight.leave(inside);
            }
            counters.sent_bytes.store(self.sender.sent_bytes(), Ordering::Relaxed);
        }
    }

    /// Removes what is gone, sends the last batch, and seals the index.
    pub(super) fn finish(&mut self, now: SystemTime) -> Result<SyncOutcome, Stopped> {
        self.send_waiting()?;
        self.check_root()?;
        self.remove_gone()?;
        self.sender.flush()?;
        self.memory.flush();
        let sent_bytes = self.sender.seal(self.canary)?;
        let SyncContext { job, records, .. } = self.context;
        if job.method.capabilities().fine {
            let held = Held { files: self.sender.take_files(), lists: self.memory.take_held() };
            records.hold(&job.repository, job.method_id, held);
        }
        self.context.counters.sent_bytes.store(sent_bytes, Ordering::Relaxed);
        if let Some(list) = self.office.take() {
            self.context.office.keep(&job.repository, list);
        }
        // Only a sync of the complete repository counts all of its documents.
        let is_complete = self.context.chosen.is_none() && job.method.view() != View::Office;
        self.memory.finish(is_complete.then(|| self.last_sync(now)));
        Ok(self.outcome(sent_bytes))
    }

    /// Ends the attempt without a seal, and returns the sent state.
    pub(super) fn close(self) -> SentState {
        self.sender.close()
    }

    /// Remembers what was read by an attempt that has failed, so that it is not read again.
    pub(super) fn remember_read(&mut self) {
        self.memory.flush();
    }

    /// Fails if the root is more likely not mounted than emptied.
    fn check_root(&self) -> Result<(), SyncError> {
        let SyncContext { job, root, cache, chosen, counters, .. } = self.context;
        // The sync that listed the documents has checked the root.
        let Some(cache) = cache.filter(|_| !self.is_listed) else { return Ok(()) };
        let last = cache.last_sync(&job.repository);
        let identity = root.identity().map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
        let is_other_folder = last != LastSync::default() && last.root != identity;
        let unseen = RootChange { documents_before: last.documents, entries: 0, gone: 0, there: 0, is_other_folder };
        let change = if chosen.is_some() {
            // A refinement does not walk.
            let has_entry = std::fs::read_dir(&job.path).is_ok_and(|mut entries| entries.next().is_some());
            RootChange { entries: u64::from(has_entry), ..unseen }
        } else {
            let reasons = [SkipReason::SystemFolder, SkipReason::NotSelected, SkipReason::Symlink, SkipReason::Special];
            let skipped: u64 = reasons.into_iter().map(|reason| self.skipped.of(reason)).sum();
            let entries = counters.entries_seen.load(Ordering::Relaxed) - self.entries_before + skipped;
            let gone = self.gone_files();
            let there = self.files + self.unselected.len() as u64;
            // An index that begins knows of no file. Another folder with fewer files than the last one is asked about too.
            let is_all = self.skipped.of(SkipReason::NotSelected) == 0;
            let missing = if is_other_folder && is_all { last.files.saturating_sub(there) } else { 0 };
            RootChange { entries, gone: gone.max(missing), there, ..unseen }
        };
        match change.doubt() {
            Some(RootDoubt::Empty) => {
                Err(SyncError::RootEmpty { path: job.path.clone(), documents: change.documents_before })
            }
            Some(RootDoubt::Shrunk) if !job.accepts_removals => Err(SyncError::RootShrunk {
                repository: job.repository.clone(),
                path: job.path.clone(),
                gone: change.gone,
                there: change.there,
                is_other_folder,
            }),
            Some(RootDoubt::Shrunk) | None => Ok(()),
        }
    }

    /// The documents of the index that are gone, ascending.
    fn gone(&self) -> impl Iterator<Item = DocumentPath> {
        let rules = self.removal_rules();
        self.sender.sent().unseen().filter(move |path| rules.is_removed(path))
    }

    /// The number of files that are gone. What the selection leaves out is there, and what is inside of a file is gone with it.
    fn gone_files(&self) -> u64 {
        self.gone().filter(|path| !self.is_inside(path) && !self.unselected.contains(path)).count() as u64
    }

    /// True for a document inside of one that the index has: the path alone may be one below a folder whose name ends with `!`. The
    /// row of a file is sent before those of the documents inside, and removed after them, wherever a sync may have ended.
    fn is_inside(&self, path: &DocumentPath) -> bool {
        DocumentPath::new(path.file()).is_ok_and(|file| file != *path && self.sender.sent().contains(&file))
    }

    /// Removes what is gone, some thousands of documents at a time: first those inside of others, then the rest.
    fn remove_gone(&mut self) -> Result<(), Stopped> {
        for inside in [true, false] {
            let mut last: Option<DocumentPath> = None;
            loop {
                let is_next = |path: &DocumentPath| {
                    (path.file() != path.as_bytes()) == inside && last.as_ref().is_none_or(|last| path > last)
                };
                let gone: Vec<DocumentPath> = self.gone().filter(is_next).take(REMOVED_AT_A_TIME).collect();
                last = gone.last().cloned();
                let is_all = gone.len() < REMOVED_AT_A_TIME;
                self.remove(gone)?;
                if is_all {
                    break;
                }
            }
        }
        Ok(())
    }

    fn remove(&mut self, gone: Vec<DocumentPath>) -> Result<(), Stopped> {
        for path in gone {
            // A document that the selection or a refinement leaves out exists, and what is remembered of it saves the next
            // scan from reading it. What is inside of a document is remembered with it.
            if self.context.chosen.is_none() && !self.unselected.contains(&path) {
                self.memory.forget(path.clone());
            }
            self.sender.remove(path)?;
        }
        Ok(())
    }

    fn removal_rules(&self) -> RemovalRules<'_> {
        let job = self.context.job;
        RemovalRules { selection: &job.selection, is_text: job.method.view().is_text(), unreadable: &self.failed }
    }

    fn outcome(&mut self, sent_bytes: u64) -> SyncOutcome {
        let SyncContext { counters, chosen, .. } = self.context;
        let summary = SyncSummary {
            read_bytes: counters.read_bytes.load(Ordering::Relaxed),
            read_documents: counters.documents_read.load(Ordering::Relaxed),
            sent_bytes,
            skipped: Vec::new(),
            census: self.classes.rows(),
            estimate: None,
            refined: chosen.map(|chosen| chosen.summary(self.outdated)),
            recognition: String::new(),
            hard_links: self.hard_links.documents,
            hard_link_bytes: self.hard_links.bytes,
        };
        SyncOutcome {
            summary,
            documents: self.sender.sent().documents(),
            unreadable: self.unreadable,
            unreadable_documents: std::mem::take(&mut self.unreadable_documents),
            bytes_per_second: None,
        }
    }

    fn last_sync(&self, now: SystemTime) -> LastSync {
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        LastSync {
            documents: self.sender.sent().documents(),
            files: self.files,
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
            // Without an identity the next root counts as another one, which asks sooner.
            root: self.context.root.identity().unwrap_or_default(),
        }
    }

    fn collect(&mut self, Outcome { path, result }: Outcome) -> Result<(), Stopped> {
        self.context.counters.documents_done.fetch_add(1, Ordering::Relaxed);
        self.files += u64::from(!matches!(result, DocumentResult::NotSelected | DocumentResult::Outdated));
        match result {
            DocumentResult::NotSelected => {
                self.collect_unselected(&path);
                Ok(())
            }
            DocumentResult::Outdated => {
                self.outdated += 1;
                Ok(())
            }
            DocumentResult::Failed(state) => {
                self.failed.insert(path.clone());
                if let Some(list) = &mut self.office {
                    list.add_unreadable(&path, state);
                }
                self.count_unreadable(&path, state);
                self.sender.send(DocumentRow::without_content(path, state), None)
            }
            DocumentResult::Unchanged(stored) => self.collect_stored(path, *stored),
            DocumentResult::Read(done, earlier) => self.collect_read(path, done, earlier.map(|known| *known)),
        }
    }

    /// Counts a file, whose content is what is compared of it.
    fn count_file(&mut self, class: FileClass, stamp: Stamp, content: Option<&Content>) {
        self.classes.count(class, stamp.length_bytes);
        if let Some(content) = content.filter(|_| self.context.root.has_several_names(stamp.inode)) {
            let is_text = self.context.job.method.view().is_text();
            self.hard_links.count(stamp, if is_text { stamp.length_bytes } else { content.size_bytes });
        }
    }

    fn collect_unselected(&mut self, path: &DocumentPath) {
        self.skipped.count(SkipReason::NotSelected);
        if self.removal_rules().keeps_unselected(path, self.sender.sent().size_of(path)) {
            self.sender.keep(path);
        }
        self.unselected.insert(path.clone());
    }

    fn collect_stored(&mut self, path: DocumentPath, stored: StoredDocument) -> Result<(), Stopped> {
        let StoredDocument { known, result, inside_path_bytes } = stored;
        self.count_file(known.class, known.stamp, result.own.list.as_ref().map(|(content, _)| content));
        self.list_office(known.candidate, &path);
        let file = WaitingFile { path, result, stamp: known.stamp, path_bytes: inside_path_bytes };
        let is_sent = self.share.is_unlimited()
            || (file.result.inside <= INSIDE_SENT_AT_ONCE_MAX
                && self.share.take(file.result.inside.into(), inside_path_bytes));
        if is_sent {
            return self.send_stored(file);
        }
        self.share.wait(file);
        Ok(())
    }

    /// Sends a stored document, and those inside of it.
    fn send_stored(&mut self, file: WaitingFile) -> Result<(), Stopped> {
        let SyncContext { job, cache, .. } = self.context;
        self.send_part(file.path.clone(), file.result.own.clone().into(), file.stamp)?;
        let mut sent = Ok(());
        let is_complete = cache.is_none_or(|cache| {
            cache.each_inside(&job.repository, &file.path, &file.result, |path, part| {
                sent = self.send_part(path, part.into(), file.stamp);
                sent.is_ok()
            })
        });
        sent?;
        if !is_complete {
            // The disk took no more rows, or lost some: a document that is not read ends no sync, and what the index had of it stays.
            self.failed.insert(file.path.clone());
            return self.leave_out(file.path, DocumentState::Crashed);
        }
        Ok(())
    }

    /// Sends the files whose documents inside had to wait, and names those whose do not fit.
    fn send_waiting(&mut self) -> Result<(), Stopped> {
        self.memory.flush_unwritten();
        let Decision { sent, left_out } = self.share.decide();
        for file in sent {
            if self.context.cancelled.load(Ordering::Relaxed) {
                return Err(SyncError::Cancelled.into());
            }
            self.send_stored(file)?;
            self.context.counters.sent_bytes.store(self.sender.sent_bytes(), Ordering::Relaxed);
        }
        if let Some(first) = left_out.first() {
            tracing::warn!(
                repository = %self.context.job.repository,
                files = left_out.len(),
                first = %first.path,
                "files hold too many documents for what this site may have at the coordinator, and are not compared by text: \
                 raise `site_documents` and `site_names` there, or exclude them"
            );
        }
        for file in left_out {
            self.leave_out(file.path, DocumentState::TooManyMembers)?;
        }
        Ok(())
    }

    /// Sends a row that says why the documents inside of a file are not in the index.
    fn leave_out(&mut self, path: DocumentPath, state: DocumentState) -> Result<(), Stopped> {
        self.count_unreadable(&path, state);
        self.sender.send(DocumentRow::without_content(path, state), None)
    }

    fn collect_read(
        &mut self,
        path: DocumentPath,
        mut done: Fingerprinted,
        earlier: Option<KnownDocument>,
    ) -> Result<(), Stopped> {
        self.count_file(done.class, done.stamp, done.own.content.as_ref().map(|(content, _)| content));
        self.list_office(done.candidate, &path);
        if done.changing {
            let parts = std::iter::once(&mut done.own).chain(done.inside.iter_mut().map(|(_, outcome)| outcome));
            for part in parts.filter(|part| part.state.has_content()) {
                part.state = DocumentState::Changing;
            }
        }
        self.memory.remember(&path, &done, earlier);
        if self.may_be_asked_for_chunks() {
            self.memory.hold(&done);
        }
        let inside = u32::try_from(done.inside.len()).unwrap_or(u32::MAX);
        let path_bytes = done.inside.iter().map(|(path, _)| path.as_bytes().len() as u64).sum();
        if self.waits(&path, &done, inside, path_bytes) {
            // It is decided when everything was read.
        } else if self.share.take(inside.into(), path_bytes) {
            self.send_part(path, done.own, done.stamp)?;
            for (path, outcome) in done.inside {
                self.send_part(path, outcome, done.stamp)?;
            }
        } else {
            self.leave_out(path, DocumentState::TooManyMembers)?;
        }
        self.memory.discard_unused(done.spool_file);
        Ok(())
    }

    /// Lets a file that was read wait with the documents inside of it, if they are many or do not fit. Where nothing can be stored, what
    /// fits is decided by the order of reading.
    fn waits(&mut self, path: &DocumentPath, done: &Fingerprinted, inside: u32, path_bytes: u64) -> bool {
        if inside == 0
            || self.share.is_unlimited()
            || (inside <= INSIDE_SENT_AT_ONCE_MAX && self.share.fits(inside.into(), path_bytes))
        {
            return false;
        }
        self.memory.remember_inside(path, done);
        let result = self.memory.result(&done.own, inside);
        let waiting = result.map(|result| WaitingFile { path: path.clone(), result, stamp: done.stamp, path_bytes });
        let waits = waiting.is_some();
        waiting.into_iter().for_each(|file| self.share.wait(file));
        waits
    }

    /// True if a scan may ask for chunks of documents of this sync, and their places follow from their lists.
    fn may_be_asked_for_chunks(&self) -> bool {
        // A site that may give fine chunks sends samples.
        self.sender.sent().has_samples() && !self.context.job.method.view().is_text()
    }

    fn list_office(&mut self, candidate: Candidate, path: &DocumentPath) {
        let is_read = candidate >= self.context.recognition.least;
        if let Some(list) = self.office.as_mut().filter(|_| is_read) {
            list.add(path);
        }
    }

    /// Sends the row of a document, or of one inside of it. A file that the view is not about has none.
    fn send_part(&mut self, path: DocumentPath, outcome: PartOutcome, stamp: Stamp) -> Result<(), Stopped> {
        let PartOutcome { state, content, message_id_hash } = outcome;
        if self.context.job.method.view() == View::Office && state == DocumentState::NoText {
            return Ok(());
        }
        let Some((content, chunks)) = content else {
            if !matches!(state, DocumentState::NoText | DocumentState::Container) {
                self.count_unreadable(&path, state);
            }
            let row = DocumentRow { message_id_hash, ..DocumentRow::without_content(path, state) };
            return self.sender.send(row, None);
        };
        if state == DocumentState::ReadInPart {
            self.count_unreadable(&path, state);
        }
        let modified = self.times.rounded(stamp.modified_seconds());
        let row = DocumentRow { path, state, content: Some(content.digest), modified, message_id_hash };
        self.sender.send(row, Some((content, chunks)))
    }

    fn count_unreadable(&mut self, path: &DocumentPath, state: DocumentState) {
        self.unreadable += 1;
        if self.unreadable_documents.len() < UNREADABLE_MAX {
            self.unreadable_documents.push((path.clone(), state));
        }
    }
}
