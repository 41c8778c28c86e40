//! The shares of the memory budget that the passes have.
//!
//! | share | for |
//! |---|---|
//! | 1/4 (up to 3/8 while small buckets pile up) | the shared tags of contents, from pass 1 to 4 |
//! | 1/8 (up to 3/16) | the holders of tags, from pass 2 to 3 |
//! | 1/4 (up to 3/8) | the rows of partitions, from pass 4 to 5 |
//! | 1/4 | the work of all threads at a time |
//!
//! Holders and partitions do not live at the same time, so the shares add up to the budget.

use std::num::NonZeroUsize;

use crate::component::PackOptions;
use crate::input::{Input, Options};
use crate::join_row::JOIN_ROW_BYTES;
use crate::shards::Shards;
use crate::spill::BucketsOptions;

/// More buckets than this would make blocks too small to read fast.
const BUCKETS_MAX: u64 = 1024;
/// Inputs below this are not worth dividing among threads.
const DIVIDED_MIN: u64 = 4096;
/// Bytes of a part at most, so that sorting it stays in the nearer caches.
const CACHED_BYTES: u64 = 4 << 20;
/// Number of parts above which caches do not matter: rows on their way into very many parts would fill them too.
const CACHED_BUCKETS_MAX: u64 = 256;
/// The same for partitions, whose rows are joined from place to place: there small parts save more than rows on their way cost.
const CACHED_PARTITIONS_MAX: u64 = 1024;
/// Rows of a slice whatever the budget: every two slices are joined.
const SLICE_ROWS_MIN: u64 = if cfg!(test) { 1 } else { 4096 };
/// Memory that passes 2 and 4 take for a row of a bucket that they hold in memory.
const HELD_ROW_BYTES: u64 = 24;
/// Links per member that a partition may hold whatever the budget.
const LINKS_PER_MEMBER: u64 = 16;
/// Memory for a link while clusters are built.
const LINK_BYTES: u64 = 16;
/// Parts per thread, so that a slow part does not leave the others waiting.
const PARTS_PER_THREAD: u64 = 4;

/// The limits of the slices of a partition.
#[derive(Clone, Copy)]
pub(crate) struct SliceLimits {
    /// Rows of a slice.
    pub(crate) rows_max: u64,
    /// Memory for the rows of all slices.
    pub(crate) memory_bytes_max: u64,
}

/// The shares of one analysis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    budget_bytes: u64,
    threads: usize,
}

impl Budget {
    pub(crate) fn new(options: &Options<'_>) -> Budget {
        Budget { budget_bytes: options.memory_budget_bytes, threads: options.threads.get() }
    }

    /// Buckets for the shared tags of ranges of contents.
    pub(crate) fn tag_rows(&self, shards: &dyn Shards, input: &Input<'_>) -> BucketsOptions {
        let bytes = shards.posting_count_max().saturating_mul(HELD_ROW_BYTES);
        self.buckets("tags", self.parts(bytes, input.payload_bytes.len() as u64), 4)
    }

    /// Buckets for the holders of ranges of tags.
    pub(crate) fn holder_rows(&self, tags: u32) -> BucketsOptions {
        let bytes = u64::from(tags) * 4;
        self.buckets("holders", self.parts(bytes, u64::from(tags)), 8)
    }

    /// Buckets for the rows of partitions.
    pub(crate) fn join_rows(&self, partitions: usize) -> BucketsOptions {
        self.buckets("parts", partitions, 4)
    }

    /// Buckets for the rows of an oversized partition that is packed again by clusters.
    pub(crate) fn cluster_rows(&self, partitions: usize) -> BucketsOptions {
        self.buckets("clusters", partitions, 8)
    }

    /// Options of packing components that have `rows` rows together.
    pub(crate) fn pack(&self, rows: u64) -> PackOptions {
        // Large partitions are joined one at a time, so each may use the memory of all threads.
        let rows_max = self.budget_bytes / 4 / JOIN_ROW_BYTES;
        let even_rows = rows / (self.threads as u64 * PARTS_PER_THREAD);
        let cached_rows = (CACHED_BYTES / JOIN_ROW_BYTES).max(rows / CACHED_PARTITIONS_MAX);
        PackOptions {
            rows_wanted: even_rows.max(DIVIDED_MIN).min(self.work_bytes() / JOIN_ROW_BYTES).min(cached_rows),
            rows_max,
        }
    }

    /// The limits of slices, two of which are in memory together.
    pub(crate) fn slice(&self) -> SliceLimits {
        let memory_bytes_max = self.budget_bytes / 8;
        SliceLimits { rows_max: (memory_bytes_max / JOIN_ROW_BYTES).max(SLICE_ROWS_MIN), memory_bytes_max }
    }

