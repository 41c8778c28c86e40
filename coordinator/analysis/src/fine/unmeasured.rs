//! An estimate of what places have in common beyond what was measured. Not every content is paired with every other, so a content may share
//! passages with contents with which it was not paired. Window samples show how much that is.
//!
//! A window of [`DENSEST_LEVEL`] or above is in the sample of every content that has it, up to two megabytes. A value of a content from this
//! level on is *unmeasured* at another place if some content there has it, and no content there does with which the first was measured. It
//! stands for as many bytes as there are windows for each value. Short passages count with less than their length: n bytes have n - 31 windows.
//!
//! Chance decides once for all occurrences of a window whether it is sampled. So the variance of the sum is about the sum, over the values, of
//! the squares of the bytes that each adds (a Poisson sample of values; Horvitz and Thompson, JASA 1952).

use cognate_fingerprint::{sample_bytes_per_value, sample_level};
use cognate_similarity::Level;

use super::pair::Pair;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// The least level of the values that count: the densest at which contents of up to two megabytes are sampled whole.
const DENSEST_LEVEL: usize = 3;
/// Values that are sorted at a time.
const VALUES_PER_PART: u64 = 1 << 20;

/// Of each two places of one level, the bytes of the first that the second has and no measured pair shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct UnmeasuredBytes {
    label_count: u16,
    bytes: Vec<u64>,
    /// Of these, bytes that no sample shows.
    guessed: Vec<u64>,
    /// The variance of what samples show.
    variance: Vec<u128>,
}

/// An estimate of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EstimatedBytes {
    pub(crate) bytes: u64,
    /// The distance to the truth that is to be expected, either way. It has two standard errors of what samples show; half of what they show,
    /// since an isolated window is more than a byte in common; and all that is guessed.
    pub(crate) error_bytes: u64,
}

/// The values of contents, ascending: one value with all contents that have it.
type Holders<'v> = &'v [(u64, u32)];

/// The measured pairs, seen from both contents, ascending.
struct Partners(Vec<Pair>);

impl UnmeasuredBytes {
    /// Nothing yet, by sites and by parties.
    pub(super) fn of_levels(subject: &Subject<'_>) -> [UnmeasuredBytes; 2] {
        subject.levels.each_ref().map(|Level { label_count, .. }| {
            let cells = usize::from(*label_count) * usize::from(*label_count);
            let none = vec![0; cells];
            UnmeasuredBytes { label_count: *label_count, bytes: none.clone(), guessed: none, variance: vec![0; cells] }
        })
    }

    /// The bytes of `a` that `b` has.
    pub(crate) fn of(&self, a: usize, b: usize) -> EstimatedBytes {
        let cell = a * usize::from(self.label_count) + b;
        let standard_error = u64::try_from(self.variance[cell].isqrt()).unwrap_or(u64::MAX);
        let (bytes, guessed) = (self.bytes[cell], self.guessed[cell]);
        let of_kind = guessed + (bytes - guessed).div_ceil(2);
        EstimatedBytes { bytes, error_bytes: standard_error.saturating_mul(2).saturating_add(of_kind) }
    }

    fn cell(&self, a: u16, b: u16) -> usize {
        usize::from(a) * usize::from(self.label_count) + usize::from(b)
    }

    /// Adds the bytes that one value adds, of all contents that have it.
    fn add_sampled(&mut self, a: u16, b: u16, bytes: u64) {
        let cell = self.cell(a, b);
        self.bytes[cell] += bytes;
        self.variance[cell] += u128::from(bytes) * u128::from(bytes);
    }

    /// Adds bytes that no sample shows.
    pub(super) fn add_guessed(&mut self, a: u16, b: u16, bytes: u64) {
        let cell = self.cell(a, b);
        self.bytes[cell] += bytes;
        self.guessed[cell] += bytes;
    }

    pub(super) fn absorb(&mut self, other: &UnmeasuredBytes) {
        let pairs = [(&mut self.bytes, &other.bytes), (&mut self.guessed, &other.guessed)];
        pairs.into_iter().for_each(|(own, bytes)| own.iter_mut().zip(bytes).for_each(|(own, bytes)| *own += bytes));
        self.variance.iter_mut().zip(&other.variance).for_each(|(own, variance)| *own += variance);
    }
}

impl EstimatedBytes {
    /// Both together.
    pub(crate) fn plus(self, other: EstimatedBytes) -> EstimatedBytes {
        EstimatedBytes {
            bytes: self.bytes + other.bytes,
            error_bytes: self.error_bytes.saturating_add(other.error_bytes),
        }
    }
}

impl Partners {
    fn of(measured: &[Pair]) -> Partners {
        let mut pairs: Vec<Pair> = measured.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect();
        pairs.sort_unstable();
        Partners(pairs)
    }

    /// The contents with which a content was measured.
    fn of_content(&self, content: u32) -> impl Iterator<Item = u32> {
        let first = self.0.partition_point(|(own, _)| *own < content);
        self.0[first..].iter().take_while(move |(own, _)| *own == content).map(|(_, other)| *other)
    }
}

