//! The walk below a root: documents, entries that are skipped for a reason, and entries that cannot be read.
//!
//! The walk includes hidden files, ignores ignore files, follows links only if requested, and does not enter other file
//! systems. It skips nothing because of its size or type: a file that is unique at this site may have a copy elsewhere.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::{Facts, Selection};
use cognate_proto::v1::SkipReason;
use ignore::{DirEntry, WalkBuilder};

use super::root::{NoDocument, Root};
use super::states::state_of;

/// Folders of version control or of the system, which are skipped.
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

/// One entry of the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A regular file, according to its folder.
    Document(DocumentPath),
    /// A file or folder that cannot be read.
    Unreadable(DocumentPath, DocumentState),
}

/// The reasons for which entries are skipped. A test compares them with those of the wire.
const REASONS: [SkipReason; 6] = [
    SkipReason::SystemFolder,
    SkipReason::NotSelected,
    SkipReason::Symlink,
    SkipReason::Special,
    SkipReason::OtherFileSystem,
    SkipReason::OwnFile,
];

/// Number of skipped entries, by reason.
#[derive(Default)]
pub(crate) struct Skipped {
    counts: [AtomicU64; REASONS.len()],
}

impl Skipped {
    pub(crate) fn count(&self, reason: SkipReason) {
        if let Some((_, count)) = self.counters().find(|(one, _)| *one == reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn of(&self, reason: SkipReason) -> u64 {
        self.counts().find(|(one, _)| *one == reason).map_or(0, |(_, count)| count)
    }

    /// Every reason, with its count.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (SkipReason, u64)> {
        self.counters().map(|(reason, count)| (reason, count.load(Ordering::Relaxed)))
    }

    fn counters(&self) -> impl Iterator<Item = (SkipReason, &AtomicU64)> {
        REASONS.into_iter().zip(&self.counts)
    }
}

/// Walks the tree in the order of its names and calls `each` for every entry, until it returns `false`.
///
/// # Errors
/// Only if the root itself cannot be read. A failure below it is an entry.
pub(crate) fn walk(
    root: &Arc<Root>,
    selection: &Arc<Selection>,
    skipped: &Arc<Skipped>,
    mut each: impl FnMut(Entry) -> bool,
) -> io::Result<()> {
    let device = std::fs::metadata(root.path())?.dev();
    let outside = Arc::new(Mutex::new(Vec::new()));
    let filter = FolderFilter {
        root: Arc::clone(root),
        device,
        selection: Arc::clone(selection),
        skipped: Arc::clone(skipped),
        outside: Arc::clone(&outside),
    };
    let walk = WalkBuilder::new(root.path())
        .standard_filters(false)
        .follow_links(root.follows_symlinks())
        // The entries of a folder have its path in common: bytes are compared faster than names that are looked for in paths.
        .sort_by_file_path(|a, b| a.as_os_str().cmp(b.as_os_str()))
        .filter_entry(move |entry| filter.allows(entry))
        .build();
    let mut folder = root.path().to_owned();
    let left_out = || std::mem::take(&mut *outside.lock().unwrap_or_else(PoisonError::into_inner));
    for entry in walk {
        if !left_out().into_iter().all(&mut each) {
            return Ok(());
        }
        let walked = match entry {
            Ok(entry) => {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let within = if is_folder { Some(entry.path()) } else { entry.path().parent() };
                within.unwrap_or(root.path()).clone_into(&mut folder);
                document(root, &entry, selection, skipped)
            }
            Err(error) => unreadable(root.path(), &folder, &error, skipped)?,
        };
        if let Some(walked) = walked
            && !each(walked)
        {
            return Ok(());
        }
    }
    left_out().into_iter().all(each);
    Ok(())
}

/// Decides which folders the walk enters.
struct FolderFilter {
    root: Arc<Root>,
    device: u64,
    selection: Arc<Selection>,
    skipped: Arc<Skipped>,
    /// Links to folders outside of the repository.
    outside: Arc<Mutex<Vec<Entry>>>,
}

impl FolderFilter {
    fn allows(&self, entry: &DirEntry) -> bool {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_folder || entry.depth() == 0 {
            return true;
        }
        let relative = below(self.root.path(), entry.path());
        let reason = self.skip_reason(entry, relative);
        if let Some(reason) = reason {
            self.skipped.count(reason);
            return false;
        }
        let is_outside = self.root.resolved(relative) == Err(NoDocument::Outside);
        if is_outside && let Some(path) = document_path(relative) {
            let link = Entry::Unreadable(path, DocumentState::LinkOutside);
            self.outside.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        }
        !is_outside
    }

