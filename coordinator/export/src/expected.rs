//! The expected error of reported shares in words: the sentence next to the summary, the same in every format.

use std::collections::BTreeMap;

use cognate_proto::path::printable;
use cognate_result::report::{EXACT_PAIRS_MIN, ExactSiteRow, ExpectedError, SampleSection, ScanSection};

use crate::human::{count, points, share};

/// Sites that are named in a sentence.
const NAMED_MAX: usize = 5;

/// What blind samples say, a sentence on how far the shares of a result are from the truth, one on the pairs that it is not about, and one for each reason why
/// sites measured less than they were asked; none where the method has no chunks.
pub fn expected_error(scan: &ScanSection) -> Vec<String> {
    let mut sentences: Vec<String> = scan.samples.iter().filter_map(precision).collect();
    let Some(expected) = scan.run.as_ref().and_then(|run| run.expected_error.as_ref()) else { return sentences };
    sentences.push(within(expected));
    sentences.extend(scan.fine.as_ref().and_then(|fine| omitted(fine.omitted_pairs)));
    sentences.extend(too_few(expected));
    let mut by_reason: BTreeMap<&str, Vec<&ExactSiteRow>> = BTreeMap::new();
    for site in &expected.sites {
        if let Some(reason) = &site.reason {
            by_reason.entry(reason).or_default().push(site);
        }
    }
    sentences.extend(by_reason.iter().map(|(reason, sites)| measured_less(sites, reason)));
    sentences
}

/// The precision that a blind sample shows; nothing while no pair of it is judged.
pub fn precision(sample: &SampleSection) -> Option<String> {
    let ([low, high], precision) = (sample.interval?, sample.precision?);
    let judged = sample.matches + sample.no_matches;
    let drawn = match &sample.filter {
        Some(filter) => {
            format!("{} links of the filter {}", count(sample.links), cognate_proto::shown::harmless(filter))
        }
        None => format!("{} links", count(sample.links)),
    };
    let mut left = Vec::new();
    if sample.unsure > 0 {
        left.push(format!("of {} it could not be said", of_pairs(sample.unsure)));
    }
    if sample.open() > 0 {
        left.push(format!("{} have no answer yet", of_pairs(sample.open())));
    }
    let left = if left.is_empty() { String::new() } else { format!("; {}", left.join(", ")) };
    Some(format!(
        "Precision by a blind sample (number {}): {} of {} are true matches, {}; with 95 % confidence it is between {} and {} for \
         the {drawn}, from which the pairs were drawn by chance over the range of similarity{left}.",
        sample.sample,
        count(sample.matches),
        of_pairs(judged),
        share(precision.0),
        share(low.0),
        share(high.0),
    ))
}

fn within(expected: &ExpectedError) -> String {
    let ExpectedError { median, p90, pairs, .. } = expected;
    format!(
        "Reported shares of two documents are within {} points of the truth in half of the cases and within {} in nine of ten, measured on {} {}.",
        points(median.0),
        points(p90.0),
        of_pairs(*pairs),
        if expected.source == "sites" { "at these sites" } else { "of public documents" },
    )
}

/// The pairs that the figures are not about.
fn omitted(pairs: u64) -> Option<String> {
    let (of_pairs, were) = (of_pairs(pairs), if pairs == 1 { "was" } else { "were" });
    (pairs > 0).then(|| {
        format!("{of_pairs} of documents that are too long, or have closer relatives, {were} compared by whole passages (chunks) alone, and may share more than is reported.")
    })
}

/// The reason why the figures are not those of the sites of the scan.
fn too_few(expected: &ExpectedError) -> Option<String> {
    match (expected.source, expected.sites_pairs) {
        ("sites", _) => None,
        (_, 0) => Some("No pair could be measured at these sites.".to_owned()),
        (_, few) => {
            let few = of_pairs(few);
            Some(format!(
                "At these sites {few} could be measured, too few for figures of their own ({EXACT_PAIRS_MIN} are needed)."
            ))
        }
    }
}

/// Names the sites that measured less than they were asked for one reason.
fn measured_less(sites: &[&ExactSiteRow], reason: &str) -> String {
    let mut names: Vec<String> = sites.iter().take(NAMED_MAX).map(|site| site.site.clone()).collect();
    if sites.len() > NAMED_MAX {
        names.push(format!("{} more", count((sites.len() - NAMED_MAX) as u64)));
    }
    let names = match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.join(""),
    };
    let sum = |of: fn(&ExactSiteRow) -> u64| sites.iter().map(|site| of(site)).sum();
    let (measured, sampled) = (count(sum(|site| site.measured_pairs)), of_pairs(sum(|site| site.sampled_pairs)));
    format!("{names} measured {measured} of {sampled}: {}.", printable(reason.as_bytes()))
}

fn of_pairs(pairs: u64) -> String {
    format!("{} pair{}", count(pairs), if pairs == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use cognate_result::report::Ratio;

    use super::*;

    #[test]
    fn pairs_that_keep_the_figures_of_whole_chunks_are_counted_in_a_sentence() {
        assert_eq!(omitted(0), None);
        let one = "1 pair of documents that are too long, or have closer relatives, was compared by whole passages (chunks) alone, and may share more than is reported.";
        assert_eq!(omitted(1).as_deref(), Some(one));
        assert!(
            omitted(95_175)
                .unwrap()
                .starts_with("95,175 pairs of documents that are too long, or have closer relatives, were ")
        );
    }

    fn expected(pairs: u64, sites_pairs: u64, source: &'static str) -> ExpectedError {
        ExpectedError { median: Ratio(121), p90: Ratio(530), pairs, sites: Vec::new(), sites_pairs, source }
    }

    #[test]
    fn the_sentences_have_both_figures_and_where_they_come_from() {
        let begin = "Reported shares of two documents are within 1.3 points of the truth in half of the cases and within 5.3 in nine of ten, \
                     measured on";
        for (expected, end, few) in [
            (expected(23, 23, "sites"), "23 pairs at these sites.", None),
            (
                expected(2155, 0, "public"),
                "2,155 pairs of public documents.",
                Some("No pair could be measured at these sites."),
            ),
            (
                expected(2155, 1, "public"),
                "2,155 pairs of public documents.",
                Some("At these sites 1 pair could be measured, too few for figures of their own (10 are needed)."),
            ),
        ] {
            assert_eq!((within(&expected), too_few(&expected).as_deref()), (format!("{begin} {end}"), few));
        }
    }

    #[test]
    fn sites_that_measured_less_are_named_with_the_reason() {
        let sites: Vec<ExactSiteRow> = (0..8_u8)
            .map(|number| ExactSiteRow {
                measured_pairs: 2,
                read_bytes: 0,
                reason: Some("policy.fine is never".to_owned()),
                refused: true,
                sampled_pairs: 12,
                site: char::from(b'a' + number).to_string(),
            })
            .collect();
        let sites: Vec<&ExactSiteRow> = sites.iter().collect();
        for (count, expected) in [
            (1, "a measured 2 of 12 pairs: policy.fine is never."),
            (3, "a, b and c measured 6 of 36 pairs: policy.fine is never."),
            (8, "a, b, c, d, e and 3 more measured 16 of 96 pairs: policy.fine is never."),
        ] {
            assert_eq!(measured_less(&sites[..count], "policy.fine is never"), expected);
        }
    }
}
