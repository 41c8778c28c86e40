//! Pass 2, range of contents by range of contents: the tags with which a content looks for partners.
//!
//! A content's tags are ordered from rare to common, in one order for all contents. As the smaller of a pair it must
//! share `t` bytes ([`Thresholds::least_shared_bytes`]). Its *prefix* is its tags up to the point where those after it
//! weigh less than `t` together: a partner that shares none of the prefix cannot reach `t`. So every pair over the
//! threshold shares a tag of its smaller content's prefix, and tags that every content has are hardly ever looked up.

use std::num::NonZeroUsize;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::Error;
use crate::monitor::{Monitor, Phase};
use crate::spill::{Buckets, Writer};
use crate::tags::{TagNumbers, TagRow};
use crate::threshold::Thresholds;
use crate::workers::{Tracker, share_out};

/// A content that holds a tag. The upper bytes of the tag are those of the word: in a bucket they are the same, and are not written to a spill file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct HolderRow {
    content_and_flag: u32,
    pub(crate) tag: u32,
}

const PREFIX_BIT: u32 = 1 << 31;

impl HolderRow {
    pub(crate) fn new(tag: u32, content: u32, in_prefix: bool) -> HolderRow {
        let flag = if in_prefix { PREFIX_BIT } else { 0 };
        HolderRow { tag, content_and_flag: content | flag }
    }

    #[inline]
    pub(crate) fn content(self) -> u32 {
        self.content_and_flag & !PREFIX_BIT
    }

    /// True if the tag is in the content's prefix.
    #[inline]
    pub(crate) fn in_prefix(self) -> bool {
        self.content_and_flag & PREFIX_BIT != 0
    }
}

/// The place of a tag in the one order from rare to common; it holds the tag's number too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rarity(u64);

