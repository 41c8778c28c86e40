//! Files that appear under their name only when they are complete.
//!
//! A file is written under a temporary name next to its own, synced, and renamed; then its folder is synced, since a
//! rename is durable only once its folder is. The temporary name is fixed: what a killed process left is removed by the
//! next write. So two processes must not write the same file at the same time.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The mode of a file that only its owner may read.
pub const PRIVATE: u32 = 0o600;
/// The mode of a file that everybody may read whom the process lets.
pub const PUBLIC: u32 = 0o666;

/// The extension of temporary names.
pub const TEMPORARY_EXTENSION: &str = "tmp";

/// A file that has its temporary name still. It is removed when it is dropped.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    temporary: PathBuf,
    published: bool,
}

impl Draft {
    /// Prepares for a file: removes what an interrupted write left under the temporary name.
    ///
    /// # Errors
    /// Fails if that cannot be removed.
    pub fn begin(path: &Path) -> io::Result<Draft> {
        let temporary = temporary(path);
        // It is not truncated: it may have another mode.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Draft { path: path.to_owned(), temporary, published: false })
    }

    /// Begins a file with a mode, which the process' mask restricts.
    ///
    /// # Errors
    /// Fails if it cannot be created.
    pub fn create(path: &Path, mode: u32) -> io::Result<(Draft, File)> {
        let draft = Draft::begin(path)?;
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft.temporary)?;
        Ok((draft, file))
    }

    /// The path that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The temporary path.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Syncs the file to the disk, no matter which process has written it.
    ///
    /// # Errors
    /// Fails if it cannot be opened or synced.
    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.temporary)?.sync_all()
    }

    /// Gives the file its name, in place of the earlier file of that name. Call [`sync_folder_of`] where the name must
    /// survive a loss of power.
    ///
    /// # Errors
    /// Fails if it cannot be renamed; the earlier file stays.
    pub fn publish(mut self) -> io::Result<()> {
        std::fs::rename(&self.temporary, &self.path)?;
        self.published = true;
        Ok(())
    }

    /// Publishes the file. With `sync` it survives a loss of power, with its name, once this returns.
    ///
    /// # Errors
    /// Fails if it cannot be synced or renamed; the earlier file stays, unless it is the folder that cannot be synced.
    pub fn finish(self, sync: bool) -> io::Result<()> {
        let path = self.path.clone();
        if sync {
            self.sync()?;
        }
        self.publish()?;
        if sync { sync_folder_of(&path) } else { Ok(()) }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // The first error is the one to report; a leftover is removed by the next attempt.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Writes a file with a mode, which the process' mask restricts. After a crash it has the old or the new content; once
/// this returns, it has the new.
///
/// # Errors
/// Fails if it cannot be written; the earlier file stays, unless it is the folder that cannot be synced.
pub fn write_whole(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let (draft, mut file) = Draft::create(path, mode)?;
    file.write_all(content)?;
    draft.finish(true)
}

/// The temporary path of a file.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(TEMPORARY_EXTENSION);
    PathBuf::from(name)
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The mode of a folder that only its owner may enter.
pub const PRIVATE_FOLDER: u32 = 0o700;
/// The mode of a folder that everybody may enter whom the process lets.
pub const PUBLIC_FOLDER: u32 = 0o777;

/// Makes a folder, and those above it that are missing, with a mode, which the process' mask restricts. Their names survive a loss of
/// power once this returns. A file that is synced in a folder whose name is lost is lost with it.
///
/// # Errors
/// Fails if a folder cannot be made or synced.
pub fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && folder_of(path) != path => {
            make_folder(folder_of(path), mode)?;
            make_folder(path, mode)
        }
        Err(_) if path.is_dir() => {
            // An earlier process may have ended between the two. Where the folder above is not ours to read or to write, such as
            // above a mounted volume, another made this one.
            match sync_folder_of(path) {
                Err(error) if is_of_others(&error) => Ok(()),
                synced => synced,
            }
        }
        made => made.and_then(|()| sync_folder_of(path)),
    }
}

fn is_of_others(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | InvalidInput | Unsupported)
}

/// Syncs the names in the folder of a file to the disk.
///
/// # Errors
/// Fails if it cannot be opened or synced.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    sync_folder(folder_of(path))
}

/// Syncs the names in a folder to the disk.
///
/// # Errors
/// Fails if it cannot be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
