//! Compacting the journal: the state that it describes takes its place, and the old part is kept.
//!
//! The new file is written under a temporary name: a [`Checkpoint`], which names the place where the old part ends, the
//! state as events, and a [`CheckpointEnd`]. It is synced and read back. The old part gets its second name, in the folder
//! `journal.past`, the new file takes the name of the journal, and then the head is written. So whenever the process
//! ends, the journal is the old part or the new one, each complete, and the head is that of the one or of the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cognate_durable::log::Log;
use cognate_durable::whole::{Draft, PUBLIC, sync_folder, sync_folder_of};

use super::event::{Checkpoint, CheckpointEnd, Event, What};
use super::head::{self, Found};
use super::part::Part;
use super::{FORMAT, Journal, Position, append_to};
use crate::error::Error;

/// A part of the journal that a checkpoint has replaced.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its file, in the folder `journal.past`.
    pub(crate) path: PathBuf,
    /// The bytes of all parts up to its end, which is its name.
    end: u64,
}

impl Journal {
    /// True if an event in it is of a kind that this version does not know: a checkpoint would lack it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Begins the journal again with a state, and keeps what it was until now.
    ///
    /// # Errors
    /// Fails if it does not end where it should, or the disk refuses something; it is as before then. [`Error::Sync`]: it
    /// is complete, and nothing may be appended before it is opened again.
    pub(crate) fn compact(&mut self, state: impl Iterator<Item = Result<What, Error>>) -> Result<(), Error> {
        let past = self.position();
        self.check_end(past)?;
        remove_links(&self.path)?;
        let draft = Draft::begin(&self.path).map_err(Error::state(&self.path))?;
        let log = write(draft.temporary(), past, state)?;
        draft.sync().map_err(Error::state(draft.temporary()))?;
        check_written(draft.temporary(), past, log.place())?;
        keep(&self.path, past)?;
        crate::failpoint!("journal.before_swap");
        draft.publish().map_err(Error::state(&self.path))?;
        crate::failpoint!("journal.after_swap");
        self.log = log;
        self.base = past.end;
        sync_folder_of(&self.path).map_err(Error::sync(&self.path))?;
        let at = self.position();
        // After the part is in its place, never before: a head ahead of the journal means that something was lost.
        self.head.write(at, self.durable).map_err(Error::sync(head::path_of(&self.path)))?;
        crate::failpoint!("journal.after_swap_head");
        self.marks = vec![at];
        Ok(())
    }

    /// Fails if the disk does not have the journal up to its end, or its head says otherwise: then there is something in
    /// it that nobody knows here, or it lost something, and both must be seen.
    fn check_end(&self, end: Position) -> Result<(), Error> {
        let head_path = head::path_of(&self.path);
        let found = head::read(&head_path).map_err(Error::state(&head_path))?;
        let is_sealed = matches!(found, Found::At(sealed, _) if sealed == end);
        let last_mark = self.marks.last().copied().unwrap_or_default();
        if is_sealed && Part::open(&self.path)?.ends_at(last_mark, end)? {
            return Ok(());
        }
        Err(Error::Refused(format!("`{}` does not end where its head says: it is not compacted", self.path.display())))
    }
}

/// Writes the new part under its temporary name.
fn write(path: &Path, past: Position, state: impl Iterator<Item = Result<What, Error>>) -> Result<Log, Error> {
    let mut log = Log::open(path, FORMAT, PUBLIC, false).map_err(Error::state(path))?;
    let mut append = |what| append_to(&mut log, path, &Event { what: Some(what), ..Event::default() });
    append(What::Checkpoint(Checkpoint { end: past.end, hash: past.hash.to_vec() }))?;
    for what in state {
        append(what?)?;
        crate::failpoint!("journal.in_checkpoint");
    }
    append(What::CheckpointEnd(CheckpointEnd {}))?;
    Ok(log)
}

