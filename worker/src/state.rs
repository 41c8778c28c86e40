//! The state folder of a daemon: its owner, the lock for one process, the version that wrote it, and its last starts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use cognate_durable::whole::{PRIVATE, PRIVATE_FOLDER, make_folder, write_whole};

use crate::error::SiteError;

/// The starts that are remembered: a coordinator that comes back from a backup knows one of them.
const STARTS_KEPT: usize = 1000;
/// The version of the layout of the folder.
const SCHEMA: u32 = 1;

/// A state folder that only this process uses.
pub struct StateFolder {
    path: PathBuf,
    /// Held until the process ends.
    _lock: File,
}

impl StateFolder {
    /// Opens or creates a state folder.
    ///
    /// # Errors
    /// If another process uses it, another version wrote it, other users can read it, or it cannot be written.
    pub fn open(path: &Path) -> Result<StateFolder, SiteError> {
        prepare(path)?;
        let lock = lock(path)?;
        check_schema(path)?;
        Ok(StateFolder { path: path.to_owned(), _lock: lock })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records that a process with this number was started, and returns the numbers of the processes before, the latest last. The record is on
    /// the disk before anything is sent.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn record_start(&self, instance: u64) -> Result<Vec<u64>, SiteError> {
        let file = self.path.join("starts");
        let state = |source| SiteError::State { path: file.clone(), source };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(state(error)),
        };
        let number = |line: &str| {
            u64::from_str_radix(line, 16).map_err(|_| SiteError::Unusable {
                path: self.path.clone(),
                problem: format!("holds a line in `starts` that is not a number: `{}`", line.escape_debug()),
                cure: "remove the line".to_owned(),
            })
        };
        let mut earlier: Vec<u64> = text.lines().map(number).collect::<Result<_, _>>()?;
        earlier.drain(..earlier.len().saturating_sub(STARTS_KEPT));
        let lines: String = earlier.iter().chain([&instance]).map(|number| format!("{number:016x}\n")).collect();
        write_whole(&file, lines.as_bytes(), PRIVATE).map_err(state)?;
        Ok(earlier)
    }
}

/// The id of the process that uses the folder now, if there is one; 0 if its id is unknown.
///
/// # Errors
/// If the lock cannot be read.
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

/// Creates a state folder if necessary, and checks that only this user can enter it.
///
/// # Errors
/// If it cannot be created, or other users can enter it.
pub fn prepare(path: &Path) -> Result<(), SiteError> {
    make(path)?;
    check(path)
}

fn make(path: &Path) -> Result<(), SiteError> {
    make_folder(path, PRIVATE_FOLDER).map_err(|source| SiteError::State { path: path.to_owned(), source })
}

/// Checks that only this user can read what is remembered of the site's documents.
fn check(path: &Path) -> Result<(), SiteError> {
    let metadata = std::fs::metadata(path).map_err(|source| SiteError::State { path: path.to_owned(), source })?;
    let unfit = |problem: String, cure: String| Err(SiteError::Unusable { path: path.to_owned(), problem, cure });
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        let problem = format!("belongs to user {owner}, and this process runs as {user}");
        return unfit(problem, format!("run it as its owner, or `chown -R {user} {}`", path.display()));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return unfit(format!("is open to other users (mode {mode:o})"), format!("`chmod 700 {}`", path.display()));
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
            return Err(SiteError::Unusable { path: path.to_owned(), problem, cure });
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
                Err(SiteError::OtherVersion { path: path.to_owned(), found, known: SCHEMA })
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_whole(&file, format!("{SCHEMA}\n").as_bytes(), PRIVATE).map_err(state)
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
    fn every_start_knows_those_before_it() {
        let (_folder, path) = folder();
        for number in [u64::MAX, 7, 0] {
            let expected = [u64::MAX, 7, 0].into_iter().take_while(|earlier| *earlier != number);
            let state = StateFolder::open(&path).unwrap();
            assert_eq!(state.record_start(number).unwrap(), expected.collect::<Vec<_>>());
        }
        let many: String = (0..STARTS_KEPT + 5).map(|number| format!("{number:016x}\n")).collect();
        std::fs::write(path.join("starts"), many).unwrap();
        let kept = StateFolder::open(&path).unwrap().record_start(1).unwrap();
        assert_eq!((kept.len(), kept[0]), (STARTS_KEPT, 5));
        std::fs::write(path.join("starts"), "many").unwrap();
        let error = StateFolder::open(&path).unwrap().record_start(1).unwrap_err();
        assert!(error.to_string().contains("`many`"), "{error}");
    }

    #[test]
    fn the_error_of_a_second_process_names_the_lock_and_the_first_process() {
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
    fn a_folder_that_is_open_to_others_is_refused_with_the_solution() {
        let (_folder, path) = folder();
        drop(StateFolder::open(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
        let error = StateFolder::open(&path).err().unwrap().to_string();
        assert!(error.contains("750") && error.contains("chmod 700"), "{error}");
    }

    #[test]
    fn a_state_of_another_version_is_refused() {
        let (_folder, path) = folder();
        drop(StateFolder::open(&path).unwrap());
        std::fs::write(path.join("schema"), "2\n").unwrap();
        assert!(matches!(StateFolder::open(&path), Err(SiteError::OtherVersion { found: 2, known: 1, .. })));
    }
}
