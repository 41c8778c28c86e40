//! The first stage: the postings of all runs as Parquet, in parts that threads take one after the other.
//!
//! A part is some runs together, or a range of shards of large ones; which, follows from the job alone. Parts that are published are not
//! written again. Of each thread the rows of one part are in memory.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use cognate_similarity::{Posting, SHARDS, Shards as _};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;

use crate::block::{BLOCK_BYTES, Kind};
use crate::exchange::Exchange;
use crate::job::{Job, JobRun};
use crate::row::{COLUMNS, Row, SEVERAL, Sum, TEMPLATE};
use crate::rules::Division;
use crate::stages::{Part, Stages};
use crate::stop::Stop;
use crate::table::TableWriter;
use crate::work::tags::TEMPLATE_BIT;
use crate::{check, progress};

/// The folder of the parts.
pub(crate) const FOLDER: &str = "postings";
/// The folder of parts that are blocks.
pub(crate) const BLOCKS: &str = "blocks";
/// Rows that are encoded together.
const GROUP_ROWS: usize = 1 << 20;

/// All that was exported.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Whole {
    pub(crate) sum: Sum,
    pub(crate) postings: u64,
}

/// The runs and shards of a part.
struct Plan {
    number: u64,
    runs: Vec<JobRun>,
    shards: std::ops::Range<u32>,
}

/// The name of a part.
pub(crate) fn name_of(number: u64, in_blocks: bool) -> String {
    format!("{}/part-{number:06}.parquet", if in_blocks { BLOCKS } else { FOLDER })
}

/// The first part that is not what was written.
pub(crate) fn damaged_part(exchange: &Exchange, stages: &Stages, in_blocks: bool) -> Result<Option<u64>> {
    for part in stages.parts.values() {
        let is_whole =
            exchange.get(&name_of(part.number, in_blocks)).is_ok_and(|content| digest(&content) == part.blake3);
        if !is_whole {
            return Ok(Some(part.number));
        }
    }
    Ok(None)
}

/// Exports the parts that are not in the exchange yet: as blocks for programs on the workers, if there is a division of tags, or as rows.
pub(crate) fn export(
    job: &Job,
    exchange: &Exchange,
    stages: &mut Stages,
    (division, stop): (Option<Division>, &Stop),
) -> Result<Whole> {
    let plans = plans(job);
    let total = plans.len() as u64;
    for part in stages.parts.values().cloned().collect::<Vec<_>>() {
        if exchange.bytes_of(&name_of(part.number, division.is_some()))? != Some(part.bytes) {
            stages.damaged(part.number)?;
        }
    }
    let open: Vec<Plan> = plans.into_iter().filter(|plan| !stages.parts.contains_key(&plan.number)).collect();
    let done = AtomicU64::new(total - open.len() as u64);
    progress("export", done.load(Ordering::Relaxed), total);
    let (next, shared) = (AtomicUsize::new(0), Mutex::new((&mut *stages, Ok(()))));
    std::thread::scope(|scope| {
        for _ in 0..job.threads {
            scope.spawn(|| {
                while let Some(plan) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let part = check(stop).and_then(|()| match division {
                        Some(division) => write_blocks(job, exchange, plan, division),
                        None => write_part(job, exchange, plan),
                    });
                    let mut shared = shared.lock().expect("nothing panics while it is held");
                    let (stages, failed) = &mut *shared;
                    if let Err(error) = part.and_then(|part| stages.part(&part)) {
                        next.store(usize::MAX / 2, Ordering::Relaxed);
                        *failed = Err(error);
                        return;
                    }
                    progress("export", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                }
            });
        }
    });
    let (stages, failed) = shared.into_inner().map_err(|_| anyhow!("a thread of the export crashed"))?;
    failed?;
    if stages.parts.len() as u64 != total {
        bail!("{} parts were exported, not {total}", stages.parts.len());
    }
    if !stages.exported {
        stages.exported()?;
    }
    let mut whole = Whole::default();
    for part in stages.parts.values() {
        whole.sum += part.sum;
        whole.postings += part.postings;
    }
    Ok(whole)
}

/// The parts of a job, in order.
fn plans(job: &Job) -> Vec<Plan> {
    let most = job.part_postings();
    let mut plans: Vec<Plan> = Vec::new();
    let mut plan = |runs: &[JobRun], shards: std::ops::Range<u32>| {
        plans.push(Plan { number: plans.len() as u64, runs: runs.to_vec(), shards });
    };
    let mut together: Vec<JobRun> = Vec::new();
    let mut sum = 0;
    for run in &job.runs {
        if sum + run.records > most && !together.is_empty() {
            plan(&std::mem::take(&mut together), 0..SHARDS);
            sum = 0;
        }
        if run.records > most {
            let ranges = u32::try_from(run.records.div_ceil(most)).unwrap_or(SHARDS).min(SHARDS);
            let start = |range: u32| range * SHARDS / ranges;
            (0..ranges).for_each(|range| plan(std::slice::from_ref(run), start(range)..start(range + 1)));
        } else {
            together.push(run.clone());
            sum += run.records;
        }
    }
    if !together.is_empty() {
        plan(&together, 0..SHARDS);
    }
    plans
}

/// Calls `each` with the rows of some shards, the occurrences of a chunk in a content together.
pub(crate) fn each_row(
    job: &Job,
    shards: &cognate_similarity::RunShards,
    range: std::ops::Range<u32>,
    each: &mut dyn FnMut(Row) -> Result<(), cognate_similarity::Error>,
) -> Result<u64> {
    let mut postings = 0;
    let mut open: Option<Row> = None;
    for shard in range {
        shards.visit(shard, &mut |slice| {
            for posting in slice {
                postings += 1;
                let row = row_of(job, posting);
                match &mut open {
                    Some(last)
                        if Row { occurrences: last.occurrences, ..row } == *last && last.occurrences < i32::MAX =>
                    {
                        last.occurrences += 1;
                    }
                    _ => open.replace(row).map_or(Ok(()), &mut *each)?,
                }
            }
            Ok(())
        })?;
    }
    open.map_or(Ok(()), &mut *each)?;
    Ok(postings)
}

