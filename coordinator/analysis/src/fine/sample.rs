//! The sample of pairs that sites measure exactly, to say how far reported shares are from the truth.
//!
//! Of a comparison by fine chunks it is drawn from the pairs that are measured, and those that whole chunks decide: what is reported of
//! two documents is a figure of such a pair. Pairs that share chunks and are not measured, such as siblings at home of what has its relative
//! elsewhere, are in no list, so their error says nothing about the report. Of a comparison by whole chunks it is
//! drawn from the pairs that share chunks, and from those that names and places propose, linked or not, so that the error is not that of pairs
//! alone which are easy to find. Both contents of a pair are at one site, in files and not in
//! archives, and of [`MEASURE_CONTENT_BYTES_MAX`] at most; no template is in them. A hash of both digests gives the order in
//! which pairs are taken: equal inputs have equal samples, whatever the order of arrival.

use std::collections::{BTreeSet, HashMap};

use cognate_fingerprint::SplitMix64;
use cognate_proto::limits::{MEASURE_BYTES_MAX, MEASURE_CONTENT_BYTES_MAX, MEASURE_PAIRS_MAX};

use super::pair::Pair;
use crate::freeze::FrozenContent;
use crate::part::Part;
use crate::subject::Subject;

/// Pairs in which one content may be: a content with many relatives does not decide about the sample.
const PAIRS_PER_CONTENT_MAX: usize = 4;
/// Pairs that are held while the sample is drawn: those beyond [`MEASURE_PAIRS_MAX`] take the places of pairs that are too
/// large, or whose contents are in enough others.
const DRAWN_MAX: usize = 16 * MEASURE_PAIRS_MAX;
/// Sites that can be asked: the first ones, by their names.
const SITES_MAX: u16 = 64;

/// A pair of the sample.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SampledPair {
    order: u64,
    /// Its contents, ascending.
    pub(super) a: u32,
    pub(super) b: u32,
    /// The number of a site that has both.
    pub(super) site: u16,
    /// The bytes of both together.
    bytes: u64,
}

/// The pairs that come first by their hashes.
#[derive(Default)]
struct Drawing {
    first: BTreeSet<SampledPair>,
}

/// The sites that have each content in a form that can be measured, a bit for each.
struct ContentSites(Vec<u64>);

/// A sample that is being drawn.
pub(super) struct Sampling<'a> {
    contents: &'a [FrozenContent],
    places: ContentSites,
    takes_places: bool,
    drawing: Drawing,
}

impl<'a> Sampling<'a> {
    pub(super) fn of(subject: &Subject<'a>) -> Sampling<'a> {
        Sampling {
            contents: &subject.frozen.contents,
            places: ContentSites::of(subject),
            takes_places: subject.frozen.has_site_with_two_repositories(),
            drawing: Drawing::default(),
        }
    }

    /// True if pairs at one place are in the population of a comparison by whole chunks: only a site with two repositories has many that it
    /// can measure.
    pub(super) fn takes_places(&self) -> bool {
        self.takes_places
    }

    /// Adds pairs of the population, some of which may be there already.
    pub(super) fn add_all(&mut self, pairs: &[Pair]) {
        pairs.iter().for_each(|(a, b)| self.add(*a, *b));
    }

    /// Adds a pair, ascending.
    fn add(&mut self, a: u32, b: u32) {
        if let Some(site) = self.places.common(a, b) {
            let [of_a, of_b] = [a, b].map(|content| &self.contents[content as usize]);
            let order = SplitMix64::mix(word(of_a) ^ SplitMix64::mix(word(of_b)));
            self.drawing.add(SampledPair { order, a, b, site, bytes: of_a.size_bytes + of_b.size_bytes });
        }
    }

    /// The sample.
    pub(super) fn finish(self) -> Vec<SampledPair> {
        self.drawing.finish()
    }
}

/// The first half of a digest, which is a hash.
fn word(content: &FrozenContent) -> u64 {
    let (first, _) = content.digest.0.as_chunks::<8>();
    u64::from_le_bytes(first[0])
}

impl Drawing {
    /// Adds a pair, which may be there already.
    fn add(&mut self, pair: SampledPair) {
        self.first.insert(pair);
        if self.first.len() > DRAWN_MAX {
            self.first.pop_last();
        }
    }

