//! Folders whose files are called by numbers, those begun later by greater ones.

use std::io;
use std::path::Path;

/// The files there are, ascending, with their sizes in bytes. What is called otherwise is left alone.
pub(crate) fn numbered_files(folder: &Path) -> io::Result<Vec<(u64, u64)>> {
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
