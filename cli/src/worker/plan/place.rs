//! Places of documents: the folder that holds one, opened without following a link, and its name there. Steps are taken
//! relative to the opened folder, so that a folder which somebody replaces meanwhile leads nowhere else.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cognate_proto::path::DocumentPath;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

/// A name in an open folder.
pub(super) struct Place {
    folder: OwnedFd,
    name: OsString,
}

impl Place {
    /// The place of a path below a root. With `makes` the folders above it are made.
    pub(super) fn open(root: &Path, path: &DocumentPath, makes: bool) -> io::Result<Place> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open(root, flags, Mode::empty())?;
        let mut parts = path.as_bytes().split(|byte| *byte == b'/').peekable();
        loop {
            let part = OsStr::from_bytes(parts.next().unwrap_or_default());
            if parts.peek().is_none() {
                return Ok(Place { folder, name: part.to_owned() });
            }
            if makes {
                match rustix::fs::mkdirat(&folder, part, Mode::RWXU) {
                    Ok(()) => rustix::fs::fsync(&folder)?,
                    Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            folder = rustix::fs::openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
    }

    /// The place of another name in the same folder.
    pub(super) fn next_to(&self, name: OsString) -> io::Result<Place> {
        Ok(Place { folder: self.folder.try_clone()?, name })
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Opens the regular file that is here; a link is none.
    pub(super) fn file(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    }

    /// The bytes of a small file that is here; nothing if there is none or if it is longer.
    pub(super) fn small(&self, bytes_max: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file().ok()?.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes).filter(|bytes| bytes.len() as u64 <= bytes_max)
    }

    /// The metadata of the regular file that is here.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file()?.metadata()
    }

    /// True if nothing has this name.
    pub(super) fn is_free(&self) -> io::Result<bool> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(false),
            Err(rustix::io::Errno::NOENT) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// The target of the link that is here; nothing if there is none.
    pub(super) fn link(&self) -> Option<Vec<u8>> {
        rustix::fs::readlinkat(&self.folder, &self.name, Vec::new()).ok().map(|target| target.into_bytes())
    }

    /// Moves what is here to another place, where nothing may be, and returns once both folders are on the disk.
    pub(super) fn move_to(&self, other: &Place) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(&self.folder, &self.name, &other.folder, &other.name, flags)?;
        rustix::fs::fsync(&other.folder)?;
        rustix::fs::fsync(&self.folder)?;
        Ok(())
    }

    /// Makes a link here, where nothing may be.
    pub(super) fn make_link(&self, target: &[u8]) -> io::Result<()> {
        rustix::fs::symlinkat(OsStr::from_bytes(target), &self.folder, &self.name)?;
        Ok(rustix::fs::fsync(&self.folder)?)
    }

    /// Writes a small file here, where nothing may be.
    pub(super) fn make_file(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let mut file = File::from(rustix::fs::openat(&self.folder, &self.name, flags, mode)?);
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()?;
        Ok(rustix::fs::fsync(&self.folder)?)
    }

    /// Removes a link or a stub that a plan left here. Documents are never removed.
    pub(super) fn remove_left(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }
}
