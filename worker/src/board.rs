//! The board: what this site is doing, what it last did, and what it could not read. `worker status` reads it, from the
//! running daemon or from the file that the daemon leaves behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use cognate_fingerprint::Method;
use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::printable;
use cognate_proto::selection::SelectionRule;
use serde::{Deserialize, Serialize};

use crate::state::write_whole;
use crate::sync::{Counters, Finished, Job};

/// How many documents that could not be read are named.
pub(crate) const UNREADABLE_MAX: usize = 1000;

/// What a site knows of itself. Times are seconds since 1970.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The session with the coordinator.
    pub session: SessionStatus,
    /// Takes no assignments, because somebody said so.
    pub paused: bool,
    /// Reads nothing at this time of day, by its policy.
    pub outside_hours: bool,
    /// What is under way.
    pub doing: Vec<Doing>,
    /// By repository and method: what was last done.
    pub done: Vec<Done>,
    /// Bytes that were last read and fingerprinted in a second; 0: not known.
    pub bytes_per_second: u64,
}

/// How the site stands with its coordinator.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStatus {
    /// Whether it is attached now.
    pub attached: bool,
    /// Since when it is, or is not.
    pub since: i64,
    /// The name under which the coordinator knows this site.
    pub site: String,
    /// Where it dials.
    pub destination: String,
    /// Why it is not attached.
    pub why: String,
    /// When it will be tried again.
    pub next_attempt: Option<i64>,
}

/// A sync that is under way.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Doing {
    /// The repository.
    pub repository: String,
    /// The coordinator's number for it; 0: by the site's own wish.
    pub assignment: u64,
    /// Since when.
    pub since: i64,
    /// Entries that the walk has come across.
    pub entries_seen: u64,
    /// Documents that are dealt with.
    pub documents_done: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// The walk is at its end.
    pub walk_finished: bool,
}

/// What is known of one repository under one method.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Done {
    /// The repository.
    pub repository: String,
    /// The method's name.
    pub method: String,
    /// Its view.
    pub view: String,
    /// Its mean length of a chunk.
    pub chunk_bytes: u64,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub param: String,
    /// Its id, in hexadecimal digits.
    pub method_id: String,
    /// Whether it was only about documents that an earlier scan chose: the last of such syncs stands for all.
    pub refined: bool,
    /// What of the repository it was about.
    pub include: Vec<String>,
    /// What not.
    pub exclude: Vec<String>,
    /// The greatest size.
    pub size_bytes_max: Option<u64>,
    /// Whether links were followed.
    pub follow_symlinks: bool,
    /// When a sync last came to its end.
    pub finished: Option<i64>,
    /// How many documents the index held then.
    pub documents: u64,
    /// What was read for it.
    pub read_bytes: u64,
    /// What was sent for it.
    pub sent_bytes: u64,
    /// How many documents could not be read.
    pub unreadable: u64,
    /// Which, the first thousand of them.
    pub unreadable_documents: Vec<Unreadable>,
    /// When a sync last failed, if that was after the last that did not.
    pub failed: Option<i64>,
    /// Why.
    pub failure: String,
}

/// A document that could not be read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Unreadable {
    /// Its path in its repository, fit for a terminal.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Done {
    /// The method, if this version knows it.
    pub(crate) fn method(&self) -> Option<Method> {
        let spec = cognate_proto::v1::MethodSpec {
            name: self.method.clone(),
            view: self.view.clone(),
            chunk_bytes: self.chunk_bytes,
            method_id: Vec::new(),
            param: self.param.clone(),
        };
        Method::try_from(&spec).ok()
    }

    /// What of the repository it was about.
    pub(crate) fn selection(&self) -> SelectionRule {
        SelectionRule {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            size_bytes_max: self.size_bytes_max,
        }
    }
}

/// Repository, method id, and whether it refined.
type DoneKey = (String, String, bool);

/// The board of a running site.
pub(crate) struct Board {
    file: Option<PathBuf>,
    clock: fn() -> SystemTime,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    session: SessionStatus,
    doing: BTreeMap<u64, (Doing, Arc<Counters>)>,
    next: u64,
    done: BTreeMap<DoneKey, Done>,
    bytes_per_second: u64,
}

/// The file that is left behind.
fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("status.json")
}

