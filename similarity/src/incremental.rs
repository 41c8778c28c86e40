//! An analysis that begins with the findings of an earlier one, and compares only contents that can have changed.
//!
//! A content is *changed* when it is new, or when its payload or (where links go across) its holders' label differs.
//! Two unchanged contents share the same bytes as in the earlier analysis, so a link is the earlier one or has a
//! changed end.
//!
//! | step | reads | leaves |
//! |---|---|---|
//! | 1 | all shards; keeps tags that a changed content holds | all overlap; the links of changed contents |
//! | 2 | the earlier clusters | the contents whose clusters can differ: those of any cluster that lost a member, has a changed one or is now linked with one, and those of clusters that omit links |
//! | 3 | shards again; keeps postings of these contents | their clusters and links |
//! | 4 | the earlier links | all links: those of the other contents, and those of step 3 |
//!
//! No link leads out of the contents of step 2: it would be an earlier one, whose cluster has both ends, or one of a
//! changed content, whose partner was added with its cluster. The links that are reported of a cluster that omits some follow from who
//! holds its members, which may change although no link does. Clusters do not depend on contents outside of them, so
//! those of step 3 are the ones that an analysis of everything finds, and the clusters that are left are the earlier
//! ones. Contents must be numbered in one order both times: wherever numbers decide between equals, they then decide
//! the same.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::analyse::{Analysis, Stats, run};
use crate::cluster::{Cluster, LinkRule};
use crate::error::Error;
use crate::input::{Input, Options};
use crate::link::Link;
use crate::link_file::{LinkFile, LinkReader, LinkWriter};
use crate::links::{LinksOptions, SortedLinks};
use crate::monitor::Monitor;
use crate::posting::{ContentIndex, Posting};
use crate::request::Request;
use crate::shards::Shards;
use crate::spill::SpillFolder;

/// The findings of an earlier analysis, under the same thresholds and, where links go across, the same labels.
#[derive(Debug)]
pub struct EarlierAnalysis<'a> {
    /// The clusters, in the numbers of that analysis.
    pub clusters: Vec<Cluster>,
    /// The links, in the numbers of that analysis.
    pub links: &'a LinkFile,
    /// The present number of each of its contents; `None` where it is gone or changed. Ascending.
    pub numbers: &'a [Option<ContentIndex>],
}

/// The outcome of an analysis that began with an earlier one.
#[derive(Debug)]
pub struct IncrementalAnalysis {
    /// The findings, equal to those of an analysis from nothing; the statistics show this analysis' effort.
    pub analysis: Analysis,
    /// Contents that have changed.
    pub changed: u64,
    /// Contents whose clusters were put together again.
    pub compared: u64,
    /// Clusters that stay as they were.
    pub clusters_kept: u64,
}

/// Finds the clusters of similar contents and the overlap of their holders, and writes all links. Begins with the
/// findings of an earlier analysis that had some of the contents.
///
/// # Errors
///
/// As [`crate::analyse`]; when the earlier links are damaged or the numbers are not ascending; when links cannot be
/// written.
pub fn analyse_incrementally(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    earlier: EarlierAnalysis<'_>,
    links: &mut LinkWriter,
) -> Result<IncrementalAnalysis, Error> {
    let contents = input.payload_bytes.len();
    let numbers = ContentNumbers::new(earlier.numbers, contents)?;
    let changed = numbers.changed(contents);
    let ChangedPartners { analysis: first, is_partner } = find_partners(shards, input, options, monitor, &changed)?;
    let StaleContents { is_stale, unchanged } =
        StaleContents::of(earlier.clusters, &numbers, is_partner, LinkRule::published(contents));

    let spill = SpillFolder::new(options.spill_dir);
    let Options { memory_budget_bytes, threads, .. } = *options;
    let sorted = SortedLinks::new(&spill, &LinksOptions { contents, memory_budget_bytes, threads: threads.get() });
    let sink = |links: &[Link]| sorted.add(links);
    let request = Request { sink: Some(&sink), clusters: true, changed: None };
    let only = FilteredShards { shards, is_wanted: &is_stale };
    let input = Input { levels: &[], ..*input };
    let second = run(&only, &input, options, monitor, request, LinkRule::published(input.payload_bytes.len()))?;

    let clusters_kept = unchanged.len() as u64;
    let mut clusters = second.clusters;
    clusters.extend(unchanged);
    clusters.sort_unstable_by_key(|cluster| cluster.members[0]);
    let earlier_links = EarlierLinks {
        reader: earlier.links.read()?,
        links: Vec::new(),
        at: 0,
        numbers: &numbers,
        is_stale: &is_stale,
    };
    let written = merge(earlier_links, &sorted, options, links)?;
    let stats = Stats {
        candidates: first.stats.candidates + second.stats.candidates,
        links: written + second.omitted.count,
        spilled_bytes: first.stats.spilled_bytes + second.stats.spilled_bytes + spill.written_bytes(),
        partitions: first.stats.partitions + second.stats.partitions,
        oversized_partitions: first.stats.oversized_partitions + second.stats.oversized_partitions,
        ..first.stats
    };
    let count = |marked: &[bool]| marked.iter().filter(|marked| **marked).count() as u64;
    Ok(IncrementalAnalysis {
        analysis: Analysis { clusters, overlap: first.overlap, omitted: second.omitted, stats },
        changed: count(&changed),
        compared: count(&is_stale),
        clusters_kept,
    })
}

