//! Links, clusters and families: what an analysis hands back.
//!
//! A cluster is a connected component of links, so its ends may have nothing in common. Its families say which members
//! are truly close: each gathers the members whose resemblance with one representative is at least four fifths, whether
//! or not that pair is a kept link, and tells the least resemblance between any two of them.
//!
//! Links can grow with the square of the members; a cluster does not. See [`Cluster::links`] for the rule.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use crate::component::Components;
use crate::error::Error;
use crate::forest::{Forest, StrongLink};
use crate::join::{Pair, Seeker, Wanted};
use crate::lists::Lists;
use crate::measure::Resemblance;
use crate::posting::ContentIndex;
use crate::threshold::Containment;
use crate::workers::{Tracker, share_out};

/// Members up to which a family's least resemblance is taken over all its pairs: half a million at most.
pub const FAMILY_MEMBERS_MEASURED_MAX: usize = 1000;

/// Links up to which a cluster keeps all of them, whatever its members: those of 362 that are all linked.
pub const CLUSTER_LINKS_WHOLE_MAX: u64 = 1 << 16;

/// Links per member up to which a cluster keeps all of them, whatever their number.
pub const CLUSTER_LINKS_PER_MEMBER_MAX: u64 = 64;

/// Two contents and the bytes that they share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Link {
    /// The content with the smaller number.
    pub a: ContentIndex,
    /// The content with the larger number.
    pub b: ContentIndex,
    /// The bytes of the chunks that both hold, templates apart.
    pub shared_bytes: u64,
}

/// Contents connected by links.
///
/// Whoever stores a cluster stores `link_count`, `min_resemblance`, the mean and `container` beside the links: they cannot
/// be had from the links where some are omitted. What follows from every link of a content, such as the closest relation
/// that it has with any other or under which labels others are linked with it, must be gathered from the links as
/// [`crate::analyse_telling`] tells them. Any other pair is compared on demand by [`crate::PairMeasure`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The contents, ascending; at least two.
    pub members: Vec<ContentIndex>,
    /// Links between them, by (a, b).
    ///
    /// All of them where they are at most [`CLUSTER_LINKS_WHOLE_MAX`], or at most [`CLUSTER_LINKS_PER_MEMBER_MAX`] for
    /// each member. Else one less than there are members: the strongest that connect them all, which are those that no
    /// path of stronger links makes superfluous. Every member's strongest link is among them. A link is the stronger,
    /// the more its contents resemble each other; among equals, the smaller its smaller and then its larger content.
    pub links: Vec<Link>,
    /// How many links there are, kept or not.
    pub link_count: u64,
    /// The least resemblance of a link, kept or not.
    pub min_resemblance: Resemblance,
    /// The resemblance of all links, kept or not, added up in units of 2^-32 to which each is rounded.
    pub resemblance_sum: u128,
    /// The first member that contains each of the others by a link, kept or not, if one does.
    pub container: Option<ContentIndex>,
    /// The member with most links; among those the largest, then the first.
    pub representative: ContentIndex,
    /// The families of two members or more, in the order of their representatives.
    pub families: Vec<Family>,
}

impl Cluster {
    /// How many links the cluster has beyond those in [`links`](Cluster::links).
    pub fn links_omitted(&self) -> u64 {
        self.link_count - self.links.len() as u64
    }

    /// Of the links kept, the strongest that connect all members, by (a, b): one less than there are members.
    pub fn spanning_links(&self, payload_bytes: &[u64]) -> Vec<Link> {
        let mut contents: Vec<u32> = self.members.iter().map(|member| member.0).collect();
        contents.sort_unstable_by_key(|&content| (payload_bytes[content as usize], content));
        let members = Members { contents: &contents, payload_bytes };
        let key = |content: &u32| (payload_bytes[*content as usize], *content);
        let place = |content: ContentIndex| {
            let place = contents.binary_search_by_key(&key(&content.0), key).expect("links join members");
            u32::try_from(place).expect("contents have 31-bit numbers")
        };
        let pairs = self.links.iter().map(|link| {
            let (x, y) = (place(link.a), place(link.b));
            Pair { smaller: x.min(y), larger: x.max(y), shared_bytes: link.shared_bytes }
        });
        let pairs: Vec<Pair> = pairs.collect();
        let mut links: Vec<Link> = strongest(&members, &pairs).iter().map(|pair| members.link(pair)).collect();
        links.sort_unstable();
        links
    }

