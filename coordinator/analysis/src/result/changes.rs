//! Counts the documents of each of two repositories that are the same, changed or moved at the other, or only in one, while their rows are
//! written.

use cognate_result_file::{Change, Insert};
use rusqlite::Connection;

use super::document_rows::DocumentRows;
use crate::findings::Status;

/// The counts of both repositories; nothing is counted if there are not two.
pub(super) struct Changes {
    roots: Option<[Counts; 2]>,
    /// By the first row of each document, true if it has no relative at the other repository.
    is_alone: Vec<bool>,
}

/// The documents of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    same: u64,
    changed: u64,
    moved: u64,
    only_here: u64,
}

impl Changes {
    pub(super) fn new(documents: &DocumentRows<'_>, roots: usize) -> Changes {
        let is_compared = roots == 2;
        let is_alone = vec![false; if is_compared { documents.rows.len() } else { 0 }];
        Changes { roots: is_compared.then(Default::default), is_alone }
    }

    /// Counts the document of a row by its status and its partner. Of the partner, the first is true if it is at the same place.
    pub(super) fn add(&mut self, root: u16, row: usize, status: Status, partner: Option<(bool, &str)>) {
        let Some(roots) = &mut self.roots else { return };
        let change = &mut roots[usize::from(root)];
        match partner {
            Some((true, "identical")) => change.same += 1,
            Some((true, _)) => change.changed += 1,
            Some((false, _)) => change.moved += 1,
            None if has_nothing(status) => {}
            None => {
                change.only_here += 1;
                self.is_alone[row] = true;
            }
        }
    }

    /// Documents that both have at one place with too little in common for a link changed, and are missing nowhere.
    fn rewritten(&self, documents: &DocumentRows<'_>) -> u64 {
        let alone = (0..self.is_alone.len()).filter(|row| self.is_alone[*row] && documents.rows[*row].root == 0);
        let rewritten = alone.filter_map(|row| documents.counterpart(row)).filter(|other| self.is_alone[*other]);
        rewritten.count() as u64
    }

    pub(super) fn write(&self, connection: &Connection, documents: &DocumentRows<'_>) -> rusqlite::Result<()> {
        let rewritten = self.rewritten(documents);
        Insert::into(connection)?.add_all((0..).zip(self.roots.iter().flatten()).map(|(root, counts)| Change {
            root,
            same: counts.same,
            changed: counts.changed + rewritten,
            moved: counts.moved,
            only_here: counts.only_here - rewritten,
        }))
    }
}

/// True for documents that have nothing to compare.
fn has_nothing(status: Status) -> bool {
    matches!(status, Status::ExcludedEmpty | Status::ExcludedNoText | Status::ExcludedContainer)
}
