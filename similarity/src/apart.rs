//! Passes of an analysis by themselves, for callers that share them out among machines.
//!
//! Tags are counted range of tags by range of tags ([`find_shared_chunks`]). A content's chunks from rare to common, in one order for
//! all, and [`prefix_length`] tell which of them it looks up; the smallest content that looks a chunk up is united with every larger one
//! that has it. Then the contents of one component, or of several, are analysed apart from all others ([`analyse_part`]). Together that is
//! [`crate::analyse_with_links`], to the last figure.

use crate::analyse::{Analysis, run};
use crate::budget::Budget;
use crate::cluster::LinkRule;
use crate::error::Error;
use crate::input::{Input, Options, check};
use crate::monitor::Monitor;
use crate::overlap::OverlapLevel;
use crate::posting::ContentIndex;
use crate::request::{LinkSink, Request};
use crate::shards::Shards;
use crate::spill::{Buckets, SpillFolder};
use crate::tags::find_shared_tags;

pub use crate::prefix::prefix_length;

/// A chunk of a content that another content has as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedChunk {
    /// The content.
    pub content: ContentIndex,
    /// The number of the chunk among the shared ones of its source, which depends on their tags and lengths alone.
    pub number: u32,
    /// Contents that have it.
    pub holders: u32,
    /// Its length.
    pub length_bytes: u32,
    /// How often this content has it.
    pub count: u32,
}

/// What else the postings of some tags say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TagFacts {
    /// Overlap at each level of the input, by these tags alone.
    pub overlap: Vec<OverlapLevel>,
    /// Postings read.
    pub postings: u64,
    /// Distinct tags.
    pub tags: u64,
    /// Tags, templates apart, that occur in two contents or more.
    pub shared_tags: u64,
}

/// Visits the chunks that contents share, in no order. `shards` has all postings of some tags; of the input, contents that have none of
/// these may be absent.
///
/// # Errors
///
/// As [`crate::analyse`], and whatever `visit` returns.
pub fn find_shared_chunks(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    visit: &mut dyn FnMut(&SharedChunk) -> Result<(), Error>,
) -> Result<TagFacts, Error> {
    check(input)?;
    let spill = SpillFolder::new(options.spill_dir);
    let rows = Buckets::new(&spill, &Budget::new(options).tag_rows(shards, input));
    let found = find_shared_tags(shards, input, &rows, None, options.threads, monitor)?;
    for bucket in 0..rows.count() {
        rows.scan(bucket, |rows| {
            rows.iter().try_for_each(|row| {
                visit(&SharedChunk {
                    content: ContentIndex(row.content),
                    number: found.numbers.of(row.tag),
                    holders: row.holders,
                    length_bytes: row.length_bytes,
                    count: row.count,
                })
            })
        })?;
        rows.clear(bucket)?;
    }
    Ok(TagFacts { overlap: found.overlap, postings: found.postings, tags: found.tags, shared_tags: found.shared })
}

/// As [`crate::analyse_with_links`], of some of the contents: no content is linked with one that is not among them. `contents` is the number of
/// all, on which it depends how many links a cluster keeps. Among those here, the order of numbers has to be that among all.
///
/// # Errors
///
/// As [`crate::analyse_with_links`].
pub fn analyse_part(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    sink: &LinkSink<'_>,
    contents: usize,
) -> Result<Analysis, Error> {
    let request = Request { sink: Some(sink), clusters: true, changed: None };
    run(shards, input, options, monitor, request, LinkRule::published(contents))
}