    /// The mean resemblance over all links.
    pub fn mean_resemblance(&self) -> f64 {
        self.resemblance_sum as f64 / Resemblance::FIXED_ONE as f64 / self.link_count as f64
    }
}

/// Members of a cluster that are close to one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Family {
    /// The member that the others are close to.
    pub representative: ContentIndex,
    /// All members, ascending, the representative among them.
    pub members: Vec<ContentIndex>,
    /// The least resemblance between two members.
    pub min_resemblance: Resemblance,
    /// Whether `min_resemblance` is only over pairs with the representative, because the family has more than
    /// [`FAMILY_MEMBERS_MEASURED_MAX`] members.
    pub over_representative_only: bool,
}

/// Which clusters keep all their links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRule {
    pub(crate) whole_max: u64,
    pub(crate) per_member_max: u64,
}

impl LinkRule {
    /// The rule of [`Cluster::links`].
    pub(crate) const PUBLISHED: LinkRule =
        LinkRule { whole_max: CLUSTER_LINKS_WHOLE_MAX, per_member_max: CLUSTER_LINKS_PER_MEMBER_MAX };

    pub(crate) fn keeps_all(self, members: u64, links: u64) -> bool {
        links <= self.whole_max.max(self.per_member_max * members)
    }
}

/// The contents of a partition, by their places in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members<'a> {
    /// The members by ascending payload, then number.
    pub(crate) contents: &'a [u32],
    /// The payloads of all contents.
    pub(crate) payload_bytes: &'a [u64],
}

impl Members<'_> {
    pub(crate) fn count(&self) -> usize {
        self.contents.len()
    }

    #[inline]
    pub(crate) fn content(&self, member: u32) -> ContentIndex {
        ContentIndex(self.contents[member as usize])
    }

    #[inline]
    pub(crate) fn payload_bytes(&self, member: u32) -> u64 {
        self.payload_bytes[self.content(member).at()]
    }

    pub(crate) fn resemblance(&self, pair: &Pair) -> Resemblance {
        let payloads = (self.payload_bytes(pair.smaller), self.payload_bytes(pair.larger));
        Resemblance::of(pair.shared_bytes, payloads.0, payloads.1)
    }

    #[inline]
    pub(crate) fn link(&self, pair: &Pair) -> Link {
        let (x, y) = (self.content(pair.smaller), self.content(pair.larger));
        Link { a: x.min(y), b: x.max(y), shared_bytes: pair.shared_bytes }
    }
}

/// What is counted of all links, kept or not, at each member.
#[derive(Debug)]
pub(crate) struct Facts {
    of: Vec<Fact>,
}

/// Of a member: its links, how many others it contains, and the resemblance of the links to larger members.
#[derive(Clone, Copy, Debug)]
struct Fact {
    links: u32,
    contained: u32,
    resemblance_sum: u64,
    min_fixed: u64,
    min_resemblance: Resemblance,
}

/// Above any resemblance.
const NO_RESEMBLANCE: Resemblance = Resemblance { shared: u64::MAX, union: 1 };

impl Facts {
    pub(crate) fn new(members: usize) -> Facts {
        let none =
            Fact { links: 0, contained: 0, resemblance_sum: 0, min_fixed: u64::MAX, min_resemblance: NO_RESEMBLANCE };
        Facts { of: vec![none; members] }
    }

