//! An analysis that begins with what an earlier one found: only what can have changed is compared.
//!
//! A content is *touched* when it was not there, or when its payload or (where links go across) its home was another. Two
//! contents that are not touched share what they shared, so a link is the earlier one or has a touched end.
//!
//! | step | reads | leaves |
//! |---|---|---|
//! | 1 | all shards; keeps tags that a touched content holds | overlap, whole; the links of touched contents |
//! | 2 | the earlier clusters | the contents whose clusters can be others: those of any cluster that lost a member, has a touched one or is now linked with one |
//! | 3 | shards again; keeps postings of these contents | their clusters and links |
//! | 4 | the earlier links | all links: those of the other contents, and those of step 3 |
//!
//! No link leads out of the contents of step 2: it would be an earlier one, whose cluster has both ends, or one of a touched
//! content, whose partner was taken in with its cluster. Clusters say nothing of contents outside of them, so those of
//! step 3 are the ones that an analysis of everything finds, and the clusters that are left are the earlier ones. Contents
//! must be numbered in one order both times: wherever numbers decide among equals, they then decide the same.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::analyse::{Analysis, Stats, Wish, run};
use crate::cluster::{Cluster, Link, LinkRule};
use crate::error::Error;
use crate::input::{Input, Options};
use crate::link_file::{LinkFile, LinkReader, LinkWriter};
use crate::links::{LinksOptions, SortedLinks};
use crate::posting::{ContentIndex, Posting};
use crate::shards::Shards;
use crate::spill::SpillFolder;
use crate::watch::Watch;

/// What an earlier analysis found, under the same thresholds and, where links go across, the same labels.
#[derive(Debug)]
pub struct Before<'a> {
    /// The clusters, in the numbers of then.
    pub clusters: Vec<Cluster>,
    /// The links, in the numbers of then.
    pub links: &'a LinkFile,
    /// For each content of then its number of now; `None` where it is gone or touched. Ascending.
    pub numbers: &'a [Option<ContentIndex>],
}

/// What an analysis came to that began with an earlier one.
#[derive(Debug)]
pub struct Again {
    /// What an analysis from nothing finds; of the statistics, what it took differs.
    pub analysis: Analysis,
    /// Contents that were touched.
    pub touched: u64,
    /// Contents whose clusters were put together anew.
    pub compared: u64,
    /// Clusters that stand as they were.
    pub clusters_kept: u64,
}

/// Finds the clusters of similar contents and the overlap of their holders, and writes all links, from what an earlier
/// analysis found of a part of the contents.
///
/// # Errors
///
/// As [`crate::analyse`]; when the earlier links are damaged or the numbers are not ascending; when links cannot be written.
pub fn analyse_again(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
    before: Before<'_>,
    links: &mut LinkWriter,
) -> Result<Again, Error> {
    let contents = input.payload_bytes.len();
    let numbers = Numbers::new(before.numbers, contents)?;
    let touched = numbers.touched(contents);
    let Partners { analysis: first, is_partner } = find_partners(shards, input, options, watch, &touched)?;
    let Stale { is_stale, kept } = Stale::of(before.clusters, &numbers, is_partner);

    let spill = SpillFolder::new(options.spill_dir);
    let Options { memory_budget_bytes, threads, .. } = *options;
    let sorted = SortedLinks::new(&spill, &LinksOptions { contents, memory_budget_bytes, threads: threads.get() });
    let told = |links: &[Link]| sorted.add(links);
    let wish = Wish { told: Some(&told), clusters: true, touched: None };
    let only = Only { shards, is_wanted: &is_stale };
    let input = Input { levels: &[], ..*input };
    let second = run(&only, &input, options, watch, (wish, LinkRule::PUBLISHED))?;

    let clusters_kept = kept.len() as u64;
    let mut clusters = second.clusters;
    clusters.extend(kept);
    clusters.sort_unstable_by_key(|cluster| cluster.members[0]);
    let earlier =
        Earlier { reader: before.links.read()?, links: Vec::new(), at: 0, numbers: &numbers, is_stale: &is_stale };
    let written = merge(earlier, &sorted, options, links)?;
    let stats = Stats {
        candidates: first.stats.candidates + second.stats.candidates,
        links: written,
        spilled_bytes: first.stats.spilled_bytes + second.stats.spilled_bytes + spill.written_bytes(),
        partitions: first.stats.partitions + second.stats.partitions,
        oversized_partitions: first.stats.oversized_partitions + second.stats.oversized_partitions,
        ..first.stats
    };
    let count = |marked: &[bool]| marked.iter().filter(|marked| **marked).count() as u64;
    Ok(Again {
        analysis: Analysis { clusters, overlap: first.overlap, stats },
        touched: count(&touched),
        compared: count(&is_stale),
        clusters_kept,
    })
}

