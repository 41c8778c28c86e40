//! The first pass: the postings of a range of tags become the chunks that contents share, and overlap.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use cognate_fingerprint::Tag;
use cognate_similarity::{
    Analysis, ContentIndex, GatherOptions, GatheredShards, Holders, Input, Monitor, Options, Posting, SpillFolder,
    Stats, find_shared_chunks,
};

use super::{Out, Pass, TASK_MEMORY_BYTES};
use crate::block::{Kind, words};
use crate::result_file::{self, spill_folder};
use crate::rules::Rules;

/// Set in a length if the chunk is boilerplate.
pub(crate) const TEMPLATE_BIT: u32 = 1 << 31;

/// The postings of the key at hand, and the findings of all keys.
#[derive(Default)]
pub(crate) struct Tags {
    blocks: Vec<Vec<u8>>,
    found: Analysis,
    last: i32,
}

impl Pass for Tags {
    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> Result<()> {
        if kind != Kind::Postings {
            bail!("a block of the kind {kind:?} is not for this pass");
        }
        self.blocks.push(payload);
        Ok(())
    }

    fn end_key(&mut self, key: i32, rules: &Rules, out: &mut Out<'_>) -> Result<()> {
        let blocks = std::mem::take(&mut self.blocks);
        let rows = || blocks.iter().flat_map(|block| block.as_chunks::<28>().0);
        // Only the contents that are met have a number here.
        let mut contents: Vec<(u32, u32)> = Vec::new();
        for row in rows() {
            if rules.division.of_tag(&row[..16]) != key {
                bail!("the key {key} has a tag of another");
            }
            let [_, content, class] = words(&row[16..]);
            if contents.last() != Some(&(content, class)) {
                contents.push((content, class));
            }
        }
        contents.sort_unstable();
        contents.dedup();
        let mut holders = Holders::new();
        for (_, class) in &contents {
            holders.push(rules.class(*class)?.iter().copied());
        }
        let folder = SpillFolder::new(&spill_folder());
        let postings_max = blocks.iter().map(|block| (block.len() / 28) as u64).sum();
        let shards = GatheredShards::new(
            &folder,
            &GatherOptions { postings_max, memory_budget_bytes: TASK_MEMORY_BYTES, threads: 1 },
        );
        let mut writer = shards.writer();
        for row in rows() {
            let [length, content, class] = words(&row[16..]);
            let place = contents.binary_search(&(content, class)).ok().context("a content that was met")?;
            writer.push(&Posting {
                tag: rotated(&row[..16], rules.division.tag_bits),
                length_bytes: length & !TEMPLATE_BIT,
                template: length & TEMPLATE_BIT != 0,
                content: ContentIndex(u32::try_from(place)?),
            })?;
        }
        writer.finish()?;
        drop(blocks);
        let payload_bytes = vec![0; contents.len()];
        let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &rules.levels, across: None };
        let options = Options {
            thresholds: rules.thresholds,
            memory_budget_bytes: TASK_MEMORY_BYTES,
            threads: NonZeroUsize::MIN,
            spill_dir: &spill_folder(),
        };
        let mut written = Ok(());
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let facts = find_shared_chunks(&shards, &input, &options, &monitor, &mut |chunk| {
            let content = contents[chunk.content.0 as usize].0;
            let mut row = [0; 24];
            let numbers = [content, key.cast_unsigned(), chunk.number, chunk.holders, chunk.length_bytes, chunk.count];
            row.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(bytes, number)| *bytes = number.to_le_bytes());
            if written.is_ok() {
                written = out.push(Kind::Chunks, rules.division.of_content(content), &row);
            }
            Ok(())
        })?;
        written?;
        let stats =
            Stats { postings: facts.postings, tags: facts.tags, shared_tags: facts.shared_tags, ..Stats::default() };
        self.found.append(Analysis { overlap: facts.overlap, stats, ..Analysis::default() });
        self.last = key;
        Ok(())
    }

    fn end(&mut self, out: &mut Out<'_>) -> Result<()> {
        out.write(Kind::Analysis, self.last, &result_file::bytes_of(&self.found)?)
    }
}

/// A tag whose leading bits, which are the same for all of a key, are at the end of its first half, so that the others spread it.
fn rotated(tag: &[u8], bits: u32) -> Tag {
    let mut tag: [u8; 16] = tag.try_into().expect("a tag has 16 bytes");
    let high = u64::from_be_bytes(tag[..8].try_into().expect("a half has 8 bytes"));
    tag[..8].copy_from_slice(&high.rotate_left(bits).to_be_bytes());
    Tag(tag)
}
