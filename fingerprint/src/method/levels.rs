//! `L_i`: MOD with a modulus that grows with the document, so that a sketch of any document has about s to 2 s entries.
//!
//! Source: Broder 1997, section 3: a document of 100 · 2^i to 100 · 2^(i+1) shingles keeps those that are 0 modulo 2^i. Values of
//! rank i or higher are the ones that are 0 modulo 2^i here, and a feature holds its rank: the next level of a sketch drops the
//! features of too low a rank, and two sketches are compared at the higher of their levels.
//!
//! The paper counts different shingles, whose number nobody knows before the document is read. It is counted exactly up to 1023,
//! and beyond that estimated by the 1024th smallest of their [`CENSUS`] hashes, within some 3 %. So a text that repeats itself
//! has the level of what it says once. The hashes are independent of the ranks: a level that depended on how many features
//! it leaves would make estimates too high.

use crate::sampler::{Distinct, Sampler};
use crate::signature::{Feature, Tagger, rank};
use crate::split_mix::SplitMix64;

/// The number of smallest hashes by which different values are counted.
const CENSUS: usize = 1024;
/// So many features are hardly ever all of a higher rank than their level: once in 65,536 documents.
const TELLING: usize = 16;

/// Keeps the values of the level that the document has reached.
pub(crate) struct Levels {
    /// The least expected number of entries: 100 in the paper.
    least: u64,
    level: u8,
    values: Distinct,
    census: Census,
}

/// The level of a document with this number of different shingles, at a least expected sample of `least`.
fn level(shingles: u64, least: u64) -> u8 {
    let times = shingles / least.max(1);
    u8::try_from(times.max(1).ilog2()).expect("at most 63")
}

/// The level of a document, from its features: their least rank, since one of them has the very rank of the level. Of a few
/// features that may be chance; they are all that the document has.
pub(crate) fn level_of(features: &[Feature], least: u32) -> u8 {
    let telling = TELLING.min(least as usize / 2).max(1);
    if features.len() < telling { 0 } else { features.iter().map(Feature::rank).min().unwrap_or(0) }
}

/// The sketch of a higher level, made from one of a lower.
pub(crate) fn at_level(features: &[Feature], level: u8) -> Vec<Feature> {
    features.iter().filter(|feature| feature.rank() >= level).copied().collect()
}

impl Levels {
    pub(crate) fn new(least: u32) -> Levels {
        Levels { least: least.into(), level: 0, values: Distinct::default(), census: Census::new() }
    }

    /// Goes to the level of the different values so far. More of them never lead to a lower one.
    fn rise(&mut self) {
        let level = level(self.census.count(), self.least);
        if level > self.level {
            self.level = level;
            self.values.retain(|value| rank(value) >= level);
        }
    }
}

impl Sampler for Levels {
    type Seen = ();

    fn begin(&self) {}

    #[inline(always)]
    fn see(&mut self, (): &mut (), _: usize, value: u64) {
        self.census.see(value);
        if rank(value) >= self.level {
            self.values.insert(value);
        }
    }

    fn end(&mut self, (): (), _: u64) {
        if self.census.is_full() {
            self.rise();
        }
    }

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        self.rise();
        self.level = 0;
        self.census = Census::new();
        self.values.features(tagger)
    }
}

/// Counts different values, in the memory of a few of them.
struct Census {
    /// The smallest hashes, and others that came since they were sorted.
    hashes: Vec<u64>,
    /// The greatest hash that still counts.
    greatest: u64,
}

impl Census {
    fn new() -> Census {
        Census { hashes: Vec::new(), greatest: u64::MAX }
    }

    #[inline(always)]
    fn see(&mut self, value: u64) {
        let hash = SplitMix64::mix(value);
        if hash <= self.greatest {
            self.keep(hash);
        }
    }

    #[inline(never)]
    fn keep(&mut self, hash: u64) {
        if self.hashes.len() >= 2 * CENSUS {
            self.sort();
        }
        self.hashes.push(hash);
    }

    /// True if counting now costs no more than it would soon.
    fn is_full(&self) -> bool {
        self.hashes.len() > 3 * CENSUS / 2
    }

    fn sort(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.hashes.truncate(CENSUS);
        if let Some(last) = self.hashes.get(CENSUS - 1) {
            self.greatest = *last;
        }
    }

    /// The number of different values so far; it never falls.
    fn count(&mut self) -> u64 {
        self.sort();
        match self.hashes.get(CENSUS - 1) {
            None => self.hashes.len() as u64,
            Some(last) => {
                // Of n random numbers below 2^64 the k-th smallest is about k / (n + 1) of the way up.
                let estimate = (((CENSUS - 1) as u128) << 64) / u128::from((*last).max(1));
                u64::try_from(estimate).unwrap_or(u64::MAX).max(CENSUS as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::Key;
    use crate::sampler::AnySampler;
    use crate::split_mix::SplitMix64;

    proptest! {
        #[test]
        fn repeats_and_the_order_of_values_change_nothing_and_the_features_tell_the_level(
            count in 0..20_000_u64,
            repeats in 1..4_usize,
            least in 40..300_u32,
            block in 1..5000_usize,
        ) {
            let tagger = Tagger::new(&Key::none());
            let mut values: Vec<u64> = (1..=count).map(SplitMix64::mix).collect();
            let mut once = Levels::new(least);
            once.take(&values);
            let once = AnySampler::finish(&mut once, &tagger);
            values = values.repeat(repeats);
            let middle = values.len() / 3;
            values.rotate_left(middle);
            let mut again = Levels::new(least);
            values.chunks(block).for_each(|block| again.take(block));
            let mut census = Census::new();
            values.iter().for_each(|value| census.see(*value));
            let expected = level(census.count(), least.into());
            prop_assert_eq!(&AnySampler::finish(&mut again, &tagger), &once);
            prop_assert_eq!(once.len(), (1..=count).filter(|number| rank(SplitMix64::mix(*number)) >= expected).count());
            if once.len() >= TELLING {
                prop_assert_eq!(level_of(&once, least), expected);
            }
        }

        #[test]
        fn the_count_of_different_values_is_exact_or_close_and_never_falls(count in 0..40_000_u64) {
            let mut census = Census::new();
            let mut before = 0;
            for number in 0..count {
                census.see(SplitMix64::mix(number));
                census.see(SplitMix64::mix(number / 2));
                if number % 997 == 0 {
                    let now = census.count();
                    prop_assert!(now >= before);
                    before = now;
                }
            }
            let found = census.count();
            let error = if count < 1024 { 0 } else { count / 7 };
            prop_assert!(found.abs_diff(count) <= error, "{} of {}", found, count);
        }
    }

    #[test]
    fn the_level_rises_when_the_document_doubles() {
        for (shingles, least, expected) in [
            (0, 100, 0),
            (99, 100, 0),
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
        for count in [1, 50, 100, 199, 201, 1000, 30_000, 1_000_000] {
            let mut levels = Levels::new(100);
            let values: Vec<u64> = (1..=count).map(SplitMix64::mix).collect();
            values.chunks(4096).for_each(|block| levels.take(block));
            let kept = AnySampler::finish(&mut levels, &tagger).len() as u64;
            assert!(kept <= 260 && kept >= count.min(60), "{count} {kept}");
        }
    }
}
