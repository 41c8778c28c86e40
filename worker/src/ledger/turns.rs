//! The lock of the ledger: threads write their entries one after the other, and none may send a message after a failure of the disk.
//!
//! The locks come from the module above, because `interleavings` compiles this file a second time, with locks that try every order.

use std::io;

use super::sync::{Mutex, MutexGuard};
use crate::ledger::{Entry, Totals};

/// The files of a ledger.
pub(super) trait Files {
    /// Adds an entry. If a part of it is left after a failure, the next start removes it.
    fn append(&mut self, entry: &Entry) -> io::Result<()>;
    /// Brings all entries to the disk; `last` is the number of the last one.
    fn sync(&mut self, last: u64) -> io::Result<()>;
}

/// The files of a ledger, which threads write one after the other.
pub(super) struct Turns<F> {
    inner: Mutex<Inner<F>>,
    /// Those of all entries that are written, for who does not wait until the next one is.
    totals: Mutex<Totals>,
}

struct Inner<F> {
    files: F,
    totals: Totals,
    /// A write failed, for this reason. The end of the file is unknown, so nothing may be sent any more.
    failed: Option<String>,
}

impl<F: Files> Turns<F> {
    pub(super) fn new(files: F, totals: Totals) -> Turns<F> {
        Turns { inner: Mutex::new(Inner { files, totals, failed: None }), totals: Mutex::new(totals) }
    }

    /// Writes the entry that follows those of these totals.
    pub(super) fn record(&self, durable: bool, entry: impl FnOnce(Totals) -> Entry) -> io::Result<()> {
        let mut inner = locked(&self.inner);
        let entry = entry(inner.totals);
        inner.append(&entry, durable)?;
        // Under both locks, so that the totals never go back.
        *locked(&self.totals) = inner.totals;
        Ok(())
    }

    /// Brings all entries to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        locked(&self.inner).sync()
    }

    /// Sums over all entries.
    pub(super) fn totals(&self) -> Totals {
        *locked(&self.totals)
    }

    /// The files, while no other thread writes them.
    pub(super) fn with_files<R>(&self, with: impl FnOnce(&mut F) -> R) -> R {
        with(&mut locked(&self.inner).files)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no code panics while it holds this lock")
}

impl<F: Files> Inner<F> {
    fn append(&mut self, entry: &Entry, durable: bool) -> io::Result<()> {
        self.check()?;
        let appended = self.files.append(entry);
        self.kept(appended)?;
        self.totals = Totals { messages: entry.number, bytes: entry.bytes_so_far };
        if durable { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        // After a failed sync the state of the disk is unknown, and a second sync could hide the failure.
        let synced = self.files.sync(self.totals.messages);
        self.kept(synced)
    }

    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some(reason) => Err(io::Error::other(format!("an earlier entry could not be written: {reason}"))),
            None => Ok(()),
        }
    }

    /// Remembers why a write failed.
    fn kept(&mut self, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result {
            self.failed = Some(error.to_string());
        }
        result
    }
}
