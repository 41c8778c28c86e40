//! The windows of so many bytes of a document, as values for a sampler.

use crate::mix::Mix;
use crate::rabin::Rolling;
use crate::sampler::Sampler;
use crate::signature::{Shortage, Tagger, Unfit};
use crate::signer::{Made, Maker};

/// How many values are handed to the sampler at a time, at least: a few kilobytes, which stay in the nearest cache.
const BLOCK_VALUES: usize = 2048;

/// Rolls a window over a document and lets a sampler see the value of each of its places.
pub(crate) struct Windows {
    rolling: Rolling,
    mix: Mix,
    tagger: Tagger,
    sampler: Box<dyn Sampler>,
    /// The end of what was seen: the bytes that windows still to come begin with.
    tail: Vec<u8>,
    values: Vec<u64>,
    block: usize,
    seen_bytes: u64,
}

impl Windows {
    pub(crate) fn new(rolling: Rolling, mix: Mix, tagger: Tagger, sampler: Box<dyn Sampler>) -> Windows {
        // A wide window is brought up to each block anew: the block is to be much longer.
        let block = BLOCK_VALUES.max(32 * rolling.window_bytes());
        Windows {
            rolling,
            mix,
            tagger,
            sampler,
            tail: Vec::new(),
            values: Vec::with_capacity(block),
            block,
            seen_bytes: 0,
        }
    }

    fn sample(&mut self, bytes: &[u8]) {
        let overlap = self.rolling.window_bytes() - 1;
        let mut rest = bytes;
        while rest.len() > overlap {
            let count = self.block.min(rest.len() - overlap);
            let (bytes, mix) = (&rest[..count + overlap], self.mix);
            let finish = move |fingerprint| mix.value(fingerprint);
            self.values.clear();
            match self.sampler.bound() {
                Some(bound) => self.rolling.up_to(bytes, bound, finish, &mut self.values),
                None => {
                    self.values.resize(count, 0);
                    self.rolling.all(bytes, &mut self.values, finish);
                }
            }
            self.sampler.take(&self.values);
            rest = &rest[count..];
        }
    }
}

impl Maker for Windows {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        let overlap = self.rolling.window_bytes() - 1;
        self.seen_bytes += bytes.len() as u64;
        // First the windows that begin in what was seen before, then those that do not.
        let mut seam = std::mem::take(&mut self.tail);
        seam.extend_from_slice(&bytes[..bytes.len().min(overlap)]);
        self.sample(&seam);
        if bytes.len() >= overlap {
            self.sample(bytes);
            seam.clear();
            seam.extend_from_slice(&bytes[bytes.len() - overlap..]);
        } else {
            seam.drain(..seam.len().saturating_sub(overlap));
        }
        self.tail = seam;
        Ok(())
    }

    fn finish(&mut self) -> Made {
        let needed = self.rolling.window_bytes() as u64;
        let found = std::mem::take(&mut self.seen_bytes);
        self.tail.clear();
        let shortage = (found < needed).then_some(Shortage { found, needed, unit: "bytes" });
        let windows = (found + 1).saturating_sub(needed);
        Made { windows, features: self.sampler.finish(&self.tagger), index: None, shortage }
    }
}
