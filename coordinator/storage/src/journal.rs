//! The journal: the record of all small facts that cannot be derived from other files, such as members, launched
//! scans and their ends.
//!
//! A log of [`cognate_durable`]: every record holds the hash of the one before it, so that nothing can be changed,
//! taken out or put in without a trace. The store is a view of it (and of the segments) and can be rebuilt.
//!
//! File: `cognate journal 1\n`, then records; the body of each is an encoded [`Event`]. Beside it is its head
//! (`journal.head`), by which the loss of an acknowledged record is known.

mod head;

use std::path::{Path, PathBuf};

use cognate_durable::log::{AppendError, Format, Log, Next, OpenError, Records};
use cognate_durable::whole::PUBLIC;
use cognate_proto::v1;
use prost::Message as _;

use self::head::{Found, Head};
use crate::error::Error;
use crate::rows::ScanRow;
pub use crate::rows::{Certified, Invited, MemberName};
use crate::verdict::{Decision, SavedFilter, Undone};

const FORMAT: Format = Format { magic: b"cognate journal 1\n", record_bytes_max: 16 << 20 };
const VERSION: u32 = 1;
/// About as many bytes are between two places from which it can be read on.
const MARK_BYTES: u64 = 64 << 10;

/// Something that happened and must not be forgotten.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    /// Seconds since 1970.
    #[prost(sint64, tag = "1")]
    pub time: i64,
    /// Name of the operator or site that did it; empty for the coordinator.
    #[prost(string, tag = "2")]
    pub by: String,
    /// The change itself; none: a later version wrote a kind of event that this one does not know.
    #[prost(
        oneof = "What",
        tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 30, 31, 32, 33, 40, 50, 51, 52, 53, 54"
    )]
    pub what: Option<What>,
}

/// An event of the journal.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum What {
    /// Somebody was invited.
    #[prost(message, tag = "3")]
    Invited(Invited),
    /// A site is let in without a certificate: the pipe within the process vouches for it.
    #[prost(message, tag = "4")]
    Admitted(v1::Membership),
    /// An invitation was turned into a certificate.
    #[prost(message, tag = "5")]
    Certified(Certified),
    /// A certificate took the place of the one before it.
    #[prost(message, tag = "6")]
    Renewed(Certified),
    /// A member was shut out.
    #[prost(message, tag = "7")]
    Revoked(MemberName),
    /// A member, and all that it sent, was erased.
    #[prost(message, tag = "8")]
    Forgotten(MemberName),
    /// A scan was launched or came a step further.
    #[prost(message, tag = "9")]
    Scan(ScanEvent),
    /// A scan was deleted.
    #[prost(fixed64, tag = "10")]
    ScanDeleted(u64),
    /// A profile was saved, in place of an earlier one of the same name.
    #[prost(message, tag = "11")]
    Profile(v1::Profile),
    /// The profile of this name was removed.
    #[prost(string, tag = "12")]
    ProfileRemoved(String),
    /// A schedule was saved, in place of an earlier one of the same name.
    #[prost(message, tag = "13")]
    Schedule(v1::Schedule),
    /// The schedule of this name was removed.
    #[prost(string, tag = "14")]
    ScheduleRemoved(String),
    /// Tags are set aside from now on.
    #[prost(message, tag = "15")]
    Template(v1::Template),
    /// They are not any more.
    #[prost(fixed64, tag = "16")]
    TemplateUnmarked(u64),
    /// The registry is that of a backup. Invitations that were open are void: they may have been used since.
    #[prost(message, tag = "17")]
    Restored(Restored),
    /// Somebody decided about what a result shows.
    #[prost(message, tag = "30")]
    Decided(Decision),
    /// And took that back.
    #[prost(message, tag = "31")]
    Undone(Undone),
    /// A filter of clusters has a name from now on.
    #[prost(message, tag = "32")]
    FilterSaved(SavedFilter),
    /// The saved filter of this name was removed.
    #[prost(string, tag = "33")]
    FilterRemoved(String),
    /// A query is asked again whenever something was synced.
    #[prost(message, tag = "50")]
    Watch(v1::Watch),
    /// The watch of this name was removed.
    #[prost(string, tag = "51")]
    WatchRemoved(String),
    /// A query is stored with its answers.
    #[prost(message, tag = "52")]
    Case(v1::Case),
    /// It was asked.
    #[prost(message, tag = "53")]
    CaseChecked(CaseChecked),
    /// The answer is erased.
    #[prost(message, tag = "54")]
    CaseErased(CaseErased),
    /// Somebody did something that changes nothing here, and is to be known.
    #[prost(message, tag = "40")]
    Acted(Acted),
}

