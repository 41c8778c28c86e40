//! The ledger: the record of everything that leaves this site, written before it is sent. What cannot be written down is
//! not sent.
//!
//! Append-only and chained: the hash of every entry covers the hash of the one before it, so that nothing can be changed,
//! taken out or moved without [`read::Entries`] naming the place. Batches are synced to the disk before they are sent.
//!
//! File `ledger`: `cognate ledger 1\n`, then entries of length (u32, little-endian), body (an encoded [`Entry`]) and hash
//! (BLAKE3 of the hash before and the body: 32 bytes). File `ledger.head`: number, end and hash of the last entry that is
//! known to be on the disk, in text; by it a cut at the end shows, and a start need not read the whole.

pub mod count;
pub mod read;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message as _;

use self::read::{Damage, Entries};

const MAGIC: &[u8] = b"cognate ledger 1\n";
const HASH_BYTES: usize = 32;
/// No entry is longer: a name, an address and some numbers.
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// The open ledger of a running site.
pub struct Ledger {
    path: PathBuf,
    clock: fn() -> SystemTime,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    head_file: File,
    head: Head,
    totals: Totals,
    /// A write failed: what the file holds at its end is not known, and nothing may be sent any more.
    failed: bool,
}

/// Where a ledger ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) end: u64,
    pub(crate) hash: [u8; HASH_BYTES],
}

/// What a ledger comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// Messages that were about to leave.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One message that was about to leave.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Entry {
    /// 1, 2, 3 …
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Milliseconds since 1970.
    #[prost(sint64, tag = "2")]
    pub utc_ms: i64,
    /// What kind of message.
    #[prost(enumeration = "Kind", tag = "3")]
    pub kind: i32,
    /// To which address.
    #[prost(string, tag = "4")]
    pub destination: String,
    /// The length of the encoded message.
    #[prost(uint64, tag = "5")]
    pub message_bytes: u64,
    /// BLAKE3 of the encoded message: 32 bytes.
    #[prost(bytes = "vec", tag = "6")]
    pub digest: Vec<u8>,
    /// All messages before this one and itself.
    #[prost(uint64, tag = "7")]
    pub bytes_so_far: u64,
    /// Which index it is about, where it is about one.
    #[prost(message, optional, tag = "8")]
    pub index: Option<IndexEntry>,
}

/// What a message of a push is about.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IndexEntry {
    /// The repository.
    #[prost(string, tag = "1")]
    pub repository: String,
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub method_id: Vec<u8>,
    /// The epoch of the index.
    #[prost(fixed64, tag = "3")]
    pub epoch: u64,
    /// The batch, or the last one before a seal.
    #[prost(uint64, tag = "4")]
    pub sequence: u64,
    /// The length of the batch's body.
    #[prost(uint64, tag = "5")]
    pub body_bytes: u64,
    /// The digest under which the coordinator knows the body: 16 bytes.
    #[prost(bytes = "vec", tag = "6")]
    pub body_digest: Vec<u8>,
    /// Documents in it.
    #[prost(uint64, tag = "7")]
    pub documents: u64,
    /// Contents in it.
    #[prost(uint64, tag = "8")]
    pub contents: u64,
    /// Chunks in it.
    #[prost(uint64, tag = "9")]
    pub chunks: u64,
    /// Which contents the index is about, where it refines: 16 bytes or none.
    #[prost(bytes = "vec", tag = "10")]
    pub scope: Vec<u8>,
}

/// The kinds of messages that leave a site. There are no others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum Kind {
    /// The greeting of a session.
    Hello = 1,
    /// How far a sync is.
    Progress = 2,
    /// A sync came to its end.
    Ended = 3,
    /// There is somebody.
    KeepAlive = 4,
    /// Whether the site takes assignments.
    State = 5,
    /// An index is opened.
    Open = 6,
    /// A piece of an index.
    Batch = 7,
    /// An index is complete.
    Seal = 8,
    /// An invitation is turned into a certificate.
    Enroll = 9,
    /// A new certificate is asked for.
    Renew = 10,
    /// What was received is asked for.
    ReceivedRequest = 11,
    /// Results are asked for.
    ResultsRequest = 12,
    /// Which contents a refinement is about is asked for.
    ScopeRequest = 13,
    /// The hashes of files that a query is about are asked for.
    FileHashesRequest = 14,
    /// Which files have a hash that was asked for.
    FileHashHits = 15,
}

impl Kind {
    /// Its name in listings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Hello => "hello",
            Kind::Progress => "progress",
            Kind::Ended => "ended",
            Kind::KeepAlive => "keep-alive",
            Kind::State => "state",
            Kind::Open => "open",
            Kind::Batch => "batch",
            Kind::Seal => "seal",
            Kind::Enroll => "enroll",
            Kind::Renew => "renew",
            Kind::ReceivedRequest => "received-request",
            Kind::ResultsRequest => "results-request",
            Kind::ScopeRequest => "scope-request",
            Kind::FileHashesRequest => "file-hashes-request",
            Kind::FileHashHits => "file-hash-hits",
        }
    }
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It cannot be written: so nothing is sent.
    #[error("the ledger `{}` cannot be written, so nothing is sent: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is not as it was written: so nothing is sent.
    #[error(
        "the ledger `{}` is damaged ({damage}), so nothing is sent: keep a copy of it, find out why, and move it and \
         `ledger.head` away to begin a new one", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and what.
        damage: Damage,
    },
}

