//! The only writer of an index. Nothing counts, here or after a crash, until it is committed.

use std::sync::Arc;

use cognate_fingerprint::ContentDigest;
use cognate_proto::batch::{Batch, DocumentState, body_digest};
use cognate_proto::index_digest::IndexDigest;
use cognate_proto::v1;
use cognate_similarity::{Run, RunRecord};

use super::runs::{RUN_RECORDS_MAX, run_record};
use super::space::Held;
use super::{Indexes, Lease, Replay, begin_again, lock};
use crate::clock::seconds;
use crate::error::Error;
use crate::index::Index;
use crate::segment::{self, SealRecord, SegmentWriter};
use crate::store::{IndexId, IndexRow, SlotKey, SlotRow};

/// Sums over the batches of a push.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub documents: u64,
    pub contents: u64,
    pub chunks: u64,
}

/// Takes batches in.
pub struct IndexWriter {
    pub(super) id: IndexId,
    pub(super) row: IndexRow,
    index: Index,
    segment: SegmentWriter,
    /// Postings that are in no run yet.
    pending: Vec<RunRecord>,
    uncommitted_bytes: u64,
    /// The amounts of the site beside this index, and whether it writes there as well.
    others: Held,
    others_grow: bool,
    counts: Counts,
    /// The site's fingerprint of a known text.
    canary: Vec<u8>,
    /// Dropped last: what the segment still has in hand must be out before anybody else opens it.
    lease: Lease,
}

impl IndexWriter {
    pub(super) fn open(lease: Lease, id: IndexId, mut row: IndexRow) -> Result<IndexWriter, Error> {
        let indexes = Arc::clone(&lease.indexes);
        if row.runs.iter().any(|run| Run::open(&indexes.run_path(id, run.number)).is_err()) {
            tracing::warn!(index = id.0, "a run is damaged or gone: the runs are rebuilt from the segment");
            match indexes.rebuild_runs(id) {
                // A damaged segment is dealt with below.
                Ok(()) | Err(Error::Corrupt { .. }) => row = indexes.row(id)?,
                Err(error) => return Err(error),
            }
        }
        let (index, pending) = match indexes.resume(id, &row) {
            Ok(replayed) => replayed,
            Err(Error::Corrupt { path, detail }) => {
                tracing::error!(path = %path.display(), detail, "a segment is damaged and was set aside; the site will send it again");
                indexes.quarantine(&path)?;
                row = begin_again(&row);
                indexes.store.put_index(id, &row)?;
                (Index::default(), Vec::new())
            }
            Err(error) => return Err(error),
        };
        let header = row.header.as_ref().ok_or_else(|| indexes.nameless(id))?;
        let path = indexes.segment_path(id);
        let segment = SegmentWriter::open(&path, header, row.segment_bytes, indexes.config.durable);
        let segment = indexes.store.watched(segment)?;
        let others = indexes.held_beside(&lease.key)?;
        let counts = Counts::default();
        let canary = Vec::new();
        let (uncommitted_bytes, others_grow) = (0, true);
        Ok(IndexWriter {
            lease,
            id,
            row,
            index,
            segment,
            pending,
            uncommitted_bytes,
            others,
            others_grow,
            counts,
            canary,
        })
    }

    /// The index's slot and the set of indexes that holds it.
    pub fn place(&self) -> (Arc<Indexes>, SlotKey) {
        (Arc::clone(&self.lease.indexes), self.lease.key.clone())
    }

    /// Its number.
    pub fn id(&self) -> IndexId {
        self.id
    }

    /// Keeps what the site says that a known text becomes: it is stored with the seal.
    pub fn set_canary(&mut self, canary: Vec<u8>) {
        self.canary = canary;
    }

    /// The last batch that is durable.
    pub fn committed_sequence(&self) -> u64 {
        self.row.committed_sequence
    }

    /// The root with all batches taken in.
    pub fn root(&self) -> IndexDigest {
        self.index.root()
    }

    /// Bytes taken in since the last commit.
    pub fn uncommitted_bytes(&self) -> u64 {
        self.uncommitted_bytes
    }

    /// What documents inside of other documents may take of the quotas of their site, beside what it has in other indexes now.
    pub fn inside_max(&self) -> super::InsideQuota {
        self.lease.indexes.config.quotas.inside(&self.others)
    }

