//! All indexes of the coordinator: which one a repository has under a method, and the one way to write to it.
//!
//! A worker that restarts an index gives it another epoch; scans use the old one until the new one is
//! sealed, and is replaced in one step. What nothing refers to any more stays until no scan can be reading it.
//!
//! Segments are the record: `adopt` brings the view up to date at every start, `compact` rewrites a segment
//! when much of it is dead, `collect` removes what nothing refers to.

mod adopt;
mod collect;
mod compact;
mod forget;
mod manifests;
mod replay;
mod runs;
mod space;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::SystemTime;

use cognate_durable::whole::{PUBLIC_FOLDER, make_folder};
use cognate_fingerprint::{Key, Method};
use cognate_proto::name::SiteName;
use cognate_proto::v1::{self, SyncSummary};
use prost::Message as _;

pub use self::manifests::Manifest;
use self::manifests::Places;
pub use self::replay::Replay;
pub use self::runs::read_run;
pub use self::space::Space;
pub use self::writer::IndexWriter;
use crate::clock::seconds;
use crate::error::Error;
use crate::index::Index;
use crate::segment::{self, Kind, SealRecord, SegmentHeader, SegmentWriter};
use crate::store::{IndexId, IndexRow, SlotKey, Store};

/// Limits and durability of the indexes.
#[derive(Clone, Copy, Debug)]
pub struct IndexesConfig {
    /// True if an acknowledgement survives a loss of power.
    pub durable: bool,
    /// The clock for the times of seals.
    pub clock: fn() -> SystemTime,
    /// Nothing is taken in while less than this is free.
    pub disk_reserve_bytes: u64,
    /// The most that one site may have here.
    pub quotas: SiteQuotas,
}

/// The most that one site may have at the coordinator, over all its repositories, views and methods; `None`: no limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SiteQuotas {
    /// Bytes of its segments.
    pub bytes: Option<u64>,
    /// Documents.
    pub documents: Option<u64>,
    /// Contents, those too that no document has any more, until their segment is compacted.
    pub contents: Option<u64>,
    /// Bytes of the paths of its documents.
    pub name_bytes: Option<u64>,
}

/// The documents inside of other documents that an index may have, and the bytes of their paths; `None`: any number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InsideQuota {
    /// Documents.
    pub documents: Option<u64>,
    /// Bytes of their paths.
    pub path_bytes: Option<u64>,
}

impl SiteQuotas {
    /// What documents inside of others may have in an index of a site that has `beside` in its other ones: a third of what is left, and never
    /// nothing. A segment has at most twice what is live in it, and a push may bring as much again: so archives whose members change each
    /// time do not exceed a quota either.
    fn inside(&self, beside: &space::Held) -> InsideQuota {
        let third = |quota: Option<u64>, beside: u64| quota.map(|quota| (quota.saturating_sub(beside) / 3).max(1));
        let documents = third(self.documents, beside.documents);
        let contents = third(self.contents, beside.contents);
        InsideQuota {
            // Each may have a content of its own.
            documents: [documents, contents].into_iter().flatten().min(),
            path_bytes: third(self.name_bytes, beside.name_bytes),
        }
    }
}

/// Bytes of memory that indexes which were just written may take until a scan reads them.
const LOADED_BYTES_MAX: u64 = 256 << 20;

/// The indexes and their folder.
pub struct Indexes {
    store: Arc<Store>,
    folder: PathBuf,
    config: IndexesConfig,
    /// Sealed indexes that are in memory because they were just written: a scan need not read them again.
    loaded: Mutex<HashMap<IndexId, Arc<Index>>>,
    busy: Mutex<HashMap<SlotKey, Busy>>,
    /// Notified when an index is no longer busy.
    released: Condvar,
    /// Summaries of syncs whose indexes were being written at that moment: the next seal writes them, or else the
    /// writer that releases the index.
    pending_summaries: Mutex<HashMap<SlotKey, SyncSummary>>,
    /// Indexes that were compacted under another number.
    compacted: Mutex<HashMap<IndexId, IndexId>>,
    /// Repositories whose indexes are being read outside of scans.
    holds: Mutex<Vec<Weak<Hold>>>,
    /// Positions of contents in the indexes that were read, the latest index first.
    places: Mutex<Vec<Arc<Places>>>,
    /// Held while a slot gets another index, and while what no slot refers to is removed.
    switching: Mutex<()>,
}

/// Why an index is busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Busy {
    /// A site pushes it.
    Writing,
    /// The index is being compacted, or a summary is being written to it: pushes wait.
    Tidying,
}

/// A sealed index, as a scan sees it.
pub struct Sealed {
    /// The number of the index.
    pub id: IndexId,
    /// The last batch that the seal covers.
    pub sequence: u64,
}

