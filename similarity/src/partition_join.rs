//! Pass 5: a partition in memory, from lists to clusters.
//!
//! Links stay in memory up to a quota. Beyond it, the memory is linear in the members: counts, sums, the strongest
//! links that hold the clusters together ([`Forest`]) and those that stand out ([`Outstanding`]). The counts then show the
//! clusters with so few links that they keep all, and the links of these are searched again. Both methods give the same
//! clusters, and report the same links.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cluster::{Cluster, LinkRule};
use crate::cluster_builder::{ClusterInput, NearMembers, NearSearch, Neighbours, build_clusters};
use crate::component::Components;
use crate::error::Error;
use crate::forest::{Forest, StrongLink};
use crate::input::HolderLabel;
use crate::join::{Collect, PairFilter, join};
use crate::link::Link;
use crate::link_stats::LinkStats;
use crate::lists::Lists;
use crate::members::{Members, Pair};
use crate::omitted::OmittedLinks;
use crate::outstanding::{HeldBy, Outstanding};
use crate::request::Request;
use crate::threshold::{Containment, Thresholds};
use crate::workers::Tracker;

/// Links that a thread collects before it sends them.
const SENT_LINKS: usize = 1 << 14;
/// The least resemblance of near members: four fifths in units of 2^-32, rounded down.
const NEAR_FIXED: u64 = (1 << 32) / 5 * 4;
/// Pairs that a thread reserves of the quota at a time.
const RESERVED_PAIRS: u64 = 1024;

/// The findings of the join of partitions.
#[derive(Default)]
pub(crate) struct JoinOutcome {
    pub(crate) clusters: Vec<Cluster>,
    /// The links of these clusters that are not reported.
    pub(crate) omitted: OmittedLinks,
    pub(crate) candidates: u64,
    pub(crate) links: u64,
    pub(crate) oversized_clusters: u64,
}

impl JoinOutcome {
    /// Adds the findings of another thread.
    pub(crate) fn take(&mut self, mut other: JoinOutcome) {
        self.clusters.append(&mut other.clusters);
        self.omitted.append(other.omitted);
        self.candidates += other.candidates;
        self.links += other.links;
        self.oversized_clusters += other.oversized_clusters;
    }
}

/// A partition in memory.
pub(crate) struct LoadedPartition<'a> {
    pub(crate) thresholds: &'a Thresholds,
    pub(crate) members: Members<'a>,
    pub(crate) lists: Lists,
    /// The labels of all contents, if links must go across.
    pub(crate) holder_labels: Option<&'a [HolderLabel]>,
    /// The holders of all contents, if links of clusters are reported.
    pub(crate) held_by: Option<HeldBy<'a>>,
    pub(crate) request: Request<'a>,
    /// If the members are those of two slices, the number of those of the first: only pairs across count.
    pub(crate) first_members: Option<u32>,
    pub(crate) rule: LinkRule,
    /// Links that may be in memory while the partition is joined.
    pub(crate) links_max: u64,
    pub(crate) threads: NonZeroUsize,
    pub(crate) tracker: &'a Tracker<'a>,
}

