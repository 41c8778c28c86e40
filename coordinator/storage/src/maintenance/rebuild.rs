//! Rebuilds the store from the journal and the segments: by itself if it is damaged, gone, of an earlier version, or does not
//! follow from them, and on request.
//!
//! There is no other way of making it than of opening it: an open store takes from the journal and the segments what it
//! lacks, and an empty one lacks everything.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::error::Error;
use crate::indexes::{Indexes, IndexesConfig, SiteQuotas};
use crate::journal::{self, Acted, Action, Event, What};
use crate::store::Store;

/// Below this, the space that the store takes does not matter, however little of it is live.
const STORE_BYTES_MIN: u64 = 256 << 20;
/// A store that takes this many times its live bytes is rebuilt.
const STORE_BYTES_PER_LIVE: u64 = 8;

/// Counts of rebuilt rows.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// Place of the earlier store.
    pub earlier_store: Option<PathBuf>,
    /// Sites and people in the registry.
    pub members: usize,
    /// Scans that are known.
    pub scans: usize,
    /// Indexes that were found.
    pub indexes: usize,
    /// The batches in them.
    pub batches: u64,
}

/// Opens the state. A store that is damaged, gone or of an earlier version is rebuilt first; the old one is moved away.
pub fn open(state_dir: &Path, config: IndexesConfig) -> Result<(Arc<Store>, Arc<Indexes>), Error> {
    let folder = state_dir.join("store");
    if !is_there(&folder)? && has_records(state_dir)? {
        tracing::error!(path = %folder.display(), "the store is gone and is rebuilt from the journal and the segments");
    }
    open_or_make(state_dir, config)
}

fn open_or_make(state_dir: &Path, config: IndexesConfig) -> Result<(Arc<Store>, Arc<Indexes>), Error> {
    let folder = state_dir.join("store");
    let store = match open_store(state_dir, config.durable) {
        Err(Error::Corrupt { path, detail }) if path == folder => {
            let aside = move_away(&folder, "corrupt", config.clock)?;
            tracing::error!(path = %path.display(), detail, aside = %aside.display(), "the store is damaged and is rebuilt from the journal and the segments");
            open_store(state_dir, config.durable)?
        }
        // There is no other migration: an older layout is made again from the record. If that is cut off, the next start goes on.
        Err(Error::OtherVersion { path, found, known }) if path == folder && found < known => {
            let aside = move_away(&folder, "before-upgrade", config.clock)?;
            tracing::info!(path = %path.display(), found, known, aside = %aside.display(), "an earlier version wrote the store, which is made again from the journal and the segments");
            open_store(state_dir, config.durable)?
        }
        opened => opened?,
    };
    let store = swap_if_bloated(store, state_dir, config)?;
    let store = Arc::new(store);
    let indexes = Indexes::open(Arc::clone(&store), &state_dir.join("indexes"), config)?;
    Ok((store, Arc::new(indexes)))
}

/// Rebuilds the store, whatever state it is in.
///
/// # Errors
/// Fails if a process has the state open, or the journal or the disk is damaged.
pub fn rebuild(state_dir: &Path, clock: fn() -> SystemTime) -> Result<Rebuilt, Error> {
    // Before the store is moved: it may know of what the journal lost. One that is damaged knows nothing.
    let (journal, folder) = (state_dir.join("journal"), state_dir.join("store"));
    let end = if is_there(&journal)? { journal::read(&journal, |_, _| Ok(()))?.at().end } else { 0 };
    if is_there(&folder)?
        && let Ok(store) = Store::inspect(&folder)
    {
        store.check_not_ahead(&journal, end)?;
    }
    let earlier_store = move_store_away(state_dir, clock)?;
    rebuild_without(state_dir, earlier_store, clock)
}

/// Does the same, and goes on with what can be read of the journal, whatever is lost of it. The journal as it was stays
/// under another name, and the new one records that this was done.
///
/// # Errors
/// Fails if a process has the state open, or the disk is damaged.
pub fn rebuild_with_loss(state_dir: &Path, clock: fn() -> SystemTime) -> Result<(Rebuilt, Option<PathBuf>), Error> {
    let earlier_store = move_store_away(state_dir, clock)?;
    let journal = state_dir.join("journal");
    let mut earlier_journal = None;
    if is_there(&journal)? {
        let aside = free_name(&journal, "before-loss", clock);
        std::fs::copy(&journal, &aside).map_err(Error::state(&aside))?;
        earlier_journal = Some(aside);
    }
    let removed_bytes = journal::seal(&journal)?;
    tracing::error!(path = %journal.display(), removed_bytes, "the journal goes on without what was lost of it, as was asked");
    let rebuilt = rebuild_without(state_dir, earlier_store, clock)?;
    let store = open_store(state_dir, true)?;
    let time = jiff::Timestamp::try_from(clock()).unwrap_or(jiff::Timestamp::UNIX_EPOCH).as_second();
    let what = What::Acted(Acted { action: Action::LossAccepted.into(), scan: 0 });
    store.record(&Event { time, by: String::new(), what: Some(what) })?;
    Ok((rebuilt, earlier_journal))
}

