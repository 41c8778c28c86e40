//! An analysis from end to end: the table of contents of this crate.
//!
//! | pass | reads | leaves |
//! |---|---|---|
//! | 1 tags | shards | overlap; the shared tags of each content |
//! | 2 prefixes | contents, range by range | the holders of each tag, and who looks it up |
//! | 3 components | tags, range by range | which contents could be linked |
//! | 4 partitions | components | the shared tags again, by partition |
//! | 5 join | partitions | links, clusters, families |
//!
//! Rows go from pass to pass through [`Buckets`], in memory or on disk as the budget allows.

use std::num::NonZeroUsize;

use crate::budget::Budget;
use crate::cluster::{Cluster, Link, LinkRule, Members};
use crate::component::{Partitions, find_components};
use crate::error::Error;
use crate::input::{Home, Input, Options, check};
use crate::lists::{JoinRow, Lists};
use crate::overlap::OverlapLevel;
use crate::part::{Found, Part};
use crate::prefix::{PrefixTables, find_prefixes};
use crate::shards::Shards;
use crate::slices::Slices;
use crate::spill::{Buckets, SpillFolder, Writer};
use crate::tags::{SharedTags, TagNumbers, TagRow, find_shared_tags};
use crate::watch::{Phase, Watch};
use crate::workers::{Tracker, share_out};

/// What an analysis found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    /// The clusters, by their smallest members.
    pub clusters: Vec<Cluster>,
    /// Overlap at each level of the input, in its order.
    pub overlap: Vec<OverlapLevel>,
    /// What it took.
    pub stats: Stats,
}

/// What an analysis took.
///
/// `candidates`, `spilled_bytes` and the partitions may differ with budget and threads; all else may not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Postings read.
    pub postings: u64,
    /// Distinct tags.
    pub tags: u64,
    /// Tags, templates apart, that occur in two contents or more.
    pub shared_tags: u64,
    /// Pairs measured for links.
    pub candidates: u64,
    /// Links kept.
    pub links: u64,
    /// Bytes written to spill files.
    pub spilled_bytes: u64,
    /// Parts that were joined each by itself.
    pub partitions: u64,
    /// Of these, how many were one component beyond the memory budget: cut into slices by [`find_links`], joined all the
    /// same where clusters are wanted.
    pub oversized_partitions: u64,
}

/// Finds the clusters of similar contents and the overlap of their holders.
///
/// The result is exact and does not depend on shards, threads, memory budget or the order of postings within a tag. The
/// budget is kept but for one case: a component of contents that cannot be told apart by their rare tags is joined whole,
/// and [`Stats::oversized_partitions`] says that it happened. ([`find_links`] keeps it there too.)
///
/// # Errors
///
/// When the input contradicts itself, the source of postings or the spill folder fails, or the caller cancels.
pub fn analyse(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<Analysis, Error> {
    run(shards, input, options, watch, (Wish { told: None, clusters: true }, LinkRule::PUBLISHED))
}

/// As [`analyse`], and tells every link once: the clusters keep only some of the links where those are very many.
///
/// Links are told some thousand at a time, in no order, from whichever thread found them. [`crate::SortedLinks`] puts
/// them in order.
///
/// # Errors
///
/// As [`analyse`], and whatever `told` returns.
pub fn analyse_telling(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
    told: &Told<'_>,
) -> Result<Analysis, Error> {
    run(shards, input, options, watch, (Wish { told: Some(told), clusters: true }, LinkRule::PUBLISHED))
}

/// As [`analyse_telling`], and keeps nothing of the links: no clusters are built.
///
/// # Errors
///
/// As [`analyse_telling`].
pub fn find_links(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
    told: &Told<'_>,
) -> Result<Stats, Error> {
    Ok(run(shards, input, options, watch, (Wish { told: Some(told), clusters: false }, LinkRule::PUBLISHED))?.stats)
}

/// Who is told about links.
pub type Told<'a> = dyn Fn(&[Link]) -> Result<(), Error> + Sync + 'a;

/// What the caller wants to have.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) told: Option<&'a Told<'a>>,
    pub(crate) clusters: bool,
}