/// A backup was brought back.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Restored {}

/// An answer to a case's query; it is in a file of its own.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CaseChecked {
    /// The name of the case.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its place among the case's answers, from 0.
    #[prost(uint32, tag = "2")]
    pub number: u32,
    /// The answer's summary.
    #[prost(message, optional, tag = "3")]
    pub check: Option<v1::CaseCheck>,
}

/// An answer that was erased.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CaseErased {
    /// The name of the case.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The answer's place among those of the case, from 0.
    #[prost(uint32, tag = "2")]
    pub number: u32,
}

/// An operator's action.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Acted {
    /// An [`Action`].
    #[prost(enumeration = "Action", tag = "1")]
    pub action: i32,
    /// The scan that it was done to; 0: none.
    #[prost(fixed64, tag = "2")]
    pub scan: u64,
}

/// Actions that change no stored data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
pub enum Action {
    /// An action that this version does not know.
    Unspecified = 0,
    /// An address for the browser was asked for.
    LoginAsked = 1,
    /// The address was used.
    SignedIn = 2,
    /// A browser session ended at the request of its user.
    SignedOut = 3,
    /// An address was used that had expired, or was used before.
    SignInRefused = 4,
    /// A credential for programs was asked for.
    TokenAsked = 5,
    /// A scan was asked to stop.
    Cancelled = 6,
    /// A complete result was downloaded.
    Fetched = 7,
    /// The coordinator went on without a part of the journal that was lost.
    LossAccepted = 8,
}

/// The state of a scan after a step.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScanEvent {
    /// The id of the scan.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    /// The row that replaces the earlier one.
    #[prost(message, required, tag = "2")]
    pub row: ScanRow,
}

/// A place between two records of the journal.
pub use cognate_durable::log::Place as Position;

const START: Position = FORMAT.start();

/// The open journal, at its end.
pub struct Journal {
    path: PathBuf,
    log: Log,
    head: Head,
    /// Its beginning, and a place now and then: a search for the newest events does not read all of it.
    marks: Vec<Position>,
    durable: bool,
}

impl Journal {
    /// Opens or begins the journal, and hands every event in it to `each` with the place after it. A record at the end
    /// that is incomplete and behind the head was never acknowledged, and is cut off.
    ///
    /// # Errors
    /// Fails if it cannot be read or written, a record other than the last does not fit the chain, or it does not come as far
    /// as its head. Nothing is changed then.
    pub(crate) fn open(
        path: &Path,
        durable: bool,
        mut each: impl FnMut(Event, Position) -> Result<(), Error>,
    ) -> Result<Journal, Error> {
        let head_path = head::path_of(path);
        let found = head::read(&head_path).map_err(Error::state(&head_path))?;
        let length = length_of(path)?;
        if let Found::Missing | Found::At(START, _) = found
            && length <= START.end
        {
            // It begins, or was killed as it began.
            Log::open(path, FORMAT, PUBLIC, durable).map_err(Error::state(path))?;
            Head::open(&head_path, found, durable).map_err(Error::state(&head_path))?;
        }
        let mut marks = vec![START];
        let (at, length) = read(path, |event, position| {
            mark(&mut marks, position);
            each(event, position)
        })?;
        let mut log = Log::open(path, FORMAT, PUBLIC, durable).map_err(Error::state(path))?;
        let mut head = Head::open(&head_path, found, durable).map_err(Error::state(&head_path))?;
        if at.end < length {
            tracing::warn!(path = %path.display(), at = at.end, "the last record of the journal was cut off: it was never answered for");
        }
        log.resume(at).map_err(Error::state(path))?;
        // A complete record behind the head was written and not acknowledged. It counts from now on, so the head follows.
        if !matches!(found, Found::At(sealed, _) if sealed == at) {
            head.write(at, durable).map_err(Error::sync(&head_path))?;
        }
        Ok(Journal { path: path.to_owned(), log, head, marks, durable })
    }

    /// Place after the last record.
    pub(crate) fn position(&self) -> Position {
        self.log.place()
    }

    /// Places from which it can be read on, in their order; the first is its beginning.
    pub(crate) fn marks(&self) -> &[Position] {
        &self.marks
    }

