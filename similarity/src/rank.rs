//! Ranks: the tags of a partition's members, ordered from rare to common.
//!
//! A tag that members hold in different numbers becomes several ranks, one for each number, held by all members that
//! hold the tag at least so often. Every rank then has one weight.

use crate::join_row::JoinRow;

/// A rank: its weight, and the place of its holders in the list of all holders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    pub(crate) weight_bytes: u64,
    pub(crate) start: usize,
    pub(crate) count: u32,
}

/// Ranks the tags of rows that are sorted by tag, then member. Tags without weight and those of one member get no rank.
pub(crate) fn rank(rows: &[JoinRow]) -> (Vec<Rank>, Vec<u32>) {
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
    // The order of equally common ranks is arbitrary, but all lists must use the same one.
    ranks.sort_unstable_by_key(|rank| (rank.count, rank.start));
    (ranks, holders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tag: u32, member: u32, length_bytes: u32, count: u32) -> JoinRow {
        JoinRow { tag, member, length_bytes, count }
    }

    /// Ranks as (weight, holders), by ascending weight.
    fn ranks_of(rows: &[JoinRow]) -> Vec<(u64, Vec<u32>)> {
        let (ranks, holders) = rank(rows);
        assert!(ranks.is_sorted_by_key(|rank| rank.count), "rare ranks come first");
        let listed = ranks.iter().map(|rank| {
            let holders = &holders[rank.start..rank.start + rank.count as usize];
            (rank.weight_bytes, holders.to_vec())
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort();
        listed
    }

    #[test]
    fn a_tag_has_a_rank_for_each_number_of_occurrences_that_several_members_reach() {
        for (rows, expected) in [
            (vec![], vec![]),
            // One holder shares nothing.
            (vec![row(1, 0, 10, 1)], vec![]),
            (vec![row(1, 0, 10, 1), row(1, 3, 10, 1)], vec![(10, vec![0, 3])]),
            // Equal numbers weigh as often as they occur.
            (vec![row(1, 0, 10, 4), row(1, 3, 10, 4)], vec![(40, vec![0, 3])]),
            // The second member has one occurrence more, which no other member shares.
            (vec![row(1, 0, 10, 1), row(1, 3, 10, 2)], vec![(10, vec![0, 3])]),
            (vec![row(1, 0, 10, 1), row(1, 3, 10, 2), row(1, 4, 10, 5)], vec![(10, vec![0, 3, 4]), (10, vec![3, 4])]),
            (vec![row(1, 0, 7, 2), row(1, 3, 7, 5), row(1, 4, 7, 5)], vec![(14, vec![0, 3, 4]), (21, vec![3, 4])]),
            // A chunk of no bytes weighs nothing.
            (vec![row(1, 0, 0, 1), row(1, 3, 0, 1)], vec![]),
            (
                vec![row(1, 0, 5, 1), row(1, 1, 5, 1), row(2, 1, 6, 1), row(2, 2, 6, 1)],
                vec![(5, vec![0, 1]), (6, vec![1, 2])],
            ),
        ] {
            assert_eq!(ranks_of(&rows), expected, "{rows:?}");
        }
    }

    #[test]
    fn ranks_of_a_tag_add_up_to_the_smaller_number_of_occurrences() {
        let counts = [1u32, 3, 3, 8, 20];
        let rows: Vec<JoinRow> = (0u32..).zip(counts).map(|(member, count)| row(9, member, 10, count)).collect();
        let ranks = ranks_of(&rows);
        for a in 0..counts.len() {
            for b in a + 1..counts.len() {
                let (x, y) = (u32::try_from(a).unwrap(), u32::try_from(b).unwrap());
                let both = ranks.iter().filter(|(_, holders)| holders.contains(&x) && holders.contains(&y));
                let shared: u64 = both.map(|(weight_bytes, _)| weight_bytes).sum();
                assert_eq!(shared, 10 * u64::from(counts[a].min(counts[b])), "{a} {b}");
            }
        }
    }
}
