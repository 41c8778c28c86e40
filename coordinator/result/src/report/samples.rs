//! The precision of a result's links by blind samples, with its interval. Samples are no part of the result: the digest
//! leaves them out.

use cognate_fingerprint::binomial_interval;
use cognate_proto::v1::{SampleBand, SampleState};
use serde::Serialize;

use super::{Ratio, Report, time};

/// A blind sample of links, and what people said of its pairs.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct SampleSection {
    /// Answers in equal parts of the range of similarity, the least similar pairs first.
    pub bands: Vec<BandRow>,
    /// Name of the person who had it drawn.
    pub by: String,
    /// The filter of the clusters from whose links it was drawn; absent: of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The interval that holds the precision of all these links in at least 95 of 100 cases; absent: no pair is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[Ratio; 2]>,
    /// Number of links from which it was drawn.
    pub links: u64,
    /// Pairs that are true matches.
    pub matches: u64,
    /// Pairs that are not.
    pub no_matches: u64,
    /// Pairs that were drawn.
    pub pairs: u64,
    /// True matches of all pairs that were judged a match or not; absent: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Ratio>,
    /// Its number.
    pub sample: u64,
    /// The time at which it was drawn.
    pub time: String,
    /// Pairs of which people could not say it.
    pub unsure: u64,
}

/// Answers about pairs of about the same similarity.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct BandRow {
    /// Similarity of the least similar pair.
    pub from: Ratio,
    /// Pairs that are true matches.
    pub matches: u64,
    /// Pairs that are not.
    pub no_matches: u64,
    /// Pairs that were drawn.
    pub pairs: u64,
    /// Similarity of the most similar pair.
    pub to: Ratio,
    /// Pairs of which people could not say it.
    pub unsure: u64,
}

impl SampleSection {
    /// The precision that a sample shows.
    ///
    /// One pair is drawn from each of as many equal parts of the links in the order of their similarity. So every link has
    /// the same chance, the share of true matches is unbiased, and it varies no more than that of independent draws: the
    /// interval of Clopper and Pearson (1934) is on the safe side.
    pub fn of(state: &SampleState) -> SampleSection {
        let sum = |of: fn(&SampleBand) -> u64| state.bands.iter().map(of).sum::<u64>();
        let (matches, no_matches) = (sum(|band| band.matches), sum(|band| band.no_matches));
        let judged = matches + no_matches;
        SampleSection {
            bands: state.bands.iter().map(BandRow::of).collect(),
            by: state.by.clone(),
            filter: Some(state.filter.clone()).filter(|filter| !filter.is_empty()),
            interval: (judged > 0).then(|| interval(matches, judged)),
            links: state.links,
            matches,
            no_matches,
            pairs: sum(|band| band.pairs),
            precision: (judged > 0).then(|| Ratio::of(matches, judged)),
            sample: state.sample,
            time: time(state.time),
            unsure: sum(|band| band.unsure),
        }
    }

    /// Pairs without an answer.
    pub fn open(&self) -> u64 {
        self.pairs.saturating_sub(self.matches + self.no_matches + self.unsure)
    }
}

impl BandRow {
    fn of(band: &SampleBand) -> BandRow {
        BandRow {
            from: Ratio(band.from.into()),
            matches: band.matches,
            no_matches: band.no_matches,
            pairs: band.pairs,
            to: Ratio(band.to.into()),
            unsure: band.unsure,
        }
    }
}

/// The ends are rounded outwards.
#[expect(clippy::cast_possible_truncation, reason = "0 to 10,000")]
fn interval(matches: u64, judged: u64) -> [Ratio; 2] {
    let [low, high] = binomial_interval(matches, judged);
    [Ratio((low * 10_000.0).floor() as i64), Ratio((high * 10_000.0).ceil() as i64)]
}

impl Report {
    /// Adds what samples say, as the coordinator has them for this result.
    pub fn set_samples(&mut self, states: &[SampleState]) {
        self.samples = states.iter().map(SampleSection::of).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_precision_of_a_sample_has_the_interval_of_clopper_and_pearson() {
        let band =
            |matches, no_matches, unsure| SampleBand { from: 0, to: 10_000, pairs: 20, matches, no_matches, unsure };
        let state = SampleState { links: 1204, bands: vec![band(17, 2, 1), band(19, 0, 1)], ..SampleState::default() };
        let section = SampleSection::of(&state);
        // 36 of 38: 82.25 % to 99.36 % by the tables of the beta distribution.
        assert_eq!(section.precision, Some(Ratio(9474)));
        assert_eq!(section.interval, Some([Ratio(8225), Ratio(9936)]));
        assert_eq!((section.pairs, section.unsure, section.open()), (40, 2, 0));
        let nothing = SampleSection::of(&SampleState { bands: vec![band(0, 0, 3)], ..SampleState::default() });
        assert_eq!((nothing.precision, nothing.interval, nothing.open()), (None, None, 17));
    }
}
