//! Passes 3 and 4: finds the contents that could be linked, and packs them into partitions.
//!
//! Pass 3 unites, per tag, the contents that look the tag up with the larger contents that hold it; four bytes per
//! content are all it needs. Contents of different components cannot be linked, directly or through others, so pass 4
//! may pack components into partitions that fit the budget and are joined each by itself.
//!
//! A component that is larger than a partition should be gets a partition of its own, which all threads join together.
//! One that is beyond the budget is counted as oversized; see [`crate::joiner`].

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Error;
use crate::monitor::{Monitor, Phase};
use crate::prefix::{HolderRow, tags_per_bucket};
use crate::spill::Buckets;
use crate::workers::{Tracker, share_out};

/// Represents "no content" and "no partition".
const NONE: u32 = u32::MAX;

/// Union-find over contents that several threads may unite in at once.
///
/// The root of a set is its smallest member, so the outcome does not depend on the order of unions.
#[derive(Debug)]
pub(crate) struct Components {
    parents: Vec<AtomicU32>,
}

impl Components {
    pub(crate) fn new(contents: usize) -> Components {
        let contents = u32::try_from(contents).expect("contents have 31-bit numbers");
        Components { parents: (0..contents).map(AtomicU32::new).collect() }
    }

    /// The smallest member of a content's set.
    pub(crate) fn root(&self, mut content: u32) -> u32 {
        loop {
            let parent = self.parents[content as usize].load(Ordering::Relaxed);
            if parent == content {
                return content;
            }
            let grandparent = self.parents[parent as usize].load(Ordering::Relaxed);
            // Losing this race costs nothing: the path only stays longer.
            let _ = self.parents[content as usize].compare_exchange_weak(
                parent,
                grandparent,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            content = grandparent;
        }
    }

    /// Makes one set of the sets of two contents.
    pub(crate) fn unite(&self, a: u32, b: u32) {
        loop {
            let (a, b) = (self.root(a), self.root(b));
            if a == b {
                return;
            }
            // Only roots get a parent, and only a smaller one, so there is no cycle.
            let (root, child) = (a.min(b), a.max(b));
            let attached =
                self.parents[child as usize].compare_exchange(child, root, Ordering::Relaxed, Ordering::Relaxed);
            if attached.is_ok() {
                return;
            }
        }
    }
}

/// Pass 3: unites the contents that could be linked.
pub(crate) fn find_components(
    holders: &Buckets<'_, HolderRow>,
    tags: u32,
    payload_bytes: &[u64],
    threads: NonZeroUsize,
    monitor: &Monitor<'_>,
) -> Result<Components, Error> {
    let components = Components::new(payload_bytes.len());
    let tags_per_bucket = tags_per_bucket(tags, holders);
    let tracker = Tracker::new(monitor, Phase::Components, holders.count());
    share_out(threads, holders.count(), Vec::new, |smallest_of, bucket| {
        smallest_of.clear();
        smallest_of.resize(tags_per_bucket as usize, NONE);
        let size = |content: u32| (payload_bytes[content as usize], content);
        let first_tag = u32::try_from(bucket).expect("buckets are few") * tags_per_bucket;
        holders.scan(bucket, |rows| {
            for row in rows.iter().filter(|row| row.in_prefix()) {
                let smallest = &mut smallest_of[(row.tag - first_tag) as usize];
                if *smallest == NONE || size(row.content()) < size(*smallest) {
                    *smallest = row.content();
                }
            }
            Ok(())
        })?;
        // The smallest content that looks a tag up reaches all that any other reaches: the holders larger than itself.
        holders.scan(bucket, |rows| {
            tracker.check()?;
            for row in rows {
                let smallest = smallest_of[(row.tag - first_tag) as usize];
                if smallest != NONE && size(row.content()) > size(smallest) {
                    components.unite(smallest, row.content());
                }
            }
            Ok(())
        })?;
        holders.clear(bucket)?;
        tracker.step()
    })?;
    Ok(components)
}

/// Options of packing components.
pub(crate) struct PackOptions {
    /// Rows up to which components share a partition.
    pub(crate) rows_wanted: u64,
    /// Rows beyond which a partition exceeds the budget.
    pub(crate) rows_max: u64,
}

/// Components packed into partitions.
#[derive(Debug)]
pub(crate) struct Partitions {
    /// Start of the members of each partition, and the end.
    starts: Vec<usize>,
    /// Members by ascending payload, then number.
    members: Vec<u32>,
    /// Rows of each partition.
    rows: Vec<u64>,
    /// Of each content, its partition and its place among the partition's members.
    places: Vec<(u32, u32)>,
    rows_wanted: u64,
    rows_max: u64,
    pub(crate) oversized: u64,
}

impl Partitions {
    /// Packs components of two contents or more, in the order of their smallest members.
    pub(crate) fn pack(
        components: &Components,
        row_counts: &[u32],
        payload_bytes: &[u64],
        options: &PackOptions,
    ) -> Partitions {
        let sizes = component_sizes(components, row_counts);
        let mut places = vec![(NONE, NONE); row_counts.len()];
        let mut rows: Vec<u64> = Vec::new();
        let mut open = None;
        for (root, (&size, &own)) in (0u32..).zip(sizes.iter().zip(row_counts)) {
            // Each member of a component has rows, so one that is no larger than its root's rows has no other member.
            if size <= own {
                continue;
            }
            let size = u64::from(size);
            let fits = |&open: &usize| rows[open] + size <= options.rows_wanted;
            let partition = match open.filter(fits) {
                Some(partition) => partition,
                None => {
                    rows.push(0);
                    rows.len() - 1
                }
            };
            rows[partition] += size;
            if size <= options.rows_wanted {
                open = Some(partition);
            }
            places[root as usize].0 = u32::try_from(partition).expect("fewer than contents");
        }
        drop(sizes);
        rows.fill(0);
        for (content, &count) in (0u32..).zip(row_counts) {
            let partition = places[components.root(content) as usize].0;
            places[content as usize].0 = partition;
            if partition != NONE {
                rows[partition as usize] += u64::from(count);
            }
        }
        let oversized = rows.iter().filter(|&&rows| rows > options.rows_max).count() as u64;
        let (starts, members) = list_members(&mut places, rows.len(), payload_bytes);
        Partitions {
            starts,
            members,
            rows,
            places,
            rows_wanted: options.rows_wanted,
            rows_max: options.rows_max,
            oversized,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// True if a partition is one component that is larger than a partition should be.
    pub(crate) fn is_large(&self, partition: usize) -> bool {
        self.rows[partition] > self.rows_wanted
    }

    /// True if a partition is one component beyond the budget.
    pub(crate) fn is_oversized(&self, partition: usize) -> bool {
        self.rows[partition] > self.rows_max
    }

    /// The contents of a partition by ascending payload, then number.
    pub(crate) fn members(&self, partition: usize) -> &[u32] {
        &self.members[self.starts[partition]..self.starts[partition + 1]]
    }

    /// The partition of a content, or `None` if it has no possible partner.
    #[inline]
    pub(crate) fn of(&self, content: u32) -> Option<usize> {
        let partition = self.places[content as usize].0;
        (partition != NONE).then_some(partition as usize)
    }

    /// The place of a content among the members of its partition.
    #[inline]
    pub(crate) fn place(&self, content: u32) -> u32 {
        self.places[content as usize].1
    }
}

/// Rows of the component of each root, as far as 32 bits count them; nothing for the others.
fn component_sizes(components: &Components, row_counts: &[u32]) -> Vec<u32> {
    let mut sizes = vec![0u32; row_counts.len()];
    for (content, &rows) in (0u32..).zip(row_counts) {
        let size = &mut sizes[components.root(content) as usize];
        *size = size.saturating_add(rows);
    }
    sizes
}

/// Lists the members of each partition in their order, and notes the place of each.
fn list_members(places: &mut [(u32, u32)], partitions: usize, payload_bytes: &[u64]) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; partitions + 1];
    let of = |&(partition, _): &(u32, u32)| (partition != NONE).then_some(partition as usize);
    places.iter().filter_map(of).for_each(|partition| starts[partition + 1] += 1);
    for partition in 0..partitions {
        starts[partition + 1] += starts[partition];
    }
    let mut members = vec![0; starts[partitions]];
    let mut ends = starts.clone();
    for (content, place) in (0u32..).zip(&*places) {
        if let Some(partition) = of(place) {
            members[ends[partition]] = content;
            ends[partition] += 1;
        }
    }
    for ends in starts.windows(2) {
        let members = &mut members[ends[0]..ends[1]];
        members.sort_unstable_by_key(|&content| (payload_bytes[content as usize], content));
        for (place, &content) in (0u32..).zip(&*members) {
            places[content as usize].1 = place;
        }
    }
    (starts, members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::spill::{BucketsOptions, SpillFolder};

    #[test]
    fn components_do_not_depend_on_order_and_have_the_number_of_their_smallest() {
        let pairs = [(5, 9), (1, 2), (9, 2), (7, 8), (3, 3)];
        for turn in 0..pairs.len() {
            let components = Components::new(10);
            for at in 0..pairs.len() {
                let (a, b) = pairs[(at + turn) % pairs.len()];
                components.unite(b, a);
            }
            let roots: Vec<_> = (0..10).map(|content| components.root(content)).collect();
            assert_eq!(roots, [0, 1, 1, 3, 4, 1, 6, 7, 7, 1]);
        }
    }

    #[test]
    fn threads_that_unite_at_once_agree() {
        let components = Components::new(10_000);
        std::thread::scope(|scope| {
            for step in [1u32, 2, 3] {
                let components = &components;
                scope.spawn(move || (step..10_000).for_each(|n| components.unite(n, n - step)));
            }
        });
        assert!((0..10_000).all(|content| components.root(content) == 0));
    }

    #[test]
    fn small_components_share_a_partition_and_a_large_one_is_alone() {
        let components = Components::new(8);
        for (a, b) in [(0, 1), (2, 3), (4, 5), (6, 7)] {
            components.unite(a, b);
        }
        let options = PackOptions { rows_wanted: 4, rows_max: 50 };
        let rows = [1, 1, 50, 50, 1, 1, 1, 1];
        let partitions = Partitions::pack(&components, &rows, &[9, 1, 5, 5, 3, 2, 0, 0], &options);
        assert_eq!(partitions.count(), 3);
        assert_eq!(partitions.members(0), [1, 5, 4, 0]);
        assert_eq!(partitions.members(1), [2, 3]);
        assert_eq!(partitions.members(2), [6, 7]);
        assert_eq!(partitions.oversized, 1);
        assert_eq!((partitions.of(4), partitions.place(4)), (Some(0), 2));
    }

    /// Buckets of the holders of tags: (tag, content, is in the prefix).
    fn holders<'s>(folder: &'s SpillFolder, rows: &[(u32, u32, bool)], tags: u32) -> Buckets<'s, HolderRow> {
        let options = BucketsOptions { name: "holders", count: 3, memory_bytes_max: 1 << 20, writers: 1 };
        let buckets = Buckets::new(folder, &options);
        let per_bucket = tags_per_bucket(tags, &buckets);
        let mut writer = buckets.writer();
        for &(tag, content, in_prefix) in rows {
            writer.push((tag / per_bucket) as usize, HolderRow::new(tag, content, in_prefix)).unwrap();
        }
        writer.finish().unwrap();
        buckets
    }

