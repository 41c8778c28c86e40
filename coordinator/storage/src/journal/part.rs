//! Reading one part of the journal: the present file, or one that a checkpoint has replaced.
//!
//! Places count the bytes of all parts: the first record of a part comes after the last of the part before it, whatever
//! files these are in. So a place is further than all places that were there before it, also over a compaction.

use std::path::{Path, PathBuf};

use cognate_durable::log::{Next, OpenError, Records};
use prost::Message as _;

use super::event::{Event, What};
use super::{FORMAT, Position, START, VERSION};
use crate::error::Error;

/// An open part.
pub(super) struct Part {
    path: PathBuf,
    records: Records,
    past: Option<Position>,
}

impl Part {
    /// Opens a part at its first record.
    pub(super) fn open(path: &Path) -> Result<Part, Error> {
        let mut records = Records::open(path, FORMAT).map_err(|error| match error {
            OpenError::Io(source) => Error::State { path: path.to_owned(), source },
            OpenError::OtherMagic(found) if (found.len() as u64) < START.end => damaged(path, 0, "it is cut short"),
            OpenError::OtherMagic(found) => match version(&found) {
                Some(found) if found > VERSION => Error::OtherVersion { path: path.to_owned(), found, known: VERSION },
                _ => damaged(path, 0, "it is not a journal"),
            },
        })?;
        // A first record that cannot be read is found again by whoever reads on.
        let past = match records.next().map_err(Error::state(path))? {
            Next::Record(body) => Event::decode(body.as_slice()).ok().and_then(|event| past_of(&event)),
            _ => None,
        };
        records.seek(START).map_err(Error::state(path))?;
        Ok(Part { path: path.to_owned(), records, past })
    }

    /// The end of the part before it, if there is one.
    pub(super) fn past(&self) -> Option<Position> {
        self.past
    }

    /// Bytes of all parts before it.
    pub(super) fn base(&self) -> u64 {
        self.past.map_or(0, |past| past.end)
    }

    /// The place of its first record.
    pub(super) fn start(&self) -> Position {
        Position { end: self.base().saturating_add(START.end), ..START }
    }

    /// The place of the next record.
    pub(super) fn position(&self) -> Position {
        let place = self.records.place();
        Position { end: self.base().saturating_add(place.end), ..place }
    }

    /// The bytes of its file up to the next record.
    pub(super) fn file_bytes(&self) -> u64 {
        self.records.place().end
    }

    /// The place at which its file ended when it was opened, wherever its last complete record ends.
    pub(super) fn length(&self) -> u64 {
        self.base().saturating_add(self.records.length())
    }

    /// Continues at another place. A place that is none of this part shows at the next record.
    pub(super) fn seek(&mut self, at: Position) -> Result<(), Error> {
        let end = at.end.saturating_sub(self.base());
        self.records.seek(Position { end, ..at }).map_err(Error::state(&self.path))
    }

    /// Reads events until one ends at or behind a place, or a record that was never finished follows.
    pub(super) fn read(
        &mut self,
        until: u64,
        each: &mut impl FnMut(Event, Position) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.read_as(until, |body| Event::decode(body), each)
    }

    /// As [`Part::read`], with what `decode` makes of each record.
    pub(super) fn read_as<T>(
        &mut self,
        until: u64,
        decode: impl Fn(&[u8]) -> Result<T, prost::DecodeError>,
        each: &mut impl FnMut(T, Position) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while self.position().end < until {
            let at = self.file_bytes();
            match self.records.next().map_err(Error::state(&self.path))? {
                Next::Record(body) => {
                    let event = decode(&body).map_err(|_| damaged(&self.path, at, "a record is no event"))?;
                    each(event, self.position())?;
                }
                // A loss of power can leave a record of the right length and the wrong bytes, but only as the last.
                Next::End | Next::Incomplete | Next::Changed { is_last: true, .. } => break,
                Next::Changed { is_last: false, .. } => {
                    return Err(damaged(&self.path, at, "a record does not fit the chain"));
                }
            }
        }
        Ok(())
    }

    /// True if it can be read from one place to another, where its file ends.
    pub(super) fn ends_at(&mut self, from: Position, end: Position) -> Result<bool, Error> {
        self.seek(from)?;
        match self.read(u64::MAX, &mut |_, _| Ok(())) {
            Err(Error::Corrupt { .. }) => Ok(false),
            read => read.map(|()| self.position() == end && self.length() == end.end),
        }
    }
}

/// The end of the part before the one that begins with this event.
fn past_of(event: &Event) -> Option<Position> {
    let Some(What::Checkpoint(checkpoint)) = &event.what else { return None };
    Some(Position { end: checkpoint.end, hash: checkpoint.hash.as_slice().try_into().ok()? })
}

/// Version that wrote a journal, by its first line.
fn version(magic: &[u8]) -> Option<u32> {
    std::str::from_utf8(magic).ok()?.strip_prefix("cognate journal ")?.trim_end().parse().ok()
}

fn damaged(path: &Path, at: u64, detail: &str) -> Error {
    Error::Corrupt { path: path.to_owned(), detail: format!("{detail} at byte {at}") }
}
