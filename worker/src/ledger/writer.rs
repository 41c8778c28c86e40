//! The open ledger of a running site. Every message is written here first; a message that cannot be written is not sent.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cognate_durable::log::Log;
use cognate_durable::whole::{PRIVATE, sync_folder};
use prost::Message as _;

use super::chain::{FORMAT, Head, saved_head};
use super::entry::{Entry, IndexEntry, Kind, Totals};
use super::read::{Damage, Entries};
use super::turns::{Files, Turns};

/// The open ledger of a running site.
pub struct Ledger {
    path: PathBuf,
    clock: fn() -> SystemTime,
    turns: Turns<LedgerFiles>,
}

struct LedgerFiles {
    log: Log,
    head_file: File,
}

impl Files for LedgerFiles {
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        self.log.append(&entry.encode_to_vec()).map_err(io::Error::from)
    }

    fn sync(&mut self, last: u64) -> io::Result<()> {
        self.log.sync()?;
        // The head is not synced: an old head only makes the next start read more entries.
        let head = Head { number: last, place: self.log.place() };
        self.head_file.write_all_at(head.to_text().as_bytes(), 0)
    }
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
        let ledger = Ledger { path: path.clone(), clock, turns: Turns::new(LedgerFiles { log, head_file }, totals) };
        ledger.sync()?;
        if known.is_none() {
            // From now on there is a head, so that what a loss of power left is never taken for damage.
            let head = ledger.turns.with_files(|files| files.head_file.sync_all());
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
        let message_bytes = encoded.len() as u64;
        let entry = |before: Totals| Entry {
            number: before.messages + 1,
            utc_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            kind: kind.into(),
            destination: destination.to_owned(),
            message_bytes,
            digest,
            bytes_so_far: before.bytes + message_bytes,
            index,
        };
        self.turns.record(durable, entry).map_err(|source| self.unwritable(source))?;
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
        self.turns.sync().map_err(|source| self.unwritable(source))
    }

    /// Sums over all entries.
    pub fn totals(&self) -> Totals {
        self.turns.totals()
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

#[cfg(test)]
mod tests;