impl Indexes {
    /// Opens the folder of segments and runs, brings the view level with the segments, and sweeps out what nothing
    /// refers to.
    pub(crate) fn open(store: Arc<Store>, folder: &Path, config: IndexesConfig) -> Result<Indexes, Error> {
        if config.durable {
            make_folder(folder, PUBLIC_FOLDER).map_err(Error::state(folder))?;
        } else {
            std::fs::create_dir_all(folder).map_err(Error::state(folder))?;
        }
        let indexes = Indexes {
            store,
            folder: folder.to_owned(),
            config,
            loaded: Mutex::default(),
            busy: Mutex::default(),
            released: Condvar::new(),
            pending_summaries: Mutex::default(),
            compacted: Mutex::default(),
            holds: Mutex::default(),
            places: Mutex::default(),
            switching: Mutex::default(),
        };
        indexes.catch_up()?;
        indexes.sweep()?;
        Ok(indexes)
    }

    /// The epoch of an index: what its site chose when it began it.
    pub fn epoch(&self, id: IndexId) -> Result<u64, Error> {
        Ok(self.row(id)?.epoch)
    }

    /// The sealed index of a repository under a method, where there is one.
    pub fn sealed(&self, key: &SlotKey) -> Result<Option<Sealed>, Error> {
        let id = IndexId(self.store.slot(key)?.current);
        let row = if id.0 == 0 { None } else { self.store.index(id)? };
        Ok(row.filter(|row| row.sealed).map(|row| Sealed { id, sequence: row.sealed_sequence }))
    }

    /// Protects the indexes of these repositories, and their successors, from removal until the returned value
    /// is dropped.
    pub fn hold(&self, repositories: impl Iterator<Item = (String, String)>) -> Arc<Hold> {
        let hold = Arc::new(Hold { repositories: repositories.collect() });
        lock(&self.holds).push(Arc::downgrade(&hold));
        hold
    }

    /// Every index that a slot refers to, with whose it is.
    pub fn all(&self) -> Result<Vec<(SlotKey, IndexId, IndexRow)>, Error> {
        let mut all = Vec::new();
        for (key, slot) in self.store.slots()? {
            for id in [slot.current, slot.pending].into_iter().filter(|id| *id > 0).map(IndexId) {
                if let Some(row) = self.store.index(id)? {
                    all.push((key.clone(), id, row));
                }
            }
        }
        Ok(all)
    }

    /// Messages and bytes received and stored of a site's indexes, by this coordinator's own count, for comparison with
    /// the site's ledger.
    pub fn received(&self, site: &SiteName) -> Result<Vec<v1::ReceivedIndex>, Error> {
        let all = self.all()?;
        Ok(all.iter().filter(|(key, ..)| key.site == *site).map(|(key, _, row)| row.received(key)).collect())
    }

    /// The site's fingerprint of a known text at the last seal; empty if it sent none.
    pub fn canary(&self, id: IndexId) -> Result<Vec<u8>, Error> {
        Ok(self.row(id)?.seal.map(|seal| seal.canary).unwrap_or_default())
    }

    /// Time of the last seal of an index; seconds since 1970, 0: never.
    pub fn sealed_at(&self, id: IndexId) -> Result<i64, Error> {
        Ok(self.row(id)?.seal.map_or(0, |seal| seal.time))
    }

    /// Method of a repository's index, if there is one.
    pub fn method_of(&self, key: &SlotKey) -> Result<Option<Method>, Error> {
        let slot = self.store.slot(key)?;
        for id in [slot.current, slot.pending].into_iter().filter(|id| *id > 0).map(IndexId) {
            if let Some(method) = self.row(id)?.header.and_then(|header| header.method) {
                return Method::try_from(&method).map(Some).map_err(|error| Error::Invalid(error.to_string()));
            }
        }
        Ok(None)
    }

    /// Summary that the last sync sent next to the index.
    pub fn summary(&self, id: IndexId) -> Result<SyncSummary, Error> {
        let row = self.row(id)?;
        let summary = row.key().and_then(|key| lock(&self.pending_summaries).get(&key).cloned());
        Ok(summary.or(row.summary).unwrap_or_default())
    }

