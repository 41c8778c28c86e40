//! Postings, tag by tag.

use cognate_fingerprint::Tag;
use cognate_similarity::{Posting, RunShards, Shards as _};

use crate::compare::Task;
use crate::error::Error;

/// Hands over all postings tag by tag, those of one at a time.
pub(crate) fn by_tag(shards: &RunShards, mut each: impl FnMut(&[Posting])) -> Result<(), Error> {
    (0..shards.shard_count()).try_for_each(|shard| by_tag_of(shards, shard, &mut each))
}

/// Hands over the postings of one shard tag by tag: a tag is in one shard.
fn by_tag_of(shards: &RunShards, shard: u32, each: &mut impl FnMut(&[Posting])) -> Result<(), Error> {
    let mut postings: Vec<Posting> = Vec::new();
    shards.visit(shard, &mut |slice| {
        for posting in slice {
            if postings.last().is_some_and(|last| last.tag != posting.tag) {
                each(&postings);
                postings.clear();
            }
            postings.push(*posting);
        }
        Ok(())
    })?;
    if !postings.is_empty() {
        each(&postings);
    }
    Ok(())
}

impl Task<'_> {
    /// Hands over all postings tag by tag, those of one at a time, by several threads. Each thread begins with a state of its own, which is
    /// returned.
    pub(crate) fn on_each_tag<S: Send>(
        &self,
        begin: &(impl Fn() -> S + Sync),
        visit: &(impl Fn(&mut S, &[Posting]) + Sync),
    ) -> Result<Vec<S>, Error> {
        let shards = &self.subject.frozen.shards;
        let numbers: Vec<u32> = (0..shards.shard_count()).collect();
        self.on_threads(&numbers, begin, &|state, shard: &u32| {
            by_tag_of(shards, *shard, &mut |postings| visit(state, postings))
        })
    }

    /// Does the same for these tags, which ascend.
    pub(crate) fn on_tags<S: Send>(
        &self,
        tags: &[Tag],
        begin: &(impl Fn() -> S + Sync),
        visit: &(impl Fn(&mut S, Tag, &[Posting]) + Sync),
    ) -> Result<Vec<S>, Error> {
        // Those of a shard are read together.
        let of_shards: Vec<&[Tag]> = tags.chunk_by(|a, b| a.0[0] == b.0[0]).collect();
        self.on_threads(&of_shards, begin, &|state, tags: &&[Tag]| {
            Ok(self.subject.frozen.shards.visit_tags(tags, &mut |tag, postings| {
                visit(state, tag, postings);
                Ok(())
            })?)
        })
    }
}
