//! The common ranks of a partition as bits of their holders, so that tables add up the shared bytes of thousands of groups.
//!
//! If a prefix reaches into ranks that a good part of all groups hold, nearly every group is a partner to look at. Then
//! eight ranks at a time are looked up: a table has the weight of each of the 256 combinations of them for the
//! searching group, and a column of bytes shows the ranks that every other group holds. That is the method of the four
//! Russians (Arlazarov, Dinic, Kronrod and Faradzev 1970), with weights for counts.

use crate::rank::Rank;

/// Fewer groups than this are looked at one by one.
const GROUPS_MIN: usize = if cfg!(test) { 4 } else { 256 };
/// A rank is common if one in this many groups holds it: its bits then take no more memory than its list of holders.
const COMMON_SHARE: usize = 16;
/// Ranks that have bits, at most.
const RANKS_MAX: usize = 256;
/// Combinations of eight ranks.
const TABLE_ENTRIES: usize = 256;
/// Groups that are added up at a time, so that their sums stay in the nearest cache.
const BLOCK_GROUPS: usize = 1024;

/// The common ranks, which are the last ones.
#[derive(Debug)]
pub(crate) struct CommonRanks {
    first_rank: u32,
    groups: usize,
    /// Column by column, a byte for each group.
    bits: Vec<u8>,
}

impl CommonRanks {
    /// The common ones of ranks that ascend by the number of their holders, if there are any.
    pub(crate) fn new(ranks: &[Rank], holders: &[u32], groups: usize) -> Option<CommonRanks> {
        // Members were ranked before they were grouped, so their order may have changed; only the end of the list matters.
        let is_common = |rank: &&Rank| rank.count as usize * COMMON_SHARE >= groups;
        let common = ranks.iter().rev().take_while(is_common).count().min(RANKS_MAX);
        if groups < GROUPS_MIN || common == 0 {
            return None;
        }
        let first = ranks.len() - common;
        let mut bits = vec![0; common.div_ceil(8) * groups];
        for (at, rank) in ranks[first..].iter().enumerate() {
            let column = &mut bits[at / 8 * groups..][..groups];
            for &group in &holders[rank.start..rank.start + rank.count as usize] {
                column[group as usize] |= 1 << (at % 8);
            }
        }
        Some(CommonRanks { first_rank: u32::try_from(first).expect("ranks have 32-bit numbers"), groups, bits })
    }

    /// True if a rank is common.
    #[inline]
    pub(crate) fn covers(&self, rank: u32) -> bool {
        rank >= self.first_rank
    }

    /// Cost of the table of a column, in groups looked at.
    pub(crate) fn setup(&self) -> usize {
        if cfg!(test) { 0 } else { TABLE_ENTRIES }
    }

    /// Number of columns that have a rank of an ascending list.
    pub(crate) fn columns_of(&self, list: &[u32]) -> usize {
        let covered = &list[list.partition_point(|&rank| !self.covers(rank))..];
        covered.chunk_by(|a, b| self.column(*a) == self.column(*b)).count()
    }

    fn column(&self, rank: u32) -> usize {
        (rank - self.first_rank) as usize / 8
    }

    /// Adds to the sum of each group, from `first` on, the bytes that it shares of an ascending list of common ranks.
    pub(crate) fn count(&self, list: &[u32], weight_bytes: impl Fn(u32) -> u64, first: usize, sums_bytes: &mut [u64]) {
        let tables: Vec<(usize, [u64; TABLE_ENTRIES])> = list
            .chunk_by(|a, b| self.column(*a) == self.column(*b))
            .map(|ranks| (self.column(ranks[0]), self.table(ranks, &weight_bytes)))
            .collect();
        for (block, sums_bytes) in sums_bytes.chunks_mut(BLOCK_GROUPS).enumerate() {
            let from = first + block * BLOCK_GROUPS;
            for (column, table) in &tables {
                let bits = &self.bits[column * self.groups..][from..from + sums_bytes.len()];
                for (sum_bytes, &bits) in sums_bytes.iter_mut().zip(bits) {
                    *sum_bytes = sum_bytes.saturating_add(table[usize::from(bits)]);
                }
            }
        }
    }

