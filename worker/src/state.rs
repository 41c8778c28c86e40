//! The state folder of a daemon: whose it is, that only one process works in it, which version wrote it, and how often it
//! has been started with.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::SiteError;

/// The version of the folder's layout.
const SCHEMA: u32 = 1;

/// A state folder that this process alone works in.
pub struct StateFolder {
    path: PathBuf,
    /// Held until the process ends.
    _lock: File,
}

impl StateFolder {
    /// Opens a state folder, or makes one.
    ///
    /// # Errors
    /// When another process has it, a newer version wrote it, others can read it, or it cannot be written.
    pub fn open(path: &Path) -> Result<StateFolder, SiteError> {
        prepare(path)?;
        let lock = lock(path)?;
        check_schema(path)?;
        Ok(StateFolder { path: path.to_owned(), _lock: lock })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts this start, and answers its number. It is on the disk before anybody hears of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn next_generation(&self) -> Result<u64, SiteError> {
        let file = self.path.join("generation");
        let state = |source| SiteError::State { path: file.clone(), source };
        let last = match std::fs::read_to_string(&file) {
            Ok(text) => text.trim().parse().map_err(|_| {
                let problem = format!("holds a `generation` that is no number: `{}`", text.trim().escape_debug());
                let cure = "write the number of starts so far into it, rather more than fewer".to_owned();
                SiteError::Unfit { path: self.path.clone(), problem, cure }
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(state(error)),
        };
        let next: u64 = last + 1;
        write_whole(&file, format!("{next}\n").as_bytes()).map_err(state)?;
        Ok(next)
    }
}

/// Whether some process works in the folder now, and which.
///
/// # Errors
/// When that cannot be told.
pub fn holder(path: &Path) -> io::Result<Option<u32>> {
    let mut file = match File::open(path.join("lock")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(pid(&mut file).unwrap_or(0))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Writes a small file so that after a crash it is the old one or the new one; only its owner can read it.
///
/// # Errors
/// When it cannot be written.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    // One that was left behind may be readable by others.
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Makes a state folder where there is none, and looks whether this user alone can enter it.
///
/// # Errors
/// When it cannot be made, or others can enter it.
pub fn prepare(path: &Path) -> Result<(), SiteError> {
    make(path)?;
    check(path)
}

fn make(path: &Path) -> Result<(), SiteError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| SiteError::State { path: path.to_owned(), source })
}

/// Only this user may read what is remembered of the site's documents.
fn check(path: &Path) -> Result<(), SiteError> {
    let metadata = std::fs::metadata(path).map_err(|source| SiteError::State { path: path.to_owned(), source })?;
    let unfit = |problem: String, cure: String| Err(SiteError::Unfit { path: path.to_owned(), problem, cure });
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        let problem = format!("belongs to user {owner}, and this process runs as {user}");
        return unfit(problem, format!("run it as its owner, or `chown -R {user} {}`", path.display()));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return unfit(format!("can be entered by others (mode {mode:o})"), format!("`chmod 700 {}`", path.display()));
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, SiteError> {
    let lock = path.join("lock");
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&lock);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => {
            let problem = format!("cannot be written: {error}");
            let cure = "make it writable for this user (`chmod 700`, or mount it for writing)".to_owned();
            return Err(SiteError::Unfit { path: path.to_owned(), problem, cure });
        }
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(SiteError::Locked { pid: pid(&mut file), path: lock }),
        Err(TryLockError::Error(source)) => return Err(SiteError::State { path: lock, source }),
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
    written.map_err(|source| SiteError::State { path: lock, source })?;
    Ok(file)
}

fn pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn check_schema(path: &Path) -> Result<(), SiteError> {
    let file = path.join("schema");
    let state = |source| SiteError::State { path: file.clone(), source };
    match std::fs::read_to_string(&file) {
        Ok(text) => match text.trim().parse::<u32>() {
            Ok(SCHEMA) => Ok(()),
            found => {
                let found = found.unwrap_or(u32::MAX);
                Err(SiteError::Newer { path: path.to_owned(), found, known: SCHEMA })
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_whole(&file, format!("{SCHEMA}\n").as_bytes()).map_err(state)
        }
        Err(error) => Err(state(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        (folder, path)
    }

    #[test]
    fn every_start_has_a_greater_number() {
        let (_folder, path) = folder();
        for expected in 1..=3 {
            let state = StateFolder::open(&path).unwrap();
            assert_eq!(state.next_generation().unwrap(), expected);
        }
        std::fs::write(path.join("generation"), "many").unwrap();
        let error = StateFolder::open(&path).unwrap().next_generation().unwrap_err();
        assert!(error.to_string().contains("`many`"), "{error}");
    }

    #[test]
    fn a_second_process_is_told_the_lock_and_who_holds_it() {
        let (_folder, path) = folder();
        let held = StateFolder::open(&path).unwrap();
        let error = StateFolder::open(&path).err().unwrap().to_string();
        let pid = std::process::id();
        assert!(error.contains("lock") && error.contains(&format!("pid {pid}")), "{error}");
        assert_eq!(holder(&path).unwrap(), Some(pid));
        drop(held);
        assert_eq!(holder(&path).unwrap(), None);
        assert!(StateFolder::open(&path).is_ok());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused_with_what_mends_it() {
        let (_folder, path) = folder();
        drop(StateFolder::open(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
        let error = StateFolder::open(&path).err().unwrap().to_string();
        assert!(error.contains("750") && error.contains("chmod 700"), "{error}");
    }

    #[test]
    fn a_newer_state_is_refused() {
        let (_folder, path) = folder();
        drop(StateFolder::open(&path).unwrap());
        std::fs::write(path.join("schema"), "2\n").unwrap();
        assert!(matches!(StateFolder::open(&path), Err(SiteError::Newer { found: 2, known: 1, .. })));
    }
}
