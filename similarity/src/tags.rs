//! Pass 1, shard by shard: groups postings by tag, counts overlap, and keeps the tags that two contents share.
//!
//! Each occurrence of a shared tag becomes a row in the bucket of its content's range. Tags are numbered by shard and place within
//! it, which is the order of the tags themselves: the numbers do not depend on the speed of threads.

use std::num::NonZeroUsize;

use cognate_fingerprint::Tag;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::Error;
use crate::input::Input;
use crate::monitor::{Monitor, Phase};
use crate::overlap::{Labels, Occurrence, OverlapLevel, Tally};
use crate::posting::{ContentIndex, Posting};
use crate::shards::Shards;
use crate::spill::{Buckets, Writer};
use crate::workers::{Tracker, share_out};

/// Holders from which a tag is a crowd: what all other tags cost grows with the postings.
pub const CROWD_HOLDERS_MIN: u32 = if cfg!(test) { 4 } else { 1024 };

/// A shared tag of a content, before tags have their final numbers.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct TagRow {
    pub(crate) content: u32,
    pub(crate) tag: ShardTag,
    /// Number of contents in which the tag occurs.
    pub(crate) holders: u32,
    pub(crate) length_bytes: u32,
    /// Number of occurrences in this content.
    pub(crate) count: u32,
}

/// A tag's shard and its number among the shard's shared tags.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct ShardTag {
    shard: u32,
    number: u32,
}

/// The dense numbers of shared tags.
#[derive(Debug)]
pub(crate) struct TagNumbers {
    /// Number of the first tag of each shard.
    starts: Vec<u32>,
    pub(crate) count: u32,
}

impl TagNumbers {
    fn new(shared_tags: impl Iterator<Item = u32>) -> Result<TagNumbers, Error> {
        let mut starts = Vec::new();
        let mut count = 0u64;
        for shard_tags in shared_tags {
            // A start beyond the limit is never used: the count is refused below.
            starts.push(u32::try_from(count).unwrap_or(u32::MAX));
            count += u64::from(shard_tags);
        }
        match u32::try_from(count) {
            Ok(count) => Ok(TagNumbers { starts, count }),
            Err(_) => Err(Error::TooMany { what: "shared tags", count, count_max: u64::from(u32::MAX) }),
        }
    }

    #[inline]
    pub(crate) fn of(&self, tag: ShardTag) -> u32 {
        self.starts[tag.shard as usize] + tag.number
    }
}

/// The findings of pass 1 next to the rows.
#[derive(Debug)]
pub(crate) struct SharedTags {
    pub(crate) numbers: TagNumbers,
    pub(crate) overlap: Vec<OverlapLevel>,
    pub(crate) postings: u64,
    /// Distinct tags, shared or not.
    pub(crate) tags: u64,
    /// Shared tags, also those without rows.
    pub(crate) shared: u64,
    /// Rows written.
    pub(crate) rows: u64,
    /// Tags with very many holders.
    pub(crate) crowds: Vec<(Tag, ShardTag)>,
}

/// Reads all shards and fills `rows` with the occurrences of shared tags; where contents are marked as changed, only
/// with those of tags that one of them holds.
pub(crate) fn find_shared_tags(
    shards: &dyn Shards,
    input: &Input<'_>,
    rows: &Buckets<'_, TagRow>,
    changed: Option<&[bool]>,
    threads: NonZeroUsize,
    monitor: &Monitor<'_>,
) -> Result<SharedTags, Error> {
    let shard_count = shards.shard_count();
    let labels = Labels::new(input);
    let tracker = Tracker::new(monitor, Phase::Tags, shard_count as usize);
    let contents = input.payload_bytes.len();
    let start = || Grouper {
        writer: rows.writer(),
        contents_per_bucket: contents.div_ceil(rows.count()).max(1),
        changed,
        tally: Tally::new(&labels),
        group: Vec::new(),
        occurrences: Vec::new(),
        postings: 0,
        tags: 0,
        shared: 0,
        rows: 0,
        shared_tags: Vec::new(),
        crowds: Vec::new(),
    };
    let mut groupers = share_out(threads, shard_count as usize, start, |grouper, shard| {
        let shard = u32::try_from(shard).expect("the number of a shard has 32 bits");
        let shared_tags = read_shard(shards, shard, contents, grouper, &tracker)?;
        grouper.shared_tags.push((shard, shared_tags));
        tracker.step()
    })?;
    let overlap = Tally::total(&labels, groupers.iter_mut().map(|grouper| &mut grouper.tally).collect());
    collect(groupers, shard_count, overlap)
}

