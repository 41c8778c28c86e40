//! A refinement: which documents of this site have the contents that an assignment chose.
//!
//! Only what this site sent itself can be chosen: the log of the index under the earlier method says which contents those
//! are, and which documents had them. A document that is not what it was then is left out, and counted.

use std::io;
use std::path::Path;

use cognate_fingerprint::MethodId;
use cognate_proto::path::DocumentPath;
use cognate_proto::scope::{Announced, Scope, ScopeId};
use cognate_proto::selection::Selection;
use cognate_proto::v1::RefinedSummary;

use crate::cache::{Known, Made, Piece};
use crate::error::SyncError;
use crate::outbox::Outbox;
use crate::site::Site;
use crate::stamp::Stamp;
use crate::sync::Job;

/// How many logs of refinements are kept for a repository: one that is missing costs sending again what it tells of.
const LOGS_MAX: usize = 8;

/// The documents that a refinement is about.
pub(crate) struct Chosen {
    scope: Scope,
    /// Ascending.
    documents: Vec<DocumentPath>,
    unknown_contents: u64,
}

impl Chosen {
    /// The documents, ascending, as far as their names are selected.
    pub(crate) fn documents<'a>(&'a self, selection: &'a Selection) -> impl Iterator<Item = &'a DocumentPath> {
        self.documents.iter().filter(|path| selection.selects_path(path.as_bytes()))
    }

    /// Whether a document with this stamp, as it is known here, still is what was chosen: it, or something `inside` of it.
    pub(crate) fn holds(
        &self,
        known: &Known,
        stamp: &Stamp,
        inside: impl Fn(&Made) -> Option<Vec<(DocumentPath, Piece)>>,
    ) -> bool {
        let mut earlier = known.made.iter().filter(|made| made.method_id == self.scope.of());
        let is_chosen = |piece: &Piece| piece.listed.is_some_and(|(content, _)| self.scope.holds(&content.digest));
        let holds = |made: &Made| {
            is_chosen(&made.piece)
                || inside(made).is_some_and(|inside| inside.iter().any(|(_, piece)| is_chosen(piece)))
        };
        known.stamp == *stamp && earlier.any(holds)
    }

    /// What became of them, where so many were left out.
    pub(crate) fn summary(&self, changed: u64) -> RefinedSummary {
        RefinedSummary { documents: self.documents.len() as u64, changed, unknown_contents: self.unknown_contents }
    }
}

impl Site {
    /// Looks up which documents had the contents of a scope when they were last sent.
    pub(crate) fn chosen(&self, job: &Job, scope: Scope) -> Result<Chosen, SyncError> {
        let log = self.outbox_path(&job.repository, scope.of(), None);
        let sent = Outbox::sent(&log).map_err(|source| SyncError::Records { path: log.clone(), source })?;
        let sent = sent.ok_or_else(|| never_sent(job, scope.of()))?;
        let known = scope.contents().iter().filter(|content| sent.has_content(content)).count();
        // What is inside of a document is read with all of it.
        let file_of = |path: &DocumentPath| match DocumentPath::new(path.file()) {
            Ok(file) if sent.knows(&file) => file,
            _ => path.clone(),
        };
        let mut documents: Vec<DocumentPath> =
            sent.rows().filter(|(_, content)| scope.holds(content)).map(|(path, _)| file_of(path)).collect();
        documents.sort_unstable();
        documents.dedup();
        let unknown_contents = (scope.contents().len() - known) as u64;
        if unknown_contents > 0 {
            tracing::warn!(repository = %job.repository, unknown_contents, "contents that this site never sent were asked for, and are ignored");
        }
        Ok(Chosen { scope, documents, unknown_contents })
    }

    /// Whether an assignment may refine here what it announces.
    pub(crate) fn check_refinement(&self, job: &Job, refinement: &Announced) -> Result<(), SyncError> {
        self.config.policy.check_refinement().map_err(SyncError::Policy)?;
        if refinement.of == job.method_id {
            return Err(SyncError::Assignment("it refines a method by the same".to_owned()));
        }
        let sent = self.outbox_path(&job.repository, refinement.of, None).try_exists().unwrap_or(false);
        if sent && self.config.remember { Ok(()) } else { Err(never_sent(job, refinement.of)) }
    }
}

fn never_sent(job: &Job, of: MethodId) -> SyncError {
    SyncError::Assignment(format!("nothing was ever sent of `{}` under method {of}", job.repository))
}

/// The name of the log of an index.
pub(crate) fn log_name(method_id: MethodId, scope: Option<ScopeId>) -> String {
    match scope {
        None => format!("{method_id}.log"),
        Some(scope) => format!("{method_id}.{scope}.log"),
    }
}

/// Removes the oldest logs of refinements in a folder, so that with a new one there are not too many. `log` stays.
pub(crate) fn keep_few_logs(log: &Path) -> io::Result<()> {
    let Some(folder) = log.parent().filter(|folder| folder.is_dir()) else { return Ok(()) };
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // METHOD.SCOPE.log
        if entry.path() != log && entry.file_name().to_string_lossy().split('.').count() == 3 {
            logs.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    logs.sort_unstable();
    let too_many = (logs.len() + 1).saturating_sub(LOGS_MAX);
    logs.iter().take(too_many).try_for_each(|(_, path)| std::fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_refinements_do_not_pile_up_and_whole_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let log = |number: u8| folder.path().join(log_name(MethodId([1; 16]), Some(ScopeId([number; 16]))));
        let whole = folder.path().join(log_name(MethodId([1; 16]), None));
        std::fs::write(&whole, "").unwrap();
        for number in 0..20 {
            keep_few_logs(&log(number)).unwrap();
            std::fs::write(log(number), "").unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), LOGS_MAX + 1);
        assert!(whole.is_file() && log(19).is_file());
    }
}