/// Runs an analysis; `rule` is [`LinkRule::PUBLISHED`] outside of tests.
pub(crate) fn run(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
    (wish, rule): (Wish<'_>, LinkRule),
) -> Result<Analysis, Error> {
    check(input)?;
    let spill = SpillFolder::new(options.spill_dir);
    let engine = Engine { input, options, watch, budget: Budget::new(options), spill: &spill, wish, rule };
    let rows = Buckets::new(&spill, &engine.budget.tag_rows(shards, input));
    let tags = find_shared_tags(shards, input, &rows, options.threads, watch)?;
    let partitions = engine.find_partitions(&rows, &tags)?;
    let parts = engine.route(rows, &tags.numbers, &partitions)?;
    let found = engine.join_all(&partitions, &parts)?;
    Ok(Analysis {
        stats: Stats {
            postings: tags.postings,
            tags: tags.tags,
            shared_tags: u64::from(tags.numbers.count),
            candidates: found.candidates,
            links: found.links,
            spilled_bytes: spill.written_bytes(),
            partitions: partitions.count() as u64,
            oversized_partitions: partitions.oversized,
        },
        clusters: found.clusters,
        overlap: tags.overlap,
    })
}

/// What every pass needs to know.
struct Engine<'a, 's> {
    input: &'a Input<'a>,
    options: &'a Options<'a>,
    watch: &'a Watch<'a>,
    budget: Budget,
    spill: &'s SpillFolder,
    wish: Wish<'a>,
    rule: LinkRule,
}

impl<'s> Engine<'_, 's> {
    /// Passes 2 to 4: from the shared tags of contents to partitions that can be joined apart.
    fn find_partitions(&self, rows: &Buckets<'s, TagRow>, tags: &SharedTags) -> Result<Partitions, Error> {
        let payload_bytes = self.input.payload_bytes;
        let holders = Buckets::new(self.spill, &self.budget.holder_rows(tags.numbers.count));
        let tables = PrefixTables { rows, numbers: &tags.numbers, holders: &holders };
        let (thresholds, threads) = (&self.options.thresholds, self.options.threads);
        let row_counts = find_prefixes(&tables, payload_bytes, thresholds, threads, self.watch)?;
        let count = tags.numbers.count;
        let components = find_components(&holders, count, payload_bytes, threads, self.watch)?;
        let pack = self.budget.pack(tags.rows);
        Ok(Partitions::pack(&components, &row_counts, payload_bytes, &pack))
    }

    /// Takes the shared tags of each content to its partition; contents without possible partners end here.
    fn route(
        &self,
        rows: Buckets<'s, TagRow>,
        numbers: &TagNumbers,
        partitions: &Partitions,
    ) -> Result<Buckets<'s, JoinRow>, Error> {
        let parts = Buckets::new(self.spill, &self.budget.join_rows(partitions.count()));
        let tracker = Tracker::new(self.watch, Phase::Partitions, rows.count());
        let start = || parts.writer();
        let writers = share_out(self.options.threads, rows.count(), start, |writer, bucket| {
            rows.scan(bucket, |rows| {
                for row in rows {
                    let Some(partition) = partitions.of(row.content) else {
                        continue;
                    };
                    let row = JoinRow {
                        tag: numbers.of(row.tag),
                        member: partitions.place(row.content),
                        length_bytes: row.length_bytes,
                        count: row.count,
                    };
                    writer.push(partition, row)?;
                }
                Ok(())
            })?;
            rows.clear(bucket)?;
            tracker.step()
        })?;
        writers.into_iter().try_for_each(Writer::finish)?;
        Ok(parts)
    }

    /// Pass 5: large partitions one after the other with all threads, then the others side by side.
    fn join_all(&self, partitions: &Partitions, parts: &Buckets<'s, JoinRow>) -> Result<Found, Error> {
        let tracker = Tracker::new(self.watch, Phase::Join, partitions.count());
        let homes = self.input.across.map(|labels| Home::of_all(self.input.holders, labels));
        let join = |found: &mut Found, partition, threads| {
            let members = Members { contents: partitions.members(partition), payload_bytes: self.input.payload_bytes };
            let part = Part {
                thresholds: &self.options.thresholds,
                members,
                lists: Lists::new(collect_rows(parts, partition, partitions)?, members.count()),
                homes: homes.as_deref(),
                wish: self.wish,
                first_members: None,
                rule: self.rule,
                links_max: self.budget.links_in_memory(members.count(), threads),
                threads,
                tracker: &tracker,
            };
            part.join(found)?;
            tracker.step()
        };
        let (large, small): (Vec<_>, Vec<_>) =
            (0..partitions.count()).partition(|&partition| partitions.is_large(partition));
        let mut found = Found::default();
        for partition in large {
            if partitions.is_oversized(partition) && !self.wish.clusters {
                self.join_slices(partitions, partition, parts, homes.as_deref(), (&tracker, &mut found))?;
                tracker.step()?;
            } else {
                join(&mut found, partition, self.options.threads)?;
            }
        }
        let others = share_out(self.options.threads, small.len(), Found::default, |found, task| {
            join(found, small[task], NonZeroUsize::MIN)
        })?;
        for mut other in others {
            found.candidates += other.candidates;
            found.links += other.links;
            found.clusters.append(&mut other.clusters);
        }
        found.clusters.sort_unstable_by_key(|cluster| cluster.members[0]);
        Ok(found)
    }
}

impl<'s> Engine<'_, 's> {
    /// Joins an oversized partition slice by slice.
    fn join_slices(
        &self,
        partitions: &Partitions,
        partition: usize,
        parts: &Buckets<'s, JoinRow>,
        homes: Option<&[Home]>,
        (tracker, found): (&Tracker<'_>, &mut Found),
    ) -> Result<(), Error> {
        let contents = partitions.members(partition);
        let slices = Slices::cut(self.spill, parts, partition, contents.len(), self.budget.slice())?;
        for block in slices.blocks() {
            let block = slices.read(block)?;
            let contents: Vec<u32> = block.members.iter().map(|&member| contents[member as usize]).collect();
            let part = Part {
                thresholds: &self.options.thresholds,
                members: Members { contents: &contents, payload_bytes: self.input.payload_bytes },
                lists: Lists::new(block.rows, contents.len()),
                homes,
                wish: self.wish,
                first_members: block.first_members,
                rule: self.rule,
                links_max: 0,
                threads: self.options.threads,
                tracker,
            };
            part.join(found)?;
        }
        Ok(())
    }
}

fn collect_rows(
    parts: &Buckets<'_, JoinRow>,
    partition: usize,
    partitions: &Partitions,
) -> Result<Vec<JoinRow>, Error> {
    let count = usize::try_from(partitions.rows(partition)).unwrap_or(0);
    let mut rows = Vec::with_capacity(count);
    parts.scan(partition, |slice| {
        rows.extend_from_slice(slice);
        Ok(())
    })?;
    parts.clear(partition)?;
    Ok(rows)
}

#[cfg(test)]
mod tests;
