//! The ground truth: what two documents share, found without a chunker ([`cognate_fingerprint::WindowIndex`]), and their
//! resemblance by windows.

use cognate_fingerprint::window_hashes;

/// The resemblance of two documents, 0 to 1: the windows that both have, of all windows that either has, each once. Windows
/// of the same 64-bit hash count as equal: of a million different ones, two have the same hash with a probability of 1 in 30
/// million.
pub(crate) fn jaccard(a: &[u8], b: &[u8], width: usize) -> f64 {
    let set = |bytes: &[u8]| {
        let mut set: Vec<u64> = window_hashes(bytes, width).collect();
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

    #[test]
    fn resemblance_counts_each_window_once() {
        // abc bca cab abc and abc bcd: one of four in common.
        let found = jaccard(b"abcabc", b"abcd", 3);
        assert!((found - 0.25).abs() < 1e-12, "{found}");
        assert!(jaccard(b"ab", b"ab", 3).abs() < 1e-12 && (jaccard(b"abc", b"abc", 3) - 1.0).abs() < 1e-12);
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
    }
}
