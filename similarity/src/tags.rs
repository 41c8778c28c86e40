//! Pass 1, shard by shard: groups postings by tag, counts overlap, and keeps the tags that two contents share.
//!
//! Each kept occurrence becomes a row in the bucket of its content's range. Tags are numbered by shard and place within
//! it, which is the order of the tags themselves: the numbers do not depend on which thread was faster.

use std::num::NonZeroUsize;

use cognate_fingerprint::Tag;

use crate::error::Error;
use crate::input::Input;
use crate::overlap::{Labels, Occurrence, OverlapLevel, Tally};
use crate::posting::{ContentIndex, Posting};
use crate::shards::Shards;
use crate::spill::{Buckets, Row, Writer};
use crate::watch::{Phase, Watch};
use crate::workers::{Tracker, share_out};

/// A shared tag of a content, before tags have their final numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagRow {
    pub(crate) content: u32,
    pub(crate) tag: ShardTag,
    /// In how many contents the tag occurs.
    pub(crate) holders: u32,
    pub(crate) length_bytes: u32,
    /// How often it occurs in this content.
    pub(crate) count: u32,
}

/// A tag's shard and its number among the shard's shared tags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardTag {
    shard: u32,
    number: u32,
}

impl Row for TagRow {
    const BYTES: usize = <[u32; 6]>::BYTES;

    fn encode(&self, out: &mut Vec<u8>) {
        let tag = self.tag;
        [self.content, tag.shard, tag.number, self.holders, self.length_bytes, self.count].encode(out);
    }

    fn decode(bytes: &[u8]) -> TagRow {
        let [content, shard, number, holders, length_bytes, count] = Row::decode(bytes);
        TagRow { content, tag: ShardTag { shard, number }, holders, length_bytes, count }
    }
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

/// What pass 1 found, beside the rows.
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
}

/// Reads all shards and fills `rows` with the occurrences of shared tags; where contents are marked as touched, only with
/// those of tags that one of them holds.
pub(crate) fn find_shared_tags(
    shards: &dyn Shards,
    input: &Input<'_>,
    rows: &Buckets<'_, TagRow>,
    touched: Option<&[bool]>,
    threads: NonZeroUsize,
    watch: &Watch<'_>,
) -> Result<SharedTags, Error> {
    let shard_count = shards.shard_count();
    let labels = Labels::new(input);
    let tracker = Tracker::new(watch, Phase::Tags, shard_count as usize);
    let contents = input.payload_bytes.len();
    let start = || Grouper {
        writer: rows.writer(),
        contents_per_bucket: contents.div_ceil(rows.count()).max(1),
        touched,
        tally: Tally::new(&labels),
        group: Vec::new(),
        occurrences: Vec::new(),
        postings: 0,
        tags: 0,
        shared: 0,
        rows: 0,
        shared_tags: Vec::new(),
    };
    let groupers = share_out(threads, shard_count as usize, start, |grouper, shard| {
        let shard = u32::try_from(shard).expect("the number of a shard has 32 bits");
        let shared_tags = read_shard(shards, shard, contents, grouper, &tracker)?;
        grouper.shared_tags.push((shard, shared_tags));
        tracker.step()
    })?;
    let overlap = Tally::total(&labels, groupers.iter().map(|grouper| &grouper.tally));
    collect(groupers, shard_count, overlap)
}

fn collect(groupers: Vec<Grouper<'_, '_>>, shard_count: u32, overlap: Vec<OverlapLevel>) -> Result<SharedTags, Error> {
    let mut shared_tags = vec![0; shard_count as usize];
    let (mut postings, mut tags, mut shared, mut rows) = (0, 0, 0, 0);
    for grouper in groupers {
        for &(shard, count) in &grouper.shared_tags {
            shared_tags[shard as usize] = count;
        }
        postings += grouper.postings;
        tags += grouper.tags;
        shared += grouper.shared;
        rows += grouper.rows;
        grouper.writer.finish()?;
    }
    Ok(SharedTags { numbers: TagNumbers::new(shared_tags.into_iter())?, overlap, postings, tags, shared, rows })
}

/// Groups the postings of a shard and tells how many of its tags are shared.
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
    touched: Option<&'a [bool]>,
    tally: Tally<'a>,
    group: Vec<Entry>,
    occurrences: Vec<Occurrence>,
    postings: u64,
    tags: u64,
    shared: u64,
    rows: u64,
    /// Shared tags of the shards that this thread read.
    shared_tags: Vec<(u32, u32)>,
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
        if tag.is_none() {
            return Ok(());
        }
        self.tags += 1;
        let mut group = std::mem::take(&mut self.group);
        if group.len() > 1 {
            group.sort_unstable();
        }
        for chunk in group.chunk_by(|a, b| a.chunk() == b.chunk()) {
            self.close_chunk(chunk, next)?;
        }
        group.clear();
        self.group = group;
        Ok(())
    }

    fn close_chunk(&mut self, chunk: &[Entry], next: &mut ShardTag) -> Result<(), Error> {
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
        let is_touched = |touched: &[bool]| self.occurrences.iter().any(|occurrence| touched[occurrence.content.at()]);
        if !self.touched.is_none_or(is_touched) {
            return Ok(());
        }
        self.write_rows(*next, length_bytes)?;
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
