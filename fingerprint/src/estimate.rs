//! An estimate of how alike two documents are.

use crate::interval::{binomial_interval, float, hypergeometric_interval};

/// A ratio, and the interval that holds the true ratio in 95 of 100 cases, if its error is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The part of the sample that agrees: features, or bytes where features are chunks.
    pub agreeing: u64,
    /// The size of the sample in the same unit, at least 1.
    pub sample: u64,
    /// The interval, from 0 to 1; `None` if the error of the method is not known.
    pub interval: Option<[f64; 2]>,
    /// True if nothing was estimated, because everything in the documents was compared.
    pub exact: bool,
}

impl Estimate {
    /// The ratio of the two, 0 to 1.
    pub fn ratio(&self) -> f64 {
        float(self.agreeing) / float(self.sample)
    }

    /// A comparison of everything: the interval is the ratio. `None` if there is nothing to compare.
    pub(crate) fn exact(agreeing: u64, sample: u64) -> Option<Estimate> {
        let ratio = (sample > 0).then(|| float(agreeing) / float(sample))?;
        Some(Estimate { agreeing, sample, interval: Some([ratio, ratio]), exact: true })
    }

    /// A sample of independent draws, or one from so large a document that it is as good as that.
    pub(crate) fn binomial(agreeing: u64, sample: u64) -> Option<Estimate> {
        let interval = || Some(binomial_interval(agreeing, sample));
        (sample > 0).then(|| Estimate { agreeing, sample, interval: interval(), exact: false })
    }

    /// A sample of draws that depend on each other.
    pub(crate) fn dependent(agreeing: u64, sample: u64) -> Option<Estimate> {
        (sample > 0).then_some(Estimate { agreeing, sample, interval: None, exact: false })
    }

    /// A sample from a population of about `population`, without replacement.
    pub(crate) fn drawn(agreeing: u64, sample: u64, population: u64) -> Option<Estimate> {
        let interval = || Some(hypergeometric_interval(agreeing, sample, population.max(sample)));
        (sample > 0).then(|| Estimate { agreeing, sample, interval: interval(), exact: false })
    }
}

/// The likeness of two documents by their signatures. `None` marks an estimate that the method cannot give.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Likeness {
    /// The share that both have of everything that either has.
    pub resemblance: Option<Estimate>,
    /// The share of the first that is in the second.
    pub a_in_b: Option<Estimate>,
    /// The share of the second that is in the first.
    pub b_in_a: Option<Estimate>,
    /// For methods that only propose pairs (`fuzzy`, `similarity-index`): true if they propose the second document to a
    /// query for the first. For others: true if the two have anything in common.
    pub is_candidate: bool,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_to_compare_gives_no_estimate() {
        assert_eq!(Estimate::exact(0, 0), None);
        assert_eq!(Estimate::binomial(0, 0), None);
        assert_eq!(Estimate::drawn(0, 0, 100), None);
        assert_eq!(Estimate::dependent(0, 0), None);
    }

    proptest! {
        #[test]
        fn the_ratio_is_inside_the_interval_and_more_knowledge_narrows_it(sample in 1..200_u64, part in 0..200_u64, more in 0..5000_u64) {
            let agreeing = part.min(sample);
            let exact = Estimate::exact(agreeing, sample).unwrap();
            let drawn = Estimate::drawn(agreeing, sample, sample + more).unwrap();
            let binomial = Estimate::binomial(agreeing, sample).unwrap();
            for estimate in [exact, drawn, binomial] {
                prop_assert!((estimate.ratio() - float(agreeing) / float(sample)).abs() < 1e-12);
                let [low, high] = estimate.interval.unwrap();
                let rounding = 0.5 / float(sample + more);
                prop_assert!(low <= estimate.ratio() + rounding && estimate.ratio() <= high + rounding, "{estimate:?}");
                prop_assert!(low >= 0.0 && high <= 1.0);
            }
            prop_assert!(exact.exact && !drawn.exact && !binomial.exact);
            let width = |estimate: Estimate| estimate.interval.map(|[low, high]| high - low).unwrap();
            prop_assert!(width(exact) <= width(drawn) && width(drawn) <= width(binomial) + 1.0 / float(sample + more));
        }
    }
}
