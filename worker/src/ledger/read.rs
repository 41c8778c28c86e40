//! Reading a ledger: entry by entry, each checked against the chain. Damage is reported with the number of its entry.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use cognate_durable::log::{Next, OpenError, Records};
use prost::Message as _;

use super::chain::{FORMAT, Head, saved_head};
use super::count::Indexes;
use super::entry::{Entry, Totals};

/// The first place at which a ledger differs from what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The number that the entry there should have.
    pub number: u64,
    /// The kind of the damage.
    pub reason: String,
    /// The file ends within this entry.
    pub at_end: bool,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} {}", self.number, self.reason)
    }
}

/// Reads the entries of a ledger, from the first or from a known place.
pub struct Entries {
    records: Records,
    head: Head,
    totals: Totals,
}

impl Entries {
    /// Opens a ledger to read it from its beginning.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &Path) -> io::Result<Result<Entries, Damage>> {
        Entries::open_at(path, None)
    }

    pub(super) fn open_at(path: &Path, known: Option<Head>) -> io::Result<Result<Entries, Damage>> {
        let records = match Records::open(path, FORMAT) {
            Ok(records) => records,
            Err(OpenError::Io(error)) => return Err(error),
            Err(OpenError::OtherMagic(_)) => {
                let reason = "cannot be read: the file does not begin as a ledger does".to_owned();
                return Ok(Err(Damage { number: 1, reason, at_end: false }));
            }
        };
        let mut entries = Entries { records, head: Head::BEGINNING, totals: Totals::default() };
        let Some(known) = known.filter(|known| known.number > 0) else { return Ok(Ok(entries)) };
        if let Some(totals) = entries.last_before(known)? {
            entries.records.seek(known.place)?;
            (entries.head, entries.totals) = (known, totals);
            return Ok(Ok(entries));
        }
        // The entry that was known to be on the disk is not there: read all entries to find the first difference.
        loop {
            match entries.next() {
                Err(damage) => return Ok(Err(damage)),
                Ok(None) => return Ok(Err(entries.missing())),
                Ok(Some(_)) => {
                    if let Err(damage) = entries.check_known(Some(known)) {
                        return Ok(Err(damage));
                    }
                }
            }
        }
    }

    /// Checks the entry that was read last, if it is the one that was known to be on the disk.
    pub(super) fn check_known(&self, known: Option<Head>) -> Result<(), Damage> {
        match known.filter(|known| known.number == self.head.number && *known != self.head) {
            None => Ok(()),
            Some(Head { number, .. }) => {
                let reason = "differs from the entry that was written".to_owned();
                Err(Damage { number, reason, at_end: false })
            }
        }
    }

    pub(super) fn missing(&self) -> Damage {
        let reason = "is missing, with all entries after it: the ledger was cut".to_owned();
        Damage { number: self.head.number + 1, reason, at_end: false }
    }

    /// Reads the totals of the entry that ends at a head, if the file holds it.
    fn last_before(&self, known: Head) -> io::Result<Option<Totals>> {
        let entry = self.records.ending_at(known.place)?.and_then(|body| Entry::decode(body.as_slice()).ok());
        let entry = entry.filter(|entry| entry.number == known.number);
        Ok(entry.map(|entry| Totals { messages: entry.number, bytes: entry.bytes_so_far }))
    }

    /// Reads the next entry; `None` at the end of the ledger.
    ///
    /// # Errors
    /// The first place at which the file differs from what was written.
    #[expect(clippy::should_implement_trait, reason = "the first error ends the iteration")]
    pub fn next(&mut self) -> Result<Option<Entry>, Damage> {
        let number = self.head.number + 1;
        let bad = |reason: &str, at_end| Damage { number, reason: reason.to_owned(), at_end };
        let body = match self.records.next() {
            Ok(Next::Record(body)) => body,
            Ok(Next::End) => return Ok(None),
            Ok(Next::Incomplete) => return Err(bad("is incomplete", true)),
            // After a loss of power, a page that was never written reads as zeros.
            Ok(Next::Changed { body: None, is_last: true }) => return Err(bad("is incomplete", true)),
            Ok(Next::Changed { body, .. }) => {
                let found = body.and_then(|body| Entry::decode(body.as_slice()).ok());
                return Err(match found.filter(|found| found.number > number) {
                    Some(found) => bad(&format!("is missing; {} follows", found.number), false),
                    None => bad("was changed", false),
                });
            }
            Err(error) => return Err(bad(&format!("cannot be read: {error}"), false)),
        };
        let entry = Entry::decode(body.as_slice()).ok();
        let Some(entry) = entry.filter(|entry| entry.number == number) else {
            return Err(bad("is not an entry of this number", false));
        };
        self.head = Head { number, place: self.records.place() };
        self.totals = Totals { messages: number, bytes: entry.bytes_so_far };
        Ok(Some(entry))
    }

    pub(super) fn head(&self) -> Head {
        self.head
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }
}

/// Sums over a ledger, from its last entry that is known to be on the disk.
pub fn totals(state_dir: &Path) -> Option<Totals> {
    let known = saved_head(&File::open(state_dir.join("ledger.head")).ok()?);
    Some(Entries::open_at(&state_dir.join("ledger"), known).ok()?.ok()?.totals)
}

/// The content of a verified ledger, in sums.
#[derive(Debug)]
pub struct Verified {
    /// Sums over all messages.
    pub totals: Totals,
    /// The hash of the last entry.
    pub head: [u8; 32],
    /// The sent batches of each index.
    pub indexes: Indexes,
}

/// Reads all entries of a ledger and checks its chain. Set `growing` if a process writes to it: then the last entry may be
/// incomplete.
///
/// # Errors
/// If the file cannot be read. The inner error is the first entry that differs from what was written.
pub fn verify(state_dir: &Path, growing: bool) -> io::Result<Result<Verified, Damage>> {
    // Read the head first: the ledger may grow in the meantime, but it never shrinks.
    let known = match File::open(state_dir.join("ledger.head")) {
        Ok(file) => saved_head(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut entries = match Entries::open(&state_dir.join("ledger"))? {
        Ok(entries) => entries,
        Err(damage) => return Ok(Err(damage)),
    };
    let mut indexes = Indexes::default();
    loop {
        match entries.next() {
            Ok(Some(entry)) => {
                if known.is_some_and(|known| known.number == entry.number && known != entries.head()) {
                    let reason = "differs from the entry that was written".to_owned();
                    return Ok(Err(Damage { number: entry.number, reason, at_end: false }));
                }
                indexes.take(&entry);
            }
            Ok(None) => break,
            Err(damage) if damage.at_end && growing => break,
            Err(damage) => return Ok(Err(damage)),
        }
    }
    if known.is_some_and(|known| known.number > entries.head.number) {
        return Ok(Err(entries.missing()));
    }
    Ok(Ok(Verified { totals: entries.totals, head: entries.head.place.hash, indexes }))
}