fn move_store_away(state_dir: &Path, clock: fn() -> SystemTime) -> Result<Option<PathBuf>, Error> {
    let folder = state_dir.join("store");
    if !is_there(&folder)? {
        return Ok(None);
    }
    let _held = claim(&folder)?;
    move_away(&folder, "before-rebuild", clock).map(Some)
}

fn rebuild_without(
    state_dir: &Path,
    earlier_store: Option<PathBuf>,
    clock: fn() -> SystemTime,
) -> Result<Rebuilt, Error> {
    let config = IndexesConfig { durable: true, clock, disk_reserve_bytes: 0, quotas: SiteQuotas::default() };
    let (store, indexes) = open_or_make(state_dir, config)?;
    if let Some(before) = &earlier_store {
        store.take_temporary(before);
    }
    let all = indexes.all()?;
    let rebuilt = Rebuilt {
        earlier_store,
        members: store.member_count(),
        scans: store.scans()?.len(),
        indexes: all.len(),
        batches: all.iter().map(|(_, _, row)| row.committed_sequence).sum(),
    };
    store.barrier()?;
    Ok(rebuilt)
}

fn open_store(state_dir: &Path, durable: bool) -> Result<Store, Error> {
    Store::open(&state_dir.join("store"), &state_dir.join("journal"), durable)
}

/// sled frees little of the space that overwritten values took.
fn swap_if_bloated(store: Store, state_dir: &Path, config: IndexesConfig) -> Result<Store, Error> {
    let size = store.size()?;
    if size.disk_bytes <= STORE_BYTES_MIN.max(size.live_bytes.saturating_mul(STORE_BYTES_PER_LIVE)) {
        return Ok(store);
    }
    store.barrier()?;
    drop(store);
    let aside = move_away(&state_dir.join("store"), "before-rebuild", config.clock)?;
    tracing::info!(?size, "the store takes far more space than it needs and is rebuilt");
    let store = open_store(state_dir, config.durable)?;
    store.take_temporary(&aside);
    // All of it is in the new one.
    std::fs::remove_dir_all(&aside).map_err(Error::state(&aside))?;
    Ok(store)
}

/// Makes sure that no other process has the store open.
fn claim(folder: &Path) -> Result<Option<File>, Error> {
    let path = folder.join("db");
    let file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Error::state(&path))?,
    };
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Locked { path: folder.to_owned() }),
        Err(error) => Err(Error::state(&path)(error.into())),
    }
}

/// Moves a store out of the way, and says where to.
fn move_away(folder: &Path, why: &str, clock: fn() -> SystemTime) -> Result<PathBuf, Error> {
    let free = free_name(folder, why, clock);
    std::fs::rename(folder, &free).map_err(Error::state(folder))?;
    Ok(free)
}

/// An unused name beside a file or folder, with the reason and the time in it.
fn free_name(path: &Path, why: &str, clock: fn() -> SystemTime) -> PathBuf {
    let stamp = stamp(clock());
    let named = |number: u32| match number {
        0 => path.with_extension(format!("{why}-{stamp}")),
        _ => path.with_extension(format!("{why}-{stamp}-{number}")),
    };
    let mut names = (0..10_000).map(named);
    names.find(|path| matches!(path.try_exists(), Ok(false))).unwrap_or_else(|| named(0))
}

/// The time, as part of a file's name.
pub(super) fn stamp(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn is_there(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(Error::state(path))
}

/// True if there are records from which a store can be rebuilt.
fn has_records(state_dir: &Path) -> Result<bool, Error> {
    let indexes = state_dir.join("indexes");
    let has_segments = is_there(&indexes)?
        && std::fs::read_dir(&indexes)
            .map_err(Error::state(&indexes))?
            .flatten()
            .any(|entry| entry.path().extension().is_some_and(|extension| extension == "seg"));
    Ok(has_segments || is_there(&state_dir.join("journal"))?)
}
