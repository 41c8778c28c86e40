//! Candidates by the window samples of contents: pairs of which one has, by its sample, a good part in the other, whether they have a chunk in
//! common or not: versions with an edit in every chunk, renamed documents, excerpts in longer ones.
//!
//! A value that at most [`HOLDERS_MAX`] contents have proposes all of their pairs. One that more have proposes the pairs of each with the first
//! [`FIRSTS_MAX`] of every repository: so nobody's work grows with the square, and a crowd at one site does not hide what is at another.
//!
//! Of a pair that is proposed, all values in common count. Two samples are compared at the level of the sparser one: of the values from this
//! level on a content has in common with the other the share that the other contains of it, on average. A pair *may be a relative* if that is
//! a tenth or more for one of them, or if the values in common stand for half of the bytes of `min_shared_bytes`: windows of 32 bytes see the
//! less of what is in common, the more edits there are.
//!
//! Each content ranks what may be its relatives by the values that propose the pair, each the more, the fewer contents have it; of equal ones
//! by their numbers. In each other repository, in which it has no copy, it takes the first of them up to one that *satisfies*: three quarters
//! of it are there, or half, a quarter by values that propose the pair, since what crowds have in common hides what two have. It takes two at
//! most. If neither satisfies, it takes those in which most of it is, up to one that does, [`LARGEST_MAX`] at most, of those that have a
//! quarter. If none satisfied it anywhere else, it takes those of its own repository too, there up to one with half and one more, five at most:
//! with one each, a crowd would fall into many clusters. So places are reserved for every repository.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cognate_fingerprint::{SAMPLE_VALUES_MAX, SampleCounts, sample_bytes_per_value};
use cognate_similarity::{ContentIndex, Error as EngineError, Link, SpillFolder};

use super::coverage::roots_of;
use super::frequent::FrequentValuesBuilder;
use super::pair::{Pair, ascending, is_compared};
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// The most contents of a value that speaks for all of their pairs.
pub(super) const HOLDERS_MAX: usize = 32;
/// The contents of every repository with which the others of a more frequent value are paired.
pub(super) const FIRSTS_MAX: usize = 4;
/// The most that a content takes in another repository, and in its own.
pub(super) const ABROAD_MAX: usize = 2;
pub(super) const AT_HOME_MAX: usize = 5;
/// The most that a content takes in another repository besides, because a quarter of it is there.
pub(super) const LARGEST_MAX: usize = 4;
/// With at least so many values, that none is in common says that little is.
pub(super) const VALUES_MIN: u16 = 16;

/// The weight of a value if one content had it; each of more holders divides it.
const RARITY: u64 = 64;
/// The sum of a pair has the number of values that propose it from this bit on, and their weights in the bits below.
const COUNT_SHIFT: u32 = 24;
/// From this bit on it has the number of those that are not frequent.
const RARE_SHIFT: u32 = 44;
const _: () = assert!(RARITY * (SAMPLE_VALUES_MAX as u64) < 1 << COUNT_SHIFT);
const _: () = assert!((SAMPLE_VALUES_MAX as u64) < 1 << (RARE_SHIFT - COUNT_SHIFT));
/// Values that are sorted at a time.
const VALUES_PER_PART: usize = 1 << 20;

/// Candidates by their samples.
#[derive(Default)]
pub(super) struct SamplePairs {
    /// The candidates, ascending.
    pub(super) taken: Vec<Pair>,
    /// Of the known pairs, those whose samples say that they share too little; ascending.
    pub(super) refuted: Vec<Pair>,
    /// Of the known pairs, those whose samples are too small to say anything; ascending.
    pub(super) undecided: Vec<Pair>,
    /// For each content the number of what may be its relatives where it has no place left for them, together.
    pub(super) cut: u64,
    /// Contents that take no relative that satisfies in some other repository, and leave one out there that has a quarter of them; ascending.
    pub(super) crowded: Vec<u32>,
    /// Contents that leave such a one out where they take one that satisfies. Only samples say that it does: it may turn out to be no link.
    pub(super) crowded_but_satisfied: Vec<u32>,
}

/// A content that may be a relative of another. The one with the rarest values in common comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Relative {
    /// The sum of what the values in common count for.
    weight: Reverse<u64>,
    other: u32,
    /// The bytes for which the values in common stand.
    shared_bytes: u64,
    /// True if it has a quarter of the content.
    has_quarter: bool,
    /// True if it has half of the content.
    has_half: bool,
    /// True if the content seeks no further relative in this repository.
    satisfies: bool,
}

/// Values by level that each content has.
pub(super) struct Counts(Vec<SampleCounts>);

/// For every content, what may be its relatives: by repository, the first ones.
struct Ranking<'a> {
    subject: &'a Subject<'a>,
    of_contents: Vec<BTreeMap<u16, Places>>,
}

/// The first of what may be relatives of a content in a repository.
#[derive(Clone, Default)]
struct Places {
    /// Those with the rarest values in common.
    rarest: Vec<Relative>,
    /// In another repository, those in which most of the content is, of those in which a quarter is.
    largest: Vec<Relative>,
    /// The number of all.
    all: u64,
    /// The number of those in which a quarter of the content is.
    with_quarter: u64,
}

