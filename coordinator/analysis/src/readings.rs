//! Pairs in the order in which they are looked at: contents that are read together.
//!
//! Every reading goes through all postings, so there should be few. A reading takes pairs as long as their contents fit the memory. Pairs
//! that are connected by common contents follow each other, so that a content of a small group is read once. A content of a large group is
//! read once with its pairs, and at most once for each pair in which it is the second: readings grow with the pairs, not with their square.

use crate::content_numbers::ContentNumbers;
use crate::disjoint_sets::DisjointSets;

/// Contents that are read at a time, and the pairs of them that are looked at then.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Ascending.
    pub(crate) contents: Vec<u32>,
    pub(crate) pairs: Vec<(u32, u32)>,
}

/// Divides pairs, which ascend, into readings of at most `features_max` features, or of two contents.
pub(crate) fn readings(pairs: &[(u32, u32)], features_max: u64, features_of: impl Fn(u32) -> u64) -> Vec<Reading> {
    let mut contents: Vec<u32> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    contents.sort_unstable();
    contents.dedup();
    if contents.iter().map(|content| features_of(*content)).fold(0, u64::saturating_add) <= features_max {
        let all = Reading { contents, pairs: pairs.to_vec() };
        return Some(all).filter(|all| !all.pairs.is_empty()).into_iter().collect();
    }
    let numbered = ContentNumbers::of(contents);
    let place = |content: u32| numbered.place(content).expect("it is of a pair");
    // Per content, the number of the last reading that has it, from 1 on.
    let mut last = vec![0; numbered.all.len()];
    let (mut all, mut features): (Vec<Reading>, u64) = (Vec::new(), 0);
    for pair in together(pairs, &numbered) {
        let is_new = |content: &u32| last[place(*content)] != all.len();
        let added = [pair.0, pair.1].into_iter().filter(is_new).map(&features_of).fold(0, u64::saturating_add);
        if all.is_empty() || features.saturating_add(added) > features_max {
            all.push(Reading::default());
            features = 0;
        }
        let number = all.len();
        let reading = all.last_mut().expect("there is one by now");
        for content in [pair.0, pair.1] {
            if std::mem::replace(&mut last[place(content)], number) != number {
                reading.contents.push(content);
                features = features.saturating_add(features_of(content));
            }
        }
        reading.pairs.push(pair);
    }
    all.iter_mut().for_each(|reading| reading.contents.sort_unstable());
    all
}

/// The pairs, those that hang together one after the other.
fn together(pairs: &[(u32, u32)], contents: &ContentNumbers) -> Vec<(u32, u32)> {
    let place = |content: u32| {
        let place = contents.place(content).expect("it is of a pair");
        u32::try_from(place).expect("contents have 32-bit numbers")
    };
    let mut sets = DisjointSets::apart(contents.all.len());
    pairs.iter().for_each(|(a, b)| sets.join(place(*a), place(*b)));
    let mut ordered = pairs.to_vec();
    ordered.sort_by_cached_key(|(a, _)| sets.find(place(*a)));
    ordered
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_pair_is_in_one_reading_with_its_contents_and_a_reading_fits_or_has_one_pair(
            pairs in proptest::collection::btree_set((0..60_u32, 0..60_u32), 0..80),
            sizes in proptest::collection::vec(0..30_u64, 60),
            features_max in 1..300_u64,
        ) {
            let pairs: Vec<(u32, u32)> = pairs.into_iter().filter(|(a, b)| a < b).collect();
            let found = readings(&pairs, features_max, |content| sizes[content as usize]);
            let mut all: Vec<(u32, u32)> = found.iter().flat_map(|reading| reading.pairs.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, pairs);
            for reading in &found {
                let mut contents: Vec<u32> = reading.pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
                contents.sort_unstable();
                contents.dedup();
                prop_assert_eq!(&reading.contents, &contents);
                let features: u64 = contents.iter().map(|content| sizes[*content as usize]).sum();
                prop_assert!(features <= features_max || reading.pairs.len() == 1, "{features} {reading:?}");
            }
        }
    }

    #[test]
    fn contents_of_small_groups_are_read_once_wherever_they_are() {
        // Three contents each, far apart.
        let mut pairs: Vec<(u32, u32)> = (0..1000).flat_map(|n| [(n, n + 1000), (n + 1000, n + 2000)]).collect();
        pairs.sort_unstable();
        let found = readings(&pairs, 300, |_| 1);
        assert_eq!(found.len(), 10);
        assert_eq!(found.iter().map(|reading| reading.contents.len()).sum::<usize>(), 3000);
    }

    #[test]
    fn readings_of_a_large_group_grow_with_its_pairs() {
        let chain: Vec<(u32, u32)> = (0..999).map(|n| (n, n + 1)).collect();
        assert_eq!(readings(&chain, 200, |_| 1).len(), 6);
        let hub: Vec<(u32, u32)> = (1..1000).map(|n| (0, n)).collect();
        assert_eq!(readings(&hub, 200, |_| 1).len(), 6);
    }
}