    /// Counts a link and tells the resemblance of its members, in fixed point.
    #[inline]
    pub(crate) fn add(&mut self, members: &Members<'_>, link: &Pair) -> u64 {
        let payloads = (members.payload_bytes(link.smaller), members.payload_bytes(link.larger));
        let resemblance = Resemblance::of(link.shared_bytes, payloads.0, payloads.1);
        let fixed = resemblance.to_fixed();
        let contains = |bytes| u32::from(Containment::FOUR_FIFTHS.is_reached_by(link.shared_bytes, bytes));
        let larger = &mut self.of[link.larger as usize];
        larger.links += 1;
        larger.contained += contains(payloads.0);
        let smaller = &mut self.of[link.smaller as usize];
        smaller.links += 1;
        smaller.contained += contains(payloads.1);
        smaller.resemblance_sum += fixed;
        // Fixed point is in order where it differs; the fractions are compared only where it does not.
        if fixed <= smaller.min_fixed {
            smaller.min_fixed = fixed;
            smaller.min_resemblance = smaller.min_resemblance.min(resemblance);
        }
        fixed
    }

    /// Adds what another thread counted.
    pub(crate) fn join(&mut self, other: &Facts) {
        for (mine, theirs) in self.of.iter_mut().zip(&other.of) {
            mine.links += theirs.links;
            mine.contained += theirs.contained;
            mine.resemblance_sum += theirs.resemblance_sum;
            mine.min_fixed = mine.min_fixed.min(theirs.min_fixed);
            mine.min_resemblance = mine.min_resemblance.min(theirs.min_resemblance);
        }
    }

    pub(crate) fn is_linked(&self, member: u32) -> bool {
        self.of[member as usize].links > 0
    }

    /// Members and links of the cluster of each root.
    pub(crate) fn link_counts(&self, clusters: &Components) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.of.len()];
        for (member, fact) in (0u32..).zip(&self.of) {
            let count: &mut (u64, u64) = &mut counts[clusters.root(member) as usize];
            count.0 += 1;
            count.1 += u64::from(fact.links);
        }
        counts.iter_mut().for_each(|count| count.1 /= 2);
        counts
    }
}

/// Where the near members of each member are known from.
pub(crate) struct Near {
    /// Those that are among the links kept.
    pub(crate) listed: Neighbours,
    pub(crate) sought: Sought,
}

/// Whose near members have to be sought.
pub(crate) enum Sought {
    Nobodys,
    Everybodys,
    /// Those of the members marked.
    Some(Vec<bool>),
}

/// Everything that the clusters of a partition are made from, their links apart.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) members: Members<'a>,
    pub(crate) lists: &'a Lists,
    /// The connected components of the links.
    pub(crate) clusters: &'a Components,
    pub(crate) facts: &'a Facts,
    pub(crate) near: &'a Near,
}

/// Puts together the clusters of a partition, from the links that they keep.
pub(crate) fn build_clusters(
    parts: &Parts<'_>,
    links: &[Pair],
    threads: NonZeroUsize,
    tracker: &Tracker<'_>,
) -> Result<Vec<Cluster>, Error> {
    let drafts = draft(parts, links);
    let start = || (Finisher::new(parts), Vec::new());
    let ends = share_out(threads, drafts.count(), start, |(finisher, done), number| {
        tracker.check()?;
        done.push((number, finisher.finish(drafts.members(number), drafts.links(number))));
        Ok(())
    })?;
    let mut done: Vec<_> = ends.into_iter().flat_map(|(_, done)| done).collect();
    done.sort_unstable_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, cluster)| cluster).collect())
}

/// Clusters on the way: their members and links, packed.
struct Drafts {
    member_starts: Vec<usize>,
    members: Vec<u32>,
    link_starts: Vec<usize>,
    links: Vec<Pair>,
}

impl Drafts {
    fn count(&self) -> usize {
        self.member_starts.len() - 1
    }

    fn members(&self, number: usize) -> &[u32] {
        &self.members[self.member_starts[number]..self.member_starts[number + 1]]
    }

    fn links(&self, number: usize) -> &[Pair] {
        &self.links[self.link_starts[number]..self.link_starts[number + 1]]
    }
}

