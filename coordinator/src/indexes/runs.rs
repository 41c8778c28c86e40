//! The runs of an index: its postings, sorted. They are derived from the segment, and a damaged one costs time only.

use cognate_fingerprint::Tag;
use cognate_similarity::{Run, RunRecord, SHARDS, WriteRun, write_run};

use super::{Indexes, Replay};
use crate::error::Error;
use crate::segment;
use crate::store::{IndexId, IndexRow, RunRow};

/// Postings are sorted and written as a run once there are this many: about 14 MB of memory.
pub(super) const RUN_RECORDS_MAX: usize = 512 * 1024;

impl Indexes {
    /// The runs that hold the postings of an index up to a batch, and how many contents they speak of. The last run may
    /// hold postings of later batches too: their contents have ordinals that the index at that batch has not.
    pub(crate) fn runs(&self, id: IndexId, sequence: u64) -> Result<(Vec<Run>, u32), Error> {
        let open = || -> Result<(Vec<Run>, u32), Error> {
            let row = self.row(id)?;
            let before = row.runs.iter().position(|run| run.last_sequence >= sequence);
            let included = &row.runs[..before.map_or(row.runs.len(), |place| place + 1)];
            let runs = included.iter().map(|run| Ok(Run::open(&self.run_path(id, run.number))?));
            Ok((runs.collect::<Result<_, Error>>()?, row.ordinals))
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

    /// Makes the runs of an index anew from its segment.
    pub(crate) fn rebuild_runs(&self, id: IndexId) -> Result<(), Error> {
        let mut row = self.row(id)?;
        let first = next_run(&row);
        row.runs.clear();
        let mut replay = Replay::new(&self.segment_path(id), row.chunk_bytes_max);
        let mut pending = Vec::new();
        segment::read(&self.segment_path(id), row.segment_bytes, |record| {
            replay.take(&record, |ordinal, chunks| {
                pending.extend(chunks.map(|chunk| run_record(ordinal, chunk)));
            })?;
            if pending.len() >= RUN_RECORDS_MAX {
                self.write_run(id, &mut row, first, replay.index.sequence(), &mut pending)?;
            }
            Ok(())
        })?;
        self.write_run(id, &mut row, first, replay.index.sequence(), &mut pending)?;
        self.store.put_index(id, &row)?;
        self.store.barrier()
    }

    /// Writes postings as the next run of an index, numbered `first` or higher, and empties them.
    pub(super) fn write_run(
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
        write_run(&self.run_path(id, number), records, &WriteRun { sync: self.config.durable })?;
        row.runs.push(RunRow { number, last_sequence });
        records.clear();
        Ok(())
    }

    /// Every sync adds a run, most of them tiny: the last ones are put together as long as they fit one.
    pub(super) fn merge_small_runs(&self, id: IndexId, row: &mut IndexRow, last_sequence: u64) -> Result<(), Error> {
        let mut tail = Vec::new();
        let mut records = 0;
        for run in row.runs.iter().rev() {
            let run = Run::open(&self.run_path(id, run.number))?;
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
            read_run(run, |record| merged.push(record))?;
        }
        let first = next_run(row);
        row.runs.truncate(row.runs.len() - tail.len());
        self.write_run(id, row, first, last_sequence, &mut merged)
    }
}

/// The number of the next run.
pub(super) fn next_run(row: &IndexRow) -> u64 {
    row.runs.iter().map(|run| run.number).max().unwrap_or(0) + 1
}

pub(super) fn run_record(ordinal: u32, (tag, length_bytes, template): (Tag, u32, bool)) -> RunRecord {
    RunRecord { tag, length_bytes, template, ordinal }
}

/// Reads a run from its beginning to its end, checking every block.
pub(crate) fn read_run(run: &Run, mut each: impl FnMut(RunRecord)) -> Result<(), Error> {
    for shard in 0..SHARDS {
        let mut reader = run.shard(shard)?;
        while let Some(record) = reader.peek()? {
            each(record);
            reader.advance();
        }
    }
    Ok(())
}