    /// The sample, in the order of its hashes: few pairs of each content, and within the limits of a query.
    fn finish(self) -> Vec<SampledPair> {
        let mut sample = Vec::new();
        let mut of_content: HashMap<u32, usize> = HashMap::new();
        let mut bytes = 0;
        for pair in self.first {
            let is_taken =
                [pair.a, pair.b].iter().any(|content| of_content.get(content) == Some(&PAIRS_PER_CONTENT_MAX));
            if is_taken || bytes + pair.bytes > MEASURE_BYTES_MAX {
                continue;
            }
            bytes += pair.bytes;
            [pair.a, pair.b].into_iter().for_each(|content| *of_content.entry(content).or_default() += 1);
            sample.push(pair);
            if sample.len() == MEASURE_PAIRS_MAX {
                break;
            }
        }
        sample
    }
}

impl ContentSites {
    fn of(subject: &Subject<'_>) -> ContentSites {
        let frozen = subject.frozen;
        let mut sites = vec![0; frozen.contents.len()];
        for document in &frozen.documents {
            let site = frozen.roots[usize::from(document.root)].site_number;
            // A member costs its site the reading of a complete archive.
            if site < SITES_MAX && document.part != Part::Member {
                sites[document.content.0 as usize] |= 1 << site;
            }
        }
        for (sites, content) in sites.iter_mut().zip(&frozen.contents) {
            // The share of a content with templates is of its other bytes, and sites know nothing of templates.
            let is_measured = content.weight == content.size_bytes
                && (1..=MEASURE_CONTENT_BYTES_MAX).contains(&content.size_bytes)
                && !frozen.renamed.contains_key(&content.digest);
            if !is_measured {
                *sites = 0;
            }
        }
        ContentSites(sites)
    }

    /// The first site that has both contents.
    fn common(&self, a: u32, b: u32) -> Option<u16> {
        let both = self.0[a as usize] & self.0[b as usize];
        (both != 0).then(|| u16::try_from(both.trailing_zeros()).expect("a bit of 64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(order: u64, a: u32, b: u32, bytes: u64) -> SampledPair {
        SampledPair { order: SplitMix64::mix(order), a, b, site: 0, bytes }
    }

    fn drawn(pairs: impl Iterator<Item = SampledPair>) -> Vec<SampledPair> {
        let mut drawing = Drawing::default();
        pairs.for_each(|pair| drawing.add(pair));
        drawing.finish()
    }

    #[test]
    fn the_sample_is_the_same_in_whatever_order_pairs_come_and_however_often() {
        let all: Vec<SampledPair> = (0..5000).map(|number| pair(number.into(), number, number + 5000, 4000)).collect();
        let sample = drawn(all.iter().copied());
        assert_eq!(sample.len(), MEASURE_PAIRS_MAX);
        assert_eq!(drawn(all.iter().rev().chain(&all).copied()), sample);
        assert!(sample.is_sorted_by_key(|pair| pair.order));
    }

    #[test]
    fn one_content_with_many_relatives_does_not_decide_about_the_sample() {
        let hub = (0..900).map(|number| pair(number, 0, u32::try_from(number).unwrap() + 1, 4000));
        let others = (900..1000).map(|number| {
            let number = u32::try_from(number).unwrap();
            pair(number.into(), number + 1000, number + 2000, 4000)
        });
        let sample = drawn(hub.chain(others));
        let of_hub = sample.iter().filter(|pair| pair.a == 0).count();
        assert_eq!((of_hub, sample.len()), (PAIRS_PER_CONTENT_MAX, MEASURE_PAIRS_MAX));
    }

    #[test]
    fn the_sample_keeps_to_the_bytes_of_a_query_and_small_pairs_take_the_places_of_large_ones() {
        let large = (0..40).map(|number| {
            let content = u32::try_from(number).unwrap();
            pair(number, content, content + 100, 2 * MEASURE_CONTENT_BYTES_MAX - 1000)
        });
        let small = (40..60).map(|number| {
            let number = u32::try_from(number).unwrap();
            pair(number.into(), number + 1000, number + 2000, 100)
        });
        let sample = drawn(large.chain(small));
        let bytes: u64 = sample.iter().map(|pair| pair.bytes).sum();
        assert!(bytes <= MEASURE_BYTES_MAX && bytes > MEASURE_BYTES_MAX / 2, "{bytes}");
        assert!(sample.iter().any(|pair| pair.bytes == 100));
    }
}
