//! All indexes of the coordinator: which one a repository has under a method, and the one way to write to it.
//!
//! A worker that begins an index anew gives it another epoch; the old one goes on being analysed until the new one is
//! sealed, and is replaced in one step.

mod pins;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_fingerprint::{ContentDigest, Method};
use cognate_proto::batch::{Batch, body_digest};
use cognate_proto::root::Root;
use cognate_proto::v1::SyncSummary;
use cognate_similarity::{Run, RunRecord, SHARDS, WriteRun, write_run};

pub(crate) use self::pins::Pin;
use self::pins::Pins;
use crate::error::Error;
use crate::index::Index;
use crate::segment::{self, SegmentWriter};
use crate::store::{IndexId, IndexRow, RunRow, SlotKey, SlotRow, Store};

/// Postings are sorted and written as a run once there are this many: about 14 MB of memory.
const RUN_RECORDS_MAX: usize = 512 * 1024;

/// The indexes and where they lie.
pub(crate) struct Indexes {
    store: Arc<Store>,
    folder: PathBuf,
    durable: bool,
    /// Sealed indexes that are in memory because they were just written: a scan need not read them again.
    loaded: Mutex<HashMap<IndexId, Arc<Index>>>,
    busy: Mutex<HashSet<SlotKey>>,
    /// What scans hold on to.
    pins: Pins,
}

/// A sealed index, as a scan sees it.
pub(crate) struct Sealed {
    pub(crate) id: IndexId,
    pub(crate) sequence: u64,
}

impl Indexes {
    /// Opens the folder of segments and runs, and sweeps out what nothing refers to.
    pub(crate) fn open(store: Arc<Store>, folder: &Path, durable: bool) -> Result<Indexes, Error> {
        std::fs::create_dir_all(folder).map_err(Error::state(folder))?;
        let indexes = Indexes {
            store,
            folder: folder.to_owned(),
            durable,
            loaded: Mutex::default(),
            busy: Mutex::default(),
            pins: Pins::default(),
        };
        indexes.sweep()?;
        Ok(indexes)
    }

    /// The sealed index of a repository under a method, where there is one.
    pub(crate) fn sealed(&self, key: &SlotKey) -> Result<Option<Sealed>, Error> {
        let id = IndexId(self.store.slot(key)?.current);
        let row = if id.0 == 0 { None } else { self.store.index(id)? };
        Ok(row.filter(|row| row.sealed).map(|row| Sealed { id, sequence: row.sealed_sequence }))
    }

    /// Holds on to an index as it is after a batch.
    pub(crate) fn pin(self: &Arc<Indexes>, id: IndexId, sequence: u64) -> Pin {
        Pin::new(self, id, sequence)
    }

    /// What the site said a known text becomes when the index was last sealed; nothing: it did not say.
    pub(crate) fn canary(&self, id: IndexId) -> Result<Vec<u8>, Error> {
        Ok(self.row(id)?.canary)
    }

    /// What the last sync told beside the index.
    pub(crate) fn summary(&self, id: IndexId) -> Result<SyncSummary, Error> {
        Ok(self.row(id)?.summary.unwrap_or_default())
    }

    /// Keeps what a sync told beside the index.
    pub(crate) fn put_summary(&self, id: IndexId, summary: &SyncSummary) -> Result<(), Error> {
        let mut row = self.row(id)?;
        row.summary = Some(SyncSummary { read_bytes: 0, read_documents: 0, sent_bytes: 0, ..summary.clone() });
        self.store.put_index(id, &row)
    }

    /// An index as it was after a batch, from memory or from its segment.
    pub(crate) fn load(&self, id: IndexId, sequence: u64) -> Result<Arc<Index>, Error> {
        if let Some(index) = lock(&self.loaded).get(&id).filter(|index| index.sequence() == sequence) {
            return Ok(Arc::clone(index));
        }
        let row = self.row(id)?;
        let mut index = Index::default();
        segment::read(&self.segment_path(id), row.segment_bytes, |record| {
            if record.sequence <= sequence {
                let batch = self.decode(id, &record.body, row.chunk_bytes_max)?;
                index.apply(record.digest, &batch, |_, _| {});
            }
            Ok(())
        })?;
        Ok(Arc::new(index))
    }

