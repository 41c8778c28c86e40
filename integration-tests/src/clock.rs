//! Clocks of processes that a test can move while they run, by `libfaketime` (Debian: `faketime`).
//!
//! Only the time of day moves. Waits go by the clock that counts from the start of the machine, and the times of files are those of
//! the file system: as with a machine whose clock is set.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The places of the library, by distribution.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// The clocks of some processes, each with a file that says how far it is from the true time.
#[derive(Debug)]
pub struct Clocks {
    library: &'static Path,
    folder: PathBuf,
}

impl Clocks {
    /// Clocks with their files in this folder; none where the library is not installed.
    pub fn new(folder: &Path) -> Option<Clocks> {
        let library = LIBRARIES.iter().map(Path::new).find(|path| path.is_file())?;
        Some(Clocks { library, folder: folder.to_owned() })
    }

    fn file(&self, process: &str) -> PathBuf {
        self.folder.join(format!("clock-{process}"))
    }

    /// Moves the clock of a process to so many seconds from the true time. It follows within a second.
    pub fn set(&self, process: &str, seconds: i64) {
        // In one step: a process that reads half of a number would have another time.
        let next = self.folder.join("clock.next");
        std::fs::write(&next, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(&next, self.file(process)).unwrap();
    }

    /// Lets a command have the clock of this process.
    pub fn apply(&self, process: &str, command: &mut Command) {
        if !self.file(process).is_file() {
            self.set(process, 0);
        }
        command
            .env("LD_PRELOAD", self.library)
            .env("FAKETIME_TIMESTAMP_FILE", self.file(process))
            .env("FAKETIME_CACHE_DURATION", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
            .env("NO_FAKE_STAT", "1");
    }
}
