//! Merging runs: one sequential pass over all of them, with a block of each in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

use super::format::{SHARDS, TABLE_ENTRIES};
use super::read::Run;
use super::write::{BlockWriter, RunSummary, WriteRun, write_in_place};
use crate::error::Error;

/// Writes one run with the records of all `runs`, replacing the file of that name.
///
/// Ordinals do not change, so all runs must number contents alike.
///
/// # Errors
///
/// If a run is damaged or cannot be read, or the file cannot be written; the earlier file of that name stays then.
pub fn merge_runs(path: &Path, runs: &[Run], options: &WriteRun) -> Result<RunSummary, Error> {
    let start = |shard: usize| runs.iter().map(|run| run.shard_starts[shard]).sum();
    let starts: Vec<u64> = (0..TABLE_ENTRIES).map(start).collect();
    write_in_place(path, &starts, options, |blocks| (0..SHARDS).try_for_each(|shard| merge_shard(runs, shard, blocks)))
}

fn merge_shard(runs: &[Run], shard: u32, blocks: &mut BlockWriter<'_>) -> Result<(), Error> {
    let mut readers = Vec::with_capacity(runs.len());
    let mut next = BinaryHeap::with_capacity(runs.len());
    for run in runs {
        let mut reader = run.shard(shard)?;
        if let Some(record) = reader.peek()? {
            next.push(Reverse((record.order(), readers.len())));
            readers.push(reader);
        }
    }
    while let Some(mut least) = next.peek_mut() {
        let number = least.0.1;
        let reader = &mut readers[number];
        if let Some(record) = reader.peek()? {
            blocks.push(&record)?;
        }
        reader.advance();
        match reader.peek()? {
            Some(record) => *least = Reverse((record.order(), number)),
            None => {
                PeekMut::pop(least);
            }
        }
    }
    Ok(())
}
