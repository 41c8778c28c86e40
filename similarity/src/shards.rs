//! Shards: sources of postings, each a sorted stream of the postings whose tags fall in its range.
//!
//! Every occurrence of a tag is in one shard, so shards can be counted apart and in parallel. [`RunShards`] reads run
//! files through a k-way merge that holds one block per run; [`MemoryShards`] serves tests and small inputs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::sync::Arc;

use cognate_fingerprint::Tag;

use crate::error::Error;
use crate::posting::{ContentIndex, Posting};
use crate::run::{Run, RunReader, SHARDS};

/// Postings handed over at once: enough to forget the cost of the call, few enough to stay in the nearest cache.
const SLICE_POSTINGS: usize = 1024;

/// A source of postings that can be read shard by shard, by several threads at once.
pub trait Shards: Sync {
    /// Number of shards.
    fn shard_count(&self) -> u32;

    /// At least the number of postings in all shards; the engine sizes its buckets by it.
    fn posting_count_max(&self) -> u64;

    /// Visits the postings of a shard in slices, by ascending tag; the order within a tag is free.
    ///
    /// All postings of a tag are in one shard.
    ///
    /// # Errors
    ///
    /// Errors of reading, and whatever `visit` returns.
    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error>;
}

/// Postings in memory.
#[derive(Clone, Debug)]
pub struct MemoryShards {
    postings: Vec<Posting>,
    /// Start of each shard, and the end.
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

/// The content of each ordinal of a run, four bytes apiece. The runs of an index share one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContentMap {
    contents: Arc<[u32]>,
}

/// Represents "not in this analysis"; no content has this number, see [`crate::CONTENTS_MAX`].
const ABSENT: u32 = u32::MAX;

impl ContentMap {
    /// The content of an ordinal, or `None` when this analysis does not include it.
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

    /// The content of each ordinal, in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<ContentIndex>> + '_ {
        self.contents.iter().map(|&content| (content != ABSENT).then_some(ContentIndex(content)))
    }
}

impl FromIterator<Option<ContentIndex>> for ContentMap {
    fn from_iter<I: IntoIterator<Item = Option<ContentIndex>>>(contents: I) -> ContentMap {
        let contents = contents.into_iter();
        ContentMap { contents: contents.map(|c| c.map_or(ABSENT, |c| c.0)).collect() }
    }
}

/// A run and the contents of its ordinals in this analysis.
#[derive(Debug)]
pub struct RunInput {
    /// The run.
    pub run: Run,
    /// Its ordinals' contents; absent are those that are dead or counted through another run.
    pub contents: ContentMap,
}

/// Callback that receives all postings of a tag at once.
pub type VisitTag<'a> = dyn FnMut(Tag, &[Posting]) -> Result<(), Error> + 'a;

/// Postings in run files.
#[derive(Debug)]
pub struct RunShards {
    /// The runs, in any order.
    pub runs: Vec<RunInput>,
    templates: Vec<Tag>,
}

impl RunShards {
    /// The postings as they are in the runs.
    pub fn new(runs: Vec<RunInput>) -> RunShards {
        RunShards { runs, templates: Vec::new() }
    }

    /// Declares tags boilerplate: from now on their postings are marked as such. These tags replace those declared
    /// earlier.
    pub fn set_templates(&mut self, mut tags: Vec<Tag>) {
        tags.sort_unstable();
        tags.dedup();
        self.templates = tags;
    }

    /// The tags that are declared boilerplate, ascending.
    pub fn templates(&self) -> &[Tag] {
        &self.templates
    }

    /// Visits all postings of each of these tags at once, by ascending tag, as they are in the runs. Of other postings,
    /// only those in the same blocks are read. Tags without postings are not visited.
    ///
    /// # Errors
    ///
    /// Errors of reading, and whatever `visit` returns.
    pub fn visit_tags(&self, tags: &[Tag], visit: &mut VisitTag<'_>) -> Result<(), Error> {
        let mut sorted = tags.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut postings = Vec::new();
        for tags in sorted.chunk_by(|a, b| a.0[0] == b.0[0]) {
            let mut streams = self.streams(u32::from(tags[0].0[0]))?;
            for &tag in tags {
                postings.clear();
                for stream in &mut streams {
                    stream.reader.seek(tag)?;
                    stream.drain_tag(tag, false, &mut |posting| {
                        postings.push(posting);
                        Ok(())
                    })?;
                }
                if !postings.is_empty() {
                    visit(tag, &postings)?;
                }
            }
        }
        Ok(())
    }

