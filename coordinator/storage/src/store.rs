//! The small transactional view: parties and sites, where each index stands, and the scans. sled is named here only.
//!
//! It is an index, never the record: segments are. Values are a version byte and an encoded row. Trees:
//!
//! | tree | key | value | lives |
//! |---|---|---|---|
//! | `meta` | `schema` | u32 | as long as the state |
//! | `meta` | `journal` | how much of the journal the view includes: bytes (u64) and head (32) | as long as the state |
//! | `meta` | `number` | the last number that was given out, u64 | as long as the state |
//! | `member` | kind, name | [`MemberRow`] | until the member is forgotten |
//! | `seen` | site | [`SeenRow`] | until the site is forgotten; not in the journal |
//! | `slot` | site, 0, repository, 0, method id, scope where there is one | [`SlotRow`] | until the repository is forgotten |
//! | `used` | the same | when it was last analysed, i64 | as long as its slot; not in the journal |
//! | `index` | index id, big-endian | [`IndexRow`] | until another epoch of the slot is sealed |
//! | `scan` | scan id, big-endian | [`ScanRow`] | until the scan is deleted |
//! | `profile`, `schedule` | name | as on the wire | until it is removed |
//! | `watch`, `case` | name | as on the wire | until it is removed; as long as the state |
//! | `watched` | watch, 0, site, 0, repository, 0 | [`WatchedRow`] | until the watch is removed; not in the journal |
//! | `template` | template id, big-endian | as on the wire | as long as the state: scans refer to those that were taken back |
//! | `verdict` | kind, view or tier, 16 bytes | [`crate::verdict::VerdictRow`] | until it is taken back |
//! | `verdict_action` | action (u64), part (u32), big-endian | [`crate::verdict::ActionRow`] | as long as the state |
//! | `saved_filter` | name | [`crate::verdict::SavedFilter`] | until it is removed |
//! | `verdict_log` | number, big-endian | key of the action that was done or undone | as long as the state |
//!
//! Members, scans, profiles, schedules, templates, verdicts, watches and cases change only through [`Store::record`], which writes the journal first. What a
//! crash kept from the view is taken from the journal when it is opened; what the segments hold, `indexes` takes from them.

mod apply;
mod indexes;
mod members;
mod verdicts;
mod watches;

use std::collections::HashSet;
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use cognate_proto::name::ScanId;
use cognate_proto::v1;
use prost::Message;
use tokio::sync::watch;

use self::members::member_key;
use crate::error::Error;
use crate::journal::{Journal, Position};
pub use crate::rows::{
    FrozenRow, IndexId, IndexRow, LayerRow, MemberRow, MissingRow, RunRow, ScanRow, ScanStep, SeenRow, SlotKey,
    SlotRow, WatchedRow,
};

/// The version of the rows, and that of a store with places for parts of repositories, which versions before this one would
/// take for places of whole ones.
const SCHEMA: u32 = 2;
const SCHEMA_PARTS: u32 = 3;
const MEMORY_BYTES: u64 = 64 << 20;

/// The open store.
pub struct Store {
    db: sled::Db,
    /// sled's own file: flushing sled does not bring it to the disk, syncing this does.
    db_file: File,
    folder: PathBuf,
    durable: bool,
    /// Why nothing is written any more, once that is so.
    failed: watch::Sender<Option<String>>,
    /// Held over the journal and the view together, so that both have the same order. None where nothing is recorded.
    journal: Mutex<Option<Journal>>,
    meta: sled::Tree,
    members: sled::Tree,
    seen: sled::Tree,
    used: sled::Tree,
    profiles: sled::Tree,
    schedules: sled::Tree,
    templates: sled::Tree,
    verdicts: sled::Tree,
    verdict_actions: sled::Tree,
    verdict_log: sled::Tree,
    saved_filters: sled::Tree,
    /// The last number of the log; 0: it was not asked for yet.
    verdict_count: AtomicU64,
    watches: sled::Tree,
    watched: sled::Tree,
    cases: sled::Tree,
    slots: sled::Tree,
    indexes: sled::Tree,
    scans: sled::Tree,
}