    /// Links that a partition may hold while `threads` threads join it.
    ///
    /// Some for each member in any case: where they are no more, they are part of the result.
    pub(crate) fn links_in_memory(&self, members: usize, threads: NonZeroUsize) -> u64 {
        if self.budget_bytes == 0 {
            return 0;
        }
        let share = (threads.get() as u64).min(self.threads as u64);
        let share = self.budget_bytes / 8 / LINK_BYTES * share / self.threads as u64;
        share.max(members as u64 * LINKS_PER_MEMBER)
    }

    fn buckets(&self, name: &'static str, count: usize, share: u64) -> BucketsOptions {
        BucketsOptions { name, count: count.max(1), memory_bytes_max: self.budget_bytes / share, writers: self.threads }
    }

    /// Number of parts with which each fits a thread's share of the working memory, and all threads are busy.
    fn parts(&self, bytes: u64, things: u64) -> usize {
        let busy = self.threads as u64 * PARTS_PER_THREAD;
        let least = if things < DIVIDED_MIN { 1 } else { busy };
        let fitting = bytes.div_ceil(self.work_bytes().max(1));
        let cached = (bytes / CACHED_BYTES).min(CACHED_BUCKETS_MAX);
        let parts = fitting.max(cached).clamp(least, BUCKETS_MAX.max(least));
        usize::try_from(parts.min(things)).expect("buckets are counted in thousands")
    }

    /// Bytes that one thread may work on at a time.
    fn work_bytes(&self) -> u64 {
        self.budget_bytes / 4 / self.threads as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(budget_bytes: u64, threads: usize) -> Budget {
        Budget { budget_bytes, threads }
    }

    #[test]
    fn the_shares_that_are_in_use_together_add_up_to_the_budget() {
        for budget_bytes in [0u64, 1, 100_000, 32 << 20, 1 << 30, 64 << 30] {
            for threads in [1usize, 2, 7, 64] {
                let budget = budget(budget_bytes, threads);
                let joins = budget.join_rows(100).memory_bytes_max;
                let holders = budget.holder_rows(1000).memory_bytes_max;
                // Buckets may exceed their share by half; see `BucketsOptions`.
                let work = budget.work_bytes() * threads as u64;
                let tags = budget_bytes / 4;
                assert!(tags * 3 / 2 + joins * 3 / 2 + work <= budget_bytes + threads as u64);
                assert!(holders <= joins);
            }
        }
    }

    #[test]
    fn small_inputs_are_not_divided() {
        let budget = budget(1 << 30, 4);
        for (bytes, things, parts) in [
            (0, 0, 0),
            (100, 1, 1),
            (100, DIVIDED_MIN - 1, 1),
            (100, DIVIDED_MIN, 16),
            (CACHED_BYTES * 50, 1 << 20, 50),
            // No part is beyond the memory of a thread.
            (1 << 40, 1 << 30, 1024),
        ] {
            assert_eq!(budget.parts(bytes, things), parts, "{bytes} {things}");
        }
    }

    #[test]
    fn there_are_never_more_parts_than_things() {
        for things in [0, 1, 5, 4095, 4096, 100_000] {
            for bytes in [0, 1 << 20, 1 << 40] {
                assert!(budget(1 << 20, 8).parts(bytes, things) as u64 <= things);
            }
        }
    }

    #[test]
    fn a_component_may_be_as_large_as_the_memory_of_all_threads() {
        let pack = budget(1 << 30, 4).pack(1 << 30);
        assert_eq!(pack.rows_max, (1 << 30) / 4 / JOIN_ROW_BYTES);
        assert!(pack.rows_wanted <= pack.rows_max);
        assert_eq!(pack.rows_wanted, (1 << 30) / CACHED_PARTITIONS_MAX);
        // Without a budget everything is beyond it.
        assert_eq!(budget(0, 4).pack(1000).rows_max, 0);
    }

    #[test]
    fn a_partition_may_hold_some_links_for_each_member_under_any_budget() {
        let links = |budget_bytes, members, threads| {
            budget(budget_bytes, 4).links_in_memory(members, NonZeroUsize::new(threads).unwrap())
        };
        assert_eq!(links(0, 1000, 4), 0, "except without one");
        assert_eq!(links(1, 1000, 4), 16_000);
        assert_eq!(links(1 << 30, 10, 4), (1 << 30) / 8 / 16);
        assert_eq!(links(1 << 30, 10, 1), (1 << 30) / 8 / 16 / 4);
        assert_eq!(links(1 << 30, 10, 99), links(1 << 30, 10, 4), "no more threads than there are");
    }

    #[test]
    fn two_slices_take_no_more_than_a_partition_may() {
        for budget_bytes in [1 << 20, 1 << 30] {
            let limits = budget(budget_bytes, 2).slice();
            assert!(2 * limits.rows_max <= budget(budget_bytes, 2).pack(1 << 40).rows_max);
            assert_eq!(limits.memory_bytes_max, budget_bytes / 8);
        }
        assert_eq!(budget(0, 2).slice().rows_max, SLICE_ROWS_MIN);
    }
}
