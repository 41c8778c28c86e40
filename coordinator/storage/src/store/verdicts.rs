//! Verdicts in the store: what holds of each subject, what was done, and in which order it became known.

use std::sync::atomic::Ordering;

use cognate_proto::name::SiteName;
use cognate_proto::v1;

use super::value::{ActionPart, Value as _};
use super::{Key, Prefix, Store, Tree};
use crate::error::Error;
use crate::verdict::{self, ActionRow, Decision, Labels, SavedFilter, VerdictEntry, VerdictRow};

/// So many decisions about one subject can be taken back, one after the other. Each party has its own, so that nobody drops those of
/// another.
const ENTRIES_MAX: usize = 16;
/// The action of the entry of earlier changes of labels, which cannot be taken back. No other entry has it.
const MERGED: u64 = 0;

impl Store {
    /// Takes a part of a decision in.
    pub(super) fn apply_decision(&self, decision: &Decision, by: &str, time: i64) -> Result<(), Error> {
        let mut keys = Vec::with_capacity(decision.decided.len() * size_of::<verdict::Key>());
        for decided in &decision.decided {
            let Some(subject) = verdict::Key::parse(&decided.key) else { continue };
            keys.extend_from_slice(&subject.0);
            let key = Key::Verdict(subject);
            let mut row: VerdictRow = self.get(&key)?.unwrap_or_default();
            row.entries.retain(|entry| entry.action != decision.action);
            row.entries.push(VerdictEntry {
                action: decision.action,
                verdict: decision.verdict,
                note: decision.note.clone(),
                by: by.to_owned(),
                time,
                scan: decision.scan,
                decided: decided.clone(),
                party: decision.party.clone(),
                is_bound: decision.is_bound,
                label: decision.label.clone(),
            });
            shorten(&mut row, decision);
            self.put(&key, &row)?;
        }
        let row = ActionRow {
            scan: decision.scan,
            verdict: decision.verdict,
            note: decision.note.clone(),
            filter: decision.filter.clone(),
            by: by.to_owned(),
            time,
            keys,
            undone_by: String::new(),
            undone: 0,
            label: decision.label.clone(),
        };
        let part = ActionPart { action: decision.action, part: decision.part };
        self.put(&Key::VerdictAction(part), &row)?;
        self.log_verdicts(part)
    }

    /// Takes a decision back: what was decided before holds again.
    pub(super) fn apply_undone(&self, action: u64, by: &str, time: i64) -> Result<(), Error> {
        for entry in self.rows(Prefix::action(action), action_part) {
            let (part, row): (ActionPart, ActionRow) = entry?;
            for subject in row.keys() {
                let key = Key::Verdict(subject);
                let mut verdicts: VerdictRow = self.get(&key)?.unwrap_or_default();
                verdicts.entries.retain(|entry| entry.action != action);
                if verdicts.entries.is_empty() {
                    self.remove(&key)?;
                } else {
                    self.put(&key, &verdicts)?;
                }
            }
            let undone = ActionRow { undone_by: by.to_owned(), undone: time, ..row };
            self.put(&Key::VerdictAction(part), &undone)?;
            self.log_verdicts(part)?;
        }
        Ok(())
    }

    fn log_verdicts(&self, part: ActionPart) -> Result<(), Error> {
        let number = self.verdict_number()? + 1;
        self.put(&Key::VerdictLog(number), &part)?;
        self.verdict_count.store(number, Ordering::Release);
        Ok(())
    }

    /// Grows with every change of a verdict.
    pub fn verdict_number(&self) -> Result<u64, Error> {
        match self.verdict_count.load(Ordering::Acquire) {
            0 => {
                let last = self.rows::<ActionPart, _>(Prefix::all(Tree::VerdictLog), log_number).next_back();
                let number = last.transpose()?.map_or(0, |(number, _)| number);
                self.verdict_count.fetch_max(number, Ordering::AcqRel);
                Ok(number)
            }
            number => Ok(number),
        }
    }

