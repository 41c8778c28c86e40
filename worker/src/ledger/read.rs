//! Reading a ledger: entry by entry, each checked against the chain. Damage is reported with the number of its entry.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use prost::Message as _;

use super::chain::{ENTRY_BYTES_MAX, HASH_BYTES, Head, MAGIC, chained, saved_head};
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
    file: BufReader<File>,
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
        let mut file = File::open(path)?;
        let mut magic = vec![0; MAGIC.len()];
        let whole = filled(&mut file, &mut magic)?;
        if !whole || magic != MAGIC {
            return Ok(Err(Damage {
                number: 1,
                reason: "cannot be read: the file does not begin as a ledger does".into(),
                at_end: false,
            }));
        }
        let mut entries =
            Entries { file: BufReader::with_capacity(1 << 16, file), head: Head::BEGINNING, totals: Totals::default() };
        let Some(known) = known.filter(|known| known.number > 0) else { return Ok(Ok(entries)) };
        if let Some(totals) = entries.last_before(known)? {
            entries.file.seek(SeekFrom::Start(known.end))?;
            (entries.head, entries.totals) = (known, totals);
            return Ok(Ok(entries));
        }
        // The entry that was known to be on the disk is not there: read all entries to find the first difference.
        loop {
            match entries.next() {
                Err(damage) => return Ok(Err(damage)),
                Ok(None) => return Ok(Err(entries.missing())),
                Ok(Some(entry)) if entry.number == known.number && entries.head != known => {
                    let reason = "differs from the entry that was written".to_owned();
                    return Ok(Err(Damage { number: entry.number, reason, at_end: false }));
                }
                Ok(Some(_)) => {}
            }
        }
    }

    fn missing(&self) -> Damage {
        let reason = "is missing, with all entries after it: the ledger was cut".to_owned();
        Damage { number: self.head.number + 1, reason, at_end: false }
    }

    /// Reads the totals of the entry that ends at a head, if the file holds it. The start of the entry is searched backwards
    /// from its end, which is fast because entries are short.
    fn last_before(&mut self, known: Head) -> io::Result<Option<Totals>> {
        let file = self.file.get_ref();
        if file.metadata()?.len() < known.end {
            return Ok(None);
        }
        let window = (ENTRY_BYTES_MAX as u64 + 4 + HASH_BYTES as u64).min(known.end - MAGIC.len() as u64);
        let mut bytes = vec![0; usize::try_from(window).expect("a small window")];
        file.read_exact_at(&mut bytes, known.end - window)?;
        let Some(hash_at) = bytes.len().checked_sub(HASH_BYTES).filter(|at| bytes[*at..] == known.hash) else {
            return Ok(None);
        };
        let totals = (0..hash_at.saturating_sub(4)).rev().find_map(|at| {
            let length = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
            let body = (at + 4 + length == hash_at).then(|| &bytes[at + 4..hash_at])?;
            let entry = Entry::decode(body).ok().filter(|entry| entry.number == known.number)?;
            Some(Totals { messages: entry.number, bytes: entry.bytes_so_far })
        });
        Ok(totals)
    }

    /// Reads the next entry; `None` at the end of the ledger.
    ///
    /// # Errors
    /// The first place at which the file differs from what was written.
    #[expect(clippy::should_implement_trait, reason = "the first error ends the iteration")]
    pub fn next(&mut self) -> Result<Option<Entry>, Damage> {
        let number = self.head.number + 1;
        let bad = |reason: &str, at_end| Damage { number, reason: reason.to_owned(), at_end };
        let unreadable = |error: io::Error| bad(&format!("cannot be read: {error}"), false);
        let mut length = [0; 4];
        match self.file.read(&mut length[..1]).map_err(unreadable)? {
            0 => return Ok(None),
            _ if filled(&mut self.file, &mut length[1..]).map_err(unreadable)? => {}
            _ => return Err(bad("is incomplete", true)),
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > ENTRY_BYTES_MAX {
            return Err(bad("has an impossible length", false));
        }
        let mut rest = vec![0; length + HASH_BYTES];
        if !filled(&mut self.file, &mut rest).map_err(unreadable)? {
            return Err(bad("is incomplete", true));
        }
        let (body, hash) = rest.split_at(length);
        let expected = chained(&self.head.hash, body);
        let entry = Entry::decode(body).ok();
        if expected != hash {
            return Err(match entry {
                Some(entry) if entry.number > number => bad(&format!("is missing; {} follows", entry.number), false),
                _ => bad("was changed", false),
            });
        }
        let Some(entry) = entry.filter(|entry| entry.number == number) else {
            return Err(bad("is not an entry of this number", false));
        };
        self.head = Head { number, end: self.head.end + (4 + length + HASH_BYTES) as u64, hash: expected };
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
    Ok(Ok(Verified { totals: entries.totals, head: entries.head.hash, indexes }))
}

fn filled(reader: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
