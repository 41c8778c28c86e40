//! The lists of a partition's members: their tags as ranks, ready for joining.
//!
//! Tags are *ranked* from rare to common by the number of members that hold them, and a tag that members hold in
//! different numbers becomes several ranks, one for each number and all members that hold it at least so often. Every
//! rank then has one weight, and the bytes that two members share are the weight of their common ranks: multisets are compared as
//! sets (Chaudhuri, Ganti and Kaushik 2006, section 3, do the same with ordinals). Members whose ranks are all the same
//! form a *group*, which is listed, looked up and measured as one; thousands of documents that differ only in chunks of
//! their own cost the same as one.
//!
//! Members are numbered by ascending payload; groups by their first members.

use crate::common_ranks::CommonRanks;
use crate::groups::Groups;
use crate::join_row::JoinRow;
use crate::rank::{Rank, rank};

/// The lists of a partition's members, and the holders of each rank.
#[derive(Debug)]
pub(crate) struct Lists {
    groups: Groups,
    /// Start of the list of each group, and the end.
    starts: Vec<usize>,
    /// The ranks of each group, ascending.
    items: Vec<u32>,
    /// Weight of each group's list.
    totals_bytes: Vec<u64>,
    ranks: Vec<Rank>,
    /// The groups that hold each rank, ascending.
    holders: Vec<u32>,
    common: Option<CommonRanks>,
}

impl Lists {
    /// Builds the lists of `members` members. Tags of one member are dropped: they cannot be shared here.
    pub(crate) fn new(mut rows: Vec<JoinRow>, members: usize) -> Lists {
        rows.sort_unstable_by_key(|row| u64::from(row.tag) << 32 | u64::from(row.member));
        let (mut ranks, mut holders) = rank(&rows);
        drop(rows);
        let (starts, items) = list(&ranks, &holders, members);
        let groups = Groups::new(&starts, &items);
        let lists = if groups.count() < members { regroup(&groups, &starts, &items) } else { (starts, items) };
        let (starts, items) = lists;
        if groups.count() < members {
            holders = hold(&mut ranks, &starts, &items);
        }
        let weigh = |ends: &[usize]| {
            let ranks = items[ends[0]..ends[1]].iter().map(|&item| &ranks[item as usize]);
            ranks.fold(0u64, |sum, rank| sum.saturating_add(rank.weight_bytes))
        };
        let totals_bytes = starts.windows(2).map(weigh).collect();
        let common = CommonRanks::new(&ranks, &holders, groups.count());
        Lists { groups, starts, items, totals_bytes, ranks, holders, common }
    }

    /// The ranks that many groups hold, where there are any.
    #[inline]
    pub(crate) fn common(&self) -> Option<&CommonRanks> {
        self.common.as_ref()
    }

    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The ranks of a group, from rare to common.
    #[inline]
    pub(crate) fn list(&self, group: u32) -> &[u32] {
        &self.items[self.starts[group as usize]..self.starts[group as usize + 1]]
    }

    /// Bytes that the members of a group share with each other.
    #[inline]
    pub(crate) fn total_bytes(&self, group: u32) -> u64 {
        self.totals_bytes[group as usize]
    }

    #[inline]
    pub(crate) fn weight_bytes(&self, rank: u32) -> u64 {
        self.ranks[rank as usize].weight_bytes
    }

    /// The groups that hold a rank, ascending.
    #[inline]
    pub(crate) fn holders(&self, rank: u32) -> &[u32] {
        let rank = &self.ranks[rank as usize];
        &self.holders[rank.start..rank.start + rank.count as usize]
    }

    /// Bytes that two members share, exactly.
    pub(crate) fn shared_bytes(&self, a: u32, b: u32) -> u64 {
        let (a, b) = (self.groups.of(a), self.groups.of(b));
        if a == b {
            return self.total_bytes(a);
        }
        let (a, b) = (self.list(a), self.list(b));
        let (mut at, mut bt, mut shared_bytes) = (0, 0, 0u64);
        while at < a.len() && bt < b.len() {
            match a[at].cmp(&b[bt]) {
                std::cmp::Ordering::Less => at += 1,
                std::cmp::Ordering::Greater => bt += 1,
                std::cmp::Ordering::Equal => {
                    shared_bytes = shared_bytes.saturating_add(self.weight_bytes(a[at]));
                    at += 1;
                    bt += 1;
                }
            }
        }
        shared_bytes
    }
}

/// The ranks of each member, ascending.
fn list(ranks: &[Rank], holders: &[u32], members: usize) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; members + 1];
    holders.iter().for_each(|&member| starts[member as usize + 1] += 1);
    for member in 0..members {
        starts[member + 1] += starts[member];
    }
    let (mut ends, mut items) = (starts.clone(), vec![0; holders.len()]);
    for (number, rank) in (0u32..).zip(ranks) {
        for &member in &holders[rank.start..rank.start + rank.count as usize] {
            let end = &mut ends[member as usize];
            items[*end] = number;
            *end += 1;
        }
    }
    (starts, items)
}