    /// Appends an event. Once this returns, it survives.
    pub(crate) fn append(&mut self, event: &Event) -> Result<(), Error> {
        self.log.append(&event.encode_to_vec()).map_err(|error| match error {
            AppendError::TooLong(_) => Error::Invalid("an event is too large for the journal".to_owned()),
            AppendError::Refused(source) => Error::State { path: self.path.clone(), source },
            AppendError::Torn(source) => Error::Sync { path: self.path.clone(), source },
        })?;
        if self.durable {
            self.log.sync().map_err(Error::sync(&self.path))?;
        }
        crate::failpoint!("journal.before_head");
        // After the record, never before: a head ahead of the journal means that something was lost.
        self.head.write(self.log.place(), self.durable).map_err(Error::sync(head::path_of(&self.path)))?;
        mark(&mut self.marks, self.log.place());
        Ok(())
    }
}

fn mark(marks: &mut Vec<Position>, at: Position) {
    if marks.last().is_none_or(|last| at.end - last.end >= MARK_BYTES) {
        marks.push(at);
    }
}

/// Reads a journal from one of its marks until an event ends at or behind a place.
///
/// # Errors
/// Fails if it cannot be read, or a record does not fit the chain.
pub fn read_from(
    path: &Path,
    from: Position,
    until: u64,
    mut each: impl FnMut(Event, Position) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut records = open_records(path)?;
    records.seek(from).map_err(Error::state(path))?;
    read_events(path, &mut records, until, &mut each)
}

/// Reads a journal without changing it, and returns the end of its last complete record and the length of the file.
///
/// # Errors
/// Fails if it cannot be read, a record other than the last does not fit the chain, or it does not come as far as its head.
pub(crate) fn read(
    path: &Path,
    mut each: impl FnMut(Event, Position) -> Result<(), Error>,
) -> Result<(Position, u64), Error> {
    // The head first: the journal may grow in the meantime, and then its head follows it.
    let head_path = head::path_of(path);
    let found = head::read(&head_path).map_err(Error::state(&head_path))?;
    let sealed = match found {
        Found::At(sealed, _) => sealed,
        Found::Missing => return Err(lost(path, "its head is gone, so nothing tells if all of it is there")),
        Found::Damaged => return Err(lost(path, "its head is damaged, so nothing tells if all of it is there")),
    };
    let length = length_of(path)?;
    if length < sealed.end {
        let end = sealed.end;
        return Err(lost(path, &format!("it has {length} bytes, and {end} bytes of it were acknowledged")));
    }
    let mut records = open_records(path)?;
    let mut is_passed = sealed == START;
    read_events(path, &mut records, u64::MAX, &mut |event, position| {
        is_passed |= sealed == position;
        each(event, position)
    })?;
    let (at, end) = (records.place().end, sealed.end);
    if is_passed {
        Ok((records.place(), records.length()))
    } else if at < end {
        Err(lost(path, &format!("a record at byte {at} cannot be read, and all up to byte {end} was acknowledged")))
    } else {
        Err(lost(path, &format!("it differs from what its head knows at byte {end}")))
    }
}

