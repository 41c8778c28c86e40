//! Keeps the status of a site up to date, and saves it for the time without a daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use cognate_durable::whole::{PRIVATE, write_whole};
use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::{DocumentPath, printable};
use cognate_proto::selection::SelectionRule;

use super::status::{
    IndexStatus, RunningSync, SessionStatus, SiteStatus, UnreadableDocument, saved_status, status_file,
};
use crate::sync::job::{Counters, Job, SyncOutcome};

/// Repository, method id, and true for a refinement.
type IndexKey = (String, String, bool);

/// The current status of a site.
pub(crate) struct StatusTracker {
    clock: fn() -> SystemTime,
    shared: Arc<Shared>,
}

/// The status, and the file that holds it.
struct Shared {
    /// `None` if it is not saved. Locked while it is written, so that the last one to write has what is so now.
    file: Mutex<Option<PathBuf>>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    session: SessionStatus,
    running: BTreeMap<u64, (RunningSync, Arc<Counters>)>,
    last_number: u64,
    indexes: BTreeMap<IndexKey, IndexStatus>,
    bytes_per_second: u64,
}

impl StatusTracker {
    /// Continues with the saved status of a state folder, or starts with an empty one that is never saved.
    pub(crate) fn new(state_dir: Option<&Path>, clock: fn() -> SystemTime) -> StatusTracker {
        let saved = state_dir.map(saved_status).unwrap_or_default();
        let key = |index: &IndexStatus| (index.repository.clone(), index.method_id.clone(), index.refined);
        let indexes = saved.indexes.into_iter().map(|index| (key(&index), index)).collect();
        let inner = Inner { indexes, bytes_per_second: saved.bytes_per_second, ..Inner::default() };
        let shared = Shared { file: Mutex::new(state_dir.map(status_file)), inner: Mutex::new(inner) };
        StatusTracker { clock, shared: Arc::new(shared) }
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let since = (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner()
    }

    /// The site is attached under this name.
    pub(crate) fn attached(&self, site: &str) {
        let now = self.now();
        let mut inner = self.inner();
        let destination = std::mem::take(&mut inner.session.destination);
        inner.session =
            SessionStatus { attached: true, since: now, site: site.into(), destination, ..Default::default() };
        drop(inner);
        self.save();
    }

    /// The site connects to this address.
    pub(crate) fn connecting(&self, destination: &str) {
        self.inner().session.destination = destination.to_owned();
    }

    /// The site is not attached, for this reason.
    pub(crate) fn detached(&self, why: &str, next_attempt: Option<i64>) {
        let now = self.now();
        let mut inner = self.inner();
        if inner.session.attached || inner.session.since == 0 {
            inner.session.since = now;
        }
        inner.session.attached = false;
        inner.session.why = why.to_owned();
        inner.session.next_attempt = next_attempt;
        drop(inner);
        self.save();
    }

    /// A sync starts. Returns its number for [`StatusTracker::end`].
    pub(crate) fn begin(&self, job: &Job, counters: &Arc<Counters>) -> u64 {
        let since = self.now();
        let mut inner = self.inner();
        inner.last_number += 1;
        let number = inner.last_number;
        let repository = job.repository.to_string();
        let sync = RunningSync { repository, assignment: job.assignment, since, ..RunningSync::default() };
        inner.running.insert(number, (sync, Arc::clone(counters)));
        number
    }

    /// A sync has ended, with its outcome or the reason of its failure.
    pub(crate) fn end(&self, number: u64, job: &Job, result: Result<&SyncOutcome, &str>) {
        let now = self.now();
        let mut inner = self.inner();
        inner.running.remove(&number);
        let key = (job.repository.to_string(), job.method_id.to_string(), job.refinement.is_some());
        let index = inner.indexes.entry(key.clone()).or_default();
        describe(index, key, job);
        match result {
            Ok(outcome) => {
                succeed(index, outcome, now);
                inner.bytes_per_second = outcome.bytes_per_second.unwrap_or(inner.bytes_per_second);
            }
            Err(reason) => (index.failed, index.failure) = (Some(now), reason.to_owned()),
        }
        drop(inner);
        self.save();
    }

    /// The last syncs of a complete repository, one per method.
    pub(crate) fn indexes(&self, repository: &RepositoryName) -> Vec<IndexStatus> {
        let inner = self.inner();
        let complete = inner.indexes.values().filter(|index| index.repository == repository.as_str() && !index.refined);
        complete.cloned().collect()
    }

    pub(crate) fn bytes_per_second(&self) -> u64 {
        self.inner().bytes_per_second
    }

    /// The current status.
    pub(crate) fn status(&self) -> SiteStatus {
        self.shared.status()
    }

    /// Saves the status, soon if this thread runs tasks: it does not wait for the disk.
    fn save(&self) {
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let shared = Arc::clone(&self.shared);
                drop(runtime.spawn_blocking(move || shared.save()));
            }
            Err(_) => self.shared.save(),
        }
    }

    /// Saves the status before this returns.
    pub(crate) fn save_now(&self) {
        self.shared.save();
    }
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no code panics while it holds this lock")
    }

    fn status(&self) -> SiteStatus {
        let inner = self.inner();
        let running = inner.running.values().map(|(sync, counters)| RunningSync {
            entries_seen: counters.entries_seen.load(Ordering::Relaxed),
            documents_done: counters.documents_done.load(Ordering::Relaxed),
            read_bytes: counters.read_bytes.load(Ordering::Relaxed),
            sent_bytes: counters.sent_bytes.load(Ordering::Relaxed),
            walk_finished: counters.walk_finished.load(Ordering::Relaxed),
            ..sync.clone()
        });
        SiteStatus {
            session: inner.session.clone(),
            running: running.collect(),
            indexes: inner.indexes.values().cloned().collect(),
            bytes_per_second: inner.bytes_per_second,
            ..SiteStatus::default()
        }
    }

    /// Saves the status. It is only for people: a failure is logged and changes nothing.
    fn save(&self) {
        let file = self.file.lock().expect("no code panics while it holds this lock");
        let Some(file) = &*file else { return };
        let text = serde_json::to_vec(&self.status()).expect("numbers and texts");
        if let Err(error) = write_whole(file, &text, PRIVATE) {
            tracing::warn!(%error, "the file cannot be written that `worker status` shows without a daemon");
        }
    }
}

