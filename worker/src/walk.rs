//! What there is below a root: documents to look at, entries left out and why, and what cannot even be listed.
//!
//! Hidden files are in, ignore files are not obeyed, links are not followed unless that was asked for, and other file
//! systems are not entered. Nothing is left out by size or type: a file that is unique here may have its twin elsewhere.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;
use cognate_proto::v1::SkipReason;
use ignore::{DirEntry, WalkBuilder};

use crate::root::{Root, state_of};

/// Folders that belong to version control or to the system, left out by default.
const SYSTEM_FOLDERS: [&[u8]; 9] = [
    b".git",
    b".svn",
    b".hg",
    b".bzr",
    b"$RECYCLE.BIN",
    b"System Volume Information",
    b".snapshot",
    b".snapshots",
    b"lost+found",
];

/// One thing that the walk came across.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A regular file, as far as its folder says.
    Document(DocumentPath),
    /// A file or folder that cannot be looked at.
    Unreadable(DocumentPath, DocumentState),
}

/// How many entries were left out, by reason.
#[derive(Default)]
pub(crate) struct Skipped {
    counts: [AtomicU64; 6],
}

impl Skipped {
    pub(crate) fn count(&self, reason: SkipReason) {
        self.counts[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn of(&self, reason: SkipReason) -> u64 {
        self.counts[reason as usize].load(Ordering::Relaxed)
    }
}

/// Walks the tree in the order of its names and hands every entry to `each`, until that says stop.
///
/// # Errors
/// Only when the root itself cannot be read; anything below it is an entry.
pub(crate) fn walk(
    root: &Root,
    selection: &Arc<Selection>,
    follow_symlinks: bool,
    skipped: &Arc<Skipped>,
    mut each: impl FnMut(Entry) -> bool,
) -> io::Result<()> {
    let device = std::fs::metadata(root.path())?.dev();
    let enter = Enter {
        root: root.path().to_owned(),
        device,
        selection: Arc::clone(selection),
        skipped: Arc::clone(skipped),
        follow_symlinks,
    };
    let walk = WalkBuilder::new(root.path())
        .standard_filters(false)
        .follow_links(follow_symlinks)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| enter.allows(entry))
        .build();
    let mut folder = root.path().to_owned();
    for entry in walk {
        let found = match entry {
            Ok(entry) => {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let within = if is_folder { Some(entry.path()) } else { entry.path().parent() };
                within.unwrap_or(root.path()).clone_into(&mut folder);
                looked_at(root.path(), &entry, selection, skipped)
            }
            Err(error) => unreadable(root.path(), &folder, &error, skipped)?,
        };
        if let Some(found) = found
            && !each(found)
        {
            break;
        }
    }
    Ok(())
}

/// Which folders are entered.
struct Enter {
    root: std::path::PathBuf,
    device: u64,
    selection: Arc<Selection>,
    skipped: Arc<Skipped>,
    follow_symlinks: bool,
}

impl Enter {
    fn allows(&self, entry: &DirEntry) -> bool {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_folder || entry.depth() == 0 {
            return true;
        }
        let reason = self.reason_against(entry);
        if let Some(reason) = reason {
            self.skipped.count(reason);
        }
        reason.is_none()
    }