    fn table(&self, ranks: &[u32], weight_bytes: &impl Fn(u32) -> u64) -> [u64; TABLE_ENTRIES] {
        let mut weights_bytes = [0; 8];
        for &rank in ranks {
            weights_bytes[(rank - self.first_rank) as usize % 8] = weight_bytes(rank);
        }
        let mut table = [0u64; TABLE_ENTRIES];
        for bits in 1..TABLE_ENTRIES {
            let lowest = bits.trailing_zeros() as usize;
            table[bits] = table[bits & (bits - 1)].saturating_add(weights_bytes[lowest]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks whose holders are the multiples of each number, by ascending number of holders.
    fn multiples(numbers: &[u32], groups: u32) -> (Vec<Rank>, Vec<u32>) {
        let (mut ranks, mut holders) = (Vec::new(), Vec::new());
        for (weight_bytes, &number) in (100u64..).zip(numbers) {
            let start = holders.len();
            holders.extend((0..groups).filter(|group| group % number == 0));
            let count = u32::try_from(holders.len() - start).unwrap();
            ranks.push(Rank { weight_bytes, start, count });
        }
        (ranks, holders)
    }

    #[test]
    fn only_ranks_that_many_groups_hold_are_common() {
        let (ranks, holders) = multiples(&[40, 20, 17, 16, 2, 1], 160);
        let common = CommonRanks::new(&ranks, &holders, 160).unwrap();
        let covered: Vec<u32> = (0..6).filter(|&rank| common.covers(rank)).collect();
        // A rank is common from a sixteenth of all groups on: ten of 160.
        assert_eq!(covered, [2, 3, 4, 5]);
        let (ranks, holders) = multiples(&[40, 20], 160);
        assert!(CommonRanks::new(&ranks, &holders, 160).is_none());
        let (ranks, holders) = multiples(&[1], 3);
        assert!(CommonRanks::new(&ranks, &holders, 3).is_none(), "few groups are looked at one by one");
        assert!(CommonRanks::new(&ranks, &holders, 0).is_none());
    }

    #[test]
    fn tables_give_the_sums_of_holders_one_by_one() {
        let numbers = [15, 13, 11, 9, 8, 7, 6, 5, 4, 3, 2, 1];
        let groups = 2500;
        let (ranks, holders) = multiples(&numbers, groups);
        let common = CommonRanks::new(&ranks, &holders, groups as usize).unwrap();
        let weight_bytes = |rank: u32| ranks[rank as usize].weight_bytes;
        for list in [&[][..], &[11], &[0, 1], &[0, 3, 8, 11], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]] {
            for first in [0usize, 1, 1024, 2499, 2500] {
                let mut sums = vec![5; groups as usize - first];
                common.count(list, weight_bytes, first, &mut sums);
                for (group, sum) in (first..).zip(&sums) {
                    let holds = |rank: &&u32| group % numbers[**rank as usize] as usize == 0;
                    let expected: u64 = list.iter().filter(holds).map(|&rank| weight_bytes(rank)).sum();
                    assert_eq!(*sum, 5 + expected, "{list:?} {group}");
                }
            }
            let columns: std::collections::BTreeSet<u32> = list.iter().map(|rank| rank / 8).collect();
            assert_eq!(common.columns_of(list), columns.len());
        }
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let ranks =
            [Rank { weight_bytes: u64::MAX - 1, start: 0, count: 8 }, Rank { weight_bytes: 9, start: 0, count: 8 }];
        let holders: Vec<u32> = (0..8).collect();
        let common = CommonRanks::new(&ranks, &holders, 8).unwrap();
        let mut sums = vec![0; 8];
        common.count(&[0, 1], |rank| ranks[rank as usize].weight_bytes, 0, &mut sums);
        assert_eq!(sums, [u64::MAX; 8]);
    }
}