impl LoadedPartition<'_> {
    /// Reports the links and builds the clusters.
    pub(crate) fn join(&self, outcome: &mut JoinOutcome) -> Result<(), Error> {
        let quota = LinkQuota { left: AtomicU64::new(self.links_max), is_full: AtomicBool::new(false) };
        let in_first = self.first_members.map(|first| move |member| member < first);
        let in_first = in_first.as_ref().map(|in_first| in_first as &(dyn Fn(u32) -> bool + Sync));
        let (collectors, candidates) = self.pairs(in_first, || LinkCollector::new(self, &quota))?;
        outcome.candidates += candidates;
        self.conclude(collectors, &quota, outcome)
    }

    /// Builds the clusters from the links of all threads.
    fn conclude<'p>(
        &'p self,
        collectors: Vec<LinkCollector<'p>>,
        quota: &LinkQuota,
        outcome: &mut JoinOutcome,
    ) -> Result<(), Error> {
        let mut pairs = Vec::new();
        let mut summary = None;
        for mut collector in collectors {
            collector.flush()?;
            outcome.links += collector.links;
            if quota.is_full.load(Ordering::Relaxed) {
                collector.summarise();
            }
            pairs.append(&mut collector.pairs);
            summary = Summary::join(summary, collector.summary);
        }
        if !self.request.clusters {
            return Ok(());
        }
        match summary {
            Some(summary) => self.build_dense(summary, outcome),
            None => self.build(pairs, outcome),
        }
    }

    /// Reports links, some thousand at a time.
    fn send(&self, pairs: &[Pair]) -> Result<(), Error> {
        let Some(sink) = self.request.sink else { return Ok(()) };
        pairs.chunks(SENT_LINKS).try_for_each(|pairs| {
            let links: Vec<Link> = pairs.iter().map(|pair| self.members.link(pair)).collect();
            sink(&links)
        })
    }

    fn outstanding(&self) -> Option<Outstanding<'_>> {
        self.held_by.map(|held_by| Outstanding::new(self.members, held_by))
    }

    /// Clusters from all their links.
    fn build(&self, mut links: Vec<Pair>, outcome: &mut JoinOutcome) -> Result<(), Error> {
        let clusters = Components::new(self.members.count());
        let mut stats = LinkStats::new(self.members.count());
        for link in &links {
            clusters.unite(link.smaller, link.larger);
            stats.add(&self.members, link);
        }
        let search = if self.links_show_families() { NearSearch::None } else { NearSearch::All };
        let near = NearMembers { listed: self.list_near(&links), search };
        let keeps_all = self.keeps_all(&stats, &clusters);
        let omits = |link: &Pair| !keeps_all(clusters.root(link.smaller));
        if links.iter().any(omits) {
            let mut forest = Forest::new(self.members.count());
            let mut outstanding = self.outstanding();
            links.retain(|link| {
                if omits(link) {
                    forest.add(StrongLink::of(&self.members, *link));
                    outstanding.iter_mut().for_each(|outstanding| outstanding.add(*link));
                }
                !omits(link)
            });
            self.send(&links)?;
            let mut strongest = forest.finish().0;
            if let Some(outstanding) = outstanding {
                let (pairs, omitted) = outstanding.finish(&strongest, |_| true);
                outcome.omitted.append(omitted);
                self.send(&pairs)?;
            }
            links.append(&mut strongest);
        } else {
            self.send(&links)?;
        }
        let input = self.cluster_input(&clusters, &stats, &near);
        outcome.clusters.append(&mut build_clusters(&input, &links, self.threads, self.tracker)?);
        Ok(())
    }

    /// Clusters from a summary: the links of those that keep all are searched again.
    fn build_dense(&self, summary: Summary<'_>, outcome: &mut JoinOutcome) -> Result<(), Error> {
        let Summary { stats, forest, near, mut outstanding } = summary;
        let (mut links, clusters) = forest.finish();
        let keeps_all = self.keeps_all(&stats, &clusters);
        let keeps_all = |member: u32| keeps_all(clusters.root(member));
        links.retain(|link| !keeps_all(link.smaller));
        let linked = |member: u32| stats.is_linked(member) && keeps_all(member);
        let mut kept = Vec::new();
        if (0u32..).take(self.members.count()).any(linked) {
            kept = self.pairs(Some(&linked), Vec::new)?.0.concat();
        }
        if let Some(mut outstanding) = outstanding.take() {
            self.send(&kept)?;
            kept.iter().for_each(|pair| outstanding.discount(pair));
            let (pairs, omitted) = outstanding.finish(&links, |member| !keeps_all(member));
            outcome.omitted.append(omitted);
            self.send(&pairs)?;
        }
        let listed = self.list_near(&kept);
        links.append(&mut kept);
        let search = match self.links_show_families() {
            true => NearSearch::Marked((0u32..).zip(near).map(|(member, near)| near && !keeps_all(member)).collect()),
            false => NearSearch::All,
        };
        let near = NearMembers { listed, search };
        let input = self.cluster_input(&clusters, &stats, &near);
        outcome.clusters.append(&mut build_clusters(&input, &links, self.threads, self.tracker)?);
        Ok(())
    }

    fn list_near(&self, links: &[Pair]) -> Neighbours {
        let near = links.iter().filter(|link| self.members.resemblance(link).is_near());
        Neighbours::new(near, self.members.count())
    }

    /// True for the roots of clusters that keep all their links.
    fn keeps_all(&self, stats: &LinkStats, clusters: &Components) -> impl Fn(u32) -> bool + Sync + use<> {
        let (counts, rule) = (stats.link_counts(clusters), self.rule);
        move |root| {
            let (members, links) = counts[root as usize];
            rule.keeps_all(members, links)
        }
    }

    fn cluster_input<'p>(
        &'p self,
        clusters: &'p Components,
        stats: &'p LinkStats,
        near: &'p NearMembers,
    ) -> ClusterInput<'p> {
        ClusterInput { members: self.members, lists: &self.lists, clusters, stats, near }
    }

    /// The links, of all members or of those that `searches` names.
    fn pairs<C: Collect>(
        &self,
        searches: Option<&(dyn Fn(u32) -> bool + Sync)>,
        collect: impl Fn() -> C + Sync,
    ) -> Result<(Vec<C>, u64), Error> {
        let least_bytes = |member| self.thresholds.least_shared_bytes(self.members.payload_bytes(member));
        // The members of a group may be in several clusters.
        let crosses = |b| self.first_members.is_none_or(|first| b >= first);
        let admits = |a, b| {
            crosses(b) && searches.is_none_or(|searches| searches(a)) && self.is_across(a, b) && self.is_changed(a, b)
        };
        let chosen = searches.is_some() || self.holder_labels.is_some() || self.request.changed.is_some();
        let filter = PairFilter { least_bytes: &least_bytes, admits: chosen.then_some(&admits), searches };
        join(&self.lists, filter, self.threads, self.tracker, collect)
    }

    fn is_changed(&self, a: u32, b: u32) -> bool {
        let changed = |changed: &[bool]| [a, b].iter().any(|&member| changed[self.members.content(member).at()]);
        self.request.changed.is_none_or(changed)
    }

    fn is_across(&self, a: u32, b: u32) -> bool {
        self.holder_labels.is_none_or(|holder_labels| {
            let label = |member| holder_labels[self.members.content(member).at()];
            label(a).is_across(label(b))
        })
    }

    /// True if all near pairs are among the links.
    ///
    /// Near contents contain four fifths of each other, so they are unless the threshold is above four fifths or
    /// links must go across.
    fn links_show_families(&self) -> bool {
        self.holder_labels.is_none() && self.thresholds.min_containment.is_at_most(Containment::FOUR_FIFTHS)
    }
}