/// Sets the fields that describe the request of a sync.
fn describe(index: &mut IndexStatus, (repository, method_id, refined): IndexKey, job: &Job) {
    // By name, so that a field that is added to the rule is not lost here: scheduled syncs select by what is kept.
    let SelectionRule { include, exclude, size_max_bytes, sample_percent } = job.selection.rule().clone();
    *index = IndexStatus {
        repository,
        method: job.method.name().to_owned(),
        view: job.method.view().to_string(),
        chunk_bytes: job.method.chunk_bytes().into(),
        param: job.method.param(),
        method_id,
        refined,
        include,
        exclude,
        size_max_bytes,
        sample_percent,
        follow_symlinks: job.follow_symlinks,
        ..std::mem::take(index)
    };
}

/// Sets the fields of a sync that succeeded.
fn succeed(index: &mut IndexStatus, outcome: &SyncOutcome, now: i64) {
    index.finished = Some(now);
    index.documents = outcome.documents;
    index.read_bytes = outcome.summary.read_bytes;
    index.sent_bytes = outcome.summary.sent_bytes;
    index.unreadable = outcome.unreadable;
    index.unreadable_documents = outcome.unreadable_documents.iter().map(unreadable).collect();
    (index.failed, index.failure) = (None, String::new());
}

fn unreadable((path, state): &(DocumentPath, DocumentState)) -> UnreadableDocument {
    UnreadableDocument { path: printable(path.as_bytes()).into_owned(), reason: reason(*state).to_owned() }
}

