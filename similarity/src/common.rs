//! Which groups hold the common ranks of a partition, as bits, so that what thousands share is added up by tables.
//!
//! Where a prefix reaches into ranks that a good part of all groups hold, nearly every group is a partner to look at.
//! Then eight ranks at a time are looked up: a table says what each of the 256 combinations of them weighs for the group
//! that seeks, and a column of bytes says which of them every other group holds. That is the method of the four Russians
//! (Arlazarov, Dinic, Kronrod and Faradzev 1970), with weights for counts.

use crate::lists::Rank;

/// Fewer groups than this are looked at one by one.
const GROUPS_MIN: usize = if cfg!(test) { 4 } else { 256 };
/// A rank is common when one in so many groups holds it: then its bits take no more memory than its holders do.
const COMMON_SHARE: usize = 16;
/// Ranks that have bits, at most.
const RANKS_MAX: usize = 256;
/// Combinations of eight ranks.
const TABLE_ENTRIES: usize = 256;
/// Groups that are added up at a time, so that their sums stay in the nearest cache.
const BLOCK_GROUPS: usize = 1024;

/// The common ranks, which are the last ones.
#[derive(Debug)]
pub(crate) struct Common {
    first_rank: u32,
    groups: usize,
    /// Column by column, a byte for each group.
    bits: Vec<u8>,
}

impl Common {
    /// The common ones of ranks that ascend by the number of their holders, if there are any.
    pub(crate) fn new(ranks: &[Rank], holders: &[u32], groups: usize) -> Option<Common> {
        // Members were ranked before they were grouped, so the order may be broken by now; what matters is the end.
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
        Some(Common { first_rank: u32::try_from(first).expect("ranks have 32-bit numbers"), groups, bits })
    }

    /// Whether a rank is one of them.
    #[inline]
    pub(crate) fn covers(&self, rank: u32) -> bool {
        rank >= self.first_rank
    }

    /// What it costs to make ready for a column, in groups looked at.
    pub(crate) fn setup(&self) -> usize {
        if cfg!(test) { 0 } else { TABLE_ENTRIES }
    }

    /// How many columns have a rank of an ascending list.
    pub(crate) fn columns_of(&self, list: &[u32]) -> usize {
        let covered = &list[list.partition_point(|&rank| !self.covers(rank))..];
        covered.chunk_by(|a, b| self.column(*a) == self.column(*b)).count()
    }

    fn column(&self, rank: u32) -> usize {
        (rank - self.first_rank) as usize / 8
    }

    /// Adds to the sum of each group from `first` on what it shares of an ascending list of common ranks.
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