    /// Sums over the batches of this push.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a batch in. One that was taken in before changes nothing. When documents refer to contents that are not
    /// here, those are answered and the batch is not taken in.
    pub fn batch(
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
        self.index.check_parts(&batch, self.row.chunk_bytes_max)?;
        let indexes = &self.lease.indexes;
        indexes.check_quotas(&self.lease.key.site, &self.held_with(&batch, body.len() as u64))?;
        indexes.check_space(body.len() as u64)?;
        crate::failpoint!("ingest.before_write");
        self.segment.append(sequence, actual, body)?;
        let pending = &mut self.pending;
        let before = pending.len();
        self.index.apply(actual, body.len() as u64, &batch, |ordinal, chunks| {
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

    /// The amounts of the site with a batch.
    fn held_with(&self, batch: &Batch, body_bytes: u64) -> Held {
        let rows = batch.documents.iter().filter(|row| row.state != DocumentState::Removed);
        let new = rows.filter(|row| !self.index.documents.contains(&row.path));
        let more = new.fold(Held::default(), |more, row| {
            more.and(&Held { documents: 1, name_bytes: row.path.as_bytes().len() as u64, ..Held::default() })
        });
        let ended = batch.parts.iter().filter(|part| part.end.is_some()).count();
        let own = Held {
            bytes: self.segment.end() + body_bytes,
            documents: self.index.documents.len() as u64,
            contents: u64::from(self.index.ordinals()) + (batch.contents.len() + ended) as u64,
            name_bytes: self.index.name_bytes(),
        };
        self.others.and(&own).and(&more)
    }

    /// Looks again at what the site has beside, as long as it writes there as well.
    fn weigh_others(&mut self) -> Result<(), Error> {
        let (indexes, key) = (&self.lease.indexes, &self.lease.key);
        let grow = lock(&indexes.busy).keys().any(|other| other.site == key.site && other != key);
        if std::mem::replace(&mut self.others_grow, grow) || grow {
            self.others = indexes.held_beside(key)?;
        }
        Ok(())
    }

    /// Makes everything that was taken in durable: the segment first, then the row that makes it count.
    pub fn commit(&mut self) -> Result<u64, Error> {
        let store = &self.lease.indexes.store;
        store.check_alive()?;
        self.row.segment_bytes = store.watched(self.segment.commit())?;
        self.row.take(&self.index);
        store.watched(store.put_index(self.id, &self.row))?;
        store.barrier()?;
        self.uncommitted_bytes = 0;
        self.weigh_others()?;
        Ok(self.row.committed_sequence)
    }

    /// Ends the push: the worker says what the index must be, and from now on it is what scans analyse. Answers what
    /// was received of it, by this side's own count.
    pub fn seal(mut self, sequence: u64, root: &[u8]) -> Result<v1::ReceivedIndex, Error> {
        if sequence != self.index.sequence() {
            let (expected, got) = (self.index.sequence(), sequence);
            return Err(Error::Invalid(format!("the seal is over batch {got}, but {expected} is the last that came")));
        }
        if IndexDigest::from_bytes(root) != Some(self.index.root()) {
            return Err(Error::Contradiction("the index has another root here than at the site".into()));
        }
        let indexes = Arc::clone(&self.lease.indexes);
        self.write_run()?;
        indexes.merge_last_runs(self.id, &mut self.row, sequence)?;
        if let Some(summary) = lock(&indexes.pending_summaries).remove(&self.lease.key) {
            self.row.summary = Some(summary);
        }
        self.row.seal = Some(SealRecord {
            root: root.to_vec(),
            time: seconds((indexes.config.clock)()),
            number: indexes.store.next_number()?,
            canary: std::mem::take(&mut self.canary),
            ..SealRecord::default()
        });
        self.row.sealed_sequence = sequence;
        self.row.append_seal(&mut self.segment)?;
        self.weigh();
        self.row.sealed = true;
        self.commit()?;
        let IndexWriter { lease, id, index, row, .. } = self;
        let slot = indexes.store.slot(&lease.key)?;
        crate::failpoint!("seal.before_slot");
        if slot.current != id.0 {
            let switching = lock(&indexes.switching);
            indexes.store.put_slot(&lease.key, &SlotRow { current: id.0, pending: 0 })?;
            indexes.store.barrier()?;
            drop(switching);
        }
        crate::failpoint!("seal.after_slot");
        if slot.current != id.0 {
            indexes.unload(IndexId(slot.current));
        }
        indexes.keep_loaded(id, index);
        Ok(row.received(&lease.key))
    }

    /// Updates the estimate of live bytes: after the first sync all of the segment is live; the ratio of that to the
    /// estimate stays.
    fn weigh(&mut self) {
        let segment_bytes = self.segment.end();
        if self.row.measured_weight == 0 || !self.row.sealed {
            self.row.measured_bytes = segment_bytes;
            self.row.measured_weight = self.index.weight_of_all().max(1);
            self.row.live_bytes = segment_bytes;
            return;
        }
        let weight = u128::from(self.index.weight(&self.index.live()));
        let live = weight * u128::from(self.row.measured_bytes) / u128::from(self.row.measured_weight);
        self.row.live_bytes = u64::try_from(live).unwrap_or(u64::MAX).min(segment_bytes);
    }

    fn write_run(&mut self) -> Result<(), Error> {
        let last_sequence = self.index.sequence();
        self.lease.indexes.write_run(self.id, &mut self.row, 1, last_sequence, &mut self.pending)
    }
}

impl Indexes {
    /// The state after the last committed batch, and the postings that are in no run yet.
    fn resume(&self, id: IndexId, row: &IndexRow) -> Result<(Index, Vec<RunRecord>), Error> {
        let last_in_runs = row.runs.last().map_or(0, |run| run.last_sequence);
        let loaded = lock(&self.loaded).remove(&id);
        if let Some(index) = loaded.and_then(Arc::into_inner)
            && index.sequence() == row.committed_sequence
            && last_in_runs == row.committed_sequence
        {
            return Ok((index, Vec::new()));
        }
        let (mut replay, mut pending) = (Replay::new(&self.segment_path(id), row.chunk_bytes_max), Vec::new());
        segment::read(&self.segment_path(id), row.segment_bytes, |record| {
            // The runs have the postings of that batch as well, and after a compaction those of all pieces, which have its
            // number.
            let keep = record.sequence > last_in_runs;
            replay.take(&record, |ordinal, chunks| {
                if keep {
                    pending.extend(chunks.map(|chunk| run_record(ordinal, chunk)));
                }
            })
        })?;
        Ok((replay.index, pending))
    }
}