/// How the view takes room.
#[derive(Clone, Copy, Debug)]
pub struct StoreSize {
    pub(crate) disk_bytes: u64,
    /// What its keys and values come to.
    pub(crate) live_bytes: u64,
}

impl Store {
    /// Opens or makes the store beside its journal, and brings it level with that. `durable`: whether what
    /// [`Store::barrier`] answers for survives a loss of power.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the store's own path when it must be made anew from the journal and the segments.
    pub fn open(folder: &Path, journal: &Path, durable: bool) -> Result<Store, Error> {
        let mut missed = Vec::new();
        let mut passed = HashSet::new();
        // The journal first: where it is damaged, nothing else is touched.
        let known = journal.try_exists().map_err(Error::state(journal))?;
        let opened = Journal::open(journal, durable, |event, position| {
            missed.push((event, position));
            passed.insert(position);
            Ok(())
        })?;
        let store = Store::open_view(folder, Some(opened), durable)?;
        store.check_schema()?;
        let applied = store.applied()?;
        if !known && applied != Position::default() {
            let detail = "it is gone, and the store alone knows what it said: restore a backup, or begin anew with \
                          `cognate coordinator rebuild`";
            std::fs::remove_file(journal).map_err(Error::state(journal))?;
            return Err(Error::Corrupt { path: journal.to_owned(), detail: detail.to_owned() });
        }
        if applied != Position::default() && !passed.contains(&applied) {
            return Err(corrupt(folder, "it does not follow from the journal".to_owned()));
        }
        let behind = missed.iter().filter(|(_, position)| position.end > applied.end);
        for (event, position) in behind {
            store.apply(event)?;
            store.put_applied(*position)?;
        }
        store.barrier()?;
        Ok(store)
    }

    /// Places from which the journal can be read on, in their order.
    pub fn journal_marks(&self) -> Vec<Position> {
        let journal = self.journal.lock().expect("nothing panics while it is held");
        journal.as_ref().map(|journal| journal.marks().to_vec()).unwrap_or_default()
    }

    /// Opens a store that is there, to look at it: nothing is brought level with anything.
    pub(crate) fn inspect(folder: &Path) -> Result<Store, Error> {
        let store = Store::open_view(folder, None, false)?;
        store.check_schema()?;
        Ok(store)
    }