/// The links of a partition that may be in memory; its threads share the number.
struct LinkQuota {
    left: AtomicU64,
    is_full: AtomicBool,
}

impl LinkQuota {
    fn take(&self, pairs: u64) -> bool {
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(pairs));
        if taken.is_err() {
            self.is_full.store(true, Ordering::Relaxed);
        }
        taken.is_ok()
    }
}

/// Collects the links that one thread finds.
struct LinkCollector<'a> {
    part: &'a LoadedPartition<'a>,
    quota: &'a LinkQuota,
    unsent: Vec<Link>,
    links: u64,
    reserved: u64,
    pairs: Vec<Pair>,
    summary: Option<Summary<'a>>,
}

impl Collect for LinkCollector<'_> {
    #[inline]
    fn pair(&mut self, pair: Pair) -> Result<(), Error> {
        self.links += 1;
        // With clusters, it is only known at the end which links are reported.
        if self.part.request.clusters {
            self.keep(pair);
        } else if self.part.request.sink.is_some() {
            self.unsent.push(self.part.members.link(&pair));
            if self.unsent.len() == SENT_LINKS {
                self.flush()?;
            }
        }
        Ok(())
    }
}

impl<'a> LinkCollector<'a> {
    fn new(part: &'a LoadedPartition<'a>, quota: &'a LinkQuota) -> LinkCollector<'a> {
        LinkCollector { part, quota, unsent: Vec::new(), links: 0, reserved: 0, pairs: Vec::new(), summary: None }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let sink = self.part.request.sink.filter(|_| !self.unsent.is_empty());
        sink.map_or(Ok(()), |sink| sink(&self.unsent))?;
        self.unsent.clear();
        Ok(())
    }

    #[inline]
    fn keep(&mut self, pair: Pair) {
        if let Some(summary) = &mut self.summary {
            summary.add(&self.part.members, pair);
            return;
        }
        self.pairs.push(pair);
        if self.reserved > 0 {
            self.reserved -= 1;
        } else if !self.quota.is_full.load(Ordering::Relaxed) && self.quota.take(RESERVED_PAIRS) {
            self.reserved = RESERVED_PAIRS - 1;
        } else {
            self.summarise();
        }
    }

    fn summarise(&mut self) {
        let part = self.part;
        let summary = self.summary.get_or_insert_with(|| Summary::new(part));
        self.pairs.drain(..).for_each(|pair| summary.add(&self.part.members, pair));
        self.pairs = Vec::new();
    }
}

impl Collect for Vec<Pair> {
    fn pair(&mut self, pair: Pair) -> Result<(), Error> {
        self.push(pair);
        Ok(())
    }
}

/// The facts about links that clusters omit.
struct Summary<'a> {
    stats: LinkStats,
    forest: Forest,
    /// True for members that may have a near one.
    near: Vec<bool>,
    /// The links to report, if there are any.
    outstanding: Option<Outstanding<'a>>,
}

