//! Counts the documents of each of two repositories that are the same, changed or moved at the other, share standard text with it, or are only
//! in one, while their rows are written.

use cognate_result_file::{Change, Insert};
use rusqlite::Connection;

use super::decision::{Decision, Elsewhere};
use super::document_rows::{DecidedPartner, DocumentRows};

/// The counts of both repositories; nothing is counted if there are not two.
pub(super) struct Changes {
    roots: Option<[Counts; 2]>,
    /// By the first row of each document that has no relative at the other repository, what is decided about it.
    alone: Vec<Option<Elsewhere>>,
}

/// The documents of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    same: u64,
    changed: u64,
    moved: u64,
    standard_text: u64,
    not_decided: u64,
    only_here: u64,
}

impl Changes {
    pub(super) fn new(documents: &DocumentRows<'_>, roots: usize) -> Changes {
        let is_compared = roots == 2;
        let alone = vec![None; if is_compared { documents.rows.len() } else { 0 }];
        Changes { roots: is_compared.then(Default::default), alone }
    }

    /// Counts a document by its partner, where it has one. `is_in_place`: whether the partner is at the same place.
    pub(super) fn add(&mut self, root: u16, decision: &Decision, is_in_place: bool) {
        let (Some(roots), Some(elsewhere)) = (&mut self.roots, decision.elsewhere) else { return };
        let change = &mut roots[usize::from(root)];
        let count = match (elsewhere, &decision.partner) {
            (Elsewhere::Yes, Some(DecidedPartner { relation: None, .. })) if is_in_place => &mut change.same,
            (Elsewhere::Yes, Some(_)) if is_in_place => &mut change.changed,
            (Elsewhere::Yes, _) => &mut change.moved,
            // It may have changed in its place.
            _ => return self.alone[decision.first as usize] = Some(elsewhere),
        };
        *count += 1;
    }

    pub(super) fn write(mut self, connection: &Connection, documents: &DocumentRows<'_>) -> rusqlite::Result<()> {
        for (row, alone) in self.alone.iter().enumerate() {
            let (Some(alone), Some(roots)) = (alone, &mut self.roots) else { continue };
            let change = &mut roots[usize::from(documents.rows[row].root)];
            let other = documents.counterpart(row);
            // Documents that both have at one place with too little in common for a link changed, and are missing nowhere.
            let count = match alone {
                _ if other.is_some_and(|other| self.alone[other].is_some()) => &mut change.changed,
                Elsewhere::StandardText => &mut change.standard_text,
                Elsewhere::NotDecided => &mut change.not_decided,
                _ => &mut change.only_here,
            };
            *count += 1;
        }
        Insert::into(connection)?.add_all((0..).zip(self.roots.iter().flatten()).map(|(root, counts)| {
            let Counts { same, changed, moved, standard_text, not_decided, only_here } = *counts;
            Change { root, same, changed, moved, standard_text, not_decided, only_here }
        }))
    }
}
