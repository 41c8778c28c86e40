//! Random numbers that are the same for the same seed, everywhere and always.
//!
//! The committed pages of `evaluation/pages` follow from their seeds. The generator is `SplitMix64`, whose numbers are fixed. The
//! step from its numbers to a choice (`below`, `choose`) is here and not in a crate such as `rand`, whose next version may
//! choose otherwise and would change every page.

use std::collections::BTreeSet;

use cognate_fingerprint::SplitMix64;

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    words: SplitMix64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng { words: SplitMix64::new(seed) }
    }

    /// The generator for one of several purposes, independent of those for the others.
    pub(crate) fn of(seed: u64, purpose: u64) -> Rng {
        let mut rng = Rng::new(seed ^ purpose.wrapping_mul(0xd134_2543_de82_ef95));
        rng.next();
        rng
    }

    /// The next 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.words.next()
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// A number from 0 to 1, the latter excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `count` different numbers below `bound`, ascending; all of them if there are fewer.
    ///
    /// Source: R. Floyd's algorithm (Bentley, "Programming pearls: a sample of brilliance", 1987). Every set is equally likely.
    pub(crate) fn choose(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut chosen = BTreeSet::new();
        for last in bound.saturating_sub(count)..bound {
            let pick = self.below(last + 1);
            if !chosen.insert(pick) {
                chosen.insert(last);
            }
        }
        chosen.into_iter().collect()
    }
}

/// A number that looks unrelated to those of neighbouring arguments.
pub(crate) fn mixed(number: u64) -> u64 {
    SplitMix64::mix(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // The published first outputs of SplitMix64 for seed 0.
        let mut rng = Rng::new(0);
        assert_eq!([rng.next(), rng.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn numbers_are_below_their_bound_and_reach_all_of_it() {
        let mut rng = Rng::new(5);
        let mut counts = [0; 7];
        (0..7000).for_each(|_| counts[rng.below(7)] += 1);
        assert!(counts.iter().all(|count| (880..1120).contains(count)), "{counts:?}");
        let units: Vec<f64> = (0..10_000).map(|_| rng.unit()).collect();
        assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
        assert!((units.iter().sum::<f64>() / 1e4 - 0.5).abs() < 0.02);
    }

    #[test]
    fn generators_for_different_purposes_differ() {
        let first = |purpose| Rng::of(1, purpose).next();
        assert_eq!(first(2), first(2));
        assert_ne!(first(2), first(3));
    }

    #[test]
    fn every_set_is_chosen_about_equally_often() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            *counts.entry(Rng::new(seed).choose(2, 4)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (870..1130).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_choice_has_as_many_different_numbers_as_were_asked_for() {
        let mut rng = Rng::new(1);
        for (count, bound) in [(0, 0), (0, 5), (3, 5), (5, 5), (9, 5), (50, 1000)] {
            let chosen = rng.choose(count, bound);
            assert_eq!(chosen.len(), count.min(bound));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen.iter().all(|&pick| pick < bound));
        }
    }
}
