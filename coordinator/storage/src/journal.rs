//! The journal: the record of all small facts that cannot be derived from other files, such as members, launched
//! scans and their ends.
//!
//! A log of [`cognate_durable`]: every record holds the hash of the one before it, so that nothing can be changed,
//! taken out or put in without a trace. The store is a view of it (and of the segments) and can be rebuilt.
//!
//! File: `cognate journal 1\n`, then records; the body of each is an encoded [`Event`]. Beside it is its head
//! (`journal.head`), by which the loss of an acknowledged record is known.
//!
//! A journal that has outgrown the state that it describes is compacted (`compact`): the file begins with a checkpoint,
//! which is that state as events, and what was there before is kept in the folder `journal.past`.

mod brief;
mod compact;
mod event;
mod head;
mod history;
mod part;

use std::path::{Path, PathBuf};

use cognate_durable::log::{AppendError, Format, Log};
use cognate_durable::whole::PUBLIC;
use prost::Message as _;

pub use self::brief::Brief;
pub(crate) use self::compact::{check_kept, kept_parts};
pub use self::event::*;
use self::head::{Found, Head};
pub use self::history::History;
use self::part::Part;
use crate::error::Error;

const FORMAT: Format = Format { magic: b"cognate journal 1\n", record_bytes_max: 16 << 20 };
const VERSION: u32 = 1;
/// About as many bytes are between two places from which it can be read on.
const MARK_BYTES: u64 = 64 << 10;
/// A head is read so often at most while others compact the journal.
const HEAD_READS_MAX: u32 = 5;

/// A place between two records of the journal. It counts the bytes of all parts.
pub use cognate_durable::log::Place as Position;

const START: Position = FORMAT.start();

/// The open journal, at its end.
pub struct Journal {
    path: PathBuf,
    log: Log,
    /// Bytes of the parts before this one.
    base: u64,
    head: Head,
    /// The first place after its checkpoint, and one now and then: a search for the newest events does not read all of it.
    marks: Vec<Position>,
    /// It has an event of a kind that this version does not know.
    is_foreign: bool,
    durable: bool,
}

/// A journal that was read to its end and is as far as its head.
pub(crate) struct Verified {
    path: PathBuf,
    found: Found,
    /// The end of its last complete record.
    at: Position,
    /// The end of its file.
    length: u64,
    /// The end of the part before it, and that of its checkpoint.
    checkpoint: Option<(Position, Position)>,
    marks: Vec<Position>,
    is_foreign: bool,
    /// Number of its events, without those of its checkpoint.
    events: u64,
}

impl Journal {
    /// Opens or begins the journal, and hands every event in it to `each` with the place after it.
    ///
    /// # Errors
    /// As [`verify`] and [`Verified::open`].
    pub(crate) fn open(
        path: &Path,
        durable: bool,
        each: impl FnMut(Event, Position) -> Result<(), Error>,
    ) -> Result<Journal, Error> {
        verify(path, each)?.open(durable)
    }

    /// Place after the last record.
    pub(crate) fn position(&self) -> Position {
        let place = self.log.place();
        Position { end: self.base + place.end, ..place }
    }

    /// Bytes of its file.
    pub(crate) fn bytes(&self) -> u64 {
        self.log.place().end
    }

    /// Appends an event. Once this returns, it survives.
    pub(crate) fn append(&mut self, event: &Event) -> Result<(), Error> {
        append_to(&mut self.log, &self.path, event)?;
        if self.durable {
            self.log.sync().map_err(Error::sync(&self.path))?;
        }
        crate::failpoint!("journal.before_head");
        // After the record, never before: a head ahead of the journal means that something was lost.
        let at = self.position();
        self.head.write(at, self.durable).map_err(Error::sync(head::path_of(&self.path)))?;
        mark(&mut self.marks, at);
        Ok(())
    }
}

fn append_to(log: &mut Log, path: &Path, event: &Event) -> Result<(), Error> {
    log.append(&event.encode_to_vec()).map_err(|error| match error {
        AppendError::TooLong(_) => Error::Invalid("an event is too large for the journal".to_owned()),
        AppendError::Refused(source) => Error::State { path: path.to_owned(), source },
        AppendError::Torn(source) => Error::Sync { path: path.to_owned(), source },
    })
}

fn mark(marks: &mut Vec<Position>, at: Position) {
    if marks.last().is_none_or(|last| at.end - last.end >= MARK_BYTES) {
        marks.push(at);
    }
}

