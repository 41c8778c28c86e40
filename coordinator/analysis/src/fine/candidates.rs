//! The pairs that are measured by fine chunks.
//!
//! Candidates are links by whole chunks (`sharing`); pairs of which one may have a good part of the other by their window samples (`sampled`);
//! pairs whose documents are at one *place* or have one rare name in two repositories (`placed`), unless their samples say that they share too
//! little; and, where samples are too small to say anything, pairs that are near a link. Each kind has its bounds, so that their
//! number grows with the contents; what the bounds leave out keeps the figures of whole chunks and is counted.

use super::pair::{Pair, ascending};
use super::placed::placed_pairs;
use super::sampled::SamplePairs;
use crate::alignment::Alignment;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;
use crate::threads::side_by_side;

/// The candidates of a layer.
pub(super) struct Candidates {
    /// Ascending, each once.
    pub(super) pairs: Vec<Pair>,
    /// Pairs that share whole chunks and have nothing left to measure, ascending.
    pub(super) complete: Vec<Pair>,
    /// Pairs that are left out, because their contents have too many or are too long.
    pub(super) omitted: u64,
    /// Contents without a relative at another place so far that may have one among those left out; ascending.
    pub(super) crowded: Vec<u32>,
    /// Contents that seem to have a relative at another place, and may have others among those left out: that counts if it is no link; ascending.
    pub(super) crowded_but_satisfied: Vec<u32>,
}

impl Candidates {
    /// Leaves pairs out, which ascend.
    pub(super) fn omit(&mut self, pairs: &[Pair]) {
        self.pairs.retain(|pair| pairs.binary_search(pair).is_err());
        self.omitted += pairs.len() as u64;
    }
}

impl Task<'_> {
    /// Finds the candidates.
    pub(super) fn fine_candidates(&self, coarse: &Links, alignment: &Alignment) -> Result<Candidates, Error> {
        let place = || placed_pairs(self.subject, alignment);
        let (sharing, placed) = side_by_side(self.scan.spec.threads, || self.sharing_pairs(coarse), place);
        let sharing = sharing?;
        let known = ascending([&placed[..], &sharing.taken].concat());
        let sampled = self.sampled_pairs(&known)?;
        let has = |list: &[Pair], pair: &Pair| list.binary_search(pair).is_ok();
        let stays = |pair: &&Pair| {
            let at_a_place = has(&placed, pair) && !has(&sampled.refuted, pair);
            sharing.is_link(pair) || at_a_place || has(&sampled.undecided, pair)
        };
        let incomplete = sampled.taken.iter().filter(|pair| !has(&sharing.complete, pair));
        let pairs = ascending(known.iter().filter(stays).chain(incomplete).copied().collect());
        let cut = sharing.cut.iter().filter(|pair| !has(&pairs, pair)).count() as u64;
        let SamplePairs { crowded, crowded_but_satisfied, .. } = sampled;
        let omitted = cut + sampled.cut;
        Ok(Candidates { pairs, complete: sharing.complete, omitted, crowded, crowded_but_satisfied })
    }
}
