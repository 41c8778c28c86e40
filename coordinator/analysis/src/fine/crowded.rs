//! Standard text of large crowds, by the window samples of contents. Of three hundred mails with one disclaimer few pairs are measured, too few
//! for rows of fine chunks to be counted (`frames`). But each content has a sample: a value of it that contents of many kinds have is
//! *crowded*, and a pair that has crowded values alone in common shares what the crowd has.
//!
//! As among frames, what is most of a document is what it is about: only contents count of which crowded values are less than four fifths.

use foldhash::HashSet;

use super::frames::kinds_min;
use super::outside::OutsideLink;
use super::pair::Pair;
use crate::compare::Task;
use crate::freeze::WindowSamples;
use crate::kinds::is_most;

/// The fewest values in common that say what two contents share.
const COMMON_VALUES_MIN: usize = 3;

/// The values that contents of many kinds have.
struct CrowdedValues(HashSet<u64>);

impl Task<'_> {
    /// Those of some links between contents of two kinds, with their bytes, that share the text of a crowd alone.
    pub(super) fn links_of_crowds(&self, links: &[(Pair, u64)], kinds: &[u32]) -> Vec<OutsideLink> {
        let samples = &self.subject.frozen.samples;
        let crowded = CrowdedValues::of(samples, links, kinds);
        let rests = |((a, b), shared_bytes): &(Pair, u64)| {
            if ![a, b].into_iter().all(|content| crowded.is_light(samples, *content)) {
                return None;
            }
            let of_b: HashSet<u64> = samples.of(*b).collect();
            let common = samples.of(*a).filter(|value| of_b.contains(value));
            let (of_crowds, own): (Vec<u64>, Vec<u64>) = common.partition(|value| crowded.0.contains(value));
            let values = of_crowds.len() + own.len();
            if of_crowds.is_empty() || values < COMMON_VALUES_MIN {
                return None;
            }
            let outside = shared_bytes * own.len() as u64 / values as u64;
            let own_bytes = [a, b].map(|content| self.weight(*content).saturating_sub(shared_bytes - outside));
            let is_link = self.is_link(outside, own_bytes[0].min(own_bytes[1]));
            (!is_link).then_some(OutsideLink { a: *a, b: *b, shared_bytes: outside, own_bytes, rests_on_frame: true })
        };
        links.iter().filter_map(rests).collect()
    }
}

impl CrowdedValues {
    /// Among the values of the contents of links. Memory is linear in the contents that have these.
    fn of(samples: &WindowSamples, links: &[(Pair, u64)], kinds: &[u32]) -> CrowdedValues {
        let contents: HashSet<u32> = links.iter().flat_map(|((a, b), _)| [*a, *b]).collect();
        let values: HashSet<u64> = contents.iter().flat_map(|content| samples.of(*content)).collect();
        if values.is_empty() {
            return CrowdedValues(values);
        }
        let sampled = (0..).zip(kinds).filter(|(content, _)| samples.of(*content).next().is_some());
        let least = kinds_min(sampled.clone().count());
        let all = sampled.flat_map(|(content, kind)| samples.of(content).map(move |value| (value, *kind)));
        let mut of_kinds: Vec<(u64, u32)> = all.filter(|(value, _)| values.contains(value)).collect();
        of_kinds.sort_unstable();
        of_kinds.dedup();
        let of_values = of_kinds.chunk_by(|a, b| a.0 == b.0);
        CrowdedValues(of_values.filter(|kinds| kinds.len() >= least as usize).map(|kinds| kinds[0].0).collect())
    }

    /// True if less than four fifths of a content are values of crowds.
    fn is_light(&self, samples: &WindowSamples, content: u32) -> bool {
        let all = samples.of(content).count() as u64;
        !is_most(samples.of(content).filter(|value| self.0.contains(value)).count() as u64, all)
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::WindowSample;

    use super::*;

    /// Samples of sixteen values, of which the first are those of a crowd, and the others of a content alone.
    fn samples(of_crowd: &[u64]) -> WindowSamples {
        let mut samples = WindowSamples::default();
        let sample = |(number, of_crowd): (u64, &u64)| {
            let value = |place: u64| if place < *of_crowd { place } else { 100 * (number + 1) + place };
            samples.put(&WindowSample::new(&(0..16).map(value).collect::<Vec<_>>()).unwrap())
        };
        let places = (0..).zip(of_crowd).map(sample).collect();
        samples.number(places);
        samples
    }

    fn crowded(of_crowd: &[u64], kinds: &[u32]) -> usize {
        CrowdedValues::of(&samples(of_crowd), &[((0, 1), 9)], kinds).0.len()
    }

    #[test]
    fn values_are_crowded_if_contents_of_eight_kinds_have_them_and_versions_count_once() {
        let apart: Vec<u32> = (0..20).collect();
        assert_eq!(crowded(&[6; 8], &apart[..8]), 6);
        assert_eq!(crowded(&[6; 7], &apart[..7]), 0, "seven kinds are too few");
        assert_eq!(crowded(&[6; 8], &[0, 0, 2, 3, 4, 5, 6, 7]), 0);
    }

    #[test]
    fn what_is_most_of_a_content_is_no_standard_text_of_it() {
        let samples = samples(&[6, 12, 13, 16]);
        let values = CrowdedValues((0..16).collect());
        let is_light: Vec<bool> = (0..4).map(|content| values.is_light(&samples, content)).collect();
        assert_eq!(is_light, [true, true, false, false]);
    }
}
