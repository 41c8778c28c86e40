//! The keyed order of fingerprints: which of them a method samples, and which of two comes first.
//!
//! A bijection of 64-bit words that the key chooses: cheap enough for every position of a document, and mixed enough that
//! its values are as good as random for sampling. It is no cipher, and need not be one: what leaves a site is the keyed
//! hash of a value, never the value (`docs/decisions/0017-methods.md`).

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

    /// The value of a fingerprint.
    #[inline(always)]
    pub(crate) fn value(self, fingerprint: u64) -> u64 {
        let mut value = (fingerprint ^ self.added).wrapping_mul(self.odd[0]);
        value ^= value >> 32;
        value = value.wrapping_mul(self.odd[1]);
        value ^ value >> 32
    }
}
