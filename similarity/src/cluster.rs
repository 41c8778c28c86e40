//! Clusters and families: the findings of an analysis.
//!
//! A cluster is a connected component of links, so its ends may have nothing in common. Its families say which members
//! are truly close: each gathers the members whose resemblance with one representative is at least four fifths, even
//! if the cluster omits that link, and has the least resemblance between any two of them.
//!
//! Links can grow with the square of the members; a cluster does not. See [`Cluster::links`] for the rule.

use crate::forest::{Forest, StrongLink};
use crate::link::Link;
use crate::measure::Resemblance;
use crate::members::{Members, Pair};
use crate::posting::ContentIndex;

/// Members up to which a family's least resemblance is taken over all its pairs: half a million at most.
pub const FAMILY_MEMBERS_MEASURED_MAX: usize = 1000;

/// Links up to which a cluster keeps all of them, whatever its members; 362 members that are all linked have this number of links.
pub const CLUSTER_LINKS_ALL_MAX: u64 = 1 << 16;

/// Links per member up to which a cluster keeps all of them, whatever their number.
pub const CLUSTER_LINKS_PER_MEMBER_MAX: u64 = 64;

/// Links that all clusters of an analysis may keep together, if they are more than [`CONTENT_LINKS_MIN`] for each content. They
/// are shared out evenly: a cluster keeps all of its links only if they are no more than its members' share. Up to 370,000 contents,
/// that changes nothing: no cluster that keeps all its links by the bounds above has more than 181 for each member.
pub const ANALYSIS_LINKS_MAX: u64 = 1 << 26;

/// The share of a member where contents are very many.
pub const CONTENT_LINKS_MIN: u64 = 8;

/// Contents connected by links.
///
/// A store of clusters needs `link_count`, `min_resemblance`, the mean and `container` next to the links: they cannot
/// be computed from the links where some are omitted. Facts that need every link of a content, such as its
/// closest relation or the labels of the contents linked with it, must be gathered from the
/// links that [`crate::analyse_with_links`] reports and [`crate::Analysis::omitted`]. Any other pair is compared on demand by [`crate::PairMeasure`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The contents, ascending; at least two.
    pub members: Vec<ContentIndex>,
    /// Links between them, by (a, b).
    ///
    /// All of them where they are at most [`CLUSTER_LINKS_ALL_MAX`], or at most [`CLUSTER_LINKS_PER_MEMBER_MAX`] for
    /// each member, and no more than its members' share of [`ANALYSIS_LINKS_MAX`]. Else one less than there are members: the strongest that connect them all, which are those that no
    /// path of stronger links makes superfluous. Every member's strongest link is among them. A link is the stronger,
    /// the more its contents resemble each other; among equals, the smaller its smaller and then its larger content.
    pub links: Vec<Link>,
    /// Number of links, omitted ones included.
    pub link_count: u64,
    /// The least resemblance of a link, omitted ones included.
    pub min_resemblance: Resemblance,
    /// The resemblance of all links, omitted ones included, added up in units of 2^-32 to which each is rounded.
    pub resemblance_sum: u128,
    /// The first member that contains all others by links, omitted ones included; `None` if no member does.
    pub container: Option<ContentIndex>,
    /// The member with most links; among those the largest, then the first.
    pub representative: ContentIndex,
    /// The families of two members or more, in the order of their representatives.
    pub families: Vec<Family>,
}

impl Cluster {
    /// Number of links beyond those in [`links`](Cluster::links).
    pub fn links_omitted(&self) -> u64 {
        self.link_count - self.links.len() as u64
    }

    /// Of the links in `links`, the strongest that connect all members, by (a, b): one less than there are members.
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
    /// True if `min_resemblance` is only over pairs with the representative, because the family has more than
    /// [`FAMILY_MEMBERS_MEASURED_MAX`] members.
    pub over_representative_only: bool,
}

/// The rule by which clusters keep all their links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRule {
    pub(crate) all_max: u64,
    pub(crate) per_member_max: u64,
    /// The share of each member in what all clusters may keep.
    pub(crate) share_max: u64,
}

