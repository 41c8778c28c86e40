//! The open ledger of a running site. Every message is written here first; a message that cannot be written is not sent.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use cognate_durable::log::Log;
use cognate_durable::whole::{PRIVATE, sync_folder};
use prost::Message as _;

use super::chain::{FORMAT, Head, saved_head};
use super::entry::{Entry, IndexEntry, Kind, Totals};
use super::read::{Damage, Entries};

/// The open ledger of a running site.
pub struct Ledger {
    path: PathBuf,
    clock: fn() -> SystemTime,
    inner: Mutex<Inner>,
    /// Those of all entries that are written, for who does not wait until the next one is.
    totals: Mutex<Totals>,
}

struct Inner {
    log: Log,
    head_file: File,
    totals: Totals,
    /// A write failed, for this reason. The end of the file is unknown, so nothing may be sent any more.
    failed: Option<String>,
}

/// The reason why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The ledger cannot be written.
    #[error("the ledger `{}` cannot be written, so nothing is sent: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The ledger differs from what was written.
    #[error(
        "the ledger `{}` is damaged ({damage}), so nothing is sent: keep a copy of it, find the reason, and move it and \
         `ledger.head` away to start a new one", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place and the kind of the damage.
        damage: Damage,
    },
}

impl Ledger {
    /// Opens the ledger of a state folder, or creates one, after reading all of it: a site whose ledger is damaged sends nothing. An
    /// entry that a killed process did not write completely belongs to a message that was not sent; it is removed.
    ///
    /// # Errors
    /// If the ledger cannot be read or written, or is damaged.
    pub fn open(state_dir: &Path, clock: fn() -> SystemTime) -> Result<Ledger, LedgerError> {
        let path = state_dir.join("ledger");
        let unwritable = |source| LedgerError::Unwritable { path: path.clone(), source };
        let mut log = Log::open(&path, FORMAT, PRIVATE, true).map_err(unwritable)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
        let head_file = options.open(state_dir.join("ledger.head")).map_err(unwritable)?;
        let damaged = |damage| LedgerError::Damaged { path: path.clone(), damage };
        let known = saved_head(&head_file);
        let mut entries = Entries::open(&path).map_err(unwritable)?.map_err(damaged)?;
        // The last entry that is known to be on the disk: after it a write may have been interrupted.
        let known_number = known.map_or(0, |known| known.number);
        loop {
            match entries.next() {
                Ok(Some(_)) => entries.check_known(known).map_err(damaged)?,
                Ok(None) if entries.head().number < known_number => return Err(damaged(entries.missing())),
                Ok(None) => break,
                Err(damage) if damage.number > known_number && (known.is_some() || damage.at_end) => {
                    tracing::warn!(%damage, "the last entry of the ledger is incomplete and is removed");
                    break;
                }
                Err(damage) => return Err(damaged(damage)),
            }
        }
        let totals = entries.totals();
        log.resume(entries.head().place).map_err(unwritable)?;
        let inner = Inner { log, head_file, totals, failed: None };
        let ledger = Ledger { path: path.clone(), clock, inner: Mutex::new(inner), totals: Mutex::new(totals) };
        ledger.sync()?;
        if known.is_none() {
            // From now on there is a head, so that what a loss of power left is never taken for damage.
            let head = ledger.inner().head_file.sync_all();
            head.and_then(|()| sync_folder(state_dir)).map_err(|source| ledger.unwritable(source))?;
        }
        Ok(ledger)
    }

    /// Writes the entry of a message. The message may be sent only after this call returns `Ok`.
    pub(crate) fn record(
        &self,
        kind: Kind,
        destination: &str,
        message: &impl prost::Message,
        index: Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        let encoded = message.encode_to_vec();
        let digest = blake3::hash(&encoded).as_bytes().to_vec();
        let now = (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default();
        let durable = kind == Kind::Batch;
        if durable {
            crate::failpoint!("worker.before_ledger");
        }
        let mut inner = self.inner();
        let message_bytes = encoded.len() as u64;
        let entry = Entry {
            number: inner.totals.messages + 1,
            utc_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            kind: kind.into(),
            destination: destination.to_owned(),
            message_bytes,
            digest,
            bytes_so_far: inner.totals.bytes + message_bytes,
            index,
        };
        inner.append(&entry, durable).map_err(|source| self.unwritable(source))?;
        *self.shown() = inner.totals;
        if durable {
            crate::failpoint!("worker.after_ledger");
        }
        Ok(())
    }

    /// Syncs the ledger to the disk.
    ///
    /// # Errors
    /// If the sync fails. Nothing may be sent after that.
    pub fn sync(&self) -> Result<(), LedgerError> {
        self.inner().sync().map_err(|source| self.unwritable(source))
    }

    /// Sums over all entries.
    pub fn totals(&self) -> Totals {
        *self.shown()
    }

    fn shown(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().expect("no code panics while it holds this lock")
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no code panics while it holds this lock")
    }

    fn unwritable(&self, source: io::Error) -> LedgerError {
        LedgerError::Unwritable { path: self.path.clone(), source }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger({})", self.path.display())
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Entries that had to be durable are already synced; this only shortens the next start.
        let _ = self.sync();
    }
}

impl Inner {
    fn append(&mut self, entry: &Entry, durable: bool) -> io::Result<()> {
        self.check()?;
        // If a part of the entry is left, the next start removes it.
        let appended = self.log.append(&entry.encode_to_vec()).map_err(io::Error::from);
        self.kept(appended)?;
        self.totals = Totals { messages: entry.number, bytes: entry.bytes_so_far };
        if durable { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        // After a failed sync the state of the disk is unknown, and a second sync could hide the failure.
        let synced = self.log.sync();
        self.kept(synced)?;
        // The head is not synced: an old head only makes the next start read more entries.
        let head = Head { number: self.totals.messages, place: self.log.place() };
        let written = self.head_file.write_all_at(head.to_text().as_bytes(), 0);
        self.kept(written)
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

#[cfg(test)]
mod tests;
