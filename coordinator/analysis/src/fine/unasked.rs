//! The bytes in common with contents without a candidate, by their window samples. No site is asked for their chunks, since they have too
//! little in common with any single content; but a passage here and one there add up.
//!
//! A window of [`DENSEST_LEVEL`] or above is in the sample of every content that has it, up to two megabytes. A value of a content, from this level
//! on, counts at another place if some content there has it, unless something else has counted these bytes already: a measured pair of the two, or the
//! fine chunks of both. It stands for as many bytes as there are windows for each value. Short passages count with less than their length:
//! n bytes have n - 31 windows.
//!
//! Chance decides once for all occurrences of a window whether it is sampled. So the variance of the sum is about the sum, over the values, of
//! the squares of the bytes that each adds (a Poisson sample of values; Horvitz and Thompson, JASA 1952).

use cognate_fingerprint::{sample_bytes_per_value, sample_level};
use cognate_similarity::Level;

use super::by_content::ByContent;
use super::estimate::EstimatedBytes;
use super::pair::Pair;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// The least level of the values that count: the densest at which contents of up to two megabytes are sampled whole.
const DENSEST_LEVEL: usize = 3;
/// Values that are sorted at a time.
const VALUES_PER_PART: u64 = 1 << 20;

/// The contents whose common bytes were measured without samples.
pub(super) struct MeasuredContents {
    /// For each content, those with which it was measured.
    partners: ByContent,
    /// Of each content, true if sites were asked for its chunks.
    is_asked: Vec<bool>,
}

/// Of each two places of one level, the bytes of the first that the second has and only these samples show.
#[derive(Clone, Debug)]
pub(super) struct UnaskedBytes {
    label_count: u16,
    /// Each with its variance.
    cells: Vec<(u64, u128)>,
}

impl MeasuredContents {
    /// Pairs that were measured, and for every content, whether sites were asked for its chunks.
    pub(super) fn of(measured: &[Pair], is_asked: Vec<bool>) -> MeasuredContents {
        let both_ways = measured.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect();
        MeasuredContents { partners: ByContent::of(both_ways, is_asked.len()), is_asked }
    }
}

impl UnaskedBytes {
    /// Nothing yet.
    fn of_level(level: &Level) -> UnaskedBytes {
        let cells = usize::from(level.label_count) * usize::from(level.label_count);
        UnaskedBytes { label_count: level.label_count, cells: vec![(0, 0); cells] }
    }

    fn cell(&self, a: u16, b: u16) -> usize {
        usize::from(a) * usize::from(self.label_count) + usize::from(b)
    }

    /// The bytes of `a` that `b` has. The error has two standard errors, and half of the bytes, since an isolated window is more than a byte in common.
    pub(super) fn of(&self, a: u16, b: u16) -> EstimatedBytes {
        let (bytes, variance) = self.cells[self.cell(a, b)];
        let standard_error = u64::try_from(variance.isqrt()).unwrap_or(u64::MAX);
        EstimatedBytes { bytes, error_bytes: standard_error.saturating_mul(2).saturating_add(bytes.div_ceil(2)) }
    }

    /// Adds the bytes that one value adds, of all contents that have it.
    fn add(&mut self, a: u16, b: u16, added: u64) {
        let cell = self.cell(a, b);
        let (bytes, variance) = &mut self.cells[cell];
        *bytes += added;
        *variance += u128::from(added) * u128::from(added);
    }

    fn absorb(&mut self, other: &UnaskedBytes) {
        for (own, other) in self.cells.iter_mut().zip(&other.cells) {
            *own = (own.0 + other.0, own.1 + other.1);
        }
    }
}

impl Task<'_> {
    /// The bytes that only samples show, by sites and by parties.
    pub(super) fn unasked_bytes(&self, measured: &MeasuredContents) -> Result<[UnaskedBytes; 2], Error> {
        let subject = self.subject;
        let none = || subject.levels.each_ref().map(UnaskedBytes::of_level);
        let count = (subject.frozen.samples.value_count() as u64).div_ceil(VALUES_PER_PART);
        let parts: Vec<u64> = (0..count.max(self.scan.spec.threads.get() as u64)).collect();
        let found = self.on_threads(&parts, &none, &|sums: &mut [UnaskedBytes; 2], part| {
            for same in holders_of_part(subject, *part, parts.len() as u64).chunk_by(|a, b| a.0 == b.0) {
                for (level, sums) in subject.levels.iter().zip(sums.iter_mut()) {
                    add_value(subject, measured, same, level, sums);
                }
            }
            Ok(())
        })?;
        let mut all = none();
        found.iter().for_each(|part| all.iter_mut().zip(part).for_each(|(all, part)| all.absorb(part)));
        Ok(all)
    }
}