/// Sorts members and links by cluster; the order of links within a cluster is still free.
fn draft(parts: &Parts<'_>, links: &[Pair]) -> Drafts {
    let count = u32::try_from(parts.members.count()).expect("contents have 31-bit numbers");
    let mut numbers = vec![u32::MAX; count as usize];
    let mut clusters = 0;
    let linked: Vec<u32> = (0..count).filter(|&member| parts.facts.of[member as usize].links > 0).collect();
    for &member in &linked {
        // The root is the smallest member, so it comes first.
        let root = parts.clusters.root(member) as usize;
        if root == member as usize {
            numbers[root] = clusters;
            clusters += 1;
        }
        numbers[member as usize] = numbers[root];
    }
    let cluster = |member: u32| numbers[member as usize] as usize;
    let (member_starts, members) = sort_by_cluster(clusters as usize, &linked, |&member| cluster(member));
    let (link_starts, links) = sort_by_cluster(clusters as usize, links, |link| cluster(link.smaller));
    Drafts { member_starts, members, link_starts, links }
}

/// A counting sort, which leaves things of one cluster in their order.
fn sort_by_cluster<T: Copy>(clusters: usize, things: &[T], cluster: impl Fn(&T) -> usize) -> (Vec<usize>, Vec<T>) {
    let mut starts = vec![0; clusters + 1];
    things.iter().for_each(|thing| starts[cluster(thing) + 1] += 1);
    for at in 0..clusters {
        starts[at + 1] += starts[at];
    }
    let (mut ends, mut sorted) = (starts.clone(), things.to_vec());
    for thing in things {
        let end = &mut ends[cluster(thing)];
        sorted[*end] = *thing;
        *end += 1;
    }
    (starts, sorted)
}

/// One thread's way of finishing clusters.
struct Finisher<'a> {
    parts: &'a Parts<'a>,
    seeker: Option<Seeker<'a>>,
    neighbours: Vec<(u32, u64)>,
}

/// For families, any pair may count; which ones do is looked at afterwards.
const ANY_PAIR: Wanted<'static> = Wanted { least_bytes: &|_| 1, admits: None, seeks: None };

