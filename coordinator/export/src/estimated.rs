//! The precision of estimates in words, next to each share that a method estimates from a sample of a document.

use cognate_result::report::Ratio;

use crate::human::share;

/// The precision of one share: what holds the true one in 95 of 100 cases, and how often such an estimate is close to it.
pub fn one(interval: Option<[Ratio; 2]>, within_tenth: Option<Ratio>) -> String {
    let mut words = "an estimate".to_owned();
    if let Some([low, high]) = interval {
        words.push_str(&format!(": the true share is from {} to {} in 95 of 100 cases", share(low.0), share(high.0)));
    }
    if let Some(within_tenth) = within_tenth {
        words.push_str(&format!("; such estimates are within 10 points of it in {} of cases", share(within_tenth.0)));
    }
    words
}

/// The precision of several: that of the worst.
pub fn many(within_tenth: impl IntoIterator<Item = Option<Ratio>>) -> String {
    match within_tenth.into_iter().flatten().min() {
        Some(least) => format!("estimates, within 10 points of the true share in at least {} of cases", share(least.0)),
        None => "estimates".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_precision_of_an_estimate_is_said_as_far_as_it_is_known() {
        assert_eq!(one(None, None), "an estimate");
        assert_eq!(
            one(Some([Ratio(4120), Ratio(7000)]), Some(Ratio(9712))),
            "an estimate: the true share is from 41.2 % to 70.0 % in 95 of 100 cases; such estimates are within 10 points of it in \
             97.1 % of cases"
        );
        assert_eq!(many([None, None]), "estimates");
        assert_eq!(
            many([Some(Ratio(9900)), None, Some(Ratio(8000))]),
            "estimates, within 10 points of the true share in at least 80.0 % of cases"
        );
    }
}
