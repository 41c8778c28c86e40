//! The pairs that are measured by fine chunks.
//!
//! Three kinds of pairs are candidates: those that *share* whole chunks (`sharing`), those whose documents are at one *place* or have
//! one rare name in two repositories (`placed`), and of the others those whose sketches *agree* (`agreeing`). Each kind has its bounds, so that their
//! number grows with the contents; what the bounds leave out keeps the figures of whole chunks and is counted.

use super::pair::{Pair, ascending};
use super::placed::placed_pairs;
use super::sample::Sampling;
use crate::alignment::Alignment;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;
use crate::threads::side_by_side;

/// The candidates of a layer.
pub(super) struct Candidates {
    /// Ascending, each once.
    pub(super) pairs: Vec<Pair>,
    /// Pairs that are left out, because their contents have too many or are too long.
    pub(super) omitted: u64,
}

impl Candidates {
    /// Leaves pairs out, which ascend.
    pub(super) fn omit(&mut self, pairs: &[Pair]) {
        self.pairs.retain(|pair| pairs.binary_search(pair).is_err());
        self.omitted += pairs.len() as u64;
    }
}

impl Task<'_> {
    /// Finds the candidates, and shows the pairs of which a sample is drawn.
    pub(super) fn fine_candidates(
        &self,
        coarse: &Links,
        alignment: &Alignment,
        sampling: &mut Sampling<'_>,
    ) -> Result<Candidates, Error> {
        let place = || placed_pairs(self.subject, alignment);
        let (sharing, placed) = side_by_side(self.scan.spec.threads, || self.sharing_pairs(coarse), place);
        let sharing = sharing?;
        sampling.add_all(&sharing, &placed);
        let is_placed = |pair: &Pair| placed.binary_search(pair).is_ok();
        let cut = sharing.cut.iter().filter(|pair| !is_placed(pair)).count() as u64;
        let known = ascending([&placed[..], &sharing.taken, &sharing.cut, &sharing.complete].concat());
        let agreeing = self.agreeing_pairs(&known)?;
        Ok(Candidates {
            pairs: ascending([&placed[..], &sharing.taken, &agreeing.taken].concat()),
            omitted: cut + agreeing.cut,
        })
    }
}
