//! `L_i`: MOD with a modulus that grows with the document, so that a sketch of any document has about 100 to 200 entries.
//!
//! Source: Broder 1997, section 3: a document of 100 · 2^i to 100 · 2^(i+1) shingles keeps those that are 0 modulo 2^i.
//! (The 50 to 100 entries that the text expects would need 2^(i+1).) Values of rank i or higher are the ones that are 0
//! modulo 2^i here, and a feature tells its rank: the next level of a sketch is made by dropping features of too low a
//! rank, and two sketches are compared at the level of the longer document.

use crate::sampler::{Distinct, Sampler};
use crate::signature::{Feature, Tagger, rank};

/// Keeps the values of the level that the document has reached.
pub(crate) struct Levels {
    /// The least expected number of entries: 100 in the paper.
    least: u64,
    seen: u64,
    level: u8,
    kept: Distinct,
}

/// The level of a document of so many shingles.
pub(crate) fn level(shingles: u64, least: u64) -> u8 {
    let times = shingles / least.max(1);
    u8::try_from(times.max(1).ilog2()).expect("at most 63")
}

/// The sketch of a higher level, made from one of a lower.
pub(crate) fn at_level(features: &[Feature], level: u8) -> Vec<Feature> {
    features.iter().filter(|feature| feature.rank() >= level).copied().collect()
}

impl Levels {
    pub(crate) fn new(least: u32) -> Levels {
        Levels { least: least.into(), seen: 0, level: 0, kept: Distinct::default() }
    }
}

impl Sampler for Levels {
    /// How many values there were.
    type Seen = u64;

    fn begin(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn see(&mut self, seen: &mut u64, _: usize, value: u64) {
        *seen += 1;
        if rank(value) >= self.level {
            self.kept.insert(value);
        }
    }

    fn end(&mut self, seen: u64, _: u64) {
        self.seen += seen;
        let level = level(self.seen, self.least);
        if level > self.level {
            self.level = level;
            self.kept.retain(|value| rank(value) >= level);
        }
    }

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        (self.seen, self.level) = (0, 0);
        self.kept.features(tagger)
    }
}
