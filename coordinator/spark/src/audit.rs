//! The last check: one shard of 256 is grouped here, from the runs themselves, and has to be that shard of what is left.
//!
//! Sums show that no row was lost or changed. A cluster that sees the rows of one tag in two places would keep all of them and still leave
//! out tags that two contents have: that would be seen here.

use std::path::Path;

use anyhow::{Result, bail};
use cognate_similarity::{ContentIndex, Posting, Run, RunInput, RunShards, SHARDS, Shards as _};

use crate::export::each_row;
use crate::job::Job;
use crate::row::{Row, SEVERAL, Sum};

/// Compares a shard, which the name of the job chooses.
pub(crate) fn audit(job: &Job, kept: &Run) -> Result<()> {
    let shard = u32::from_str_radix(&job.name[..4], 16)? % SHARDS;
    let expected = grouped(job, &job.shards(&job.runs)?, shard)?;
    let found = sum_of(job, kept.path(), shard)?;
    if expected != found {
        bail!(
            "the cluster has not grouped by tag: of the tags that begin with {shard:02x}, {} rows are left where {} should be; nothing is used",
            found.rows,
            expected.rows
        );
    }
    Ok(())
}

/// The rows of a shard that have to be left.
fn grouped(job: &Job, shards: &RunShards, shard: u32) -> Result<Sum> {
    let (mut sum, mut tag): (Sum, Vec<Row>) = (Sum::default(), Vec::new());
    let mut close = |tag: &mut Vec<Row>| {
        let is_kept = tag.iter().any(|row| row.content != tag[0].content || row.flags >= SEVERAL);
        tag.drain(..).filter(|_| is_kept).for_each(|row| add(&mut sum, &row));
    };
    each_row(job, shards, shard..shard + 1, &mut |row| {
        if tag.first().is_some_and(|first| first.tag != row.tag) {
            close(&mut tag);
        }
        tag.push(row);
        Ok(())
    })?;
    close(&mut tag);
    Ok(sum)
}

/// The rows of a shard of the run that is left.
fn sum_of(job: &Job, path: &Path, shard: u32) -> Result<Sum> {
    let contents = (0..job.contents).map(|content| u32::try_from(content).ok().map(ContentIndex)).collect();
    let shards = RunShards::new(vec![RunInput { run: Run::open(path)?, contents }]);
    let mut sum = Sum::default();
    shards.visit(shard, &mut |slice: &[Posting]| {
        for posting in slice {
            let row = Row {
                tag: posting.tag,
                content: posting.content.0.cast_signed(),
                length: posting.length_bytes.cast_signed(),
                occurrences: 1,
                flags: i32::from(posting.template) | if job.is_several(posting.content) { SEVERAL } else { 0 },
            };
            sum.add(&row);
        }
        Ok(())
    })?;
    Ok(sum)
}

/// Adds the occurrences one by one, as a run has them.
fn add(sum: &mut Sum, row: &Row) {
    let each = Row { occurrences: 1, ..*row };
    let hash = i128::from(each.hash());
    let occurrences = u64::try_from(row.occurrences).unwrap_or(0);
    sum.rows += occurrences;
    sum.hashes += hash * i128::from(occurrences);
}