    fn reason_against(&self, entry: &DirEntry) -> Option<SkipReason> {
        if SYSTEM_FOLDERS.contains(&entry.file_name().as_bytes()) {
            return Some(SkipReason::SystemFolder);
        }
        let relative = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
        if self.selection.excludes_folder(relative.as_os_str().as_bytes()) {
            return Some(SkipReason::NotSelected);
        }
        // A folder whose device cannot be told will fail to be listed, and be reported then.
        let metadata = if self.follow_symlinks { entry.path().metadata().ok() } else { entry.metadata().ok() };
        metadata.filter(|folder| folder.dev() != self.device).map(|_| SkipReason::OtherFileSystem)
    }
}

fn looked_at(root: &Path, entry: &DirEntry, selection: &Selection, skipped: &Skipped) -> Option<Entry> {
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    if !kind.is_file() {
        skipped.count(if kind.is_symlink() { SkipReason::Symlink } else { SkipReason::Special });
        return None;
    }
    let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
    let path = document_path(relative)?;
    if !selection.selects_path(path.as_bytes()) {
        skipped.count(SkipReason::NotSelected);
        return None;
    }
    Some(Entry::Document(path))
}

/// What an error of the walk is about. One about the root itself ends the walk. An error in the middle of a listing names
/// no path: it is about the folder that the walk is in.
fn unreadable(root: &Path, folder: &Path, error: &ignore::Error, skipped: &Skipped) -> io::Result<Option<Entry>> {
    let (path, cause) = taken_apart(error, None);
    let path = Some(path.unwrap_or(folder));
    // Where links are followed, one that leads nowhere or to itself is a link that cannot be followed, and no more.
    let is_loop = cause.is_none();
    if !is_loop && path.is_some_and(|path| path.symlink_metadata().is_ok_and(|found| found.is_symlink())) {
        skipped.count(SkipReason::Symlink);
        return Ok(None);
    }
    let relative = path.and_then(|path| path.strip_prefix(root).ok()).filter(|path| !path.as_os_str().is_empty());
    let state = match (&cause, error) {
        (Some(cause), _) => state_of(cause),
        (None, _) => DocumentState::LinkLoop,
    };
    match relative.and_then(document_path) {
        Some(path) => Ok(Some(Entry::Unreadable(path, state))),
        None => Err(cause.unwrap_or_else(|| io::Error::other(error.to_string()))),
    }
}

/// The path that an error of the walker is about, and the cause where the system gave one.
fn taken_apart<'a>(error: &'a ignore::Error, path: Option<&'a Path>) -> (Option<&'a Path>, Option<io::Error>) {
    match error {
        ignore::Error::WithPath { path, err } => taken_apart(err, Some(path)),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => taken_apart(err, path),
        ignore::Error::Loop { child, .. } => (Some(child), None),
        ignore::Error::Io(cause) => {
            // The walker wraps what it was told; the number of the error survives in the kind at least.
            let cause = match cause.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => from_kind(cause),
            };
            (path, Some(cause))
        }
        other => (path, Some(io::Error::other(other.to_string()))),
    }
}

fn from_kind(cause: &io::Error) -> io::Error {
    use rustix::io::Errno;
    match cause.kind() {
        io::ErrorKind::PermissionDenied => Errno::ACCESS.into(),
        io::ErrorKind::NotFound => Errno::NOENT.into(),
        io::ErrorKind::InvalidFilename => Errno::NAMETOOLONG.into(),
        _ => io::Error::other(cause.to_string()),
    }
}

/// The path as the rest of the system knows it. Names that no path can have (longer than any limit) do not occur below
/// a root whose walk succeeded: the system would not have listed them.
fn document_path(relative: &Path) -> Option<DocumentPath> {
    DocumentPath::new(relative.as_os_str().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use cognate_proto::selection::SelectionRule;

    use super::*;

    /// Walks a tree made of the given files (a name that ends in `/` is a folder), and answers what was found.
    fn check(files: &[&str], rule: SelectionRule, found: &[&str], skipped: &[(SkipReason, u64)]) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match file.strip_prefix("link-") {
                Some(_) => symlink(".", &path).unwrap(),
                None => std::fs::write(&path, "x").unwrap(),
            }
        }
        let counts = Arc::new(Skipped::default());
        let root = Root::open(folder.path(), false).unwrap();
        let mut entries = vec![];
        walk(&root, &Arc::new(Selection::new(rule).unwrap()), false, &counts, |entry| {
            entries.push(match entry {
                Entry::Document(path) => path.to_string(),
                Entry::Unreadable(path, state) => format!("{path}: {state:?}"),
            });
            true
        })
        .unwrap();
        assert_eq!(entries, found);
        for (reason, count) in skipped {
            assert_eq!(counts.of(*reason), *count, "{reason:?}");
        }
    }

    #[test]
    fn everything_is_found_but_links_and_system_folders() {
        check(
            &["b/c.txt", "a.txt", ".hidden/x", ".gitignore", ".git/config", "sub/.svn/entries", "link-1", ".ignore"],
            SelectionRule::default(),
            &[".gitignore", ".hidden/x", ".ignore", "a.txt", "b/c.txt"],
            &[(SkipReason::SystemFolder, 2), (SkipReason::Symlink, 1)],
        );
    }

    #[test]
    fn what_is_not_selected_is_counted_and_excluded_folders_are_not_entered() {
        let rule =
            SelectionRule { include: vec!["*.rs".into()], exclude: vec!["target".into()], ..SelectionRule::default() };
        check(
            &["src/a.rs", "src/b.txt", "target/x.rs", "target/y.rs"],
            rule,
            &["src/a.rs"],
            &[(SkipReason::NotSelected, 2)],
        );
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        assert!(Root::open(Path::new("/nothing/here"), false).is_err());
    }
}
