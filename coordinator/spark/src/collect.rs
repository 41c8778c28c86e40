//! The last stage of a join on the workers: what the tasks found becomes two files, which the coordinator takes over.
//!
//! | file | what |
//! |---|---|
//! | `analysis` | clusters, overlap, figures of omitted links, statistics: the engine's own form |
//! | `links` | links, in order |

use anyhow::{Context as _, Result, bail};
use cognate_similarity::{Analysis, ContentIndex, Link, LinkWriter, LinksOptions, SortedLinks, SpillFolder, Stats};

use crate::block::{Kind, long, words};
use crate::exchange::Exchange;
use crate::job::Job;
use crate::passes::Left;
use crate::result_file::{analysis_of, binding};
use crate::stages::Stages;
use crate::stop::Stop;
use crate::table::each_block;
use crate::{check, progress};

/// Reads back what was found; returns the number of links.
pub(crate) fn collect(
    job: &Job,
    exchange: &Exchange,
    stages: &mut Stages,
    (left, stop): (&Left, &Stop),
) -> Result<u64> {
    let collected = collected(job, exchange, left, stop);
    if collected.is_err() {
        check(stop)?;
        // Which of the two tables is wrong, its error says to people; both are made again.
        stages.unpass("tags")?;
    }
    collected.map_err(|error| anyhow::anyhow!("{error:#}: check the storage, and launch the scan again"))
}

fn collected(job: &Job, exchange: &Exchange, left: &Left, stop: &Stop) -> Result<u64> {
    progress("fetch", 0, 3);
    let mut found = Analysis::default();
    let (folder, sum) = left.tags.source("tags", &[Kind::Analysis]);
    each_block(exchange, (&folder, Kind::Analysis, Some(sum)), stop, &mut |_, bytes| {
        found.append(analysis_of(&bytes)?);
        Ok(())
    })?;
    progress("fetch", 1, 3);
    let spill = SpillFolder::new(&job.folder);
    let sorted = SortedLinks::new(
        &spill,
        &LinksOptions { contents: job.contents, memory_budget_bytes: job.memory_bytes, threads: job.threads },
    );
    if let Some(join) = &left.join {
        let (folder, sum) = join.source("join", &[Kind::Analysis]);
        each_block(exchange, (&folder, Kind::Analysis, Some(sum)), stop, &mut |_, bytes| {
            found.append(analysis_of(&bytes)?);
            Ok(())
        })?;
        progress("fetch", 2, 3);
        let (folder, sum) = join.source("join", &[Kind::Links]);
        each_block(exchange, (&folder, Kind::Links, Some(sum)), stop, &mut |_, rows| {
            let links: Vec<Link> = rows.as_chunks::<16>().0.iter().map(|row| link(row)).collect();
            if links.iter().any(|link| link.a >= link.b || link.b.0 as usize >= job.contents) {
                bail!("the cluster returned a link of contents that are not there");
            }
            Ok(sorted.add(&links)?)
        })?;
    }
    found.sort();
    found.stats = Stats { spilled_bytes: spill.written_bytes(), ..found.stats };
    let mut links = LinkWriter::create(&job.folder.join("links"), &binding(&job.name))?;
    let threads = std::num::NonZeroUsize::new(job.threads).context("a job has a thread")?;
    sorted.drain_in_order(threads, &mut |part| links.push(part))?;
    let count = links.count();
    links.finish(false)?;
    found.write(&job.folder.join("analysis"), &binding(&job.name), false)?;
    progress("fetch", 3, 3);
    Ok(count)
}

fn link(row: &[u8]) -> Link {
    let [a, b] = words(row);
    Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes: long(&row[8..]) }
}
