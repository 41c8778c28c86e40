//! Counts the documents of each of two repositories that are the same, changed or moved at the other, share standard text with it, or are only
//! in one, while their rows are written.

use cognate_result_file::{Change, Insert};
use rusqlite::Connection;

use super::document_rows::DocumentRows;
use crate::findings::Status;

/// The counts of both repositories; nothing is counted if there are not two.
pub(super) struct Changes {
    roots: Option<[Counts; 2]>,
    /// By the first row of each document, what it is if it has no relative at the other repository.
    alone: Vec<Option<Alone>>,
}

/// A document without a relative at the other repository.
#[derive(Clone, Copy)]
struct Alone {
    has_standard_text: bool,
}

/// The documents of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    same: u64,
    changed: u64,
    moved: u64,
    standard_text: u64,
    only_here: u64,
}

impl Changes {
    pub(super) fn new(documents: &DocumentRows<'_>, roots: usize) -> Changes {
        let is_compared = roots == 2;
        let alone = vec![None; if is_compared { documents.rows.len() } else { 0 }];
        Changes { roots: is_compared.then(Default::default), alone }
    }

    /// Counts the document of a row by its status and its partner. Of the partner, the first is true if it is at the same place. Without one
    /// it may share standard text.
    pub(super) fn add(
        &mut self,
        root: u16,
        row: usize,
        status: Status,
        partner: Option<(bool, &str)>,
        has_standard_text: bool,
    ) {
        let Some(roots) = &mut self.roots else { return };
        let change = &mut roots[usize::from(root)];
        match partner {
            Some((true, "identical")) => change.same += 1,
            Some((true, _)) => change.changed += 1,
            Some((false, _)) => change.moved += 1,
            None if has_nothing(status) => {}
            None => self.alone[row] = Some(Alone { has_standard_text }),
        }
    }

    pub(super) fn write(mut self, connection: &Connection, documents: &DocumentRows<'_>) -> rusqlite::Result<()> {
        for (row, alone) in self.alone.iter().enumerate() {
            let (Some(Alone { has_standard_text }), Some(roots)) = (alone, &mut self.roots) else { continue };
            let counts = &mut roots[usize::from(documents.rows[row].root)];
            let other = documents.counterpart(row);
            // Documents that both have at one place with too little in common for a link changed, and are missing nowhere.
            match (other.is_some_and(|other| self.alone[other].is_some()), has_standard_text) {
                (true, _) => counts.changed += 1,
                (false, true) => counts.standard_text += 1,
                (false, false) => counts.only_here += 1,
            }
        }
        Insert::into(connection)?.add_all((0..).zip(self.roots.iter().flatten()).map(|(root, counts)| {
            let Counts { same, changed, moved, standard_text, only_here } = *counts;
            Change { root, same, changed, moved, standard_text, only_here }
        }))
    }
}

/// True for documents that have nothing to compare.
fn has_nothing(status: Status) -> bool {
    matches!(status, Status::ExcludedEmpty | Status::ExcludedNoText | Status::ExcludedContainer)
}
