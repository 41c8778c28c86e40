//! Opening the database of the cache: locks, damage, and the version of its rows.

use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use cognate_durable::closing::Closing;

use super::rows::{Family, Key, Value as _};
use crate::error::SiteError;

/// The version of the rows. A cache of another version is refused.
pub(super) const SCHEMA: u32 = 1;
/// Memory that sled may use for the cache.
const MEMORY_BYTES: u64 = 32 << 20;

/// The trees of the cache, one per family.
pub(super) struct Trees {
    pub(super) documents: sled::Tree,
    pub(super) inside: sled::Tree,
    pub(super) texts: sled::Tree,
    pub(super) repositories: sled::Tree,
    pub(super) settings: sled::Tree,
    pub(super) db: Closing<sled::Db>,
}

enum OpenError {
    Locked,
    Refused(io::Error),
    Damaged(String),
}

/// Opens the database in a folder. A damaged one is moved aside, with a warning, and an empty one takes its place.
pub(super) fn open(folder: &Path) -> Result<Closing<Trees>, SiteError> {
    let locked = || SiteError::Locked { path: folder.to_owned(), pid: None };
    let trees = match open_trees(folder) {
        Ok(trees) => trees,
        Err(OpenError::Locked) => return Err(locked()),
        Err(OpenError::Refused(source)) => return Err(SiteError::State { path: folder.to_owned(), source }),
        Err(OpenError::Damaged(reason)) => {
            let aside = move_aside(folder)?;
            tracing::warn!(
                reason,
                aside = %aside.display(),
                "the cache is damaged and was moved aside; documents will be read again"
            );
            open_trees(folder).map_err(|_| locked())?
        }
    };
    check_schema(&trees, folder)?;
    Ok(trees)
}

fn check_schema(trees: &Trees, folder: &Path) -> Result<(), SiteError> {
    let key = Key::Schema.to_bytes();
    let Some(value) = trees.settings.get(&key).ok().flatten() else {
        drop(trees.settings.insert(key, SCHEMA.to_bytes()));
        return Ok(());
    };
    match u32::from_bytes(&value).unwrap_or(u32::MAX) {
        SCHEMA => Ok(()),
        found => Err(SiteError::OtherVersion { path: folder.to_owned(), found, known: SCHEMA }),
    }
}

/// Opens sled. Damage shows as an error or as a panic inside sled; both have the same meaning.
fn open_trees(folder: &Path) -> Result<Closing<Trees>, OpenError> {
    let config = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).mode(sled::Mode::LowSpace);
    let opened = std::panic::catch_unwind(AssertUnwindSafe(|| -> sled::Result<Closing<Trees>> {
        let db = Closing::new(config.open()?);
        Ok(Closing::new(Trees {
            documents: db.open_tree(Family::Documents.tree())?,
            inside: db.open_tree(Family::Inside.tree())?,
            texts: db.open_tree(Family::Texts.tree())?,
            repositories: db.open_tree(Family::Repositories.tree())?,
            settings: db.open_tree(Family::Settings.tree())?,
            db,
        }))
    }));
    match opened {
        Ok(Ok(trees)) => Ok(trees),
        Ok(Err(sled::Error::Io(error))) if error.to_string().contains("lock") => Err(OpenError::Locked),
        // An error of the operating system (disk full, no permission, too many open files) is no damage.
        Ok(Err(sled::Error::Io(error))) if error.raw_os_error().is_some() => Err(OpenError::Refused(error)),
        Ok(Err(error)) => Err(OpenError::Damaged(error.to_string())),
        Err(_) => Err(OpenError::Damaged("sled panicked while it opened".to_owned())),
    }
}

fn move_aside(folder: &Path) -> Result<PathBuf, SiteError> {
    let candidates = (1..).map(|number| folder.with_extension(format!("damaged-{number}")));
    let is_free = |path: &PathBuf| matches!(path.try_exists(), Ok(false));
    let aside = candidates.take(10_000).find(is_free).unwrap_or_else(|| folder.with_extension("damaged"));
    let failed = |source| SiteError::State { path: folder.to_owned(), source };
    std::fs::rename(folder, &aside).map_err(failed)?;
    Ok(aside)
}