/// The values of one part of all, each with a content that has it, ascending.
fn holders_of_part(subject: &Subject<'_>, part: u64, parts: u64) -> Vec<(u64, u32)> {
    subject.frozen.samples.holders([part, parts], |_, value| sample_level(value) >= DENSEST_LEVEL)
}

/// Adds the bytes of one value, of all contents that have it.
fn add_value(
    subject: &Subject<'_>,
    measured: &MeasuredContents,
    same: &[(u64, u32)],
    level: &Level,
    sums: &mut UnaskedBytes,
) {
    let labels = |content: u32| subject.roots_of(content).map(|root| level.labels[usize::from(root)]);
    let mut everywhere: Vec<u16> = same.iter().flat_map(|(_, content)| labels(*content)).collect();
    everywhere.sort_unstable();
    everywhere.dedup();
    if everywhere.len() < 2 {
        return;
    }
    let with_asked = same.iter().filter(|(_, content)| measured.is_asked[*content as usize]);
    let mut with_asked: Vec<u16> = with_asked.flat_map(|(_, content)| labels(*content)).collect();
    with_asked.sort_unstable();
    with_asked.dedup();
    let mut cells: Vec<(u16, u16, u64)> = Vec::new();
    for (_, content) in same {
        let mut own: Vec<u16> = labels(*content).collect();
        own.sort_unstable();
        let has_value = |other: &u32| same.binary_search_by_key(other, |(_, content)| *content).is_ok();
        let mut known_at: Vec<u16> =
            measured.partners.numbers(*content).iter().copied().filter(has_value).flat_map(labels).collect();
        known_at.extend(&own);
        if measured.is_asked[*content as usize] {
            known_at.extend(&with_asked);
        }
        known_at.sort_unstable();
        let bytes = sample_bytes_per_value(subject.frozen.samples.lowest_level(*content).max(DENSEST_LEVEL));
        for other in everywhere.iter().filter(|label| known_at.binary_search(label).is_err()) {
            cells.extend(own.chunk_by(|a, b| a == b).map(|copies| (copies[0], *other, bytes * copies.len() as u64)));
        }
    }
    cells.sort_unstable();
    for cell in cells.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        sums.add(cell[0].0, cell[0].1, cell.iter().map(|(.., bytes)| bytes).sum());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use cognate_fingerprint::{SplitMix64, WindowSample};

    use super::*;
    use crate::freeze::WindowSamples;
    use crate::test_support::{Tree, frozen};

    /// A value of this level.
    fn value(level: u64, hash: u64) -> u64 {
        level << 36 | hash
    }

    /// The sums over all values of the samples of contents 0 and up.
    fn sums(trees: &[Tree], samples: &[BTreeSet<u64>], pairs: &[Pair], asked: &BTreeSet<u32>) -> UnaskedBytes {
        let mut frozen = frozen(&trees.iter().collect::<Vec<_>>());
        let mut packed = WindowSamples::default();
        let places = samples
            .iter()
            .map(|values| packed.put(&WindowSample::new(&values.iter().copied().collect::<Vec<_>>()).unwrap()))
            .collect();
        packed.number(places);
        frozen.samples = packed;
        let subject = Subject::of(&frozen, false);
        let is_asked = (0..).take(frozen.contents.len()).map(|content| asked.contains(&content));
        let known = MeasuredContents::of(pairs, is_asked.collect());
        let mut sums = UnaskedBytes::of_level(&subject.levels[0]);
        for part in 0..3 {
            for same in holders_of_part(&subject, part, 3).chunk_by(|a, b| a.0 == b.0) {
                add_value(&subject, &known, same, &subject.levels[0], &mut sums);
            }
        }
        sums
    }

    /// The bytes of the documents at one site that stand for a value which the other has, by the definition.
    fn by_definition(
        [at_a, at_b]: [&Tree; 2],
        samples: &[BTreeSet<u64>],
        pairs: &[Pair],
        asked: &BTreeSet<u32>,
    ) -> u64 {
        let at_b: BTreeSet<u32> = at_b.values().copied().collect();
        let of_document = |content: &u32| -> u64 {
            let values = samples[*content as usize].iter().filter(|value| **value >> 36 >= 3);
            let is_known = |other: &u32| {
                pairs.contains(&(*content, *other))
                    || pairs.contains(&(*other, *content))
                    || asked.contains(content) && asked.contains(other)
            };
            let is_there = |value: &&u64| {
                let mut holders = at_b.iter().filter(|other| samples[**other as usize].contains(value)).peekable();
                holders.peek().is_some() && !holders.any(is_known)
            };
            let lowest = samples[*content as usize].first().map_or(3, |value| (value >> 36).max(3));
            values.filter(is_there).count() as u64 * (32 << lowest)
        };
        at_a.values().filter(|content| !at_b.contains(content)).map(of_document).sum()
    }

    #[test]
    fn samples_show_what_contents_without_candidates_have_in_common_with_another_place() {
        let mut found = 0;
        for seed in 0..300 {
            let mut random = SplitMix64::new(seed);
            let mut below = |end: u64| random.next() % end;
            let contents = 2 + below(8);
            let sample = |below: &mut dyn FnMut(u64) -> u64| {
                let lowest = below(5);
                (0..below(6)).map(|_| value((lowest + below(4)).max(lowest), below(8))).collect()
            };
            let samples: Vec<BTreeSet<u64>> = (0..contents).map(|_| sample(&mut below)).collect();
            let mut trees: Vec<Tree> = Vec::new();
            for _ in 0..2 + below(2) {
                let document = |number: u64| (number.to_string(), u32::try_from(below(contents)).unwrap());
                trees.push((0..6).map(document).collect::<BTreeMap<_, _>>());
            }
            // Every content is at some place.
            trees[0].extend((0..u32::try_from(contents).unwrap()).map(|content| (format!("all/{content}"), content)));
            let asked: BTreeSet<u32> = (0..3).map(|_| u32::try_from(below(contents)).unwrap()).collect();
            let mut content = || u32::try_from(below(contents)).unwrap();
            let pairs: Vec<Pair> = (0..2).map(|_| (content(), content())).collect();
            let sums = sums(&trees, &samples, &pairs, &asked);
            for (a, b) in (0..trees.len()).flat_map(|a| (0..trees.len()).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let expected = by_definition([&trees[a], &trees[b]], &samples, &pairs, &asked);
                let of = sums.of(u16::try_from(a).unwrap(), u16::try_from(b).unwrap());
                assert_eq!(of.bytes, expected, "{a} at {b}, seed {seed}: {trees:?} {samples:?} {pairs:?} {asked:?}");
                found += expected;
            }
        }
        assert!(found > 0);
    }

    #[test]
    fn an_error_grows_with_what_one_value_stands_for() {
        let tree = |contents: &[u32]| contents.iter().map(|content| (content.to_string(), *content)).collect::<Tree>();
        let one = |hash| BTreeSet::from([value(3, hash)]);
        // Four contents with a value of their own each, and four with the same value.
        let samples: Vec<BTreeSet<u64>> = [1, 2, 3, 4, 5, 5, 5, 5]
            .map(one)
            .into_iter()
            .chain([(1..=5).map(|hash| value(3, hash)).collect()])
            .collect();
        let of = |contents: &[u32]| {
            let rest: Vec<u32> = (0..8).filter(|content| !contents.contains(content)).collect();
            sums(&[tree(contents), tree(&[8]), tree(&rest)], &samples, &[], &BTreeSet::new()).of(0, 1)
        };
        let (own, same) = (of(&[0, 1, 2, 3]), of(&[4, 5, 6, 7]));
        assert_eq!([own.bytes, same.bytes], [4 * 256, 4 * 256]);
        // Two standard errors of four independent ones, and of one that counts four times; and half of all.
        assert_eq!([own.error_bytes, same.error_bytes], [(2 * 2 + 2) * 256, (2 * 4 + 2) * 256]);
    }
}
