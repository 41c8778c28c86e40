//! Candidates by the window samples of contents: pairs of which one has, by its sample, a good part in the other, whether they have a chunk in
//! common or not: versions with an edit in every chunk, renamed documents, excerpts in longer ones.
//!
//! Two samples are compared at the level of the sparser one. Of the values from this level on a content has in common with the other the
//! share that the other contains of it, on average. A pair *may be a relative* if that is a tenth or more for one of them, or if the
//! values in common stand for half of the bytes of `min_shared_bytes`: windows of 32 bytes see the less of what is in common, the more edits there are.
//!
//! A value that at most [`HOLDERS_MAX`] contents have speaks for all of their pairs. One that more have speaks for the pairs of each with the first
//! [`FIRSTS_MAX`] of every repository: so nobody's work grows with the square, and a crowd at one site does not hide what is at another.
//!
//! Each content ranks what may be its relatives by the values in common, each the more, the fewer contents have it; of equal ones by their
//! numbers. In each other repository, in which it has no copy, it takes the first of them up to one in whose sample half of its own is, two at
//! most. If it found no such one anywhere else, it takes those of its own repository too, and there one more, five at most: with one each, a
//! crowd would fall into many clusters. So places are reserved for every repository.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cognate_fingerprint::{SampleCounts, sample_bytes_per_value};
use cognate_similarity::{ContentIndex, Error as EngineError, Link, SpillFolder};

use super::coverage::roots_of;
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
/// With at least so many values, that none is in common says that little is.
pub(super) const VALUES_MIN: u16 = 16;

/// The weight of a value if one content had it; each of more holders divides it.
const RARITY: u64 = 64;
/// The sum of a pair has the number of common values from this bit on, and their weights in the bits below.
const COUNT_SHIFT: u32 = 32;
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
    /// The contents of which, in some other repository, half is in none that has a place and a quarter in one that has none, by their samples;
    /// ascending.
    pub(super) crowded: Vec<u32>,
}

/// The values that two contents have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Common {
    /// The sum of what they count for.
    weight: Reverse<u64>,
    other: u32,
    count: u64,
    /// True if a quarter of the content is in the other.
    is_quarter: bool,
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
    first: Vec<Common>,
    /// The number of the others.
    further: u64,
    /// True if a quarter of the content is in one of the others.
    has_quarter: bool,
}

impl Task<'_> {
    /// The candidates by samples, and what these say of pairs that are `known`, which are ascending.
    pub(super) fn sampled_pairs(&self, known: &[Pair]) -> Result<SamplePairs, Error> {
        let subject = self.subject;
        let counts = Counts::of(subject);
        let spill = SpillFolder::new(self.spill_dir);
        let parts = subject.frozen.samples.value_count().div_ceil(VALUES_PER_PART).max(self.scan.spec.threads.get());
        let find = |part, visit: &mut FoundPair<'_>| pairs_of_part(subject, [part as usize, parts], visit);
        let sums = self.pair_sums(&spill, u32::try_from(parts).expect("values fit in memory"), &find)?;
        let mut ranking = Ranking::of(subject);
        self.each_pair_sum(&sums, |link| {
            let pair = (link.a.0, link.b.0);
            let (count, weight) = (link.shared_bytes >> COUNT_SHIFT, link.shared_bytes & ((1 << COUNT_SHIFT) - 1));
            if self.may_be_relatives(&counts, pair, count) {
                ranking.offer(&counts, pair, count, weight);
            }
        })?;
        let (mut refuted, undecided): (Vec<Pair>, Vec<Pair>) = known.iter().partition(|pair| counts.decide(**pair));
        // All values speak here, those of crowds too.
        let in_common = |(a, b): Pair| subject.frozen.samples.in_common(a, b);
        refuted.retain(|pair| !self.may_be_relatives(&counts, *pair, in_common(*pair)));
        Ok(SamplePairs { refuted, undecided, ..ranking.take(&counts) })
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

/// Visits pairs of contents that have the same value, each with what it counts for. There are `parts` of values.
fn pairs_of_part(
    subject: &Subject<'_>,
    [part, parts]: [usize; 2],
    visit: &mut FoundPair<'_>,
) -> Result<(), EngineError> {
    let samples = &subject.frozen.samples;
    let mut holders: Vec<(u64, u32)> = Vec::new();
    for content in (0..).take(subject.frozen.contents.len()).filter(|content| is_compared(subject, *content)) {
        let own = samples.of(content).filter(|value| *value % parts as u64 == part as u64);
        holders.extend(own.map(|value| (value, content)));
    }
    holders.sort_unstable();
    for same in holders.chunk_by(|a, b| a.0 == b.0) {
        let weight = (RARITY / same.len() as u64).max(1);
        let shared_bytes = 1 << COUNT_SHIFT | weight;
        let mut found =
            |a: u32, b: u32| visit(Link { a: ContentIndex(a.min(b)), b: ContentIndex(a.max(b)), shared_bytes });
        if same.len() <= HOLDERS_MAX {
            for (place, (_, a)) in same.iter().enumerate() {
                same[place + 1..].iter().try_for_each(|(_, b)| found(*a, *b))?;
            }
        } else {
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

    fn offer(&mut self, counts: &Counts, pair: Pair, count: u64, weight: u64) {
        let (a, b) = pair;
        let weight = Reverse(weight);
        for (content, other) in [(a, b), (b, a)] {
            let (own, others) = (roots_of(self.subject, content), roots_of(self.subject, other));
            let is_quarter = counts.has_part(content, other, 4 * count);
            let common = Common { weight, other, count, is_quarter };
            for root in others {
                let most = if own.contains(&root) { AT_HOME_MAX } else { ABROAD_MAX };
                // With a copy elsewhere, it seeks nothing where it has one.
                if own.len() > 1 && own.contains(&root) {
                    continue;
                }
                let ranked = self.of_contents[content as usize].entry(root).or_default();
                ranked.add(common, most);
            }
        }
    }

    /// The pairs that either content takes, known or not, and what is cut.
    fn take(self, counts: &Counts) -> SamplePairs {
        let (mut pairs, mut sampled) = (Vec::new(), SamplePairs::default());
        for (content, by_root) in (0..).zip(self.of_contents) {
            let own = roots_of(self.subject, content);
            let (at_home, abroad): (Vec<_>, Vec<_>) = by_root.into_iter().partition(|(root, _)| own.contains(root));
            let mut found_half = own.len() > 1;
            for (places, is_home) in [(abroad, false), (at_home, true)] {
                if is_home && found_half {
                    continue;
                }
                for (_, Places { first, further, has_quarter }) in places {
                    let half = first.iter().position(|common| counts.has_part(content, common.other, 2 * common.count));
                    let others = first
                        .iter()
                        .take(half.map_or(first.len(), |half| half + 1 + usize::from(is_home)))
                        .map(|common| common.other);
                    pairs.extend(others.map(|other| (content.min(other), content.max(other))));
                    found_half |= half.is_some() && !is_home;
                    if half.is_none() {
                        sampled.cut += further;
                    }
                    if half.is_none() && has_quarter && !is_home {
                        sampled.crowded.push(content);
                    }
                }
            }
        }
        sampled.crowded.dedup();
        SamplePairs { taken: ascending(pairs), ..sampled }
    }
}

impl Places {
    fn add(&mut self, common: Common, most: usize) {
        let place = self.first.partition_point(|earlier| *earlier < common);
        self.first.insert(place, common);
        if self.first.len() > most {
            let last = self.first.pop();
            self.further += 1;
            self.has_quarter |= last.is_some_and(|last| last.is_quarter);
        }
    }
}
