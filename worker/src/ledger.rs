//! The ledger: the record of every message that leaves this site. An entry is written before its message is sent, and a
//! message whose entry cannot be written is not sent.
//!
//! The ledger is append-only and chained: the hash of every entry covers the hash of the entry before it, so nothing can
//! be changed, removed or moved without [`read::Entries`] naming the place. Entries of batches are synced to the disk
//! before the batches are sent.
//!
//! File `ledger`: `cognate ledger 1\n`, then entries of length (u32, little-endian), body (an encoded [`Entry`]) and hash
//! (BLAKE3 of the previous hash and the body: 32 bytes). File `ledger.head`: number, end and hash of the last entry that is
//! known to be on the disk, as text. It shows when the ledger was cut at its end, and a start need not read all entries.

mod chain;
pub mod count;
mod entry;
#[cfg(test)]
mod interleavings;
pub mod read;
pub mod summary;
mod turns;
mod writer;

/// The locks of `turns`.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard};
}

pub use self::entry::{Entry, IndexEntry, Kind, Totals};
pub use self::writer::{Ledger, LedgerError};