/// The present numbers of the contents of the earlier analysis.
struct ContentNumbers<'a> {
    now: &'a [Option<ContentIndex>],
}

impl<'a> ContentNumbers<'a> {
    fn new(now: &'a [Option<ContentIndex>], contents: usize) -> Result<ContentNumbers<'a>, Error> {
        let mut left = now.iter().flatten();
        match left.clone().is_sorted_by(|a, b| a < b) && left.next_back().is_none_or(|last| last.at() < contents) {
            true => Ok(ContentNumbers { now }),
            false => Err(Error::InvalidInput {
                detail: "contents are numbered in another order than in the earlier analysis",
            }),
        }
    }

    fn now(&self, then: ContentIndex) -> Option<ContentIndex> {
        self.now.get(then.at()).copied().flatten()
    }

    fn changed(&self, contents: usize) -> Vec<bool> {
        let mut changed = vec![true; contents];
        self.now.iter().flatten().for_each(|content| changed[content.at()] = false);
        changed
    }
}

/// The findings of step 1.
struct ChangedPartners {
    /// The overlap and the counts of all shards.
    analysis: Analysis,
    /// For each content, true if it is linked with a changed one, or changed and linked.
    is_partner: Vec<bool>,
}

fn find_partners(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    changed: &[bool],
) -> Result<ChangedPartners, Error> {
    let is_partner: Vec<AtomicBool> = changed.iter().map(|_| AtomicBool::new(false)).collect();
    let sink = |links: &[Link]| {
        let ends = links.iter().flat_map(|link| [link.a, link.b]);
        ends.for_each(|content| is_partner[content.at()].store(true, Ordering::Relaxed));
        Ok(())
    };
    let request = Request { sink: Some(&sink), clusters: false, changed: Some(changed) };
    let analysis = run(shards, input, options, monitor, request, LinkRule::published(input.payload_bytes.len()))?;
    Ok(ChangedPartners { analysis, is_partner: is_partner.into_iter().map(AtomicBool::into_inner).collect() })
}

/// The findings of step 2.
struct StaleContents {
    /// For each content, true if its cluster must be put together again.
    is_stale: Vec<bool>,
    /// The clusters of the other contents, in the present numbers.
    unchanged: Vec<Cluster>,
}

impl StaleContents {
    fn of(
        clusters: Vec<Cluster>,
        numbers: &ContentNumbers<'_>,
        is_partner: Vec<bool>,
        rule: LinkRule,
    ) -> StaleContents {
        let stays = |then: &ContentIndex| numbers.now(*then).is_some_and(|now| !is_partner[now.at()]);
        // The bound of all clusters depends on the number of contents.
        let keeps_all =
            |one: &Cluster| one.links_omitted() == 0 && rule.keeps_all(one.members.len() as u64, one.link_count);
        let is_unchanged = |one: &Cluster| keeps_all(one) && one.members.iter().all(stays);
        let (unchanged, stale): (Vec<_>, Vec<_>) = clusters.into_iter().partition(is_unchanged);
        let mut is_stale = is_partner;
        let members = stale.iter().flat_map(|cluster| &cluster.members);
        members.filter_map(|then| numbers.now(*then)).for_each(|now| is_stale[now.at()] = true);
        let unchanged = unchanged.into_iter().map(|cluster| renumber(cluster, numbers)).collect();
        StaleContents { is_stale, unchanged }
    }
}

fn renumber(mut cluster: Cluster, numbers: &ContentNumbers<'_>) -> Cluster {
    let now = |then: &mut ContentIndex| *then = numbers.now(*then).expect("no member of an unchanged cluster is gone");
    cluster.members.iter_mut().for_each(now);
    cluster.links.iter_mut().flat_map(|link| [&mut link.a, &mut link.b]).for_each(now);
    cluster.container.iter_mut().for_each(now);
    now(&mut cluster.representative);
    for family in &mut cluster.families {
        now(&mut family.representative);
        family.members.iter_mut().for_each(now);
    }
    cluster
}

/// The postings of some contents.
struct FilteredShards<'a> {
    shards: &'a dyn Shards,
    is_wanted: &'a [bool],
}

