use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::chunk::{ContentDigest, Tag};
use crate::key::Key;
use crate::signature::Tagger;
use crate::view::View;

/// A signature of some of twenty features that are sampled, or of all kinds of weights.
fn signature(mut features: Vec<Feature>, windows: u64) -> Signature {
    features.sort_unstable();
    Signature { size_bytes: 0, digest: ContentDigest([0; 16]), windows, features, index: None, shortage: None }
}

fn sampled(numbers: &BTreeSet<u64>) -> Signature {
    let tagger = Tagger::new(&Key::none());
    let features = numbers.iter().map(|number| tagger.sampled(crate::SplitMix64::mix(*number))).collect();
    signature(features, numbers.len() as u64)
}

fn sets() -> impl Strategy<Value = BTreeSet<u64>> {
    proptest::collection::btree_set(0..40_u64, 0..30)
}

fn pair(estimate: Option<Estimate>) -> Option<(u64, u64)> {
    estimate.map(|estimate| (estimate.agreeing, estimate.sample))
}

fn some(agreeing: usize, sample: usize) -> Option<(u64, u64)> {
    (sample > 0).then_some((agreeing as u64, sample as u64))
}

proptest! {
    #[test]
    fn sampled_sets_are_compared_as_sets(a in sets(), b in sets(), complete: bool) {
        let likeness = by_sampled_sets(&sampled(&a).features, &sampled(&b).features, complete);
        let common = a.intersection(&b).count();
        prop_assert_eq!(pair(likeness.resemblance), some(common, a.union(&b).count()));
        prop_assert_eq!(pair(likeness.a_in_b), some(common, a.len()));
        prop_assert_eq!(pair(likeness.b_in_a), some(common, b.len()));
        prop_assert_eq!(likeness.is_candidate, common > 0);
        prop_assert!(likeness.resemblance.is_none_or(|estimate| estimate.exact == complete));
    }

    #[test]
    fn the_smallest_of_both_are_looked_up_in_both(a in sets(), b in sets(), s in 1..20_usize) {
        let keep = |numbers: &BTreeSet<u64>| {
            let mut features = sampled(numbers).features;
            features.sort_by_key(Feature::order);
            features.truncate(s);
            signature(features, numbers.len() as u64)
        };
        let (kept_a, kept_b) = (keep(&a), keep(&b));
        let likeness = by_smallest(&kept_a, &kept_b, s as u64);
        // The s smallest of all features of both documents, outside of the signatures too.
        let (all_a, all_b) = (sampled(&a).features, sampled(&b).features);
        let mut both: Vec<Feature> = all_a.iter().chain(&all_b).copied().collect();
        both.sort_by_key(Feature::order);
        both.dedup();
        let is_complete = kept_a.features.len() < s && kept_b.features.len() < s;
        both.truncate(if is_complete { usize::MAX } else { s });
        let in_both = both.iter().filter(|one| all_a.contains(one) && all_b.contains(one)).count();
        prop_assert_eq!(pair(likeness.resemblance), some(in_both, both.len()));
        prop_assert!(likeness.resemblance.is_none_or(|estimate| estimate.exact == is_complete));
        prop_assert!(likeness.a_in_b.is_none() && likeness.b_in_a.is_none());
        let of_mod = by_smallest_of_mod(&kept_a, &kept_b, s as u64);
        prop_assert_eq!(pair(of_mod.resemblance), some(in_both, both.len()));
        prop_assert!(of_mod.resemblance.is_none_or(|estimate| !estimate.exact), "a sample of a sample is never exact");
    }

    #[test]
    fn chunks_in_common_count_as_often_as_both_have_them(
        a in proptest::collection::vec(0..6_u8, 0..20),
        b in proptest::collection::vec(0..6_u8, 0..20),
    ) {
        let chunk = |number: &u8| Feature { tag: Tag([*number; 16]), weight: 100 + u32::from(*number) };
        let of = |numbers: &[u8]| signature(numbers.iter().map(chunk).collect(), 0);
        let likeness = by_weights(&of(&a), &of(&b));
        let count = |numbers: &[u8], number: u8| numbers.iter().filter(|other| **other == number).count();
        let bytes = |numbers: &[u8]| numbers.iter().map(|number| 100 + usize::from(*number)).sum::<usize>();
        let shared: usize = (0..6).map(|number| count(&a, number).min(count(&b, number)) * (100 + usize::from(number))).sum();
        prop_assert_eq!(pair(likeness.a_in_b), some(shared, bytes(&a)));
        prop_assert_eq!(pair(likeness.b_in_a), some(shared, bytes(&b)));
        prop_assert_eq!(pair(likeness.resemblance), some(shared, bytes(&a) + bytes(&b) - shared));
    }

    #[test]
    fn coarse_features_only_make_candidates(a in sets(), b in sets()) {
        let likeness = by_collision(&sampled(&a).features, &sampled(&b).features);
        prop_assert_eq!(likeness.is_candidate, !a.is_disjoint(&b));
        prop_assert!(likeness.resemblance.is_none() && likeness.a_in_b.is_none() && likeness.b_in_a.is_none());
        let places = by_places(&sampled(&a).features, &sampled(&b).features, 50);
        let sample = if a.is_empty() || b.is_empty() { 0 } else { 50 };
        prop_assert_eq!(pair(places.resemblance), some(a.intersection(&b).count(), sample));
    }

    #[test]
    fn likeness_is_symmetric_but_for_its_direction(a in sets(), b in sets()) {
        for (name, param) in [("mod", ""), ("bsw", ""), ("min", "n=9"), ("sketch", "n=9"), ("bsw-chunk", ""), ("shingle", "sample=levels,s=3"), ("shingle", "sample=min-of-mod,s=4"), ("fuzzy", "")] {
            let method = Method::parse(name, View::Raw, None, param).unwrap();
            let (a, b) = (sampled(&a), sampled(&b));
            let (one, other) = (method.likeness(&a, &b), method.likeness(&b, &a));
            prop_assert_eq!(one.resemblance, other.resemblance, "{}", name);
            prop_assert_eq!((one.a_in_b, one.b_in_a, one.is_candidate), (other.b_in_a, other.a_in_b, other.is_candidate));
        }
    }
}

#[test]
fn indexes_are_compared_by_the_range_of_the_first() {
    let of = |index: Option<i128>| Signature { index, ..signature(vec![], 0) };
    for (query, other, expected) in [
        (Some(100), Some(129), true),
        (Some(100), Some(131), false),
        (Some(100), Some(75), true),
        (Some(75), Some(100), false),
        (None, Some(1), false),
        (Some(1), None, false),
    ] {
        assert_eq!(by_range(&of(query), &of(other)).is_candidate, expected, "{query:?} {other:?}");
    }
}
