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

use crate::budget::Budget;
use crate::cluster::{Cluster, Link, LinkRule};
use crate::component::{Partitions, find_components};
use crate::error::Error;
use crate::input::{Home, Input, Options, check};
use crate::joiner::{Joiner, Packed};
use crate::lists::JoinRow;
use crate::overlap::OverlapLevel;
use crate::part::Found;
use crate::prefix::{PrefixTables, find_prefixes};
use crate::shards::Shards;
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
    /// Of these, how many were one component beyond the memory budget, which was cut into slices.
    pub oversized_partitions: u64,
    /// Clusters beyond the memory budget, each of which was joined whole all the same; none by [`find_links`].
    pub oversized_clusters: u64,
}

/// Finds the clusters of similar contents and the overlap of their holders.
///
/// The result is exact and does not depend on shards, threads, memory budget or the order of postings within a tag. The
/// budget is kept but for one case: a single cluster that is beyond it is joined whole, and [`Stats::oversized_clusters`]
/// says that it happened. ([`find_links`] keeps it there too.)
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
    run(shards, input, options, watch, (Wish { told: None, clusters: true, touched: None }, LinkRule::PUBLISHED))
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
    run(shards, input, options, watch, (Wish { told: Some(told), clusters: true, touched: None }, LinkRule::PUBLISHED))
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
    let wish = Wish { told: Some(told), clusters: false, touched: None };
    Ok(run(shards, input, options, watch, (wish, LinkRule::PUBLISHED))?.stats)
}

/// Who is told about links.
pub type Told<'a> = dyn Fn(&[Link]) -> Result<(), Error> + Sync + 'a;

/// What the caller wants to have.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) told: Option<&'a Told<'a>>,
    pub(crate) clusters: bool,
    /// When given, only links of which one end at least is marked.
    pub(crate) touched: Option<&'a [bool]>,
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
    let tags = find_shared_tags(shards, input, &rows, wish.touched, options.threads, watch)?;
    let partitions = engine.find_partitions(&rows, &tags)?;
    let parts = engine.route(rows, &tags.numbers, &partitions)?;
    let found = engine.join_all(&partitions, &parts)?;
    Ok(Analysis {
        stats: Stats {
            postings: tags.postings,
            tags: tags.tags,
            shared_tags: tags.shared,
            candidates: found.candidates,
            links: found.links,
            spilled_bytes: spill.written_bytes(),
            partitions: partitions.count() as u64,
            oversized_partitions: partitions.oversized,
            oversized_clusters: found.oversized_clusters,
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

    /// Pass 5.
    fn join_all(&self, partitions: &Partitions, rows: &Buckets<'s, JoinRow>) -> Result<Found, Error> {
        let tracker = Tracker::new(self.watch, Phase::Join, partitions.count());
        let homes = self.input.across.map(|labels| Home::of_all(self.input.holders, labels));
        let joiner = Joiner {
            input: self.input,
            options: self.options,
            budget: self.budget,
            spill: self.spill,
            homes: homes.as_deref(),
            wish: self.wish,
            rule: self.rule,
            tracker: &tracker,
        };
        joiner.join_all(&Packed { partitions, rows, contents: None })
    }
}

#[cfg(test)]
mod tests;
