//! An analysis from end to end: the table of contents of this crate.
//!
//! | pass | reads | leaves |
//! |---|---|---|
//! | 1 tags | shards | overlap; the shared tags of each content |
//! | 2 prefixes | contents, range by range | the holders of each tag, and the contents that look it up |
//! | 3 components | tags, range by range | the contents that could be linked |
//! | 4 partitions | components | the shared tags again, by partition |
//! | 5 join | partitions | links, clusters, families |
//!
//! Rows go from pass to pass through [`Buckets`], in memory or on disk as the budget allows.

use crate::budget::Budget;
use crate::cluster::{Cluster, LinkRule};
use crate::component::{Partitions, find_components};
use crate::error::Error;
use crate::input::{HolderLabel, Input, Options, check};
use crate::join_row::JoinRow;
use crate::joiner::{Joiner, PackedPartitions};
use crate::link::Link;
use crate::monitor::{Monitor, Phase};
use crate::omitted::OmittedLinks;
use crate::outstanding::HeldBy;
use crate::overlap::OverlapLevel;
use crate::partition_join::JoinOutcome;
use crate::posting::ContentIndex;
use crate::prefix::{PrefixTables, find_prefixes};
use crate::request::{LinkSink, Request};
use crate::shards::Shards;
use crate::spill::{Buckets, SpillFolder, Writer};
use crate::tags::{SharedTags, TagNumbers, TagRow, find_shared_tags};
use crate::workers::{Tracker, share_out};

/// The findings of an analysis.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Analysis {
    /// The clusters, by their smallest members.
    pub clusters: Vec<Cluster>,
    /// Overlap at each level of the input, in its order.
    pub overlap: Vec<OverlapLevel>,
    /// The links that [`analyse_with_links`] does not report.
    pub omitted: OmittedLinks,
    /// The effort.
    pub stats: Stats,
}

impl Analysis {
    /// Gives the contents other numbers, whose order among them has to be the same.
    pub fn renumber(&mut self, number: &dyn Fn(ContentIndex) -> ContentIndex) {
        let renumber =
            |contents: &mut [ContentIndex]| contents.iter_mut().for_each(|content| *content = number(*content));
        for cluster in &mut self.clusters {
            renumber(&mut cluster.members);
            renumber(std::slice::from_mut(&mut cluster.representative));
            cluster.container = cluster.container.map(number);
            for link in &mut cluster.links {
                *link = Link { a: number(link.a), b: number(link.b), ..*link };
            }
            for family in &mut cluster.families {
                renumber(std::slice::from_mut(&mut family.representative));
                renumber(&mut family.members);
            }
        }
        self.omitted.of.iter_mut().for_each(|one| one.content = number(one.content));
    }

    /// Takes in the analysis of other contents, or of other tags. Those that come first are those with the smaller numbers once
    /// [`Analysis::sort`] was called.
    pub fn append(&mut self, mut other: Analysis) {
        self.clusters.append(&mut other.clusters);
        self.omitted.append(other.omitted);
        match self.overlap.as_mut_slice() {
            [] => self.overlap = other.overlap,
            levels => levels.iter_mut().zip(&other.overlap).for_each(|(sum, part)| sum.absorb(part)),
        }
        let (mine, theirs) = (&mut self.stats, other.stats);
        mine.postings += theirs.postings;
        mine.tags += theirs.tags;
        mine.shared_tags += theirs.shared_tags;
        mine.candidates += theirs.candidates;
        mine.links += theirs.links;
        mine.spilled_bytes += theirs.spilled_bytes;
        mine.partitions += theirs.partitions;
        mine.oversized_partitions += theirs.oversized_partitions;
        mine.oversized_clusters += theirs.oversized_clusters;
    }

    /// Puts parts that were appended in order.
    pub fn sort(&mut self) {
        self.clusters.sort_unstable_by_key(|cluster| cluster.members[0]);
        self.omitted.of.sort_unstable_by_key(|one| one.content);
    }
}

/// The effort of an analysis.
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
    /// Links, reported or not.
    pub links: u64,
    /// Bytes written to spill files.
    pub spilled_bytes: u64,
    /// Parts that were joined separately.
    pub partitions: u64,
    /// Parts that were one component beyond the memory budget, which was cut into slices.
    pub oversized_partitions: u64,
    /// Clusters beyond the memory budget that were joined in memory nevertheless; [`find_links`] has none.
    pub oversized_clusters: u64,
}

/// Finds the clusters of similar contents and the overlap of their holders.
///
/// The result is exact and does not depend on shards, threads, memory budget or the order of postings within a tag. The
/// analysis stays within the budget with one exception: a cluster that is larger than the budget is joined in memory,
/// and [`Stats::oversized_clusters`] counts it. ([`find_links`] has no exception.)
///
/// # Errors
///
/// If the input contradicts itself, the source of postings or the spill folder fails, or the caller cancels.
pub fn analyse(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
) -> Result<Analysis, Error> {
    let request = Request { sink: None, clusters: true, changed: None };
    run(shards, input, options, monitor, request, LinkRule::published(input.payload_bytes.len()))
}

