//! The small transactional view: parties and sites, the state of each index, and the scans. sled is named here only.
//!
//! It is an index, never the record: journal and segments are. `key` lists every row with its lifetime.
//!
//! Rows that come from the journal change only through [`Store::record`], which writes the journal first. A crash may
//! come between the two: opening the store adds the missing events. `indexes` adds the rows that come from segments.

mod apply;
mod compact;
mod indexes;
#[cfg(test)]
mod interleavings;
mod key;
mod members;
mod samples;
mod serial;
mod value;
mod verdicts;
mod watches;

/// The locks of `serial`.
mod sync {
    pub(super) use std::sync::Mutex;
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
#[cfg(any(test, feature = "harness"))]
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use cognate_durable::closing::Closing;
use cognate_proto::name::ScanId;
use cognate_proto::v1;
use tokio::sync::watch;

pub use self::compact::Compacted;
use self::key::{Key, Prefix, Tree};
use self::serial::{Serial, SharedSync};
use self::value::Value;
use crate::error::{Error, system_error};
use crate::journal::{self, Journal, Position, lost};
pub use crate::rows::{
    FrozenRow, IndexId, IndexRow, LayerRow, MemberRow, MissingRow, RunRow, ScanRow, ScanStep, SeenRow, SlotKey,
    SlotRow, WatchedRow,
};

/// The version of keys and rows.
const SCHEMA: u32 = 1;
/// Memory that sled may use.
const MEMORY_BYTES: u64 = 64 << 20;

/// The open store.
pub struct Store {
    db: Closing<sled::Db>,
    /// sled's own file: flushing sled does not bring it to the disk, syncing this does.
    db_file: File,
    folder: PathBuf,
    durable: bool,
    /// Why nothing is written any more, once that is so.
    failed: watch::Sender<Option<Failure>>,
    /// Held over the journal and the view together, so that both have the same order. None where nothing is recorded.
    journal: Serial<Option<Journal>>,
    /// The syncs of sled and its file.
    syncs: SharedSync,
    /// In the order of [`Tree::ALL`].
    trees: Closing<[sled::Tree; Tree::ALL.len()]>,
    /// The last number of the log; 0: not read yet.
    verdict_count: AtomicU64,
    /// The thread of every record, for tests of who waits for the disk.
    #[cfg(any(test, feature = "harness"))]
    writers: Mutex<Vec<(std::thread::ThreadId, String)>>,
}

/// Disk use of the view.
#[derive(Clone, Copy, Debug)]
pub struct StoreSize {
    pub(crate) disk_bytes: u64,
    /// Sum of the sizes of its keys and values.
    pub(crate) live_bytes: u64,
}

/// The reason why nothing is written any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The reason, for people.
    pub reason: String,
    /// A bug in the program, not the disk.
    pub is_bug: bool,
}

impl Store {
    /// Opens or creates the store next to its journal, and brings it up to date with that. `durable`: true if what
    /// `Store::barrier` answers for survives a loss of power.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the store's own path if it must be rebuilt from the journal and the segments.
    pub fn open(folder: &Path, journal: &Path, durable: bool) -> Result<Store, Error> {
        // The journal first: where it is damaged, nothing else is touched. Nothing is written to it before sled's lock is
        // held: another process could be at work.
        let verified = journal::verify(journal, |_, _| Ok(()))?;
        let store = Store::open_view(folder, durable)?;
        store.check_not_ahead(journal, verified.at().end)?;
        let is_level = verified.read_after(store.applied()?, |event, position| {
            store.apply(&event)?;
            store.put_applied(position)
        })?;
        if !is_level {
            return Err(corrupt(folder, "it does not follow from the journal".to_owned()));
        }
        if store.applied()? != verified.at() {
            store.put_applied(verified.at())?;
        }
        store.journal.write(
            || Ok::<(), Error>(()),
            |journal| {
                *journal = Some(verified.open(durable)?);
                Ok(())
            },
        )?;
        store.barrier()?;
        match store.compact_journal() {
            Err(error) if !error.is_fatal() => {
                tracing::warn!(%error, "the journal could not be compacted, and goes on as it is");
            }
            compacted => drop(compacted?),
        }
        Ok(store)
    }

