//! The ground truth: every run of bytes that two documents share, found without a chunker.
//!
//! A byte of one document is shared if a window of `width` bytes around it occurs somewhere in the other. Windows are found by
//! a rolling hash and compared byte by byte, so the result is exact.

/// The window, in bytes, that experiments take for the truth.
pub(crate) const WIDTH: usize = 32;

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Runs of bytes, ascending and apart from each other.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Runs(Vec<(usize, usize)>);

impl Runs {
    /// The number of bytes in all runs together.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// The number of bytes from `start` up to `end` that are in a run.
    pub(crate) fn within(&self, start: usize, end: usize) -> usize {
        let first = self.0.partition_point(|run| run.1 <= start);
        let overlap = |run: &&(usize, usize)| run.0 < end;
        self.0[first..].iter().take_while(overlap).map(|run| run.1.min(end) - run.0.max(start)).sum()
    }
}

/// An index of the windows of a document.
pub(crate) struct Windows<'a> {
    bytes: &'a [u8],
    width: usize,
    /// (hash, place), by hash.
    places: Vec<(u64, u32)>,
}

impl<'a> Windows<'a> {
    /// The windows of a document of less than 4 GiB.
    pub(crate) fn of(bytes: &'a [u8], width: usize) -> Windows<'a> {
        let mut places: Vec<(u64, u32)> = hashes(bytes, width).zip(0..).collect();
        places.sort_unstable();
        Windows { bytes, width, places }
    }

    fn contains(&self, hash: u64, window: &[u8]) -> bool {
        let first = self.places.partition_point(|place| place.0 < hash);
        let same = self.places[first..].iter().take_while(|place| place.0 == hash);
        same.map(|place| place.1 as usize).any(|at| &self.bytes[at..at + self.width] == window)
    }

    /// The runs of another document that occur here.
    pub(crate) fn shared_runs(&self, other: &[u8]) -> Runs {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (start, hash) in hashes(other, self.width).enumerate() {
            let end = start + self.width;
            if !self.contains(hash, &other[start..end]) {
                continue;
            }
            match runs.last_mut() {
                Some(last) if start <= last.1 => last.1 = end,
                _ => runs.push((start, end)),
            }
        }
        Runs(runs)
    }
}

/// The hash of every window, in order: a polynomial in an odd base, modulo 2^64, mixed.
pub(crate) fn hashes(bytes: &[u8], width: usize) -> impl Iterator<Item = u64> {
    let leading = (1..width).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let value = |byte: &u8| u64::from(*byte) + 1;
    let first = bytes.get(..width.saturating_sub(1)).unwrap_or(&[]);
    let mut hash = first.iter().fold(0_u64, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(value(byte)));
    bytes.windows(width).map(move |window| {
        hash = hash.wrapping_mul(BASE).wrapping_add(value(&window[width - 1]));
        let whole = hash;
        hash = hash.wrapping_sub(value(&window[0]).wrapping_mul(leading));
        crate::rng::mixed(whole)
    })
}

/// The resemblance of two documents, 0 to 1: the windows that both have, of all windows that either has, each once. Windows
/// of the same 64-bit hash count as equal: of a million different ones, two have the same hash with a probability of 1 in 30
/// million.
pub(crate) fn jaccard(a: &[u8], b: &[u8], width: usize) -> f64 {
    let set = |bytes: &[u8]| {
        let mut set: Vec<u64> = hashes(bytes, width).collect();
        set.sort_unstable();
        set.dedup();
        set
    };
    let (a, b) = (set(a), set(b));
    let common = a.iter().filter(|hash| b.binary_search(hash).is_ok()).count();
    match a.len() + b.len() - common {
        0 => 0.0,
        all => common as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::rng::Rng;

    fn by_brute_force(other: &[u8], of: &[u8], width: usize) -> Vec<bool> {
        let mut shared = vec![false; other.len()];
        for (start, window) in other.windows(width).enumerate() {
            if of.windows(width).any(|known| known == window) {
                shared[start..start + width].fill(true);
            }
        }
        shared
    }

    #[test]
    fn shared_runs_are_those_of_brute_force() {
        let mut rng = Rng::new(3);
        for round in 0..300 {
            let letters = 1 + round % 4;
            let mut text = |length: usize| -> Vec<u8> { (0..length).map(|_| b"abcd"[rng.below(letters)]).collect() };
            let (of, other, width) = (text(60), text(round % 90), 1 + round % 7);
            let expected = by_brute_force(&other, &of, width);
            let runs = Windows::of(&of, width).shared_runs(&other);
            let found: Vec<bool> = (0..other.len()).map(|at| runs.within(at, at + 1) == 1).collect();
            assert_eq!(found, expected, "{round}");
            assert_eq!(runs.bytes(), expected.iter().filter(|shared| **shared).count());
            assert_eq!(runs.within(0, other.len()), runs.bytes());
        }
    }

    #[test]
    fn windows_with_the_same_hash_and_other_bytes_are_different() {
        let windows = Windows { bytes: b"abcabd", width: 3, places: vec![(1, 0), (1, 3), (2, 1)] };
        assert!(windows.contains(1, b"abd") && windows.contains(1, b"abc"));
        assert!(!windows.contains(1, b"bca") && !windows.contains(3, b"abc"));
    }

    #[test]
    fn resemblance_counts_each_window_once() {
        // abc bca cab abc and abc bcd: one of four in common.
        let found = jaccard(b"abcabc", b"abcd", 3);
        assert!((found - 0.25).abs() < 1e-12, "{found}");
        assert!(jaccard(b"ab", b"ab", 3).abs() < 1e-12 && (jaccard(b"abc", b"abc", 3) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_rolled_hash_is_that_of_the_window_alone() {
        let text = b"a rose is a rose is a rose";
        for (window, hash) in text.windows(5).zip(hashes(text, 5)) {
            assert_eq!(hashes(window, 5).next(), Some(hash));
        }
    }

    proptest! {
        #[test]
        fn resemblance_is_that_of_the_sets_of_windows(
            a in proptest::collection::vec(b'a'..=b'c', 0..40),
            b in proptest::collection::vec(b'a'..=b'c', 0..40),
            width in 1..6_usize,
        ) {
            let set = |bytes: &[u8]| bytes.windows(width).map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
            let (of_a, of_b) = (set(&a), set(&b));
            let all = of_a.union(&of_b).count();
            let expected = if all == 0 { 0.0 } else { of_a.intersection(&of_b).count() as f64 / all as f64 };
            prop_assert!((jaccard(&a, &b, width) - expected).abs() < 1e-12);
            prop_assert!((jaccard(&b, &a, width) - expected).abs() < 1e-12);
        }

        #[test]
        fn runs_are_ascending_apart_and_at_least_a_window_long(
            a in proptest::collection::vec(b'a'..=b'b', 0..60),
            b in proptest::collection::vec(b'a'..=b'b', 0..60),
            width in 1..9_usize,
        ) {
            let runs = Windows::of(&a, width).shared_runs(&b);
            prop_assert!(runs.0.iter().all(|(start, end)| end - start >= width && *end <= b.len()));
            prop_assert!(runs.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
            for cut in 0..=b.len() {
                prop_assert_eq!(runs.within(0, cut) + runs.within(cut, b.len()), runs.bytes());
            }
            prop_assert_eq!(Windows::of(&b, width).shared_runs(&b).bytes(), if b.len() < width { 0 } else { b.len() });
        }
    }
}
