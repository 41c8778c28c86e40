//! Folders whose files have numbers as names. Later files have greater numbers.
//!
//! A number is never given to two files. Rows of the cache refer to files by number, and a loss of power may take a file and leave
//! the row: another file under its number would be taken for it.

use std::io;
use std::path::Path;

use cognate_durable::whole::{PRIVATE, write_whole};

/// The extension of the file next to the folder, with the first number that no process has had. It is not in the folder, so that who
/// removes all files does not begin to count again.
const NEXT_EXTENSION: &str = "next";
/// Numbers that a process takes for itself: more than it can use.
const NUMBERS: u64 = 1 << 32;
/// A number that no process comes to by counting.
const FAR: u64 = 1 << 62;

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

/// The first of the numbers that this process may use. No process has had them, also where a loss of power took its files.
pub(super) fn first_number(folder: &Path) -> io::Result<u64> {
    let path = folder.with_extension(NEXT_EXTENSION);
    let reserved = match std::fs::read_to_string(&path) {
        // Of a damaged file only this is known, that no process has come so far.
        Ok(text) => text.trim().parse().unwrap_or(FAR),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 1,
        Err(error) => return Err(error),
    };
    let after_last = numbered_files(folder)?.last().map_or(1, |(last, _)| last + 1);
    let first = after_last.max(reserved);
    write_whole(&path, format!("{}\n", first.saturating_add(NUMBERS)).as_bytes(), PRIVATE)?;
    Ok(first)
}
