//! Tags that are spread like boilerplate: over many contents that are otherwise unlike each other, and of most of which
//! they are the lesser part.

use cognate_fingerprint::Tag;
use cognate_similarity::{Posting, RunShards};

use crate::by_tag::by_tag;
use crate::error::Error;
use crate::kinds::{NOWHERE, NumberSet};
use cognate_storage::template::Chunk;

/// Number of passes over the holders of tags, since each tag that drops out makes others weigh less.
const PASSES_MAX: usize = 4;

/// Facts about contents that decide about tags.
pub(crate) struct Contents<'a> {
    /// The kind of each.
    pub(crate) kinds: &'a [u32],
    pub(crate) payload_bytes: &'a [u64],
    /// The cluster of each, or [`NOWHERE`].
    pub(crate) cluster_of: &'a [u32],
    /// Number of contents unlike each other that must have a tag.
    pub(crate) kinds_min: usize,
}

/// The tags that are spread, and how many bytes of each content they are.
pub(crate) struct SpreadTags {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) held_bytes: Vec<u64>,
}

impl SpreadTags {
    /// Reads all postings once, and those of the tags that come into question again.
    pub(crate) fn find(shards: &RunShards, contents: &Contents<'_>) -> Result<SpreadTags, Error> {
        let count = contents.payload_bytes.len();
        let (mut kinds, mut members) = (NumberSet::new(count), NumberSet::new(count));
        let mut spread = SpreadTags { chunks: Vec::new(), held_bytes: vec![0; count] };
        by_tag(shards, |postings| {
            if !postings[0].template
                && postings.len() >= contents.kinds_min
                && contents.unlike(postings, &mut kinds, &mut members, |_| true) >= contents.kinds_min
            {
                spread.take(postings);
            }
        })?;
        for _ in 0..PASSES_MAX {
            let before = spread.chunks.len();
            let tags: Vec<Tag> = spread.chunks.iter().map(|chunk| chunk.0).collect();
            let held_bytes = std::mem::replace(&mut spread.held_bytes, vec![0; count]);
            spread.chunks.clear();
            let is_light = |content: u32| {
                held_bytes[content as usize].saturating_mul(2) < contents.payload_bytes[content as usize]
            };
            shards.visit_tags(&tags, &mut |_, postings| {
                let light = contents.unlike(postings, &mut kinds, &mut members, is_light);
                // They are the lesser part of most contents: the greater part of a document is its subject.
                let mut of = |wanted: bool| members.count(postings, |content| is_light(content) == wanted);
                if light >= contents.kinds_min && of(true) >= of(false) && contents.meet(postings) {
                    spread.take(postings);
                }
                Ok(())
            })?;
            if spread.chunks.len() == before {
                break;
            }
        }
        Ok(spread)
    }

    fn take(&mut self, postings: &[Posting]) {
        self.chunks.push((postings[0].tag, postings[0].length_bytes));
        for posting in postings {
            self.held_bytes[posting.content.0 as usize] += u64::from(posting.length_bytes);
        }
    }
}

impl NumberSet {
    /// Number of contents of a kind that have a tag.
    fn count(&mut self, postings: &[Posting], is_wanted: impl Fn(u32) -> bool) -> usize {
        self.begin();
        postings
            .iter()
            .map(|posting| posting.content.0)
            .filter(|content| is_wanted(*content) && self.show(*content))
            .count()
    }
}

impl Contents<'_> {
    /// Number of contents unlike each other that have a tag.
    fn unlike(
        &self,
        postings: &[Posting],
        kinds: &mut NumberSet,
        members: &mut NumberSet,
        is_wanted: impl Fn(u32) -> bool,
    ) -> usize {
        kinds.begin();
        members.begin();
        let contents = postings.iter().map(|posting| posting.content.0).filter(|content| is_wanted(*content));
        contents.filter(|content| members.show(*content) && kinds.show(self.kinds[*content as usize])).count()
    }

    /// True if two contents of one cluster have a tag: otherwise no link rests on it.
    fn meet(&self, postings: &[Posting]) -> bool {
        let mut clusters: Vec<(u32, u32)> = postings
            .iter()
            .map(|posting| (self.cluster_of[posting.content.0 as usize], posting.content.0))
            .filter(|(cluster, _)| *cluster != NOWHERE)
            .collect();
        clusters.sort_unstable();
        clusters.dedup();
        clusters.windows(2).any(|pair| pair[0].0 == pair[1].0)
    }
}
