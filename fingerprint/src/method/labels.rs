//! How often each value of a document has occurred: what option A of `shingle` labels repeats with.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::mix::Mix;

/// Counts the values of a document.
pub(crate) struct Labels {
    counts: HashMap<u64, u32, Folding>,
}

impl Labels {
    pub(crate) fn new() -> Labels {
        Labels { counts: HashMap::with_hasher(Folding::new()) }
    }

    /// Gives each value that has occurred before another one, independent of it; a first one stays what it is.
    ///
    /// (A loop of its own: in a large document each value costs a miss of the cache, and so several are under way at once.)
    #[inline(never)]
    pub(crate) fn label(&mut self, values: &mut [u64], mix: Mix) {
        for value in values {
            let label = self.counts.entry(*value).or_insert(0);
            *label = label.saturating_add(1);
            if *label > 1 {
                *value = mix.value(value.wrapping_add(u64::from(*label)));
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.counts.clear();
    }
}

/// Hashes values that are as good as random already. The secret is there because without a federation key anybody could
/// write a document whose values all meet in one place of the table.
#[derive(Clone)]
struct Folding {
    secret: [u64; 2],
}

impl Folding {
    fn new() -> Folding {
        let random = RandomState::new();
        Folding { secret: [random.hash_one(0_u64), random.hash_one(1_u64) | 1] }
    }
}

impl BuildHasher for Folding {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { secret: self.secret, hash: 0 }
    }
}

/// The two halves of a product, added up.
struct Folded {
    secret: [u64; 2],
    hash: u64,
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.hash ^ value ^ self.secret[0]) * u128::from(self.secret[1]);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}
