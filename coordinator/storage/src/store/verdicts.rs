//! Verdicts in the store: what holds of each subject, what was done, and in which order it became known.

use std::sync::atomic::Ordering;

use cognate_proto::name::SiteName;

use super::{Store, put};
use crate::error::Error;
use crate::verdict::{ActionRow, Decision, Key, SavedFilter, VerdictEntry, VerdictRow};

/// So many decisions about one subject can be taken back, one after the other.
const ENTRIES_MAX: usize = 16;

impl Store {
    /// Takes a part of a decision in.
    pub(super) fn apply_decision(&self, decision: &Decision, by: &str, time: i64) -> Result<(), Error> {
        let mut keys = Vec::with_capacity(decision.decided.len() * size_of::<Key>());
        for decided in &decision.decided {
            keys.extend_from_slice(&decided.key);
            let mut row: VerdictRow = self.get(&self.verdicts, &decided.key)?.unwrap_or_default();
            row.entries.retain(|entry| entry.action != decision.action);
            row.entries.push(VerdictEntry {
                action: decision.action,
                verdict: decision.verdict,
                note: decision.note.clone(),
                by: by.to_owned(),
                time,
                scan: decision.scan,
                decided: decided.clone(),
            });
            let too_many = row.entries.len().saturating_sub(ENTRIES_MAX);
            row.entries.drain(..too_many);
            put(&self.verdicts, &decided.key, &row)?;
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
        };
        let key = action_key(decision.action, decision.part);
        put(&self.verdict_actions, &key, &row)?;
        self.log_verdicts(&key)
    }

    /// Takes a decision back: what was decided before holds again.
    pub(super) fn apply_undone(&self, action: u64, by: &str, time: i64) -> Result<(), Error> {
        for entry in self.verdict_actions.scan_prefix(action.to_be_bytes()) {
            let (key, value) = entry?;
            let row: ActionRow = self.decode(&value)?;
            for subject in row.keys() {
                let mut verdicts: VerdictRow = self.get(&self.verdicts, &subject.0)?.unwrap_or_default();
                verdicts.entries.retain(|entry| entry.action != action);
                if verdicts.entries.is_empty() {
                    self.verdicts.remove(subject.0)?;
                } else {
                    put(&self.verdicts, &subject.0, &verdicts)?;
                }
            }
            put(&self.verdict_actions, &key, &ActionRow { undone_by: by.to_owned(), undone: time, ..row })?;
            self.log_verdicts(&key)?;
        }
        Ok(())
    }

    fn log_verdicts(&self, action: &[u8]) -> Result<(), Error> {
        let number = self.verdict_number()? + 1;
        self.verdict_log.insert(number.to_be_bytes(), action)?;
        self.verdict_count.store(number, Ordering::Release);
        Ok(())
    }

    /// Grows with every change of a verdict.
    pub fn verdict_number(&self) -> Result<u64, Error> {
        match self.verdict_count.load(Ordering::Acquire) {
            0 => {
                let last = self.verdict_log.last()?;
                let number = last.and_then(|(key, _)| key.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes);
                self.verdict_count.fetch_max(number, Ordering::AcqRel);
                Ok(number)
            }
            number => Ok(number),
        }
    }

    /// The subjects of which something changed after this number; some may be told twice.
    pub fn verdicts_changed(&self, after: u64) -> Result<Vec<Key>, Error> {
        let mut keys = Vec::new();
        for entry in self.verdict_log.range((after + 1).to_be_bytes()..) {
            if let Some(row) = self.get::<ActionRow>(&self.verdict_actions, &entry?.1)? {
                keys.extend(row.keys());
            }
        }
        Ok(keys)
    }

    /// What was decided about a subject.
    pub fn verdict(&self, key: Key) -> Result<Option<VerdictRow>, Error> {
        self.get(&self.verdicts, &key.0)
    }

    /// All that is decided, in the order of the keys.
    pub fn verdicts(&self) -> impl Iterator<Item = Result<(Key, VerdictRow), Error>> {
        self.verdicts.iter().map(|entry| {
            let (key, value) = entry?;
            let key = Key::parse(&key)
                .ok_or_else(|| super::corrupt(&self.folder, "a verdict's key is of another length".to_owned()))?;
            Ok((key, self.decode(&value)?))
        })
    }

    /// The parts of all actions with the numbers of those, latest first.
    pub fn verdict_actions(&self) -> impl Iterator<Item = Result<(u64, ActionRow), Error>> {
        self.verdict_actions.iter().rev().map(|entry| {
            let (key, value) = entry?;
            let action = key.first_chunk().copied().map_or(0, u64::from_be_bytes);
            Ok((action, self.decode(&value)?))
        })
    }

    /// The parts of an action.
    pub fn verdict_action(&self, action: u64) -> Result<Vec<ActionRow>, Error> {
        let rows = self.verdict_actions.scan_prefix(action.to_be_bytes());
        rows.map(|entry| self.decode(&entry?.1)).collect()
    }

    /// The filters that have names, in the order of those.
    pub fn saved_filters(&self) -> Result<Vec<SavedFilter>, Error> {
        self.all(&self.saved_filters)
    }

    /// Drops what was decided about documents of a site.
    pub(super) fn forget_verdicts(&self, site: &SiteName) -> Result<(), Error> {
        for entry in self.verdicts() {
            let (key, row) = entry?;
            if row.entries.iter().any(|entry| entry.decided.site == site.as_str()) {
                self.verdicts.remove(key.0)?;
            }
        }
        Ok(())
    }
}

fn action_key(action: u64, part: u32) -> Vec<u8> {
    [&action.to_be_bytes()[..], &part.to_be_bytes()].concat()
}
