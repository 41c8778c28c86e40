//! The fourth pass: the facts and chunks of contents that could be linked go to their partitions.

use anyhow::{Result, bail};

use super::{Out, Pass};
use crate::block::{Kind, words};
use crate::rules::Rules;

/// What comes for the key at hand: places first, as kinds are ordered, so that nothing else has to be held back but facts.
#[derive(Default)]
pub(crate) struct Route {
    facts: Vec<Vec<u8>>,
    chunks: Vec<Vec<u8>>,
    /// Content and partition.
    places: Vec<(u32, i32)>,
}

impl Pass for Route {
    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> Result<()> {
        match kind {
            Kind::Facts => self.facts.push(payload),
            Kind::Chunks => self.chunks.push(payload),
            Kind::Places => self.places.extend(payload.as_chunks::<8>().0.iter().map(|row| {
                let [content, partition] = words(row);
                (content, partition.cast_signed())
            })),
            _ => bail!("a block of the kind {kind:?} is not for this pass"),
        }
        Ok(())
    }

    fn end_key(&mut self, _key: i32, _rules: &Rules, out: &mut Out<'_>) -> Result<()> {
        let mut places = std::mem::take(&mut self.places);
        places.sort_unstable();
        let partition = |row: &[u8]| {
            let content = words::<1>(row)[0];
            places.binary_search_by_key(&content, |(content, _)| *content).ok().map(|place| places[place].1)
        };
        for block in std::mem::take(&mut self.facts) {
            for row in block.as_chunks::<16>().0 {
                partition(row).map_or(Ok(()), |key| out.push(Kind::Facts, key, row))?;
            }
        }
        for block in std::mem::take(&mut self.chunks) {
            for row in block.as_chunks::<24>().0 {
                partition(row).map_or(Ok(()), |key| out.push(Kind::Chunks, key, row))?;
            }
        }
        Ok(())
    }
}