    /// Opens a store that is there, to look at it: nothing is brought level with anything.
    pub(crate) fn inspect(folder: &Path) -> Result<Store, Error> {
        Store::open_view(folder, false)
    }

    /// Opens sled and reads all of it: damage that showed only later would come at a worse time.
    fn open_view(folder: &Path, durable: bool) -> Result<Store, Error> {
        let config = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).mode(sled::Mode::LowSpace);
        let open = || -> Result<Store, Error> {
            let db = Closing::new(config.open()?);
            let store = Store {
                db_file: File::open(folder.join("db")).map_err(Error::state(folder.join("db")))?,
                journal: Serial::new(None),
                syncs: SharedSync::new(),
                failed: watch::Sender::new(None),
                trees: Closing::new(open_trees(&db)?),
                verdict_count: AtomicU64::new(0),
                #[cfg(any(test, feature = "harness"))]
                writers: Mutex::default(),
                folder: folder.to_owned(),
                durable,
                db,
            };
            store.check_schema()?;
            store.check_rows()?;
            Ok(store)
        };
        // Damage can show as a panic in sled's depths.
        match std::panic::catch_unwind(AssertUnwindSafe(open)) {
            Ok(Err(Error::Store(sled::Error::Io(error)))) if error.to_string().contains("lock") => {
                Err(Error::Locked { path: folder.to_owned() })
            }
            // A refusal by the system (space, rights, descriptors) is no damage.
            Ok(Err(Error::Store(sled::Error::Io(error)))) if let Some(error) = system_error(&error) => {
                Err(Error::state(folder)(error))
            }
            Ok(Err(Error::Store(error))) => Err(corrupt(folder, error.to_string())),
            Ok(opened) => opened,
            Err(_) => Err(corrupt(folder, "sled panicked while it opened".to_owned())),
        }
    }

    fn check_schema(&self) -> Result<(), Error> {
        match self.get(&Key::Schema)? {
            None if self.tree(Tree::Indexes).is_empty() && self.tree(Tree::Members).is_empty() => {
                self.put(&Key::Schema, &SCHEMA)
            }
            None => Err(corrupt(&self.folder, "the schema is gone".to_owned())),
            Some(SCHEMA) => Ok(()),
            Some(found) => Err(Error::OtherVersion { path: self.folder.clone(), found, known: SCHEMA }),
        }
    }

    /// Makes it look like the store of an earlier version, with rows that this one cannot read.
    #[cfg(test)]
    pub(crate) fn make_earlier(&self) -> Result<(), Error> {
        self.put(&Key::Schema, &(SCHEMA - 1))?;
        self.tree(Tree::Members).insert([0xff], &[0xff])?;
        self.barrier()
    }

    /// Reads every row once.
    fn check_rows(&self) -> Result<(), Error> {
        for tree in Tree::ALL {
            for entry in self.tree(tree).iter() {
                let (key, value) = entry?;
                let key = Key::from_bytes(tree, &key);
                if !key.is_some_and(|key| key.value_type().reads(&value)) {
                    return Err(self.unreadable(tree));
                }
            }
        }
        Ok(())
    }

    /// Place in the journal up to which the view has taken its events.
    pub(crate) fn applied(&self) -> Result<Position, Error> {
        Ok(self.get(&Key::Journal)?.unwrap_or_default())
    }

    /// Fails if the view has taken events in that a journal, which ends at a byte, does not have.
    pub(crate) fn check_not_ahead(&self, journal: &Path, end: u64) -> Result<(), Error> {
        let applied = self.applied()?;
        if applied.end <= end {
            return Ok(());
        }
        let what = format!("it ends at byte {end}, and the store has taken its events up to byte {}", applied.end);
        Err(lost(journal, &what))
    }

    fn put_applied(&self, position: Position) -> Result<(), Error> {
        self.put(&Key::Journal, &position)
    }

    /// Returns once everything written before survives a crash: a flush of sled, and a real sync of its file, since the
    /// flush alone leaves it to the operating system when the bytes reach the disk.
    pub(crate) fn barrier(&self) -> Result<(), Error> {
        if !self.durable {
            return self.check_alive();
        }
        let sync = || {
            self.watched(self.db.flush().map(drop).map_err(Error::from))?;
            crate::failpoint!("ingest.after_flush");
            self.watched(self.db_file.sync_all().map_err(Error::sync(self.folder.join("db"))))
        };
        self.syncs.run(|| self.check_alive(), sync)
    }

    /// Records the outcome of a write: after an error that leaves the state of the disk open, nothing is written
    /// any more.
    pub(crate) fn watched<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result
            && error.is_fatal()
        {
            tracing::error!(%error, "the disk failed: nothing is acknowledged any more");
            self.fail(Failure { reason: error.to_string(), is_bug: false });
        }
        result
    }

    /// Ends all writing. The first reason counts.
    pub(super) fn fail(&self, failure: Failure) {
        self.failed.send_if_modified(|failed| {
            let is_first = failed.is_none();
            failed.get_or_insert(failure);
            is_first
        });
    }

    /// Refuses where writing has ended.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        match &*self.failed.borrow() {
            Some(failure) => Err(Error::Stopped(failure.reason.clone())),
            None => Ok(()),
        }
    }

    /// Reason for which nothing is written any more, if there is one. The caller ends the process: only a fresh start
    /// can determine the state of the disk.
    pub fn failed(&self) -> watch::Receiver<Option<Failure>> {
        self.failed.subscribe()
    }

    /// Disk use of the view.
    pub(crate) fn size(&self) -> Result<StoreSize, Error> {
        let mut live_bytes = 0;
        for name in self.db.tree_names() {
            for entry in self.db.open_tree(name)?.iter() {
                let (key, value) = entry?;
                live_bytes += (key.len() + value.len()) as u64;
            }
        }
        Ok(StoreSize { disk_bytes: self.db.size_on_disk()?, live_bytes })
    }

    /// Bytes that it takes on the disk.
    pub fn disk_bytes(&self) -> Result<u64, Error> {
        Ok(self.db.size_on_disk()?)
    }

    /// A number that was not given out before, for an index or a seal.
    pub fn next_number(&self) -> Result<u64, Error> {
        self.change_number(|last| last.checked_add(1).expect("there are enough numbers"))
    }

    /// From now on only numbers above this one are given out.
    pub(crate) fn skip_numbers(&self, used: u64) -> Result<(), Error> {
        self.change_number(|last| last.max(used)).map(drop)
    }

    /// The last number that was given out.
    pub(crate) fn last_number(&self) -> Result<u64, Error> {
        Ok(self.get(&Key::Number)?.unwrap_or_default())
    }

    fn change_number(&self, change: impl Fn(u64) -> u64) -> Result<u64, Error> {
        let key = Key::Number;
        let read = |bytes: Option<&[u8]>| bytes.and_then(u64::from_bytes).unwrap_or_default();
        let changed =
            self.tree(key.tree()).update_and_fetch(key.to_bytes(), |last| Some(change(read(last)).to_bytes()));
        Ok(read(changed?.as_deref()))
    }

    /// All profiles, in the order of their names.
    pub fn profiles(&self) -> Result<Vec<v1::Profile>, Error> {
        self.values(Prefix::all(Tree::Profiles))
    }

    /// All schedules, in the order of their names.
    pub fn schedules(&self) -> Result<Vec<v1::Schedule>, Error> {
        self.values(Prefix::all(Tree::Schedules))
    }

    /// A template, in force or taken back.
    pub fn template(&self, id: u64) -> Result<Option<v1::Template>, Error> {
        self.get(&Key::Template(id))
    }

    /// All templates, those too that were taken back, in the order of their ids.
    pub fn templates(&self) -> Result<Vec<v1::Template>, Error> {
        self.values(Prefix::all(Tree::Templates))
    }

    /// The profile of this name.
    pub fn profile(&self, name: &str) -> Result<Option<v1::Profile>, Error> {
        self.get(&Key::Profile(name.to_owned()))
    }

    /// The schedule of this name.
    pub fn schedule(&self, name: &str) -> Result<Option<v1::Schedule>, Error> {
        self.get(&Key::Schedule(name.to_owned()))
    }

    /// The row of a scan.
    pub fn scan(&self, id: ScanId) -> Result<Option<ScanRow>, Error> {
        self.get(&Key::Scan(id))
    }

    /// All scans, in the order of their ids.
    pub fn scans(&self) -> Result<Vec<(ScanId, ScanRow)>, Error> {
        let id = |key| if let Key::Scan(id) = key { Some(id) } else { None };
        self.rows(Prefix::all(Tree::Scans), id).collect()
    }

    fn tree(&self, tree: Tree) -> &sled::Tree {
        &self.trees[tree as usize]
    }

    fn get<V: Value>(&self, key: &Key) -> Result<Option<V>, Error> {
        debug_assert!(key.value_type().is::<V>(), "{key:?}");
        let value = self.tree(key.tree()).get(key.to_bytes())?;
        value.map(|value| V::from_bytes(&value).ok_or_else(|| self.unreadable(key.tree()))).transpose()
    }

    fn put<V: Value>(&self, key: &Key, value: &V) -> Result<(), Error> {
        debug_assert!(key.value_type().is::<V>(), "{key:?}");
        self.tree(key.tree()).insert(key.to_bytes(), value.to_bytes())?;
        Ok(())
    }

    fn remove(&self, key: &Key) -> Result<(), Error> {
        self.tree(key.tree()).remove(key.to_bytes())?;
        Ok(())
    }

    /// The rows below a prefix in the order of their keys; `name` takes from a key what the caller needs of it.
    fn rows<V: Value, N>(
        &self,
        prefix: Prefix,
        name: impl Fn(Key) -> Option<N>,
    ) -> impl DoubleEndedIterator<Item = Result<(N, V), Error>> {
        let tree = prefix.tree;
        self.tree(tree).scan_prefix(prefix.bytes).map(move |entry| {
            let (key, value) = entry?;
            let key = Key::from_bytes(tree, &key).ok_or_else(|| self.unreadable(tree))?;
            debug_assert!(key.value_type().is::<V>(), "{key:?}");
            name(key).zip(V::from_bytes(&value)).ok_or_else(|| self.unreadable(tree))
        })
    }

    /// The values of the rows below a prefix, in the order of their keys.
    fn values<V: Value>(&self, prefix: Prefix) -> Result<Vec<V>, Error> {
        self.rows(prefix, Some).map(|row| row.map(|(_, value)| value)).collect()
    }

    fn unreadable(&self, tree: Tree) -> Error {
        corrupt(&self.folder, format!("a row of `{}` cannot be read", tree.name()))
    }
}

fn open_trees(db: &sled::Db) -> Result<[sled::Tree; Tree::ALL.len()], Error> {
    let trees = Tree::ALL.iter().map(|tree| db.open_tree(tree.name())).collect::<Result<Vec<_>, _>>()?;
    Ok(trees.try_into().expect("one for each"))
}

fn corrupt(folder: &Path, detail: String) -> Error {
    Error::Corrupt { path: folder.to_owned(), detail }
}

#[cfg(test)]
mod tests;
