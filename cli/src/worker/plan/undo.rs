//! Puts back what a plan moved, by its journal: each document to its place, unless it or its place has changed since. What cannot
//! be put back is named: documents, damaged lines of the journal, and documents of the quarantine that no line names.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use cognate_export::human::count;
use cognate_proto::name::one_line;
use cognate_proto::path::{DocumentPath, printable};

use super::UndoArgs;
use super::apply::{FILES, hash_of, stub_of};
use super::journal::{Entry, Journal, Leaves, Moving, STUB_BYTES_MAX};
use super::own::OwnPlaces;
use super::place::Place;
use crate::exit::Exit;
use crate::worker::setup;

/// Runs the command.
pub(super) fn run(args: &UndoArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let roots: BTreeMap<String, PathBuf> =
        setup.repositories.iter().map(|(name, path)| (name.to_string(), path.clone())).collect();
    let own = OwnPlaces::of(&setup);
    let (mut journal, entries) = Journal::open(&args.folder)?;
    // In the order in which they were moved; those that were put back are done.
    let mut moves: BTreeMap<u64, Moving> = BTreeMap::new();
    for entry in entries.read {
        match entry {
            Entry::Move(moving) => drop(moves.insert(moving.number, moving)),
            Entry::Undone { number } => drop(moves.remove(&number)),
            Entry::Begin { .. } | Entry::Moved { .. } => {}
        }
    }
    let mut out = io::stdout().lock();
    let (mut restored, mut refused) = (0, entries.damaged.len() as u64);
    for damaged in &entries.damaged {
        writeln!(out, "refused {damaged}")?;
    }
    let mut left: HashSet<PathBuf> = HashSet::new();
    for moving in moves.values().rev() {
        let path = printable(moving.path.as_bytes());
        let put_back = match roots.get(&moving.repository) {
            Some(root) => put_back(moving, Folders { root, quarantine: &args.folder, own: &own }),
            None => Err(anyhow!("the configuration has no such repository: name it as it was")),
        };
        match put_back {
            Ok(is_moved) => {
                journal.write(&Entry::Undone { number: moving.number })?;
                restored += u64::from(is_moved);
            }
            Err(error) => {
                refused += 1;
                left.extend(moving.path_bytes().map(|path| quarantined(&args.folder, &moving.repository, &path)));
                writeln!(out, "refused {}: {path}: {error:#}", one_line(&moving.repository))?;
            }
        }
    }
    let files = args.folder.join(FILES);
    let below = documents_below(&files);
    let unnamed = below.documents.iter().filter(|found| !left.contains(*found));
    let unnamed =
        unnamed.map(|found| (found, "it is in the quarantine, and the journal has no line about it".to_owned()));
    let unread = below.unread.iter().map(|(folder, error)| (folder, format!("it cannot be read: {error}")));
    for (path, reason) in unnamed.chain(unread) {
        refused += 1;
        let path = path.strip_prefix(&files).unwrap_or(path).as_os_str().as_bytes();
        writeln!(out, "refused {}: {reason}", printable(path))?;
    }
    writeln!(out, "put back {}, refused {}", count(restored), count(refused))?;
    Ok(if refused == 0 { Exit::Complete } else { Exit::Incomplete })
}

/// The place of a document in the quarantine.
fn quarantined(folder: &Path, repository: &str, path: &[u8]) -> PathBuf {
    folder.join(FILES).join(repository).join(OsStr::from_bytes(path))
}

/// All that is below a folder.
#[derive(Default)]
struct Below {
    /// Files, links and all else but folders, ascending.
    documents: Vec<PathBuf>,
    /// The folders that cannot be read, or not to their end.
    unread: Vec<(PathBuf, io::Error)>,
}

/// Finds all that is below a folder. Links are not followed.
fn documents_below(folder: &Path) -> Below {
    let (mut below, mut folders) = (Below::default(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let mut read = || -> io::Result<()> {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let list = if entry.file_type()?.is_dir() { &mut folders } else { &mut below.documents };
                list.push(entry.path());
            }
            Ok(())
        };
        if let Err(error) = read() {
            below.unread.push((folder, error));
        }
    }
    below.documents.sort();
    below
}

/// The folders of an undo.
#[derive(Clone, Copy)]
struct Folders<'a> {
    root: &'a Path,
    quarantine: &'a Path,
    /// The places of the worker itself.
    own: &'a OwnPlaces,
}

/// Puts a document back; false if it was never moved.
fn put_back(moving: &Moving, Folders { root, quarantine, own }: Folders<'_>) -> anyhow::Result<bool> {
    // A journal may be from anybody: none of its paths may lead elsewhere.
    let path = DocumentPath::new(&moving.path_bytes()?)?;
    let inner = [FILES.as_bytes(), b"/", moving.repository.as_bytes(), b"/", path.as_bytes()].concat();
    if own.has(&root.join(OsStr::from_bytes(path.as_bytes()))) {
        return Err(anyhow!("its place belongs to the worker itself"));
    }
    let place = Place::open(root, &path, false).map_err(|error| anyhow!("its folder: {error}"))?;
    let quarantined = match Place::open(quarantine, &DocumentPath::new(&inner)?, false) {
        Ok(quarantined) if !quarantined.is_free()? => quarantined,
        Ok(_) => return never_moved(&place, moving),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return never_moved(&place, moving),
        Err(error) => return Err(error.into()),
    };
    let mut file = quarantined.file().map_err(|error| anyhow!("in the quarantine: {error}"))?;
    if file.metadata()?.len() != moving.size_bytes || hash_of(&mut file)? != moving.blake3 {
        return Err(anyhow!("it has changed in the quarantine"));
    }
    if let Leaves::Link(target) = &moving.leaves
        && place.link().is_some_and(|found| data_encoding::HEXLOWER.encode(&found) == *target)
    {
        place.remove_left()?;
    }
    if !place.is_free()? {
        return Err(anyhow!("something else is in its place now"));
    }
    quarantined.move_to(&place)?;
    remove_stub(&place, moving)?;
    Ok(true)
}

/// Removes the stub that was left for a document, if it still says what it said.
fn remove_stub(place: &Place, moving: &Moving) -> anyhow::Result<()> {
    let Leaves::Stub(text) = &moving.leaves else { return Ok(()) };
    let stub = stub_of(place)?;
    if stub.small(STUB_BYTES_MAX as u64).is_some_and(|found| found == text.as_bytes()) {
        stub.remove_left()?;
    }
    Ok(())
}

/// A document that is not in the quarantine: the process may have ended before it was moved, or an undo after it had put it back
/// and before it had removed the stub.
fn never_moved(place: &Place, moving: &Moving) -> anyhow::Result<bool> {
    let mut file = place.file().map_err(|_| anyhow!("it is neither in the quarantine nor in its place"))?;
    if hash_of(&mut file)? != moving.blake3 {
        return Err(anyhow!("it is not in the quarantine, and what is in its place has other bytes"));
    }
    remove_stub(place, moving)?;
    Ok(false)
}