    fn roots(rows: &[(u32, u32, bool)], payload_bytes: &[u64]) -> Vec<u32> {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        let monitor = Monitor { progress: &|_| (), cancelled: &std::sync::atomic::AtomicBool::new(false) };
        let holders = holders(&folder, rows, 9);
        let components = find_components(&holders, 9, payload_bytes, NonZeroUsize::MIN, &monitor).unwrap();
        (0u32..).take(payload_bytes.len()).map(|content| components.root(content)).collect()
    }

    #[test]
    fn contents_are_united_by_tags_that_the_smaller_one_looks_up() {
        let sizes = [10, 20, 30, 40];
        for (rows, expected) in [
            (vec![], [0, 1, 2, 3]),
            // The smaller content looks the tag up.
            (vec![(0, 0, true), (0, 1, false)], [0, 0, 2, 3]),
            // Only the larger one does: the smaller one could not be its partner by this tag.
            (vec![(0, 0, false), (0, 1, true)], [0, 1, 2, 3]),
            (vec![(5, 1, true), (5, 2, false), (5, 3, true)], [0, 1, 1, 1]),
            // The smallest that looks up has number 1, so content 0 stays alone.
            (vec![(5, 0, false), (5, 1, true), (5, 3, false)], [0, 1, 2, 1]),
            (vec![(1, 0, true), (1, 1, true), (8, 2, true), (8, 3, true)], [0, 0, 2, 2]),
            (vec![(1, 0, true), (1, 1, true), (8, 1, true), (8, 3, true)], [0, 0, 2, 0]),
        ] {
            assert_eq!(roots(&rows, &sizes), expected, "{rows:?}");
        }
    }

