//! Configuration of a site.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cognate_fingerprint::Key;
use cognate_proto::name::RepositoryName;

use crate::documents::extraction::Extraction;
use crate::ledger::Ledger;
use crate::policy::Policy;

/// Configuration of a site.
#[derive(Clone, Debug)]
pub struct SiteConfig {
    /// The folder for the site's own records. Only this site writes to it.
    pub state_dir: PathBuf,
    /// If not set, the site remembers nothing of its files and keeps no sent log.
    pub remember: bool,
    /// The repositories that the site offers, with their roots.
    pub repositories: Vec<(RepositoryName, PathBuf)>,
    /// Of repositories, a file below the root that shows that it is mounted: without it, nothing is synced.
    pub sentinels: HashMap<RepositoryName, PathBuf>,
    /// Files of the site itself beside its state, as its configuration and the file of its key. They are never documents.
    pub own_files: Vec<PathBuf>,
    /// The key of the federation, or none.
    pub key: Key,
    /// Number of documents that are read at the same time.
    pub threads: NonZeroUsize,
    /// How long a call to the file system of a document may take until the document is given up; not zero.
    pub file_wait_max: Duration,
    /// The clock, which decides if a file was changed just now.
    pub clock: fn() -> SystemTime,
    /// The extraction of text.
    pub extraction: Extraction,
    /// The policy of the site.
    pub policy: Policy,
    /// The ledger; `None` if site and coordinator are one process.
    pub ledger: Option<Arc<Ledger>>,
    /// The identity of this process; `None` if site and coordinator are one process.
    pub presence: Option<Presence>,
}

/// The identity of one start of a site's daemon. With it a session sends signs of life and expects them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Presence {
    /// The numbers of the processes that worked with the site's state before, the latest last.
    pub earlier_instances: Vec<u64>,
    /// A random number of this process.
    pub instance: u64,
}
