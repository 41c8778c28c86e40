//! Where postings come from: shards, each a sorted stream of the postings whose tags fall in its range.
//!
//! Every occurrence of a tag lies in one shard, so shards can be counted apart and in parallel. [`RunShards`] reads run
//! files through a k-way merge that holds one block per run; [`MemoryShards`] serves tests and small inputs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use cognate_fingerprint::Tag;

use crate::error::Error;
use crate::posting::{ContentIndex, Posting};
use crate::run::{Run, RunReader, SHARDS};

/// Postings handed over at once: enough to forget the cost of the call, few enough to stay in the nearest cache.
const SLICE_POSTINGS: usize = 1024;

/// A source of postings that can be read shard by shard, by several threads at once.
pub trait Shards: Sync {
    /// How many shards there are.
    fn shard_count(&self) -> u32;

    /// At least the number of postings in all shards; the engine sizes its buckets by it.
    fn posting_count_max(&self) -> u64;

    /// Visits the postings of a shard in slices, by ascending tag; the order within a tag is free.
    ///
    /// All postings of a tag lie in one shard.
    ///
    /// # Errors
    ///
    /// What reading fails with, and whatever `visit` returns.
    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error>;
}

/// Postings in memory.
#[derive(Clone, Debug)]
pub struct MemoryShards {
    postings: Vec<Posting>,
    /// Where each shard begins, and the end.
    starts: Vec<usize>,
}

impl MemoryShards {
    /// Sorts the postings and cuts them into `shard_count` equal ranges of tags.
    pub fn new(mut postings: Vec<Posting>, shard_count: NonZeroU32) -> MemoryShards {
        postings.sort_unstable_by_key(|posting| posting.tag);
        let shard_count = shard_count.get();
        let mut starts = vec![0];
        for shard in 1..=shard_count {
            let end = postings.partition_point(|posting| shard_of(posting.tag, shard_count) < shard);
            starts.push(end);
        }
        MemoryShards { postings, starts }
    }
}

fn shard_of(tag: Tag, shard_count: u32) -> u32 {
    let leading = u32::from_be_bytes([tag.0[0], tag.0[1], tag.0[2], tag.0[3]]);
    let scaled = (u64::from(leading) * u64::from(shard_count)) >> 32;
    u32::try_from(scaled).expect("a 32-bit fraction of a 32-bit count has 32 bits")
}

impl Shards for MemoryShards {
    fn shard_count(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).expect("made from a 32-bit count")
    }

    fn posting_count_max(&self) -> u64 {
        self.postings.len() as u64
    }

    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error> {
        let shard = shard as usize;
        self.postings[self.starts[shard]..self.starts[shard + 1]].chunks(SLICE_POSTINGS).try_for_each(visit)
    }
}

/// The content of each ordinal of a run, four bytes apiece.
#[derive(Clone, Debug, Default)]
pub struct ContentMap {
    contents: Vec<u32>,
}

/// Stands for "not in this analysis"; no content has this number, see [`crate::CONTENTS_MAX`].
const ABSENT: u32 = u32::MAX;

impl ContentMap {
    /// The content of an ordinal, or `None` when it has no part in this analysis.
    ///
    /// # Errors
    ///
    /// Gives back the ordinal when the map does not reach it.
    pub fn get(&self, ordinal: u32) -> Result<Option<ContentIndex>, u32> {
        match self.contents.get(ordinal as usize) {
            None => Err(ordinal),
            Some(&ABSENT) => Ok(None),
            Some(&content) => Ok(Some(ContentIndex(content))),
        }
    }
}

impl FromIterator<Option<ContentIndex>> for ContentMap {
    fn from_iter<I: IntoIterator<Item = Option<ContentIndex>>>(contents: I) -> ContentMap {
        let contents = contents.into_iter();
        ContentMap { contents: contents.map(|c| c.map_or(ABSENT, |c| c.0)).collect() }
    }
}

/// A run and what its ordinals mean in this analysis.
#[derive(Debug)]
pub struct RunInput {
    /// The run.
    pub run: Run,
    /// Its ordinals' contents; absent are those that are dead or counted through another run.
    pub contents: ContentMap,
}

/// Postings in run files.
#[derive(Debug)]
pub struct RunShards {
    /// The runs, in any order.
    pub runs: Vec<RunInput>,
}

impl Shards for RunShards {
    fn shard_count(&self) -> u32 {
        SHARDS
    }