impl<'a> Finisher<'a> {
    fn new(parts: &'a Parts<'a>) -> Finisher<'a> {
        let seeks = !matches!(parts.near.sought, Sought::Nobodys);
        Finisher { parts, seeker: seeks.then(|| Seeker::new(parts.lists, ANY_PAIR)), neighbours: Vec::new() }
    }

    fn finish(&mut self, members: &[u32], links: &[Pair]) -> Cluster {
        let facts = members.iter().map(|&member| (member, &self.parts.facts.of[member as usize]));
        let others = members.len() - 1;
        let containers = facts.clone().filter(|(_, fact)| fact.contained as usize == others);
        let content = |member: u32| self.parts.members.content(member);
        let link_count = facts.clone().map(|(_, fact)| u64::from(fact.links)).sum::<u64>() / 2;
        let mut links: Vec<Link> = links.iter().map(|pair| self.parts.members.link(pair)).collect();
        links.sort_unstable();
        // Most links first, then the larger, then the smaller digest: the order in which members are asked to represent.
        let mut by_rank = members.to_vec();
        by_rank.sort_unstable_by_key(|&member| {
            let payload_bytes = self.parts.members.payload_bytes(member);
            (Reverse((self.parts.facts.of[member as usize].links, payload_bytes)), content(member))
        });
        Cluster {
            members: self.contents(members),
            links,
            link_count,
            min_resemblance: facts.clone().map(|(_, fact)| fact.min_resemblance).min().unwrap_or(NO_RESEMBLANCE),
            resemblance_sum: facts.map(|(_, fact)| u128::from(fact.resemblance_sum)).sum(),
            container: containers.map(|(member, _)| content(member)).min(),
            representative: content(by_rank[0]),
            families: self.find_families(members, &by_rank),
        }
    }

    fn contents(&self, members: &[u32]) -> Vec<ContentIndex> {
        let mut contents: Vec<_> = members.iter().map(|&m| self.parts.members.content(m)).collect();
        contents.sort_unstable();
        contents
    }

    fn find_families(&mut self, members: &[u32], by_rank: &[u32]) -> Vec<Family> {
        let mut taken = vec![false; members.len()];
        let place = |member: u32| members.binary_search(&member).expect("near pairs stay in a cluster");
        let mut families = Vec::new();
        let mut near = Vec::new();
        for &representative in by_rank {
            if std::mem::replace(&mut taken[place(representative)], true) {
                continue;
            }
            let mut family = vec![representative];
            self.find_near(representative, &mut near);
            for &neighbour in &near {
                if !std::mem::replace(&mut taken[place(neighbour)], true) {
                    family.push(neighbour);
                }
            }
            if family.len() > 1 {
                families.push(self.measure_family(&family));
            }
        }
        families
    }

    /// The near members of a member within its cluster.
    fn find_near(&mut self, member: u32, near: &mut Vec<u32>) {
        near.clear();
        let is_sought = match &self.parts.near.sought {
            Sought::Nobodys => false,
            Sought::Everybodys => true,
            Sought::Some(marked) => marked[member as usize],
        };
        let Some(seeker) = self.seeker.as_mut().filter(|_| is_sought) else {
            return near.extend_from_slice(self.parts.near.listed.of(member));
        };
        let (lists, members) = (self.parts.lists, &self.parts.members);
        // Near contents share four fifths of their union, and so of either.
        let least_bytes = Containment::FOUR_FIFTHS.share_of_bytes(members.payload_bytes(member)).max(1);
        let group = lists.groups().of(member);
        seeker.neighbours(group, least_bytes, &mut self.neighbours);
        self.neighbours.push((group, lists.total_bytes(group)));
        let root = self.parts.clusters.root(member);
        for &(group, shared_bytes) in &self.neighbours {
            let others = lists.groups().members(group).iter().copied().filter(|&other| other != member);
            near.extend(others.filter(|&other| {
                let pair = Pair { smaller: member, larger: other, shared_bytes };
                members.resemblance(&pair).is_near() && self.parts.clusters.root(other) == root
            }));
        }
    }

    /// Makes a family of its members, the representative first.
    fn measure_family(&self, family: &[u32]) -> Family {
        let (members, lists) = (&self.parts.members, self.parts.lists);
        let over_representative_only = family.len() > FAMILY_MEMBERS_MEASURED_MAX;
        let measured = if over_representative_only { 1 } else { family.len() };
        let pairs = (0..measured).flat_map(|a| family[a + 1..].iter().map(move |&b| (family[a], b)));
        let resemblances = pairs
            .map(|(a, b)| members.resemblance(&Pair { smaller: a, larger: b, shared_bytes: lists.shared_bytes(a, b) }));
        Family {
            representative: members.content(family[0]),
            members: self.contents(family),
            min_resemblance: resemblances.min().expect("a family has a pair"),
            over_representative_only,
        }
    }
}

/// The strongest links that connect what all of `links` connect.
fn strongest(members: &Members<'_>, links: &[Pair]) -> Vec<Pair> {
    let mut forest = Forest::new(members.count());
    links.iter().for_each(|&pair| forest.add(StrongLink::of(members, pair)));
    forest.finish().0
}

/// The near members of each member, packed.
pub(crate) struct Neighbours {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Neighbours {
    pub(crate) fn new<'p>(pairs: impl Iterator<Item = &'p Pair> + Clone, members: usize) -> Neighbours {
        let mut starts = vec![0; members + 2];
        let ends = || pairs.clone().flat_map(|p| [(p.smaller, p.larger), (p.larger, p.smaller)]);
        ends().for_each(|(member, _)| starts[member as usize + 2] += 1);
        for member in 0..members {
            starts[member + 2] += starts[member + 1];
        }
        let mut neighbours = vec![0; starts[members + 1]];
        for (member, neighbour) in ends() {
            let place = &mut starts[member as usize + 1];
            neighbours[*place] = neighbour;
            *place += 1;
        }
        Neighbours { starts, neighbours }
    }

    fn of(&self, member: u32) -> &[u32] {
        &self.neighbours[self.starts[member as usize]..self.starts[member as usize + 1]]
    }
}