    /// Stores a sync's summary in the segment of its index, since nothing else holds it.
    pub fn put_summary(self: &Arc<Indexes>, id: IndexId, summary: &SyncSummary) -> Result<(), Error> {
        let summary = SyncSummary { read_bytes: 0, read_documents: 0, sent_bytes: 0, ..summary.clone() };
        let id = self.present(id);
        let row = self.row(id)?;
        let (Some(key), Some(header)) = (row.key(), row.header) else { return Err(self.nameless(id)) };
        let lease = {
            // Under one lock, so that a writer either sees the summary in time or has released the index.
            let mut busy = lock(&self.busy);
            if busy.contains_key(&key) {
                lock(&self.pending_summaries).insert(key, summary);
                return Ok(());
            }
            busy.insert(key.clone(), Busy::Tidying);
            Lease { indexes: Arc::clone(self), key }
        };
        let id = self.present(id);
        let mut row = self.row(id)?;
        lock(&self.pending_summaries).remove(&lease.key);
        if row.summary.as_ref() == Some(&summary) || !row.sealed {
            return Ok(());
        }
        row.summary = Some(summary);
        // After batches that are not sealed, a seal would say something else; the next one takes the summary along.
        if row.committed_sequence == row.sealed_sequence {
            let path = self.segment_path(id);
            let segment = SegmentWriter::open(&path, &header, row.segment_bytes, self.config.durable);
            let mut segment = self.store.watched(segment)?;
            row.append_seal(&mut segment)?;
            row.segment_bytes = self.store.watched(segment.commit())?;
        }
        self.store.watched(self.store.put_index(id, &row))
    }

    fn put_pending_summary(self: &Arc<Indexes>, key: &SlotKey, summary: &SyncSummary) -> Result<(), Error> {
        let sealed = self.sealed(key)?;
        sealed.map_or(Ok(()), |sealed| self.put_summary(sealed.id, summary))
    }

    /// The number under which an index is now.
    fn present(&self, mut id: IndexId) -> IndexId {
        let compacted = lock(&self.compacted);
        while let Some(next) = compacted.get(&id) {
            id = *next;
        }
        id
    }

    /// An index as it was after a batch, from memory or from its segment.
    pub fn load(&self, id: IndexId, sequence: u64) -> Result<Arc<Index>, Error> {
        let row = self.row(id)?;
        if let Some(key) = row.key() {
            self.store.put_used(&key, seconds((self.config.clock)()))?;
        }
        if let Some(index) = lock(&self.loaded).get(&id).filter(|index| index.sequence() == sequence) {
            return Ok(Arc::clone(index));
        }
        let mut replay = Replay::new(&self.segment_path(id), row.chunk_bytes_max);
        segment::read(&self.segment_path(id), row.segment_bytes, |record| {
            if record.sequence <= sequence { replay.take(&record, |_, _| {}) } else { Ok(()) }
        })?;
        Ok(Arc::new(replay.index))
    }

    /// Keeps an index in memory that was just written, as far as there is room: larger ones make way first.
    fn keep_loaded(&self, id: IndexId, index: Index) {
        let mut loaded = lock(&self.loaded);
        loaded.insert(id, Arc::new(index));
        let bytes =
            |loaded: &HashMap<IndexId, Arc<Index>>| loaded.values().map(|index| index.memory_bytes()).sum::<u64>();
        while bytes(&loaded) > LOADED_BYTES_MAX {
            let largest = loaded.iter().max_by_key(|(id, index)| (index.memory_bytes(), **id)).map(|(id, _)| *id);
            largest.into_iter().for_each(|id| drop(loaded.remove(&id)));
        }
    }

    /// Lets go of indexes that are in memory.
    pub fn unload(&self, id: IndexId) {
        lock(&self.loaded).remove(&id);
    }

    /// Opens the index of a key for writing, under the worker's epoch.
    ///
    /// # Errors
    /// Fails if another push is writing it, or the store fails. A damaged segment is not an error: it is quarantined,
    /// and the worker learns that the coordinator has no index.
    pub fn writer(self: &Arc<Indexes>, key: SlotKey, epoch: u64, method: &Method) -> Result<IndexWriter, Error> {
        self.store.check_alive()?;
        let lease = self.lease(key)?;
        let (id, row) = self.writable(&lease.key, epoch, method)?;
        IndexWriter::open(lease, id, row)
    }

    /// Takes the right to write an index, after this side has done with it. Blocks for as long as that takes.
    fn lease(self: &Arc<Indexes>, key: SlotKey) -> Result<Lease, Error> {
        let mut busy = lock(&self.busy);
        loop {
            match busy.get(&key) {
                None => break,
                Some(Busy::Writing) => {
                    return Err(Error::Busy(format!("{}/{} is being pushed already", key.site, key.repository)));
                }
                Some(Busy::Tidying) => busy = self.released.wait(busy).expect("no critical section panics"),
            }
        }
        busy.insert(key.clone(), Busy::Writing);
        Ok(Lease { indexes: Arc::clone(self), key })
    }

    /// The same for what can be put off.
    fn lease_to_tidy(self: &Arc<Indexes>, key: &SlotKey) -> Option<Lease> {
        let mut busy = lock(&self.busy);
        if busy.contains_key(key) {
            return None;
        }
        busy.insert(key.clone(), Busy::Tidying);
        Some(Lease { indexes: Arc::clone(self), key: key.clone() })
    }

