//! Pass 5: a partition in memory, from lists to clusters.
//!
//! Links are kept while they find room. When they do not, what is kept is linear in the members: counts, sums and the
//! strongest links that hold the clusters together ([`Forest`]). Then it is known which clusters have so few links that
//! all are to be kept, and only the members of these seek again. Both ways give the same clusters.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::analyse::Wish;
use crate::cluster::{Cluster, Facts, LinkRule, Members, Near, Neighbours, Parts, Sought, build_clusters};
use crate::component::Components;
use crate::error::Error;
use crate::forest::{Forest, StrongLink};
use crate::input::Home;
use crate::join::{Collect, Pair, Wanted, join};
use crate::lists::Lists;
use crate::threshold::{Containment, Thresholds};
use crate::workers::Tracker;

/// Links that a thread holds before it tells them.
const TOLD_LINKS: usize = 1 << 14;
/// Near members resemble each other at least so much: four fifths in units of 2^-32, rounded down.
const NEAR_FIXED: u64 = (1 << 32) / 5 * 4;
/// Pairs that a thread takes room for at a time.
const ROOM_PAIRS: u64 = 1024;

/// What the join of partitions found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) candidates: u64,
    pub(crate) links: u64,
    pub(crate) oversized_clusters: u64,
}

impl Found {
    /// Takes in what another thread found.
    pub(crate) fn take(&mut self, mut other: Found) {
        self.clusters.append(&mut other.clusters);
        self.candidates += other.candidates;
        self.links += other.links;
        self.oversized_clusters += other.oversized_clusters;
    }
}

/// A partition in memory.
pub(crate) struct Part<'a> {
    pub(crate) thresholds: &'a Thresholds,
    pub(crate) members: Members<'a>,
    pub(crate) lists: Lists,
    /// Homes of all contents, when links must go across.
    pub(crate) homes: Option<&'a [Home]>,
    pub(crate) wish: Wish<'a>,
    /// When the members are those of two slices, how many are of the first: only pairs across count.
    pub(crate) first_members: Option<u32>,
    pub(crate) rule: LinkRule,
    /// Links that may be in memory while the partition is joined.
    pub(crate) links_max: u64,
    pub(crate) threads: NonZeroUsize,
    pub(crate) tracker: &'a Tracker<'a>,
}

impl Part<'_> {
    /// Tells the links and builds the clusters.
    pub(crate) fn join(&self, found: &mut Found) -> Result<(), Error> {
        let store = Store { room: AtomicU64::new(self.links_max), is_full: AtomicBool::new(false) };
        let collect = || Keeper {
            part: self,
            store: &store,
            told: Vec::new(),
            links: 0,
            room: 0,
            pairs: Vec::new(),
            summary: None,
        };
        let in_first = self.first_members.map(|first| move |member| member < first);
        let in_first = in_first.as_ref().map(|in_first| in_first as &(dyn Fn(u32) -> bool + Sync));
        let (keepers, candidates) = self.pairs(in_first, collect)?;
        found.candidates += candidates;
        let mut pairs = Vec::new();
        let mut summary = None;
        for mut keeper in keepers {
            keeper.tell()?;
            found.links += keeper.links;
            if store.is_full.load(Ordering::Relaxed) {
                keeper.summarise();
            }
            pairs.append(&mut keeper.pairs);
            summary = Summary::join(summary, keeper.summary);
        }
        if !self.wish.clusters {
            return Ok(());
        }
        let mut clusters = match summary {
            Some(summary) => self.build_dense(summary)?,
            None => self.build(pairs)?,
        };
        found.clusters.append(&mut clusters);
        Ok(())
    }

    /// Clusters from all their links.
    fn build(&self, mut links: Vec<Pair>) -> Result<Vec<Cluster>, Error> {
        let clusters = Components::new(self.members.count());
        let mut facts = Facts::new(self.members.count());
        for link in &links {
            clusters.unite(link.smaller, link.larger);
            facts.add(&self.members, link);
        }
        let sought = if self.links_tell_families() { Sought::Nobodys } else { Sought::Everybodys };
        let near = Near { listed: self.list_near(&links), sought };
        let keeps_all = self.keeps_all(&facts, &clusters);
        let omits = |link: &Pair| !keeps_all(clusters.root(link.smaller));
        if links.iter().any(omits) {
            let mut forest = Forest::new(self.members.count());
            links.retain(|link| {
                if omits(link) {
                    forest.add(StrongLink::of(&self.members, *link));
                }
                !omits(link)
            });
            links.append(&mut forest.finish().0);
        }
        build_clusters(&self.parts(&clusters, &facts, &near), &links, self.threads, self.tracker)
    }

    /// Clusters from a summary: the links of those that keep all are sought again.
    fn build_dense(&self, summary: Summary) -> Result<Vec<Cluster>, Error> {
        let Summary { facts, forest, near } = summary;
        let (mut links, clusters) = forest.finish();
        let keeps_all = self.keeps_all(&facts, &clusters);
        let keeps_all = |member: u32| keeps_all(clusters.root(member));
        links.retain(|link| !keeps_all(link.smaller));
        let linked = |member: u32| facts.is_linked(member) && keeps_all(member);
        let mut found = Vec::new();
        if (0u32..).take(self.members.count()).any(linked) {
            found = self.pairs(Some(&linked), Vec::new)?.0.concat();
        }
        let listed = self.list_near(&found);
        links.append(&mut found);
        let sought = match self.links_tell_families() {
            true => Sought::Some((0u32..).zip(near).map(|(member, near)| near && !keeps_all(member)).collect()),
            false => Sought::Everybodys,
        };
        let near = Near { listed, sought };
        build_clusters(&self.parts(&clusters, &facts, &near), &links, self.threads, self.tracker)
    }

    fn list_near(&self, links: &[Pair]) -> Neighbours {
        let near = links.iter().filter(|link| self.members.resemblance(link).is_near());
        Neighbours::new(near, self.members.count())
    }

    /// Tells by its root whether a cluster keeps all its links.
    fn keeps_all(&self, facts: &Facts, clusters: &Components) -> impl Fn(u32) -> bool + Sync + use<> {
        let (counts, rule) = (facts.link_counts(clusters), self.rule);
        move |root| {
            let (members, links) = counts[root as usize];
            rule.keeps_all(members, links)
        }
    }

    fn parts<'p>(&'p self, clusters: &'p Components, facts: &'p Facts, near: &'p Near) -> Parts<'p> {
        Parts { members: self.members, lists: &self.lists, clusters, facts, near }
    }

    /// The links, of all members or of those that seek.
    fn pairs<C: Collect>(
        &self,
        seeks: Option<&(dyn Fn(u32) -> bool + Sync)>,
        collect: impl Fn() -> C + Sync,
    ) -> Result<(Vec<C>, u64), Error> {
        let least_bytes = |member| self.thresholds.least_shared_bytes(self.members.payload_bytes(member));
        // The members of a group may be in several clusters.
        let crosses = |b| self.first_members.is_none_or(|first| b >= first);
        let admits =
            |a, b| crosses(b) && seeks.is_none_or(|seeks| seeks(a)) && self.is_across(a, b) && self.is_touched(a, b);
        let chosen = seeks.is_some() || self.homes.is_some() || self.wish.touched.is_some();
        let wanted = Wanted { least_bytes: &least_bytes, admits: chosen.then_some(&admits), seeks };
        join(&self.lists, wanted, self.threads, self.tracker, collect)
    }

    fn is_touched(&self, a: u32, b: u32) -> bool {
        let touched = |touched: &[bool]| [a, b].iter().any(|&member| touched[self.members.content(member).at()]);
        self.wish.touched.is_none_or(touched)
    }

    fn is_across(&self, a: u32, b: u32) -> bool {
        self.homes.is_none_or(|homes| {
            let home = |member| homes[self.members.content(member).at()];
            home(a).is_across(home(b))
        })
    }

    /// Whether all near pairs are among the links.
    ///
    /// Near contents contain four fifths of each other, so they are unless the threshold is above four fifths or links
    /// must go across.
    fn links_tell_families(&self) -> bool {
        self.homes.is_none() && self.thresholds.min_containment.is_at_most(Containment::FOUR_FIFTHS)
    }
}

