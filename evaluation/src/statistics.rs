//! Means, shares and distributions.

/// The mean; 0 of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation around the mean.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean_value = mean(values);
    mean(&values.iter().map(|value| (value - mean_value).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// A part of a whole; 0 of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The points of a cumulative distribution: for each of `steps` values up to `most`, which share of `values` is at most
/// that.
pub(crate) fn cumulative(values: &[f64], most: f64, steps: usize) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    (0..=steps)
        .map(|step| most * step as f64 / steps as f64)
        .map(|at| (at, share(sorted.partition_point(|value| *value <= at), sorted.len())))
        .collect()
}

/// A number without its fraction; 0 of what is below.
#[expect(clippy::cast_possible_truncation, reason = "counts that came from counts")]
pub(crate) fn whole(value: f64) -> usize {
    value.max(0.0) as usize
}

/// As per cent, to one digit after the point.
pub(crate) fn per_cent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
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
}
