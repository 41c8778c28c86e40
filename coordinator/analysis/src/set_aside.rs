//! Templates in a frozen set: their chunks and rows are left out of sizes here, and out of what contents share by the engine and by
//! the measure of fine chunks.

use cognate_fingerprint::Tag;

use crate::error::Error;
use crate::freeze::{FrozenSet, IgnoreReason, IgnoredTag};

impl FrozenSet {
    /// Adds tags to those that are ignored: payloads are sizes less every occurrence of them, and the shards return
    /// them as template.
    pub(crate) fn set_aside(&mut self, mut tags: Vec<Tag>, why: IgnoreReason) -> Result<(), Error> {
        tags.retain(|tag| self.shards.templates().binary_search(tag).is_err());
        if tags.is_empty() {
            return Ok(());
        }
        let mut copies = vec![0_u64; self.contents.len()];
        self.documents.iter().for_each(|document| copies[document.content.0 as usize] += 1);
        let FrozenSet { shards, contents, set_aside, .. } = self;
        shards.visit_tags(&tags, &mut |tag, postings| {
            let mut holders: Vec<u32> = postings.iter().map(|posting| posting.content.0).collect();
            holders.sort_unstable();
            holders.dedup();
            set_aside.push(IgnoredTag {
                tag,
                documents: holders.iter().map(|content| copies[*content as usize]).sum(),
                length_bytes: postings.iter().map(|posting| posting.length_bytes).max().unwrap_or(0),
                why,
            });
            // A chunk of one repeated byte is out of the payload already.
            for posting in postings.iter().filter(|posting| !posting.template) {
                // Only chunks are ever marked, which weigh their bytes.
                let content = &mut contents[posting.content.0 as usize];
                content.payload_bytes = content.payload_bytes.saturating_sub(posting.length_bytes.into());
                content.weight = content.weight.saturating_sub(posting.length_bytes.into());
            }
            Ok(())
        })?;
        set_aside.sort_unstable_by_key(|one| one.tag);
        tags.extend_from_slice(shards.templates());
        shards.set_templates(tags);
        Ok(())
    }

    /// Takes the bytes that rows of templates cover from the sizes. `bytes` has those of every content, or nothing if there are none.
    pub(crate) fn leave_out(&mut self, bytes: &[u64]) {
        for (content, bytes) in self.contents.iter_mut().zip(bytes) {
            content.payload_bytes = content.payload_bytes.saturating_sub(*bytes);
            content.weight = content.weight.saturating_sub(*bytes);
        }
    }
}
