//! A site: opens the services of the floors below and hands each of them to its users.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cognate_proto::v1::SiteState;
use tokio::sync::Semaphore;

use super::offer::Offer;
use super::status_tracker::StatusTracker;
use crate::config::SiteConfig;
use crate::documents::extraction::ReaderProcesses;
use crate::error::SiteError;
use crate::pace::Pace;
use crate::records::answers::Answers;
use crate::records::store::Records;
use crate::sync::hash_search::HashSearch;
use crate::sync::office::OfficeLists;
use crate::sync::syncs::{SyncSettings, Syncs};

/// A site with its records open.
pub struct Site {
    pub(crate) config: SiteConfig,
    pub(crate) pace: Arc<Pace>,
    pub(crate) status: StatusTracker,
    pub(crate) offer: Offer,
    pub(crate) syncs: Arc<Syncs>,
    /// Syncs run one after the other, because each uses all threads of the site.
    pub(crate) sync_turn: Arc<Semaphore>,
    /// Queries about contents that have begun. They run one after the other, in turn with syncs.
    pub(super) content_queries: AtomicU64,
    pub(crate) hash_search: HashSearch,
    /// Queries by hashes run one after the other, at the same time as syncs.
    pub(crate) search_turn: Semaphore,
}

impl Site {
    /// Opens or creates the site's records.
    ///
    /// # Errors
    /// If the state folder cannot be used, or another process uses it. A damaged cache is moved aside.
    pub fn open(config: SiteConfig) -> Result<Site, SiteError> {
        let is_daemon = config.presence.is_some();
        let texts_bytes_max = config.extraction.texts_bytes_max;
        // A daemon is idle most of the time, and closes its cache between syncs.
        let records = Records::open(&config.state_dir, config.remember, is_daemon, texts_bytes_max)?;
        let (records, pace) = (Arc::new(records), Arc::new(Pace::new(&config.policy, config.clock)));
        let own_files = own_files(&config);
        Ok(Site {
            status: StatusTracker::new(is_daemon.then_some(config.state_dir.as_path()), config.clock),
            offer: Offer {
                repositories: config.repositories.clone(),
                sentinels: config.sentinels.clone(),
                key: config.key.clone(),
                policy: config.policy.clone(),
                own_files: Arc::clone(&own_files),
                records: Arc::clone(&records),
            },
            syncs: Arc::new(Syncs {
                answers: is_daemon.then(|| Answers::open(&config.state_dir, config.clock)),
                office: OfficeLists::default(),
                records: Arc::clone(&records),
                pace: Arc::clone(&pace),
                processes: ReaderProcesses::new(config.extraction.clone(), config.threads),
                settings: settings(&config),
            }),
            sync_turn: Arc::new(Semaphore::new(1)),
            content_queries: AtomicU64::new(0),
            hash_search: HashSearch {
                records,
                repositories: config.repositories.clone(),
                own_files,
                times: config.policy.times,
            },
            search_turn: Semaphore::new(1),
            pace,
            config,
        })
    }

    /// The public name of the key that the site fingerprints with.
    pub fn key_fingerprint(&self) -> cognate_fingerprint::KeyFingerprint {
        self.config.key.fingerprint()
    }

    /// Whether the site takes assignments now.
    pub(crate) fn state(&self) -> SiteState {
        SiteState { paused: self.pace.is_paused(), outside_hours: !self.pace.is_within_hours() }
    }

    /// True if the coordinator is another process.
    pub(crate) fn is_remote(&self) -> bool {
        self.config.presence.is_some()
    }
}

/// What no scan may read, whatever a repository contains.
fn own_files(config: &SiteConfig) -> Arc<[PathBuf]> {
    let own = std::iter::once(&config.state_dir).chain(&config.own_files);
    // What does not exist now is no document now.
    own.filter_map(|path| path.canonicalize().ok()).collect()
}

fn settings(config: &SiteConfig) -> SyncSettings {
    SyncSettings {
        key: config.key.clone(),
        threads: config.threads,
        file_wait_max: config.file_wait_max,
        clock: config.clock,
        file_hashes: config.policy.file_hashes,
        samples: config.policy.allows_samples(config.key.is_keyed()),
        message_id_hashes: config.policy.message_id_hashes,
        times: config.policy.times,
    }
}
