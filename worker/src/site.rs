//! A site with its records open: what it is told at its start, and what its syncs and its answers share.

use std::collections::HashSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime};

use cognate_fingerprint::{Key, MethodId};
use cognate_proto::name::RepositoryName;
use cognate_proto::scope::ScopeId;

use crate::board::Board;
use crate::cache::Cache;
use crate::error::{SiteError, SyncError};
use crate::extraction::{Children, Extraction};
use crate::ledger::Ledger;
use crate::lists::Lists;
use crate::pace::Pace;
use crate::policy::Policy;
use crate::refine::log_name;
use crate::texts::Texts;

/// How often the cache is asked for while another part of this process is letting go of it.
const CACHE_OPENINGS_MAX: usize = 50;

/// What a site is told at its start.
#[derive(Clone, Debug)]
pub struct SiteConfig {
    /// The folder for the site's own records; only this site writes there.
    pub state_dir: PathBuf,
    /// Whether there will be a next time: with `false`, nothing is remembered of files and nothing is logged.
    pub remember: bool,
    /// The repositories on offer, with their roots.
    pub repositories: Vec<(RepositoryName, PathBuf)>,
    /// The federation's key, or none.
    pub key: Key,
    /// How many documents are read at once.
    pub threads: NonZeroUsize,
    /// The clock by which a file counts as just touched.
    pub clock: fn() -> SystemTime,
    /// How it comes by text.
    pub extraction: Extraction,
    /// What the site agrees to.
    pub policy: Policy,
    /// Where it is written down what leaves; `None` where both sides are one process.
    pub ledger: Option<Arc<Ledger>>,
    /// How the site shows that it is there; `None` where both sides are one process.
    pub presence: Option<Presence>,
}

/// Which start of which site this is, and that it must be heard of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Presence {
    /// How often the site has been started with its state.
    pub generation: u64,
    /// Chosen at random by this process.
    pub instance: u64,
}

/// A site with its records open.
pub struct Site {
    pub(crate) config: SiteConfig,
    pub(crate) pace: Pace,
    pub(crate) board: Board,
    /// Syncs are carried out one after the other: each uses all threads that the site allows.
    pub(crate) turn: Arc<tokio::sync::Semaphore>,
    /// The same for questions by hashes of files, which wait for no sync.
    pub(crate) questions: tokio::sync::Semaphore,
    pub(crate) lists: Lists,
    pub(crate) texts: Texts,
    pub(crate) children: Children,
    /// The cache, for as long as somebody uses it; it is opened again for the next.
    cache: Mutex<Weak<Cache>>,
    /// What keeps the cache open between syncs, where that is wanted.
    _held: Option<Arc<Cache>>,
    /// Files of lists that could not be read: what is remembered as being in them is not known.
    lost_lists: Mutex<HashSet<u64>>,
}

impl Site {
    /// Opens or makes the site's records.
    ///
    /// # Errors
    /// When the state folder cannot be used, or another process uses it. A damaged cache is set aside, not refused.
    pub fn open(config: SiteConfig) -> Result<Site, SiteError> {
        let state = |source| SiteError::State { path: config.state_dir.clone(), source };
        std::fs::create_dir_all(&config.state_dir).map_err(state)?;
        let lists = Lists::open(&config.state_dir.join("lists")).map_err(state)?;
        let texts = Texts::open(&config.state_dir.join("texts"), config.extraction.texts_bytes_max).map_err(state)?;
        // Opened once in any case, so that what is wrong with it shows at the start. A daemon is idle most of the time,
        // and lets go of it.
        let cache = config.remember.then(|| Cache::open(&config.state_dir.join("cache")).map(Arc::new)).transpose()?;
        let is_daemon = config.presence.is_some();
        let board = Board::new(is_daemon.then_some(config.state_dir.as_path()), config.clock);
        Ok(Site {
            pace: Pace::new(&config.policy, config.clock),
            board,
            turn: Arc::new(tokio::sync::Semaphore::new(1)),
            questions: tokio::sync::Semaphore::new(1),
            lists,
            texts,
            children: Children::new(config.extraction.clone(), config.threads),
            cache: Mutex::new(cache.as_ref().map(Arc::downgrade).unwrap_or_default()),
            _held: cache.filter(|_| !is_daemon),
            lost_lists: Mutex::default(),
            config,
        })
    }

    /// The public name of the key that the site fingerprints with.
    pub fn key_fingerprint(&self) -> cognate_fingerprint::KeyFingerprint {
        self.config.key.fingerprint()
    }

    /// The cache, open for as long as the answer is held.
    pub(crate) fn cache(&self) -> Result<Option<Arc<Cache>>, SyncError> {
        if !self.config.remember {
            return Ok(None);
        }
        let mut slot = self.cache.lock().expect("nothing panics while it is held");
        if let Some(open) = slot.upgrade() {
            return Ok(Some(open));
        }
        let folder = self.config.state_dir.join("cache");
        let mut opened = Cache::open(&folder);
        // Whoever used it last may be in the middle of closing it.
        for _ in 0..CACHE_OPENINGS_MAX {
            if !matches!(opened, Err(SiteError::Locked { .. })) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            opened = Cache::open(&folder);
        }
        let failed =
            |error: SiteError| SyncError::Records { path: folder, source: io::Error::other(error.to_string()) };
        let open = Arc::new(opened.map_err(failed)?);
        *slot = Arc::downgrade(&open);
        Ok(Some(open))
    }

    /// Files of lists that could not be read.
    pub(crate) fn lost_lists(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.lost_lists.lock().expect("nothing panics while it is held")
    }

    /// Where the log of an index lies, if anything was ever sent of it.
    pub(crate) fn outbox_path(
        &self,
        repository: &RepositoryName,
        method_id: MethodId,
        scope: Option<ScopeId>,
    ) -> PathBuf {
        let folder = self.config.state_dir.join("outbox").join(repository.as_str());
        folder.join(log_name(method_id, scope))
    }

    /// A failure of the site's own records.
    pub(crate) fn records(&self, source: io::Error) -> SyncError {
        SyncError::Records { path: self.config.state_dir.clone(), source }
    }
}