impl Shards for FilteredShards<'_> {
    fn shard_count(&self) -> u32 {
        self.shards.shard_count()
    }

    fn posting_count_max(&self) -> u64 {
        self.shards.posting_count_max()
    }

    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error> {
        let mut wanted = Vec::new();
        self.shards.visit(shard, &mut |postings| {
            wanted.clear();
            wanted.extend(postings.iter().filter(|posting| self.is_wanted[posting.content.at()]));
            if wanted.is_empty() { Ok(()) } else { visit(&wanted) }
        })
    }
}

/// The earlier links of contents whose clusters stay, in the present numbers and in order.
struct EarlierLinks<'a> {
    reader: LinkReader,
    links: Vec<Link>,
    at: usize,
    numbers: &'a ContentNumbers<'a>,
    is_stale: &'a [bool],
}

impl EarlierLinks<'_> {
    /// The next links; none after the last.
    fn ahead(&mut self) -> Result<&[Link], Error> {
        while self.at == self.links.len() {
            let Some(links) = self.reader.next_links()? else { break };
            self.links.clear();
            self.at = 0;
            for link in links {
                // If one end is gone, changed or in a stale cluster, the other end is in the same cluster.
                if let (Some(a), Some(b)) = (self.numbers.now(link.a), self.numbers.now(link.b))
                    && !self.is_stale[a.at()]
                {
                    self.links.push(Link { a, b, ..*link });
                }
            }
        }
        Ok(&self.links[self.at..])
    }

    /// Writes the links before one, or all remaining links.
    fn take_before(&mut self, end: Option<&Link>, out: &mut LinkWriter) -> Result<(), Error> {
        loop {
            let ahead = self.ahead()?;
            let count = end.map_or(ahead.len(), |end| ahead.partition_point(|link| link < end));
            let is_last = count < ahead.len() || ahead.is_empty();
            out.push(&ahead[..count])?;
            self.at += count;
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Writes earlier and new links in one order, and returns their number.
fn merge(
    mut earlier: EarlierLinks<'_>,
    sorted: &SortedLinks<'_>,
    options: &Options<'_>,
    out: &mut LinkWriter,
) -> Result<u64, Error> {
    let count_at_start = out.count();
    sorted.drain_in_order(options.threads, &mut |mut links: &[Link]| {
        while let Some(first) = links.first() {
            earlier.take_before(Some(first), out)?;
            let count = earlier.ahead()?.first().map_or(links.len(), |next| links.partition_point(|link| link < next));
            out.push(&links[..count])?;
            links = &links[count..];
        }
        Ok(())
    })?;
    earlier.take_before(None, out)?;
    Ok(out.count() - count_at_start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    use cognate_fingerprint::Tag;

    use crate::cluster::Family;
    use crate::measure::Resemblance;
    use crate::shards::MemoryShards;

    fn content(number: u32) -> ContentIndex {
        ContentIndex(number)
    }

    fn link(a: u32, b: u32, shared_bytes: u64) -> Link {
        Link { a: content(a), b: content(b), shared_bytes }
    }

    /// Two contents of one family.
    fn cluster(a: u32, b: u32) -> Cluster {
        let least = Resemblance { shared: 9, union: 10 };
        let members = vec![content(a), content(b)];
        let family = Family {
            representative: content(b),
            members: members.clone(),
            min_resemblance: least,
            over_representative_only: false,
        };
        Cluster {
            members,
            links: vec![link(a, b, 9)],
            link_count: 1,
            min_resemblance: least,
            resemblance_sum: 1,
            container: Some(content(a)),
            representative: content(b),
            families: vec![family],
        }
    }

    #[test]
    fn numbers_must_ascend_and_name_contents_that_exist() {
        for (now, contents, accepted) in [
            (vec![], 0, true),
            (vec![None, None], 0, true),
            (vec![Some(0), None, Some(1)], 2, true),
            (vec![Some(0), Some(2)], 3, true),
            (vec![Some(0), Some(2)], 2, false),
            (vec![Some(1), Some(0)], 2, false),
            (vec![Some(1), Some(1)], 2, false),
            (vec![Some(1), None, Some(0)], 2, false),
        ] {
            let now: Vec<_> = now.into_iter().map(|number| number.map(content)).collect();
            assert_eq!(ContentNumbers::new(&now, contents).is_ok(), accepted, "{now:?} of {contents}");
        }
    }

    #[test]
    fn contents_without_an_earlier_number_have_changed() {
        let now = [Some(content(1)), None, Some(content(3))];
        let numbers = ContentNumbers::new(&now, 5).unwrap();
        assert_eq!(numbers.changed(5), [true, false, true, false, true]);
        let present: Vec<_> = (0..4).map(|then| numbers.now(content(then))).collect();
        assert_eq!(present, [Some(content(1)), None, Some(content(3)), None]);
    }

    #[test]
    fn a_cluster_is_stale_when_a_member_is_gone_or_a_partner_of_a_change() {
        // Content 1 is gone; 4 is linked with a changed content.
        let now: Vec<_> = [Some(0), None, Some(1), Some(2), Some(3), Some(4)].map(|number| number.map(content)).into();
        let numbers = ContentNumbers::new(&now, 5).unwrap();
        let clusters = vec![cluster(0, 1), cluster(2, 3), cluster(4, 5)];
        let rule = LinkRule::published(5);
        let stale = StaleContents::of(clusters.clone(), &numbers, vec![false, false, false, true, false], rule);
        assert_eq!(stale.is_stale, [true, false, false, true, true]);
        assert_eq!(stale.unchanged, [cluster(1, 2)], "in the present numbers");
        // It kept all its links among fewer contents, and may not any more; or it omitted some, whatever has changed.
        let none = LinkRule { all_max: 0, per_member_max: 0, share_max: 0 };
        let mut dense = clusters;
        dense[1].link_count = 2;
        for (clusters, rule) in [(vec![cluster(2, 3)], none), (vec![dense.remove(1)], rule)] {
            let stale = StaleContents::of(clusters, &numbers, vec![false; 5], rule);
            assert_eq!((stale.is_stale, stale.unchanged.len()), (vec![false, true, true, false, false], 0));
        }
    }

    #[test]
    fn only_postings_of_wanted_contents_are_visited() {
        let posting =
            |tag, number| Posting { tag: Tag([tag; 16]), length_bytes: 1, template: false, content: content(number) };
        let postings = vec![posting(1, 0), posting(1, 1), posting(2, 2), posting(9, 1)];
        let shards = MemoryShards::new(postings, NonZeroU32::new(2).unwrap());
        let filtered = FilteredShards { shards: &shards, is_wanted: &[false, true, false] };
        assert_eq!((filtered.shard_count(), filtered.posting_count_max()), (2, 4));
        let mut visited = Vec::new();
        for shard in 0..2 {
            filtered
                .visit(shard, &mut |postings| {
                    assert!(!postings.is_empty());
                    visited.extend(postings.iter().map(|posting| (posting.tag.0[0], posting.content.0)));
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(visited, [(1, 1), (9, 1)]);
    }

    #[test]
    fn earlier_links_are_written_up_to_a_new_one_and_those_of_stale_contents_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (earlier, merged) = (folder.path().join("earlier"), folder.path().join("merged"));
        let mut writer = LinkWriter::create(&earlier, &[0; 32]).unwrap();
        writer.push(&[link(0, 1, 5), link(0, 2, 6), link(2, 4, 7), link(3, 4, 8), link(5, 6, 9)]).unwrap();
        writer.finish(false).unwrap();
        let file = LinkFile::open(&earlier, &[0; 32]).unwrap();
        // Content 3 is gone, the others move down; 0 and 1 are stale.
        let now: Vec<_> = [Some(0), Some(1), Some(2), None, Some(3), Some(4), Some(5)].map(|n| n.map(content)).into();
        let numbers = ContentNumbers::new(&now, 6).unwrap();
        let is_stale = [true, true, false, false, false, false];
        let reader = file.read().unwrap();
        let mut links = EarlierLinks { reader, links: Vec::new(), at: 0, numbers: &numbers, is_stale: &is_stale };
        let mut out = LinkWriter::create(&merged, &[0; 32]).unwrap();
        let new = link(4, 5, 0);
        links.take_before(Some(&new), &mut out).unwrap();
        assert_eq!(out.count(), 1);
        out.push(&[new]).unwrap();
        links.take_before(None, &mut out).unwrap();
        out.finish(false).unwrap();
        let mut found = Vec::new();
        LinkFile::open(&merged, &[0; 32]).unwrap().for_each(|link| found.push(*link)).unwrap();
        assert_eq!(found, [link(2, 3, 7), link(4, 5, 0), link(4, 5, 9)]);
    }
}
