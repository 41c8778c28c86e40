//! The second pass: of each content the chunks that it looks up, from rare to common.

use anyhow::{Context as _, Result, bail};
use cognate_similarity::prefix_length;

use super::{Out, Pass};
use crate::block::{Kind, long, words};
use crate::rules::Rules;

/// Set in a content if the chunk is in its prefix.
pub(crate) const PREFIX_BIT: u32 = 1 << 31;

/// The chunks of a range of contents.
#[derive(Default)]
pub(crate) struct Prefixes {
    /// Content, holders, tags, number, and the weight.
    chunks: Vec<([u32; 4], u64)>,
    payloads: Vec<(u32, u64)>,
}

impl Pass for Prefixes {
    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> Result<()> {
        match kind {
            Kind::Facts => {
                let rows = payload.as_chunks::<16>().0.iter();
                self.payloads.extend(rows.map(|row| (words::<1>(row)[0], long(&row[8..]))));
            }
            Kind::Chunks => self.chunks.extend(payload.as_chunks::<24>().0.iter().map(|row| {
                let [content, tags, number, holders, length, count] = words(row);
                ([content, holders, tags, number], u64::from(length) * u64::from(count))
            })),
            _ => bail!("a block of the kind {kind:?} is not for this pass"),
        }
        Ok(())
    }

    fn end_key(&mut self, key: i32, rules: &Rules, out: &mut Out<'_>) -> Result<()> {
        let mut chunks = std::mem::take(&mut self.chunks);
        let mut payloads = std::mem::take(&mut self.payloads);
        payloads.sort_unstable();
        chunks.sort_unstable();
        for list in chunks.chunk_by(|a, b| a.0[0] == b.0[0]) {
            let content = list[0].0[0];
            if rules.division.of_content(content) != key {
                bail!("the key {key} has a content of another");
            }
            let place = payloads.binary_search_by_key(&content, |(content, _)| *content);
            let payload = payloads[place.ok().with_context(|| format!("the content {content} has no facts"))?].1;
            let least_bytes = rules.thresholds.least_shared_bytes(payload);
            let prefix = prefix_length(list.iter().map(|(_, weight)| *weight), least_bytes);
            // A content whose chunks weigh less than it needs looks nothing up.
            let total = list.iter().fold(0u64, |sum, (_, weight)| sum.saturating_add(*weight));
            let prefix = if total < least_bytes { 0 } else { prefix };
            for (place, ([_, _, tags, number], _)) in list.iter().enumerate() {
                let flag = if place < prefix { PREFIX_BIT } else { 0 };
                let mut row = [0; 16];
                row[..4].copy_from_slice(&number.to_le_bytes());
                row[4..8].copy_from_slice(&(content | flag).to_le_bytes());
                row[8..].copy_from_slice(&payload.to_le_bytes());
                out.push(Kind::Holders, tags.cast_signed(), &row)?;
            }
            let mut row = [0; 8];
            row[..4].copy_from_slice(&content.to_le_bytes());
            row[4..].copy_from_slice(&u32::try_from(list.len())?.to_le_bytes());
            out.push(Kind::Counts, key, &row)?;
        }
        Ok(())
    }
}