impl Verified {
    /// The end of its last complete record.
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    /// Bytes of its file up to there.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.at.end - self.base()
    }

    /// True if the file goes on after its last complete record.
    pub(crate) fn has_rest(&self) -> bool {
        self.at.end < self.length
    }

    /// Number of its events, without those of its checkpoint.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// The end of the part before it.
    pub(crate) fn past(&self) -> Option<Position> {
        self.checkpoint.map(|(past, _)| past)
    }

    fn base(&self) -> u64 {
        self.past().map_or(0, |past| past.end)
    }

    /// Hands on every event behind a place up to which a view has taken them; the default place: every event. Returns
    /// false where the journal has no such place.
    ///
    /// # Errors
    /// Fails if the journal cannot be read, or `each` fails.
    pub(crate) fn read_after(
        &self,
        applied: Position,
        mut each: impl FnMut(Event, Position) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        if applied == self.at || self.at == START {
            return Ok(applied == self.at || applied == Position::default());
        }
        let mut part = Part::open(&self.path)?;
        let from = match self.checkpoint {
            _ if applied == Position::default() => part.start(),
            // A store that has all of the part before this one has all of the checkpoint.
            Some((past, end)) if applied == past => end,
            _ => applied,
        };
        if from.end < part.start().end || from.end > self.at.end {
            return Ok(false);
        }
        part.seek(from)?;
        match part.read(self.at.end, &mut each) {
            // The chain was compared just now, so it is the place that does not fit.
            Err(Error::Corrupt { path, .. }) if path == self.path => return Ok(false),
            read => read?,
        }
        Ok(part.position() == self.at)
    }

    /// Opens it at its end. A record that is incomplete and behind the head was never acknowledged, and is cut off.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(crate) fn open(self, durable: bool) -> Result<Journal, Error> {
        let base = self.base();
        let Verified { path, found, at, length, marks, is_foreign, .. } = self;
        let head_path = head::path_of(&path);
        let mut log = Log::open(&path, FORMAT, PUBLIC, durable).map_err(Error::state(&path))?;
        let mut head = Head::open(&head_path, found, durable).map_err(Error::state(&head_path))?;
        if at.end < length {
            tracing::warn!(path = %path.display(), at = at.end - base, "the last record of the journal was cut off: it was never answered for");
        }
        log.resume(Position { end: at.end - base, ..at }).map_err(Error::state(&path))?;
        // A complete record behind the head was written and not acknowledged. It counts from now on, so the head follows.
        if !matches!(found, Found::At(sealed, _) if sealed == at) {
            head.write(at, durable).map_err(Error::sync(&head_path))?;
        }
        Ok(Journal { path, log, base, head, marks, is_foreign, durable })
    }
}

/// Reads a journal as [`read`] does, or finds that there is none yet. Nothing is changed.
///
/// # Errors
/// As [`read`].
pub(crate) fn verify(path: &Path, each: impl FnMut(Event, Position) -> Result<(), Error>) -> Result<Verified, Error> {
    let head_path = head::path_of(path);
    let found = head::read(&head_path).map_err(Error::state(&head_path))?;
    let length = length_of(path)?;
    if let Found::Missing | Found::At(START, _) = found
        && length <= START.end
    {
        // It begins, or was killed as it began.
        let (marks, checkpoint) = (vec![START], None);
        let path = path.to_owned();
        return Ok(Verified { path, found, at: START, length, checkpoint, marks, is_foreign: false, events: 0 });
    }
    read(path, each)
}

/// Reads a journal without changing it.
///
/// # Errors
/// Fails if it cannot be read, a record other than the last does not fit the chain, or it does not come as far as its head.
pub(crate) fn read(path: &Path, mut each: impl FnMut(Event, Position) -> Result<(), Error>) -> Result<Verified, Error> {
    let head_path = head::path_of(path);
    let head = || head::read(&head_path).map_err(Error::state(&head_path));
    // The head first: the journal may grow in the meantime, and then its head follows it. If it is compacted in the
    // meantime, the head that was read is one of the part before.
    let mut found = head()?;
    let mut part = open_from(path, found)?;
    for _ in 1..HEAD_READS_MAX {
        let again = head()?;
        if again == found {
            break;
        }
        found = again;
        part = open_from(path, found)?;
    }
    let Found::At(sealed, _) = found else { return Err(no_head(path, found)) };
    if part.length() < sealed.end {
        let (length, end) = (part.length(), sealed.end);
        return Err(lost(path, &format!("it has {length} bytes, and {end} bytes of it were acknowledged")));
    }
    let past = part.past();
    let mut checkpoint = None;
    let mut marks = if past.is_none() { vec![START] } else { vec![] };
    let (mut is_foreign, mut events) = (false, 0);
    let mut is_passed = sealed == START;
    part.read(u64::MAX, &mut |event, position| {
        is_passed |= sealed == position;
        is_foreign |= event.what.is_none();
        if let (Some(past), None) = (past, checkpoint) {
            if matches!(event.what, Some(What::CheckpointEnd(_))) {
                checkpoint = Some((past, position));
                marks.push(position);
                // The process ended after the part was put in its place and before its head was written.
                is_passed |= sealed == past;
            }
        } else {
            events += 1;
            mark(&mut marks, position);
        }
        each(event, position)
    })?;
    let (at, file_bytes) = (part.position(), part.file_bytes());
    if past.is_some() && checkpoint.is_none() {
        return Err(lost(path, &format!("its checkpoint cannot be read further than to byte {file_bytes}")));
    }
    if is_passed {
        let (path, length) = (path.to_owned(), part.length());
        Ok(Verified { path, found, at, length, checkpoint, marks, is_foreign, events })
    } else if at.end < sealed.end {
        let end = sealed.end - part.base().min(sealed.end);
        Err(lost(
            path,
            &format!("a record at byte {file_bytes} cannot be read, and all up to byte {end} was acknowledged"),
        ))
    } else {
        Err(lost(path, &format!("it differs from what its head knows at byte {}", sealed.end)))
    }
}

