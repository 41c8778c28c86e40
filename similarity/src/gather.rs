//! Postings that come in any order, gathered into shards: in memory while they fit, in spill files beyond.
//!
//! A posting goes to the shard that the leading bits of its tag name. A shard is sorted when it is read, part by part, and is
//! forgotten then: gathered postings are read once. The number of shards is such that each thread can hold
//! one within the working memory of an analysis.

use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::Tag;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::Error;
use crate::posting::{ContentIndex, Posting};
use crate::shards::Shards;
use crate::spill::{Buckets, BucketsOptions, SpillFolder, Writer};

/// Postings handed over at once.
const SLICE_POSTINGS: usize = 1024;
/// A shard that stays in the last cache while it is read.
const SHARD_BYTES: u64 = 1 << 22;
/// With more shards than this, the rows on their way to each would no longer stay in a nearer cache. Then shards are larger, as long as memory allows.
const CACHED_SHARDS_MAX: u64 = 256;
/// Rows that are sorted at a time, so that they stay in a nearer cache.
const SORTED_ROWS: usize = 1 << 12;
/// Bytes in memory that make a shard worth a write.
const BLOCK_BYTES: u64 = 1 << 16;
/// Fewer shards than this would leave threads without work.
const SHARDS_MIN: u64 = 16;
/// More would make the blocks of spill files small.
const SHARDS_MAX: u64 = 4096;
/// Lengths are less than this, and a bit is left for the flag.
const LENGTH_BYTES_END: u32 = 1 << 31;

/// Options of gathering.
#[derive(Clone, Copy, Debug)]
pub struct GatherOptions {
    /// At least the number of postings that will come.
    pub postings_max: u64,
    /// The memory budget of the analysis that is to follow. Gathered postings take an eighth to three eighths of it; what an analysis
    /// takes while it reads them is small enough to add up to the budget.
    pub memory_budget_bytes: u64,
    /// Threads that write at the same time.
    pub threads: usize,
}

/// A posting as it is stored: the halves of the tag as numbers, so that sorting compares words. Bytes in which postings do not differ come at the
/// ends of words, where they are not written to a spill file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct PostingRow {
    high: u64,
    low: u64,
    content: u32,
    length_and_flag: u32,
}

impl PostingRow {
    fn new(posting: &Posting) -> PostingRow {
        let tag = u128::from_be_bytes(posting.tag.0);
        let (high, low) = halves(tag);
        let length_and_flag = posting.length_bytes << 1 | u32::from(posting.template);
        PostingRow { high, low, content: posting.content.0, length_and_flag }
    }

