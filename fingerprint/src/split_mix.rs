//! The generator `SplitMix64`: numbers that look random and are the same for the same seed, everywhere and always.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), as in S. Vigna's reference
//! code. It is part of recipes (`sketch`, the random third of `similarity-index`) and of published experiments, whose
//! results must not change with the next version of a crate. It is no source of secrets.

/// The generator. Each number is [`SplitMix64::mix`] of the next multiple of an odd constant, counted from the seed.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

/// 2^64 divided by the golden ratio, rounded to an odd number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "an iterator would have an end")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        SplitMix64::mix(self.state)
    }

    /// The number that a generator started at `seed` gives after `skipped` others.
    pub(crate) fn nth(seed: u64, skipped: u64) -> u64 {
        SplitMix64::mix(seed.wrapping_add(skipped.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// A bijection of 64-bit words whose values look unrelated for neighbouring arguments.
    pub fn mix(word: u64) -> u64 {
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference_code() {
        let mut of_zero = SplitMix64::new(0);
        assert_eq!([of_zero.next(), of_zero.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        let mut other = SplitMix64::new(1_477_776_061_723_855_037);
        assert_eq!([other.next(), other.next()], [1_985_237_415_132_408_290, 2_979_275_885_539_914_483]);
    }

    #[test]
    fn the_nth_number_is_the_one_after_n_others() {
        for seed in [0, 1, u64::MAX, 1 << 40] {
            let mut rng = SplitMix64::new(seed);
            for skipped in 0..100 {
                assert_eq!(SplitMix64::nth(seed, skipped), rng.next(), "{seed} {skipped}");
            }
        }
    }
}
