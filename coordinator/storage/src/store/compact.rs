//! Compacting the journal once it has outgrown the state: the rows that come from it, as events.

use std::panic::AssertUnwindSafe;

use cognate_proto::v1;

use super::key::Lifetime;
use super::value::{ActionPart, Value as _};
use super::{Failure, Key, MemberRow, ScanRow, Store, Tree};
use crate::error::Error;
use crate::journal::{
    ActionState, History, Journal, MemberName, MemberState, PartyNamed, ScanEvent, VerdictLogged, VerdictState, What,
};
use crate::sample::SampleRow;
use crate::verdict::{ActionRow, SavedFilter, VerdictRow};

/// A journal of fewer bytes is read in a moment, however little of it still counts: about 5,000 events.
const BYTES_MIN: u64 = 1 << 20;
/// A journal that has this many times the bytes of a checkpoint is compacted.
const BYTES_PER_STATE: u64 = 4;
/// About as many bytes has a record of a checkpoint around its row.
const RECORD_BYTES: u64 = 64;

/// A compaction of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compacted {
    /// The bytes that the journal had.
    pub bytes_before: u64,
    /// The bytes that it has.
    pub bytes_after: u64,
}

impl Store {
    /// The journal as it is now, for reading it backwards.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn history(&self) -> Result<History, Error> {
        let history = |journal: &mut Option<Journal>| {
            journal.as_ref().expect("a store that is only looked at has no journal").history()
        };
        self.journal.write(|| Ok(()), history)
    }

    /// Compacts the journal if it has outgrown the state. Records wait for it.
    ///
    /// # Errors
    /// Fails if the disk refuses it; the journal is as before then, or nothing is written any more.
    pub fn compact_journal(&self) -> Result<Option<Compacted>, Error> {
        self.compact_journal_beyond(BYTES_MIN)
    }

    pub(crate) fn compact_journal_beyond(&self, bytes_min: u64) -> Result<Option<Compacted>, Error> {
        self.check_alive()?;
        let compact = |journal: &mut Option<Journal>| self.watched(self.compact_held(journal, bytes_min));
        // Held until the end: an event that came after its row was copied would be in neither part.
        let held = || self.journal.write(|| self.check_alive(), compact);
        std::panic::catch_unwind(AssertUnwindSafe(held)).unwrap_or_else(|_| {
            let reason = "a bug ended the compaction of the journal: see the log, and report the problem".to_owned();
            self.fail(Failure { reason: reason.clone(), is_bug: true });
            Err(Error::Stopped(reason))
        })
    }

    fn compact_held(&self, journal: &mut Option<Journal>, bytes_min: u64) -> Result<Option<Compacted>, Error> {
        let Some(journal) = journal.as_mut() else { return Ok(None) };
        let bytes_before = journal.bytes();
        if bytes_before <= bytes_min || journal.is_foreign() {
            return Ok(None);
        }
        if bytes_before <= self.state_bytes()?.saturating_mul(BYTES_PER_STATE) {
            return Ok(None);
        }
        if self.applied()? != journal.position() {
            return Err(Error::Refused("the store does not have all of the journal: it is not compacted".to_owned()));
        }
        // After the swap, a store that lacks events of the old part could never read them.
        self.barrier()?;
        journal.compact(self.state())?;
        self.put_applied(journal.position())?;
        let bytes_after = journal.bytes();
        tracing::info!(bytes_before, bytes_after, "the journal was compacted; what it was is in `journal.past`");
        Ok(Some(Compacted { bytes_before, bytes_after }))
    }

    /// About as many bytes would a checkpoint have.
    fn state_bytes(&self) -> Result<u64, Error> {
        let mut bytes = 0;
        for tree in journal_trees() {
            for entry in self.tree(tree).iter() {
                let (key, value) = entry?;
                bytes += (key.len() + value.len()) as u64 + RECORD_BYTES;
            }
        }
        Ok(bytes)
    }

    /// Every row that comes from the journal, as the event that makes it again.
    fn state(&self) -> impl Iterator<Item = Result<What, Error>> {
        journal_trees().flat_map(move |tree| {
            self.tree(tree).iter().map(move |entry| {
                let (key, value) = entry?;
                let key = Key::from_bytes(tree, &key);
                key.and_then(|key| event_of(key, &value)).ok_or_else(|| self.unreadable(tree))
            })
        })
    }
}

fn journal_trees() -> impl Iterator<Item = Tree> {
    Tree::ALL.into_iter().filter(|tree| tree.lifetime() == Lifetime::Journal)
}

/// The event that puts a row into a store.
fn event_of(key: Key, value: &[u8]) -> Option<What> {
    Some(match key {
        Key::Member(kind, name) => {
            let row = MemberRow::from_bytes(value)?;
            What::MemberState(MemberState { name: MemberName { kind: kind.into(), name }, row })
        }
        Key::Scan(id) => What::Scan(ScanEvent { id: id.0, row: ScanRow::from_bytes(value)? }),
        Key::Profile(_) => What::Profile(v1::Profile::from_bytes(value)?),
        Key::Schedule(_) => What::Schedule(v1::Schedule::from_bytes(value)?),
        Key::Watch(_) => What::Watch(v1::Watch::from_bytes(value)?),
        Key::Case(_) => What::Case(v1::Case::from_bytes(value)?),
        Key::Template(_) => What::Template(v1::Template::from_bytes(value)?),
        Key::Verdict(key) => {
            What::VerdictState(VerdictState { key: key.0.to_vec(), row: VerdictRow::from_bytes(value)? })
        }
        Key::VerdictAction(ActionPart { action, part }) => {
            What::ActionState(ActionState { action, part, row: ActionRow::from_bytes(value)? })
        }
        Key::VerdictLog(number) => {
            let ActionPart { action, part } = ActionPart::from_bytes(value)?;
            What::VerdictLogged(VerdictLogged { number, action, part })
        }
        Key::SavedFilter(_) => What::FilterSaved(SavedFilter::from_bytes(value)?),
        Key::Sample(_) => What::SampleDrawn(SampleRow::from_bytes(value)?),
        Key::Party(_) => What::PartyNamed(PartyNamed::from_bytes(value)?),
        // No event makes these.
        Key::Schema
        | Key::Journal
        | Key::Number
        | Key::Seen(_)
        | Key::Slot(_)
        | Key::Used(_)
        | Key::Index(_)
        | Key::Watched(..) => return None,
    })
}

#[cfg(test)]
mod tests;