fn collect(groupers: Vec<Grouper<'_, '_>>, shard_count: u32, overlap: Vec<OverlapLevel>) -> Result<SharedTags, Error> {
    let mut shared_tags = vec![0; shard_count as usize];
    let (mut postings, mut tags, mut shared, mut rows, mut crowds) = (0, 0, 0, 0, Vec::new());
    for grouper in groupers {
        for &(shard, count) in &grouper.shared_tags {
            shared_tags[shard as usize] = count;
        }
        postings += grouper.postings;
        tags += grouper.tags;
        shared += grouper.shared;
        rows += grouper.rows;
        crowds.extend(grouper.crowds);
        grouper.writer.finish()?;
    }
    let numbers = TagNumbers::new(shared_tags.into_iter())?;
    Ok(SharedTags { numbers, overlap, postings, tags, shared, rows, crowds })
}

/// Groups the postings of a shard and returns the number of its shared tags.
fn read_shard(
    shards: &dyn Shards,
    shard: u32,
    contents: usize,
    grouper: &mut Grouper<'_, '_>,
    tracker: &Tracker<'_>,
) -> Result<u32, Error> {
    let mut next = ShardTag { shard, number: 0 };
    let mut tag = None;
    shards.visit(shard, &mut |postings| {
        tracker.check()?;
        for posting in postings {
            if posting.content.at() >= contents {
                return Err(Error::ContentOutOfRange { content: posting.content.0, contents });
            }
            if tag != Some(posting.tag) {
                if tag > Some(posting.tag) {
                    return Err(Error::Unordered { shard });
                }
                grouper.close_tag(tag, &mut next)?;
                tag = Some(posting.tag);
            }
            grouper.add(posting);
        }
        Ok(())
    })?;
    grouper.close_tag(tag, &mut next)?;
    Ok(next.number)
}

/// An occurrence of the tag at hand; tags with two lengths, or both template and not, count as several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    template: bool,
    length_bytes: u32,
    content: ContentIndex,
    count: u32,
}

impl Entry {
    fn chunk(&self) -> (bool, u32) {
        (self.template, self.length_bytes)
    }
}

/// One thread's work: the tag at hand and the counts so far.
struct Grouper<'a, 's> {
    writer: Writer<'a, 's, TagRow>,
    contents_per_bucket: usize,
    changed: Option<&'a [bool]>,
    tally: Tally<'a>,
    group: Vec<Entry>,
    occurrences: Vec<Occurrence>,
    postings: u64,
    tags: u64,
    shared: u64,
    rows: u64,
    /// Shared tags of the shards that this thread read.
    shared_tags: Vec<(u32, u32)>,
    crowds: Vec<(Tag, ShardTag)>,
}

impl Grouper<'_, '_> {
    #[inline]
    fn add(&mut self, posting: &Posting) {
        self.postings += 1;
        let entry = Entry {
            template: posting.template,
            length_bytes: posting.length_bytes,
            content: posting.content,
            count: 1,
        };
        // Sources give the occurrences of one content together, so a chunk repeated a million times stays one entry.
        match self.group.last_mut() {
            Some(last) if last.content == entry.content && last.chunk() == entry.chunk() => {
                last.count = last.count.saturating_add(1);
            }
            _ => self.group.push(entry),
        }
    }

    fn close_tag(&mut self, tag: Option<Tag>, next: &mut ShardTag) -> Result<(), Error> {
        let Some(tag) = tag else { return Ok(()) };
        self.tags += 1;
        let mut group = std::mem::take(&mut self.group);
        if group.len() > 1 {
            group.sort_unstable();
        }
        for chunk in group.chunk_by(|a, b| a.chunk() == b.chunk()) {
            self.close_chunk(tag, chunk, next)?;
        }
        group.clear();
        self.group = group;
        Ok(())
    }

    fn close_chunk(&mut self, tag: Tag, chunk: &[Entry], next: &mut ShardTag) -> Result<(), Error> {
        let (template, length_bytes) = chunk[0].chunk();
        self.occurrences.clear();
        for entry in chunk {
            match self.occurrences.last_mut() {
                Some(last) if last.content == entry.content => {
                    last.count = last.count.saturating_add(entry.count);
                }
                _ => self.occurrences.push(Occurrence { content: entry.content, count: entry.count }),
            }
        }
        self.tally.count(length_bytes, template, &self.occurrences);
        if template || self.occurrences.len() < 2 {
            return Ok(());
        }
        self.shared += 1;
        let is_changed = |changed: &[bool]| self.occurrences.iter().any(|occurrence| changed[occurrence.content.at()]);
        if !self.changed.is_none_or(is_changed) {
            return Ok(());
        }
        self.write_rows(*next, length_bytes)?;
        if self.occurrences.len() >= CROWD_HOLDERS_MIN as usize {
            self.crowds.push((tag, *next));
        }
        next.number += 1;
        Ok(())
    }

