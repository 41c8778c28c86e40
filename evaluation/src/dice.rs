//! Numbers that look random and are the same for the same seed, everywhere and always.

/// A generator (`SplitMix64`): small, and independent of any crate's next version.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice { state: seed }
    }

    /// Dice of their own for one of several things that are to be independent of each other.
    pub(crate) fn of(seed: u64, thing: u64) -> Dice {
        let mut dice = Dice::new(seed ^ thing.wrapping_mul(0xd134_2543_de82_ef95));
        dice.next();
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// A number from 0 to 1, the latter excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `count` different numbers below `bound`, ascending; all where there are not so many.
    pub(crate) fn choose(&mut self, count: usize, bound: usize) -> Vec<usize> {
        // Floyd's: every set is as likely as any other.
        let mut chosen = std::collections::BTreeSet::new();
        for last in bound.saturating_sub(count)..bound {
            let pick = self.below(last + 1);
            if !chosen.insert(pick) {
                chosen.insert(last);
            }
        }
        chosen.into_iter().collect()
    }
}

/// A number that has nothing to do with its neighbours'.
pub(crate) fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // The published first outputs of SplitMix64 for seed 0.
        let mut dice = Dice::new(0);
        assert_eq!([dice.next(), dice.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn a_choice_has_as_many_different_numbers_as_were_asked_for() {
        let mut dice = Dice::new(1);
        for (count, bound) in [(0, 0), (0, 5), (3, 5), (5, 5), (9, 5), (50, 1000)] {
            let chosen = dice.choose(count, bound);
            assert_eq!(chosen.len(), count.min(bound));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen.iter().all(|&pick| pick < bound));
        }
    }
}
