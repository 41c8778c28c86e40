//! The keyed order of fingerprints, by which methods sample them.
//!
//! The order comes from a bijection of 64-bit words that the key chooses. It is cheap enough for every position of a document,
//! and its values are as good as random for sampling. It is no cipher, and need not be one: a site sends the keyed hash of a
//! value, never the value (`docs/decisions/0017-methods.md`).

use crate::key::Key;

/// A word added and two odd multipliers, from the key.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    added: u64,
    odd: [u64; 2],
}

impl Mix {
    pub(crate) fn of(key: &Key) -> Mix {
        let mut words = key.stream("cognate sampling v1");
        let mut word = || {
            let mut bytes = [0; 8];
            words.fill(&mut bytes);
            u64::from_le_bytes(bytes)
        };
        Mix { added: word(), odd: [word() | 1, word() | 1] }
    }

    /// The word added, and both multipliers.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn words(self) -> [u64; 3] {
        [self.added, self.odd[0], self.odd[1]]
    }

    /// The value of a fingerprint.
    #[inline(always)]
    pub(crate) fn value(self, fingerprint: u64) -> u64 {
        let mut value = (fingerprint ^ self.added).wrapping_mul(self.odd[0]);
        value ^= value >> 32;
        value = value.wrapping_mul(self.odd[1]);
        value ^ value >> 32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn different_fingerprints_have_different_values(a: u64, b: u64, bit in 0..64_u32) {
            let mix = Mix::of(&Key::none());
            prop_assert_eq!(mix.value(a) == mix.value(b), a == b);
            prop_assert_ne!(mix.value(a), mix.value(a ^ 1 << bit));
        }
    }

    #[test]
    fn values_of_neighbours_are_spread_evenly_under_every_key() {
        for byte in 0..8 {
            let mix = Mix::of(&Key::parse(&[byte; 32]).unwrap());
            let mut counts = [0; 16];
            (0..16_000).for_each(|fingerprint| counts[(mix.value(fingerprint) >> 60) as usize] += 1);
            // Four standard deviations of 1000 are about 125.
            assert!(counts.iter().all(|count| (860..1140).contains(count)), "{byte} {counts:?}");
        }
    }

    #[test]
    fn keys_choose_the_order() {
        let first = |key: &Key| (0..1000).min_by_key(|fingerprint| Mix::of(key).value(*fingerprint));
        let keys: Vec<Key> = (0..6).map(|byte| Key::parse(&[byte; 32]).unwrap()).collect();
        let firsts: std::collections::BTreeSet<_> = keys.iter().map(first).collect();
        assert!(firsts.len() > 3, "{firsts:?}");
    }
}
