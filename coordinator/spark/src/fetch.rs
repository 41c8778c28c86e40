//! The third stage: what is left becomes one run, in bounded memory.
//!
//! Threads read files and write sorted pieces, which are merged. The rows and hashes that were read have to be those that the cluster
//! wrote.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use cognate_similarity::{Run, RunRecord, WriteRun, merge_runs, write_run};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::exchange::{Exchange, Object};
use crate::group::folder_of;
use crate::job::Job;
use crate::row::{COLUMNS, Row, Sum, TEMPLATE};
use crate::stages::{Left, Stages};
use crate::stop::Stop;
use crate::{check, progress};

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1 << 14;
/// Files are synced by nobody: the coordinator makes them again if the machine stops.
const WRITE: WriteRun = WriteRun { sync: false };

/// The threads' state.
struct Reading {
    next: AtomicUsize,
    done: AtomicU64,
    pieces: AtomicU64,
    found: Mutex<Result<(Sum, Vec<PathBuf>)>>,
}

/// Reads what is left into a run.
pub(crate) fn fetch(job: &Job, exchange: &Exchange, stages: &mut Stages, left: &Left, stop: &Stop) -> Result<Run> {
    let files = if left.kept.rows == 0 { Vec::new() } else { exchange.data_files(&folder_of(left.attempt))? };
    progress("fetch", 0, files.len() as u64);
    let reading = Reading {
        next: AtomicUsize::new(0),
        done: AtomicU64::new(0),
        pieces: AtomicU64::new(0),
        found: Mutex::new(Ok((Sum::default(), Vec::new()))),
    };
    std::thread::scope(|scope| {
        for _ in 0..job.threads {
            scope.spawn(|| {
                let mut pieces =
                    Pieces { job, reading: &reading, records: Vec::new(), written: Vec::new(), sum: Sum::default() };
                let read = pieces.read(exchange, &files, stop);
                let mut found = reading.found.lock().expect("nothing panics while it is held");
                match (&mut *found, read) {
                    (Ok((sum, paths)), Ok(())) => {
                        *sum += pieces.sum;
                        paths.append(&mut pieces.written);
                    }
                    (Ok(_), Err(error)) => *found = Err(error),
                    (Err(_), _) => {}
                }
            });
        }
    });
    let found = reading.found.into_inner().map_err(|_| anyhow!("a thread that reads crashed"))?;
    let whole = found.and_then(|(sum, pieces)| match sum == left.kept {
        true => Ok(pieces),
        false => Err(anyhow!(
            "the exchange is damaged: `{}` has {} rows with the sum {}, and {} with the sum {} were written there: check the storage, and \
             launch the scan again",
            exchange.url_of(&folder_of(left.attempt)),
            sum.rows,
            sum.hashes,
            left.kept.rows,
            left.kept.hashes
        )),
    });
    let pieces = match whole {
        Ok(pieces) => pieces,
        Err(error) => {
            check(stop)?;
            stages.ungrouped()?;
            return Err(error);
        }
    };
    merged(job, &pieces)
}

fn merged(job: &Job, pieces: &[PathBuf]) -> Result<Run> {
    let path = job.folder.join("kept.run");
    let runs = pieces.iter().map(|piece| Run::open(piece)).collect::<Result<Vec<_>, _>>()?;
    match runs.as_slice() {
        [] => drop(write_run(&path, &mut [], &WRITE)?),
        runs => drop(merge_runs(&path, runs, &WRITE)?),
    }
    drop(runs);
    for piece in pieces {
        std::fs::remove_file(piece).with_context(|| format!("`{}` cannot be removed", piece.display()))?;
    }
    Ok(Run::open(&path)?)
}

/// One thread's rows.
struct Pieces<'a> {
    job: &'a Job,
    reading: &'a Reading,
    records: Vec<RunRecord>,
    written: Vec<PathBuf>,
    sum: Sum,
}

impl Pieces<'_> {
    fn read(&mut self, exchange: &Exchange, files: &[Object], stop: &Stop) -> Result<()> {
        while let Some(file) = files.get(self.reading.next.fetch_add(1, Ordering::Relaxed)) {
            check(stop)?;
            let damaged = || {
                let url = exchange.url_of(&file.name);
                format!(
                    "the exchange is damaged: `{url}` is not what was written there: check the storage, and launch the scan again"
                )
            };
            let content = exchange.get(&file.name)?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(content).with_context(damaged)?;
            let columns = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
            let batches = builder.with_projection(columns).with_batch_size(BATCH_ROWS).build().with_context(damaged)?;
            for batch in batches {
                self.take(&batch.with_context(damaged)?).with_context(damaged)?;
            }
            progress("fetch", self.reading.done.fetch_add(1, Ordering::Relaxed) + 1, files.len() as u64);
        }
        self.end_piece()
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = |name: &str| batch.column_by_name(name).with_context(|| format!("there is no column `{name}`"));
        let long = |name: &str| column(name)?.as_primitive_opt::<Int64Type>().context("no BIGINT");
        let word = |name: &str| column(name)?.as_primitive_opt::<Int32Type>().context("no INT");
        let [high, low] = [long(COLUMNS[0])?, long(COLUMNS[1])?];
        let [content, length, occurrences, flags] =
            [word(COLUMNS[2])?, word(COLUMNS[3])?, word(COLUMNS[4])?, word(COLUMNS[5])?];
        for place in (0..batch.num_rows()).filter(|place| !content.is_null(*place)) {
            let row = Row {
                tag: Row::tag_of(high.value(place), low.value(place)),
                content: content.value(place),
                length: length.value(place),
                occurrences: occurrences.value(place),
                flags: flags.value(place),
            };
            self.sum.add(&row);
            self.push(&row)?;
        }
        Ok(())
    }

    fn push(&mut self, row: &Row) -> Result<()> {
        let ordinal = u32::try_from(row.content).ok().filter(|content| (*content as usize) < self.job.contents);
        let (Some(ordinal), Ok(length_bytes), Ok(occurrences)) =
            (ordinal, u32::try_from(row.length), usize::try_from(row.occurrences))
        else {
            bail!("a row has a number that nothing exported has");
        };
        let record = RunRecord { tag: row.tag, length_bytes, template: row.flags & TEMPLATE != 0, ordinal };
        let most = self.records_max();
        for _ in 0..occurrences {
            self.records.push(record);
            if self.records.len() >= most {
                self.end_piece()?;
            }
        }
        Ok(())
    }

    /// Records of a piece: half of the memory of a thread.
    fn records_max(&self) -> usize {
        let bytes = self.job.memory_bytes / self.job.threads as u64 / 2;
        usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<RunRecord>()
    }

    fn end_piece(&mut self) -> Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let path = self.job.folder.join(format!("piece-{}.run", self.reading.pieces.fetch_add(1, Ordering::Relaxed)));
        write_run(&path, &mut self.records, &WRITE)?;
        self.written.push(path);
        self.records.clear();
        Ok(())
    }
}
