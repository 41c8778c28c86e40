//! The tags of a partition's members, made ready for joining.
//!
//! Tags are *ranked* from rare to common by the number of members that hold them, and a tag that members hold in
//! different numbers becomes several ranks, one for each number and all members that hold it at least so often. Every
//! rank then has one weight, and what two members share is the weight of their common ranks: multisets are compared as
//! sets (Chaudhuri, Ganti and Kaushik 2006, section 3, do the same with ordinals). Members whose ranks are all the same
//! form a *group*, which is listed, looked up and measured as one; thousands of documents that differ only in chunks of
//! their own cost no more than one.
//!
//! Members are numbered by ascending payload; groups by their first members.

use crate::common::Common;
use crate::spill::Row;

/// Bytes of memory that lists take per row while they are built, rounded up; they keep less.
pub(crate) const JOIN_ROW_BYTES: u64 = 36;

/// A shared tag of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinRow {
    pub(crate) tag: u32,
    /// The member's place in the partition.
    pub(crate) member: u32,
    pub(crate) length_bytes: u32,
    pub(crate) count: u32,
}

impl Row for JoinRow {
    const BYTES: usize = <[u32; 4]>::BYTES;

    fn encode(&self, out: &mut Vec<u8>) {
        [self.tag, self.member, self.length_bytes, self.count].encode(out);
    }

    fn decode(bytes: &[u8]) -> JoinRow {
        let [tag, member, length_bytes, count] = Row::decode(bytes);
        JoinRow { tag, member, length_bytes, count }
    }
}

/// A rank: its weight, and where its holders stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    weight_bytes: u64,
    pub(crate) start: usize,
    pub(crate) count: u32,
}

/// The lists of a partition's members, and who holds each rank.
#[derive(Debug)]
pub(crate) struct Lists {
    groups: Groups,
    /// Where the list of each group begins, and the end.
    starts: Vec<usize>,
    /// The ranks of each group, ascending.
    items: Vec<u32>,
    /// Weight of each group's list.
    totals_bytes: Vec<u64>,
    ranks: Vec<Rank>,
    /// The groups that hold each rank, ascending.
    holders: Vec<u32>,
    common: Option<Common>,
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
        let common = Common::new(&ranks, &holders, groups.count());
        Lists { groups, starts, items, totals_bytes, ranks, holders, common }
    }

    /// The ranks that many groups hold, where there are any.
    #[inline]
    pub(crate) fn common(&self) -> Option<&Common> {
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

    /// What the members of a group share with each other.
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

/// Ranks the tags of rows that are sorted by tag, then member. Tags without weight and those of one member get no rank.
fn rank(rows: &[JoinRow]) -> (Vec<Rank>, Vec<u32>) {
    let (mut ranks, mut holders) = (Vec::new(), Vec::with_capacity(rows.len()));
    let mut push = |weight_bytes: u64, members: &mut dyn Iterator<Item = u32>| {
        let start = holders.len();
        holders.extend(members);
        let count = u32::try_from(holders.len() - start).expect("contents have 31-bit numbers");
        if count > 1 && weight_bytes > 0 {
            ranks.push(Rank { weight_bytes, start, count });
        } else {
            holders.truncate(start);
        }
    };
    for tag in rows.chunk_by(|a, b| a.tag == b.tag) {
        let length_bytes = u64::from(tag[0].length_bytes);
        if tag.iter().all(|row| row.count == tag[0].count) {
            push(length_bytes * u64::from(tag[0].count), &mut tag.iter().map(|row| row.member));
            continue;
        }
        let mut counts: Vec<u32> = tag.iter().map(|row| row.count).collect();
        counts.sort_unstable();
        counts.dedup();
        let mut below = 0;
        for count in counts {
            let members = tag.iter().filter(|row| row.count >= count).map(|row| row.member);
            push(length_bytes * u64::from(count - below), &mut { members });
            below = count;
        }
    }
    // Which of equally common ranks comes first does not matter, only that all lists agree.
    ranks.sort_unstable_by_key(|rank| (rank.count, rank.start));
    (ranks, holders)
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

/// Members with the same list.
#[derive(Debug)]
pub(crate) struct Groups {
    group_of: Vec<u32>,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    fn new(starts: &[usize], items: &[u32]) -> Groups {
        let group_of = leaders(starts, items);
        let (mut numbers, mut count) = (vec![0; group_of.len()], 0);
        let group_of: Vec<u32> = (0u32..)
            .zip(group_of)
            .map(|(member, leader)| {
                if leader == member {
                    numbers[member as usize] = count;
                    count += 1;
                }
                numbers[leader as usize]
            })
            .collect();
        let mut starts = vec![0; count as usize + 2];
        group_of.iter().for_each(|&group| starts[group as usize + 2] += 1);
        for group in 2..starts.len() {
            starts[group] += starts[group - 1];
        }
        let mut members = vec![0; group_of.len()];
        for (member, &group) in (0u32..).zip(&group_of) {
            let place = &mut starts[group as usize + 1];
            members[*place as usize] = member;
            *place += 1;
        }
        Groups { group_of, starts, members }
    }

    /// How many groups there are.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 2
    }

    /// The group of a member.
    #[inline]
    pub(crate) fn of(&self, member: u32) -> u32 {
        self.group_of[member as usize]
    }

    /// The members of a group, ascending.
    #[inline]
    pub(crate) fn members(&self, group: u32) -> &[u32] {
        &self.members[self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize]
    }
}

/// Of each member, the first one that has the same list; a member without a list is alone.
fn leaders(starts: &[usize], items: &[u32]) -> Vec<u32> {
    let count = u32::try_from(starts.len() - 1).expect("contents have 31-bit numbers");
    let list = |member: u32| &items[starts[member as usize]..starts[member as usize + 1]];
    let mut hashes: Vec<(u64, u32)> =
        (0..count).filter(|&member| !list(member).is_empty()).map(|member| (hash(list(member)), member)).collect();
    hashes.sort_unstable();
    let mut leaders: Vec<u32> = (0..count).collect();
    for same in hashes.chunk_by(|a, b| a.0 == b.0) {
        let mut leader = same[0].1;
        for &(_, member) in &same[1..] {
            // Different lists with one hash only end a group early.
            if list(member) != list(leader) {
                leader = member;
            }
            leaders[member as usize] = leader;
        }
    }
    leaders
}

fn hash(list: &[u32]) -> u64 {
    let mix = |hash: u64, &item: &u32| (hash ^ u64::from(item)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    list.iter().fold(list.len() as u64, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tag: u32, member: u32, count: u32) -> JoinRow {
        JoinRow { tag, member, length_bytes: 10, count }
    }

    #[test]
    fn members_share_what_the_smaller_count_of_each_tag_weighs() {
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
}
