//! Watches with what each knows of every repository, and cases.

use cognate_proto::v1;

use super::{Key, Prefix, SlotKey, Store, Tree, WatchedRow};
use crate::error::Error;

impl Store {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Result<Option<v1::Case>, Error> {
        self.get(&Key::Case(name.to_owned()))
    }

    /// All cases, in the order of their names.
    pub fn cases(&self) -> Result<Vec<v1::Case>, Error> {
        self.values(Prefix::all(Tree::Cases))
    }

    /// The watch of this name.
    pub fn watch(&self, name: &str) -> Result<Option<v1::Watch>, Error> {
        self.get(&Key::Watch(name.to_owned()))
    }

    /// All watches, in the order of their names.
    pub fn watches(&self) -> Result<Vec<v1::Watch>, Error> {
        self.values(Prefix::all(Tree::Watches))
    }

    /// State of a watch for one repository.
    pub fn watch_row(&self, watch: &str, key: &SlotKey) -> Result<Option<WatchedRow>, Error> {
        self.get(&watched_key(watch, key))
    }

    /// Stores the state of a watch over a repository.
    pub fn put_watch_row(&self, watch: &str, key: &SlotKey, row: &WatchedRow) -> Result<(), Error> {
        self.put(&watched_key(watch, key), row)
    }

    /// States of a watch for all repositories.
    pub fn watched_of(&self, watch: &str) -> Result<Vec<WatchedRow>, Error> {
        self.values(Prefix::watched(watch))
    }

    /// Forgets what a watch knows.
    pub fn forget_watched(&self, watch: &str) -> Result<(), Error> {
        for row in self.rows::<WatchedRow, _>(Prefix::watched(watch), Some) {
            self.remove(&row?.0)?;
        }
        Ok(())
    }
}

fn watched_key(watch: &str, slot: &SlotKey) -> Key {
    Key::Watched(watch.to_owned(), slot.site.clone(), slot.repository.clone())
}