/// Takes a journal for complete as far as it can be read, removes the rest, and writes its head. Returns the number of bytes that
/// were removed.
///
/// # Errors
/// Fails if it cannot be read or written.
pub(crate) fn seal(path: &Path) -> Result<u64, Error> {
    let mut log = Log::open(path, FORMAT, PUBLIC, true).map_err(Error::state(path))?;
    let mut records = open_records(path)?;
    // A record that does not fit the chain ends what can be read, wherever it is.
    let read = read_events(path, &mut records, u64::MAX, &mut |_, _| Ok(()));
    if let Err(error) = read
        && !matches!(error, Error::Corrupt { .. })
    {
        return Err(error);
    }
    let at = records.place();
    log.resume(at).map_err(Error::state(path))?;
    log.sync().map_err(Error::sync(path))?;
    let head_path = head::path_of(path);
    let found = head::read(&head_path).map_err(Error::state(&head_path))?;
    let mut head = Head::open(&head_path, found, true).map_err(Error::state(&head_path))?;
    head.write(at, true).map_err(Error::sync(&head_path))?;
    Ok(records.length() - at.end)
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

fn open_records(path: &Path) -> Result<Records, Error> {
    Records::open(path, FORMAT).map_err(|error| match error {
        OpenError::Io(source) => Error::State { path: path.to_owned(), source },
        OpenError::OtherMagic(found) if (found.len() as u64) < START.end => damaged(path, 0, "it is cut short"),
        OpenError::OtherMagic(found) => match version(&found) {
            Some(found) if found > VERSION => Error::OtherVersion { path: path.to_owned(), found, known: VERSION },
            _ => damaged(path, 0, "it is not a journal"),
        },
    })
}

/// Reads events until one ends at or behind a place, or a record that was never finished follows.
fn read_events(
    path: &Path,
    records: &mut Records,
    until: u64,
    each: &mut impl FnMut(Event, Position) -> Result<(), Error>,
) -> Result<(), Error> {
    while records.place().end < until {
        let at = records.place().end;
        match records.next().map_err(Error::state(path))? {
            Next::Record(body) => {
                let event = Event::decode(body.as_slice()).map_err(|_| damaged(path, at, "a record is no event"))?;
                each(event, records.place())?;
            }
            // A loss of power can leave a record of the right length and the wrong bytes, but only as the last.
            Next::End | Next::Incomplete | Next::Changed { is_last: true, .. } => break,
            Next::Changed { is_last: false, .. } => return Err(damaged(path, at, "a record does not fit the chain")),
        }
    }
    Ok(())
}

/// Version that wrote a journal, by its first line.
fn version(magic: &[u8]) -> Option<u32> {
    std::str::from_utf8(magic).ok()?.strip_prefix("cognate journal ")?.trim_end().parse().ok()
}

fn damaged(path: &Path, at: u64, detail: &str) -> Error {
    Error::Corrupt { path: path.to_owned(), detail: format!("{detail} at byte {at}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str) -> Event {
        Event { time: 5, by: "me".to_owned(), what: Some(What::ProfileRemoved(name.to_owned())) }
    }

    /// A journal of these events, and where each of them ends.
    fn journal(names: &[String]) -> (tempfile::TempDir, PathBuf, Vec<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path, false, |_, _| Ok(())).unwrap();
        let ends = names.iter().map(|name| {
            journal.append(&event(name)).unwrap();
            journal.position().end
        });
        let ends = ends.collect();
        (folder, path, ends)
    }

    /// Puts the head back to the first record: nothing was acknowledged.
    fn unseal(path: &Path) {
        let head = head::path_of(path);
        std::fs::remove_file(&head).unwrap();
        Head::open(&head, Found::Missing, false).unwrap();
    }

    #[test]
    fn events_between_two_marks_are_read_alone() {
        let names: Vec<String> = (0..3000).map(|number| format!("{number}-{}", "x".repeat(60))).collect();
        let (_folder, path, ends) = journal(&names);
        let reopened = Journal::open(&path, false, |_, _| Ok(())).unwrap();
        let marks = reopened.marks().to_vec();
        assert!(marks.len() > 3 && marks[0] == START, "{marks:?}");
        let mut all = Vec::new();
        for (number, from) in marks.iter().enumerate() {
            let until = marks.get(number + 1).map_or(u64::MAX, |mark| mark.end);
            read_from(&path, *from, until, |_, position| {
                assert!(position.end > from.end && position.end <= until);
                all.push(position.end);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(all, ends);
        // A place that is none fits no chain.
        let wrong = Position { end: marks[1].end, hash: [1; 32] };
        assert!(read_from(&path, wrong, u64::MAX, |_, _| Ok(())).is_err());
    }

    fn events(path: &Path) -> Result<Vec<Event>, Error> {
        let mut events = vec![];
        Journal::open(path, false, |event, _| {
            events.push(event);
            Ok(())
        })?;
        Ok(events)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_torn_tail_takes_nothing_with_it_wherever_it_is_cut(names in proptest::collection::vec("[a-z]{0,20}", 1..6)) {
            let (_folder, path, ends) = journal(&names);
            let intact = std::fs::read(&path).unwrap();
            for length in FORMAT.magic.len()..=intact.len() {
                std::fs::write(&path, &intact[..length]).unwrap();
                unseal(&path);
                let whole = ends.iter().filter(|end| **end <= length as u64).count();
                let expected: Vec<_> = names[..whole].iter().map(|name| event(name)).collect();
                prop_assert_eq!(events(&path).unwrap(), expected);
                // It was cut to a complete record, and continues from there.
                let mut reopened = Journal::open(&path, false, |_, _| Ok(())).unwrap();
                reopened.append(&event("after")).unwrap();
                prop_assert_eq!(events(&path).unwrap().len(), whole + 1);
            }
        }

        #[test]
        fn a_flipped_bit_before_the_last_record_is_refused_by_its_place(
            names in proptest::collection::vec("[a-z]{0,20}", 2..6),
            bit in 0..8_u8,
        ) {
            let (_folder, path, ends) = journal(&names);
            let intact = std::fs::read(&path).unwrap();
            let last = usize::try_from(ends[ends.len() - 2]).unwrap();
            for place in FORMAT.magic.len()..last {
                let mut damaged = intact.clone();
                damaged[place] ^= 1_u8 << bit;
                std::fs::write(&path, &damaged).unwrap();
                let begins = ends.iter().rev().find(|end| **end <= place as u64).copied().unwrap_or(START.end);
                let error = events(&path).unwrap_err().to_string();
                prop_assert!(error.ends_with(&format!("at byte {begins}")), "{}", error);
            }
        }
    }

    #[test]
    fn an_acknowledged_record_that_is_damaged_or_missing_is_refused_and_nothing_is_changed() {
        let names: Vec<_> = ["a", "bb", "ccc"].map(str::to_owned).into();
        let (_folder, path, ends) = journal(&names);
        let intact = std::fs::read(&path).unwrap();
        let last = usize::try_from(ends[1]).unwrap();
        let flipped = (last..intact.len()).map(|place| {
            let mut bytes = intact.clone();
            bytes[place] ^= 4;
            bytes
        });
        let cut = (0..intact.len()).map(|length| intact[..length].to_vec());
        let zeroed = [&intact[..last], &vec![0; intact.len() - last]].concat();
        for bytes in flipped.chain(cut).chain([zeroed]) {
            std::fs::write(&path, &bytes).unwrap();
            let error = events(&path).unwrap_err().to_string();
            let is_named = error.contains("acknowledged") && error.contains("--accept-loss");
            assert!(is_named || error.contains("at byte"), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "a refusal changes nothing");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(events(&path).is_err() && !path.try_exists().unwrap());
        std::fs::write(&path, intact).unwrap();
        assert_eq!(events(&path).unwrap().len(), 3);
    }

    #[test]
    fn a_record_that_was_written_before_its_head_counts_from_the_next_start_on() {
        let names: Vec<_> = ["a", "b"].map(str::to_owned).into();
        let (_folder, path, _) = journal(&names);
        unseal(&path);
        assert_eq!(events(&path).unwrap().len(), 2);
        // Now it is acknowledged.
        let intact = std::fs::read(&path).unwrap();
        std::fs::write(&path, &intact[..intact.len() - 1]).unwrap();
        assert!(events(&path).is_err());
    }

    #[test]
    fn a_journal_without_its_own_head_is_refused_until_it_is_sealed() {
        let names: Vec<_> = ["a", "b"].map(str::to_owned).into();
        let (_folder, path, _) = journal(&names);
        let (_other_folder, other, _) = journal(&["c".to_owned(), "d".to_owned(), "e".to_owned()]);
        let head = head::path_of(&path);
        let own = std::fs::read(&head).unwrap();
        let foreign = std::fs::read(head::path_of(&other)).unwrap();
        for bytes in [None, Some(vec![]), Some(vec![7; own.len()]), Some(foreign)] {
            let _ = std::fs::remove_file(&head);
            if let Some(bytes) = bytes {
                std::fs::write(&head, bytes).unwrap();
            }
            let error = events(&path).unwrap_err().to_string();
            assert!(error.contains("--accept-loss"), "{error}");
        }
        let intact = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&intact[..], b"rest"].concat()).unwrap();
        assert_eq!(seal(&path).unwrap(), 4);
        assert_eq!((events(&path).unwrap().len(), std::fs::read(&path).unwrap()), (2, intact));
    }

    #[test]
    fn a_record_that_was_taken_out_or_put_elsewhere_breaks_the_chain() {
        let names: Vec<_> = ["a", "b", "c"].map(str::to_owned).into();
        let (_folder, path, ends) = journal(&names);
        let intact = std::fs::read(&path).unwrap();
        let place = |number: usize| usize::try_from(ends[number]).unwrap();
        let without_second = [&intact[..place(0)], &intact[place(1)..], &intact[place(1)..]].concat();
        std::fs::write(&path, without_second).unwrap();
        assert!(matches!(events(&path), Err(Error::Corrupt { .. })));
    }
}