impl Rarity {
    #[inline]
    pub(crate) fn new(holders: u32, tag: u32) -> Rarity {
        Rarity(u64::from(holders) << 32 | u64::from(tag))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the tag's number")]
    fn tag(self) -> u32 {
        self.0 as u32
    }
}

/// The rows that pass 2 reads and writes.
pub(crate) struct PrefixTables<'a, 's> {
    pub(crate) rows: &'a Buckets<'s, TagRow>,
    pub(crate) numbers: &'a TagNumbers,
    pub(crate) holders: &'a Buckets<'s, HolderRow>,
}

/// Fills `holders`, bucketed by ranges of tags, and returns the number of shared tags of each content.
pub(crate) fn find_prefixes(
    tables: &PrefixTables<'_, '_>,
    payload_bytes: &[u64],
    thresholds: &Thresholds,
    threads: NonZeroUsize,
    monitor: &Monitor<'_>,
) -> Result<Vec<u32>, Error> {
    let buckets = tables.rows.count();
    let per_bucket = payload_bytes.len().div_ceil(buckets).max(1);
    let tags_per_bucket = tags_per_bucket(tables.numbers.count, tables.holders);
    let tracker = Tracker::new(monitor, Phase::Prefixes, buckets);
    let start = || Prefixer { writer: tables.holders.writer(), tags_per_bucket, counts: Vec::new() };
    let prefixers = share_out(threads, buckets, start, |prefixer, bucket| {
        let first = (bucket * per_bucket).min(payload_bytes.len());
        let end = (first + per_bucket).min(payload_bytes.len());
        let lists = Lists::read(tables, bucket, first, end - first)?;
        prefixer.write(lists, first, &payload_bytes[first..end], thresholds)?;
        tracker.step()
    })?;
    let mut counts = vec![0; payload_bytes.len()];
    for prefixer in prefixers {
        for (first, part) in &prefixer.counts {
            counts[*first..first + part.len()].copy_from_slice(part);
        }
        prefixer.writer.finish()?;
    }
    Ok(counts)
}

/// Number of tags of each bucket of holders.
pub(crate) fn tags_per_bucket(tags: u32, holders: &Buckets<'_, HolderRow>) -> u32 {
    let buckets = u32::try_from(holders.count()).expect("buckets are counted in thousands");
    tags.div_ceil(buckets).max(1)
}

/// The shared tags of a range of contents, packed.
struct Lists {
    starts: Vec<usize>,
    tags: Vec<(Rarity, u64)>,
}

impl Lists {
    fn read(tables: &PrefixTables<'_, '_>, bucket: usize, first: usize, contents: usize) -> Result<Lists, Error> {
        let mut starts = vec![0; contents + 1];
        tables.rows.scan(bucket, |rows| {
            rows.iter().for_each(|row| starts[row.content as usize - first] += 1);
            Ok(())
        })?;
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut tags = vec![(Rarity(0), 0); total];
        tables.rows.scan(bucket, |rows| {
            for row in rows {
                let place = &mut starts[row.content as usize - first];
                let weight_bytes = u64::from(row.length_bytes) * u64::from(row.count);
                tags[*place] = (Rarity::new(row.holders, tables.numbers.of(row.tag)), weight_bytes);
                *place += 1;
            }
            Ok(())
        })?;
        // Filling moved every start to the next one's place.
        starts.rotate_right(1);
        starts[0] = 0;
        Ok(Lists { starts, tags })
    }
}

struct Prefixer<'a, 's> {
    writer: Writer<'a, 's, HolderRow>,
    tags_per_bucket: u32,
    /// First content of each range read, and the number of tags of its contents.
    counts: Vec<(usize, Vec<u32>)>,
}

impl Prefixer<'_, '_> {
    fn write(
        &mut self,
        mut lists: Lists,
        first: usize,
        payload_bytes: &[u64],
        thresholds: &Thresholds,
    ) -> Result<(), Error> {
        let mut counts = Vec::with_capacity(payload_bytes.len());
        for (at, &payload_bytes) in payload_bytes.iter().enumerate() {
            let list = &mut lists.tags[lists.starts[at]..lists.starts[at + 1]];
            let prefix = sort_prefix(list, thresholds.least_shared_bytes(payload_bytes));
            let content = u32::try_from(first + at).expect("contents have 31-bit numbers");
            for (place, (rarity, _)) in list.iter().enumerate() {
                let row = HolderRow::new(rarity.tag(), content, place < prefix);
                self.writer.push((row.tag / self.tags_per_bucket) as usize, row)?;
            }
            counts.push(u32::try_from(list.len()).expect("tags have 32-bit numbers"));
        }
        self.counts.push((first, counts));
        Ok(())
    }
}

/// Sorts the tags of a content from rare to common and gives the length of its prefix.
///
/// A content whose tags weigh less than it needs has no prefix and is left unsorted.
fn sort_prefix(tags: &mut [(Rarity, u64)], least_bytes: u64) -> usize {
    let total_bytes = tags.iter().fold(0u64, |sum, (_, weight)| sum.saturating_add(*weight));
    if total_bytes < least_bytes {
        return 0;
    }
    tags.sort_unstable();
    prefix_length(tags.iter().map(|(_, weight)| *weight), least_bytes)
}

/// Number of tags to look up, such that those after them weigh less than `least_bytes`; their weights come from rare to common.
pub fn prefix_length(
    weights_bytes: impl ExactSizeIterator<Item = u64> + DoubleEndedIterator,
    least_bytes: u64,
) -> usize {
    let mut length = weights_bytes.len();
    let mut rest_bytes = 0u64;
    for weight_bytes in weights_bytes.rev() {
        rest_bytes = rest_bytes.saturating_add(weight_bytes);
        if rest_bytes >= least_bytes {
            break;
        }
        length -= 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::spill::{BucketsOptions, SpillFolder};

    #[test]
    fn a_prefix_ends_where_the_rest_is_too_light() {
        for (weights, least, length) in [
            (vec![], 1, 0),
            (vec![5], 5, 1),
            (vec![5], 6, 0),
            (vec![1, 1, 1], 1, 3),
            (vec![1, 1, 1], 2, 2),
            (vec![1, 1, 1], 3, 1),
            (vec![10, 1, 1], 3, 1),
            (vec![1, 1, 10], 3, 3),
            (vec![1, 0, 2], 3, 1),
        ] {
            assert_eq!(prefix_length(weights.iter().copied(), least), length, "{weights:?} {least}");
        }
    }

    #[test]
    fn a_holder_comes_back_with_its_flag() {
        for (tag, content, in_prefix) in [(0, 0, false), (7, 0, true), (u32::MAX, PREFIX_BIT - 1, true), (1, 2, false)]
        {
            let row = HolderRow::new(tag, content, in_prefix);
            assert_eq!((row.tag, row.content(), row.in_prefix()), (tag, content, in_prefix));
        }
    }

    #[test]
    fn rare_tags_come_before_common_ones_and_equals_go_by_number() {
        let mut order = [(3, 1), (2, 9), (3, 0), (1, 5), (2, 2)].map(|(holders, tag)| Rarity::new(holders, tag));
        order.sort_unstable();
        assert_eq!(order.map(Rarity::tag), [5, 2, 9, 0, 1]);
    }

    #[test]
    fn a_content_that_weighs_too_little_has_no_prefix() {
        let tags = || vec![(Rarity::new(5, 0), 10), (Rarity::new(2, 1), 10), (Rarity::new(9, 2), 10)];
        for (least, length) in [(1, 3), (10, 3), (11, 2), (20, 2), (21, 1), (30, 1), (31, 0), (u64::MAX, 0)] {
            let mut sorted = tags();
            assert_eq!(sort_prefix(&mut sorted, least), length, "{least}");
            assert_eq!(sorted.is_sorted(), length > 0);
        }
    }

    proptest! {
        #[test]
        fn contents_that_share_enough_share_a_tag_of_the_prefix(
            weights in prop::collection::vec(0u64..20, 0..12),
            shared in prop::collection::vec(any::<bool>(), 12),
            least in 1u64..60,
        ) {
            let length = prefix_length(weights.iter().copied(), least);
            let of = |range: std::ops::Range<usize>| range.filter(|&at| shared[at]).map(|at| weights[at]).sum::<u64>();
            if of(0..weights.len()) >= least {
                prop_assert!((0..length).any(|at| shared[at]));
            }
            // No tag of the prefix is needless: the tags from its last on weigh enough together.
            if length > 0 {
                prop_assert!(weights[length - 1..].iter().sum::<u64>() >= least);
            }
            prop_assert!(weights[length..].iter().sum::<u64>() < least);
        }
    }

    #[test]
    fn tags_are_spread_evenly_over_buckets() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        for (tags, count, expected) in
            [(0, 4, 1), (1, 4, 1), (4, 4, 1), (5, 4, 2), (100, 3, 34), (u32::MAX, 1, u32::MAX)]
        {
            let options = BucketsOptions { name: "holders", count, memory_bytes_max: 1 << 20, writers: 1 };
            assert_eq!(tags_per_bucket(tags, &Buckets::new(&folder, &options)), expected, "{tags} {count}");
        }
    }
}
