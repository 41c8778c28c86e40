//! The third pass: pairs of contents that could be linked, from which the coordinator finds components.
//!
//! The smallest content that looks a chunk up reaches all that any other reaches: the larger ones that have it.

use anyhow::{Result, bail};

use super::{Out, Pass};
use crate::block::{Kind, long, words};
use crate::rules::Rules;
use crate::work::prefixes::PREFIX_BIT;

/// Pairs from which on those that are known twice are left out.
const PAIRS_KNOWN: usize = 1 << 21;

/// The holders of a range of tags, and the pairs of all ranges.
#[derive(Default)]
pub(crate) struct Pairs {
    /// Number, payload, content, and whether it looks the chunk up.
    holders: Vec<(u32, u64, u32, bool)>,
    pairs: Vec<u64>,
    known: usize,
}

impl Pass for Pairs {
    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> Result<()> {
        if kind != Kind::Holders {
            bail!("a block of the kind {kind:?} is not for this pass");
        }
        self.holders.extend(payload.as_chunks::<16>().0.iter().map(|row| {
            let [number, content] = words(row);
            (number, long(&row[8..]), content & !PREFIX_BIT, content & PREFIX_BIT != 0)
        }));
        Ok(())
    }

    fn end_key(&mut self, _key: i32, _rules: &Rules, _out: &mut Out<'_>) -> Result<()> {
        let mut holders = std::mem::take(&mut self.holders);
        holders.sort_unstable();
        for of_chunk in holders.chunk_by(|a, b| a.0 == b.0) {
            let Some(first) = of_chunk.iter().position(|(.., in_prefix)| *in_prefix) else { continue };
            let smallest = of_chunk[first].2;
            let pair = |content: u32| u64::from(smallest.min(content)) << 32 | u64::from(smallest.max(content));
            self.pairs.extend(of_chunk[first + 1..].iter().map(|(_, _, content, _)| pair(*content)));
        }
        if self.pairs.len() > self.known + PAIRS_KNOWN {
            self.distinct();
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out<'_>) -> Result<()> {
        self.distinct();
        for pair in &self.pairs {
            out.push(Kind::Edges, 0, &pair.rotate_left(32).to_le_bytes())?;
        }
        Ok(())
    }
}

impl Pairs {
    fn distinct(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.known = self.pairs.len();
    }
}