    /// Lets go of indexes that are in memory.
    pub(crate) fn unload(&self, id: IndexId) {
        lock(&self.loaded).remove(&id);
    }

    /// The runs that hold the postings of an index up to a batch.
    pub(crate) fn runs(&self, id: IndexId, sequence: u64) -> Result<Vec<Run>, Error> {
        let open = || -> Result<Vec<Run>, Error> {
            let row = self.row(id)?;
            let included = row.runs.iter().filter(|run| run.last_sequence <= sequence);
            included.map(|run| Ok(Run::open(&self.run_path(id, run.number))?)).collect()
        };
        match open() {
            Err(Error::Analysis(error)) => {
                tracing::warn!(%error, "the runs are made anew from the segment");
                self.rebuild_runs(id)?;
                open()
            }
            opened => opened,
        }
    }

    /// Opens the index of a key for writing, under the worker's epoch.
    ///
    /// # Errors
    /// When somebody else is writing it, or the store fails. A damaged segment is not an error: it is set aside, and the
    /// worker is told that nothing is here.
    pub(crate) fn writer(self: &Arc<Indexes>, key: SlotKey, epoch: u64, method: &Method) -> Result<IndexWriter, Error> {
        if !lock(&self.busy).insert(key.clone()) {
            return Err(Error::Busy(format!("{}/{} is being pushed already", key.site, key.repository)));
        }
        let lease = Lease { indexes: Arc::clone(self), key };
        let (id, mut row) = self.writable(&lease.key, epoch, method)?;
        if row.runs.iter().any(|run| Run::open(&self.run_path(id, run.number)).is_err()) {
            tracing::warn!(index = id.0, "a run is damaged or gone: the runs are made anew from the segment");
            match self.rebuild_runs(id) {
                // A damaged segment is dealt with below.
                Ok(()) | Err(Error::Corrupt { .. }) => row = self.row(id)?,
                Err(error) => return Err(error),
            }
        }
        let (index, pending) = match self.replay(id, &row) {
            Ok(replayed) => replayed,
            Err(Error::Corrupt { path, detail }) => {
                tracing::error!(path = %path.display(), detail, "a segment is damaged and was set aside; the site will send it again");
                let aside = path.with_extension("damaged");
                match std::fs::rename(&path, &aside) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::state(&aside)(error));
                    }
                    _ => {}
                }
                row = begun(epoch, method);
                self.store.put_index(id, &row)?;
                (Index::default(), Vec::new())
            }
            Err(error) => return Err(error),
        };
        let segment = SegmentWriter::open(&self.segment_path(id), row.segment_bytes, self.durable)?;
        Ok(IndexWriter { lease, id, row, index, segment, pending, uncommitted_bytes: 0, counts: Counts::default() })
    }

    /// Which index a push under this epoch goes to: the one that is there, or a new one beside it.
    fn writable(&self, key: &SlotKey, epoch: u64, method: &Method) -> Result<(IndexId, IndexRow), Error> {
        let mut slot = self.store.slot(key)?;
        for id in [slot.current, slot.pending].into_iter().filter(|id| *id > 0).map(IndexId) {
            if let Some(row) = self.store.index(id)?.filter(|row| row.epoch == epoch) {
                return Ok((id, row));
            }
        }
        let abandoned = slot.pending;
        let id = self.store.next_index_id()?;
        let row = begun(epoch, method);
        slot.pending = id.0;
        slot.method = Some(method.into());
        self.store.put_index(id, &row)?;
        self.store.put_slot(key, &slot)?;
        if abandoned > 0 {
            self.delete(IndexId(abandoned))?;
        }
        Ok((id, row))
    }

    /// Makes the runs of an index anew from its segment: they are derived, and a damaged one costs time only.
    pub(crate) fn rebuild_runs(&self, id: IndexId) -> Result<(), Error> {
        let mut row = self.row(id)?;
        let first = next_run(&row);
        row.runs.clear();
        let (mut index, mut pending) = (Index::default(), Vec::new());
        segment::read(&self.segment_path(id), row.segment_bytes, |record| {
            let batch = self.decode(id, &record.body, row.chunk_bytes_max)?;
            index.apply(record.digest, &batch, |ordinal, chunks| {
                pending.extend(chunks.map(|chunk| run_record(ordinal, chunk)));
            });
            // A run ends where a scan may end: at what was sealed.
            let ends = record.sequence == row.sealed_sequence || self.pins.holds(id, record.sequence);
            if pending.len() >= RUN_RECORDS_MAX || ends {
                self.write_run(id, &mut row, first, index.sequence(), &mut pending)?;
            }
            Ok(())
        })?;
        self.write_run(id, &mut row, first, index.sequence(), &mut pending)?;
        self.store.put_index(id, &row)?;
        self.store.barrier()
    }

    /// Writes postings as the next run of an index, numbered `first` or higher, and empties them.
    fn write_run(
        &self,
        id: IndexId,
        row: &mut IndexRow,
        first: u64,
        last_sequence: u64,
        records: &mut Vec<RunRecord>,
    ) -> Result<(), Error> {
        if records.is_empty() {
            return Ok(());
        }
        // Numbers are never used twice: what is left of an old run must not be mistaken for the new one.
        let number = first.max(next_run(row));
        write_run(&self.run_path(id, number), records, &WriteRun { sync: self.durable })?;
        row.runs.push(RunRow { number, last_sequence });
        records.clear();
        Ok(())
    }

    /// The state after the last committed batch, and the postings that are in no run yet.
    fn replay(&self, id: IndexId, row: &IndexRow) -> Result<(Index, Vec<RunRecord>), Error> {
        let covered = row.runs.last().map_or(0, |run| run.last_sequence);
        let loaded = lock(&self.loaded).remove(&id);
        if let Some(index) = loaded.and_then(Arc::into_inner)
            && index.sequence() == row.committed_sequence
            && covered == row.committed_sequence
        {
            return Ok((index, Vec::new()));
        }
        let (mut index, mut pending) = (Index::default(), Vec::new());
        segment::read(&self.segment_path(id), row.segment_bytes, |record| {
            let batch = self.decode(id, &record.body, row.chunk_bytes_max)?;
            let keep = record.sequence > covered;
            index.apply(record.digest, &batch, |ordinal, chunks| {
                if keep {
                    pending.extend(chunks.map(|chunk| run_record(ordinal, chunk)));
                }
            });
            Ok(())
        })?;
        Ok((index, pending))
    }

    fn decode(&self, id: IndexId, body: &[u8], chunk_bytes_max: u32) -> Result<Batch, Error> {
        Batch::decode(body, chunk_bytes_max)
            .map_err(|error| Error::Corrupt { path: self.segment_path(id), detail: error.to_string() })
    }

    fn row(&self, id: IndexId) -> Result<IndexRow, Error> {
        let path = self.segment_path(id);
        self.store.index(id)?.ok_or_else(|| Error::Corrupt { path, detail: "the store has no row for it".into() })
    }

    /// Deletes an index, or leaves that to the last one who holds on to it.
    pub(crate) fn delete(&self, id: IndexId) -> Result<(), Error> {
        if self.pins.defers_deletion(id) {
            return Ok(());
        }
        let runs = self.store.index(id)?.map(|row| row.runs).unwrap_or_default();
        self.store.remove_index(id)?;
        self.unload(id);
        let files = runs.iter().map(|run| self.run_path(id, run.number)).chain([self.segment_path(id)]);
        files.into_iter().try_for_each(|path| remove_if_there(&path))
    }

    /// Removes files that no row refers to: what a crash left behind.
    fn sweep(&self) -> Result<(), Error> {
        for entry in std::fs::read_dir(&self.folder).map_err(Error::state(&self.folder))? {
            let path = entry.map_err(Error::state(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let mut parts = name.split('.');
            let Some(id) = parts.next().and_then(|part| part.parse().ok()).map(IndexId) else { continue };
            let row = self.store.index(id)?;
            let referred = match parts.clone().collect::<Vec<_>>()[..] {
                ["seg"] => row.is_some(),
                [number, "run"] => {
                    let number = number.parse().ok();
                    row.is_some_and(|row| row.runs.iter().any(|run| Some(run.number) == number))
                }
                ["damaged"] => true,
                _ => false,
            };
            if !referred {
                remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    fn segment_path(&self, id: IndexId) -> PathBuf {
        self.folder.join(format!("{}.seg", id.0))
    }

    fn run_path(&self, id: IndexId, number: u64) -> PathBuf {
        self.folder.join(format!("{}.{number}.run", id.0))
    }
}

/// The right to write an index, given back when dropped.
struct Lease {
    indexes: Arc<Indexes>,
    key: SlotKey,
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.indexes.busy).remove(&self.key);
    }
}

/// What the batches of a push came to.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) documents: u64,
    pub(crate) contents: u64,
    pub(crate) chunks: u64,
}

/// Takes batches in. Nothing counts, here or after a crash, until it is committed.
pub(crate) struct IndexWriter {
    lease: Lease,
    id: IndexId,
    row: IndexRow,
    index: Index,
    segment: SegmentWriter,
    /// Postings that are in no run yet.
    pending: Vec<RunRecord>,
    uncommitted_bytes: u64,
    counts: Counts,
}

impl IndexWriter {
    /// The last batch that is durable.
    pub(crate) fn committed_sequence(&self) -> u64 {
        self.row.committed_sequence
    }

    /// The root with all batches taken in.
    pub(crate) fn root(&self) -> Root {
        self.index.root()
    }

    /// Which index is written.
    pub(crate) fn id(&self) -> IndexId {
        self.id
    }

    /// Holds on to the index as it will be once it is sealed after a batch.
    pub(crate) fn pin(&self, sequence: u64) -> Pin {
        Pin::new(&self.lease.indexes, self.id, sequence)
    }

    /// Keeps what the site says a known text becomes; it is stored with the seal.
    pub(crate) fn set_canary(&mut self, canary: Vec<u8>) {
        self.row.canary = canary;
    }

    /// How much was taken in since the last commit.
    pub(crate) fn uncommitted_bytes(&self) -> u64 {
        self.uncommitted_bytes
    }

    /// What the batches of this push came to.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a batch in. One that was taken in before changes nothing. When documents refer to contents that are not
    /// here, those are answered and the batch is not taken in.
    pub(crate) fn batch(
        &mut self,
        sequence: u64,
        digest: &[u8],
        body: &[u8],
    ) -> Result<Result<(), Vec<ContentDigest>>, Error> {
        let actual = body_digest(body);
        if actual != digest {
            return Err(Error::Invalid(format!("the body of batch {sequence} does not match its digest")));
        }
        if self.index.is_repetition(sequence, actual)? {
            return Ok(Ok(()));
        }
        let batch = Batch::decode(body, self.row.chunk_bytes_max)
            .map_err(|error| Error::Invalid(format!("batch {sequence}: {error}")))?;
        let unknown = self.index.unknown_contents(&batch);
        if !unknown.is_empty() {
            return Ok(Err(unknown));
        }
        self.index.check_parts(&batch)?;
        self.segment.append(sequence, actual, body)?;
        let pending = &mut self.pending;
        let before = pending.len();
        self.index.apply(actual, &batch, |ordinal, chunks| {
            pending.extend(chunks.map(|chunk| run_record(ordinal, chunk)));
        });
        self.counts.documents += batch.documents.len() as u64;
        self.counts.contents += batch.contents.len() as u64;
        self.counts.chunks += (self.pending.len() - before) as u64;
        self.uncommitted_bytes += body.len() as u64;
        if self.pending.len() >= RUN_RECORDS_MAX {
            self.write_run()?;
        }
        Ok(Ok(()))
    }

    /// Makes everything that was taken in durable: the segment first, then the row that makes it count.
    pub(crate) fn commit(&mut self) -> Result<u64, Error> {
        self.row.segment_bytes = self.segment.commit()?;
        self.row.committed_sequence = self.index.sequence();
        self.lease.indexes.store.put_index(self.id, &self.row)?;
        self.lease.indexes.store.barrier()?;
        self.uncommitted_bytes = 0;
        Ok(self.row.committed_sequence)
    }

    /// Ends the push: the worker says what the index must be, and from now on it is what scans analyse.
    pub(crate) fn seal(mut self, sequence: u64, root: &[u8]) -> Result<u64, Error> {
        if sequence != self.index.sequence() {
            let (expected, got) = (self.index.sequence(), sequence);
            return Err(Error::Invalid(format!("the seal is over batch {got}, but {expected} is the last that came")));
        }
        if Root::from_bytes(root) != Some(self.index.root()) {
            return Err(Error::Contradiction("the index has another root here than at the site".into()));
        }
        self.write_run()?;
        self.merge_small_runs()?;
        self.row.sealed = true;
        self.row.sealed_sequence = sequence;
        self.commit()?;
        let IndexWriter { lease, id, index, .. } = self;
        let indexes = &lease.indexes;
        let slot = indexes.store.slot(&lease.key)?;
        if slot.current != id.0 {
            indexes.store.put_slot(&lease.key, &SlotRow { current: id.0, pending: 0, ..slot.clone() })?;
            indexes.store.barrier()?;
            if slot.current > 0 {
                indexes.delete(IndexId(slot.current))?;
            }
        }
        lock(&indexes.loaded).insert(id, Arc::new(index));
        Ok(sequence)
    }

    fn write_run(&mut self) -> Result<(), Error> {
        let last_sequence = self.index.sequence();
        self.lease.indexes.write_run(self.id, &mut self.row, 1, last_sequence, &mut self.pending)
    }

    /// Every sync adds a run, most of them tiny: the last ones are put together as long as they fit one. The files that
    /// this leaves behind may still be read by a scan; they are swept out at the next start.
    fn merge_small_runs(&mut self) -> Result<(), Error> {
        let open = |run: &RunRow| Run::open(&self.lease.indexes.run_path(self.id, run.number));
        let mut tail = Vec::new();
        let mut records = 0;
        for run in self.row.runs.iter().rev() {
            // A scan that holds on to an earlier batch must find its postings without the later ones.
            if self.lease.indexes.pins.parts(self.id, run.last_sequence, self.index.sequence()) {
                break;
            }
            let run = open(run)?;
            records += run.records();
            if records > RUN_RECORDS_MAX as u64 {
                break;
            }
            tail.push(run);
        }
        if tail.len() < 2 {
            return Ok(());
        }
        let mut merged = Vec::new();
        for run in &tail {
            read_run(run, &mut merged)?;
        }
        let first = next_run(&self.row);
        let kept = self.row.runs.len() - tail.len();
        self.row.runs.truncate(kept);
        let last_sequence = self.index.sequence();
        self.lease.indexes.write_run(self.id, &mut self.row, first, last_sequence, &mut merged)
    }
}

/// The number of the next run.
fn next_run(row: &IndexRow) -> u64 {
    row.runs.iter().map(|run| run.number).max().unwrap_or(0) + 1
}

fn begun(epoch: u64, method: &Method) -> IndexRow {
    IndexRow { epoch, chunk_bytes_max: method.chunk_bytes_max(), ..IndexRow::default() }
}

fn run_record(ordinal: u32, (tag, length_bytes, template): (cognate_fingerprint::Tag, u32, bool)) -> RunRecord {
    RunRecord { tag, length_bytes, template, ordinal }
}

fn read_run(run: &Run, records: &mut Vec<RunRecord>) -> Result<(), Error> {
    for shard in 0..SHARDS {
        let mut reader = run.shard(shard)?;
        while let Some(record) = reader.peek()? {
            records.push(record);
            reader.advance();
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(path)(error)),
        _ => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The critical sections only move values in and out of maps: they do not panic.
    mutex.lock().expect("no critical section panics")
}

#[cfg(test)]
mod tests;
