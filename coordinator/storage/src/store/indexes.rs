//! The indexes of each repository, and the time of the last analysis of each.

use super::{IndexId, IndexRow, Key, Prefix, SlotKey, SlotRow, Store, Tree};
use crate::error::Error;

impl Store {
    /// A number that no index has had before.
    pub(crate) fn next_index_id(&self) -> Result<IndexId, Error> {
        Ok(IndexId(self.next_number()?))
    }

    /// Repositories that have indexes, by method.
    pub(crate) fn slots(&self) -> Result<Vec<(SlotKey, SlotRow)>, Error> {
        let slot = |key| if let Key::Slot(slot) = key { Some(slot) } else { None };
        self.rows(Prefix::all(Tree::Slots), slot).collect()
    }

    pub(crate) fn remove_slot(&self, slot: &SlotKey) -> Result<(), Error> {
        self.remove(&Key::Slot(slot.clone()))?;
        self.remove(&Key::Used(slot.clone()))
    }

    /// The indexes of a slot; zeros where it has none.
    pub fn slot(&self, slot: &SlotKey) -> Result<SlotRow, Error> {
        Ok(self.get(&Key::Slot(slot.clone()))?.unwrap_or_default())
    }

    pub(crate) fn put_slot(&self, slot: &SlotKey, row: &SlotRow) -> Result<(), Error> {
        self.put(&Key::Slot(slot.clone()), row)
    }

    /// Time of the last analysis of an index; seconds since 1970, 0: never.
    pub(crate) fn used(&self, slot: &SlotKey) -> Result<i64, Error> {
        Ok(self.get(&Key::Used(slot.clone()))?.unwrap_or_default())
    }

    pub(crate) fn put_used(&self, slot: &SlotKey, time: i64) -> Result<(), Error> {
        self.put(&Key::Used(slot.clone()), &time)
    }

    /// An index, if it exists.
    pub fn index(&self, id: IndexId) -> Result<Option<IndexRow>, Error> {
        self.get(&Key::Index(id))
    }

    pub(crate) fn put_index(&self, id: IndexId, row: &IndexRow) -> Result<(), Error> {
        self.put(&Key::Index(id), row)
    }

    /// All indexes, in the order of their numbers.
    pub(crate) fn indexes(&self) -> Result<Vec<(IndexId, IndexRow)>, Error> {
        let id = |key| if let Key::Index(id) = key { Some(id) } else { None };
        self.rows(Prefix::all(Tree::Indexes), id).collect()
    }

    pub(crate) fn remove_index(&self, id: IndexId) -> Result<(), Error> {
        self.remove(&Key::Index(id))
    }
}