/// True if a journal can be read up to a place, where its file ends.
///
/// # Errors
/// Fails if it cannot be read.
pub(crate) fn ends_at(path: &Path, at: Position) -> Result<bool, Error> {
    let mut part = Part::open(path)?;
    part.ends_at(part.start(), at)
}

/// Opens a journal that has a head.
fn open_from(path: &Path, found: Found) -> Result<Part, Error> {
    let Found::At(sealed, _) = found else { return Err(no_head(path, found)) };
    let length = length_of(path)?;
    if length <= START.end && sealed != START {
        let end = sealed.end;
        return Err(lost(path, &format!("it has {length} bytes, and {end} bytes of it were acknowledged")));
    }
    Part::open(path)
}

fn no_head(path: &Path, found: Found) -> Error {
    let state = if found == Found::Missing { "gone" } else { "damaged" };
    lost(path, &format!("its head is {state}, so nothing shows if all of it is there"))
}

/// Takes a journal for complete as far as it can be read, removes the rest, and writes its head. Returns the number of bytes that
/// were removed. Where its checkpoint cannot be read, the part before it is put back, if that is kept.
///
/// # Errors
/// Fails if it cannot be read or written.
pub(crate) fn seal(path: &Path) -> Result<u64, Error> {
    let mut log = Log::open(path, FORMAT, PUBLIC, true).map_err(Error::state(path))?;
    let (mut part, mut is_complete) = read_what_can_be(path)?;
    if !is_complete && compact::put_back(path)? {
        tracing::error!(path = %path.display(), "the checkpoint of the journal cannot be read: the part before it is put back");
        log = Log::open(path, FORMAT, PUBLIC, true).map_err(Error::state(path))?;
        (part, is_complete) = read_what_can_be(path)?;
    }
    let removed = part.length() - part.position().end;
    log.resume(Position { end: part.file_bytes(), ..part.position() }).map_err(Error::state(path))?;
    if part.past().is_some() && !is_complete {
        let end = Event { what: Some(What::CheckpointEnd(CheckpointEnd {})), ..Event::default() };
        append_to(&mut log, path, &end)?;
    }
    log.sync().map_err(Error::sync(path))?;
    let at = Position { end: part.base() + log.place().end, ..log.place() };
    let head_path = head::path_of(path);
    let found = head::read(&head_path).map_err(Error::state(&head_path))?;
    let mut head = Head::open(&head_path, found, true).map_err(Error::state(&head_path))?;
    head.write(at, true).map_err(Error::sync(&head_path))?;
    Ok(removed)
}

/// Reads a journal up to its first damage. The answer is false where its checkpoint is incomplete or its first record cannot
/// be read.
fn read_what_can_be(path: &Path) -> Result<(Part, bool), Error> {
    let mut part = Part::open(path)?;
    let mut is_complete = part.past().is_none();
    // A record that does not fit the chain ends what can be read, wherever it is.
    let read = part.read(u64::MAX, &mut |event, _| {
        is_complete |= matches!(event.what, Some(What::CheckpointEnd(_)));
        Ok(())
    });
    match read {
        Err(Error::Corrupt { .. }) | Ok(()) => {}
        Err(error) => return Err(error),
    }
    let is_empty = part.file_bytes() == START.end;
    Ok((part, is_complete && !is_empty))
}

/// The length of a journal, 0 if there is none.
fn length_of(path: &Path) -> Result<u64, Error> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        metadata => Ok(metadata.map_err(Error::state(path))?.len()),
    }
}

/// The error of a journal that has lost something.
pub(crate) fn lost(path: &Path, what: &str) -> Error {
    let detail = format!(
        "{what}; a revocation may be among what is missing: restore a backup, or accept the loss with `cognate coordinator \
         rebuild --accept-loss`"
    );
    Error::Corrupt { path: path.to_owned(), detail }
}

#[cfg(test)]
mod tests;