    #[test]
    fn of_equally_large_contents_the_first_is_the_smaller() {
        assert_eq!(roots(&[(0, 0, false), (0, 1, true)], &[7, 7]), [0, 1]);
        assert_eq!(roots(&[(0, 0, true), (0, 1, false)], &[7, 7]), [0, 0]);
    }

    proptest! {
        #[test]
        fn packing_keeps_components_together_and_leaves_single_contents_out(
            pairs in prop::collection::vec((0u32..20, 0u32..20), 0..25),
            rows in prop::collection::vec(1u32..9, 20),
            sizes in prop::collection::vec(0u64..5, 20),
            rows_wanted in 1u64..60,
        ) {
            let components = Components::new(20);
            pairs.iter().for_each(|&(a, b)| components.unite(a, b));
            let options = PackOptions { rows_wanted, rows_max: 2 * rows_wanted };
            let partitions = Partitions::pack(&components, &rows, &sizes, &options);
            for content in 0..20u32 {
                let root = components.root(content);
                let mates = (0..20).filter(|&other| components.root(other) == root).count();
                prop_assert_eq!(partitions.of(content).is_some(), mates > 1);
                prop_assert_eq!(partitions.of(content), partitions.of(root));
            }
            let mut oversized = 0;
            for partition in 0..partitions.count() {
                let members = partitions.members(partition);
                let key = |&content: &u32| (sizes[content as usize], content);
                prop_assert!(members.is_sorted_by_key(key));
                for (place, &content) in (0u32..).zip(members) {
                    prop_assert_eq!((partitions.of(content), partitions.place(content)), (Some(partition), place));
                }
                let sum: u64 = members.iter().map(|&content| u64::from(rows[content as usize])).sum();
                prop_assert_eq!(partitions.rows[partition], sum);
                prop_assert_eq!(partitions.is_large(partition), sum > rows_wanted);
                oversized += u64::from(partitions.is_oversized(partition));
                if sum > rows_wanted {
                    let root = components.root(members[0]);
                    prop_assert!(members.iter().all(|&content| components.root(content) == root), "it is alone");
                }
            }
            prop_assert_eq!(partitions.oversized, oversized);
        }
    }
}