impl Task<'_> {
    /// The candidates by samples, and what these say of pairs that are `known`, which are ascending.
    pub(super) fn sampled_pairs(&self, known: &[Pair]) -> Result<SamplePairs, Error> {
        let subject = self.subject;
        let counts = Counts::of(subject);
        let spill = SpillFolder::new(self.spill_dir);
        let parts = subject.frozen.samples.value_count().div_ceil(VALUES_PER_PART).max(self.scan.spec.threads.get());
        let frequent = FrequentValuesBuilder::default();
        let find = |part: u32, visit: &mut FoundPair<'_>| {
            pairs_of_part(subject, [part.into(), parts as u64], &frequent, visit)
        };
        let sums = self.pair_sums(&spill, u32::try_from(parts).expect("values fit in memory"), &find)?;
        let frequent = frequent.finish(subject.frozen.contents.len());
        let mut ranking = Ranking::of(subject);
        let look = |link: Link| {
            let (pair, sum) = ((link.a.0, link.b.0), link.shared_bytes);
            let common = (sum >> RARE_SHIFT) + frequent.in_common(pair.0, pair.1);
            self.may_be_relatives(&counts, pair, common).then_some((pair, common, sum))
        };
        self.each_pair_sum(&sums, &look, |(pair, common, sum)| ranking.offer(&counts, pair, common, sum))?;
        let (mut refuted, undecided): (Vec<Pair>, Vec<Pair>) = known.iter().partition(|pair| counts.decide(**pair));
        // Few values may be in common of a short pair whose runs are short.
        refuted.retain(|(a, b)| subject.frozen.samples.have_none_in_common(*a, *b));
        Ok(SamplePairs { refuted, undecided, ..ranking.take() })
    }

    /// True if a pair with so many values in common may be a link.
    fn may_be_relatives(&self, counts: &Counts, pair: Pair, common: u64) -> bool {
        let [a, b] = counts.of_pair(pair);
        let (level, _) = a.at_common_level(b);
        let shared_bytes_min = self.scan.spec.layers[self.layer].thresholds.min_shared_bytes;
        a.in_common_bytes(b, common).is_some() || 2 * common * sample_bytes_per_value(level) >= shared_bytes_min
    }
}

/// Takes a pair that a value proposes.
type FoundPair<'a> = dyn FnMut(Link) -> Result<(), EngineError> + 'a;

/// Visits pairs of contents that have the same value, each with what it counts for, and takes in the values that are frequent. There are
/// `parts` of values.
fn pairs_of_part(
    subject: &Subject<'_>,
    part: [u64; 2],
    frequent: &FrequentValuesBuilder,
    visit: &mut FoundPair<'_>,
) -> Result<(), EngineError> {
    let holders = subject.frozen.samples.holders(part, |content, _| is_compared(subject, content));
    for same in holders.chunk_by(|a, b| a.0 == b.0) {
        let is_frequent = same.len() > HOLDERS_MAX;
        let weight = (RARITY / same.len() as u64).max(1);
        let shared_bytes = u64::from(!is_frequent) << RARE_SHIFT | 1 << COUNT_SHIFT | weight;
        let mut found =
            |a: u32, b: u32| visit(Link { a: ContentIndex(a.min(b)), b: ContentIndex(a.max(b)), shared_bytes });
        if !is_frequent {
            for (place, (_, a)) in same.iter().enumerate() {
                same[place + 1..].iter().try_for_each(|(_, b)| found(*a, *b))?;
            }
        } else {
            frequent.add(same.iter().map(|(_, content)| *content));
            let firsts = first_of_each(subject, same);
            for (_, holder) in same {
                let is_first = firsts.binary_search(holder).is_ok();
                let others = firsts.iter().filter(|first| *first != holder && (!is_first || *first < holder));
                others.into_iter().try_for_each(|first| found(*holder, *first))?;
            }
        }
    }
    Ok(())
}

/// The first contents of every repository that have a value, ascending.
fn first_of_each(subject: &Subject<'_>, same: &[(u64, u32)]) -> Vec<u32> {
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    let mut firsts = Vec::new();
    for (_, content) in same {
        for root in roots_of(subject, *content) {
            let count = counts.entry(root).or_default();
            if *count < FIRSTS_MAX {
                firsts.push(*content);
            }
            *count += 1;
        }
    }
    firsts.dedup();
    firsts
}

impl Counts {
    pub(super) fn of(subject: &Subject<'_>) -> Counts {
        let frozen = subject.frozen;
        Counts((0..).take(frozen.contents.len()).map(|content| frozen.samples.counts(content)).collect())
    }

    fn of_pair(&self, pair: Pair) -> [&SampleCounts; 2] {
        <[u32; 2]>::from(pair).map(|content| &self.0[content as usize])
    }

    /// True if the samples of a pair are large enough to say that it shares little.
    fn decide(&self, pair: Pair) -> bool {
        let [a, b] = self.of_pair(pair);
        let (_, [of_a, of_b]) = a.at_common_level(b);
        of_a.min(of_b) >= VALUES_MIN
    }