/// As [`analyse`], and reports links, each once, as many as grow with the contents and not with their square: those of
/// clusters that keep all ([`Cluster::links`]), and those that stand out of others. These are the links that the
/// cluster keeps; those of its maximum spanning forest by shared bytes; and of each member the links by which it shares most
/// bytes, shares most with a member that is held elsewhere (under another label of `across`, or by another group), holds
/// the largest share of another, and by which the two hold the largest shares of the larger: six links at most for each member.
/// Of equals the one with the smaller other content counts. [`Analysis::omitted`] has the figures of the others.
///
/// `sink` receives some thousand links at a time, in no order, from several threads. [`crate::SortedLinks`] puts them in
/// order.
///
/// # Errors
///
/// As [`analyse`], and errors of `sink`.
pub fn analyse_with_links(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    sink: &LinkSink<'_>,
) -> Result<Analysis, Error> {
    let request = Request { sink: Some(sink), clusters: true, changed: None };
    run(shards, input, options, monitor, request, LinkRule::published(input.payload_bytes.len()))
}

/// Reports every link once, without clusters: links do not stay in memory.
///
/// # Errors
///
/// As [`analyse_with_links`].
pub fn find_links(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    sink: &LinkSink<'_>,
) -> Result<Stats, Error> {
    let request = Request { sink: Some(sink), clusters: false, changed: None };
    Ok(run(shards, input, options, monitor, request, LinkRule::published(input.payload_bytes.len()))?.stats)
}

/// Runs an analysis; `rule` is [`LinkRule::published`] outside of tests.
pub(crate) fn run(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    request: Request<'_>,
    rule: LinkRule,
) -> Result<Analysis, Error> {
    check(input)?;
    let spill = SpillFolder::new(options.spill_dir);
    let engine = Engine { input, options, monitor, budget: Budget::new(options), spill: &spill, request, rule };
    let rows = Buckets::new(&spill, &engine.budget.tag_rows(shards, input));
    let tags = find_shared_tags(shards, input, &rows, request.changed, options.threads, monitor)?;
    let partitions = engine.find_partitions(&rows, &tags)?;
    let parts = engine.route(rows, &tags.numbers, &partitions)?;
    let outcome = engine.join_all(&partitions, &parts)?;
    Ok(Analysis {
        stats: Stats {
            postings: tags.postings,
            tags: tags.tags,
            shared_tags: tags.shared,
            candidates: outcome.candidates,
            links: outcome.links,
            spilled_bytes: spill.written_bytes(),
            partitions: partitions.count() as u64,
            oversized_partitions: partitions.oversized,
            oversized_clusters: outcome.oversized_clusters,
        },
        clusters: outcome.clusters,
        overlap: tags.overlap,
        omitted: outcome.omitted,
    })
}

/// The state that all passes share.
struct Engine<'a, 's> {
    input: &'a Input<'a>,
    options: &'a Options<'a>,
    monitor: &'a Monitor<'a>,
    budget: Budget,
    spill: &'s SpillFolder,
    request: Request<'a>,
    rule: LinkRule,
}

impl<'s> Engine<'_, 's> {
    /// Passes 2 to 4: from the shared tags of contents to partitions that can be joined apart.
    fn find_partitions(&self, rows: &Buckets<'s, TagRow>, tags: &SharedTags) -> Result<Partitions, Error> {
        let payload_bytes = self.input.payload_bytes;
        let holders = Buckets::new(self.spill, &self.budget.holder_rows(tags.numbers.count));
        let tables = PrefixTables { rows, numbers: &tags.numbers, holders: &holders };
        let (thresholds, threads) = (&self.options.thresholds, self.options.threads);
        let row_counts = find_prefixes(&tables, payload_bytes, thresholds, threads, self.monitor)?;
        let count = tags.numbers.count;
        let components = find_components(&holders, count, payload_bytes, threads, self.monitor)?;
        let pack = self.budget.pack(tags.rows);
        Ok(Partitions::pack(&components, &row_counts, payload_bytes, &pack))
    }

    /// Moves the shared tags of each content to its partition; contents without possible partners are left out.
    fn route(
        &self,
        rows: Buckets<'s, TagRow>,
        numbers: &TagNumbers,
        partitions: &Partitions,
    ) -> Result<Buckets<'s, JoinRow>, Error> {
        let parts = Buckets::new(self.spill, &self.budget.join_rows(partitions.count()));
        let tracker = Tracker::new(self.monitor, Phase::Partitions, rows.count());
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
    fn join_all(&self, partitions: &Partitions, rows: &Buckets<'s, JoinRow>) -> Result<JoinOutcome, Error> {
        let tracker = Tracker::new(self.monitor, Phase::Join, partitions.count());
        let Input { holders, across, .. } = *self.input;
        let holder_labels = across.map(|labels| HolderLabel::of_all(holders, labels));
        let reports = self.request.sink.is_some() && self.request.clusters;
        let groups: Vec<u16> = (0..=u16::MAX).take(holders.groups()).collect();
        let group_labels = if reports { HolderLabel::of_all(holders, &groups) } else { Vec::new() };
        let joiner = Joiner {
            input: self.input,
            options: self.options,
            budget: self.budget,
            spill: self.spill,
            holder_labels: holder_labels.as_deref(),
            held_by: reports.then_some(HeldBy {
                holders,
                labels: holder_labels.as_deref().unwrap_or(&group_labels),
                groups: &group_labels,
                words: groups.len().div_ceil(64),
            }),
            request: self.request,
            rule: self.rule,
            tracker: &tracker,
        };
        joiner.join_all(&PackedPartitions { partitions, rows, contents: None })
    }
}

#[cfg(test)]
mod tests;
