//! A sample of windows that every content could send, in proportion to its bytes: how many truly related pairs it would find.
//!
//! A content sends the windows whose hash is below a bound, and the windows with the smallest hashes in any case. The hash is none
//! that the truth uses: otherwise only pairs that such a sample finds would be asked for.

use cognate_fingerprint::SplitMix64;

use crate::findings::{Cell, Table};
use crate::only_here::content::Content;
use crate::statistics::share;

/// The densities that are tried: one window in so many.
pub(super) const ONE_IN: [u64; 4] = [64, 128, 256, 512];
/// The fewest windows that a content sends, if it has as many.
const WINDOWS_MIN: usize = 16;
/// The bytes that a window costs.
const WINDOW_COST_BYTES: usize = 5;
/// Common windows that are counted: at least one, two and three.
const COMMON: [usize; 3] = [1, 2, 3];

/// The number of windows that a pair's samples have in common, for each density.
pub(super) type Common = [usize; ONE_IN.len()];

/// The hashes that a content sends at the highest density, ascending; those of another density are the first of them.
pub(super) struct Samples {
    hashes: Vec<u64>,
    counts: Common,
}

impl Samples {
    pub(super) fn of(content: &Content) -> Samples {
        let mut hashes: Vec<u64> = content.windows().map(|window| SplitMix64::mix(!window.hash)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let least = WINDOWS_MIN.min(hashes.len());
        let counts = ONE_IN.map(|one_in| hashes.partition_point(|hash| *hash < u64::MAX / one_in).max(least));
        hashes.truncate(counts.into_iter().max().unwrap_or(0));
        hashes.shrink_to_fit();
        Samples { hashes, counts }
    }

    /// What is sent at a density.
    pub(super) fn at(&self, density: usize) -> &[u64] {
        &self.hashes[..self.counts[density]]
    }

    pub(super) fn in_common(&self, other: &Samples) -> Common {
        std::array::from_fn(|density| {
            self.at(density).iter().filter(|hash| other.at(density).binary_search(hash).is_ok()).count()
        })
    }
}

/// The number of windows that the samples of two contents have in common, for each density.
pub(super) fn in_common(a: &Content, b: &Content) -> Common {
    Samples::of(a).in_common(&Samples::of(b))
}

/// The bytes that all contents send at each density, as a share of their bytes.
pub(super) fn costs(contents: &[Content], samples: &[Samples]) -> [f64; ONE_IN.len()] {
    let (mut sent, mut bytes) = ([0; ONE_IN.len()], 0);
    for (content, samples) in contents.iter().zip(samples) {
        bytes += content.bytes.len();
        (0..ONE_IN.len()).for_each(|density| sent[density] += samples.at(density).len() * WINDOW_COST_BYTES);
    }
    sent.map(|sent| share(sent, bytes))
}

/// The table without rows.
pub(super) fn table() -> Table {
    Table::new(
        "only-here-window-sample",
        "Pairs that a sample of windows finds",
        &[
            "pairs",
            "number of pairs",
            "one window in",
            "at least 1 in common, %",
            "at least 2, %",
            "at least 3, %",
            "bytes sent, % of the content",
        ],
    )
}

/// Adds a row for each density.
pub(super) fn add_rows(table: &mut Table, pairs: &str, common: &[Common], costs: Option<[f64; ONE_IN.len()]>) {
    for (density, one_in) in ONE_IN.into_iter().enumerate() {
        let found = |least: usize| {
            let count = common.iter().filter(|common| common[density] >= least).count();
            Cell::number(100.0 * share(count, common.len()))
        };
        let [one, two, three] = COMMON.map(found);
        let cost = costs.map(|costs| 100.0 * costs[density]);
        table.row([pairs.into(), common.len().into(), one_in.into(), one, two, three, cost.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_sample_is_in_proportion_to_the_content_and_a_small_one_sends_some_windows_in_any_case() {
        let mut rng = Rng::new(5);
        let mut content = |bytes: usize| {
            Content::new((0..bytes).map(|_| b'a' + u8::try_from(rng.below(26)).unwrap()).collect(), false)
        };
        let (long, short, tiny) = (content(64_000), content(1000), content(40));
        let counts = |content: &Content| Samples::of(content).counts;
        let of_long = counts(&long);
        assert!((850..1150).contains(&of_long[0]) && (90..160).contains(&of_long[3]), "{of_long:?}");
        assert_eq!(counts(&short)[1..], [WINDOWS_MIN; 3]);
        assert_eq!(counts(&tiny), [9; ONE_IN.len()]);
        assert_eq!(in_common(&long, &long), of_long);
        assert_eq!(in_common(&long, &short), [0; ONE_IN.len()]);
    }
}
