//! Fingerprints under a text view: a file's text, and the documents or passages inside it.

use std::fs::File;
use std::io;
use std::path::Path;

use cognate_fingerprint::View;
use cognate_query::{Machine, documents_inside};
use cognate_view::Pool;

use super::{Found, bytes_of, read};

/// Fingerprints the text that a reader of the file sees.
pub(super) fn fingerprint(
    pool: &Pool,
    machine: &mut Machine,
    view: View,
    path: &Path,
    keep_chunks: bool,
) -> Vec<Found> {
    let mut found = Vec::new();
    if let Err(error) = all_parts(pool, machine, view, path, keep_chunks, &mut found) {
        found.push((bytes_of(path), Err(error)));
    }
    found
}

fn all_parts(
    pool: &Pool,
    machine: &mut Machine,
    view: View,
    path: &Path,
    keep_chunks: bool,
    found: &mut Vec<Found>,
) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let file = File::open(path)?;
    let extraction = match view {
        View::Office => pool.extract_unless_archive(&file),
        _ => pool.extract(&file, &name),
    };
    let read = |mut text: &mut dyn io::Read| read(machine, &mut text, keep_chunks);
    documents_inside(extraction?.parts(), view, &bytes_of(path), read, found)
}
