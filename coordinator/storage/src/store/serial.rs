//! Two locks by which nothing is acknowledged after a failure of the disk, whatever other threads write at that time.
//!
//! After a failed sync the system may report success for the next one, though the bytes are lost: Linux says of each failure only once.
//! So whoever waited while another thread failed must not write, and must not take a sync of its own for a good one.
//!
//! The locks come from the module above, because `interleavings` compiles this file a second time, with locks that try every order.

use super::sync::{AtomicU64, Mutex, Ordering};

/// A file that threads write one after the other.
pub(super) struct Serial<T>(Mutex<T>);

impl<T> Serial<T> {
    pub(super) fn new(file: T) -> Serial<T> {
        Serial(Mutex::new(file))
    }

    /// Waits for its turn, checks whether anything may be written, and writes. A failure has to be noted by `write` itself: the next
    /// thread checks as soon as this one is done.
    pub(super) fn write<R, E>(
        &self,
        check: impl FnOnce() -> Result<(), E>,
        write: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut file = self.0.lock().expect("nothing panics while it is held");
        check()?;
        write(&mut file)
    }
}

/// Syncs of one file, which threads that wait share.
pub(super) struct SharedSync {
    /// Number of syncs that have begun.
    begun: AtomicU64,
    /// The number of the last one that succeeded.
    done: Mutex<u64>,
}

impl SharedSync {
    pub(super) fn new() -> SharedSync {
        SharedSync { begun: AtomicU64::new(0), done: Mutex::new(0) }
    }

    /// Returns once everything that this thread has written is synced. A failure has to be noted by `sync` itself.
    pub(super) fn run<E>(
        &self,
        check: impl FnOnce() -> Result<(), E>,
        sync: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // It adds nothing, and makes what was written so far visible to the thread that begins the next one.
        let before = self.begun.fetch_add(0, Ordering::AcqRel);
        let mut done = self.done.lock().expect("nothing panics while it is held");
        check()?;
        // While this thread waited, one began and succeeded.
        if *done > before {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        sync()?;
        *done = number;
        Ok(())
    }
}