/// What the last daemon left behind; nothing where there was none.
pub fn left_behind(state_dir: &Path) -> Status {
    let text = std::fs::read(file(state_dir)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

impl Board {
    /// A board that goes on from the last one, or that keeps nothing.
    pub(crate) fn new(state_dir: Option<&Path>, clock: fn() -> SystemTime) -> Board {
        let before = state_dir.map(left_behind).unwrap_or_default();
        let key = |done: &Done| (done.repository.clone(), done.method_id.clone(), done.refined);
        let done = before.done.into_iter().map(|done| (key(&done), done));
        let inner = Inner { done: done.collect(), bytes_per_second: before.bytes_per_second, ..Inner::default() };
        Board { file: state_dir.map(file), clock, inner: Mutex::new(inner) }
    }

    pub(crate) fn now(&self) -> i64 {
        let since = (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it is held")
    }

    /// The site is attached.
    pub(crate) fn attached(&self, site: &str) {
        let now = self.now();
        let mut inner = self.inner();
        let destination = std::mem::take(&mut inner.session.destination);
        inner.session =
            SessionStatus { attached: true, since: now, site: site.into(), destination, ..Default::default() };
        drop(inner);
        self.save();
    }

    /// Where the site dials now.
    pub(crate) fn dialling(&self, destination: &str) {
        self.inner().session.destination = destination.to_owned();
    }

    /// The site is not attached, for this reason, and will try again then.
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

    /// A sync begins; it is on the board until [`Board::end`].
    pub(crate) fn begin(&self, job: &Job, counters: &Arc<Counters>) -> u64 {
        let since = self.now();
        let mut inner = self.inner();
        inner.next += 1;
        let number = inner.next;
        let repository = job.repository.to_string();
        let doing = Doing { repository, assignment: job.assignment, since, ..Doing::default() };
        inner.doing.insert(number, (doing, Arc::clone(counters)));
        number
    }

    /// A sync has ended: done, or why not.
    pub(crate) fn end(&self, number: u64, job: &Job, result: Result<&Finished, &str>) {
        let now = self.now();
        let mut inner = self.inner();
        inner.doing.remove(&number);
        let key = (job.repository.to_string(), job.method_id.to_string(), job.refinement.is_some());
        let done = inner.done.entry(key.clone()).or_default();
        let rule = job.selection.rule();
        let (repository, method_id, refined) = key;
        *done = Done {
            repository,
            method: job.method.name().to_owned(),
            view: job.method.view().to_string(),
            chunk_bytes: job.method.chunk_bytes().into(),
            param: job.method.param(),
            method_id,
            refined,
            include: rule.include.clone(),
            exclude: rule.exclude.clone(),
            size_bytes_max: rule.size_bytes_max,
            follow_symlinks: job.follow_symlinks,
            ..std::mem::take(done)
        };
        match result {
            Ok(finished) => {
                done.finished = Some(now);
                done.documents = finished.documents;
                done.read_bytes = finished.summary.read_bytes;
                done.sent_bytes = finished.summary.sent_bytes;
                done.unreadable = finished.unreadable;
                done.unreadable_documents = finished.unreadable_documents.iter().map(unreadable).collect();
                (done.failed, done.failure) = (None, String::new());
                if let Some(speed) = finished.bytes_per_second {
                    inner.bytes_per_second = speed;
                }
            }
            Err(why) => (done.failed, done.failure) = (Some(now), why.to_owned()),
        }
        drop(inner);
        self.save();
    }

    /// What was done before of a whole repository: under these methods.
    pub(crate) fn done(&self, repository: &RepositoryName) -> Vec<Done> {
        let inner = self.inner();
        let whole = inner.done.values().filter(|done| done.repository == repository.as_str() && !done.refined);
        whole.cloned().collect()
    }

    pub(crate) fn bytes_per_second(&self) -> u64 {
        self.inner().bytes_per_second
    }

    /// The board as it stands.
    pub(crate) fn status(&self) -> Status {
        let inner = self.inner();
        let doing = inner.doing.values().map(|(doing, counters)| Doing {
            entries_seen: counters.entries_seen.load(Ordering::Relaxed),
            documents_done: counters.documents_done.load(Ordering::Relaxed),
            read_bytes: counters.read_bytes.load(Ordering::Relaxed),
            sent_bytes: counters.sent_bytes.load(Ordering::Relaxed),
            walk_finished: counters.walk_finished.load(Ordering::Relaxed),
            ..doing.clone()
        });
        Status {
            session: inner.session.clone(),
            doing: doing.collect(),
            done: inner.done.values().cloned().collect(),
            bytes_per_second: inner.bytes_per_second,
            ..Status::default()
        }
    }

    /// Leaves the board behind. It is only for people: a failure is told and changes nothing.
    pub(crate) fn save(&self) {
        let Some(file) = &self.file else { return };
        let text = serde_json::to_vec(&self.status()).expect("numbers and texts");
        if let Err(error) = write_whole(file, &text) {
            tracing::warn!(%error, "what `worker status` shows without a daemon cannot be written");
        }
    }
}

fn unreadable((path, state): &(cognate_proto::path::DocumentPath, DocumentState)) -> Unreadable {
    Unreadable { path: printable(path.as_bytes()).into_owned(), reason: reason(*state).to_owned() }
}

fn reason(state: DocumentState) -> &'static str {
    match state {
        DocumentState::PermissionDenied => "permission denied",
        DocumentState::Vanished => "vanished",
        DocumentState::NotAFile => "not a file",
        DocumentState::InputOutput => "input/output error",
        DocumentState::NameTooLong => "name too long",
        DocumentState::LinkLoop => "link loop",
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
        _ => "unreadable",
    }
}
