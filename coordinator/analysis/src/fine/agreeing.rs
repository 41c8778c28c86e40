//! Candidates by their sketches: pairs of contents that have no chunk in common by which they would be found, and neither place nor
//! name, but many of the same windows of 32 bytes. A renamed document with an edit in every chunk is found by them.
//!
//! They are for contents that *seek* a partner: those that have none in another repository yet, neither a copy nor a known pair whose
//! sketch agrees with half of their slots. At least one content of a proposed pair seeks, so that two versions of a tree, whose documents
//! found each other by their places, propose few pairs more.
//!
//! A slot in which two sketches have the same value counts for [`VALUE_HOLDERS_MAX`] divided by the number of contents that have the value,
//! rounded down: a value that few have says more. One that more contents have than that is boilerplate, and counts for no pair. A pair is
//! proposed if its slots come to [`AGREEMENT_MIN`] or more. Of the pairs that are proposed, each content takes the first
//! [`AGREEING_MAX`], by that sum, falling, then by the number of the other content; a pair is a candidate if either
//! content takes it. So a content costs at most 16 times 64 pairs on the way and eight candidates, whatever the repositories
//! have in common.

use std::cmp::Reverse;

use cognate_fingerprint::SKETCH_SLOTS;
use cognate_similarity::{ContentIndex, Error as EngineError, Link, SpillFolder};

use super::coverage::roots_of;
use super::pair::{Pair, ascending, is_compared};
use crate::compare::Task;
use crate::error::Error;
use crate::freeze::FrozenSet;
use crate::subject::Subject;

/// The sum over the slots of a candidate, at least.
pub(super) const AGREEMENT_MIN: u64 = 8;
/// The most contents that have a value that counts, and the number that is shared out among them.
pub(super) const VALUE_HOLDERS_MAX: usize = 64;
/// The most candidates that a content takes.
pub(super) const AGREEING_MAX: usize = 8;

/// Pairs whose sketches agree.
#[derive(Default)]
pub(super) struct Agreeing {
    /// The candidates, ascending.
    pub(super) taken: Vec<Pair>,
    /// The number of those that neither content takes.
    pub(super) cut: u64,
}

/// The partners that each content takes: the sum over their slots, and the other content.
struct Partners(Vec<Vec<(Reverse<u64>, u32)>>);

impl Task<'_> {
    /// The pairs beyond those that are `known` already, which are ascending.
    pub(super) fn agreeing_pairs(&self, known: &[Pair]) -> Result<Agreeing, Error> {
        let contents = &self.subject.frozen.contents;
        let slots = u32::try_from(SKETCH_SLOTS).expect("a few slots");
        let spill = SpillFolder::new(self.spill_dir);
        let seeks = seeking(self.subject, known);
        let find = |slot, visit: &mut FoundPair<'_>| pairs_of_slot(self.subject, &seeks, slot as usize, visit);
        let sums = self.pair_sums(&spill, slots, &find)?;
        let mut partners = Partners(vec![Vec::new(); contents.len()]);
        let mut proposed = 0;
        self.each_pair_sum(&sums, |link| {
            let pair = (link.a.0, link.b.0);
            if link.shared_bytes >= AGREEMENT_MIN && known.binary_search(&pair).is_err() {
                proposed += 1;
                partners.offer(pair, link.shared_bytes);
            }
        })?;
        let taken = partners.pairs();
        Ok(Agreeing { cut: proposed - taken.len() as u64, taken })
    }
}

/// Takes a pair that a slot proposes.
type FoundPair<'a> = dyn FnMut(Link) -> Result<(), EngineError> + 'a;

/// For every content, true if it seeks a partner. In a scan of one repository, a partner is in the same one.
fn seeking(subject: &Subject<'_>, known: &[Pair]) -> Vec<bool> {
    let FrozenSet { contents, sketches, .. } = subject.frozen;
    let is_alone = subject.frozen.roots.len() < 2;
    let has_copies = |content| !is_alone && roots_of(subject, content).len() > 1;
    let mut seeks: Vec<bool> = (0..).zip(contents).map(|(content, _)| !has_copies(content)).collect();
    for (a, b) in known {
        if !is_alone && roots_of(subject, *a) == roots_of(subject, *b) {
            continue;
        }
        let [of_a, of_b] = [a, b].map(|content| &sketches[*content as usize]);
        let agreement = of_a.agreement(of_b);
        for (content, sketch) in [(a, of_a), (b, of_b)] {
            seeks[*content as usize] &= 2 * agreement < sketch.slots().count();
        }
    }
    seeks
}

/// Visits every pair of contents that have the same value of a slot and of which one seeks, each with what the slot counts for.
fn pairs_of_slot(
    subject: &Subject<'_>,
    seeks: &[bool],
    slot: usize,
    visit: &mut FoundPair<'_>,
) -> Result<(), EngineError> {
    let mut holders: Vec<(u32, u32)> = Vec::new();
    for (number, sketch) in (0..).zip(&subject.frozen.sketches) {
        if is_compared(subject, number) {
            holders.extend(sketch.value(slot).map(|value| (value, number)));
        }
    }
    holders.sort_unstable();
    for same in holders.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() <= VALUE_HOLDERS_MAX) {
        let shared_bytes = (VALUE_HOLDERS_MAX / same.len()) as u64;
        for (place, (_, a)) in same.iter().enumerate() {
            for (_, b) in same[place + 1..].iter().filter(|(_, b)| seeks[*a as usize] || seeks[*b as usize]) {
                visit(Link { a: ContentIndex(*a), b: ContentIndex(*b), shared_bytes })?;
            }
        }
    }
    Ok(())
}

impl Partners {
    fn offer(&mut self, pair: Pair, agreement: u64) {
        let (a, b) = pair;
        for (content, other) in [(a, b), (b, a)] {
            let (partners, partner) = (&mut self.0[content as usize], (Reverse(agreement), other));
            let place = partners.partition_point(|earlier| *earlier < partner);
            if place < AGREEING_MAX {
                partners.insert(place, partner);
                partners.truncate(AGREEING_MAX);
            }
        }
    }

    /// The pairs that either content takes, ascending.
    fn pairs(self) -> Vec<Pair> {
        let of_content = |(content, partners): (u32, Vec<(Reverse<u64>, u32)>)| {
            partners.into_iter().map(move |(_, other)| (content.min(other), content.max(other)))
        };
        ascending((0..).zip(self.0).flat_map(of_content).collect())
    }
}
