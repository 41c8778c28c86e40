//! The open root folder of a repository. This is the only module that opens documents.
//!
//! Paths are resolved below the root's descriptor, without following symbolic links. A file is opened without waiting, and
//! its type is checked on the descriptor. So a pipe, a device or a link that replaced a file after the walk neither blocks
//! nor leads out of the repository. Where links are followed, a path is resolved first and what it leads to is
//! opened in this way: a link whose target is outside of the repository leads nowhere. Files of the worker itself are no documents.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::states::state_of;

/// An open repository root.
pub(crate) struct Root {
    folder: OwnedFd,
    path: PathBuf,
    follow_symlinks: bool,
    /// What in the repository belongs to the worker itself.
    own: Vec<PathBuf>,
    /// The inodes of files that have several names, of those whose metadata was looked at.
    linked: Mutex<HashSet<u64>>,
}

/// The reason why something below the root is no document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoDocument {
    /// A link leads out of the repository.
    Outside,
    /// It belongs to the worker itself.
    Own,
    /// It cannot be resolved.
    Unresolved(DocumentState),
}

impl NoDocument {
    fn state(self) -> DocumentState {
        match self {
            NoDocument::Outside => DocumentState::LinkOutside,
            NoDocument::Own => DocumentState::NotAFile,
            NoDocument::Unresolved(state) => state,
        }
    }
}

impl Root {
    /// Opens a folder as a root. If `path` is a symbolic link, it is followed. `own` are the files and folders of the worker
    /// itself, with links resolved.
    pub(crate) fn open(path: &Path, follow_symlinks: bool, own: &[PathBuf]) -> io::Result<Root> {
        let path = path.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty())?;
        // A folder that can be opened but not listed is of no use.
        std::fs::read_dir(&path)?;
        let own = own.iter().filter(|own| own.starts_with(&path)).cloned().collect();
        Ok(Root { folder, path, follow_symlinks, own, linked: Mutex::default() })
    }

    /// The path of the root, with links resolved.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the root.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let folder = File::from(self.folder.try_clone()?).metadata()?;
        Ok((folder.dev(), folder.ino()))
    }

    /// True if there is anything of this name below the root.
    pub(crate) fn has(&self, name: &Path) -> bool {
        rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// True if symbolic links are followed.
    pub(crate) fn follows_symlinks(&self) -> bool {
        self.follow_symlinks
    }

    /// The path below the root that a path below the root leads to.
    pub(crate) fn resolved<'a>(&self, relative: &'a Path) -> Result<Cow<'a, Path>, NoDocument> {
        if !self.follow_symlinks {
            let is_own = !self.own.is_empty() && self.is_own(&self.path.join(relative));
            return if is_own { Err(NoDocument::Own) } else { Ok(Cow::Borrowed(relative)) };
        }
        let target = self.path.join(relative).canonicalize();
        let target = target.map_err(|error| NoDocument::Unresolved(state_of(&error)))?;
        if self.is_own(&target) {
            return Err(NoDocument::Own);
        }
        let below = target.strip_prefix(&self.path).map_err(|_| NoDocument::Outside)?;
        Ok(Cow::Owned(below.to_owned()))
    }

    fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// The metadata of a document, without opening it.
    pub(crate) fn stat(&self, path: &DocumentPath) -> io::Result<Stat> {
        let name = self.resolved(Path::new(OsStr::from_bytes(path.as_bytes()))).map_err(|_| Errno::NOENT)?;
        let stat = rustix::fs::statat(&self.folder, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?;
        self.remember_names(&stat);
        Ok(stat)
    }

    #[expect(clippy::useless_conversion, reason = "the type differs between systems")]
    fn remember_names(&self, stat: &Stat) {
        if stat.st_nlink > 1 {
            self.linked.lock().unwrap_or_else(PoisonError::into_inner).insert(stat.st_ino.into());
        }
    }

    /// True if a file, whose metadata was looked at, has several names: hard links.
    pub(crate) fn has_several_names(&self, inode: u64) -> bool {
        self.linked.lock().unwrap_or_else(PoisonError::into_inner).contains(&inode)
    }

    /// Opens a document, which must be a regular file, and returns it with the metadata of the open file.
    pub(crate) fn open_document(&self, path: &DocumentPath) -> Result<(File, Stat), DocumentState> {
        let name = self.resolved(Path::new(OsStr::from_bytes(path.as_bytes()))).map_err(NoDocument::state)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = open_beneath(self.folder.as_fd(), name.as_os_str(), flags);
        let file = file.map_err(|error| state_of(&error.into()))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| state_of(&error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(DocumentState::NotAFile);
        }
        self.remember_names(&stat);
        Ok((File::from(file), stat))
    }
}

