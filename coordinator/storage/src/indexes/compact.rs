//! Compaction: rewrites a segment once a third of it is dead, which are documents that are gone or were replaced, and
//! contents that no document has any more.
//!
//! The new segment is another index under the same epoch. It begins with a base (the chain and the last digests of the
//! batches so far, and the sum of the row hashes of contents that were dropped, which stay part of the root for ever),
//! goes on with the live contents and all documents in the form of batches, and ends with the seal. So a worker that
//! comes back finds the same sequence and the same root. Should a document refer to a dropped content again, the worker
//! learns that it is unknown, as after any loss, and restarts the index from its cache.

use std::path::Path;
use std::sync::Arc;

use cognate_durable::whole::{Draft, sync_folder};
use cognate_fingerprint::{Chunk, Content};
use cognate_proto::batch::{Batch, BatchBuilder};
use cognate_proto::limits::{BATCH_BODY_BYTES_MAX, CONTENT_CHUNKS_MAX};
use cognate_proto::v1::ChunkTable;
use prost::Message as _;

use super::{Indexes, Replay, lock};
use crate::error::Error;
use crate::index::Index;
use crate::segment::{self, Kind, SegmentWriter};
use crate::store::{IndexId, IndexRow, SlotKey, SlotRow};

/// Smaller segments are not worth it.
const WORN_BYTES_MIN: u64 = 32 << 10;

impl Indexes {
    /// Work after a push: compacts a worn segment and removes files that nothing refers to. Work that fails
    /// is done after the next push.
    pub fn tidy(self: &Arc<Indexes>, key: &SlotKey) {
        if let Err(error) = self.compact(key).and_then(|_| self.collect()) {
            tracing::warn!(%error, site = %key.site, repository = %key.repository, "tidying was put off");
        }
    }

    /// Compacts the current segment of a slot if less than two thirds of it are live: its runs and the store
    /// come on top, and the total is to stay below twice the live bytes. Returns true if it did.
    pub(crate) fn compact(self: &Arc<Indexes>, key: &SlotKey) -> Result<bool, Error> {
        let slot = self.store.slot(key)?;
        let (old, Some(row)) = (IndexId(slot.current), self.store.index(IndexId(slot.current))?) else {
            return Ok(false);
        };
        if !row.is_worn() {
            return Ok(false);
        }
        let Some(lease) = self.lease_to_tidy(key) else { return Ok(false) };
        self.store.check_alive()?;
        let row = self.row(old)?;
        if row.committed_sequence != row.sealed_sequence {
            return Ok(false);
        }
        let id = self.store.next_index_id()?;
        let draft = Draft::begin(&self.segment_path(id)).map_err(Error::state(&self.folder))?;
        let index = self.load(old, row.sealed_sequence)?;
        let mut compacted = self.write_compacted(draft.temporary(), old, &row, &index)?;
        self.check_compacted(draft.temporary(), &mut compacted, &index)?;
        crate::failpoint!("compact.before_rename");
        self.put_in_place(draft)?;
        self.store.put_index(id, &compacted)?;
        self.rebuild_runs(id)?;
        crate::failpoint!("compact.before_slot");
        let switching = lock(&self.switching);
        let slot = self.store.slot(key)?;
        self.store.put_slot(key, &SlotRow { current: id.0, ..slot })?;
        self.store.barrier()?;
        lock(&self.compacted).insert(old, id);
        drop(switching);
        crate::failpoint!("compact.after_slot");
        self.unload(old);
        drop(lease);
        let (before_bytes, after_bytes) = (row.segment_bytes, compacted.segment_bytes);
        tracing::info!(site = %key.site, repository = %key.repository, before_bytes, after_bytes, "a segment was compacted");
        Ok(true)
    }

    fn write_compacted(&self, fresh: &Path, old: IndexId, row: &IndexRow, index: &Index) -> Result<IndexRow, Error> {
        let live = index.live();
        let header = row.header.clone().ok_or_else(|| self.nameless(old))?;
        let mut compacted = Compacted {
            segment: self.store.watched(SegmentWriter::open(fresh, &header, 0, self.config.durable))?,
            sequence: row.sealed_sequence,
            batch: BatchBuilder::default(),
        };
        let base = index.base(&live).encode_to_vec();
        compacted.segment.append_record(Kind::Base, row.sealed_sequence, &base)?;
        let mut is_live = vec![false; index.ordinals() as usize];
        for digest in &live {
            if let Some(content) = index.contents.get(digest) {
                is_live[content.ordinal as usize] = true;
            }
        }
        let path = self.segment_path(old);
        let mut ordinals = Ordinals::default();
        segment::read(&path, row.segment_bytes, |record| {
            if !matches!(record.kind, Kind::Batch | Kind::Compacted) {
                return Ok(());
            }
            let batch = Batch::decode(&record.body, row.chunk_bytes_max)
                .map_err(|error| Error::Corrupt { path: path.clone(), detail: error.to_string() })?;
            compacted.keep(batch, &mut ordinals, &is_live)
        })?;
        for (path, document) in index.documents.iter() {
            compacted.batch.document(document.with_path(path));
            compacted.flush_if(BatchBuilder::is_full)?;
        }
        compacted.flush_if(|_| true)?;
        row.append_seal(&mut compacted.segment)?;
        let segment_bytes = self.store.watched(compacted.segment.commit())?;
        Ok(IndexRow {
            segment_bytes,
            live_bytes: segment_bytes,
            measured_bytes: segment_bytes,
            measured_weight: index.weight(&live).max(1),
            runs: Vec::new(),
            ..row.clone()
        })
    }