/// The numbers of contents then and now.
struct Numbers<'a> {
    now: &'a [Option<ContentIndex>],
}

impl<'a> Numbers<'a> {
    fn new(now: &'a [Option<ContentIndex>], contents: usize) -> Result<Numbers<'a>, Error> {
        let mut left = now.iter().flatten();
        match left.clone().is_sorted_by(|a, b| a < b) && left.next_back().is_none_or(|last| last.at() < contents) {
            true => Ok(Numbers { now }),
            false => Err(Error::InvalidInput { detail: "contents are numbered in another order than before" }),
        }
    }

    fn now(&self, then: ContentIndex) -> Option<ContentIndex> {
        self.now.get(then.at()).copied().flatten()
    }

    fn touched(&self, contents: usize) -> Vec<bool> {
        let mut touched = vec![true; contents];
        self.now.iter().flatten().for_each(|content| touched[content.at()] = false);
        touched
    }
}

/// What step 1 finds.
struct Partners {
    /// The overlap and the counts of all shards.
    analysis: Analysis,
    /// Of each content, whether it is linked with a touched one, or touched and linked.
    is_partner: Vec<bool>,
}

fn find_partners(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
    touched: &[bool],
) -> Result<Partners, Error> {
    let is_partner: Vec<AtomicBool> = touched.iter().map(|_| AtomicBool::new(false)).collect();
    let told = |links: &[Link]| {
        let ends = links.iter().flat_map(|link| [link.a, link.b]);
        ends.for_each(|content| is_partner[content.at()].store(true, Ordering::Relaxed));
        Ok(())
    };
    let wish = Wish { told: Some(&told), clusters: false, touched: Some(touched) };
    let analysis = run(shards, input, options, watch, (wish, LinkRule::PUBLISHED))?;
    Ok(Partners { analysis, is_partner: is_partner.into_iter().map(AtomicBool::into_inner).collect() })
}

/// What step 2 finds.
struct Stale {
    /// Of each content, whether its cluster has to be put together anew.
    is_stale: Vec<bool>,
    /// The clusters of the other contents, in the numbers of now.
    kept: Vec<Cluster>,
}

impl Stale {
    fn of(clusters: Vec<Cluster>, numbers: &Numbers<'_>, is_partner: Vec<bool>) -> Stale {
        let stays = |then: &ContentIndex| numbers.now(*then).is_some_and(|now| !is_partner[now.at()]);
        let (kept, stale): (Vec<_>, Vec<_>) = clusters.into_iter().partition(|one| one.members.iter().all(stays));
        let mut is_stale = is_partner;
        let members = stale.iter().flat_map(|cluster| &cluster.members);
        members.filter_map(|then| numbers.now(*then)).for_each(|now| is_stale[now.at()] = true);
        let kept = kept.into_iter().map(|cluster| renumber(cluster, numbers)).collect();
        Stale { is_stale, kept }
    }
}

fn renumber(mut cluster: Cluster, numbers: &Numbers<'_>) -> Cluster {
    let now = |then: &mut ContentIndex| *then = numbers.now(*then).expect("no member of a kept cluster is gone");
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
struct Only<'a> {
    shards: &'a dyn Shards,
    is_wanted: &'a [bool],
}

impl Shards for Only<'_> {
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

/// The earlier links of contents whose clusters stay, in the numbers of now and in order.
struct Earlier<'a> {
    reader: LinkReader,
    links: Vec<Link>,
    at: usize,
    numbers: &'a Numbers<'a>,
    is_stale: &'a [bool],
}

impl Earlier<'_> {
    /// The next links; none after the last.
    fn ahead(&mut self) -> Result<&[Link], Error> {
        while self.at == self.links.len() {
            let Some(links) = self.reader.next_links()? else { break };
            self.links.clear();
            self.at = 0;
            for link in links {
                // Where one end is gone, touched or in a stale cluster, the other is in the same cluster.
                if let (Some(a), Some(b)) = (self.numbers.now(link.a), self.numbers.now(link.b))
                    && !self.is_stale[a.at()]
                {
                    self.links.push(Link { a, b, ..*link });
                }
            }
        }
        Ok(&self.links[self.at..])
    }

    /// Hands over the links before one, or all that are left.
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

/// Writes earlier and new links in one order, and tells how many.
fn merge(
    mut earlier: Earlier<'_>,
    sorted: &SortedLinks<'_>,
    options: &Options<'_>,
    out: &mut LinkWriter,
) -> Result<u64, Error> {
    let before = out.count();
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
    Ok(out.count() - before)
}