    /// True if a content has at most so many values in its sample, as far as the sample of another is as dense.
    fn has_part(&self, content: u32, other: u32, values: u64) -> bool {
        let [own, other] = self.of_pair((content, other));
        let (_, [of_content, _]) = own.at_common_level(other);
        values >= u64::from(of_content)
    }
}

impl<'a> Ranking<'a> {
    fn of(subject: &'a Subject<'a>) -> Ranking<'a> {
        Ranking { subject, of_contents: vec![BTreeMap::new(); subject.frozen.contents.len()] }
    }

    /// A pair with the number of values in common, and the sum over those that propose it.
    fn offer(&mut self, counts: &Counts, pair: Pair, common: u64, sum: u64) {
        let (a, b) = pair;
        let proposing = sum >> COUNT_SHIFT & ((1 << (RARE_SHIFT - COUNT_SHIFT)) - 1);
        let weight = sum & ((1 << COUNT_SHIFT) - 1);
        let [of_a, of_b] = counts.of_pair(pair);
        let (level, _) = of_a.at_common_level(of_b);
        let shared_bytes = common * sample_bytes_per_value(level);
        for (content, other) in [(a, b), (b, a)] {
            let (own, others) = (roots_of(self.subject, content), roots_of(self.subject, other));
            let has = |values| counts.has_part(content, other, values);
            let (has_quarter, has_half) = (has(4 * common), has(2 * common));
            let satisfies = has(4 * common / 3) || has_half && has(4 * proposing);
            let relative = Relative { weight: Reverse(weight), other, shared_bytes, has_quarter, has_half, satisfies };
            for root in others {
                // With a copy elsewhere, it seeks nothing where it has one.
                if own.len() > 1 && own.contains(&root) {
                    continue;
                }
                let places = self.of_contents[content as usize].entry(root).or_default();
                places.add(relative, own.contains(&root));
            }
        }
    }

    /// The pairs that either content takes, known or not, and what is cut.
    fn take(self) -> SamplePairs {
        let (mut pairs, mut sampled) = (Vec::new(), SamplePairs::default());
        for (content, by_root) in (0..).zip(self.of_contents) {
            let own = roots_of(self.subject, content);
            let (at_home, abroad): (Vec<_>, Vec<_>) = by_root.into_iter().partition(|(root, _)| own.contains(root));
            let mut is_satisfied = own.len() > 1;
            for (places, is_home) in [(abroad, false), (at_home, true)] {
                if is_home && is_satisfied {
                    continue;
                }
                for (_, places) in places {
                    let taken = if is_home { places.at_home() } else { places.abroad() };
                    pairs.extend(taken.iter().map(|one| (content.min(one.other), content.max(one.other))));
                    let is_enough = taken.iter().any(|one| if is_home { one.has_half } else { one.satisfies });
                    is_satisfied |= is_enough && !is_home;
                    sampled.cut += if is_enough { 0 } else { places.all - taken.len() as u64 };
                    let with_quarter = taken.iter().filter(|relative| relative.has_quarter).count() as u64;
                    if !is_home && places.with_quarter > with_quarter {
                        match is_enough {
                            true => sampled.crowded_but_satisfied.push(content),
                            false => sampled.crowded.push(content),
                        }
                    }
                }
            }
        }
        sampled.crowded.dedup();
        sampled.crowded_but_satisfied.dedup();
        SamplePairs { taken: ascending(pairs), ..sampled }
    }
}

impl Places {
    fn add(&mut self, relative: Relative, is_home: bool) {
        self.all += 1;
        self.with_quarter += u64::from(relative.has_quarter);
        keep_first(&mut self.rarest, relative, if is_home { AT_HOME_MAX } else { ABROAD_MAX }, |one| *one);
        if relative.has_quarter && !is_home {
            // The rarest are taken before.
            let by_size = |one: &Relative| (Reverse(one.shared_bytes), one.other);
            keep_first(&mut self.largest, relative, ABROAD_MAX + LARGEST_MAX, by_size);
        }
    }

    /// Up to the first with half, and one more.
    fn at_home(&self) -> Vec<Relative> {
        let half = self.rarest.iter().position(|relative| relative.has_half);
        self.rarest.iter().take(half.map_or(AT_HOME_MAX, |half| half + 2)).copied().collect()
    }

    /// Up to the first that satisfies.
    fn abroad(&self) -> Vec<Relative> {
        let others = self.largest.iter().filter(|relative| !self.rarest.contains(relative)).take(LARGEST_MAX);
        let all: Vec<Relative> = self.rarest.iter().chain(others).copied().collect();
        let last = all.iter().position(|relative| relative.satisfies);
        all[..last.map_or(all.len(), |last| last + 1)].to_vec()
    }
}

/// Adds a relative to a list that ascends by a key, and drops what is beyond `most`.
fn keep_first<K: Ord>(first: &mut Vec<Relative>, relative: Relative, most: usize, key: impl Fn(&Relative) -> K) {
    let place = first.partition_point(|earlier| key(earlier) < key(&relative));
    first.insert(place, relative);
    first.truncate(most);
}