/// Room for the links of a partition, which its threads share.
struct Store {
    room: AtomicU64,
    is_full: AtomicBool,
}

impl Store {
    fn take(&self, pairs: u64) -> bool {
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(pairs));
        if taken.is_err() {
            self.is_full.store(true, Ordering::Relaxed);
        }
        taken.is_ok()
    }
}

/// What one thread keeps of the links that it finds.
struct Keeper<'a> {
    part: &'a Part<'a>,
    store: &'a Store,
    told: Vec<crate::cluster::Link>,
    links: u64,
    room: u64,
    pairs: Vec<Pair>,
    summary: Option<Summary>,
}

impl Collect for Keeper<'_> {
    #[inline]
    fn pair(&mut self, pair: Pair) -> Result<(), Error> {
        self.links += 1;
        if self.part.wish.told.is_some() {
            self.told.push(self.part.members.link(&pair));
            if self.told.len() == TOLD_LINKS {
                self.tell()?;
            }
        }
        if self.part.wish.clusters {
            self.keep(pair);
        }
        Ok(())
    }
}

impl Keeper<'_> {
    fn tell(&mut self) -> Result<(), Error> {
        let told = self.part.wish.told.filter(|_| !self.told.is_empty());
        told.map_or(Ok(()), |told| told(&self.told))?;
        self.told.clear();
        Ok(())
    }

    #[inline]
    fn keep(&mut self, pair: Pair) {
        if let Some(summary) = &mut self.summary {
            summary.add(&self.part.members, pair);
            return;
        }
        self.pairs.push(pair);
        if self.room > 0 {
            self.room -= 1;
        } else if !self.store.is_full.load(Ordering::Relaxed) && self.store.take(ROOM_PAIRS) {
            self.room = ROOM_PAIRS - 1;
        } else {
            self.summarise();
        }
    }

    fn summarise(&mut self) {
        let summary = self.summary.get_or_insert_with(|| Summary::new(self.part.members.count()));
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

/// What is known of links that are not kept.
struct Summary {
    facts: Facts,
    forest: Forest,
    /// Which members may have a near one.
    near: Vec<bool>,
}

impl Summary {
    fn new(members: usize) -> Summary {
        Summary { facts: Facts::new(members), forest: Forest::new(members), near: vec![false; members] }
    }

    #[inline]
    fn add(&mut self, members: &Members<'_>, pair: Pair) {
        let resemblance = self.facts.add(members, &pair);
        self.forest.add(StrongLink { pair, resemblance });
        if resemblance >= NEAR_FIXED {
            self.near[pair.smaller as usize] = true;
            self.near[pair.larger as usize] = true;
        }
    }

    fn join(a: Option<Summary>, b: Option<Summary>) -> Option<Summary> {
        let (mut a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.or(b),
        };
        a.facts.join(&b.facts);
        a.forest.join(b.forest);
        a.near.iter_mut().zip(b.near).for_each(|(a, b)| *a |= b);
        Some(a)
    }
}
