//! Backups that take turns: each is restored into a scratch folder and checked before it counts, and only then are old ones
//! removed. A timer of the system starts the command (`deploy/systemd/cognate-backup.timer`).

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cognate_result::report::{Report, time};
use cognate_storage::Error;
use cognate_storage::clock::seconds;
use cognate_storage::maintenance::{self, BackupOptions, CheckOptions, Checked, RestoreOptions, Saved};

/// The name of a backup is this and the time.
const PREFIX: &str = "cognate-";
/// The end of the name of a backup that is not checked yet.
const UNCHECKED: &str = ".unchecked";
/// The scratch folder of the check.
const SCRATCH: &str = ".cognate-check";
/// Keeps two commands from one folder.
const LOCK: &str = ".cognate-lock";

/// A backup, and what came of its check.
pub(super) struct Rotated {
    pub(super) saved: Saved,
    /// What was found in the state itself: a restored backup does not show what was damaged before, since sites send it again.
    pub(super) state: Checked,
    /// Its folder; with `.unchecked` at the end of its name if it is not intact.
    pub(super) backup: PathBuf,
    /// What was found in the restored state; nothing if the backup was not complete and so was not restored.
    pub(super) checked: Option<Checked>,
    /// Where it was restored.
    pub(super) scratch: PathBuf,
    /// Earlier backups that were removed.
    pub(super) removed: Vec<PathBuf>,
    /// Folders with the name of a backup which are none of this state, or a copy of one: they neither count nor are removed.
    pub(super) foreign: Vec<PathBuf>,
}

impl Rotated {
    /// True if nothing is missing or damaged.
    pub(super) fn is_intact(&self) -> bool {
        self.state.findings.is_empty()
            && self.saved.damaged.is_empty()
            && self.checked.as_ref().is_some_and(|checked| checked.findings.is_empty())
    }
}

/// Saves the state below a folder, checks what was saved, and removes all but the last `keep` backups there.
///
/// # Errors
/// Fails if the state cannot be saved or restored, or another command uses the folder; earlier backups are left then.
pub(super) fn rotate(
    state_dir: &Path,
    folder: &Path,
    keep: NonZeroUsize,
    options: &BackupOptions,
    clock: fn() -> SystemTime,
) -> Result<Rotated, Error> {
    fs::create_dir_all(folder).map_err(Error::state(folder))?;
    let _lock = locked(folder)?;
    let scratch = folder.join(SCRATCH);
    // What an interrupted command left.
    let left = scratch.try_exists().map_err(Error::state(&scratch))?;
    for leftover in unchecked(folder)?.into_iter().chain(left.then(|| scratch.clone())) {
        fs::remove_dir_all(&leftover).map_err(Error::state(&leftover))?;
    }
    let name = format!("{PREFIX}{}", time(seconds(options.made)).replace(':', ""));
    let (backup, new) = (folder.join(&name), folder.join(format!("{name}{UNCHECKED}")));
    if backup.try_exists().map_err(Error::state(&backup))? {
        return Err(Error::Refused(format!("`{}` was made in this very second: try again", backup.display())));
    }
    let checks = CheckOptions { read_data: true };
    let state = maintenance::check(state_dir, checks, &Report::check)?;
    let saved = maintenance::backup(state_dir, &new, options)?;
    let mut rotated = Rotated {
        saved,
        state,
        backup: new.clone(),
        checked: None,
        scratch: scratch.clone(),
        removed: Vec::new(),
        foreign: Vec::new(),
    };
    if !rotated.saved.damaged.is_empty() {
        return Ok(rotated);
    }
    let restoring = RestoreOptions { revoked: &[], key: Some(&state_dir.join("ca.key")), clock };
    maintenance::restore(&new, &scratch, &restoring)?;
    rotated.checked = Some(maintenance::check(&scratch, checks, &Report::check)?);
    fs::remove_dir_all(&scratch).map_err(Error::state(&scratch))?;
    if !rotated.is_intact() {
        return Ok(rotated);
    }
    fs::rename(&new, &backup).map_err(Error::state(&backup))?;
    rotated.backup = backup;
    let mut codes = HashSet::new();
    // Others may write to the folder: a name alone must not push a backup out.
    let (own, foreign) = checked(folder)?
        .into_iter()
        .partition::<Vec<_>, _>(|path| maintenance::code_of(path, state_dir).is_some_and(|code| codes.insert(code)));
    rotated.foreign = foreign;
    for old in old(&own, keep) {
        fs::remove_dir_all(&old).map_err(Error::state(&old))?;
        rotated.removed.push(old);
    }
    Ok(rotated)
}