impl Ledger {
    /// Opens the ledger of a state folder, or begins one. What a process that was killed had not written to its end was
    /// not sent either, and is cut off.
    ///
    /// # Errors
    /// When it cannot be read or written, or is not as it was written.
    pub fn open(state_dir: &Path, clock: fn() -> SystemTime) -> Result<Ledger, LedgerError> {
        let path = state_dir.join("ledger");
        let unwritable = |source| LedgerError::Unwritable { path: path.clone(), source };
        let options = || OpenOptions::new().read(true).create(true).mode(0o600).to_owned();
        let mut file = options().append(true).open(&path).map_err(unwritable)?;
        let head_file =
            options().write(true).truncate(false).open(state_dir.join("ledger.head")).map_err(unwritable)?;
        let length = file.metadata().map_err(unwritable)?.len();
        if length < MAGIC.len() as u64 {
            file.set_len(0).map_err(unwritable)?;
            file.write_all(MAGIC).map_err(unwritable)?;
            file.sync_all().map_err(unwritable)?;
        }
        let damaged = |damage| LedgerError::Damaged { path: path.clone(), damage };
        let known = read::head(&head_file);
        let mut entries = Entries::open_at(&path, known).map_err(unwritable)?.map_err(damaged)?;
        let mut totals = entries.totals();
        loop {
            match entries.next() {
                Ok(Some(entry)) => totals = Totals { messages: entry.number, bytes: entry.bytes_so_far },
                Ok(None) => break,
                // Beyond what was known to be on the disk: the process or the machine was stopped while it wrote.
                Err(damage) if known.is_some() || damage.at_end => {
                    tracing::warn!(%damage, "the end of the ledger was not written in full and is cut off");
                    file.set_len(entries.head().end).map_err(unwritable)?;
                    break;
                }
                Err(damage) => return Err(damaged(damage)),
            }
        }
        let inner = Inner { file, head_file, head: entries.head(), totals, failed: false };
        let ledger = Ledger { path: path.clone(), clock, inner: Mutex::new(inner) };
        ledger.sync()?;
        Ok(ledger)
    }

    /// Writes an entry; the message may be sent once this has returned, and not otherwise.
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
            number: inner.head.number + 1,
            utc_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            kind: kind.into(),
            destination: destination.to_owned(),
            message_bytes,
            digest,
            bytes_so_far: inner.totals.bytes + message_bytes,
            index,
        };
        inner.append(&entry, durable).map_err(|source| self.unwritable(source))?;
        if durable {
            crate::failpoint!("worker.after_ledger");
        }
        Ok(())
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// When that fails; nothing may be sent any more then.
    pub fn sync(&self) -> Result<(), LedgerError> {
        self.inner().sync().map_err(|source| self.unwritable(source))
    }

    /// What it comes to.
    pub fn totals(&self) -> Totals {
        self.inner().totals
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it is held")
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
        // Whoever needed it on the disk has had it there; this only saves the next start some reading.
        let _ = self.sync();
    }
}

impl Inner {
    fn append(&mut self, entry: &Entry, durable: bool) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier entry could not be written"));
        }
        let body = entry.encode_to_vec();
        let hash = chained(&self.head.hash, &body);
        let length = u32::try_from(body.len()).expect("an entry is short");
        let frame = [&length.to_le_bytes(), body.as_slice(), &hash].concat();
        if let Err(error) = self.file.write_all(&frame) {
            self.failed = true;
            // Half an entry is no entry. If not even this can be done, the next start cuts it off.
            let _ = self.file.set_len(self.head.end);
            return Err(error);
        }
        self.head = Head { number: entry.number, end: self.head.end + frame.len() as u64, hash };
        self.totals = Totals { messages: entry.number, bytes: entry.bytes_so_far };
        if durable { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier entry could not be written"));
        }
        if let Err(error) = self.file.sync_data() {
            // What a failed sync has left on the disk nobody knows; asking again would only hide it.
            self.failed = true;
            return Err(error);
        }
        // Not synced itself: a head that lags behind costs the next start some reading, and no more.
        let written = self.head_file.write_all_at(self.head.to_text().as_bytes(), 0);
        self.failed = written.is_err();
        written
    }
}

impl Head {
    /// A ledger without entries.
    const BEGINNING: Head = Head { number: 0, end: MAGIC.len() as u64, hash: [0; HASH_BYTES] };

    /// Always of the same length, so that it can be written in place.
    fn to_text(self) -> String {
        format!("{:020} {:020} {}\n", self.number, self.end, blake3::Hash::from(self.hash))
    }

    fn parse(text: &str) -> Option<Head> {
        let mut words = text.split_whitespace();
        let head = Head {
            number: words.next()?.parse().ok()?,
            end: words.next()?.parse().ok()?,
            hash: blake3::Hash::from_hex(words.next()?).ok()?.into(),
        };
        Some(head).filter(|_| words.next().is_none())
    }
}

fn chained(before: &[u8; HASH_BYTES], body: &[u8]) -> [u8; HASH_BYTES] {
    *blake3::Hasher::new().update(before).update(body).finalize().as_bytes()
}

#[cfg(test)]
mod tests;
