//! Puts the clusters of a partition together, and finds their families.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use crate::cluster::{Cluster, FAMILY_MEMBERS_MEASURED_MAX, Family};
use crate::component::Components;
use crate::error::Error;
use crate::join::{PairFilter, PairSearch};
use crate::link::Link;
use crate::link_stats::{LinkStats, NO_RESEMBLANCE};
use crate::lists::Lists;
use crate::members::{Members, Pair};
use crate::posting::ContentIndex;
use crate::threshold::Containment;
use crate::workers::{Tracker, share_out};

/// The sources of the near members of each member.
pub(crate) struct NearMembers {
    /// The near members that the links of the cluster contain.
    pub(crate) listed: Neighbours,
    pub(crate) search: NearSearch,
}

/// The members whose near members are not among the links and must be searched.
pub(crate) enum NearSearch {
    None,
    All,
    /// The members marked.
    Marked(Vec<bool>),
}

/// The input of the clusters of a partition, without their links.
#[derive(Clone, Copy)]
pub(crate) struct ClusterInput<'a> {
    pub(crate) members: Members<'a>,
    pub(crate) lists: &'a Lists,
    /// The connected components of the links.
    pub(crate) clusters: &'a Components,
    pub(crate) stats: &'a LinkStats,
    pub(crate) near: &'a NearMembers,
}

/// Puts together the clusters of a partition, from the links that they keep.
pub(crate) fn build_clusters(
    input: &ClusterInput<'_>,
    links: &[Pair],
    threads: NonZeroUsize,
    tracker: &Tracker<'_>,
) -> Result<Vec<Cluster>, Error> {
    let drafts = draft(input, links);
    let start = || (Finisher::new(input), Vec::new());
    let ends = share_out(threads, drafts.count(), start, |(finisher, done), number| {
        tracker.check()?;
        done.push((number, finisher.finish(drafts.members(number), drafts.links(number))));
        Ok(())
    })?;
    let mut done: Vec<_> = ends.into_iter().flat_map(|(_, done)| done).collect();
    done.sort_unstable_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, cluster)| cluster).collect())
}

/// Clusters before their families are found: their members and links, packed.
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

/// Sorts members and links by cluster; links within a cluster have no order yet.
fn draft(input: &ClusterInput<'_>, links: &[Pair]) -> Drafts {
    let count = u32::try_from(input.members.count()).expect("contents have 31-bit numbers");
    let mut numbers = vec![u32::MAX; count as usize];
    let mut clusters = 0;
    let linked: Vec<u32> = (0..count).filter(|&member| input.stats.of[member as usize].links > 0).collect();
    for &member in &linked {
        // The root is the smallest member, so it comes first.
        let root = input.clusters.root(member) as usize;
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

/// A counting sort, stable within a cluster.
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

/// Finishes clusters in one thread.
struct Finisher<'a> {
    input: &'a ClusterInput<'a>,
    search: Option<PairSearch<'a>>,
    neighbours: Vec<(u32, u64)>,
}

/// For families, all pairs are found first and filtered afterwards.
const ANY_PAIR: PairFilter<'static> = PairFilter { least_bytes: &|_| 1, admits: None, searches: None };

impl<'a> Finisher<'a> {
    fn new(input: &'a ClusterInput<'a>) -> Finisher<'a> {
        let searches = !matches!(input.near.search, NearSearch::None);
        Finisher { input, search: searches.then(|| PairSearch::new(input.lists, ANY_PAIR)), neighbours: Vec::new() }
    }

    fn finish(&mut self, members: &[u32], links: &[Pair]) -> Cluster {
        let stats = members.iter().map(|&member| (member, &self.input.stats.of[member as usize]));
        let others = members.len() - 1;
        let containers = stats.clone().filter(|(_, member)| member.contained as usize == others);
        let content = |member: u32| self.input.members.content(member);
        let link_count = stats.clone().map(|(_, member)| u64::from(member.links)).sum::<u64>() / 2;
        let mut links: Vec<Link> = links.iter().map(|pair| self.input.members.link(pair)).collect();
        links.sort_unstable();
        // Most links first, then the larger, then the smaller digest: the order in which members become
        // representatives.
        let mut by_rank = members.to_vec();
        by_rank.sort_unstable_by_key(|&member| {
            let payload_bytes = self.input.members.payload_bytes(member);
            (Reverse((self.input.stats.of[member as usize].links, payload_bytes)), content(member))
        });
        Cluster {
            members: self.contents(members),
            links,
            link_count,
            min_resemblance: stats.clone().map(|(_, member)| member.min_resemblance).min().unwrap_or(NO_RESEMBLANCE),
            resemblance_sum: stats.map(|(_, member)| u128::from(member.resemblance_sum)).sum(),
            container: containers.map(|(member, _)| content(member)).min(),
            representative: content(by_rank[0]),
            families: self.find_families(members, &by_rank),
        }
    }

    fn contents(&self, members: &[u32]) -> Vec<ContentIndex> {
        let mut contents: Vec<_> = members.iter().map(|&m| self.input.members.content(m)).collect();
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
        let is_searched = match &self.input.near.search {
            NearSearch::None => false,
            NearSearch::All => true,
            NearSearch::Marked(marked) => marked[member as usize],
        };
        let Some(search) = self.search.as_mut().filter(|_| is_searched) else {
            return near.extend_from_slice(self.input.near.listed.of(member));
        };
        let (lists, members) = (self.input.lists, &self.input.members);
        // Near contents share four fifths of their union, and so of either.
        let least_bytes = Containment::FOUR_FIFTHS.share_of_bytes(members.payload_bytes(member)).max(1);
        let group = lists.groups().of(member);
        search.neighbours(group, least_bytes, &mut self.neighbours);
        self.neighbours.push((group, lists.total_bytes(group)));
        let root = self.input.clusters.root(member);
        for &(group, shared_bytes) in &self.neighbours {
            let others = lists.groups().members(group).iter().copied().filter(|&other| other != member);
            near.extend(others.filter(|&other| {
                let pair = Pair { smaller: member, larger: other, shared_bytes };
                members.resemblance(&pair).is_near() && self.input.clusters.root(other) == root
            }));
        }
    }

    /// Makes a family of its members, the representative first.
    fn measure_family(&self, family: &[u32]) -> Family {
        let (members, lists) = (&self.input.members, self.input.lists);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_members_are_listed_at_both_ends() {
        let pair = |smaller, larger| Pair { smaller, larger, shared_bytes: 1 };
        for (pairs, expected) in [
            (vec![], [&[][..], &[], &[], &[]]),
            (vec![pair(0, 1)], [&[1][..], &[0], &[], &[]]),
            (vec![pair(0, 3), pair(0, 1), pair(1, 3)], [&[3, 1][..], &[0, 3], &[], &[0, 1]]),
        ] {
            let neighbours = Neighbours::new(pairs.iter(), 4);
            for (member, expected) in (0u32..).zip(expected) {
                assert_eq!(neighbours.of(member), expected, "{member} of {pairs:?}");
            }
        }
    }

    #[test]
    fn sorting_by_cluster_keeps_the_order_within_each() {
        let things = [30, 11, 20, 31, 10, 32, 21];
        let (starts, sorted) = sort_by_cluster(5, &things, |thing| thing / 10);
        assert_eq!(sorted, [11, 10, 20, 21, 30, 31, 32]);
        assert_eq!(starts, [0, 0, 2, 4, 7, 7]);
        assert_eq!(sort_by_cluster(2, &[], |thing: &usize| *thing), (vec![0, 0, 0], vec![]));
    }
}
