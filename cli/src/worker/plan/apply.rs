//! Carries out a plan at its site: moves documents into a quarantine folder, and leaves a link or a stub in their places. Nothing
//! is deleted or overwritten.
//!
//! Each set is read again right before its documents move. A document moves only if it is still the file that was read then,
//! and it is moved back if it changed on the way. The journal is on the disk before each step, so that `undo` knows what was
//! moved whenever the process ended.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cognate_export::human::{bytes, count};
use cognate_export::plan::file::{Going, PlanFile, Set, StayingCopy};
use cognate_export::plan::script::{path_of, staying_path};
use cognate_proto::path::{DocumentPath, printable};

use super::check::{self, Checked, Checker, Holding, Seen};
use super::journal::{self, Entry, Journal, Leaves, Moving, STUB_BYTES_MAX};
use super::place::Place;
use super::readers;
use super::{ApplyArgs, Leave};
use crate::exit::{Exit, usage};
use crate::worker::setup::{self, Setup};

/// The end of the name of a stub.
const STUB_END: &str = ".moved.txt";
/// The folder of the documents in that of the quarantine.
pub(super) const FILES: &str = "files";

/// Runs the command.
pub(super) fn run(args: &ApplyArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let plan = check::read(&args.file)?;
    let quarantine = checked_quarantine(&args.quarantine, &setup)?;
    let mut checker = Checker::of(&setup, &plan)?;
    let mut checked = Checked::of(&plan);
    if !args.yes {
        return show(&plan, &mut checker, &mut checked, args);
    }
    let mut moves = Moves::begin(&quarantine, &plan, args.leave)?;
    for set in &plan.sets {
        if let Some(holding) = checker.set(set, &plan, &mut checked) {
            moves.set(&holding, &checker, &plan)?;
        }
    }
    let mut out = io::stdout().lock();
    for refused in &checked.refused {
        let path = printable(refused.path.as_bytes());
        writeln!(out, "refused {}: {path}: {}", refused.repository, refused.reason)?;
    }
    for (place, reason) in &moves.left {
        writeln!(out, "left    {place}: {reason}")?;
    }
    writeln!(
        out,
        "moved {}, {}, to `{}`; {} refused, {} left where they are",
        count(moves.moved),
        bytes(moves.moved_bytes),
        moves.folder.display(),
        count(checked.refused.len() as u64),
        count(moves.left.len() as u64)
    )?;
    writeln!(
        out,
        "to put them back: cognate worker plan undo {} --config {}",
        moves.folder.display(),
        args.config.config.display()
    )?;
    Ok(if checked.refused.is_empty() && moves.left.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

/// Shows what would be moved, and changes nothing.
fn show(plan: &PlanFile, checker: &mut Checker, checked: &mut Checked, args: &ApplyArgs) -> anyhow::Result<Exit> {
    let mut out = io::stdout().lock();
    let (mut documents, mut going_bytes) = (0, 0);
    for set in &plan.sets {
        let Some(holding) = checker.set(set, plan, checked) else { continue };
        for going in &holding.set.go {
            let lost = match lost_bytes(&holding) {
                0 => String::new(),
                lost => format!(", {} would be lost", bytes(lost)),
            };
            let path = printable(going.path.as_bytes());
            let kept = holding.set.kept.first().map(shown).unwrap_or_default();
            writeln!(out, "would move {}: {path}  (stays: {kept}{lost})", going.repository)?;
            documents += 1;
            going_bytes += set.size_bytes;
        }
    }
    for refused in &checked.refused {
        let path = printable(refused.path.as_bytes());
        writeln!(out, "refused    {}: {path}: {}", refused.repository, refused.reason)?;
    }
    writeln!(
        out,
        "{} would move, {}; {} are refused; nothing was changed: --yes moves them to `{}`",
        count(documents),
        bytes(going_bytes),
        count(checked.refused.len() as u64),
        args.quarantine.display()
    )?;
    Ok(if checked.refused.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

/// The quarantine folder: it has to be there, and in no repository.
fn checked_quarantine(folder: &Path, setup: &Setup) -> anyhow::Result<PathBuf> {
    let shown = folder.display();
    let folder = folder
        .canonicalize()
        .map_err(|error| usage(format!("--quarantine `{shown}`: {error}: make the folder first")))?;
    if !folder.is_dir() {
        return Err(usage(format!("--quarantine `{shown}`: it is not a folder")));
    }
    for (name, root) in &setup.repositories {
        if root.canonicalize().is_ok_and(|root| folder.starts_with(root)) {
            return Err(usage(format!(
                "--quarantine `{shown}`: it is in the repository `{name}`, whose scans would find the documents again: name a \
                 folder outside"
            )));
        }
    }
    Ok(folder)
}

/// Bytes that would be lost with a set.
fn lost_bytes(holding: &Holding) -> u64 {
    let planned = holding.set.version_of.as_ref().map_or(0, |of| of.lost_bytes);
    holding.exact_lost_bytes.unwrap_or(planned)
}

fn shown(copy: &StayingCopy) -> String {
    format!("{}/{}: {}", copy.site, copy.repository, printable(copy.path.as_bytes()))
}

/// The moves of one run.
struct Moves {
    folder: PathBuf,
    journal: Journal,
    time: String,
    leave: Leave,
    number: u64,
    moved: u64,
    moved_bytes: u64,
    /// Documents that could not be moved, and why.
    left: Vec<(String, String)>,
}

impl Moves {
    fn begin(quarantine: &Path, plan: &PlanFile, leave: Leave) -> anyhow::Result<Moves> {
        let now = setup::now();
        let scan = plan.scan.get(..12).unwrap_or(&plan.scan);
        let folder = quarantine.join(format!("plan-{scan}-{now}"));
        let context = || format!("`{}` cannot be made", folder.display());
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700).create(&folder).with_context(context)?;
        builder.create(folder.join(FILES)).with_context(context)?;
        File::open(quarantine).and_then(|quarantine| quarantine.sync_all()).with_context(context)?;
        let time = setup::time(now);
        let begin = journal::begin(&plan.site, &plan.scan, &plan.report_digest, time.clone());
        let journal = Journal::create(&folder, &begin)?;
        Ok(Moves { folder, journal, time, leave, number: 0, moved: 0, moved_bytes: 0, left: Vec::new() })
    }

    /// Moves the documents of a set that was just read.
    fn set(&mut self, holding: &Holding, checker: &Checker, plan: &PlanFile) -> anyhow::Result<()> {
        for (going, seen) in holding.set.go.iter().zip(&holding.seen) {
            let place = format!("{}: {}", going.repository, printable(going.path.as_bytes()));
            let root = checker.root(&going.repository).ok_or_else(|| anyhow!("this site has no such repository"))?;
            match self.document(root, going, seen, holding, (checker, plan)) {
                Ok(size_bytes) => {
                    self.moved += 1;
                    self.moved_bytes += size_bytes;
                }
                Err(Refusal::Left(reason)) => self.left.push((place, reason)),
                Err(Refusal::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves a document; its size in bytes.
    fn document(
        &mut self,
        root: &Path,
        going: &Going,
        seen: &Seen,
        holding: &Holding,
        (checker, plan): (&Checker, &PlanFile),
    ) -> Result<u64, Refusal> {
        let path = DocumentPath::new(&path_of(going)).map_err(|error| Refusal::Left(error.to_string()))?;
        let place = Place::open(root, &path, false).map_err(left)?;
        let blake3 = hash(&place, seen)?;
        let inner = [FILES.as_bytes(), b"/", going.repository.as_bytes(), b"/", path.as_bytes()].concat();
        let inner = DocumentPath::new(&inner).map_err(|error| Refusal::Left(error.to_string()))?;
        let target = Place::open(&self.folder, &inner, true).map_err(left)?;
        let size_bytes = place.metadata().map_err(left)?.len();
        self.number += 1;
        let moving = Moving {
            number: self.number,
            repository: going.repository.clone(),
            path_hex: data_encoding::HEXLOWER.encode(path.as_bytes()),
            path: going.path.clone(),
            size_bytes,
            blake3,
            kept: holding.set.kept.first().map(shown).unwrap_or_default(),
            lost_bytes: lost_bytes(holding),
            leaves: self.leaves(&path, root, &holding.set, (checker, plan), lost_bytes(holding)),
        };
        self.write(&Entry::Move(moving.clone()))?;
        place.move_to(&target).map_err(|error| match error.kind() {
            io::ErrorKind::CrossesDevices => Refusal::Left(
                "the quarantine folder is on another file system: name one on that of the repository".to_owned(),
            ),
            _ => left(error),
        })?;
        let arrived = target.metadata().map(|found| Seen::of(&found));
        if !arrived.is_ok_and(|arrived| seen.is_moved(&arrived)) {
            target
                .move_to(&place)
                .map_err(|error| Refusal::Failed(anyhow!("`{}` cannot be put back: {error}: use undo", going.path)))?;
            return Err(Refusal::Left("it changed while it was moved, and was put back".to_owned()));
        }
        // Without its link or stub the document is moved all the same.
        let made = match &moving.leaves {
            Leaves::Nothing => Ok(()),
            Leaves::Link(target) => data_encoding::HEXLOWER
                .decode(target.as_bytes())
                .map_err(io::Error::other)
                .and_then(|target| place.make_link(&target)),
            Leaves::Stub(text) => stub_of(&place).and_then(|stub| stub.make_file(text.as_bytes())),
        };
        self.write(&Entry::Moved { number: moving.number })?;
        if let Err(error) = made {
            self.left.push((
                printable(going.path.as_bytes()).into_owned(),
                format!("it was moved, but no link or stub could be left: {error}"),
            ));
        }
        Ok(size_bytes)
    }

    fn write(&mut self, entry: &Entry) -> Result<(), Refusal> {
        self.journal.write(entry).map_err(|error| Refusal::Failed(anyhow!("the journal cannot be written: {error}")))
    }

    /// The replacement of a document: a link where the one that stays is at this site.
    fn leaves(
        &self,
        path: &DocumentPath,
        root: &Path,
        set: &Set,
        (checker, plan): (&Checker, &PlanFile),
        lost_bytes: u64,
    ) -> Leaves {
        let here = |copy: &&StayingCopy| copy.site == plan.site;
        let linked = |copy: &StayingCopy| {
            let (kept_root, kept) = (checker.root(&copy.repository)?, staying_path(copy));
            let [from, to] =
                [(root, path.as_bytes()), (kept_root, &kept)].map(|(root, path)| root.join(OsStr::from_bytes(path)));
            readers::may_read_all(&from, &to).then(|| target(path, root, kept_root, &kept))
        };
        match self.leave {
            Leave::Nothing => Leaves::Nothing,
            Leave::Link => match set.kept.iter().filter(here).find_map(linked) {
                Some(target) => Leaves::Link(data_encoding::HEXLOWER.encode(&target)),
                None => Leaves::Stub(self.stub(set, lost_bytes)),
            },
            Leave::Stub => Leaves::Stub(self.stub(set, lost_bytes)),
        }
    }

    fn stub(&self, set: &Set, lost_bytes: u64) -> String {
        let how = match lost_bytes {
            0 => "all that it holds is in".to_owned(),
            lost => format!("all that it holds but {lost} bytes is in"),
        };
        let folder = printable(self.folder.as_os_str().as_bytes());
        let head = format!("This document was moved away by a plan of Cognate on {}: {how}\n", self.time);
        let tail = format!("It is kept in {folder}/{FILES}\nTo put it back: cognate worker plan undo {folder}\n");
        let mut room = STUB_BYTES_MAX - head.len() - tail.len();
        let mut kept = String::new();
        // One that does not fit is left out: an undo recognises a stub only if it is short.
        for copy in set.kept.iter().take(8) {
            let line = format!("  {}\n", shown(copy));
            if let Some(left) = room.checked_sub(line.len()) {
                room = left;
                kept.push_str(&line);
            }
        }
        [head, kept, tail].concat()
    }
}

/// Why a document was not moved.
enum Refusal {
    /// It stays where it is; the others go on.
    Left(String),
    /// Nothing more can be done.
    Failed(anyhow::Error),
}

fn left(error: io::Error) -> Refusal {
    Refusal::Left(format!("it cannot be moved: {error}"))
}

/// The place of the stub of a document.
pub(super) fn stub_of(place: &Place) -> io::Result<Place> {
    let mut name = place.name().to_owned();
    name.push(STUB_END);
    place.next_to(name)
}

/// BLAKE3 of a file that is still as it was seen.
fn hash(place: &Place, seen: &Seen) -> Result<String, Refusal> {
    let changed = || Refusal::Left("it has changed since it was read".to_owned());
    let mut file = place.file().map_err(left)?;
    if Seen::of(&file.metadata().map_err(left)?) != *seen {
        return Err(changed());
    }
    let hash = hash_of(&mut file).map_err(left)?;
    if Seen::of(&file.metadata().map_err(left)?) != *seen {
        return Err(changed());
    }
    Ok(hash)
}

/// BLAKE3 of a file, in hexadecimal digits.
pub(super) fn hash_of(file: &mut File) -> io::Result<String> {
    let (mut hasher, mut buffer) = (blake3::Hasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            length => drop(hasher.update(&buffer[..length])),
        }
    }
}

/// The target of a link at `path` below `root` to `kept` below `kept_root`: relative within a repository, so that it holds wherever the
/// repository is mounted.
fn target(path: &DocumentPath, root: &Path, kept_root: &Path, kept: &[u8]) -> Vec<u8> {
    if root != kept_root {
        return [kept_root.as_os_str().as_bytes(), b"/", kept].concat();
    }
    let folders: Vec<&[u8]> = path.as_bytes().split(|byte| *byte == b'/').collect();
    let of_kept: Vec<&[u8]> = kept.split(|byte| *byte == b'/').collect();
    let depth = folders.len() - 1;
    let common = folders[..depth].iter().zip(&of_kept[..of_kept.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(&b".."[..], depth - common);
    up.chain(of_kept[common..].iter().copied()).collect::<Vec<_>>().join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_the_document_that_stays_from_wherever_it_is() {
        let check = |path: &str, kept: &str, expected: &str| {
            let path = DocumentPath::new(path.as_bytes()).unwrap();
            let found = target(&path, Path::new("/r"), Path::new("/r"), kept.as_bytes());
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        };
        check("a", "b", "b");
        check("x/a", "x/b", "b");
        check("x/y/a", "x/b", "../b");
        check("x/y/a", "z/y/b", "../../z/y/b");
        check("a", "a/b", "a/b");
        check("x/a", "x", "../x");
        let path = DocumentPath::new(b"x/a").unwrap();
        assert_eq!(target(&path, Path::new("/r"), Path::new("/s"), b"k/b"), b"/s/k/b");
    }
}