impl LinkRule {
    /// The rule of [`Cluster::links`] in an analysis of `contents` contents.
    pub(crate) fn published(contents: usize) -> LinkRule {
        LinkRule {
            all_max: CLUSTER_LINKS_ALL_MAX,
            per_member_max: CLUSTER_LINKS_PER_MEMBER_MAX,
            share_max: (ANALYSIS_LINKS_MAX / (contents as u64).max(1)).max(CONTENT_LINKS_MIN),
        }
    }

    pub(crate) fn keeps_all(self, members: u64, links: u64) -> bool {
        links <= self.all_max.max(self.per_member_max * members).min(self.share_max.saturating_mul(members))
    }
}

/// The strongest links that connect the same members as all of `links`.
fn strongest(members: &Members<'_>, links: &[Pair]) -> Vec<Pair> {
    let mut forest = Forest::new(members.count());
    links.iter().for_each(|&pair| forest.add(StrongLink::of(members, pair)));
    forest.finish().0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(a: u32, b: u32, shared_bytes: u64) -> Link {
        Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes }
    }

    fn cluster(members: &[u32], links: Vec<Link>, link_count: u64) -> Cluster {
        Cluster {
            members: members.iter().copied().map(ContentIndex).collect(),
            links,
            link_count,
            min_resemblance: Resemblance { shared: 1, union: 2 },
            resemblance_sum: 3 * u128::from(Resemblance::FIXED_ONE),
            container: None,
            representative: ContentIndex(members[0]),
            families: vec![],
        }
    }

    #[test]
    fn a_cluster_has_all_links_up_to_either_bound() {
        let rule = LinkRule::published(1000);
        for (members, links, keeps_all) in [
            (2, 1, true),
            (362, CLUSTER_LINKS_ALL_MAX, true),
            (362, CLUSTER_LINKS_ALL_MAX + 1, false),
            (2000, 2000 * CLUSTER_LINKS_PER_MEMBER_MAX, true),
            (2000, 2000 * CLUSTER_LINKS_PER_MEMBER_MAX + 1, false),
        ] {
            assert_eq!(rule.keeps_all(members, links), keeps_all, "{members} {links}");
        }
        // A cluster of 362 members that are all linked is below the first bound.
        const { assert!(362 * 361 / 2 <= CLUSTER_LINKS_ALL_MAX && 363 * 362 / 2 > CLUSTER_LINKS_ALL_MAX) };
    }

    #[test]
    fn spanning_links_are_the_strongest_that_connect_all_members() {
        let sizes = [100; 6];
        for (members, links, expected) in [
            (vec![1, 4], vec![link(1, 4, 50)], vec![link(1, 4, 50)]),
            // The weakest link of a triangle is left out.
            (vec![0, 1, 2], vec![link(0, 1, 50), link(0, 2, 80), link(1, 2, 60)], vec![link(0, 2, 80), link(1, 2, 60)]),
            // Of equal links the last.
            (vec![0, 1, 2], vec![link(0, 1, 60), link(0, 2, 60), link(1, 2, 60)], vec![link(0, 1, 60), link(0, 2, 60)]),
            (
                vec![0, 1, 2, 5],
                vec![link(0, 1, 90), link(0, 5, 20), link(1, 2, 90), link(1, 5, 30), link(2, 5, 25)],
                vec![link(0, 1, 90), link(1, 2, 90), link(1, 5, 30)],
            ),
        ] {
            let count = links.len() as u64;
            assert_eq!(cluster(&members, links, count).spanning_links(&sizes), expected);
        }
    }

    #[test]
    fn the_mean_includes_omitted_links() {
        let cluster = cluster(&[0, 1, 2], vec![link(0, 1, 5)], 4);
        assert_eq!(cluster.links_omitted(), 3);
        assert!((cluster.mean_resemblance() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn the_links_of_all_clusters_together_are_bounded_by_the_shares_of_their_members() {
        // Clusters as dense as the first bound allows.
        for (contents, keeps_all) in [(1000, true), (370_000, true), (380_000, false), (100_000_000, false)] {
            assert_eq!(LinkRule::published(contents).keeps_all(362, 362 * 361 / 2), keeps_all, "{contents}");
        }
        let rule = LinkRule::published(2_000_000);
        assert!(rule.keeps_all(1000, 33_000) && !rule.keeps_all(1000, 34_000));
        let rule = LinkRule::published(100_000_000);
        assert!(rule.keeps_all(1000, 8000) && !rule.keeps_all(1000, 8001));
    }
}