    fn skip_reason(&self, entry: &DirEntry, relative: &Path) -> Option<SkipReason> {
        if SYSTEM_FOLDERS.contains(&entry.file_name().as_bytes()) {
            return Some(SkipReason::SystemFolder);
        }
        if self.selection.excludes_folder(relative.as_os_str().as_bytes()) {
            return Some(SkipReason::NotSelected);
        }
        if self.root.resolved(relative) == Err(NoDocument::Own) {
            return Some(SkipReason::OwnFile);
        }
        // If the device of a folder is unknown, listing it fails later and is reported then.
        let metadata = if self.root.follows_symlinks() { entry.path().metadata().ok() } else { entry.metadata().ok() };
        metadata.filter(|folder| folder.dev() != self.device).map(|_| SkipReason::OtherFileSystem)
    }
}

/// The document of an entry; `None` for a folder and for a skipped entry.
fn document(root: &Root, entry: &DirEntry, selection: &Selection, skipped: &Skipped) -> Option<Entry> {
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    if !kind.is_file() {
        skipped.count(if kind.is_symlink() { SkipReason::Symlink } else { SkipReason::Special });
        return None;
    }
    let relative = below(root.path(), entry.path());
    let path = document_path(relative)?;
    if !selection.selects(&Facts::of_path(path.as_bytes())) {
        skipped.count(SkipReason::NotSelected);
        return None;
    }
    match root.resolved(relative) {
        Err(NoDocument::Own) => {
            skipped.count(SkipReason::OwnFile);
            None
        }
        Err(NoDocument::Outside) => Some(Entry::Unreadable(path, DocumentState::LinkOutside)),
        // What cannot be resolved any more says so when it is opened.
        Ok(_) | Err(NoDocument::Unresolved(_)) => Some(Entry::Document(path)),
    }
}

/// Turns an error of the walk into an entry. An error of the root itself ends the walk. An error in the middle of a listing
/// has no path; it belongs to the folder that is being listed.
fn unreadable(root: &Path, folder: &Path, error: &ignore::Error, skipped: &Skipped) -> io::Result<Option<Entry>> {
    let (path, cause) = path_and_cause(error, None);
    let path = Some(path.unwrap_or(folder));
    // A followed link that leads nowhere or to itself is skipped as a link.
    let is_loop = cause.is_none();
    if !is_loop && path.is_some_and(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())) {
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

/// The path of an error, and its cause if the operating system gave one.
fn path_and_cause<'a>(error: &'a ignore::Error, path: Option<&'a Path>) -> (Option<&'a Path>, Option<io::Error>) {
    match error {
        ignore::Error::WithPath { path, err } => path_and_cause(err, Some(path)),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_and_cause(err, path),
        ignore::Error::Loop { child, .. } => (Some(child), None),
        ignore::Error::Io(cause) => {
            // The library can wrap the error; then only its kind is left of the number.
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

/// The path of an entry below the root: the walk gives it behind the path of the root.
fn below<'a>(root: &Path, entry: &'a Path) -> &'a Path {
    let bytes = entry.as_os_str().as_bytes();
    let rest = bytes.strip_prefix(root.as_os_str().as_bytes()).unwrap_or(bytes);
    Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest)))
}

