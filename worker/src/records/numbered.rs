//! Folders whose files have numbers as names. Later files have greater numbers.

use std::io;
use std::path::Path;

/// The numbered files of a folder, ascending, with their sizes in bytes. Files with other names are ignored.
pub(super) fn numbered_files(folder: &Path) -> io::Result<Vec<(u64, u64)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            files.push((number, entry.metadata()?.len()));
        }
    }
    files.sort_unstable();
    Ok(files)
}
