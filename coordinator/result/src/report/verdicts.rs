//! Verdicts and labels, next to their subjects. They are no part of the result: the digest leaves them out.

use cognate_proto::v1::{SubjectKind, Verdict, VerdictState};
use serde::Serialize;

use super::{Located, Report, path_of, time};
use cognate_storage::verdict::{Labels, word};

/// Place of a document: its site, its repository, its path as it is written, and true if that is escaped.
pub(super) type PlaceKey = (String, String, String, bool);

/// The verdict on a cluster, an identical set or a document.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct VerdictSection {
    /// Name of the reviewer.
    pub by: String,
    /// Why it does not hold any more; absent: it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// Note for other people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Time of the verdict.
    pub time: String,
    /// `duplicate`, `not-a-duplicate`, `intentional`, `keep` or `done`.
    pub verdict: &'static str,
}

impl Report {
    /// Adds the verdicts on clusters and identical sets, and the labels of clusters, as the coordinator has them for this result; also
    /// to plans.
    pub fn set_verdicts(&mut self, states: impl IntoIterator<Item = VerdictState>) {
        self.has_verdicts = true;
        for state in states {
            let verdict = state.verdict();
            let Some(subject) = state.subject else { continue };
            let labels = Labels { tags: state.tags.into_iter().collect(), assignee: state.assignee };
            if !labels.is_empty() {
                self.labels.insert((subject.view.clone(), subject.id.clone()), labels);
            }
            if verdict == Verdict::Unspecified {
                continue;
            }
            let section = VerdictSection {
                by: state.by,
                changed: Some(state.changed).filter(|why| !why.is_empty()),
                note: Some(state.note).filter(|note| !note.is_empty()),
                time: time(state.time),
                verdict: word(verdict),
            };
            match subject.kind() {
                SubjectKind::Cluster => drop(self.verdicts.insert((true, subject.view, subject.id), section)),
                SubjectKind::Identical => drop(self.verdicts.insert((false, subject.view, subject.id), section)),
                SubjectKind::Document => {
                    let (path, escaped) = path_of(&subject.path);
                    self.of_documents.insert((subject.site, subject.repository, path, escaped.is_some()), section);
                }
                SubjectKind::Unspecified => {}
            }
        }
    }

    /// True if verdicts were added: a file of a result has none.
    pub fn has_verdicts(&self) -> bool {
        self.has_verdicts
    }

    /// Verdicts on clusters and identical sets: true for a cluster, the view or tier, the id, and the verdict.
    pub(crate) fn decided(&self) -> impl Iterator<Item = ((bool, &str, &str), &VerdictSection)> {
        self.verdicts
            .iter()
            .map(|((is_cluster, view, id), verdict)| ((*is_cluster, view.as_str(), id.as_str()), verdict))
    }

    pub(crate) fn verdict_of_document(&self, document: &Located) -> Option<VerdictSection> {
        if self.of_documents.is_empty() {
            return None;
        }
        let Located { site, repository, path, path_escaped, .. } = document;
        let place = (site.clone(), repository.clone(), path.clone(), path_escaped.is_some());
        self.of_documents.get(&place).cloned()
    }

    pub(crate) fn verdict_of_cluster(&self, layer: usize, id: &str) -> Option<VerdictSection> {
        if self.verdicts.is_empty() {
            return None;
        }
        let view = self.views.get(layer).cloned().unwrap_or_default();
        self.verdicts.get(&(true, view, id.to_owned())).cloned()
    }

    /// The labels of a cluster.
    pub(crate) fn labels_of(&self, layer: usize, id: &str) -> Labels {
        if self.labels.is_empty() {
            return Labels::default();
        }
        let view = self.views.get(layer).cloned().unwrap_or_default();
        self.labels.get(&(view, id.to_owned())).cloned().unwrap_or_default()
    }

    pub(crate) fn verdict_of_set(&self, tier: &str, id: &str) -> Option<VerdictSection> {
        if self.verdicts.is_empty() {
            return None;
        }
        self.verdicts.get(&(false, tier.to_owned(), id.to_owned())).cloned()
    }
}
