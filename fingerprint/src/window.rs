//! The windows of so many bytes of a document, as values for a sampler.

use crate::mix::Mix;
use crate::rolling::Rolling;
use crate::sampler::Sampler;
use crate::signature::{Shortage, Tagger, Unfit};
use crate::signer::{Made, Maker};

/// Rolls a window over a document and lets a sampler see the value of each of its places.
pub(crate) struct Windows<S> {
    rolling: Rolling,
    mix: Mix,
    tagger: Tagger,
    sampler: S,
    /// The end of what was seen: the bytes that windows still to come begin with.
    tail: Vec<u8>,
    seen_bytes: u64,
}

impl<S: Sampler> Windows<S> {
    pub(crate) fn new(rolling: Rolling, mix: Mix, tagger: Tagger, sampler: S) -> Windows<S> {
        Windows { rolling, mix, tagger, sampler, tail: Vec::new(), seen_bytes: 0 }
    }

    fn sample(&mut self, bytes: &[u8]) {
        self.rolling.each(bytes, self.mix, &mut self.sampler);
    }
}

impl<S: Sampler> Maker for Windows<S> {
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
