//! State of a comparison: a folder of the user, or a temporary one.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cognate_proto::name::SiteName;

/// File that marks a folder as a state of `cognate compare`, and its content.
const MARKER: &str = "cognate-state";
const MARKER_TEXT: &str = "cognate compare state 1\n";

/// An open state folder.
pub(super) struct State {
    path: PathBuf,
    durable: bool,
    /// Lock that keeps a second process out of the folder; released with this value.
    _lock: Option<File>,
    _temporary: Option<tempfile::TempDir>,
}

impl State {
    /// Opens the user's folder, or makes a temporary one.
    pub(super) fn open(folder: Option<&Path>) -> anyhow::Result<State> {
        let Some(path) = folder else {
            let temporary = tempfile::Builder::new().prefix("cognate-").tempdir();
            let temporary = temporary.context("no temporary folder can be made")?;
            let path = temporary.path().to_owned();
            return Ok(State { path, durable: false, _lock: None, _temporary: Some(temporary) });
        };
        let context = || format!("the state folder `{}` cannot be used", path.display());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(context)?;
        let lock = claim(path).with_context(context)?;
        Ok(State { path: path.to_owned(), durable: true, _lock: Some(lock), _temporary: None })
    }

    /// Path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// True if the folder outlives this process.
    pub(super) fn is_durable(&self) -> bool {
        self.durable
    }

    pub(super) fn coordinator(&self) -> PathBuf {
        self.path.join("coordinator")
    }

    /// Moves the coordinator's part out of the way, and returns its new path.
    pub(super) fn move_coordinator_aside(&self) -> anyhow::Result<PathBuf> {
        let aside = (1..=10_000)
            .map(|number| self.path.join(format!("coordinator.damaged-{number}")))
            .find(|path| matches!(path.try_exists(), Ok(false)))
            .context("too many damaged states were moved aside: remove some")?;
        std::fs::rename(self.coordinator(), &aside)
            .with_context(|| format!("`{}` cannot be moved aside", self.coordinator().display()))?;
        Ok(aside)
    }

    pub(super) fn site(&self, site: &SiteName) -> PathBuf {
        self.path.join("sites").join(site.as_str())
    }
}

/// Checks that the folder is a state of ours, and locks it.
fn claim(path: &Path) -> anyhow::Result<File> {
    let marker = path.join(MARKER);
    let mut file = match File::options().read(true).write(true).open(&marker) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if std::fs::read_dir(path)?.next().is_some() {
                return Err(anyhow!("it is not empty and holds no state of Cognate: name another folder"));
            }
            File::options().read(true).write(true).create(true).truncate(false).open(&marker)?
        }
        Err(error) => return Err(error.into()),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(anyhow!("another process is using it")),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    let mut text = String::new();
    let readable = file.read_to_string(&mut text);
    match (readable, text.as_str()) {
        (Ok(_), MARKER_TEXT) => {}
        // Made just now, by this process or by one that stopped before it wrote the marker.
        (Ok(_), "") => {
            file.write_all(MARKER_TEXT.as_bytes())?;
            file.sync_all()?;
        }
        _ => return Err(anyhow!("it was made by another version of Cognate: name another folder")),
    }
    Ok(file)
}
