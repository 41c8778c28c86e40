//! The runs of an index: its postings, sorted. They are derived from the segment, and a damaged one costs time only.
//!
//! Every posting of a committed batch is in exactly one run, or pending at the writer. A run is written before the seal when
//! a push brings more than `RUN_RECORDS_MAX` postings, when a start adopts records that the row does not count yet, and
//! after a compaction; a writer that opens then goes on with the batches after the last run.

use cognate_fingerprint::Tag;
use cognate_similarity::{Run, RunRecord, SHARDS, WriteRun, merge_runs, write_run};

use super::{Indexes, Replay};
use crate::error::Error;
use crate::segment;
use crate::store::{IndexId, IndexRow, RunRow};

/// Postings are sorted and written as a run once there are this many: about 14 MB of memory.
pub(super) const RUN_RECORDS_MAX: usize = 512 * 1024;

/// Runs are put together, however large, once there are this many.
const RUNS_MERGED_MIN: usize = 8;

impl Indexes {
    /// The runs that hold the postings of an index up to a batch, and how many contents they speak of. The last run may
    /// hold postings of later batches too: their contents have ordinals that the index at that batch has not.
    pub fn runs(&self, id: IndexId, sequence: u64) -> Result<(Vec<Run>, u32), Error> {
        let open = || -> Result<(Vec<Run>, u32), Error> {
            let row = self.row(id)?;
            let before = row.runs.iter().position(|run| run.last_sequence >= sequence);
            let included = &row.runs[..before.map_or(row.runs.len(), |place| place + 1)];
            let runs = included.iter().map(|run| Ok(Run::open(&self.run_path(id, run.number))?));
            Ok((runs.collect::<Result<_, Error>>()?, row.ordinals))
        };
        match open() {
            Err(Error::Run(error)) => {
                tracing::warn!(%error, "the runs are rebuilt from the segment");
                self.rebuild_runs(id)?;
                open()
            }
            opened => opened,
        }
    }

    /// Rebuilds the runs of an index from its segment.
    pub fn rebuild_runs(&self, id: IndexId) -> Result<(), Error> {
        self.put_with_runs(id, self.row(id)?)
    }

    /// Writes the runs of an index from its segment, and then its row. A row without its runs would be an index in which nothing is found.
    pub(super) fn put_with_runs(&self, id: IndexId, mut row: IndexRow) -> Result<(), Error> {
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
        // Numbers are never reused: a remaining part of an old run must not be mistaken for the new one.
        let number = first.max(next_run(row));
        write_run(&self.run_path(id, number), records, &WriteRun { sync: self.config.durable })?;
        row.runs.push(RunRow { number, last_sequence });
        records.clear();
        Ok(())
    }

    /// Every sync adds a run, most of them tiny. The last ones are put together as long as they fit one, and as soon as
    /// there are many of them, with those before that are not much larger: every posting is written again a few times
    /// at most, however many syncs there are. An index that is new keeps its runs: it may never be scanned again.
    pub(super) fn merge_last_runs(&self, id: IndexId, row: &mut IndexRow, last_sequence: u64) -> Result<(), Error> {
        let open = |run: &RunRow| Run::open(&self.run_path(id, run.number));
        let runs = row.runs.iter().map(open).collect::<Result<Vec<Run>, _>>()?;
        let records: Vec<u64> = runs.iter().map(Run::records).collect();
        let count = runs_to_merge(&records, row.sealed);
        if count < 2 {
            return Ok(());
        }
        let merged = &runs[runs.len() - count..];
        let number = next_run(row);
        merge_runs(&self.run_path(id, number), merged, &WriteRun { sync: self.config.durable })?;
        row.runs.truncate(runs.len() - count);
        row.runs.push(RunRow { number, last_sequence });
        Ok(())
    }
}

/// Number of the last runs to merge, by their sizes.
fn runs_to_merge(records: &[u64], sealed_before: bool) -> usize {
    let last = |count: &usize| &records[records.len() - count..];
    let is_worth_it = |count: &usize| {
        let sum: u64 = last(count).iter().sum();
        let most = last(count).iter().max().copied().unwrap_or(0);
        most <= 2 * (sum - most)
    };
    let many = (RUNS_MERGED_MIN..=records.len()).rev().find(is_worth_it);
    let fit = |count: &usize| last(count).iter().sum::<u64>() <= RUN_RECORDS_MAX as u64;
    let small = (0..=records.len()).rev().find(fit).unwrap_or(0);
    many.filter(|_| sealed_before).unwrap_or(small).max(small)
}

/// The number of the next run.
pub(super) fn next_run(row: &IndexRow) -> u64 {
    row.runs.iter().map(|run| run.number).max().unwrap_or(0) + 1
}

pub(super) fn run_record(ordinal: u32, (tag, length_bytes, template): (Tag, u32, bool)) -> RunRecord {
    RunRecord { tag, length_bytes, template, ordinal }
}

/// Reads a run from its beginning to its end, checking every block.
pub fn read_run(run: &Run, mut each: impl FnMut(RunRecord)) -> Result<(), Error> {
    for shard in 0..SHARDS {
        let mut reader = run.shard(shard)?;
        while let Some(record) = reader.peek()? {
            each(record);
            reader.advance();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = RUN_RECORDS_MAX as u64;

    #[test]
    fn small_runs_are_put_together_and_many_large_ones_once_the_index_is_not_new() {
        for (records, new, later) in [
            (vec![], 0, 0),
            (vec![5], 1, 1),
            (vec![5, 6, 7], 3, 3),
            (vec![FULL, 5, 6], 2, 2),
            (vec![FULL; 7], 1, 1),
            (vec![FULL; 8], 1, 8),
            ([vec![FULL; 20], vec![3]].concat(), 1, 21),
            // A large one waits until the later ones are half as large as it is.
            ([vec![9 * FULL], vec![FULL; 4]].concat(), 1, 1),
            ([vec![90 * FULL], vec![FULL; 8]].concat(), 1, 8),
            ([vec![16 * FULL], vec![FULL; 8]].concat(), 1, 9),
        ] {
            assert_eq!(runs_to_merge(&records, false), new, "{records:?}");
            assert_eq!(runs_to_merge(&records, true), later, "{records:?}");
        }
    }

    #[test]
    fn a_posting_is_written_again_a_few_times_at_most() {
        let (mut runs, mut written, syncs) = (Vec::new(), 0, 2000);
        for sync in 0..syncs {
            runs.push(FULL + sync % 2);
            let count = runs_to_merge(&runs, true);
            if count > 1 {
                let merged: u64 = runs.split_off(runs.len() - count).iter().sum();
                written += merged;
                runs.push(merged);
            }
        }
        assert!(runs.len() < 24, "{}", runs.len());
        assert!(written < 8 * syncs * FULL, "{}", written / FULL);
    }
}
