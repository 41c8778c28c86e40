//! Counts of all links at each member, from which clusters take their figures.

use crate::component::Components;
use crate::measure::Resemblance;
use crate::members::{Members, Pair};
use crate::threshold::Containment;

/// The counts of all links at each member, including links that a cluster omits.
#[derive(Debug)]
pub(crate) struct LinkStats {
    pub(crate) of: Vec<MemberStats>,
}

/// Of a member: its links, the number of members that it contains, and the resemblance of the links to larger members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberStats {
    pub(crate) links: u32,
    pub(crate) contained: u32,
    pub(crate) resemblance_sum: u64,
    pub(crate) min_fixed: u64,
    pub(crate) min_resemblance: Resemblance,
}

/// Above any resemblance.
pub(crate) const NO_RESEMBLANCE: Resemblance = Resemblance { shared: u64::MAX, union: 1 };

impl LinkStats {
    pub(crate) fn new(members: usize) -> LinkStats {
        let none = MemberStats {
            links: 0,
            contained: 0,
            resemblance_sum: 0,
            min_fixed: u64::MAX,
            min_resemblance: NO_RESEMBLANCE,
        };
        LinkStats { of: vec![none; members] }
    }

    /// Counts a link and returns the resemblance of its members, in fixed point.
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

    /// Adds the counts of another thread.
    pub(crate) fn join(&mut self, other: &LinkStats) {
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
        for (member, own) in (0u32..).zip(&self.of) {
            let count: &mut (u64, u64) = &mut counts[clusters.root(member) as usize];
            count.0 += 1;
            count.1 += u64::from(own.links);
        }
        counts.iter_mut().for_each(|count| count.1 /= 2);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four members of 100, 100, 200 and 400 bytes.
    fn members() -> Members<'static> {
        Members { contents: &[0, 1, 2, 3], payload_bytes: &[100, 100, 200, 400] }
    }

    fn pair(smaller: u32, larger: u32, shared_bytes: u64) -> Pair {
        Pair { smaller, larger, shared_bytes }
    }

    #[test]
    fn a_link_counts_at_both_ends_and_its_resemblance_at_the_smaller() {
        let mut stats = LinkStats::new(4);
        assert!((0..4).all(|member| !stats.is_linked(member)));
        let fixed = stats.add(&members(), &pair(0, 2, 100));
        assert_eq!(fixed, 1 << 31, "100 of 200 bytes");
        let of = |member: usize| (stats.of[member].links, stats.of[member].contained, stats.of[member].resemblance_sum);
        assert_eq!([of(0), of(1), of(2), of(3)], [(1, 0, 1 << 31), (0, 0, 0), (1, 1, 0), (0, 0, 0)]);
        assert_eq!(stats.of[0].min_resemblance, Resemblance { shared: 100, union: 200 });
        assert_eq!(stats.of[2].min_resemblance, NO_RESEMBLANCE);
    }

    #[test]
    fn four_fifths_of_a_member_are_contained() {
        for (shared_bytes, in_larger, in_smaller) in [(79, 0, 0), (80, 1, 1), (100, 1, 1)] {
            let mut stats = LinkStats::new(4);
            stats.add(&members(), &pair(0, 1, shared_bytes));
            assert_eq!((stats.of[1].contained, stats.of[0].contained), (in_larger, in_smaller), "{shared_bytes}");
        }
    }

    #[test]
    fn counts_of_threads_add_up_to_those_of_one() {
        let links = [pair(0, 1, 90), pair(0, 2, 50), pair(1, 2, 70), pair(2, 3, 200), pair(0, 3, 10)];
        let count = |links: &[Pair]| {
            let mut stats = LinkStats::new(4);
            for link in links {
                stats.add(&members(), link);
            }
            stats
        };
        let all = count(&links);
        for cut in 0..=links.len() {
            let mut joined = count(&links[..cut]);
            joined.join(&count(&links[cut..]));
            assert_eq!(format!("{joined:?}"), format!("{all:?}"), "{cut}");
        }
    }

    #[test]
    fn links_are_counted_by_cluster() {
        let mut stats = LinkStats::new(4);
        let clusters = Components::new(4);
        for link in [pair(0, 1, 90), pair(2, 3, 200)] {
            stats.add(&members(), &link);
            clusters.unite(link.smaller, link.larger);
        }
        assert_eq!(stats.link_counts(&clusters), [(2, 1), (0, 0), (2, 1), (0, 0)]);
    }
}
