//! A checked request for a sync, its progress, and its outcome.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::scope::{ScopeAnnouncement, ScopeId};
use cognate_proto::selection::Selection;
use cognate_proto::v1::SyncSummary;

use crate::documents::open_files::OpenFiles;

/// The progress of a sync.
#[derive(Default, Debug)]
pub struct Counters {
    /// Files and folders that the walk has reported.
    pub entries_seen: AtomicU64,
    /// Documents that are finished.
    pub documents_done: AtomicU64,
    /// Documents that were read.
    pub documents_read: AtomicU64,
    /// Bytes of documents that were read and are finished.
    pub read_bytes: AtomicU64,
    /// The documents that are being read.
    pub open_files: OpenFiles,
    /// The most that was shown of bytes read: open files whose read fails take theirs back, and a progress never falls.
    shown_bytes: AtomicU64,
    /// Bytes of messages that were sent.
    pub sent_bytes: AtomicU64,
    /// The walk has ended: `entries_seen` is final.
    pub walk_finished: AtomicBool,
}

impl Counters {
    /// Bytes of all documents that were read, those of open files included. Never falls.
    pub fn read_so_far_bytes(&self) -> u64 {
        let open_bytes = self.open_files.read_bytes.load(Ordering::Relaxed);
        let now_bytes = self.read_bytes.load(Ordering::Relaxed).saturating_add(open_bytes);
        self.shown_bytes.fetch_max(now_bytes, Ordering::Relaxed).max(now_bytes)
    }
}

/// A checked request for a sync.
pub(crate) struct Job {
    /// The coordinator's number of the assignment; 0: requested by this site.
    pub(crate) assignment: u64,
    pub(crate) repository: RepositoryName,
    pub(crate) path: PathBuf,
    pub(crate) method: Method,
    pub(crate) method_id: MethodId,
    pub(crate) selection: Arc<Selection>,
    pub(crate) follow_symlinks: bool,
    /// Files and folders of the worker itself, which are no documents.
    pub(crate) own_files: Arc<[PathBuf]>,
    /// A file below the root that shows that it is mounted.
    pub(crate) sentinel: Option<PathBuf>,
    /// If set, documents are removed even if more are gone than are there.
    pub(crate) accepts_removals: bool,
    /// The policy keeps the text of office files: only which files are some is sent.
    pub(crate) keeps_text: bool,
    /// If set, only documents with chosen contents are synced.
    pub(crate) refinement: Option<ScopeAnnouncement>,
}

impl Job {
    /// The scope of the index; `None`: the complete repository.
    pub(crate) fn scope(&self) -> Option<ScopeId> {
        self.refinement.map(|refinement| refinement.id)
    }
}

/// The outcome of a sync.
pub(crate) struct SyncOutcome {
    pub(crate) summary: SyncSummary,
    /// Number of documents in the index.
    pub(crate) documents: u64,
    /// Number of unreadable documents.
    pub(crate) unreadable: u64,
    /// The first unreadable documents, at most [`UNREADABLE_MAX`].
    pub(crate) unreadable_documents: Vec<(DocumentPath, DocumentState)>,
    /// The speed of reading, if enough was read to measure it.
    pub(crate) bytes_per_second: Option<u64>,
}

/// Number of unreadable documents that are listed.
pub(crate) const UNREADABLE_MAX: usize = 1000;
