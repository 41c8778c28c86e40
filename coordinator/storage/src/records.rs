//! Writing to the record: every change that must not be forgotten, with its time and its author.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::clock::{Clock, seconds};
use crate::disk::DiskPlaces;
use crate::error::Error;
use crate::journal::{Acted, Action, Event, What};
use crate::store::Store;

/// Entries that a person may make at once, and one more each second: nobody fills the disk with what is never forgotten.
const ENTRIES_AT_ONCE: u32 = 1000;

/// The store and the clock of a coordinator.
pub struct Records {
    /// The transactional view.
    pub store: Arc<Store>,
    /// The clock for the times of events.
    pub clock: Clock,
    /// The threads that wait for the disk.
    pub disk: DiskPlaces,
    people: Mutex<HashMap<String, Entries>>,
}

/// The entries that a person may still make.
struct Entries {
    left: u32,
    /// The time up to which they are counted, in seconds since 1970.
    time: i64,
}

impl Records {
    /// Writes to a store.
    pub fn new(store: Arc<Store>, clock: Clock) -> Records {
        Records { store, clock, disk: DiskPlaces::default(), people: Mutex::default() }
    }

    /// Records an event that must not be forgotten, and its author; nobody: it is the coordinator's own.
    ///
    /// # Errors
    /// Fails if the author has made too many entries, or it cannot be brought to the disk.
    pub fn record(&self, what: What, by: &str) -> Result<(), Error> {
        self.take_entry(by)?;
        self.record_part(what, by)
    }

    /// Records a further part of an event of which the first was recorded.
    ///
    /// # Errors
    /// Fails if it cannot be brought to the disk.
    pub fn record_part(&self, what: What, by: &str) -> Result<(), Error> {
        self.store.record(&Event { time: self.now(), by: by.to_owned(), what: Some(what) })
    }

    /// Records an act that changes nothing here, and its author.
    ///
    /// # Errors
    /// As [`Records::record`].
    pub fn note(&self, action: Action, scan: u64, by: &str) -> Result<(), Error> {
        self.record(What::Acted(Acted { action: action.into(), scan }), by)
    }

    /// The time now, in seconds since 1970.
    pub fn now(&self) -> i64 {
        seconds((self.clock)())
    }

    fn take_entry(&self, by: &str) -> Result<(), Error> {
        if by.is_empty() {
            return Ok(());
        }
        let now = self.now();
        let mut people = self.people.lock().expect("nothing panics while it is held");
        let entries = people.entry(by.to_owned()).or_insert(Entries { left: ENTRIES_AT_ONCE, time: now });
        let passed = u32::try_from(now.saturating_sub(entries.time)).unwrap_or(0);
        *entries = Entries { left: entries.left.saturating_add(passed).min(ENTRIES_AT_ONCE), time: now };
        entries.left = entries.left.checked_sub(1).ok_or_else(|| {
            Error::TooMany(format!(
                "`{by}` has made {ENTRIES_AT_ONCE} entries of the audit log at once: try again in a second"
            ))
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, SystemTime};

    use super::*;

    static NOW: AtomicU64 = AtomicU64::new(1_800_000_000);

    fn clock() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.load(Ordering::Relaxed))
    }

    #[test]
    fn a_person_makes_many_entries_at_once_and_then_one_each_second_and_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store"), &folder.path().join("journal"), false).unwrap();
        let records = Records::new(Arc::new(store), clock);
        let sign_in = |by: &str| records.note(Action::LoginAsked, 0, by);
        (0..ENTRIES_AT_ONCE).for_each(|_| sign_in("mallory").unwrap());
        let refused = sign_in("mallory").unwrap_err();
        assert_eq!(refused.kind(), crate::ErrorKind::TooMany, "{refused}");
        sign_in("anna").unwrap();
        sign_in("").unwrap();
        NOW.fetch_add(2, Ordering::Relaxed);
        assert!(sign_in("mallory").is_ok() && sign_in("mallory").is_ok() && sign_in("mallory").is_err());
        // A clock that goes backwards gives nothing, and takes nothing.
        NOW.fetch_sub(10, Ordering::Relaxed);
        assert!(sign_in("mallory").is_err());
    }
}