impl Task<'_> {
    /// The bytes that sites, and parties, have in common beyond the measured pairs.
    pub(super) fn unmeasured_bytes(&self, measured: &[Pair]) -> Result<[UnmeasuredBytes; 2], Error> {
        let subject = self.subject;
        let partners = Partners::of(measured);
        let none = || UnmeasuredBytes::of_levels(subject);
        let count = (subject.frozen.samples.value_count() as u64).div_ceil(VALUES_PER_PART);
        let parts: Vec<u64> = (0..count.max(self.scan.spec.threads.get() as u64)).collect();
        let found = self.on_threads(&parts, &none, &|sums: &mut [UnmeasuredBytes; 2], part| {
            for same in holders_of_part(subject, *part, parts.len() as u64).chunk_by(|a, b| a.0 == b.0) {
                for (level, sums) in subject.levels.iter().zip(sums.iter_mut()) {
                    add_value(subject, &partners, same, level, sums);
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
    let mut holders: Vec<(u64, u32)> = Vec::new();
    for content in (0..).take(subject.frozen.contents.len()) {
        let own = subject.frozen.samples.of(content);
        let counts = own.filter(|value| value % parts == part && sample_level(*value) >= DENSEST_LEVEL);
        holders.extend(counts.map(|value| (value, content)));
    }
    holders.sort_unstable();
    holders
}

/// Adds the bytes of one value, of all contents that have it.
fn add_value(subject: &Subject<'_>, partners: &Partners, same: Holders<'_>, level: &Level, sums: &mut UnmeasuredBytes) {
    let labels = |content: u32| subject.roots_of(content).map(|root| level.labels[usize::from(root)]);
    let mut everywhere: Vec<u16> = same.iter().flat_map(|(_, content)| labels(*content)).collect();
    everywhere.sort_unstable();
    everywhere.dedup();
    if everywhere.len() < 2 {
        return;
    }
    let mut cells: Vec<(u16, u16, u64)> = Vec::new();
    for (_, content) in same {
        let has_value = |other: &u32| same.binary_search_by_key(other, |(_, content)| *content).is_ok();
        let mut own: Vec<u16> = labels(*content).collect();
        own.sort_unstable();
        let mut known: Vec<u16> = partners.of_content(*content).filter(has_value).flat_map(labels).collect();
        known.extend(&own);
        known.sort_unstable();
        known.dedup();
        let bytes = sample_bytes_per_value(subject.frozen.samples.lowest_level(*content).max(DENSEST_LEVEL));
        for other in everywhere.iter().filter(|label| known.binary_search(label).is_err()) {
            cells.extend(own.chunk_by(|a, b| a == b).map(|copies| (copies[0], *other, bytes * copies.len() as u64)));
        }
    }
    cells.sort_unstable();
    for cell in cells.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        sums.add_sampled(cell[0].0, cell[0].1, cell.iter().map(|(.., bytes)| bytes).sum());
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
    fn sums(trees: &[Tree], samples: &[BTreeSet<u64>], pairs: &[Pair]) -> UnmeasuredBytes {
        let mut frozen = frozen(&trees.iter().collect::<Vec<_>>());
        let mut packed = WindowSamples::default();
        let places = samples
            .iter()
            .map(|values| packed.put(&WindowSample::new(&values.iter().copied().collect::<Vec<_>>()).unwrap()))
            .collect();
        packed.number(places);
        frozen.samples = packed;
        let subject = Subject::of(&frozen, false);
        let partners = Partners::of(pairs);
        let mut sums = UnmeasuredBytes::of_levels(&subject);
        for part in 0..3 {
            for same in holders_of_part(&subject, part, 3).chunk_by(|a, b| a.0 == b.0) {
                add_value(&subject, &partners, same, &subject.levels[0], &mut sums[0]);
            }
        }
        let [of_sites, _] = sums;
        of_sites
    }

    /// The bytes of the documents at one site that stand for a value which the other has, by the definition.
    fn by_definition(trees: &[Tree], samples: &[BTreeSet<u64>], pairs: &[Pair], a: usize, b: usize) -> u64 {
        let at_b: BTreeSet<u32> = trees[b].values().copied().collect();
        let of_document = |content: &u32| -> u64 {
            let values = samples[*content as usize].iter().filter(|value| **value >> 36 >= 3);
            let is_unmeasured = |value: &&u64| {
                let holders: BTreeSet<u32> =
                    at_b.iter().filter(|other| samples[**other as usize].contains(value)).copied().collect();
                let is_partner =
                    |other: &u32| pairs.contains(&(*content, *other)) || pairs.contains(&(*other, *content));
                !holders.is_empty() && !at_b.contains(content) && !holders.iter().any(is_partner)
            };
            let lowest = samples[*content as usize].first().map_or(3, |value| (value >> 36).max(3));
            values.filter(is_unmeasured).count() as u64 * (32 << lowest)
        };
        trees[a].values().map(of_document).sum()
    }

    #[test]
    fn samples_show_what_another_place_has_beyond_the_measured_pairs() {
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
            let mut content = || u32::try_from(below(contents)).unwrap();
            let pairs: Vec<Pair> = (0..3).map(|_| (content(), content())).collect();
            let sums = sums(&trees, &samples, &pairs);
            for (a, b) in (0..trees.len()).flat_map(|a| (0..trees.len()).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let expected = by_definition(&trees, &samples, &pairs, a, b);
                assert_eq!(sums.of(a, b).bytes, expected, "{a} at {b}, seed {seed}: {trees:?} {samples:?} {pairs:?}");
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
            sums(&[tree(contents), tree(&[8]), tree(&rest)], &samples, &[]).of(0, 1)
        };
        let (own, same) = (of(&[0, 1, 2, 3]), of(&[4, 5, 6, 7]));
        assert_eq!([own.bytes, same.bytes], [4 * 256, 4 * 256]);
        // Two standard errors of four independent ones, and of one that counts four times; and half of all.
        assert_eq!([own.error_bytes, same.error_bytes], [(2 * 2 + 2) * 256, (2 * 4 + 2) * 256]);
    }
}
