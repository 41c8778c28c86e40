use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::agreement::Agreement;
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

/// A signature of the s smallest features.
fn smallest(numbers: &BTreeSet<u64>, s: usize) -> Signature {
    let mut features = sampled(numbers).features;
    features.sort_by_key(Feature::order);
    features.truncate(s);
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
        let (kept_a, kept_b) = (smallest(&a, s), smallest(&b, s));
        let likeness = by_smallest(&kept_a, &kept_b, s as u64, true);
        // The s smallest of all features of both documents, outside of the signatures too.
        let (all_a, all_b) = (sampled(&a).features, sampled(&b).features);
        let mut both: Vec<Feature> = all_a.iter().chain(&all_b).copied().collect();
        both.sort_by_key(Feature::order);
        both.dedup();
        let is_complete = kept_a.features.len() < s && kept_b.features.len() < s;
        let of_both = |sample: &[Feature]| {
            let in_both = sample.iter().filter(|one| all_a.contains(one) && all_b.contains(one)).count();
            some(in_both, sample.len())
        };
        let first = &both[..both.len().min(s)];
        prop_assert_eq!(pair(likeness.resemblance), of_both(if is_complete { &both } else { first }));
        prop_assert!(likeness.resemblance.is_none_or(|estimate| estimate.exact == is_complete));
        prop_assert!(likeness.a_in_b.is_none() && likeness.b_in_a.is_none());
        let of_mod = by_smallest_of_mod(&kept_a, &kept_b, s as u64);
        prop_assert_eq!(pair(of_mod.resemblance), of_both(first));
        prop_assert!(of_mod.resemblance.is_none_or(|estimate| !estimate.exact), "a sample of a sample is never exact");
    }

    #[test]
    fn the_agreement_of_features_is_that_of_the_likeness_wherever_both_have_some(a in sets(), b in sets(), s in 2..20_usize) {
        for (name, param, is_cut) in [
            ("mod", "n=1".to_owned(), false),
            ("mod", "n=20".to_owned(), false),
            ("bsw", String::new(), false),
            ("min", format!("n={s}"), true),
            ("sketch", format!("n={s}"), true),
            ("shingle", "sample=all".to_owned(), false),
            ("shingle", "sample=mod,m=1".to_owned(), false),
            ("shingle", format!("sample=min,s={s}"), true),
            ("shingle", format!("sample=min-of-mod,m=1,s={s}"), true),
            ("shingle", format!("sample=min-of-mod,m=3,s={s}"), true),
            ("shingle", format!("sample=levels,s={s}"), false),
        ] {
            let method = Method::parse(name, View::Raw, None, &param).unwrap();
            let [a, b] = [&a, &b].map(|numbers| if is_cut { smallest(numbers, s) } else { sampled(numbers) });
            let (found, resemblance) = (method.agreement(&a.features, &b.features), method.likeness(&a, &b).resemblance);
            if a.features.is_empty() || b.features.is_empty() {
                // What one of them lacks is no evidence; a sample of both says that nothing agrees.
                prop_assert!(resemblance.is_none_or(|estimate| estimate.agreeing == 0), "{} {}", name, param);
                continue;
            }
            match found {
                Some(Agreement::Sample { agreeing, sample, whole }) => {
                    prop_assert_eq!(resemblance.map(|one| (one.agreeing, one.sample, one.exact)), Some((agreeing, sample, whole)));
                }
                Some(Agreement::Sets { common, a, b, whole }) => {
                    let expected = Some((common, a + b - common, whole));
                    prop_assert_eq!(resemblance.map(|one| (one.agreeing, one.sample, one.exact)), expected, "{} {}", name, param);
                }
                // At the level of the other one nothing is left.
                None => prop_assert!(param.contains("levels") && resemblance.is_none_or(|one| one.agreeing == 0), "{} {}", name, param),
            }
        }
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

#[test]
fn a_signature_that_claims_any_number_of_windows_gives_an_estimate() {
    let (a, b): (BTreeSet<u64>, BTreeSet<u64>) = ((0..30).collect(), (10..40).collect());
    let expected = by_smallest(&smallest(&a, 10), &smallest(&b, 10), 10, true).resemblance.unwrap();
    for windows in [[0, 0], [u64::MAX, u64::MAX], [1, u64::MAX], [1 << 63, 1 << 62]] {
        let [a, b] = [(&a, windows[0]), (&b, windows[1])]
            .map(|(numbers, windows)| Signature { windows, ..smallest(numbers, 10) });
        let found = by_smallest(&a, &b, 10, true).resemblance.unwrap();
        assert_eq!((found.agreeing, found.sample), (expected.agreeing, expected.sample));
        let [low, high] = found.interval.unwrap();
        assert!(0.0 <= low && low <= high && high <= 1.0, "{windows:?} {found:?}");
    }
}
