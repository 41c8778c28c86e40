use proptest::prelude::*;

use super::*;

#[track_caller]
fn close(found: f64, expected: f64, error: f64) {
    assert!((found - expected).abs() <= error, "{found} is not {expected}");
}

#[test]
fn probabilities_are_those_of_the_distributions() {
    // Ten throws of a coin: 252 of 1024 come to five.
    close(within(10, 0.5, 0.0), 252.0 / 1024.0, 1e-12);
    close(within(10, 0.5, 0.1), 672.0 / 1024.0, 1e-12);
    close(within(10, 0.5, 0.5), 1.0, 1e-12);
    close(within(100, 1.0, 0.0), 1.0, 1e-12);
    close(within_tenth(5, 10), 672.0 / 1024.0, 1e-12);
    // Five cards of 52: one ace with a probability of 0.299473636.
    let aces = Hypergeometric { draws: 5, common: 4, population: 52 };
    close(aces.probability(|k| k == 1), 0.299_473_636, 1e-9);
    close(aces.probability(|k| k == 4), 0.000_018_469, 1e-9);
}

#[test]
fn a_pair_below_50_per_cent_is_never_taken_for_one_above_90() {
    // Broder: less than 0.1 % for the whole Web of 30 million documents, with 100 samples; 4.5e14 pairs.
    let above = Binomial { draws: 100, ratio: 0.5 }.probability(|k| k > 90);
    assert!(above * 4.5e14 < 0.001, "{above}");
}

#[test]
fn intervals_are_the_published_ones() {
    // Clopper and Pearson's tables at 95 %, and the rule of three for none.
    let check = |agreeing, sample, low, high| {
        let [found_low, found_high] = binomial_interval(agreeing, sample);
        close(found_low, low, 5e-5);
        close(found_high, high, 5e-5);
    };
    check(0, 10, 0.0, 0.3085);
    check(5, 10, 0.1871, 0.8129);
    check(10, 10, 0.6915, 1.0);
    check(81, 263, 0.2527, 0.3676);
    check(0, 100, 0.0, 0.0362);
}

#[test]
fn a_sample_of_everything_leaves_no_doubt() {
    for agreeing in 0..=20 {
        let [low, high] = hypergeometric_interval(agreeing, 20, 20);
        close(low, float(agreeing) / 20.0, 1e-12);
        close(high, float(agreeing) / 20.0, 1e-12);
    }
}

#[test]
fn a_sample_of_very_much_is_as_good_as_independent_draws() {
    for (agreeing, population) in
        [0, 1, 50, 99, 100].into_iter().flat_map(|k| [(k, 100_000_000), (k, 1 << 60), (k, u64::MAX)])
    {
        let [low, high] = hypergeometric_interval(agreeing, 100, population);
        let [binomial_low, binomial_high] = binomial_interval(agreeing, 100);
        close(low, binomial_low, 1e-5);
        close(high, binomial_high, 1e-5);
    }
    // And the smaller the population, the narrower.
    let width = |population| {
        let [low, high] = hypergeometric_interval(50, 100, population);
        high - low
    };
    assert!(width(150) < width(300) && width(300) < width(100_000));
}

/// The binomial coefficient, exactly.
fn choose(n: u64, k: u64) -> u128 {
    (0..u128::from(k)).fold(1, |product, i| product * (u128::from(n) - i) / (i + 1))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn ratio(part: u128, all: u128) -> f64 {
    part as f64 / all as f64
}

proptest! {
    #[test]
    fn binomial_probabilities_are_those_of_counting(draws in 0..16_u64, hits in 0..=8_u64, k in 0..16_u64) {
        // Each draw succeeds in `hits` of 8 cases: count the outcomes with k successes.
        let outcomes = |k: u64| if k > draws { 0 } else {
            choose(draws, k) * u128::from(hits).pow(u32::try_from(k).unwrap())
                * u128::from(8 - hits).pow(u32::try_from(draws - k).unwrap())
        };
        let all = 8_u128.pow(u32::try_from(draws).unwrap());
        let found = Binomial { draws, ratio: float(hits) / 8.0 }.probability(|other| other == k);
        close(found, ratio(outcomes(k), all), 1e-12);
    }

    #[test]
    fn hypergeometric_probabilities_are_those_of_counting(population in 1..30_u64, common in 0..30_u64, draws in 0..30_u64, k in 0..30_u64) {
        let (common, draws) = (common.min(population), draws.min(population));
        let is_possible = k <= common && k <= draws && draws - k <= population - common;
        let outcomes = if is_possible { choose(common, k) * choose(population - common, draws - k) } else { 0 };
        let found = Hypergeometric { draws, common, population }.probability(|other| other == k);
        close(found, ratio(outcomes, choose(population, draws)), 1e-12);
    }

    #[test]
    fn the_probability_of_being_close_is_the_sum_over_the_close_counts(sample in 1..40_u64, tenths in 0..=10_u64, within_tenths in 0..=10_u64) {
        let (true_ratio, error) = (float(tenths) / 10.0, float(within_tenths) / 10.0);
        let is_close = |k: &u64| (10 * k).abs_diff(tenths * sample) <= within_tenths * sample;
        let each = |k: u64| Binomial { draws: sample, ratio: true_ratio }.probability(|other| other == k);
        let expected: f64 = (0..=sample).filter(is_close).map(each).sum();
        close(within(sample, true_ratio, error), expected, 1e-9);
    }

    #[test]
    fn an_interval_holds_the_ratio_and_leaves_out_its_tail_at_each_end(
        sample in 1..60_u64,
        part in 0..60_u64,
        selected in any::<bool>(),
    ) {
        let agreeing = part.min(sample);
        let interval = if selected { interval_of_selected } else { binomial_interval };
        let tail = if selected { 0.005 } else { 0.025 };
        let [low, high] = interval(agreeing, sample);
        let found = float(agreeing) / float(sample);
        prop_assert!((0.0..=found + 1e-9).contains(&low) && (found - 1e-9..=1.0).contains(&high));
        let at = |ratio| Binomial { draws: sample, ratio };
        if agreeing > 0 {
            close(at(low).probability(|k| k >= agreeing), tail, 1e-6);
        }
        if agreeing < sample {
            close(at(high).probability(|k| k <= agreeing), tail, 1e-6);
        }
        let [mirrored_low, mirrored_high] = interval(sample - agreeing, sample);
        close(low, 1.0 - mirrored_high, 1e-9);
        close(high, 1.0 - mirrored_low, 1e-9);
    }

    #[test]
    fn a_hypergeometric_interval_holds_exactly_the_numbers_that_are_not_unlikely(population in 1..40_u64, sample in 1..40_u64, part in 0..40_u64) {
        let sample = sample.min(population);
        let agreeing = part.min(sample);
        // Every number in common under which the outcome is possible and in neither tail.
        let at = |common| Hypergeometric { draws: sample, common, population };
        let is_likely = |common: &u64| {
            at(*common).probability(|k| k >= agreeing) > TAIL && at(*common).probability(|k| k <= agreeing) > TAIL
        };
        let likely: Vec<u64> = (agreeing..=population - (sample - agreeing)).filter(is_likely).collect();
        let [low, high] = hypergeometric_interval(agreeing, sample, population);
        close(low, float(likely[0]) / float(population), 1e-12);
        close(high, float(likely[likely.len() - 1]) / float(population), 1e-12);
    }
}
