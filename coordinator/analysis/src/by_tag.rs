//! Postings, tag by tag.

use cognate_similarity::{Posting, RunShards, Shards as _};

use crate::error::Error;

/// Hands over all postings tag by tag, those of one at a time.
pub(crate) fn by_tag(shards: &RunShards, mut each: impl FnMut(&[Posting])) -> Result<(), Error> {
    let mut postings: Vec<Posting> = Vec::new();
    for shard in 0..shards.shard_count() {
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
    }
    if !postings.is_empty() {
        each(&postings);
    }
    Ok(())
}