    /// Visits all postings of a shard, run after run; those of a run ascend by tag. This takes less time than a [visit](Shards::visit) of
    /// all by tag, and the postings of a content are mostly in one run.
    ///
    /// # Errors
    ///
    /// Errors of reading, and whatever `visit` returns.
    pub fn visit_runs(&self, shard: u32, visit: &mut dyn FnMut(Posting) -> Result<(), Error>) -> Result<(), Error> {
        for mut stream in self.streams(shard)? {
            let mut templates = self.templates_of(shard);
            let mut next = stream.tag()?;
            while let Some(tag) = next {
                while templates.first().is_some_and(|template| *template < tag) {
                    templates = &templates[1..];
                }
                let template = templates.first() == Some(&tag);
                next = stream.drain_tag(tag, template, &mut |posting| visit(posting))?;
            }
        }
        Ok(())
    }

    /// The tags of a shard that are declared boilerplate.
    fn templates_of(&self, shard: u32) -> &[Tag] {
        let place = |shard: u32| self.templates.partition_point(|tag| u32::from(tag.0[0]) < shard);
        &self.templates[place(shard)..place(shard + 1)]
    }

    fn streams(&self, shard: u32) -> Result<Vec<Stream<'_>>, Error> {
        self.runs.iter().map(|input| Ok(Stream { reader: input.run.shard(shard)?, input })).collect()
    }
}

impl Shards for RunShards {
    fn shard_count(&self) -> u32 {
        SHARDS
    }

    fn posting_count_max(&self) -> u64 {
        self.runs.iter().map(|input| input.run.records()).sum()
    }

    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error> {
        let mut streams = self.streams(shard)?;
        let mut next = BinaryHeap::with_capacity(streams.len());
        for (stream, place) in streams.iter_mut().zip(0..) {
            if let Some(tag) = stream.tag()? {
                next.push(Reverse((number_of(tag), place)));
            }
        }
        let mut templates = self.templates_of(shard);
        let mut slice = Vec::with_capacity(SLICE_POSTINGS);
        while let Some(mut least) = next.peek_mut() {
            let Reverse((number, stream)) = *least;
            let tag = Tag(number.to_be_bytes());
            // Both ascend, so tags that were passed need no second look.
            while templates.first().is_some_and(|template| *template < tag) {
                templates = &templates[1..];
            }
            let template = templates.first() == Some(&tag);
            let after = streams[stream].drain_tag(tag, template, &mut |posting| {
                slice.push(posting);
                if slice.len() == SLICE_POSTINGS {
                    visit(&slice)?;
                    slice.clear();
                }
                Ok(())
            });
            match after? {
                Some(tag) => *least = Reverse((number_of(tag), stream)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(least);
                }
            }
        }
        if slice.is_empty() { Ok(()) } else { visit(&slice) }
    }
}

/// The number with the order of its tag: numbers are compared at once, and bytes by a call.
fn number_of(tag: Tag) -> u128 {
    u128::from_be_bytes(tag.0)
}

/// The records of one run and shard, as the merge reads them.
#[derive(Debug)]
struct Stream<'a> {
    reader: RunReader,
    input: &'a RunInput,
}