    /// Opens sled and reads all of it: damage that showed only later would come at a worse time.
    fn open_view(folder: &Path, journal: Option<Journal>, durable: bool) -> Result<Store, Error> {
        let config = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).mode(sled::Mode::LowSpace);
        let open = || -> Result<Store, Error> {
            let db = config.open()?;
            let store = Store {
                db_file: File::open(folder.join("db")).map_err(Error::state(folder.join("db")))?,
                journal: Mutex::new(journal),
                failed: watch::Sender::new(None),
                meta: db.open_tree("meta")?,
                members: db.open_tree("member")?,
                seen: db.open_tree("seen")?,
                used: db.open_tree("used")?,
                profiles: db.open_tree("profile")?,
                schedules: db.open_tree("schedule")?,
                templates: db.open_tree("template")?,
                verdicts: db.open_tree("verdict")?,
                verdict_actions: db.open_tree("verdict_action")?,
                verdict_log: db.open_tree("verdict_log")?,
                saved_filters: db.open_tree("saved_filter")?,
                verdict_count: AtomicU64::new(0),
                watches: db.open_tree("watch")?,
                watched: db.open_tree("watched")?,
                cases: db.open_tree("case")?,
                slots: db.open_tree("slot")?,
                indexes: db.open_tree("index")?,
                scans: db.open_tree("scan")?,
                folder: folder.to_owned(),
                durable,
                db,
            };
            store.check_rows()?;
            Ok(store)
        };
        // Damage can show as a panic in sled's depths.
        match std::panic::catch_unwind(AssertUnwindSafe(open)) {
            Ok(Err(Error::Store(sled::Error::Io(error)))) if error.to_string().contains("lock") => {
                Err(Error::Locked { path: folder.to_owned() })
            }
            // What the system refuses (room, rights, descriptors) is no damage.
            Ok(Err(Error::Store(sled::Error::Io(error)))) if error.raw_os_error().is_some() => {
                Err(Error::state(folder)(error))
            }
            Ok(Err(Error::Store(error))) => Err(corrupt(folder, error.to_string())),
            Ok(opened) => opened,
            Err(_) => Err(corrupt(folder, "sled panicked while it opened".to_owned())),
        }
    }

    fn check_schema(&self) -> Result<(), Error> {
        match self.meta.get("schema")?.map(|bytes| bytes.as_ref().try_into().map(u32::from_be_bytes)) {
            None if self.indexes.is_empty() && self.members.is_empty() => {
                self.meta.insert("schema", &SCHEMA.to_be_bytes())?;
            }
            None => return Err(corrupt(&self.folder, "the schema is gone".to_owned())),
            Some(Ok(SCHEMA | SCHEMA_PARTS)) => {}
            Some(Ok(found)) if found < SCHEMA => {
                return Err(Error::OtherVersion { path: self.folder.clone(), found, known: SCHEMA });
            }
            Some(Ok(found)) => {
                return Err(Error::OtherVersion { path: self.folder.clone(), found, known: SCHEMA_PARTS });
            }
            Some(Err(_)) => return Err(corrupt(&self.folder, "the schema is not a number".to_owned())),
        }
        Ok(())
    }

    /// Reads every row once.
    fn check_rows(&self) -> Result<(), Error> {
        if let Some(schema) = self.meta.get("schema")?
            && ![SCHEMA, SCHEMA_PARTS].iter().any(|known| *schema == known.to_be_bytes())
        {
            // Rows of another version say nothing here; who opened this hears of the version.
            return Ok(());
        }
        self.all::<MemberRow>(&self.members)?;
        self.all::<SeenRow>(&self.seen)?;
        self.all::<v1::Profile>(&self.profiles)?;
        self.all::<v1::Schedule>(&self.schedules)?;
        self.templates()?;
        self.verdicts().try_for_each(|row| row.map(drop))?;
        self.verdict_actions().try_for_each(|row| row.map(drop))?;
        self.saved_filters()?;
        self.watches()?;
        self.all::<WatchedRow>(&self.watched)?;
        self.cases()?;
        self.slots()?;
        self.indexes()?;
        self.scans()?;
        Ok(())
    }

    fn all<T: Message + Default>(&self, tree: &sled::Tree) -> Result<Vec<T>, Error> {
        tree.iter().map(|entry| self.decode(&entry?.1)).collect()
    }

    /// Where the journal stood when the view last took something from it.
    pub(crate) fn applied(&self) -> Result<Position, Error> {
        let Some(bytes) = self.meta.get("journal")? else { return Ok(Position::default()) };
        let position = bytes
            .split_first_chunk()
            .and_then(|(end, head)| Some(Position { end: u64::from_be_bytes(*end), head: head.try_into().ok()? }));
        position.ok_or_else(|| corrupt(&self.folder, "its place in the journal cannot be read".to_owned()))
    }

    fn put_applied(&self, position: Position) -> Result<(), Error> {
        self.meta.insert("journal", [&position.end.to_be_bytes()[..], &position.head].concat())?;
        Ok(())
    }

    /// Returns once everything written before survives a crash: a flush of sled, and a real sync of its file, since the
    /// flush alone leaves it to the operating system when the bytes reach the disk.
    pub(crate) fn barrier(&self) -> Result<(), Error> {
        self.check_alive()?;
        if self.durable {
            self.watched(self.db.flush().map(drop).map_err(Error::from))?;
            crate::failpoint!("ingest.after_flush");
            self.watched(self.db_file.sync_all().map_err(Error::sync(self.folder.join("db"))))?;
        }
        Ok(())
    }

    /// Looks at what became of something written: after an error that leaves open what is on the disk, nothing is written
    /// any more.
    pub(crate) fn watched<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result
            && error.is_fatal()
        {
            tracing::error!(%error, "the disk failed: nothing is acknowledged any more");
            self.failed.send_if_modified(|failed| failed.replace(error.to_string()).is_none());
        }
        result
    }

    /// Refuses where writing has ended.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        match &*self.failed.borrow() {
            Some(reason) => Err(Error::Stopped(reason.clone())),
            None => Ok(()),
        }
    }

    /// Why nothing is written any more, where that is so. Whoever hears of it ends the process: only a fresh start can
    /// know what is on the disk.
    pub fn failed(&self) -> watch::Receiver<Option<String>> {
        self.failed.subscribe()
    }

    /// How the view takes room.
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

    /// What it takes on the disk.
    pub fn disk_bytes(&self) -> Result<u64, Error> {
        Ok(self.db.size_on_disk()?)
    }

    /// A number that was not given out before, for an index or a seal.
    pub fn next_number(&self) -> Result<u64, Error> {
        let next = self.meta.update_and_fetch("number", |last| {
            Some((number(last).checked_add(1).expect("there are enough numbers")).to_be_bytes().to_vec())
        })?;
        Ok(number(next.as_deref()))
    }

    /// From now on only numbers above this one are given out.
    pub(crate) fn skip_numbers(&self, used: u64) -> Result<(), Error> {
        self.meta.update_and_fetch("number", |last| Some(number(last).max(used).to_be_bytes().to_vec()))?;
        Ok(())
    }

    /// The last number that was given out.
    pub(crate) fn last_number(&self) -> Result<u64, Error> {
        Ok(number(self.meta.get("number")?.as_deref()))
    }

    /// All profiles, in the order of their names.
    pub fn profiles(&self) -> Result<Vec<v1::Profile>, Error> {
        self.profiles.iter().map(|entry| self.decode(&entry?.1)).collect()
    }

    /// All schedules, in the order of their names.
    pub fn schedules(&self) -> Result<Vec<v1::Schedule>, Error> {
        self.schedules.iter().map(|entry| self.decode(&entry?.1)).collect()
    }

    /// A template, in force or taken back.
    pub fn template(&self, id: u64) -> Result<Option<v1::Template>, Error> {
        self.get(&self.templates, &id.to_be_bytes())
    }

    /// All templates, those too that were taken back, in the order of their ids.
    pub fn templates(&self) -> Result<Vec<v1::Template>, Error> {
        self.all(&self.templates)
    }

    /// The profile of this name.
    pub fn profile(&self, name: &str) -> Result<Option<v1::Profile>, Error> {
        self.get(&self.profiles, name.as_bytes())
    }

    /// The schedule of this name.
    pub fn schedule(&self, name: &str) -> Result<Option<v1::Schedule>, Error> {
        self.get(&self.schedules, name.as_bytes())
    }

    /// The row of a scan.
    pub fn scan(&self, id: ScanId) -> Result<Option<ScanRow>, Error> {
        self.get(&self.scans, &id.0.to_be_bytes())
    }

    /// All scans, in the order of their ids.
    pub fn scans(&self) -> Result<Vec<(ScanId, ScanRow)>, Error> {
        let mut scans = Vec::new();
        for entry in self.scans.iter() {
            let (key, value) = entry?;
            let id = key.as_ref().try_into().map(u64::from_be_bytes);
            let id = id.map_err(|_| corrupt(&self.folder, "a scan's key is not a number".to_owned()))?;
            scans.push((ScanId(id), self.decode(&value)?));
        }
        Ok(scans)
    }

    fn get<T: Message + Default>(&self, tree: &sled::Tree, key: &[u8]) -> Result<Option<T>, Error> {
        tree.get(key)?.map(|value| self.decode(&value)).transpose()
    }

    fn decode<T: Message + Default>(&self, value: &[u8]) -> Result<T, Error> {
        let row = value.split_first().filter(|(version, _)| **version == 1).and_then(|(_, row)| T::decode(row).ok());
        row.ok_or_else(|| corrupt(&self.folder, "a row cannot be read".to_owned()))
    }
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

fn put(tree: &sled::Tree, key: &[u8], row: &impl Message) -> Result<(), Error> {
    let mut value = vec![1];
    row.encode(&mut value).expect("a vector takes everything");
    tree.insert(key, value)?;
    Ok(())
}

fn corrupt(folder: &Path, detail: String) -> Error {
    Error::Corrupt { path: folder.to_owned(), detail }
}

#[cfg(test)]
mod tests;
