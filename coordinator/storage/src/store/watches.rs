//! Watches with what each knows of every repository, and cases.

use cognate_proto::v1;

use super::{SlotKey, Store, WatchedRow, put};
use crate::error::Error;

impl Store {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Result<Option<v1::Case>, Error> {
        self.get(&self.cases, name.as_bytes())
    }

    /// All cases, in the order of their names.
    pub fn cases(&self) -> Result<Vec<v1::Case>, Error> {
        self.all(&self.cases)
    }

    /// The watch of this name.
    pub fn watch(&self, name: &str) -> Result<Option<v1::Watch>, Error> {
        self.get(&self.watches, name.as_bytes())
    }

    /// All watches, in the order of their names.
    pub fn watches(&self) -> Result<Vec<v1::Watch>, Error> {
        self.all(&self.watches)
    }

    /// What a watch knows of a repository.
    pub fn watch_row(&self, watch: &str, key: &SlotKey) -> Result<Option<WatchedRow>, Error> {
        self.get(&self.watched, &watched_key(watch, key))
    }

    /// Stores the state of a watch over a repository.
    pub fn put_watch_row(&self, watch: &str, key: &SlotKey, row: &WatchedRow) -> Result<(), Error> {
        put(&self.watched, &watched_key(watch, key), row)
    }

    /// What a watch knows of all repositories.
    pub fn watched_of(&self, watch: &str) -> Result<Vec<WatchedRow>, Error> {
        let rows = self.watched.scan_prefix([watch.as_bytes(), &[0]].concat());
        rows.map(|entry| self.decode(&entry?.1)).collect()
    }

    /// Forgets what a watch knows.
    pub fn forget_watched(&self, watch: &str) -> Result<(), Error> {
        for entry in self.watched.scan_prefix([watch.as_bytes(), &[0]].concat()) {
            self.watched.remove(entry?.0)?;
        }
        Ok(())
    }
}

fn watched_key(watch: &str, key: &SlotKey) -> Vec<u8> {
    [watch.as_bytes(), &[0], key.site.as_str().as_bytes(), &[0], key.repository.as_str().as_bytes(), &[0]].concat()
}
