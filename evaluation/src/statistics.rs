//! Means, shares and distributions.

/// The mean; 0 if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation around the mean.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean_value = mean(values);
    mean(&values.iter().map(|value| (value - mean_value).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// The share of a part in a whole; 0 if the whole is 0.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The points of a cumulative distribution: for each of `steps` values up to `most`, the share of `values` that are at most
/// that.
pub(crate) fn cumulative(values: &[f64], most: f64, steps: usize) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    (0..=steps)
        .map(|step| most * step as f64 / steps as f64)
        .map(|at| (at, share(sorted.partition_point(|value| *value <= at), sorted.len())))
        .collect()
}

/// A number without its fraction; 0 for negative numbers.
#[expect(clippy::cast_possible_truncation, reason = "the callers round numbers that are counts")]
pub(crate) fn truncated(value: f64) -> usize {
    value.max(0.0) as usize
}

/// A share in per cent, with one digit after the point.
pub(crate) fn per_cent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_distribution_counts_what_is_at_most_a_value() {
        let curve = cumulative(&[0.5, 0.1, 0.1, 1.0], 1.0, 10);
        assert_eq!(curve.len(), 11);
        assert_eq!([curve[0].1, curve[1].1, curve[5].1, curve[9].1, curve[10].1], [0.0, 0.5, 0.75, 0.75, 1.0]);
    }

    #[test]
    fn mean_and_deviation_are_the_usual_ones() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert!((mean(&values) - 5.0).abs() < 1e-12 && (deviation(&values) - 2.0).abs() < 1e-12);
        assert!(mean(&[]).abs() < 1e-12 && share(1, 0).abs() < 1e-12);
    }

    #[test]
    fn shares_are_shown_in_per_cent_with_one_digit() {
        for (value, expected) in
            [(0.0, "0.0 %"), (0.1234, "12.3 %"), (0.1235, "12.3 %"), (1.0, "100.0 %"), (1.5, "150.0 %")]
        {
            assert_eq!(per_cent(value), expected);
        }
        for (value, expected) in [(-3.0, 0), (0.0, 0), (0.99, 0), (7.5, 7)] {
            assert_eq!(truncated(value), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_distribution_rises_to_one_and_does_not_depend_on_the_order(
            mut values in proptest::collection::vec(0.0..50.0_f64, 1..40),
            steps in 1..30_usize,
        ) {
            let curve = cumulative(&values, 50.0, steps);
            prop_assert_eq!(curve.len(), steps + 1);
            prop_assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
            prop_assert!((curve[steps].1 - 1.0).abs() < 1e-12 && curve[0].0.abs() < 1e-12);
            values.reverse();
            prop_assert_eq!(cumulative(&values, 50.0, steps), curve);
        }

        #[test]
        fn a_shift_moves_the_mean_and_a_scale_the_deviation(
            values in proptest::collection::vec(-50.0..50.0_f64, 1..40),
            shift in -9.0..9.0_f64,
            scale in 0.1..9.0_f64,
        ) {
            let changed: Vec<f64> = values.iter().map(|value| scale * value + shift).collect();
            prop_assert!((mean(&changed) - (scale * mean(&values) + shift)).abs() < 1e-9);
            prop_assert!((deviation(&changed) - scale * deviation(&values)).abs() < 1e-9);
            prop_assert!(deviation(&vec![values[0]; values.len()]).abs() < 1e-9);
        }
    }
}