/// One list for each group.
fn regroup(groups: &Groups, starts: &[usize], items: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let (mut group_starts, mut group_items) = (vec![0], Vec::new());
    for group in (0u32..).take(groups.count()) {
        let first = groups.members(group)[0] as usize;
        group_items.extend_from_slice(&items[starts[first]..starts[first + 1]]);
        group_starts.push(group_items.len());
    }
    (group_starts, group_items)
}

/// Points the ranks at the groups that hold them.
fn hold(ranks: &mut [Rank], starts: &[usize], items: &[u32]) -> Vec<u32> {
    ranks.iter_mut().for_each(|rank| rank.count = 0);
    items.iter().for_each(|&item| ranks[item as usize].count += 1);
    let mut start = 0;
    for rank in ranks.iter_mut() {
        rank.start = start;
        start += std::mem::take(&mut rank.count) as usize;
    }
    let mut holders = vec![0; items.len()];
    for (group, ends) in (0u32..).zip(starts.windows(2)) {
        for &item in &items[ends[0]..ends[1]] {
            let rank = &mut ranks[item as usize];
            holders[rank.start + rank.count as usize] = group;
            rank.count += 1;
        }
    }
    holders
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(tag: u32, member: u32, count: u32) -> JoinRow {
        JoinRow { tag, member, length_bytes: 10, count }
    }

    #[test]
    fn members_share_the_smaller_count_of_each_tag() {
        // Tag 1 is held once, twice and five times; tag 2 by two members; tag 3 by one.
        let rows = vec![row(1, 0, 1), row(2, 2, 3), row(1, 1, 2), row(1, 2, 5), row(2, 1, 3), row(3, 0, 9)];
        let lists = Lists::new(rows, 4);
        for (a, b, shared_bytes) in [(0, 1, 10), (0, 2, 10), (1, 2, 50), (0, 3, 0), (2, 1, 50)] {
            assert_eq!(lists.shared_bytes(a, b), shared_bytes, "{a} {b}");
        }
        assert_eq!(lists.groups().of(1), lists.groups().of(2));
        assert_eq!(lists.groups().count(), 3);
    }

    #[test]
    fn holders_of_each_rank_are_the_groups_whose_lists_have_it() {
        let rows = (0..60u32).map(|n| row(n % 7, n * 11 % 20, 1 + n % 2)).collect();
        let lists = Lists::new(rows, 20);
        for rank in (0u32..).take(lists.ranks.len()) {
            let expected: Vec<u32> =
                (0u32..).take(lists.groups().count()).filter(|&group| lists.list(group).contains(&rank)).collect();
            assert_eq!(lists.holders(rank), expected);
        }
        let members: usize =
            (0u32..).take(lists.groups().count()).map(|group| lists.groups().members(group).len()).sum();
        assert_eq!(members, 20);
    }

    /// The bytes that two members share by the definition: for each tag the smaller number of occurrences.
    fn shared_by_definition(rows: &[JoinRow], a: u32, b: u32) -> u64 {
        let counts = |member: u32| rows.iter().filter(move |row| row.member == member);
        let shared = counts(a).flat_map(|x| counts(b).filter(move |y| y.tag == x.tag).map(move |y| (x, y)));
        shared.map(|(x, y)| u64::from(x.length_bytes) * u64::from(x.count.min(y.count))).sum()
    }

    proptest! {
        #[test]
        fn lists_weigh_any_two_members_as_the_definition_does(
            cells in prop::collection::btree_map((0u32..12, 0u32..8), 1u32..5, 0..60),
        ) {
            let rows: Vec<JoinRow> = cells
                .iter()
                .map(|(&(tag, member), &count)| JoinRow { tag, member, length_bytes: 1 + tag * 3, count })
                .collect();
            let lists = Lists::new(rows.iter().rev().copied().collect(), 8);
            for a in 0..8 {
                for b in (0..8).filter(|&b| b != a) {
                    prop_assert_eq!(lists.shared_bytes(a, b), shared_by_definition(&rows, a, b), "{} {}", a, b);
                }
            }
        }
    }

    #[test]
    fn lists_without_rows_share_nothing() {
        let lists = Lists::new(vec![], 3);
        assert_eq!(lists.groups().count(), 3);
        assert!((0..3).all(|group| lists.list(group).is_empty() && lists.total_bytes(group) == 0));
        assert!(lists.common().is_none());
        assert_eq!(lists.shared_bytes(0, 2), 0);
    }

    #[test]
    fn lists_go_from_rare_to_common_tags() {
        // Tag n is held by the members below 2 + n.
        let rows = (0..6u32).flat_map(|tag| (0..2 + tag).map(move |member| row(tag, member, 1))).collect();
        let lists = Lists::new(rows, 8);
        let holders = |group: u32| {
            let ranks = lists.list(group).iter();
            ranks.map(|&rank| lists.holders(rank).len()).collect::<Vec<_>>()
        };
        for group in (0u32..).take(lists.groups().count()) {
            assert!(holders(group).is_sorted(), "{group}: {:?}", holders(group));
        }
    }
}
