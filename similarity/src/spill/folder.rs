//! The folder of an analysis's spill files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use super::lock;
use crate::error::Error;

/// Names of spill folders within one process differ by this number.
pub(super) static NEXT_FOLDER: AtomicU64 = AtomicU64::new(0);

/// The folder for spilled rows, made when first needed and removed when this value is dropped.
#[derive(Debug)]
pub struct SpillFolder {
    parent: PathBuf,
    folder: OnceLock<PathBuf>,
    making: Mutex<()>,
    written_bytes: AtomicU64,
}

impl SpillFolder {
    /// Names a folder of its own in `parent`; both are made at the first spill.
    pub fn new(parent: &Path) -> SpillFolder {
        SpillFolder {
            parent: parent.to_owned(),
            folder: OnceLock::new(),
            making: Mutex::new(()),
            written_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes written to spill files so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn add_written(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The folder, which is made if it is not there yet.
    pub(super) fn path(&self) -> Result<&Path, Error> {
        let _one_at_a_time = lock(&self.making);
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        fs::create_dir_all(&self.parent).map_err(Error::io("create", &self.parent))?;
        loop {
            let number = NEXT_FOLDER.fetch_add(1, Ordering::Relaxed);
            let folder = self.parent.join(format!("spill-{}-{number}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(self.folder.get_or_init(|| folder)),
                // An earlier process with this number may have left a folder; it is not ours to remove.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &folder)(error)),
            }
        }
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.get() {
            // A failure has no caller to report to; a leftover only takes disk space, and its name shows its origin.
            let _ = fs::remove_dir_all(folder);
        }
    }
}
