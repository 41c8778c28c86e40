//! The count of each value of a document, with which option A of `shingle` labels repeats.

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

    /// Replaces each repeated value by one that is independent of it. A first occurrence stays as it is.
    ///
    /// (The loop is separate because in a large document each value misses the cache, and several misses can overlap.)
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

/// Hashes values that are as good as random already. The secret is needed because without a federation key anybody could
/// write a document whose values all collide in the table.
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::key::Key;
    use crate::split_mix::SplitMix64;

    proptest! {
        #[test]
        fn a_value_is_replaced_by_its_count_however_values_are_split(
            numbers in proptest::collection::vec(0..30_u64, 0..120),
            step in 1..20_usize,
        ) {
            let mix = Mix::of(&Key::none());
            let values: Vec<u64> = numbers.into_iter().map(SplitMix64::mix).collect();
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            let expected: Vec<u64> = values.iter().map(|value| {
                let count = counts.entry(*value).or_default();
                *count += 1;
                if *count == 1 { *value } else { mix.value(value.wrapping_add(*count)) }
            }).collect();
            let mut labels = Labels::new();
            for _ in 0..2 {
                let mut found = values.clone();
                found.chunks_mut(step).for_each(|part| labels.label(part, mix));
                prop_assert_eq!(&found, &expected);
                // Repeats differ from each other: there are as many different values as values.
                prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), values.len());
                labels.clear();
            }
        }
    }
}
