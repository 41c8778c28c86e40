//! One layer of a scan after its analysis.

use cognate_storage::store::MissingRow;

use crate::findings::Findings;
use crate::fine::{ExactFigures, FineFigures};
use crate::freeze::FrozenSet;
use crate::undecided::UndecidedReason;

/// The frozen documents of one layer, and the findings about them.
pub(crate) struct LayerResult {
    pub(crate) frozen: FrozenSet,
    pub(crate) findings: Findings,
    /// The fine figures, if pairs were measured by fine chunks.
    pub(crate) fine: Option<FineFigures>,
    /// The pairs that sites measured exactly, if the method has chunks.
    pub(crate) exact: Option<ExactFigures>,
}

impl LayerResult {
    /// The repositories that did not give the fine chunks that they were asked for, though their policy allows it.
    pub(crate) fn without_fine_chunks(&self) -> impl Iterator<Item = MissingRow> + '_ {
        let roots = self.fine.iter().flat_map(|fine| self.frozen.roots.iter().zip(&fine.roots));
        let incomplete = roots.filter(|(_, fine)| fine.expanded_chunks < fine.chunks);
        let failed = incomplete.filter_map(|(root, fine)| Some((root, fine.failure.as_ref()?)));
        failed.filter(|(_, failure)| !failure.refused).map(|(root, failure)| MissingRow {
            site: root.site.to_string(),
            repository: root.repository.to_string(),
            reason: failure.reason.clone(),
        })
    }

    /// The reason why it is not decided that a content has nothing in common with others. Only fine chunks decide it.
    pub(crate) fn undecided(&self, content: usize) -> Option<UndecidedReason> {
        self.fine.as_ref().map_or(Some(UndecidedReason::NotMeasured), |fine| fine.undecided[content])
    }
}
