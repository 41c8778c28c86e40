//! What people decided, told beside what they decided about. It is no part of the result: the digest leaves it out.

use cognate_proto::v1::{SubjectKind, VerdictState};
use serde::Serialize;

use super::{Report, time};
use crate::verdict::word;

/// What was decided about a cluster or an identical set.
#[derive(Clone, Serialize, Debug)]
pub struct VerdictSection {
    /// Who decided.
    pub by: String,
    /// Why it does not hold any more; absent: it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// What others are to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When.
    pub time: String,
    /// `duplicate`, `not-a-duplicate`, `intentional`, `keep` or `done`.
    pub verdict: &'static str,
}

impl Report {
    /// Tells from now on what was decided about clusters and identical sets, as the coordinator says it of this result.
    pub fn set_verdicts(&mut self, states: impl IntoIterator<Item = VerdictState>) {
        for state in states {
            let verdict = state.verdict();
            let Some(subject) = state.subject else { continue };
            let is_cluster = match subject.kind() {
                SubjectKind::Cluster => true,
                SubjectKind::Identical => false,
                _ => continue,
            };
            let section = VerdictSection {
                by: state.by,
                changed: Some(state.changed).filter(|why| !why.is_empty()),
                note: Some(state.note).filter(|note| !note.is_empty()),
                time: time(state.time),
                verdict: word(verdict),
            };
            self.verdicts.insert((is_cluster, subject.view, subject.id), section);
        }
    }

    pub(super) fn verdict_of_cluster(&self, layer: usize, id: &str) -> Option<VerdictSection> {
        if self.verdicts.is_empty() {
            return None;
        }
        let view = self.views.get(layer).cloned().unwrap_or_default();
        self.verdicts.get(&(true, view, id.to_owned())).cloned()
    }

    pub(super) fn verdict_of_set(&self, tier: &str, id: &str) -> Option<VerdictSection> {
        if self.verdicts.is_empty() {
            return None;
        }
        self.verdicts.get(&(false, tier.to_owned(), id.to_owned())).cloned()
    }
}
