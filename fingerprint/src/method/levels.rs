//! `L_i`: MOD with a modulus that grows with the document, so that a sketch of any document has about 100 to 200 entries.
//!
//! Source: Broder 1997, section 3: a document of 100 · 2^i to 100 · 2^(i+1) shingles keeps those that are 0 modulo 2^i.
//! (The 50 to 100 entries that the text expects would need 2^(i+1).) Values of rank i or higher are the ones that are 0
//! modulo 2^i here, and a feature holds its rank: the next level of a sketch drops the features of too low a rank, and two
//! sketches are compared at the level of the longer document.

use crate::sampler::{Distinct, Sampler};
use crate::signature::{Feature, Tagger, rank};

/// Keeps the values of the level that the document has reached.
pub(crate) struct Levels {
    /// The least expected number of entries: 100 in the paper.
    least: u64,
    seen: u64,
    level: u8,
    values: Distinct,
}

/// The level of a document with this number of shingles, at a least expected sample of `least`.
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
        Levels { least: least.into(), seen: 0, level: 0, values: Distinct::default() }
    }
}

impl Sampler for Levels {
    /// The number of values.
    type Seen = u64;

    fn begin(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn see(&mut self, seen: &mut u64, _: usize, value: u64) {
        *seen += 1;
        if rank(value) >= self.level {
            self.values.insert(value);
        }
    }

    fn end(&mut self, seen: u64, _: u64) {
        self.seen += seen;
        let level = level(self.seen, self.least);
        if level > self.level {
            self.level = level;
            self.values.retain(|value| rank(value) >= level);
        }
    }

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        (self.seen, self.level) = (0, 0);
        self.values.features(tagger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::sampler::AnySampler;
    use crate::split_mix::SplitMix64;

    #[test]
    fn the_level_rises_when_the_document_doubles() {
        for (shingles, least, expected) in [
            (0, 100, 0),
            (99, 100, 0),
            (100, 100, 0),
            (199, 100, 0),
            (200, 100, 1),
            (399, 100, 1),
            (400, 100, 2),
            (102_400, 100, 10),
            (u64::MAX, 1, 63),
            // A sample of nothing is treated as a sample of one.
            (8, 0, 3),
        ] {
            assert_eq!(level(shingles, least), expected, "{shingles} {least}");
        }
    }

    #[test]
    fn a_document_of_any_length_keeps_about_s_to_2s() {
        let tagger = Tagger::new(&Key::none());
        for count in [1, 50, 199, 200, 201, 1000, 30_000] {
            let mut levels = Levels::new(100);
            let values: Vec<u64> = (0..count).map(SplitMix64::mix).collect();
            levels.take(&values);
            let features = AnySampler::finish(&mut levels, &tagger);
            let rank_least = level(count, 100);
            assert!(features.iter().all(|feature| feature.rank() >= rank_least), "{count}");
            let expected = values.iter().filter(|value| rank(**value) >= rank_least).count();
            assert_eq!(features.len(), expected, "{count}");
            assert!(features.len() <= 260 && (count < 100 || features.len() >= 60), "{count} {}", features.len());
        }
    }
}
