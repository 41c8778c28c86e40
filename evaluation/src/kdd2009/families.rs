//! Families of n hash functions that are computed one by one, as `Sketch_n` of the paper has them.
//!
//! Cherkasova et al. (2009), section 4: "In our implementation of `Sketch_n`, we use Bob Jenkins' family of hash functions", which
//! they cite from Dr. Dobb's Journal of September 1997: 32 bits, and an initial value that makes of one function as many as
//! wanted.

use cognate_fingerprint::{SplitMix64, window_hashes};

use crate::rng::mixed;

/// The functions that are computed together for one window.
const LANES: usize = 8;

/// A family of hash functions of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// Jenkins' function of 32 bits with the initial values 0, 1, 2, …: the paper's.
    Jenkins,
    /// Functions of 64 bits, each with two random words of its own.
    Words,
}

impl Family {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::Jenkins => "Jenkins' functions, 32 bits",
            Family::Words => "random functions, 64 bits",
        }
    }

    /// The smallest value of every function over all windows of `width` bytes; nothing if there is no window.
    pub(crate) fn smallest(self, bytes: &[u8], width: usize, n: usize) -> Vec<u64> {
        if bytes.len() < width {
            return Vec::new();
        }
        match self {
            Family::Jenkins => by_jenkins(bytes, width, n),
            Family::Words => by_words(bytes, width, n),
        }
    }
}

fn by_jenkins(bytes: &[u8], width: usize, n: usize) -> Vec<u64> {
    let mut initial = [0; LANES];
    let mut smallest = vec![[u32::MAX; LANES]; n.div_ceil(LANES)];
    for window in bytes.windows(width) {
        let words = Words::of(window);
        for (first, smallest) in (0_u32..).step_by(LANES).zip(&mut smallest) {
            for (value, number) in initial.iter_mut().zip(first..) {
                *value = number;
            }
            for (least, value) in smallest.iter_mut().zip(words.hash(initial)) {
                *least = value.min(*least);
            }
        }
    }
    smallest.into_iter().flatten().take(n).map(u64::from).collect()
}

fn by_words(bytes: &[u8], width: usize, n: usize) -> Vec<u64> {
    let keys: Vec<[u64; 2]> = (0..n as u64).map(|number| [mixed(2 * number + 1), mixed(2 * number + 2) | 1]).collect();
    let mut smallest = vec![u64::MAX; n];
    for window in window_hashes(bytes, width) {
        for (least, [added, odd]) in smallest.iter_mut().zip(&keys) {
            *least = SplitMix64::mix((window ^ added).wrapping_mul(*odd)).min(*least);
        }
    }
    smallest
}

/// The state of Jenkins' function in several lanes.
type Lanes = [u32; LANES];

/// A window as the words that Jenkins' function takes: three at a time, the last ones with zeros and the length.
struct Words {
    triples: Vec<[u32; 3]>,
}

impl Words {
    fn of(window: &[u8]) -> Words {
        let word =
            |bytes: &[u8]| (0..).zip(bytes).fold(0, |word, (place, byte)| word | u32::from(*byte) << (8 * place));
        let mut blocks = window.chunks_exact(12);
        let mut triples: Vec<[u32; 3]> =
            blocks.by_ref().map(|block| [word(&block[..4]), word(&block[4..8]), word(&block[8..])]).collect();
        let mut rest = [0; 12];
        let last = blocks.remainder();
        rest[..last.len()].copy_from_slice(last);
        // The lowest byte of the third word belongs to the length.
        let third = word(&rest[8..11]) << 8;
        let length = u32::try_from(window.len()).expect("a window is short");
        triples.push([word(&rest[..4]), word(&rest[4..8]), third.wrapping_add(length)]);
        Words { triples }
    }

    /// The hash under each initial value.
    fn hash(&self, initial: Lanes) -> Lanes {
        let (mut a, mut b, mut c) = ([0x9e37_79b9; LANES], [0x9e37_79b9; LANES], initial);
        for &[x, y, z] in &self.triples {
            for lane in 0..LANES {
                a[lane] = u32::wrapping_add(a[lane], x);
                b[lane] = u32::wrapping_add(b[lane], y);
                c[lane] = u32::wrapping_add(c[lane], z);
            }
            step(&mut a, &b, &c, |c| c >> 13);
            step(&mut b, &c, &a, |a| a << 8);
            step(&mut c, &a, &b, |b| b >> 13);
            step(&mut a, &b, &c, |c| c >> 12);
            step(&mut b, &c, &a, |a| a << 16);
            step(&mut c, &a, &b, |b| b >> 5);
            step(&mut a, &b, &c, |c| c >> 3);
            step(&mut b, &c, &a, |a| a << 10);
            step(&mut c, &a, &b, |b| b >> 15);
        }
        c
    }
}

