//! Writing to the record: every change that must not be forgotten, with its time and its author.

use std::sync::Arc;

use cognate_storage::clock::{Clock, seconds};
use cognate_storage::journal::{Acted, Action, Event, What};
use cognate_storage::store::Store;

use crate::error::Error;

/// The store and the clock of a coordinator.
pub struct Records {
    /// The transactional view.
    pub store: Arc<Store>,
    /// The clock for the times of events.
    pub clock: Clock,
}

impl Records {
    /// Records an event that must not be forgotten, and its author.
    ///
    /// # Errors
    /// Fails if it cannot be brought to the disk.
    pub fn record(&self, what: What, by: &str) -> Result<(), Error> {
        Ok(self.store.record(&Event { time: self.now(), by: by.to_owned(), what: Some(what) })?)
    }

    /// Records an act that changes nothing here, and its author.
    ///
    /// # Errors
    /// Fails if it cannot be brought to the disk.
    pub fn note(&self, action: Action, scan: u64, by: &str) -> Result<(), Error> {
        self.record(What::Acted(Acted { action: action.into(), scan }), by)
    }

    /// The time now, in seconds since 1970.
    pub fn now(&self) -> i64 {
        seconds((self.clock)())
    }
}
