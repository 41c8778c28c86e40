//! Blind samples: drawing pairs of linked contents by chance, and taking in what people say of them without seeing a verdict.
//!
//! The links are put in the order of their similarity and cut into as many equal parts as pairs are wanted; one link is drawn
//! from each part. So the sample covers the whole range, and each link has the same chance.

use cognate_fingerprint::SplitMix64;
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::ScanId;
use cognate_proto::v1;

use super::{Verdicts, refused};
use crate::error::Error;
use cognate_result::browse::ClusterFilter;
use cognate_result::report::Reader;
use cognate_storage::clock::random_number;
use cognate_storage::journal::What;
use cognate_storage::sample::{Answer, Judged, SampleRow, SampledPair};

/// Pairs of a sample at most: nobody looks at more.
const PAIRS_MAX: u64 = 1000;
/// Samples of the federation at most: each stays for ever.
const SAMPLES_MAX: usize = 1000;
/// Parts of the range of similarity of which a sample tells the answers apart.
const BANDS: usize = 4;

/// A sample to be drawn.
#[derive(Debug)]
pub struct SampleRequest {
    /// From the result of this scan.
    pub scan: ScanId,
    /// Of the links of these clusters.
    pub filter: ClusterFilter,
    /// Number of pairs.
    pub pairs: u64,
}

impl Verdicts {
    /// Draws a sample, and returns its number.
    ///
    /// # Errors
    /// Fails if too many pairs are wanted, or there is no link.
    pub fn draw_sample(&self, request: &SampleRequest, by: &str, reader: &Reader) -> Result<u64, Error> {
        if !(1..=PAIRS_MAX).contains(&request.pairs) {
            return Err(refused("pairs", format!("1 to {PAIRS_MAX}")));
        }
        if self.records.store.samples()?.len() >= SAMPLES_MAX {
            return Err(Error::Refused(format!("there are {SAMPLES_MAX} samples already")));
        }
        let filter = request.filter.to_query();
        if filter.len() > TEXT_BYTES_MAX {
            return Err(refused("filter", "it is too long"));
        }
        let browse = self.results.browse_for(request.scan, &request.filter, reader)?;
        let links = browse.links_by_similarity(&request.filter)?;
        if links.is_empty() {
            return Err(Error::Refused("no link to draw from: no cluster matches the filter".to_owned()));
        }
        let mut pairs = Vec::new();
        for place in drawn(links.len() as u64, request.pairs, random_number()) {
            let number = usize::try_from(place).ok().and_then(|place| links.get(place).copied()).unwrap_or_default();
            if let Some(link) = browse.sampled_link(number)? {
                let [a, b] = link.digests;
                let (view, similarity) = (link.view, link.similarity);
                pairs.push(SampledPair { view, a, b, similarity, answer: Answer::Open.into(), by: String::new() });
            }
        }
        let id = self.records.store.next_number()?;
        let sample = SampleRow {
            id,
            scan: request.scan.0,
            by: by.to_owned(),
            time: self.records.now(),
            filter,
            links: links.len() as u64,
            pairs,
            party: browse.party().unwrap_or_default().to_owned(),
            is_bound: reader.party.is_some(),
        };
        self.records.record(What::SampleDrawn(sample), by)?;
        Ok(id)
    }

    /// Takes in what a person says of a pair of a sample, by its place from 0.
    ///
    /// # Errors
    /// Fails if there is no such pair of a sample of this scan.
    pub fn judge(
        &self,
        scan: ScanId,
        (sample, pair): (u64, u32),
        answer: Answer,
        (by, reader): (&str, &Reader),
    ) -> Result<(), Error> {
        let found = self.sample(scan, sample, reader)?;
        if found.pairs.get(pair as usize).is_none() || answer == Answer::Open {
            return Err(refused("pair", "the sample has no such pair"));
        }
        Ok(self.records.record(What::SampleJudged(Judged { sample, pair, answer: answer.into() }), by)?)
    }

    /// A sample of a scan.
    ///
    /// # Errors
    /// Fails if there is none that the person may see.
    pub fn sample(&self, scan: ScanId, sample: u64, reader: &Reader) -> Result<SampleRow, Error> {
        let found = self.records.store.sample(sample)?.filter(|row| row.scan == scan.0 && may_see(row, reader));
        found.ok_or_else(|| Error::Unknown(format!("no sample {sample} of this scan")))
    }

    /// The samples of a scan that a person may see, in the order in which they were drawn.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn samples_of(&self, scan: ScanId, reader: &Reader) -> Result<Vec<SampleRow>, Error> {
        let mut samples = self.records.store.samples()?;
        samples.retain(|row| row.scan == scan.0 && may_see(row, reader));
        Ok(samples)
    }
}

/// People who are bound to a party see the samples of that party; all others see all.
fn may_see(row: &SampleRow, reader: &Reader) -> bool {
    reader.party.as_ref().is_none_or(|own| row.is_bound && row.party == *own)
}

/// One place of each of `wanted` equal parts of `population` places, or all of them if they are no more.
fn drawn(population: u64, wanted: u64, seed: u64) -> Vec<u64> {
    if population <= wanted {
        return (0..population).collect();
    }
    let mut random = SplitMix64::new(seed);
    let part = |number: u64| u128::from(number) * u128::from(population) / u128::from(wanted);
    let draw = |number: u64| {
        let (from, to) = (part(number), part(number + 1));
        let within = (u128::from(random.next()) * (to - from)) >> 64;
        u64::try_from(from + within).unwrap_or(population - 1)
    };
    (0..wanted).map(draw).collect()
}

/// What a sample says, in bands of similarity.
pub(super) fn state(row: &SampleRow) -> v1::SampleState {
    let of_band = row.pairs.len().div_ceil(BANDS).max(1);
    let ratio = |pair: Option<&SampledPair>| {
        pair.map_or(0, |pair| u32::try_from(pair.similarity.clamp(0, 10_000)).unwrap_or_default())
    };
    let band = |pairs: &[SampledPair]| {
        let said = |answer| pairs.iter().filter(|pair| pair.answer() == answer).count() as u64;
        v1::SampleBand {
            from: ratio(pairs.first()),
            to: ratio(pairs.last()),
            pairs: pairs.len() as u64,
            matches: said(Answer::Match),
            no_matches: said(Answer::NoMatch),
            unsure: said(Answer::Unsure),
        }
    };
    v1::SampleState {
        sample: row.id,
        by: row.by.clone(),
        time: row.time,
        filter: row.filter.clone(),
        links: row.links,
        bands: row.pairs.chunks(of_band).map(band).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_is_drawn_from_each_part_and_each_place_has_the_same_chance() {
        for (population, wanted) in [(10, 10), (3, 10), (0, 5)] {
            assert_eq!(drawn(population, wanted, 1), (0..population).collect::<Vec<_>>());
        }
        let (population, wanted, rounds) = (103, 10, 20_000);
        let mut counts = vec![0_u32; 103];
        for seed in 0..rounds {
            let places = drawn(population, wanted, seed * 7919);
            for (number, place) in (0_u64..).zip(&places) {
                let (from, to) = (number * population / wanted, (number + 1) * population / wanted);
                assert!((from..to).contains(place), "{place} of part {number}");
            }
            places.iter().for_each(|place| counts[usize::try_from(*place).unwrap()] += 1);
        }
        // A part has 10 or 11 places, each of which is drawn in a tenth or an eleventh of the rounds.
        assert!(counts.iter().all(|count| (1600..2250).contains(count)), "{counts:?}");
    }
}