    /// Returns the index that a push under this epoch goes to: the current one, or a new one next to it.
    fn writable(&self, key: &SlotKey, epoch: u64, method: &Method) -> Result<(IndexId, IndexRow), Error> {
        let mut slot = self.store.slot(key)?;
        for id in [slot.current, slot.pending].into_iter().filter(|id| *id > 0).map(IndexId) {
            if let Some(row) = self.store.index(id)?.filter(|row| row.epoch == epoch) {
                return Ok((id, row));
            }
        }
        let abandoned = slot.pending;
        let id = self.store.next_index_id()?;
        let row = IndexRow::begun(begin(key, epoch, method));
        slot.pending = id.0;
        let switching = lock(&self.switching);
        self.store.put_index(id, &row)?;
        self.store.put_slot(key, &slot)?;
        drop(switching);
        if abandoned > 0 {
            self.delete(IndexId(abandoned))?;
        }
        Ok((id, row))
    }

    fn row(&self, id: IndexId) -> Result<IndexRow, Error> {
        let path = self.segment_path(id);
        self.store.index(id)?.ok_or_else(|| Error::Corrupt { path, detail: "the store has no row for it".into() })
    }

    fn nameless(&self, id: IndexId) -> Error {
        Error::Corrupt { path: self.segment_path(id), detail: "nothing says whose it is".to_owned() }
    }

    fn segment_path(&self, id: IndexId) -> PathBuf {
        self.folder.join(format!("{}.seg", id.0))
    }

    fn run_path(&self, id: IndexId, number: u64) -> PathBuf {
        self.folder.join(format!("{}.{number}.run", id.0))
    }
}

impl IndexRow {
    fn begun(header: SegmentHeader) -> IndexRow {
        let (epoch, chunk_bytes_max) = (header.epoch, header.chunk_bytes_max);
        IndexRow { epoch, chunk_bytes_max, header: Some(header), head: vec![0; 32], ..IndexRow::default() }
    }

    /// Whose index it is.
    pub(crate) fn key(&self) -> Option<SlotKey> {
        self.header.as_ref().and_then(SlotKey::of)
    }

    /// The row says what the index is after its last batch.
    fn take(&mut self, index: &Index) {
        self.committed_sequence = index.sequence();
        self.head = index.head().to_vec();
        self.body_bytes = index.body_bytes();
        self.ordinals = index.ordinals();
        self.documents = index.documents.len() as u64;
        self.name_bytes = index.name_bytes();
        self.size_bytes = index.size_bytes();
    }

    /// Writes the seal once more, with the sync's summary.
    fn append_seal(&self, segment: &mut SegmentWriter) -> Result<(), Error> {
        let seal = SealRecord { summary: self.summary.clone(), ..self.seal.clone().unwrap_or_default() };
        segment.append_record(Kind::Seal, self.sealed_sequence, &seal.encode_to_vec())
    }

    fn received(&self, key: &SlotKey) -> v1::ReceivedIndex {
        v1::ReceivedIndex {
            repository: key.repository.to_string(),
            method_id: key.method_id.0.to_vec(),
            epoch: self.epoch,
            batches: self.committed_sequence,
            body_bytes: self.body_bytes,
            head: self.head.clone(),
        }
    }
}

/// Repositories whose indexes stay, by site.
pub struct Hold {
    repositories: Vec<(String, String)>,
}

/// The right to write an index, given back when dropped.
struct Lease {
    indexes: Arc<Indexes>,
    key: SlotKey,
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.indexes.busy).remove(&self.key);
        self.indexes.released.notify_all();
        // A summary that came until now and that no seal has written. It is removed in a statement of its own: the lock
        // must not be held while it is written.
        let summary = lock(&self.indexes.pending_summaries).remove(&self.key);
        if let Some(summary) = summary
            && let Err(error) = self.indexes.put_pending_summary(&self.key, &summary)
        {
            tracing::warn!(%error, "the summary of a sync cannot be stored");
        }
    }
}

/// The row of an index of which nothing is left.
fn begin_again(row: &IndexRow) -> IndexRow {
    IndexRow::begun(row.header.clone().unwrap_or_default())
}

fn begin(key: &SlotKey, epoch: u64, method: &Method) -> SegmentHeader {
    SegmentHeader {
        site: key.site.to_string(),
        repository: key.repository.to_string(),
        method: Some(v1::MethodSpec { method_id: key.method_id.0.to_vec(), ..method.into() }),
        epoch,
        chunk_bytes_max: method.chunk_bytes_max(),
        keyed: key.method_id != method.id(&Key::none()),
        scope: key.scope.map(|scope| scope.0.to_vec()).unwrap_or_default(),
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(path)(error)),
        _ => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The critical sections only move values in and out of maps, and into and out of the store: they do not panic.
    mutex.lock().expect("no critical section panics")
}

#[cfg(test)]
pub(crate) mod tests;