/// One line of Jenkins' mix: `x -= y; x -= z; x ^= shifted(z)`.
#[inline(always)]
fn step(x: &mut Lanes, y: &Lanes, z: &Lanes, shifted: impl Fn(u32) -> u32) {
    for lane in 0..LANES {
        x[lane] = x[lane].wrapping_sub(y[lane]).wrapping_sub(z[lane]) ^ shifted(z[lane]);
    }
}

/// The share of functions whose smallest values are equal: the estimate that the paper describes.
pub(crate) fn by_place(a: &[u64], b: &[u64]) -> f64 {
    let agreeing = a.iter().zip(b).filter(|(a, b)| a == b).count();
    agreeing as f64 / a.len().min(b.len()).max(1) as f64
}

/// Of all values in either signature, the share in both: what compares the signatures of Mod and BSW. For `agreeing` of `n`
/// places it is `agreeing / (2 n - agreeing)`.
pub(crate) fn as_sets(by_place: f64) -> f64 {
    by_place / (2.0 - by_place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rng::Rng;
    use crate::truth::jaccard;

    /// Jenkins' function as it is published, a byte after the other.
    fn published(key: &[u8], initial: u32) -> u32 {
        fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
            for (first, second, third) in [(13, 8, 13), (12, 16, 5), (3, 10, 15)] {
                a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> first);
                b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << second);
                c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> third);
            }
            [a, b, c]
        }
        let mut state = [0x9e37_79b9, 0x9e37_79b9, initial];
        let whole = key.len() / 12 * 12;
        for (at, byte) in key[..whole].iter().enumerate() {
            let word = &mut state[at % 12 / 4];
            *word = word.wrapping_add(u32::from(*byte) << (8 * (at % 4)));
            if at % 12 == 11 {
                state = mix(state);
            }
        }
        state[2] = state[2].wrapping_add(u32::try_from(key.len()).unwrap());
        for (at, byte) in key[whole..].iter().enumerate() {
            let (word, place) = if at < 8 { (at / 4, at % 4) } else { (2, at - 7) };
            state[word] = state[word].wrapping_add(u32::from(*byte) << (8 * place));
        }
        mix(state)[2]
    }

    #[test]
    fn the_function_is_the_published_one() {
        // The published value of the empty key.
        assert_eq!(published(b"", 0), 0xbd49_d10d);
        let text: Vec<u8> = (0..100_u8).map(|place| place.wrapping_mul(37)).collect();
        for length in 0..text.len() {
            let initial = std::array::from_fn(|lane| u32::try_from(lane * 1000 + length).unwrap());
            let found = Words::of(&text[..length]).hash(initial);
            assert_eq!(found, initial.map(|initial| published(&text[..length], initial)), "{length}");
        }
    }

    #[test]
    fn the_smallest_values_are_those_of_each_function_over_all_windows() {
        let text = b"one and the same sentence, or nearly the same sentence, once more";
        let windows: BTreeSet<&[u8]> = text.windows(20).collect();
        let expected: Vec<u64> = (0..11)
            .map(|initial| windows.iter().map(|window| u64::from(published(window, initial))).min().unwrap())
            .collect();
        assert_eq!(Family::Jenkins.smallest(text, 20, 11), expected);
        assert_eq!(Family::Words.smallest(text, 20, 11).len(), 11);
        for family in [Family::Jenkins, Family::Words] {
            assert!(family.smallest(&text[..19], 20, 11).is_empty() && !family.name().is_empty());
        }
    }

    #[test]
    fn places_agree_as_often_as_windows_do() {
        let mut rng = Rng::new(9);
        let text: Vec<u8> = (0..4000).map(|_| b'a' + u8::try_from(rng.below(26)).unwrap()).collect();
        let other = [&text[..2600], &text[..900]].concat();
        let truth = jaccard(&text, &other, 20);
        for family in [Family::Jenkins, Family::Words] {
            let found = by_place(&family.smallest(&text, 20, 2000), &family.smallest(&other, 20, 2000));
            // Four standard errors of 2000 draws are 0.043.
            assert!((found - truth).abs() < 0.045, "{family:?} {found} {truth}");
        }
    }

    #[test]
    fn a_comparison_as_sets_counts_every_disagreeing_place_twice() {
        for (a, b, place, sets) in [
            (&[1_u64, 2, 3, 4][..], &[1_u64, 2, 3, 5][..], 0.75, 3.0 / 5.0),
            (&[1, 2], &[1, 2], 1.0, 1.0),
            (&[1, 2], &[3, 4], 0.0, 0.0),
            (&[], &[], 0.0, 0.0),
        ] {
            let found = by_place(a, b);
            assert!((found - place).abs() < 1e-12 && (as_sets(found) - sets).abs() < 1e-12, "{a:?} {b:?}");
            let union: BTreeSet<&u64> = a.iter().chain(b).collect();
            let common = a.iter().filter(|value| b.contains(value)).count();
            assert!((common as f64 / union.len().max(1) as f64 - sets).abs() < 1e-12);
        }
    }
}