impl<'a> Summary<'a> {
    fn new(part: &'a LoadedPartition<'_>) -> Summary<'a> {
        let members = part.members.count();
        Summary {
            stats: LinkStats::new(members),
            forest: Forest::new(members),
            near: vec![false; members],
            outstanding: part.outstanding(),
        }
    }

    #[inline]
    fn add(&mut self, members: &Members<'_>, pair: Pair) {
        let resemblance = self.stats.add(members, &pair);
        self.forest.add(StrongLink { pair, weight: resemblance });
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.add(pair);
        }
        if resemblance >= NEAR_FIXED {
            self.near[pair.smaller as usize] = true;
            self.near[pair.larger as usize] = true;
        }
    }

    fn join(a: Option<Summary<'a>>, b: Option<Summary<'a>>) -> Option<Summary<'a>> {
        let (mut a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.or(b),
        };
        a.stats.join(&b.stats);
        a.forest.join(b.forest);
        if let (Some(a), Some(b)) = (&mut a.outstanding, b.outstanding) {
            a.join(b);
        }
        a.near.iter_mut().zip(b.near).for_each(|(a, b)| *a |= b);
        Some(a)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::input::Holders;
    use crate::join_row::JoinRow;
    use crate::monitor::{Monitor, Phase};

    /// A partition of contents that hold tags of 10 bytes each.
    struct Sample {
        contents: Vec<u32>,
        payload_bytes: Vec<u64>,
        tags: Vec<Vec<u32>>,
    }

    #[derive(Clone, Copy)]
    struct JoinLimits {
        clusters: bool,
        links_max: u64,
        threads: usize,
    }

    fn limits(clusters: bool, links_max: u64, threads: usize) -> JoinLimits {
        JoinLimits { clusters, links_max, threads }
    }

    impl Sample {
        fn new(tags: Vec<Vec<u32>>) -> Sample {
            let payload_bytes: Vec<u64> = tags.iter().map(|tags| 10 * tags.len() as u64).collect();
            let mut contents: Vec<u32> = (0..).take(tags.len()).collect();
            contents.sort_by_key(|content| (payload_bytes[*content as usize], *content));
            Sample { contents, payload_bytes, tags }
        }

        fn rows(&self) -> Vec<JoinRow> {
            let rows_of = |(member, content): (u32, &u32)| {
                let row = move |tag: &u32| JoinRow { tag: *tag, member, length_bytes: 10, count: 1 };
                self.tags[*content as usize].iter().map(row)
            };
            (0..).zip(&self.contents).flat_map(rows_of).collect()
        }

        /// The partition in memory; all contents that share a tag are linked.
        fn loaded<T>(
            &self,
            limits: JoinLimits,
            sink: &(dyn Fn(&[Link]) -> Result<(), Error> + Sync),
            then: impl FnOnce(&LoadedPartition<'_>) -> T,
        ) -> T {
            let JoinLimits { clusters, links_max, threads } = limits;
            let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
            let tracker = Tracker::new(&monitor, Phase::Join, 1);
            let thresholds = Thresholds { min_shared_bytes: 1, min_containment: "1".parse().unwrap() };
            let holders = Holders::new();
            then(&LoadedPartition {
                thresholds: &thresholds,
                members: Members { contents: &self.contents, payload_bytes: &self.payload_bytes },
                lists: Lists::new(self.rows(), self.contents.len()),
                holder_labels: None,
                held_by: clusters.then_some(HeldBy { holders: &holders, labels: &[], groups: &[], words: 0 }),
                request: Request { sink: Some(sink), clusters, changed: None },
                first_members: None,
                rule: LinkRule { all_max: 10, per_member_max: 0, share_max: u64::MAX },
                links_max,
                threads: NonZeroUsize::new(threads).unwrap(),
                tracker: &tracker,
            })
        }

        fn join(
            &self,
            limits: JoinLimits,
            sink: &(dyn Fn(&[Link]) -> Result<(), Error> + Sync),
        ) -> Result<JoinOutcome, Error> {
            let mut outcome = JoinOutcome::default();
            self.loaded(limits, sink, |part| part.join(&mut outcome))?;
            Ok(outcome)
        }

        /// What a join finds, and the links that it reports in order.
        fn found(&self, limits: JoinLimits) -> (JoinOutcome, Vec<Link>) {
            let reported = Mutex::new(Vec::new());
            let sink = |links: &[Link]| {
                assert!((1..=SENT_LINKS).contains(&links.len()), "{} links at a time", links.len());
                reported.lock().unwrap().extend_from_slice(links);
                Ok(())
            };
            let outcome = self.join(limits, &sink).unwrap();
            let mut reported = reported.into_inner().unwrap();
            reported.sort_unstable();
            (outcome, reported)
        }
    }

    /// Eighty contents that all share a tag, four of another kind, two that are alone together, and one that is alone.
    fn sample() -> Sample {
        let own = |content: u32| 1000 + content;
        let mut tags: Vec<Vec<u32>> = Vec::new();
        for content in 0..80 {
            let some = (1..30).filter(|tag| (content * tag + tag / 3) % 7 < 3);
            tags.push([0].into_iter().chain(some).chain([own(content)]).collect());
        }
        tags.extend((80..84).map(|content| vec![100, 101, own(content)]));
        tags.extend([vec![200, 201], vec![200, 202], vec![own(86)]]);
        Sample::new(tags)
    }

    #[test]
    fn clusters_and_reported_links_do_not_depend_on_how_many_links_fit_in_memory() {
        let sample = sample();
        let links = 80 * 79 / 2 + 6 + 1;
        let (expected, expected_links) = sample.found(limits(true, u64::MAX, 1));
        let sizes: Vec<_> = expected.clusters.iter().map(|one| (one.members.len(), one.links_omitted())).collect();
        assert_eq!(sizes.len(), 3);
        assert!(sizes.contains(&(80, 80 * 79 / 2 - 79)) && sizes.contains(&(4, 0)) && sizes.contains(&(2, 0)));
        assert_eq!(expected.links, links);
        assert_eq!(expected_links.len() as u64 + expected.omitted.count, links);
        // Around what threads reserve at a time, and what there is.
        for links_max in [0, 1, 1023, 1024, 1025, 2048, links - 1, links, 4096] {
            for threads in [1, 2, 3] {
                let (found, found_links) = sample.found(limits(true, links_max, threads));
                assert_eq!(found.clusters, expected.clusters, "{links_max} links, {threads} threads");
                assert_eq!(found_links, expected_links, "{links_max} links, {threads} threads");
                assert_eq!(found.omitted, expected.omitted, "{links_max} links, {threads} threads");
                assert_eq!(found.links, links);
            }
        }
    }

    #[test]
    fn links_that_a_thread_still_holds_when_the_memory_of_another_one_ends_are_in_the_clusters_too() {
        let sample = sample();
        let (expected, _) = sample.found(limits(true, u64::MAX, 1));
        let mut found = JoinOutcome::default();
        sample.loaded(limits(true, 0, 1), &|_| Ok(()), |part| {
            let links = part.pairs(None, Vec::new).unwrap().0.concat();
            let quota = LinkQuota { left: AtomicU64::new(2 * RESERVED_PAIRS), is_full: AtomicBool::new(false) };
            let [mut few, mut many] = [0; 2].map(|_| LinkCollector::new(part, &quota));
            links[..100].iter().for_each(|link| few.keep(*link));
            links[100..].iter().for_each(|link| many.keep(*link));
            assert!(few.summary.is_none() && many.summary.is_some());
            part.conclude(vec![few, many], &quota, &mut found).unwrap();
        });
        assert_eq!(found.clusters, expected.clusters);
        assert_eq!(found.omitted, expected.omitted);
    }

    #[test]
    fn without_clusters_every_link_is_sent_once_some_thousand_at_a_time() {
        // More links than are sent at once; each two contents have the same tags.
        let many = Sample::new((0..200).map(|content| vec![0, 1000 + content / 2]).collect());
        for threads in [1, 2] {
            let (outcome, links) = many.found(limits(false, 0, threads));
            assert_eq!((outcome.links, links.len(), outcome.clusters.len()), (19_900, 19_900, 0));
            assert!(links.windows(2).all(|two| (two[0].a, two[0].b) < (two[1].a, two[1].b)));
            let twins = links.iter().filter(|link| link.shared_bytes == 20);
            assert!(twins.clone().all(|link| link.a.0 + 1 == link.b.0) && twins.count() == 100);
        }
    }

    #[test]
    fn an_error_of_the_receiver_ends_the_join_whenever_it_comes() {
        let sample = sample();
        let fail = |_: &[Link]| Err(Error::LengthTooLarge { length_bytes: 7 });
        for (clusters, links_max) in [(false, 0), (true, 0), (true, u64::MAX)] {
            let Err(error) = sample.join(limits(clusters, links_max, 2), &fail) else {
                panic!("{clusters} {links_max}")
            };
            assert!(matches!(error, Error::LengthTooLarge { length_bytes: 7 }), "{error}");
        }
    }

    #[test]
    fn a_quota_that_was_refused_once_is_full() {
        let quota = LinkQuota { left: AtomicU64::new(2500), is_full: AtomicBool::new(false) };
        let take = |pairs| (quota.take(pairs), quota.is_full.load(Ordering::Relaxed));
        assert_eq!(
            [take(1024), take(1024), take(1024), take(452), take(1)],
            [(true, false), (true, false), (false, true), (true, true), (false, true)]
        );
    }
}
