//! The form of a ledger, and the saved place of its last entry.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use cognate_durable::log::{Format, Place};

/// The longest entry has a name, an address and some numbers.
pub(super) const FORMAT: Format = Format { magic: b"cognate ledger 1\n", record_bytes_max: 64 << 10 };

/// The end of a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) number: u64,
    pub(super) place: Place,
}

impl Head {
    /// The head of a ledger without entries.
    pub(super) const BEGINNING: Head = Head { number: 0, place: FORMAT.start() };

    /// The head as text of a fixed length, so that it can be overwritten in place.
    pub(super) fn to_text(self) -> String {
        format!("{:020} {:020} {}\n", self.number, self.place.end, blake3::Hash::from(self.place.hash))
    }

    fn parse(text: &str) -> Option<Head> {
        let mut words = text.split_whitespace();
        let (number, end) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let hash = blake3::Hash::from_hex(words.next()?).ok()?.into();
        Some(Head { number, place: Place { end, hash } }).filter(|_| words.next().is_none())
    }
}

/// Reads the saved head; `None` where the file holds no valid one.
pub(super) fn saved_head(file: &File) -> Option<Head> {
    let mut bytes = [0; 256];
    let length = file.read_at(&mut bytes, 0).ok()?;
    let head = Head::parse(std::str::from_utf8(&bytes[..length]).ok()?);
    head.filter(|head| head.place.end >= FORMAT.start().end)
}