/// The backups of a folder that are one too many: the names begin with the time, so that the first are the oldest.
fn old(backups: &[PathBuf], keep: NonZeroUsize) -> Vec<PathBuf> {
    backups[..backups.len().saturating_sub(keep.get())].to_vec()
}

fn locked(folder: &Path) -> Result<File, Error> {
    let path = folder.join(LOCK);
    // Others may write to the folder of backups: a link in place of the lock would lead to a file of the state.
    let mut options = File::options();
    options.write(true).create(true).truncate(false).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    let file = options.open(&path).map_err(Error::state(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Refused(format!("another command saves to `{}` at this time", folder.display())))
        }
        Err(TryLockError::Error(error)) => Err(Error::state(&path)(error)),
    }
}

/// The backups that were checked, the oldest first.
fn checked(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    named(folder, |name| !name.ends_with(UNCHECKED))
}

fn unchecked(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    named(folder, |name| name.ends_with(UNCHECKED))
}

/// The folders with a name that only this command gives: with the time in it.
fn named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Error> {
    let read = || -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_ours = name.to_str().is_some_and(|name| is_of_a_time(name) && is_wanted(name));
            if is_ours && entry.file_type()?.is_dir() {
                found.push(entry.path());
            }
        }
        found.sort();
        Ok(found)
    };
    read().map_err(Error::state(folder))
}

/// True for `cognate-2026-11-25T233105Z`, also with `.unchecked`.
fn is_of_a_time(name: &str) -> bool {
    let time = name.strip_prefix(PREFIX).map(|rest| rest.strip_suffix(UNCHECKED).unwrap_or(rest));
    time.is_some_and(|time| {
        let is_like = |(letter, like): (u8, u8)| if like == b'0' { letter.is_ascii_digit() } else { letter == like };
        time.len() == TIME.len() && time.bytes().zip(TIME.bytes()).all(is_like)
    })
}

/// How the time is written in a name.
const TIME: &str = "0000-00-00T000000Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_with_a_time_in_their_name_are_taken_for_backups_and_the_last_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "cognate-2026-11-25T233105Z",
            "cognate-2026-01-02T000000Z",
            "cognate-2025-12-31T235959Z",
            "cognate-2026-11-26T000000Z.unchecked",
            "cognate-monday",
            "cognate-2026-11-25",
            "photographs",
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("cognate-2024-01-01T000000Z"), "no folder").unwrap();
        let all = checked(folder.path()).unwrap();
        let names = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let expected = ["cognate-2025-12-31T235959Z", "cognate-2026-01-02T000000Z", "cognate-2026-11-25T233105Z"];
        assert_eq!(names(&all), expected);
        assert_eq!(names(&unchecked(folder.path()).unwrap()), ["cognate-2026-11-26T000000Z.unchecked"]);
        let keep = |number| NonZeroUsize::new(number).unwrap();
        assert_eq!(names(&old(&all, keep(2))), expected[..1]);
        assert!(old(&all, keep(3)).is_empty() && old(&all, keep(9)).is_empty());
        let held = locked(folder.path()).unwrap();
        assert!(locked(folder.path()).is_err());
        drop(held);
        locked(folder.path()).unwrap();
    }
}