/// The path relative to the root; `None` if it is too long, which the operating system does not allow.
fn document_path(relative: &Path) -> Option<DocumentPath> {
    DocumentPath::new(relative.as_os_str().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use cognate_proto::selection::SelectionRule;

    use super::*;

    /// Walks a tree of the given files and compares the entries and the counts.
    fn check(files: &[&str], rule: SelectionRule, expected: &[&str], skipped: &[(SkipReason, u64)]) {
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
        let root = Arc::new(Root::open(folder.path(), false, &[]).unwrap());
        let mut entries = vec![];
        walk(&root, &Arc::new(Selection::new(rule).unwrap()), &counts, |entry| {
            entries.push(match entry {
                Entry::Document(path) => path.to_string(),
                Entry::Unreadable(path, state) => format!("{path}: {state:?}"),
            });
            true
        })
        .unwrap();
        assert_eq!(entries, expected);
        for (reason, count) in skipped {
            assert_eq!(counts.of(*reason), *count, "{reason:?}");
        }
    }

    #[test]
    fn the_walk_skips_only_links_and_system_folders() {
        check(
            &["b/c.txt", "a.txt", ".hidden/x", ".gitignore", ".git/config", "sub/.svn/entries", "link-1", ".ignore"],
            SelectionRule::default(),
            &[".gitignore", ".hidden/x", ".ignore", "a.txt", "b/c.txt"],
            &[(SkipReason::SystemFolder, 2), (SkipReason::Symlink, 1)],
        );
    }

    /// Bytes of memory that this process has.
    fn resident_bytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    /// Asked for: a million. So many links to one file are made in a second.
    #[test]
    fn a_folder_of_a_hundred_thousand_entries_is_walked_in_order_and_in_little_memory() {
        const ENTRIES: usize = 100_000;
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("000000");
        std::fs::write(&first, "x").unwrap();
        for number in 1..ENTRIES {
            let name = folder.path().join(format!("{number:06}"));
            // A file has only so many names on some file systems.
            if std::fs::hard_link(&first, &name).is_err() {
                std::fs::write(&name, "x").unwrap();
            }
        }
        let root = Arc::new(Root::open(folder.path(), false, &[]).unwrap());
        let (mut seen, before, mut most) = (0, resident_bytes(), 0);
        walk(&root, &Arc::new(Selection::all()), &Arc::new(Skipped::default()), |entry| {
            let Entry::Document(path) = entry else { panic!("{entry:?}") };
            assert_eq!(path.to_string(), format!("{seen:06}"));
            if seen % 1000 == 0 {
                most = most.max(resident_bytes());
            }
            seen += 1;
            true
        })
        .unwrap();
        assert_eq!(seen, ENTRIES);
        // To bring a folder into order its names are in memory, some 500 bytes each; other tests of this process have some as well.
        let grown = most.saturating_sub(before);
        assert!(grown < 256 << 20, "{grown} bytes for {ENTRIES} entries");
    }

    #[test]
    fn a_link_out_of_the_repository_is_named_and_files_of_the_worker_are_counted() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("secret"), "x").unwrap();
        for (name, target) in [("a-folder", other.path().to_owned()), ("c-file", other.path().join("secret"))] {
            symlink(target, folder.path().join(name)).unwrap();
        }
        std::fs::create_dir(folder.path().join("state")).unwrap();
        for name in ["b", "state/key", "own.toml"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        symlink("state", folder.path().join("to-state")).unwrap();
        let own = ["state", "own.toml"].map(|name| folder.path().canonicalize().unwrap().join(name));
        let walked = |follow_symlinks| {
            let (mut entries, counts) = (Vec::new(), Arc::new(Skipped::default()));
            let root = Arc::new(Root::open(folder.path(), follow_symlinks, &own).unwrap());
            let all = Arc::new(Selection::all());
            walk(&root, &all, &counts, |entry| {
                entries.push(match entry {
                    Entry::Document(path) => path.to_string(),
                    Entry::Unreadable(path, state) => format!("{path}: {state:?}"),
                });
                true
            })
            .unwrap();
            (entries, [SkipReason::OwnFile, SkipReason::Symlink].map(|reason| counts.of(reason)))
        };
        assert_eq!(walked(false), (vec!["b".to_owned()], [2, 3]));
        let named = ["a-folder: LinkOutside", "b", "c-file: LinkOutside"].map(str::to_owned);
        assert_eq!(walked(true), (named.to_vec(), [3, 0]));
    }

    #[test]
    fn unselected_entries_are_counted_and_excluded_folders_are_not_entered() {
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
    fn every_reason_of_the_wire_is_counted_on_its_own() {
        let skipped = Skipped::default();
        // Number 0 is "unspecified" and reason for nothing.
        let reasons: Vec<SkipReason> = (1..).map_while(|number| SkipReason::try_from(number).ok()).collect();
        for (times, reason) in (1..).zip(&reasons) {
            (0..times).for_each(|_| skipped.count(*reason));
        }
        let expected: Vec<(SkipReason, u64)> = reasons.into_iter().zip(1..).collect();
        assert_eq!(skipped.counts().collect::<Vec<_>>(), expected);
        skipped.count(SkipReason::Unspecified);
        assert_eq!(skipped.of(SkipReason::Unspecified), 0);
    }

    #[test]
    fn a_missing_root_is_an_error() {
        assert!(Root::open(Path::new("/nothing/here"), false, &[]).is_err());
    }
}
