//! What processes use, as the system counts it.

use std::fmt;
use std::path::Path;

use crate::sandbox::names;

/// What a process uses, or several together.
#[derive(Clone, Copy, Default, Debug)]
pub struct Use {
    /// Memory that is resident, in bytes.
    pub memory_bytes: u64,
    /// The most memory that one of the processes ever had resident, in bytes.
    pub peak_bytes: u64,
    /// Descriptors.
    pub open_files: u64,
    /// Bytes of the files of its state.
    pub disk_bytes: u64,
}

impl Use {
    /// What a process with this state uses now; nothing where it has ended.
    pub fn of(id: i32, state: &Path) -> Use {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let bytes = |key: &str| {
            let kibibytes = |line: &str| line.strip_prefix(key)?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok();
            status.lines().find_map(kibibytes).unwrap_or_default() << 10
        };
        let open_files = std::fs::read_dir(format!("/proc/{id}/fd")).map_or(0, |entries| entries.count() as u64);
        Use { memory_bytes: bytes("VmRSS:"), peak_bytes: bytes("VmHWM:"), open_files, disk_bytes: disk_bytes(state) }
    }

    /// Adds what another uses.
    pub fn add(&mut self, other: &Use) {
        self.memory_bytes += other.memory_bytes;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.open_files += other.open_files;
        self.disk_bytes += other.disk_bytes;
    }
}

/// The bytes that the files of a folder take on the disk. Files may go meanwhile.
fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let size = |path: &std::path::PathBuf| match std::fs::symlink_metadata(path) {
        Ok(entry) if entry.is_dir() => disk_bytes(path),
        Ok(entry) => entry.blocks() * 512,
        Err(_) => 0,
    };
    names(folder).iter().map(size).sum()
}

/// Everything at one moment.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sample {
    /// Seconds since the beginning.
    pub seconds: u64,
    /// The coordinator.
    pub coordinator: Use,
    /// All workers together.
    pub workers: Use,
    /// Scans so far.
    pub scans: u64,
    /// Of them, those that were held against a comparison.
    pub compared: u64,
    /// Documents of the last scan.
    pub documents: u64,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        write!(
            f,
            "{:>5} s  {:>4} scans ({} compared) of {} documents",
            self.seconds, self.scans, self.compared, self.documents
        )?;
        for (name, used) in [("coordinator", &self.coordinator), ("workers", &self.workers)] {
            let [memory, peak, disk] = [used.memory_bytes, used.peak_bytes, used.disk_bytes].map(megabytes);
            write!(
                f,
                "  {name}: {memory:.1} MB, one at most {peak:.1}, {} files, {disk:.1} MB on disk",
                used.open_files
            )?;
        }
        Ok(())
    }
}