    fn posting_count_max(&self) -> u64 {
        self.runs.iter().map(|input| input.run.records()).sum()
    }

    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error> {
        let mut streams = Vec::with_capacity(self.runs.len());
        let mut next = BinaryHeap::with_capacity(self.runs.len());
        for input in &self.runs {
            let mut stream = Stream { reader: input.run.shard(shard)?, input };
            if let Some(tag) = stream.tag()? {
                next.push(Reverse((tag, streams.len())));
                streams.push(stream);
            }
        }
        let mut slice = Vec::with_capacity(SLICE_POSTINGS);
        while let Some(mut least) = next.peek_mut() {
            let Reverse((tag, stream)) = *least;
            match streams[stream].drain_tag(tag, &mut slice, visit)? {
                Some(tag) => *least = Reverse((tag, stream)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(least);
                }
            }
        }
        if slice.is_empty() { Ok(()) } else { visit(&slice) }
    }
}

/// A run's records of one shard on their way into the merge.
struct Stream<'a> {
    reader: RunReader,
    input: &'a RunInput,
}

impl Stream<'_> {
    fn tag(&mut self) -> Result<Option<Tag>, Error> {
        Ok(self.reader.peek()?.map(|record| record.tag))
    }

    /// Moves the records of `tag` into the slice, handing it over when full, and tells the tag after it.
    fn drain_tag(
        &mut self,
        tag: Tag,
        slice: &mut Vec<Posting>,
        visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>,
    ) -> Result<Option<Tag>, Error> {
        while let Some(record) = self.reader.peek()? {
            if record.tag != tag {
                return Ok(Some(record.tag));
            }
            self.reader.advance();
            let content = self.input.contents.get(record.ordinal);
            let content = content.map_err(|ordinal| Error::OrdinalOutOfRange {
                path: self.input.run.path().to_owned(),
                ordinal,
                ordinals: self.input.contents.contents.len(),
            })?;
            let Some(content) = content else { continue };
            slice.push(Posting { tag, length_bytes: record.length_bytes, template: record.template, content });
            if slice.len() == SLICE_POSTINGS {
                visit(slice)?;
                slice.clear();
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunRecord, WriteRun, write_run};

    fn tag(first: u8, last: u8) -> Tag {
        let mut bytes = [0; 16];
        bytes[0] = first;
        bytes[15] = last;
        Tag(bytes)
    }

    fn all(shards: &dyn Shards) -> Vec<Posting> {
        let mut postings = Vec::new();
        for shard in 0..shards.shard_count() {
            shards
                .visit(shard, &mut |slice| {
                    postings.extend_from_slice(slice);
                    Ok(())
                })
                .unwrap();
        }
        postings
    }

    #[test]
    fn runs_are_merged_by_tag_and_absent_contents_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Vec::new();
        let mut expected = Vec::new();
        for number in 0..3u32 {
            let mut records = Vec::new();
            for step in 0..5000u32 {
                let ordinal = step % 7;
                let [low, high, ..] = (step * (number + 1) / 3).to_le_bytes();
                let record = RunRecord { tag: tag(low, high), length_bytes: 100, template: step % 11 == 0, ordinal };
                records.push(record);
                if ordinal != 3 {
                    expected.push((record.tag, ContentIndex(ordinal * 3 + number)));
                }
            }
            let path = folder.path().join(format!("{number}.run"));
            write_run(&path, &mut records, &WriteRun { sync: false }).unwrap();
            let contents = (0..7).map(|o| (o != 3).then_some(ContentIndex(o * 3 + number)));
            runs.push(RunInput { run: Run::open(&path).unwrap(), contents: contents.collect() });
        }
        let postings = all(&RunShards { runs });
        assert!(postings.is_sorted_by_key(|posting| posting.tag));
        let mut found: Vec<_> = postings.iter().map(|p| (p.tag, p.content)).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_ordinal_without_a_content_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short.run");
        let mut records = vec![RunRecord { tag: tag(1, 1), length_bytes: 1, template: false, ordinal: 9 }];
        write_run(&path, &mut records, &WriteRun { sync: false }).unwrap();
        let shards =
            RunShards { runs: vec![RunInput { run: Run::open(&path).unwrap(), contents: ContentMap::default() }] };
        let error = shards.visit(1, &mut |_| Ok(())).unwrap_err();
        assert!(matches!(error, Error::OrdinalOutOfRange { ordinal: 9, .. }));
    }

    #[test]
    fn any_number_of_memory_shards_holds_the_same_postings_in_order() {
        let postings: Vec<_> = (0..=255u8)
            .rev()
            .map(|byte| Posting { tag: tag(byte, 0), length_bytes: 1, template: false, content: ContentIndex(0) })
            .collect();
        for shard_count in [1, 2, 3, 256, 1000] {
            let shards = MemoryShards::new(postings.clone(), NonZeroU32::new(shard_count).unwrap());
            let found = all(&shards);
            assert_eq!(found.len(), 256);
            assert!(found.is_sorted_by_key(|posting| posting.tag));
        }
    }
}