fn row_of(job: &Job, posting: &Posting) -> Row {
    let flag = |is_set: bool, flag: i32| if is_set { flag } else { 0 };
    Row {
        tag: posting.tag,
        content: posting.content.0.cast_signed(),
        length: posting.length_bytes.cast_signed(),
        occurrences: 1,
        flags: flag(posting.template, TEMPLATE) | flag(job.is_several(posting.content), SEVERAL),
    }
}

fn write_part(job: &Job, exchange: &Exchange, plan: &Plan) -> Result<Part> {
    let shards = job.shards(&plan.runs)?;
    let mut sum = Sum::default();
    let mut columns = Columns::default();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema(), Some(properties()))?;
    let mut failed = None;
    let postings = each_row(job, &shards, plan.shards.clone(), &mut |row| {
        sum.add(&row);
        columns.push(&row);
        if columns.content.len() == GROUP_ROWS && failed.is_none() {
            failed = std::mem::take(&mut columns).write(&mut writer).err();
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)?;
    columns.write(&mut writer)?;
    let content = writer.into_inner().context("a part cannot be encoded")?;
    put_part(exchange, plan, (sum, postings), content, false)
}

fn put_part(
    exchange: &Exchange,
    plan: &Plan,
    (sum, postings): (Sum, u64),
    content: Vec<u8>,
    in_blocks: bool,
) -> Result<Part> {
    let (bytes, blake3) = (content.len() as u64, digest(&content));
    exchange.put(&name_of(plan.number, in_blocks), content)?;
    Ok(Part { number: plan.number, sum, postings, bytes, blake3 })
}

/// Writes a part as blocks, whose postings have leading bits of their tags in common. The sum is that of the blocks.
fn write_blocks(job: &Job, exchange: &Exchange, plan: &Plan, division: Division) -> Result<Part> {
    let mut shards = job.shards(&plan.runs)?;
    shards.set_templates(job.templates.clone());
    let mut writer = TableWriter::new()?;
    let (mut postings, mut open, mut block) = (0, None, Vec::new());
    let mut failed = Ok(());
    for shard in plan.shards.clone() {
        shards.visit(shard, &mut |slice| {
            for posting in slice {
                let key = division.of_tag(&posting.tag.0);
                if (open != Some(key) || block.len() >= BLOCK_BYTES)
                    && let Some(open) = open.replace(key)
                {
                    failed =
                        std::mem::replace(&mut failed, Ok(())).and_then(|()| writer.push(Kind::Postings, open, &block));
                    block.clear();
                }
                postings += 1;
                let flag = if posting.template { TEMPLATE_BIT } else { 0 };
                block.extend_from_slice(&posting.tag.0);
                block.extend_from_slice(&(posting.length_bytes | flag).to_le_bytes());
                block.extend_from_slice(&posting.content.0.to_le_bytes());
                block.extend_from_slice(&job.class(posting.content).to_le_bytes());
            }
            Ok(())
        })?;
    }
    failed?;
    if let Some(open) = open {
        writer.push(Kind::Postings, open, &block)?;
    }
    let (content, sums) = writer.finish()?;
    let sum = sums.get(&Kind::Postings).copied().unwrap_or_default();
    put_part(exchange, plan, (sum, postings), content, true)
}

/// The digest of a file.
pub(crate) fn digest(content: &[u8]) -> String {
    blake3::hash(content).to_hex()[..32].to_owned()
}

/// Rows, column by column.
#[derive(Default)]
struct Columns {
    high: Vec<i64>,
    low: Vec<i64>,
    content: Vec<i32>,
    length: Vec<i32>,
    occurrences: Vec<i32>,
    flags: Vec<i32>,
}

impl Columns {
    fn push(&mut self, row: &Row) {
        let (high, low) = row.halves();
        self.high.push(high);
        self.low.push(low);
        self.content.push(row.content);
        self.length.push(row.length);
        self.occurrences.push(row.occurrences);
        self.flags.push(row.flags);
    }

    fn write(self, writer: &mut ArrowWriter<Vec<u8>>) -> Result<()> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.high)),
            Arc::new(Int64Array::from(self.low)),
            Arc::new(Int32Array::from(self.content)),
            Arc::new(Int32Array::from(self.length)),
            Arc::new(Int32Array::from(self.occurrences)),
            Arc::new(Int32Array::from(self.flags)),
        ];
        writer.write(&RecordBatch::try_new(schema(), columns)?)?;
        Ok(writer.flush()?)
    }
}

fn schema() -> Arc<Schema> {
    let kinds = [DataType::Int64, DataType::Int64, DataType::Int32, DataType::Int32, DataType::Int32, DataType::Int32];
    Arc::new(Schema::new(
        COLUMNS.into_iter().zip(kinds).map(|(name, kind)| Field::new(name, kind, false)).collect::<Vec<_>>(),
    ))
}

/// Tags are digests, which nothing makes smaller; lengths and flags are few.
fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    for name in [COLUMNS[4], COLUMNS[5]] {
        properties = properties.set_column_dictionary_enabled(name.into(), true);
    }
    properties.set_column_encoding(COLUMNS[3].into(), Encoding::DELTA_BINARY_PACKED).build()
}