    /// The subjects of which something changed after this number; a subject may occur twice.
    pub fn verdicts_changed(&self, after: u64) -> Result<Vec<verdict::Key>, Error> {
        let mut keys = Vec::new();
        let first = Key::VerdictLog(after + 1);
        for entry in self.tree(first.tree()).range(first.to_bytes()..) {
            let part = ActionPart::from_bytes(&entry?.1).ok_or_else(|| self.unreadable(first.tree()))?;
            if let Some(row) = self.get::<ActionRow>(&Key::VerdictAction(part))? {
                keys.extend(row.keys());
            }
        }
        Ok(keys)
    }

    /// The verdict on a subject.
    pub fn verdict(&self, subject: verdict::Key) -> Result<Option<VerdictRow>, Error> {
        self.get(&Key::Verdict(subject))
    }

    /// All that is decided, in the order of the keys.
    pub fn verdicts(&self) -> impl Iterator<Item = Result<(verdict::Key, VerdictRow), Error>> {
        let subject = |key| if let Key::Verdict(subject) = key { Some(subject) } else { None };
        self.rows(Prefix::all(Tree::Verdicts), subject)
    }

    /// The parts of all actions with the numbers of those, latest first.
    pub fn verdict_actions(&self) -> impl Iterator<Item = Result<(u64, ActionRow), Error>> {
        let action = |key| action_part(key).map(|part| part.action);
        self.rows(Prefix::all(Tree::VerdictActions), action).rev()
    }

    /// The parts of an action.
    pub fn verdict_action(&self, action: u64) -> Result<Vec<ActionRow>, Error> {
        self.values(Prefix::action(action))
    }

    /// The filters that have names, in the order of those.
    pub fn saved_filters(&self) -> Result<Vec<SavedFilter>, Error> {
        self.values(Prefix::all(Tree::SavedFilters))
    }

    /// Drops what was decided about documents of a site.
    pub(super) fn forget_verdicts(&self, site: &SiteName) -> Result<(), Error> {
        for entry in self.verdicts() {
            let (key, row) = entry?;
            if row.entries.iter().any(|entry| entry.decided.site == site.as_str()) {
                self.remove(&Key::Verdict(key))?;
            }
        }
        Ok(())
    }
}

/// Leaves the latest decisions of those who made this one. Earlier verdicts are dropped; earlier changes of labels become one,
/// since all of them together make the labels.
fn shorten(row: &mut VerdictRow, decision: &Decision) {
    let is_own = |entry: &VerdictEntry| {
        entry.is_bound == decision.is_bound
            && (!entry.is_bound || entry.party == decision.party)
            && entry.label.is_some() == decision.label.is_some()
            && entry.action != MERGED
    };
    let too_many = row.entries.iter().filter(|entry| is_own(entry)).count().saturating_sub(ENTRIES_MAX);
    for _ in 0..too_many {
        let Some(place) = row.entries.iter().position(is_own) else { return };
        let dropped = row.entries.remove(place);
        let Some(change) = dropped.label.clone() else { continue };
        let is_merged = |entry: &&mut VerdictEntry| {
            entry.action == MERGED && entry.is_bound == dropped.is_bound && entry.party == dropped.party
        };
        match row.entries.iter_mut().find(is_merged) {
            Some(merged) => {
                merged.label = merged.label.take().map(|earlier| joined(earlier, &change));
                merged.decided = dropped.decided;
            }
            // It is before all others, as what it has was done before them.
            None => {
                let place = row.entries.iter().take_while(|entry| entry.action == MERGED).count();
                row.entries.insert(place, VerdictEntry { action: MERGED, ..dropped });
            }
        }
    }
}

/// The change that does the same as one after the other.
fn joined(earlier: v1::LabelChange, later: &v1::LabelChange) -> v1::LabelChange {
    let mut labels = Labels::default();
    labels.change(&earlier);
    labels.change(later);
    let mut remove: Vec<String> = earlier.remove.into_iter().chain(later.remove.iter().cloned()).collect();
    remove.retain(|tag| !labels.tags.contains(tag));
    remove.sort();
    remove.dedup();
    let assignee = later.assignee.clone().or(earlier.assignee);
    v1::LabelChange { add: labels.tags.into_iter().collect(), remove, assignee }
}

fn action_part(key: Key) -> Option<ActionPart> {
    if let Key::VerdictAction(part) = key { Some(part) } else { None }
}

fn log_number(key: Key) -> Option<u64> {
    if let Key::VerdictLog(number) = key { Some(number) } else { None }
}
