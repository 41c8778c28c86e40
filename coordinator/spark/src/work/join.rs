//! The fifth pass: the engine joins a partition, whose contents are linked with no others.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use cognate_fingerprint::Tag;
use cognate_similarity::{
    ContentIndex, GatherOptions, GatheredShards, Holders, Input, Link, Monitor, Options, Posting, SpillFolder,
    analyse_part,
};

use super::{Out, Pass, TASK_MEMORY_BYTES};
use crate::block::{Kind, long, words};
use crate::result_file::{self, spill_folder};
use crate::rules::Rules;

/// An odd number, so that multiplying by it loses nothing: that of Fibonacci hashing.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A partition.
#[derive(Default)]
pub(crate) struct Join {
    /// Content, class, payload.
    members: Vec<(u32, u32, u64)>,
    chunks: Vec<Vec<u8>>,
}

impl Pass for Join {
    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> Result<()> {
        match kind {
            Kind::Facts => self.members.extend(payload.as_chunks::<16>().0.iter().map(|row| {
                let [content, class] = words(row);
                (content, class, long(&row[8..]))
            })),
            Kind::Chunks => self.chunks.push(payload),
            _ => bail!("a block of the kind {kind:?} is not for this pass"),
        }
        Ok(())
    }

    fn end_key(&mut self, key: i32, rules: &Rules, out: &mut Out<'_>) -> Result<()> {
        let mut members = std::mem::take(&mut self.members);
        let chunks = std::mem::take(&mut self.chunks);
        members.sort_unstable();
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            bail!("a content is twice in the partition {key}");
        }
        let (folder, spill_dir) = (SpillFolder::new(&spill_folder()), spill_folder());
        let shards = gathered(&folder, &chunks, &members)?;
        drop(chunks);
        let payload_bytes: Vec<u64> = members.iter().map(|(.., payload)| *payload).collect();
        let mut holders = Holders::new();
        for (_, class, _) in &members {
            holders.push(rules.class(*class)?.iter().copied());
        }
        let across = rules.across.as_deref();
        let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &[], across };
        let options = Options {
            thresholds: rules.thresholds,
            memory_budget_bytes: TASK_MEMORY_BYTES,
            threads: NonZeroUsize::MIN,
            spill_dir: &spill_dir,
        };
        let of_all = |content: ContentIndex| ContentIndex(members[content.0 as usize].0);
        let shared = Mutex::new((out, Ok(())));
        let sink = |links: &[Link]| {
            let mut shared = shared.lock().expect("nothing panics while it is held");
            let (out, written) = &mut *shared;
            for link in links {
                let mut row = [0; 16];
                row[..4].copy_from_slice(&of_all(link.a).0.to_le_bytes());
                row[4..8].copy_from_slice(&of_all(link.b).0.to_le_bytes());
                row[8..].copy_from_slice(&link.shared_bytes.to_le_bytes());
                if written.is_ok() {
                    *written = out.push(Kind::Links, key, &row);
                }
            }
            Ok(())
        };
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let mut analysis = analyse_part(&shards, &input, &options, &monitor, &sink, rules.contents)?;
        let (out, written) = shared.into_inner().expect("nothing panics while it is held");
        written?;
        analysis.renumber(&of_all);
        // Postings and tags were counted by the first pass; groups that hold nothing here have words all the same.
        (analysis.stats.postings, analysis.stats.tags, analysis.stats.shared_tags) = (0, 0, 0);
        analysis.omitted.of.iter_mut().for_each(|one| one.groups.resize(rules.groups.div_ceil(64), 0));
        out.write(Kind::Analysis, key, &result_file::bytes_of(&analysis)?)
    }
}

/// The chunks as postings of the members, by their places. A chunk has a tag of its own, made of its number.
fn gathered<'s>(
    folder: &'s SpillFolder,
    chunks: &[Vec<u8>],
    members: &[(u32, u32, u64)],
) -> Result<GatheredShards<'s>> {
    let rows = || chunks.iter().flat_map(|block| block.as_chunks::<24>().0).map(|row| words::<6>(row));
    let postings_max = rows().map(|[.., count]| u64::from(count)).sum();
    let shards = GatheredShards::new(
        folder,
        &GatherOptions { postings_max, memory_budget_bytes: TASK_MEMORY_BYTES, threads: 1 },
    );
    let mut writer = shards.writer();
    for [content, tags, number, _, length_bytes, count] in rows() {
        let place = members.binary_search_by_key(&content, |(content, ..)| *content).ok();
        let place = place.with_context(|| format!("the content {content} has no facts"))?;
        let mut tag = [0; 16];
        let high = (u64::from(tags) << 32 | u64::from(number)).wrapping_mul(SPREAD);
        tag[..8].copy_from_slice(&high.to_be_bytes());
        let posting =
            Posting { tag: Tag(tag), length_bytes, template: false, content: ContentIndex(u32::try_from(place)?) };
        for _ in 0..count {
            writer.push(&posting)?;
        }
    }
    writer.finish()?;
    Ok(shards)
}
