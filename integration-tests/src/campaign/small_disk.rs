//! A disk that is soon full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Enough for a state, and little enough to be filled in no time.
const SIZE: &str = "96m";
const BALLAST: &str = "ballast";

/// A file system of its own for one folder. It goes with the value.
#[derive(Debug)]
pub(super) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Makes a folder that is a disk of its own; none where that is not allowed.
    pub(super) fn mount(folder: &Path) -> Option<SmallDisk> {
        std::fs::create_dir_all(folder).unwrap();
        let options = format!("size={SIZE},mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "cognate-test"]).arg(folder).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| SmallDisk { folder: folder.to_owned() })
    }

    /// Fills it to the last byte.
    pub(super) fn fill(&self) {
        let mut ballast = std::fs::File::create(self.folder.join(BALLAST)).unwrap();
        std::io::copy(&mut std::io::repeat(0), &mut ballast).unwrap_err();
    }

    /// Makes room again.
    pub(super) fn empty(&self) {
        let _ = std::fs::remove_file(self.folder.join(BALLAST));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Processes that still have files of it open end later.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).stderr(Stdio::null()).status();
    }
}
