//! One layer of a scan after its analysis.

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
    /// The reason why it is not decided that a content has nothing in common with others. Only fine chunks decide it.
    pub(crate) fn undecided(&self, content: usize) -> Option<UndecidedReason> {
        self.fine.as_ref().map_or(Some(UndecidedReason::NotMeasured), |fine| fine.undecided[content])
    }
}