/// Reads the new part back before anything depends on it.
pub(super) fn check_written(path: &Path, past: Position, end: Position) -> Result<(), Error> {
    let mut part = Part::open(path)?;
    part.read(u64::MAX, &mut |_, _| Ok(()))?;
    if part.past() == Some(past) && part.position() == (Position { end: past.end + end.end, ..end }) {
        return Ok(());
    }
    Err(Error::Corrupt { path: path.to_owned(), detail: "it cannot be read back as it was written".to_owned() })
}

/// The folder of the parts that were replaced.
fn folder_of(journal: &Path) -> PathBuf {
    journal.with_extension("past")
}

/// The file of a part that ends at a place.
pub(super) fn path_of(journal: &Path, end: Position) -> PathBuf {
    folder_of(journal).join(format!("{:020}", end.end))
}

/// Gives the present part its second name.
fn keep(journal: &Path, end: Position) -> Result<(), Error> {
    let (folder, path) = (folder_of(journal), path_of(journal, end));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(Error::state(&folder))?;
    std::fs::hard_link(journal, &path).map_err(Error::state(&path))?;
    sync_folder(&folder).and_then(|()| sync_folder_of(journal)).map_err(Error::state(&folder))
}

/// Removes second names of the present part: a compaction that went no further left them.
fn remove_links(journal: &Path) -> Result<(), Error> {
    for Kept { path, .. } in files(journal)? {
        if is_same_file(journal, &path)? {
            std::fs::remove_file(&path).map_err(Error::state(&path))?;
        }
    }
    Ok(())
}

fn is_same_file(one: &Path, other: &Path) -> Result<bool, Error> {
    let metadata = |path: &Path| path.metadata().map_err(Error::state(path));
    let (one, other) = (metadata(one)?, metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// The files of the folder that have the name of a part, oldest first.
fn files(journal: &Path) -> Result<Vec<Kept>, Error> {
    let folder = folder_of(journal);
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::state(&folder))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::state(&folder))?.path();
        let end = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        files.extend(end.map(|end| Kept { path, end }));
    }
    files.sort_unstable_by_key(|kept| kept.end);
    Ok(files)
}

/// The parts that were replaced, oldest first.
///
/// # Errors
/// Fails if the folder cannot be read.
pub(crate) fn kept_parts(journal: &Path) -> Result<Vec<Kept>, Error> {
    let mut parts = Vec::new();
    for kept in files(journal)? {
        if !is_same_file(journal, &kept.path)? {
            parts.push(kept);
        }
    }
    Ok(parts)
}

/// Reads the parts that were replaced, and describes those that are damaged or not those that the part after them names.
///
/// # Errors
/// Fails if something cannot be read at all.
pub(crate) fn check_kept(journal: &Path, past: Option<Position>) -> Result<Vec<(PathBuf, String)>, Error> {
    let mut problems = Vec::new();
    let mut named: Vec<Position> = past.into_iter().collect();
    for Kept { path, end } in kept_parts(journal)?.into_iter().rev() {
        let read = Part::open(&path).and_then(|mut part| {
            part.read(u64::MAX, &mut |_, _| Ok(()))?;
            Ok((part.position(), part.length(), part.past()))
        });
        match read {
            Ok((at, length, past)) => {
                let expected = named.iter().find(|place| place.end == end);
                if at.end != end || length != end {
                    problems.push((path, format!("it does not end after {end} bytes of the journal")));
                } else if expected.is_some_and(|expected| *expected != at) {
                    problems.push((path, "it is not the part that the checkpoint after it names".to_owned()));
                }
                named.extend(past);
            }
            Err(Error::Corrupt { detail, .. }) => problems.push((path, detail)),
            Err(error) => return Err(error),
        }
    }
    Ok(problems)
}

/// Puts the newest part that is kept in the place of a journal. False: none is.
pub(super) fn put_back(journal: &Path) -> Result<bool, Error> {
    let Some(newest) = kept_parts(journal)?.pop() else { return Ok(false) };
    let (draft, mut file) = Draft::create(journal, PUBLIC).map_err(Error::state(journal))?;
    let mut kept = File::open(&newest.path).map_err(Error::state(&newest.path))?;
    io::copy(&mut kept, &mut file).map_err(Error::state(journal))?;
    draft.finish(true).map_err(Error::state(journal))?;
    Ok(true)
}