    /// Reads back what was written: it must be the same index.
    fn check_compacted(&self, fresh: &Path, row: &mut IndexRow, index: &Index) -> Result<(), Error> {
        let mut replay = Replay::new(fresh, row.chunk_bytes_max);
        segment::read(fresh, row.segment_bytes, |record| replay.take(&record, |_, _| {}))?;
        let same = replay.index.root() == index.root()
            && replay.index.sequence() == index.sequence()
            && replay.index.head() == index.head()
            && replay.index.documents.len() == index.documents.len();
        if !same {
            let detail = "it does not hold what it was put together from".to_owned();
            return Err(Error::Corrupt { path: fresh.to_owned(), detail });
        }
        row.take(&replay.index);
        Ok(())
    }

    /// Gives a segment that is on the disk its name.
    fn put_in_place(&self, draft: Draft) -> Result<(), Error> {
        draft.publish().map_err(Error::state(&self.folder))?;
        if self.config.durable {
            self.store.watched(sync_folder(&self.folder).map_err(Error::sync(&self.folder)))?;
        }
        Ok(())
    }
}

impl IndexRow {
    fn is_worn(&self) -> bool {
        self.sealed && self.segment_bytes >= WORN_BYTES_MIN && self.segment_bytes / 3 * 2 > self.live_bytes
    }
}

/// A segment that is being put together.
struct Compacted {
    segment: SegmentWriter,
    sequence: u64,
    batch: BatchBuilder,
}

/// The contents behind the numbers of an index, as [`Index::take_in`] gives them out.
#[derive(Default)]
struct Ordinals {
    next: u32,
    /// The content that is arriving in parts.
    upload: Option<(u64, u32)>,
}

impl Ordinals {
    fn take(&mut self) -> u32 {
        let ordinal = self.next;
        self.next += 1;
        ordinal
    }

    fn of_part(&mut self, number: u64, ends: bool) -> u32 {
        let ordinal = match self.upload.filter(|(upload, _)| *upload == number) {
            Some((_, ordinal)) => ordinal,
            None => self.take(),
        };
        self.upload = (!ends).then_some((number, ordinal));
        ordinal
    }
}

impl Compacted {
    /// Takes over the live contents of a batch.
    fn keep(&mut self, batch: Batch, ordinals: &mut Ordinals, is_live: &[bool]) -> Result<(), Error> {
        let mut chunks = batch.chunks.iter();
        for content in &batch.contents {
            let ordinal = ordinals.take();
            let own = chunks.by_ref().take(usize::try_from(content.chunk_count).expect("a batch is small"));
            if is_live[ordinal as usize] {
                let table = table_of(own);
                self.content(content, &table)?;
            } else {
                own.for_each(drop);
            }
        }
        for part in batch.parts {
            let ordinal = ordinals.of_part(part.upload, part.end.is_some());
            if is_live[ordinal as usize] {
                self.flush_if(|batch| part.chunks.rows() > CONTENT_CHUNKS_MAX && !batch.is_empty())?;
                self.batch.part(part.upload, part.chunks, part.end.as_ref());
                self.flush_if(BatchBuilder::is_full)?;
            }
        }
        Ok(())
    }

    fn content(&mut self, content: &Content, table: &ChunkTable) -> Result<(), Error> {
        // One that fitted a batch of its own alone fits one again.
        self.flush_if(|batch| table.rows() > CONTENT_CHUNKS_MAX && !batch.is_empty())?;
        self.batch.content(content, table);
        self.flush_if(BatchBuilder::is_full)
    }

    fn flush_if(&mut self, wanted: impl FnOnce(&BatchBuilder) -> bool) -> Result<(), Error> {
        if self.batch.is_empty() || !wanted(&self.batch) {
            return Ok(());
        }
        let (body, _) = self.batch.finish();
        if body.len() > BATCH_BODY_BYTES_MAX {
            return Err(Error::Invalid("a piece of a segment is too large to be compacted".to_owned()));
        }
        self.segment.append_record(Kind::Compacted, self.sequence, &body)
    }
}

fn table_of(chunks: impl Iterator<Item = (cognate_fingerprint::Tag, u32, bool)>) -> ChunkTable {
    let mut table = ChunkTable::default();
    for (tag, length_bytes, repeated_byte) in chunks {
        table.push(&Chunk { offset: 0, length_bytes, tag, repeated_byte });
    }
    table
}
