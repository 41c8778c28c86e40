use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::key::Key;
use crate::method::bsw::Bsw;
use crate::method::levels::Levels;
use crate::method::min_n::MinN;
use crate::method::mod_n::ModN;
use crate::method::sketch::Sketch;
use crate::split_mix::SplitMix64;

fn tagger() -> Tagger {
    Tagger::new(&Key::none())
}

/// Every sampler, with a sample small enough that most values are refused.
fn samplers() -> Vec<(&'static str, Box<dyn AnySampler>)> {
    vec![
        ("mod", Box::new(ModN::new(4))),
        ("min", Box::new(MinN::new(5, u64::MAX, tagger()))),
        ("min of mod", Box::new(MinN::new(5, one_in(4), tagger()))),
        ("sketch", Box::new(Sketch::new(5))),
        ("bsw", Box::new(Bsw::new(4))),
        ("levels", Box::new(Levels::new(5))),
    ]
}

/// Values of which some are repeated.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![any::<u64>(), (0..20_u64).prop_map(SplitMix64::mix)];
    proptest::collection::vec(value, 0..200)
}

proptest! {
    #[test]
    fn the_split_into_blocks_changes_nothing_and_a_sampler_forgets_the_last_document(
        first in values(),
        second in values(),
        step in 1..50_usize,
    ) {
        for ((name, mut in_blocks), (_, mut at_once)) in samplers().into_iter().zip(samplers()) {
            for values in [&first, &second] {
                values.chunks(step).for_each(|block| in_blocks.take(block));
                in_blocks.take(&[]);
                let mut fresh = samplers().into_iter().find(|(other, _)| *other == name).unwrap().1;
                fresh.take(values);
                at_once.take(values);
                let expected = fresh.finish(&tagger());
                prop_assert_eq!(&in_blocks.finish(&tagger()), &expected, "{}", name);
                prop_assert_eq!(&at_once.finish(&tagger()), &expected, "{}", name);
                prop_assert!(expected.is_sorted_by(|a, b| a < b), "{}", name);
            }
        }
    }

    #[test]
    fn samples_that_are_sets_do_not_depend_on_order_or_repeats(values in values(), turn in 0..100_usize) {
        let mut other = values.clone();
        other.extend_from_within(..values.len() / 2);
        let middle = turn % other.len().max(1);
        other.rotate_left(middle);
        for ((name, mut sampler), (_, mut again)) in samplers().into_iter().zip(samplers()) {
            // Runs depend on the order.
            if name == "bsw" {
                continue;
            }
            sampler.take(&values);
            again.take(&other);
            prop_assert_eq!(sampler.finish(&tagger()), again.finish(&tagger()), "{}", name);
        }
    }

    #[test]
    fn distinct_values_are_a_set_in_bounded_memory(seeds in proptest::collection::vec(0..400_u64, 0..4000)) {
        let mut distinct = Distinct::default();
        let mut expected = BTreeSet::new();
        for seed in seeds {
            distinct.insert(SplitMix64::mix(seed));
            expected.insert(SplitMix64::mix(seed));
            prop_assert!(distinct.values.len() <= 1024.max(2 * expected.len()));
        }
        distinct.retain(|value| value % 2 == 0);
        expected.retain(|value| value % 2 == 0);
        let features: BTreeSet<Feature> = expected.into_iter().map(|value| tagger().sampled(value)).collect();
        prop_assert_eq!(distinct.features(&tagger()), features.into_iter().collect::<Vec<_>>());
        prop_assert!(distinct.features(&tagger()).is_empty());
    }

    #[test]
    fn one_in_n_values_is_at_most_the_bound(n in prop_oneof![1..100_u32, any::<u32>().prop_map(|n| n.max(1))]) {
        let kept = u128::from(one_in(n)) + 1;
        prop_assert!(kept * u128::from(n) <= 1 << 64 && (kept + 1) * u128::from(n) > 1 << 64);
    }

    #[test]
    fn recent_values_are_known_and_others_never(values in values()) {
        let mut recent = Recent::new();
        let mut seen = BTreeSet::new();
        for value in values {
            // A value may have been forgotten, but one that never came is not known.
            prop_assert!(!recent.knows(value) || seen.contains(&value));
            seen.insert(value);
            prop_assert!(recent.knows(value));
        }
        recent.clear();
        prop_assert!(seen.into_iter().all(|value| !recent.knows(value)));
    }
}

#[test]
fn no_value_is_known_at_the_start() {
    for value in (0..2000).chain(u64::MAX - 2000..=u64::MAX) {
        assert!(!Recent::new().knows(value), "{value}");
    }
}