    fn tag(&self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    fn posting(&self) -> Posting {
        Posting {
            tag: Tag(self.tag().to_be_bytes()),
            length_bytes: self.length_and_flag >> 1,
            template: self.length_and_flag & 1 != 0,
            content: ContentIndex(self.content),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of 128 bits")]
fn halves(tag: u128) -> (u64, u64) {
    ((tag >> 64) as u64, tag as u64)
}

/// Postings gathered into shards.
pub struct GatheredShards<'s> {
    buckets: Buckets<'s, PostingRow>,
    /// A tag's leading bits, moved down by this, name its shard.
    shift: u32,
    postings: AtomicU64,
}

impl<'s> GatheredShards<'s> {
    /// Makes empty shards.
    pub fn new(folder: &'s SpillFolder, options: &GatherOptions) -> GatheredShards<'s> {
        // A shard is small where it may be; it must not be so small that blocks of a spill file are, and not larger than a thread's working
        // memory, where it is while it is read.
        let bytes = options.postings_max.saturating_mul(size_of::<PostingRow>() as u64);
        let working_bytes = options.memory_budget_bytes / 8 / options.threads.max(1) as u64;
        let count = (bytes / SHARD_BYTES).min(CACHED_SHARDS_MAX).min(options.memory_budget_bytes / 4 / BLOCK_BYTES);
        let count = count.max(bytes.div_ceil(working_bytes.max(1))).clamp(SHARDS_MIN, SHARDS_MAX);
        let count = count.next_power_of_two();
        let buckets = Buckets::new(
            folder,
            &BucketsOptions {
                name: "postings",
                count: usize::try_from(count).expect("shards are counted in thousands"),
                memory_bytes_max: memory_share(bytes, count, options.memory_budget_bytes),
                writers: options.threads,
            },
        );
        GatheredShards { buckets, shift: 64 - count.trailing_zeros(), postings: AtomicU64::new(0) }
    }

    /// A handle for one thread to gather with.
    pub fn writer(&self) -> GatherWriter<'_, 's> {
        GatherWriter { shards: self, writer: self.buckets.writer(), postings: 0 }
    }
}

/// The memory of all shards: three eighths of the budget if the postings fit there, else what makes blocks worth a write, from one eighth to
/// three.
///
/// If the postings do not fit, most of them go through files, and more memory would only make the blocks of the files larger. The allocator would
/// keep that memory, in pieces between those of the passes that follow. A shard is written when it holds half of its part.
fn memory_share(bytes: u64, shards: u64, memory_budget_bytes: u64) -> u64 {
    let share = memory_budget_bytes / 8;
    if bytes <= 3 * share { 3 * share } else { (2 * BLOCK_BYTES * shards).clamp(share, 3 * share) }
}

/// Writes postings of one thread to [`GatheredShards`].
pub struct GatherWriter<'b, 's> {
    shards: &'b GatheredShards<'s>,
    writer: Writer<'b, 's, PostingRow>,
    postings: u64,
}

impl GatherWriter<'_, '_> {
    /// Takes a posting to its shard.
    ///
    /// # Errors
    ///
    /// If its length does not fit 31 bits or the spill folder fails.
    #[inline]
    pub fn push(&mut self, posting: &Posting) -> Result<(), Error> {
        if posting.length_bytes >= LENGTH_BYTES_END {
            return Err(Error::LengthTooLarge { length_bytes: posting.length_bytes });
        }
        let row = PostingRow::new(posting);
        self.postings += 1;
        let shard = usize::try_from(row.high >> self.shards.shift).expect("shards are counted in thousands");
        self.writer.push(shard, row)
    }

    /// Writes the postings that are still buffered; must be called before the shards are read.
    ///
    /// # Errors
    ///
    /// If the spill folder fails.
    pub fn finish(self) -> Result<(), Error> {
        self.shards.postings.fetch_add(self.postings, Ordering::Relaxed);
        self.writer.finish()
    }
}

impl Shards for GatheredShards<'_> {
    fn shard_count(&self) -> u32 {
        u32::try_from(self.buckets.count()).expect("shards are counted in thousands")
    }

    fn posting_count_max(&self) -> u64 {
        self.postings.load(Ordering::Relaxed)
    }

    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error> {
        let (places, parts) = self.parts(shard as usize)?;
        let mut sorted = PartSorter::default();
        let mut slice = Vec::with_capacity(SLICE_POSTINGS);
        for part in parts {
            for rows in sorted.sort(&part, places.shift).chunks(SLICE_POSTINGS) {
                slice.clear();
                slice.extend(rows.iter().map(PostingRow::posting));
                visit(&slice)?;
            }
        }
        Ok(())
    }
}

impl GatheredShards<'_> {
    /// The rows of a shard in parts that stay in a nearer cache, by the bits of their tags that follow those of the shard. The shard is empty afterwards.
    fn parts(&self, shard: usize) -> Result<(Places, Vec<Vec<PostingRow>>), Error> {
        let rows = usize::try_from(self.buckets.rows(shard)).expect("a shard fits in memory");
        let places = Places::new(rows / SORTED_ROWS, self.shift);
        // Tags are digests, so that parts have about the same length; one that is longer grows.
        let expected = rows / places.count();
        let mut parts: Vec<_> = (0..places.count()).map(|_| Vec::with_capacity(expected + expected / 16)).collect();
        self.buckets.scan(shard, |slice| {
            slice.iter().for_each(|row| parts[places.of(row)].push(*row));
            Ok(())
        })?;
        self.buckets.clear(shard)?;
        Ok((places, parts))
    }
}

/// A part of a shard in order, with the memory for the next.
#[derive(Default)]
struct PartSorter {
    rows: Vec<PostingRow>,
    ends: Vec<u32>,
}

impl PartSorter {
    /// Sorts rows by their tags, of which those bits may differ that are among the `shift` lowest of the first word.
    ///
    /// A counting sort leaves a few rows in each place, which are then put in order.
    fn sort(&mut self, part: &[PostingRow], shift: u32) -> &[PostingRow] {
        let places = Places::new(part.len() / 4, shift);
        self.ends.clear();
        self.ends.resize(places.count() + 1, 0);
        part.iter().for_each(|row| self.ends[places.of(row) + 1] += 1);
        for place in 1..self.ends.len() {
            self.ends[place] += self.ends[place - 1];
        }
        self.rows.resize(part.len(), EMPTY);
        // The beginning of each place moves on to its end.
        for row in part {
            let end = &mut self.ends[places.of(row)];
            self.rows[*end as usize] = *row;
            *end += 1;
        }
        let mut first = 0;
        for &end in &self.ends[..places.count()] {
            self.rows[first..end as usize].sort_unstable_by_key(PostingRow::tag);
            first = end as usize;
        }
        &self.rows
    }
}

const EMPTY: PostingRow = PostingRow { high: 0, low: 0, length_and_flag: 0, content: 0 };

/// The places of a counting sort, by some bits of a tag.
#[derive(Clone, Copy)]
struct Places {
    /// The bits below those that name the place.
    shift: u32,
    mask: u64,
}

impl Places {
    /// About `count` places, by the highest of the `above` lowest bits of the first word of a tag.
    fn new(count: usize, above: u32) -> Places {
        let bits = count.max(1).ilog2().min(above);
        Places { shift: above - bits, mask: (1 << bits) - 1 }
    }

    fn count(self) -> usize {
        usize::try_from(self.mask).expect("a place in memory") + 1
    }

    #[inline]
    fn of(self, row: &PostingRow) -> usize {
        // All bits are above: there is one place.
        usize::try_from(row.high.checked_shr(self.shift).unwrap_or(0) & self.mask).expect("a place in memory")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn visited(shards: &GatheredShards<'_>) -> Vec<Posting> {
        let mut found = Vec::new();
        for shard in 0..shards.shard_count() {
            let keep = &mut |slice: &[Posting]| {
                found.extend_from_slice(slice);
                Ok(())
            };
            shards.visit(shard, keep).unwrap();
        }
        found
    }

    #[test]
    fn gathered_postings_come_back_sorted_under_any_budget() {
        for memory_budget_bytes in [0, 50_000, 1 << 26] {
            let parent = tempfile::tempdir().unwrap();
            let folder = SpillFolder::new(parent.path());
            let options = GatherOptions { postings_max: 20_000, memory_budget_bytes, threads: 2 };
            let shards = GatheredShards::new(&folder, &options);
            let mut expected = Vec::new();
            for half in 0..2u32 {
                let mut writer = shards.writer();
                for n in (half * 10_000..(half + 1) * 10_000).rev() {
                    // Some tags are held by very many, and half of them differ only at the end.
                    let number = if n % 3 == 0 { n % 7 } else { n };
                    let mut tag = blake3::hash(&(number / 2).to_le_bytes()).as_bytes()[..16].to_vec();
                    tag[15] = (number % 2) as u8;
                    let tag = Tag(tag.try_into().unwrap());
                    let posting = Posting { tag, length_bytes: n, template: n % 5 == 0, content: ContentIndex(n) };
                    writer.push(&posting).unwrap();
                    expected.push(posting);
                }
                writer.finish().unwrap();
            }
            let mut found = visited(&shards);
            assert!(found.is_sorted_by_key(|posting| posting.tag));
            expected.sort_unstable_by_key(|posting| (posting.tag, posting.content));
            found.sort_unstable_by_key(|posting| (posting.tag, posting.content));
            assert_eq!(found, expected);
            assert_eq!(folder.written_bytes() > 0, memory_budget_bytes < 1 << 26);
        }
    }

    #[test]
    fn a_length_beyond_31_bits_is_refused() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        let options = GatherOptions { postings_max: 1, memory_budget_bytes: 1 << 20, threads: 1 };
        let shards = GatheredShards::new(&folder, &options);
        let posting = Posting { tag: Tag([0; 16]), length_bytes: 1 << 31, template: false, content: ContentIndex(0) };
        assert!(matches!(shards.writer().push(&posting), Err(Error::LengthTooLarge { .. })));
    }

    #[test]
    fn a_posting_comes_back_from_its_row() {
        for (tag, length_bytes, template, content) in
            [([0; 16], 0, false, 0), ([255; 16], LENGTH_BYTES_END - 1, true, u32::MAX), ([7; 16], 1, false, 9)]
        {
            let posting = Posting { tag: Tag(tag), length_bytes, template, content: ContentIndex(content) };
            assert_eq!(PostingRow::new(&posting).posting(), posting);
        }
    }

    #[test]
    fn rows_are_in_the_order_of_their_tags() {
        let row = |tag: [u8; 16]| {
            PostingRow::new(&Posting { tag: Tag(tag), length_bytes: 1, template: false, content: ContentIndex(0) })
        };
        let tag = |at: usize, byte: u8| {
            let mut tag = [0; 16];
            tag[at] = byte;
            tag
        };
        let tags = [[0; 16], tag(15, 1), tag(15, 2), tag(8, 1), tag(7, 1), tag(0, 1), [255; 16]];
        assert!(tags.is_sorted());
        assert!(tags.map(|tag| row(tag).tag()).is_sorted());
    }

    #[test]
    fn there_are_as_many_shards_as_fit_the_working_memory() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        for (postings_max, memory_budget_bytes, threads, expected) in [
            (0, 1 << 30, 1, 16),
            (1_000_000, 1 << 30, 1, 16),
            // 2.4 GB in shards of 4 MiB would be 573: more than stay in a cache while they are written.
            (100_000_000, 1 << 40, 1, 256),
            // Of a billion, each thread's shard must fit the memory that there is.
            (1_000_000_000, 1 << 30, 2, 512),
            // Many threads hold one shard each, so shards must be smaller.
            (100_000_000, 1 << 30, 64, 2048),
            (u64::MAX, 0, 1, 4096),
        ] {
            let options = GatherOptions { postings_max, memory_budget_bytes, threads };
            let shards = GatheredShards::new(&folder, &options);
            assert_eq!(shards.shard_count(), expected, "{options:?}");
            assert_eq!(shards.posting_count_max(), 0);
        }
    }

    #[test]
    fn postings_that_do_not_fit_take_as_much_memory_as_makes_blocks_worth_a_write() {
        for (bytes, shards, expected_mib) in
            [(384 << 20, 256, 384), (385 << 20, 256, 128), (24 << 30, 2048, 256), (24 << 30, 4096, 384)]
        {
            assert_eq!(memory_share(bytes, shards, 1 << 30), expected_mib << 20, "{bytes} {shards}");
        }
        assert_eq!(memory_share(1, 16, 0), 0);
    }

    proptest! {
        #[test]
        fn tags_that_a_site_chose_to_fall_together_are_sorted_all_the_same(
            tags in prop::collection::vec((0..16_usize, any::<u8>()), 0..300),
            like in prop_oneof![Just(0), Just(0x80), Just(0xff)],
            shards in prop_oneof![Just(0_u64), Just(1 << 24), Just(u64::MAX)],
        ) {
            // All alike but for one byte: no digests look like this.
            let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
            let options = GatherOptions { postings_max: shards, memory_budget_bytes: 1 << 30, threads: 1 };
            let shards = GatheredShards::new(&folder, &options);
            let mut writer = shards.writer();
            let mut expected = Vec::new();
            for (content, (at, byte)) in (0..).zip(tags) {
                let mut tag = [like; 16];
                tag[at] = byte;
                let posting = Posting { tag: Tag(tag), length_bytes: 1, template: false, content: ContentIndex(content) };
                writer.push(&posting).unwrap();
                expected.push(posting);
            }
            writer.finish().unwrap();
            let found = visited(&shards);
            prop_assert!(found.is_sorted_by_key(|posting| posting.tag));
            let order = |postings: Vec<Posting>| {
                let mut keys: Vec<_> = postings.iter().map(|posting| (posting.tag, posting.content)).collect();
                keys.sort_unstable();
                keys
            };
            prop_assert_eq!(order(found), order(expected));
        }
    }

    #[test]
    fn only_postings_of_finished_writers_are_counted_and_a_shard_is_read_once() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        let options = GatherOptions { postings_max: 10, memory_budget_bytes: 1 << 20, threads: 2 };
        let shards = GatheredShards::new(&folder, &options);
        let posting = Posting { tag: Tag([9; 16]), length_bytes: 1, template: true, content: ContentIndex(0) };
        let (mut finished, mut open) = (shards.writer(), shards.writer());
        for writer in [&mut finished, &mut open] {
            writer.push(&posting).unwrap();
        }
        finished.finish().unwrap();
        assert_eq!(shards.posting_count_max(), 1);
        assert_eq!(visited(&shards), [posting]);
        assert_eq!(visited(&shards), []);
        drop(open);
        assert_eq!(visited(&shards), [], "what is dropped is not written");
    }
}
