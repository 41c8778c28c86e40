//! The part of a corpus that a small run takes, copied into a folder, since the comparison reads folders.

use std::fs;
use std::path::Path;

use crate::corpus::{entries, name_number};
use crate::error::Error;

/// The greatest number of documents and of bytes, about.
const DOCUMENTS_MAX: usize = 4000;
const BYTES_MAX: usize = 40 << 20;

/// A folder with the documents whose names are chosen, so that versions of a document are taken together or not at all.
pub(super) fn copied(corpus: &Path) -> Result<tempfile::TempDir, Error> {
    let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
    let entries = entries(corpus)?;
    let bytes: usize = entries.iter().map(|entry| entry.size_bytes).sum();
    let every = entries.len().div_ceil(DOCUMENTS_MAX).max(bytes.div_ceil(BYTES_MAX)).max(1);
    for entry in entries.iter().filter(|entry| name_number(&entry.path).is_multiple_of(every as u64)) {
        let path = folder.path().join(entry.path.strip_prefix(corpus).unwrap_or(&entry.path));
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(Error::io("create the folder", parent))?;
        fs::copy(&entry.path, &path).map_err(Error::io("copy", &entry.path))?;
    }
    Ok(folder)
}
