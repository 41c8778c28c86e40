//! The records of a presentation ([MS-PPT] 2.3.1): a version and an instance, a kind, a length, and a body.

use crate::format::compound::{place_at, u16_at};

/// Size of the header of a record.
const HEADER_BYTES: usize = 8;
/// The version of records that hold others.
const CONTAINER: u16 = 0xF;

/// A record.
#[derive(Clone, Copy)]
pub(super) struct Record<'s> {
    version: u16,
    pub(super) instance: u16,
    pub(super) kind: u16,
    pub(super) body: &'s [u8],
}

impl Record<'_> {
    pub(super) fn is_container(&self) -> bool {
        self.version == CONTAINER
    }
}

/// The record at a place. One that is cut ends with the file.
pub(super) fn record_at(bytes: &[u8], at: usize) -> Option<Record<'_>> {
    let bytes = bytes.get(at..)?;
    let first = u16_at(bytes, 0)?;
    let kind = u16_at(bytes, 2)?;
    let length = place_at(bytes, 4)?;
    let body = bytes.get(HEADER_BYTES..)?;
    Some(Record { version: first & 0xF, instance: first >> 4, kind, body: &body[..length.min(body.len())] })
}

/// The records of a container, one behind the other.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let record = record_at(bytes, at)?;
        at += HEADER_BYTES + record.body.len();
        Some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_each_other_and_the_last_ends_with_the_file() {
        let bytes = b"\x2F\0\xE8\x03\x02\0\0\0ab\x00\0\xA0\x0F\xFF\0\0\0cd";
        let all: Vec<_> = records(bytes).collect();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].kind, all[0].instance, all[0].is_container(), all[0].body), (0x3E8, 2, true, &b"ab"[..]));
        assert_eq!((all[1].kind, all[1].is_container(), all[1].body), (0xFA0, false, &b"cd"[..]));
        assert_eq!((records(&bytes[..7]).count(), records(b"").count()), (0, 0));
    }
}
