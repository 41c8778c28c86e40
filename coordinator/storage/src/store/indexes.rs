//! Where the index of each repository stands, and when it was last analysed.

use super::{IndexId, IndexRow, SCHEMA_PARTS, SlotKey, SlotRow, Store, corrupt, put};
use crate::error::Error;

impl Store {
    /// A number that no index has had before.
    pub(crate) fn next_index_id(&self) -> Result<IndexId, Error> {
        Ok(IndexId(self.next_number()?))
    }

    /// Which repositories have indexes, under which methods.
    pub(crate) fn slots(&self) -> Result<Vec<(SlotKey, SlotRow)>, Error> {
        let mut slots = Vec::new();
        for entry in self.slots.iter() {
            let (key, value) = entry?;
            let key = SlotKey::parse(&key).ok_or_else(|| corrupt(&self.folder, "a slot has no name".to_owned()))?;
            slots.push((key, self.decode(&value)?));
        }
        Ok(slots)
    }

    pub(crate) fn remove_slot(&self, key: &SlotKey) -> Result<(), Error> {
        self.slots.remove(key.bytes())?;
        self.used.remove(key.bytes())?;
        Ok(())
    }

    /// The indexes of a slot; zeros where it has none.
    pub fn slot(&self, key: &SlotKey) -> Result<SlotRow, Error> {
        Ok(self.get(&self.slots, &key.bytes())?.unwrap_or_default())
    }

    pub(crate) fn put_slot(&self, key: &SlotKey, row: &SlotRow) -> Result<(), Error> {
        if key.scope.is_some() {
            self.meta.insert("schema", &SCHEMA_PARTS.to_be_bytes())?;
        }
        put(&self.slots, &key.bytes(), row)
    }

    /// When an index was last analysed; seconds since 1970, 0: never.
    pub(crate) fn used(&self, key: &SlotKey) -> Result<i64, Error> {
        let bytes = self.used.get(key.bytes())?;
        Ok(bytes.and_then(|bytes| bytes.as_ref().try_into().ok()).map_or(0, i64::from_be_bytes))
    }

    pub(crate) fn put_used(&self, key: &SlotKey, time: i64) -> Result<(), Error> {
        self.used.insert(key.bytes(), &time.to_be_bytes())?;
        Ok(())
    }

    pub(crate) fn index(&self, id: IndexId) -> Result<Option<IndexRow>, Error> {
        self.get(&self.indexes, &id.0.to_be_bytes())
    }

    pub(crate) fn put_index(&self, id: IndexId, row: &IndexRow) -> Result<(), Error> {
        put(&self.indexes, &id.0.to_be_bytes(), row)
    }

    /// All indexes, in the order of their numbers.
    pub(crate) fn indexes(&self) -> Result<Vec<(IndexId, IndexRow)>, Error> {
        let mut indexes = Vec::new();
        for entry in self.indexes.iter() {
            let (key, value) = entry?;
            let id = key.as_ref().try_into().map(u64::from_be_bytes);
            let id = id.map_err(|_| corrupt(&self.folder, "an index's key is not a number".to_owned()))?;
            indexes.push((IndexId(id), self.decode(&value)?));
        }
        Ok(indexes)
    }

    pub(crate) fn remove_index(&self, id: IndexId) -> Result<(), Error> {
        self.indexes.remove(id.0.to_be_bytes())?;
        Ok(())
    }
}
