//! The values of the store. A row is a version byte and an encoded message; a number is big-endian.

use std::any::TypeId;

use cognate_proto::v1;
use prost::Message as _;

use crate::journal::{PartyNamed, Position};
use crate::rows::{IndexRow, MemberRow, ScanRow, SeenRow, SlotRow, WatchedRow};
use crate::sample::SampleRow;
use crate::verdict::{ActionRow, SavedFilter, VerdictRow};

/// The first byte of a row.
const ROW_VERSION: u8 = 1;

/// A value of the store, as bytes and back.
pub(super) trait Value: Sized + 'static {
    fn to_bytes(&self) -> Vec<u8>;

    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// The type of the value of a key.
#[derive(Clone, Copy)]
pub(super) struct ValueType {
    id: TypeId,
    reads: fn(&[u8]) -> bool,
}

impl ValueType {
    pub(super) fn of<V: Value>() -> ValueType {
        ValueType { id: TypeId::of::<V>(), reads: |bytes| V::from_bytes(bytes).is_some() }
    }

    /// True if it is this type.
    pub(super) fn is<V: Value>(self) -> bool {
        self.id == TypeId::of::<V>()
    }

    /// True if the bytes are a value of this type.
    pub(super) fn reads(self, bytes: &[u8]) -> bool {
        (self.reads)(bytes)
    }
}

macro_rules! rows {
    ($($row:ty),*) => {$(
        impl Value for $row {
            fn to_bytes(&self) -> Vec<u8> {
                let mut bytes = vec![ROW_VERSION];
                self.encode(&mut bytes).expect("a vector grows");
                bytes
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                let (version, row) = bytes.split_first()?;
                if *version == ROW_VERSION { Self::decode(row).ok() } else { None }
            }
        }
    )*};
}

rows!(
    MemberRow,
    SeenRow,
    SlotRow,
    IndexRow,
    ScanRow,
    WatchedRow,
    VerdictRow,
    ActionRow,
    SavedFilter,
    SampleRow,
    PartyNamed
);
rows!(v1::Profile, v1::Schedule, v1::Watch, v1::Case, v1::Template);

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Value for $number {
            fn to_bytes(&self) -> Vec<u8> {
                self.to_be_bytes().to_vec()
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$number>::from_be_bytes)
            }
        }
    )*};
}

numbers!(u32, u64, i64);

/// Bytes of the journal (u64) and hash of the last record (32).
impl Value for Position {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.end.to_be_bytes()[..], &self.hash].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Position> {
        let (end, hash) = bytes.split_first_chunk()?;
        Some(Position { end: u64::from_be_bytes(*end), hash: hash.try_into().ok()? })
    }
}

/// A part of an action of reviewers, as key and as value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ActionPart {
    pub(super) action: u64,
    pub(super) part: u32,
}

/// Action (u64), part (u32).
impl Value for ActionPart {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.action.to_be_bytes()[..], &self.part.to_be_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<ActionPart> {
        let (action, part) = bytes.split_first_chunk()?;
        Some(ActionPart { action: u64::from_be_bytes(*action), part: u32::from_be_bytes(part.try_into().ok()?) })
    }
}