impl Stream<'_> {
    fn tag(&mut self) -> Result<Option<Tag>, Error> {
        Ok(self.reader.peek()?.map(|record| record.tag))
    }

    /// Calls `each` with the postings of `tag`, all as boilerplate if `template` is set, and returns the tag after it.
    #[inline]
    fn drain_tag(
        &mut self,
        tag: Tag,
        template: bool,
        each: &mut impl FnMut(Posting) -> Result<(), Error>,
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
            let template = template || record.template;
            each(Posting { tag, length_bytes: record.length_bytes, template, content })?;
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
        let postings = all(&RunShards::new(runs));
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
        let shards = RunShards::new(vec![RunInput { run: Run::open(&path).unwrap(), contents: ContentMap::default() }]);
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

    #[test]
    fn declared_tags_are_boilerplate_and_all_else_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Vec::new();
        for number in 0..3u8 {
            // Several blocks a shard, and tags that stretch over the end of one.
            let step = |n: u32| (n / 700).to_le_bytes()[0].wrapping_mul(number + 1);
            let mut records: Vec<_> = (0..6000u32)
                .map(|n| RunRecord { tag: tag(9, step(n)), length_bytes: 10, template: n % 13 == 0, ordinal: n })
                .chain([RunRecord { tag: tag(200, 1), length_bytes: 10, template: false, ordinal: 0 }])
                .collect();
            let path = folder.path().join(format!("{number}.run"));
            write_run(&path, &mut records, &WriteRun { sync: false }).unwrap();
            let contents = (0..6000).map(|n| Some(ContentIndex(n * 3 + u32::from(number))));
            runs.push(RunInput { run: Run::open(&path).unwrap(), contents: contents.collect() });
        }
        let mut shards = RunShards::new(runs);
        let before = all(&shards);
        let declared = vec![tag(9, 4), tag(9, 0), tag(9, 5), tag(9, 4), tag(9, 255), tag(200, 1), tag(201, 1)];
        shards.set_templates(declared.clone());
        let expected: Vec<Posting> = before
            .iter()
            .map(|posting| Posting { template: posting.template || declared.contains(&posting.tag), ..*posting })
            .collect();
        assert_eq!(all(&shards), expected);
        let mut run_after_run = Vec::new();
        for shard in 0..SHARDS {
            let first = run_after_run.len();
            shards
                .visit_runs(shard, &mut |posting| {
                    run_after_run.push(posting);
                    Ok(())
                })
                .unwrap();
            // In this test the remainder of a content's number is that of its run.
            let run_and_tag = |posting: &Posting| (posting.content.0 % 3, posting.tag);
            assert!(run_after_run[first..].is_sorted_by_key(run_and_tag));
        }
        let in_order = |postings: &[Posting]| {
            let mut postings: Vec<_> =
                postings.iter().map(|p| (p.tag, p.content, p.template, p.length_bytes)).collect();
            postings.sort_unstable();
            postings
        };
        assert_eq!(in_order(&run_after_run), in_order(&expected));
        let mut visited = Vec::new();
        shards
            .visit_tags(&declared, &mut |tag, postings| {
                assert!(!postings.is_empty() && postings.iter().all(|posting| posting.tag == tag));
                visited.extend_from_slice(postings);
                Ok(())
            })
            .unwrap();
        let key = |posting: &Posting| (posting.tag, posting.content);
        visited.sort_unstable_by_key(key);
        let mut expected: Vec<_> = before.iter().filter(|posting| declared.contains(&posting.tag)).copied().collect();
        expected.sort_unstable_by_key(key);
        assert_eq!(visited, expected);
    }

    #[test]
    fn shards_are_equal_ranges_of_tags() {
        for (first, shard_count, shard) in [
            ([0, 0, 0, 0], 1, 0),
            ([255; 4], 1, 0),
            ([127, 255, 255, 255], 2, 0),
            ([128, 0, 0, 0], 2, 1),
            ([255; 4], 256, 255),
            ([255; 4], 1000, 999),
            ([1, 0, 0, 0], u32::MAX, 1 << 24),
        ] {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&first);
            let found = shard_of(Tag(bytes), shard_count);
            assert!(found.abs_diff(shard) <= 1 && found < shard_count, "{first:?} {shard_count}: {found}");
        }
    }

    #[test]
    fn a_map_gives_the_content_of_each_ordinal_it_reaches() {
        let map: ContentMap = [Some(ContentIndex(5)), None, Some(ContentIndex(0))].into_iter().collect();
        assert_eq!(map.get(0), Ok(Some(ContentIndex(5))));
        assert_eq!(map.get(1), Ok(None));
        assert_eq!(map.get(2), Ok(Some(ContentIndex(0))));
        assert_eq!((map.get(3), map.get(u32::MAX)), (Err(3), Err(u32::MAX)));
    }

    #[test]
    fn templates_are_in_order_and_occur_once() {
        let mut shards = RunShards::new(vec![]);
        assert!(shards.templates().is_empty());
        shards.set_templates(vec![tag(3, 0), tag(1, 0), tag(3, 0), tag(1, 9)]);
        assert_eq!(shards.templates(), [tag(1, 0), tag(1, 9), tag(3, 0)]);
        for (shard, expected) in [(0, 0), (1, 2), (2, 0), (3, 1), (255, 0)] {
            assert_eq!(shards.templates_of(shard).len(), expected, "{shard}");
        }
        shards.set_templates(vec![]);
        assert!(shards.templates().is_empty());
        assert_eq!((shards.shard_count(), shards.posting_count_max()), (SHARDS, 0));
    }

    #[test]
    fn an_error_of_a_visitor_ends_the_visit() {
        let posting = Posting { tag: tag(1, 1), length_bytes: 1, template: false, content: ContentIndex(0) };
        let shards = MemoryShards::new(vec![posting; 3000], NonZeroU32::MIN);
        let mut visits = 0;
        let result = shards.visit(0, &mut |_| {
            visits += 1;
            Err(Error::Cancelled)
        });
        assert!(matches!(result, Err(Error::Cancelled)));
        assert_eq!(visits, 1);
    }
}