    fn write_rows(&mut self, tag: ShardTag, length_bytes: u32) -> Result<(), Error> {
        let holders = u32::try_from(self.occurrences.len()).expect("contents have 31-bit numbers");
        self.rows += u64::from(holders);
        for occurrence in &self.occurrences {
            let row = TagRow { content: occurrence.content.0, tag, holders, length_bytes, count: occurrence.count };
            self.writer.push(occurrence.content.at() / self.contents_per_bucket, row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;
    use std::sync::atomic::AtomicBool;

    use crate::input::Holders;
    use crate::shards::MemoryShards;
    use crate::spill::{BucketsOptions, SpillFolder};

    #[test]
    fn numbers_of_tags_are_dense_in_the_order_of_shards() {
        let numbers = TagNumbers::new([3, 0, 2].into_iter()).unwrap();
        let of = |shard, number| numbers.of(ShardTag { shard, number });
        assert_eq!([of(0, 0), of(0, 2), of(2, 0), of(2, 1)], [0, 2, 3, 4]);
        assert_eq!(numbers.count, 5);
        assert_eq!(TagNumbers::new([].into_iter()).unwrap().count, 0);
        assert_eq!(TagNumbers::new([u32::MAX - 1, 1].into_iter()).unwrap().count, u32::MAX);
        let error = TagNumbers::new([u32::MAX, 1].into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "too many shared tags: 4294967296, at most 4294967295");
    }

    fn posting(tag: u8, content: u32, length_bytes: u32, template: bool) -> Posting {
        Posting { tag: Tag([tag; 16]), length_bytes, template, content: ContentIndex(content) }
    }

    /// The rows of pass 1 as (content, holders, length, count), sorted, and the counts.
    fn rows_of(postings: Vec<Posting>, changed: Option<&[bool]>) -> (Vec<[u32; 4]>, SharedTags) {
        let (folder, holders) = (SpillFolder::new(std::path::Path::new("/nonexistent")), Holders::new());
        let options = BucketsOptions { name: "tags", count: 2, memory_bytes_max: 1 << 20, writers: 1 };
        let rows = Buckets::new(&folder, &options);
        let input = Input { payload_bytes: &[0; 4], holders: &holders, levels: &[], across: None };
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let shards = MemoryShards::new(postings, NonZeroU32::new(3).unwrap());
        let found = find_shared_tags(&shards, &input, &rows, changed, NonZeroUsize::MIN, &monitor).unwrap();
        let mut listed = Vec::new();
        for bucket in 0..2 {
            rows.scan(bucket, |rows| {
                listed.extend(rows.iter().map(|row| [row.content, row.holders, row.length_bytes, row.count]));
                Ok(())
            })
            .unwrap();
        }
        listed.sort_unstable();
        assert_eq!(listed.len() as u64, found.rows);
        (listed, found)
    }

    #[test]
    fn only_tags_of_two_contents_or_more_leave_rows() {
        let alone = vec![posting(1, 0, 10, false), posting(1, 0, 10, false)];
        assert_eq!(rows_of(alone, None).0, [[0; 4]; 0]);
        let shared = vec![posting(1, 0, 10, false), posting(1, 3, 10, false), posting(1, 0, 10, false)];
        let (rows, found) = rows_of(shared, None);
        assert_eq!(rows, [[0, 2, 10, 2], [3, 2, 10, 1]]);
        assert_eq!((found.postings, found.tags, found.shared), (3, 1, 1));
    }

    #[test]
    fn a_tag_with_two_lengths_counts_as_two_chunks() {
        let postings = vec![posting(200, 0, 10, false), posting(200, 1, 11, false), posting(200, 2, 11, false)];
        let (rows, found) = rows_of(postings, None);
        assert_eq!(rows, [[1, 2, 11, 1], [2, 2, 11, 1]]);
        assert_eq!((found.tags, found.shared), (1, 1));
    }

    #[test]
    fn templates_leave_no_rows() {
        let postings = vec![posting(9, 0, 10, true), posting(9, 1, 10, true), posting(9, 2, 10, false)];
        let (rows, found) = rows_of(postings, None);
        assert_eq!((rows, found.shared), (vec![], 0));
    }

    #[test]
    fn of_changed_contents_only_the_tags_leave_rows_and_all_are_counted() {
        let postings: Vec<Posting> =
            [(1, 0), (1, 1), (2, 2), (2, 3)].map(|(tag, content)| posting(tag, content, 10, false)).into();
        let (rows, found) = rows_of(postings, Some(&[false, true, false, false]));
        assert_eq!(rows, [[0, 2, 10, 1], [1, 2, 10, 1]]);
        assert_eq!((found.shared, found.numbers.count), (2, 1));
    }
}