fn reason(state: DocumentState) -> &'static str {
    match state {
        DocumentState::PermissionDenied => "permission denied",
        DocumentState::Vanished => "vanished",
        DocumentState::NotAFile => "not a file",
        DocumentState::InputOutput => "input/output error",
        DocumentState::NameTooLong => "name too long",
        DocumentState::LinkLoop => "link loop",
        DocumentState::NoAnswer => "its file system did not answer in time",
        DocumentState::LinkOutside => "a link that leads out of the repository",
        DocumentState::Encrypted => "unextractable: encrypted",
        DocumentState::Damaged => "unextractable: damaged",
        DocumentState::Unsupported => "unextractable: a format that is not supported",
        DocumentState::TooLarge => "unextractable: too large",
        DocumentState::CompressedTooStrongly => "unextractable: compressed too strongly",
        DocumentState::TooManyMembers => "unextractable: too many members",
        DocumentState::TooDeep => "unextractable: archives too deep in archives",
        DocumentState::TimedOut => "unextractable: took too long",
        DocumentState::OutOfMemory => "unextractable: took too much memory",
        DocumentState::Crashed => "unextractable: the reader crashed",
        DocumentState::ReadInPart => "compared in part: the rest of its text could not be read",
        DocumentState::NoTextFound => "not compared by text: no text was found in it",
        DocumentState::PagesArePictures => "not compared by text: its pages are pictures",
        DocumentState::NotRecognised => "not compared by text: its pages could not be recognised",
        DocumentState::RecognitionTimedOut => "not compared by text: recognising its pages took too long",
        DocumentState::TooManyPages => "not compared by text: it has more pictures of pages than policy.ocr.pages_max",
        DocumentState::NotOpened => "not compared by text: it is of a kind that is not opened",
        DocumentState::TextKept => "not compared by text: the policy of this site does not allow it",
        _ => "unreadable",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cognate_fingerprint::{Key, Method, View};
    use cognate_proto::selection::Selection;
    use cognate_proto::v1::SyncSummary;

    use super::*;

    fn clock() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(100)
    }

    fn job() -> Job {
        let method = Method::tttd(View::Raw, 1000).unwrap();
        Job {
            assignment: 7,
            repository: RepositoryName::main(),
            path: "/".into(),
            method,
            method_id: method.id(&Key::none()),
            selection: Arc::new(Selection::all()),
            follow_symlinks: false,
            own_files: Arc::default(),
            sentinel: None,
            accepts_removals: false,
            keeps_text: false,
            refinement: None,
        }
    }

    fn outcome(unreadable: u64) -> SyncOutcome {
        let path = DocumentPath::new(b"x").unwrap();
        SyncOutcome {
            summary: SyncSummary { read_bytes: 5, sent_bytes: 6, ..SyncSummary::default() },
            documents: 3,
            unreadable,
            unreadable_documents: vec![(path, DocumentState::Damaged)],
            bytes_per_second: Some(9),
        }
    }

    #[test]
    fn a_running_sync_shows_its_progress_and_a_finished_one_its_outcome() {
        let tracker = StatusTracker::new(None, clock);
        let counters = Arc::new(Counters::default());
        let number = tracker.begin(&job(), &counters);
        counters.documents_done.store(2, Ordering::Relaxed);
        let status = tracker.status();
        assert_eq!((status.running[0].assignment, status.running[0].documents_done), (7, 2));
        tracker.end(number, &job(), Ok(&outcome(1)));
        let status = tracker.status();
        assert!(status.running.is_empty());
        let index = &status.indexes[0];
        assert_eq!((index.finished, index.documents, index.unreadable, index.failed), (Some(100), 3, 1, None));
        assert_eq!(index.unreadable_documents[0].reason, "unextractable: damaged");
        assert_eq!(tracker.bytes_per_second(), 9);
    }

    #[test]
    fn a_failure_stays_until_the_next_success_and_keeps_the_last_outcome() {
        let tracker = StatusTracker::new(None, clock);
        let end = |result: Result<&SyncOutcome, &str>| {
            let number = tracker.begin(&job(), &Arc::default());
            tracker.end(number, &job(), result);
            tracker.indexes(&RepositoryName::main()).remove(0)
        };
        end(Ok(&outcome(0)));
        let failed = end(Err("no disk"));
        assert_eq!((failed.failed, failed.failure.as_str(), failed.documents), (Some(100), "no disk", 3));
        let repaired = end(Ok(&outcome(0)));
        assert_eq!((repaired.failed, repaired.failure.as_str()), (None, ""));
    }

    #[test]
    fn the_next_daemon_continues_with_the_saved_status() {
        let folder = tempfile::tempdir().unwrap();
        let tracker = StatusTracker::new(Some(folder.path()), clock);
        let number = tracker.begin(&job(), &Arc::default());
        tracker.end(number, &job(), Ok(&outcome(0)));
        tracker.connecting("hub:7443");
        tracker.attached("paris");
        assert_eq!(saved_status(folder.path()).session.destination, "hub:7443");
        tracker.detached("no answer", Some(120));
        let session = saved_status(folder.path()).session;
        assert_eq!((session.attached, session.why.as_str(), session.next_attempt), (false, "no answer", Some(120)));
        let next = StatusTracker::new(Some(folder.path()), clock);
        assert_eq!(next.indexes(&RepositoryName::main()).len(), 1);
        assert!(next.status().running.is_empty() && !next.status().session.attached);
    }
}
