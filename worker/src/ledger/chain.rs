//! The chain of hashes that holds the entries of a ledger together, and the saved place of its last entry.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// The first bytes of a ledger.
pub(super) const MAGIC: &[u8] = b"cognate ledger 1\n";
pub(super) const HASH_BYTES: usize = 32;
/// The longest entry: a name, an address and some numbers.
pub(super) const ENTRY_BYTES_MAX: usize = 64 << 10;

/// The end of a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) number: u64,
    pub(super) end: u64,
    pub(super) hash: [u8; HASH_BYTES],
}

impl Head {
    /// The head of a ledger without entries.
    pub(super) const BEGINNING: Head = Head { number: 0, end: MAGIC.len() as u64, hash: [0; HASH_BYTES] };

    /// The head as text of a fixed length, so that it can be overwritten in place.
    pub(super) fn to_text(self) -> String {
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

/// The hash of an entry: it covers the hash of the previous entry.
pub(super) fn chained(previous: &[u8; HASH_BYTES], body: &[u8]) -> [u8; HASH_BYTES] {
    *blake3::Hasher::new().update(previous).update(body).finalize().as_bytes()
}

/// Reads the saved head; `None` where the file holds no valid one.
pub(super) fn saved_head(file: &File) -> Option<Head> {
    let mut bytes = [0; 256];
    let length = file.read_at(&mut bytes, 0).ok()?;
    Head::parse(std::str::from_utf8(&bytes[..length]).ok()?).filter(|head| head.end >= MAGIC.len() as u64)
}
