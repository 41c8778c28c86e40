//! Links, clusters and families: what an analysis hands back.
//!
//! A cluster is a connected component of links, so its ends may have nothing in common. Its families say which members
//! are truly close: each gathers the members whose resemblance with one representative is at least four fifths, whether
//! or not that pair is a kept link, and tells the least resemblance between any two of them.

use std::cmp::Reverse;

use crate::component::Components;
use crate::join::{Lists, Pair};
use crate::measure::Resemblance;
use crate::posting::ContentIndex;

/// Members up to which a family's least resemblance is taken over all its pairs: half a million at most.
pub const FAMILY_MEMBERS_MEASURED_MAX: usize = 1000;

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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The contents, ascending; at least two.
    pub members: Vec<ContentIndex>,
    /// The links between them, by (a, b).
    pub links: Vec<Link>,
    /// The member with most links; among those the largest, then the first.
    pub representative: ContentIndex,
    /// The families of two members or more, in the order of their representatives.
    pub families: Vec<Family>,
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

/// The contents of a partition, by their places in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members<'a> {
    /// The members by ascending payload, then number.
    pub(crate) contents: &'a [u32],
    /// The payloads of all contents.
    pub(crate) payload_bytes: &'a [u64],
}

impl Members<'_> {
    pub(crate) fn content(&self, member: u32) -> ContentIndex {
        ContentIndex(self.contents[member as usize])
    }

    pub(crate) fn payload_bytes(&self, member: u32) -> u64 {
        self.payload_bytes[self.content(member).at()]
    }

    pub(crate) fn resemblance(&self, pair: &Pair) -> Resemblance {
        let payloads = (self.payload_bytes(pair.smaller), self.payload_bytes(pair.larger));
        Resemblance::of(pair.shared_bytes, payloads.0, payloads.1)
    }
}

/// The connected components of a partition's links.
pub(crate) fn connect(links: &[Pair], members: usize) -> Components {
    let clusters = Components::new(members);
    links.iter().for_each(|link| clusters.unite(link.smaller, link.larger));
    clusters
}

/// Everything that the clusters of a partition are made from.
pub(crate) struct Parts<'a> {
    pub(crate) members: Members<'a>,
    pub(crate) lists: &'a Lists,
    /// The kept links.
    pub(crate) links: &'a [Pair],
    /// What [`connect`] made of them.
    pub(crate) clusters: &'a Components,
    /// All pairs within clusters that are near, kept links or not.
    pub(crate) near: &'a [Pair],
}

/// Builds the clusters of a partition, in no certain order.
pub(crate) fn build_clusters(parts: &Parts<'_>) -> Vec<Cluster> {
    let count = parts.members.contents.len();
    let mut degrees = vec![0u32; count];
    for link in parts.links {
        degrees[link.smaller as usize] += 1;
        degrees[link.larger as usize] += 1;
    }
    let near = Neighbours::new(parts.near, count);
    let drafts = drafts(parts, &degrees);
    drafts.into_iter().map(|draft| finish(parts, draft, &degrees, &near)).collect()
}

/// A cluster on the way: its members by place, and its links.
struct Draft {
    members: Vec<u32>,
    links: Vec<Link>,
}

fn drafts(parts: &Parts<'_>, degrees: &[u32]) -> Vec<Draft> {
    let mut numbers = vec![u32::MAX; degrees.len()];
    let mut drafts: Vec<Draft> = Vec::new();
    for (member, &degree) in (0u32..).zip(degrees) {
        if degree == 0 {
            continue;
        }
        // The root is the smallest member, so it comes first and opens the draft.
        let root = parts.clusters.root(member);
        if root == member {
            numbers[member as usize] = u32::try_from(drafts.len()).expect("fewer than contents");
            drafts.push(Draft { members: Vec::new(), links: Vec::new() });
        }
        drafts[numbers[root as usize] as usize].members.push(member);
    }
    for pair in parts.links {
        let root = parts.clusters.root(pair.smaller);
        let (x, y) = (parts.members.content(pair.smaller), parts.members.content(pair.larger));
        drafts[numbers[root as usize] as usize].links.push(Link {
            a: x.min(y),
            b: x.max(y),
            shared_bytes: pair.shared_bytes,
        });
    }
    drafts
}

fn finish(parts: &Parts<'_>, mut draft: Draft, degrees: &[u32], near: &Neighbours) -> Cluster {
    // Most links first, then the larger, then the smaller digest: the order in which members are asked to represent.
    draft.members.sort_unstable_by_key(|&member| {
        let payload_bytes = parts.members.payload_bytes(member);
        let rank = (degrees[member as usize], payload_bytes);
        (Reverse(rank), parts.members.content(member))
    });
    let families = find_families(parts, &draft.members, near);
    let representative = parts.members.content(draft.members[0]);
    draft.links.sort_unstable();
    Cluster { members: contents(parts, &draft.members), links: draft.links, representative, families }
}

fn contents(parts: &Parts<'_>, members: &[u32]) -> Vec<ContentIndex> {
    let mut contents: Vec<_> = members.iter().map(|&m| parts.members.content(m)).collect();
    contents.sort_unstable();
    contents
}

fn find_families(parts: &Parts<'_>, by_rank: &[u32], near: &Neighbours) -> Vec<Family> {
    let mut ordered = by_rank.to_vec();
    ordered.sort_unstable();
    let mut taken = vec![false; ordered.len()];
    let place = |member: u32| ordered.binary_search(&member).expect("near pairs stay in a cluster");
    let mut families = Vec::new();
    for &representative in by_rank {
        if std::mem::replace(&mut taken[place(representative)], true) {
            continue;
        }
        let mut family = vec![representative];
        for &neighbour in near.of(representative) {
            if !std::mem::replace(&mut taken[place(neighbour)], true) {
                family.push(neighbour);
            }
        }
        if family.len() > 1 {
            families.push(measure_family(parts, &family));
        }
    }
    families
}

/// Makes a family of its members, the representative first.
fn measure_family(parts: &Parts<'_>, family: &[u32]) -> Family {
    let over_representative_only = family.len() > FAMILY_MEMBERS_MEASURED_MAX;
    let measured = if over_representative_only { 1 } else { family.len() };
    let pairs = (0..measured).flat_map(|a| family[a + 1..].iter().map(move |&b| (family[a], b)));
    let resemblances = pairs.map(|(a, b)| {
        parts.members.resemblance(&Pair { smaller: a, larger: b, shared_bytes: parts.lists.shared_bytes(a, b) })
    });
    Family {
        representative: parts.members.content(family[0]),
        members: contents(parts, family),
        min_resemblance: resemblances.min().expect("a family has a pair"),
        over_representative_only,
    }
}

/// The near members of each member, packed.
struct Neighbours {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Neighbours {
    fn new(pairs: &[Pair], members: usize) -> Neighbours {
        let mut starts = vec![0; members + 2];
        let ends = || pairs.iter().flat_map(|p| [(p.smaller, p.larger), (p.larger, p.smaller)]);
        ends().for_each(|(member, _)| starts[member as usize + 2] += 1);
        for member in 0..members {
            starts[member + 2] += starts[member + 1];
        }
        let mut neighbours = vec![0; 2 * pairs.len()];
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