/// Opens `name` below `folder` without passing through any symbolic link.
#[cfg(target_os = "linux")]
fn open_beneath(folder: rustix::fd::BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve) {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(folder, name, flags),
        result => result,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(folder: rustix::fd::BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    open_step_by_step(folder, name, flags)
}

/// Does the same with one call per name of the path. A `DocumentPath` contains no `..`.
fn open_step_by_step(folder: rustix::fd::BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let folder_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names = name.as_bytes().split(|byte| *byte == b'/').map(OsStr::from_bytes).peekable();
    let mut current = folder.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    while let Some(name) = names.next() {
        let flags = if names.peek().is_some() { folder_flags } else { flags };
        current = rustix::fs::openat(&current, name, flags, Mode::empty())?;
    }
    Ok(current)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn path(text: &str) -> DocumentPath {
        DocumentPath::new(text.as_bytes()).unwrap()
    }

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        std::fs::write(folder.path().join("inner/file"), "content").unwrap();
        symlink("inner/file", folder.path().join("link")).unwrap();
        symlink("inner", folder.path().join("linked")).unwrap();
        symlink("/etc", folder.path().join("outside")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe"), Mode::RUSR).unwrap();
        folder
    }

    #[test]
    fn a_pipe_a_folder_or_a_link_instead_of_a_file_neither_blocks_nor_leads_out() {
        let folder = tree();
        let root = Root::open(folder.path(), false, &[]).unwrap();
        assert!(root.open_document(&path("inner/file")).is_ok());
        for name in ["pipe", "inner", "link", "linked/file", "outside/passwd", "inner/file/x"] {
            assert_eq!(root.open_document(&path(name)).unwrap_err(), DocumentState::NotAFile, "{name}");
        }
        assert_eq!(root.open_document(&path("nothing")).unwrap_err(), DocumentState::Vanished);
    }

    #[test]
    fn opening_step_by_step_gives_the_same_answers() {
        let folder = tree();
        let root = Root::open(folder.path(), false, &[]).unwrap();
        let open = |name: &str| open_step_by_step(root.folder.as_fd(), OsStr::new(name), OFlags::NOFOLLOW);
        assert!(open("inner/file").is_ok());
        for name in ["link", "linked/file", "outside/passwd"] {
            let error: io::Error = open(name).unwrap_err().into();
            assert_eq!(state_of(&error), DocumentState::NotAFile, "{name}");
        }
    }

    #[test]
    fn links_are_followed_if_requested_and_never_out_of_the_repository() {
        let folder = tree();
        let inside = folder.path().canonicalize().unwrap().join("inner");
        symlink(inside, folder.path().join("absolute")).unwrap();
        symlink("outside/passwd", folder.path().join("through")).unwrap();
        let root = Root::open(folder.path(), true, &[]).unwrap();
        for name in ["inner/file", "link", "linked/file", "absolute/file"] {
            assert!(root.open_document(&path(name)).is_ok(), "{name}");
            assert!(root.stat(&path(name)).is_ok(), "{name}");
        }
        assert_eq!(root.open_document(&path("pipe")).unwrap_err(), DocumentState::NotAFile);
        for name in ["outside/passwd", "through", "outside"] {
            assert_eq!(root.open_document(&path(name)).unwrap_err(), DocumentState::LinkOutside, "{name}");
            assert!(root.stat(&path(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn files_of_the_worker_itself_are_no_documents() {
        let folder = tree();
        let own = [folder.path().canonicalize().unwrap().join("inner")];
        for follow_symlinks in [false, true] {
            let root = Root::open(folder.path(), follow_symlinks, &own).unwrap();
            for name in ["inner/file", "link", "linked/file"] {
                assert_eq!(root.open_document(&path(name)).unwrap_err(), DocumentState::NotAFile, "{name}");
            }
        }
    }
}
