//! Selects hashes of k-grams and adds them up to one number.

use std::collections::BinaryHeap;

use crate::java::array_hash_code;
use crate::method::similarity_index::formula::Selection;
use crate::method::similarity_index::parameters::SimilarityIndex;
use crate::method::similarity_index::winnowing::Winnowing;
use crate::rabin::{Polynomial, Rabin};
use crate::split_mix::SplitMix64;

/// `x^64 + x^4 + x^3 + x + 1`, the usual polynomial of 64-bit Rabin hashes in Java. An index is not keyed.
const POLYNOMIAL: u64 = 0x1b;
/// The hashes that are 0 modulo this are selected by ways 3 and 4.
const MODULUS: i64 = 25;

/// Selects hashes and adds them up.
pub(super) struct Selector {
    index: SimilarityIndex,
    selection: Selection,
    sum: Sum,
    /// The lowest values, or the highest with their signs turned.
    lowest: BinaryHeap<i64>,
    winnowing: Winnowing,
    random: SplitMix64,
    /// All hashes, for super shingles.
    list: Option<Vec<i32>>,
}

/// The sum of the selected hashes, or their Rabin fingerprint.
enum Sum {
    Plain(i128),
    Rabin { rabin: Box<Rabin>, fingerprint: u64, signed: bool },
}

impl Selector {
    pub(super) fn new(index: SimilarityIndex) -> Selector {
        let number = index.formula.number;
        let is_rabin = number.is_multiple_of(2) && number < 13;
        let polynomial = is_rabin.then(|| Polynomial::new(POLYNOMIAL)).flatten();
        let sum = match polynomial {
            Some(polynomial) => {
                Sum::Rabin { rabin: Box::new(Rabin::new(polynomial)), fingerprint: 0, signed: index.signed }
            }
            None => Sum::Plain(0),
        };
        Selector {
            selection: index.formula.selection(),
            index,
            sum,
            lowest: BinaryHeap::new(),
            winnowing: Winnowing::new(index.w as usize),
            random: SplitMix64::new(index.seed.into()),
            list: (number == 14).then(Vec::new),
        }
    }

    /// Takes the next hash of the document.
    pub(super) fn take(&mut self, hash: i32) {
        let value = self.index.number(hash);
        match self.selection {
            Selection::All => match &mut self.list {
                Some(list) => list.push(hash),
                None => self.sum.add(value),
            },
            Selection::Modulus if value % MODULUS == 0 => self.sum.add(value),
            Selection::Modulus => {}
            Selection::Winnowing => {
                if let Some(value) = self.winnowing.take(value) {
                    self.sum.add(value);
                }
            }
            Selection::Lowest => self.keep_lowest(value),
            Selection::Highest => self.keep_lowest(-value),
            Selection::RandomThird => {
                if self.random.next().is_multiple_of(3) {
                    self.sum.add(value);
                }
            }
        }
    }

    /// Keeps a value if it is among the lowest.
    fn keep_lowest(&mut self, value: i64) {
        if self.lowest.len() < self.index.sample as usize {
            self.lowest.push(value);
        } else if self.lowest.peek().is_some_and(|worst| value < *worst) {
            self.lowest.pop();
            self.lowest.push(value);
        }
    }

    /// The number of the document.
    pub(super) fn finish(mut self) -> i128 {
        if let Some(list) = self.list {
            return i128::from(self.index.number(super_shingle(list, self.index.k as usize)));
        }
        if let Some(value) = self.winnowing.finish() {
            self.sum.add(value);
        }
        let sign = if self.selection == Selection::Highest { -1 } else { 1 };
        for value in self.lowest.into_sorted_vec() {
            self.sum.add(sign * value);
        }
        self.sum.finish()
    }
}

impl Sum {
    fn add(&mut self, value: i64) {
        match self {
            Sum::Plain(sum) => *sum += i128::from(value),
            Sum::Rabin { rabin, fingerprint, .. } => {
                // The four low bytes are the same for signed and unsigned values.
                *fingerprint = rabin.extend(*fingerprint, &value.to_be_bytes()[4..]);
            }
        }
    }

    fn finish(self) -> i128 {
        match self {
            Sum::Plain(sum) => sum,
            Sum::Rabin { fingerprint, signed: true, .. } => fingerprint.cast_signed().into(),
            Sum::Rabin { fingerprint, signed: false, .. } => fingerprint.into(),
        }
    }
}

/// Combines each k hashes in a row into one, again and again, until one number is left. (Overlapping runs, which the paper may
/// mean, would take time that grows with the square of the length. In both cases an edit anywhere changes the number.)
pub(super) fn super_shingle(mut hashes: Vec<i32>, k: usize) -> i32 {
    while hashes.len() > 1 {
        hashes = hashes.chunks(k.max(2)).map(array_hash_code).collect();
    }
    hashes.first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::method::similarity_index::formula::Formula;

    fn total(formula: &str, hashes: &[i32], sample: u32, signed: bool) -> i128 {
        let formula = Formula::parse(formula).unwrap();
        let mut selector = Selector::new(SimilarityIndex { formula, k: 2, w: 3, sample, words: 1, seed: 1, signed });
        hashes.iter().for_each(|hash| selector.take(*hash));
        selector.finish()
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_selected_hashes(
            hashes in proptest::collection::vec(prop_oneof![any::<i32>(), -60..60_i32], 0..50),
            sample in 1..10_u32,
            signed: bool,
        ) {
            let mut values: Vec<i128> = hashes.iter().map(|hash| {
                if signed { i128::from(*hash) } else { i128::from(hash.cast_unsigned()) }
            }).collect();
            let of = |formula| total(formula, &hashes, sample, signed);
            prop_assert_eq!(of("1A"), values.iter().sum::<i128>());
            prop_assert_eq!(of("3A"), values.iter().filter(|value| **value % 25 == 0).sum::<i128>());
            values.sort_unstable();
            prop_assert_eq!(of("7A"), values.iter().take(sample as usize).sum::<i128>());
            prop_assert_eq!(of("9A"), values.iter().rev().take(sample as usize).sum::<i128>());
        }
    }

    #[test]
    fn the_random_third_is_about_a_third() {
        let ones = vec![1; 3000];
        let third = total("11A", &ones, 1, true);
        assert!((900..1100).contains(&third), "{third}");
    }

    #[test]
    fn a_rabin_hash_depends_on_the_order_and_a_sum_does_not() {
        let (rising, falling) = ([1, 2, 3], [3, 2, 1]);
        assert_eq!(total("1A", &rising, 1, true), total("1A", &falling, 1, true));
        assert_ne!(total("2A", &rising, 1, true), total("2A", &falling, 1, true));
    }
}
