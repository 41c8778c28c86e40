//! How the memory budget is shared out among the passes.
//!
//! | share | for |
//! |---|---|
//! | 1/4 (up to 3/8 while small buckets pile up) | the shared tags of contents, from pass 1 to 4 |
//! | 1/8 (up to 3/16) | the holders of tags, from pass 2 to 3 |
//! | 1/4 (up to 3/8) | the rows of partitions, from pass 4 to 5 |
//! | 1/4 | what all threads together work on at a time |
//!
//! Holders and partitions do not live at the same time, so the shares add up to the budget.

use std::num::NonZeroUsize;

use crate::component::PackOptions;
use crate::input::{Input, Options};
use crate::lists::JOIN_ROW_BYTES;
use crate::shards::Shards;
use crate::spill::BucketsOptions;

/// More buckets than this would make blocks too small to read fast.
const BUCKETS_MAX: u64 = 1024;
/// Inputs below this are not worth dividing among threads.
const DIVIDED_MIN: u64 = 4096;
/// What a part should take at most, so that what is put in order within it stays in the nearer caches.
const CACHED_BYTES: u64 = 4 << 20;
/// Parts beyond which caches are not thought of: rows on their way into very many parts would fill them too.
const CACHED_BUCKETS_MAX: u64 = 256;
/// Rows of a slice whatever the budget: every two slices are joined.
const SLICE_ROWS_MIN: u64 = if cfg!(test) { 1 } else { 4096 };
/// Memory that passes 2 and 4 take for a row of a bucket that they hold whole.
const HELD_ROW_BYTES: u64 = 24;
/// Links per member that a partition may hold whatever the budget.
const LINKS_PER_MEMBER: u64 = 16;
/// Memory for a link while clusters are built.
const LINK_BYTES: u64 = 16;
/// Parts per thread, so that a slow part does not leave the others waiting.
const PARTS_PER_THREAD: u64 = 4;

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

    /// Buckets for the rows of an oversized partition that is packed anew by clusters.
    pub(crate) fn cluster_rows(&self, partitions: usize) -> BucketsOptions {
        self.buckets("clusters", partitions, 8)
    }

    /// How to pack components that have so many rows together.
    pub(crate) fn pack(&self, rows: u64) -> PackOptions {
        // Large partitions are joined one at a time, so such a one may use what all threads have.
        let rows_max = self.budget_bytes / 4 / JOIN_ROW_BYTES;
        let even_rows = rows / (self.threads as u64 * PARTS_PER_THREAD);
        let cached_rows = (CACHED_BYTES / JOIN_ROW_BYTES).max(rows / CACHED_BUCKETS_MAX);
        PackOptions {
            rows_wanted: even_rows.max(DIVIDED_MIN).min(self.work_bytes() / JOIN_ROW_BYTES).min(cached_rows),
            rows_max,
        }
    }

    /// Rows of a slice, two of which are in memory together, and memory for the rows of all slices.
    pub(crate) fn slice(&self) -> (u64, u64) {
        ((self.budget_bytes / 8 / JOIN_ROW_BYTES).max(SLICE_ROWS_MIN), self.budget_bytes / 8)
    }

    /// Links that a partition of so many members may hold while as many threads join it.
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

    /// How many parts make each fit a thread's share of the working memory, and keep the threads busy.
    fn parts(&self, bytes: u64, things: u64) -> usize {
        let busy = self.threads as u64 * PARTS_PER_THREAD;
        let least = if things < DIVIDED_MIN { 1 } else { busy };
        let fitting = bytes.div_ceil(self.work_bytes().max(1));
        let cached = (bytes / CACHED_BYTES).min(CACHED_BUCKETS_MAX);
        let parts = fitting.max(cached).clamp(least, BUCKETS_MAX.max(least));
        usize::try_from(parts.min(things)).expect("buckets are counted in thousands")
    }

    /// What one thread may work on at a time.
    fn work_bytes(&self) -> u64 {
        self.budget_bytes / 4 / self.threads as u64
    }
}
