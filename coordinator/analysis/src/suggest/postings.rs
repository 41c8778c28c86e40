//! The postings of some contents, from the current indexes.

use std::collections::HashMap;

use cognate_fingerprint::{ContentDigest, Tag};
use cognate_similarity::{ContentIndex, ContentMap, RunInput, RunShards};

use crate::by_tag::by_tag;
use crate::error::Error;
use cognate_storage::indexes::{Indexes, Sealed};
use cognate_storage::template::Chunk;

/// The contents of a request, and their postings.
pub struct Postings {
    /// The postings of those contents, in shards by tag.
    pub shards: RunShards,
    /// Contents that some index has.
    pub found: usize,
}

impl Postings {
    /// Opens the runs of these indexes for the contents that are wanted, each counted through the first index that has it.
    /// If absent, postings are of all contents, and their numbers say nothing.
    pub fn open(
        indexes: &Indexes,
        sealed: &[Sealed],
        wanted: Option<&HashMap<ContentDigest, u32>>,
    ) -> Result<Postings, Error> {
        let mut postings = Postings { shards: RunShards::new(Vec::new()), found: 0 };
        let mut taken = vec![false; wanted.map_or(0, HashMap::len)];
        for Sealed { id, sequence } in sealed {
            let index = indexes.load(*id, *sequence)?;
            let (runs, ordinals) = indexes.runs(*id, *sequence)?;
            let mut map: Vec<Option<ContentIndex>> = vec![None; index.ordinals().max(ordinals) as usize];
            for (digest, content) in index.contents.iter() {
                let number = match wanted {
                    None => content.ordinal,
                    Some(wanted) => match wanted.get(digest) {
                        Some(number) if !std::mem::replace(&mut taken[*number as usize], true) => *number,
                        _ => continue,
                    },
                };
                map[content.ordinal as usize] = Some(ContentIndex(number));
                postings.found += 1;
            }
            indexes.unload(*id);
            let map: ContentMap = map.into_iter().collect();
            postings.shards.runs.extend(runs.into_iter().map(|run| RunInput { run, contents: map.clone() }));
        }
        Ok(postings)
    }

    /// The chunks that `contents_min` contents have, ascending, without those of one repeated byte. The postings of one tag are in memory at a
    /// time.
    pub fn common(&self, contents_min: usize) -> Result<Vec<Chunk>, Error> {
        let mut common = Vec::new();
        by_tag(&self.shards, |postings| {
            let mut holders: Vec<u32> = postings.iter().map(|posting| posting.content.0).collect();
            holders.sort_unstable();
            holders.dedup();
            if holders.len() >= contents_min && !postings[0].template {
                common.push((postings[0].tag, postings[0].length_bytes));
            }
        })?;
        Ok(common)
    }

    /// These chunks, ascending, as far as any of the contents has them.
    pub fn known(&self, tags: &[Tag]) -> Result<Vec<Chunk>, Error> {
        let mut known = Vec::new();
        self.shards.visit_tags(tags, &mut |tag, postings| {
            known.push((tag, postings[0].length_bytes));
            Ok(())
        })?;
        Ok(known)
    }
}
