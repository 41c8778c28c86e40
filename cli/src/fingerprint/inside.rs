//! Fingerprints under a text view: a file's text, and the documents or passages inside it.

use std::fs::File;
use std::io;
use std::path::Path;

use cognate_fingerprint::View;
use cognate_proto::path::INSIDE;
use cognate_view::{JoinedLines, Outcome, Pool, each_passage};

use super::{Found, Machine, bytes_of, read};

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
    let mut parts = extraction?.parts();
    while let Some(part) = parts.next_part()? {
        let own = match part.name.as_str() {
            "" => bytes_of(path),
            name => [&bytes_of(path), INSIDE.as_bytes(), name.as_bytes()].concat(),
        };
        if part.name.is_empty() && view == View::Office && !part.kind.is_office() {
            found.clear();
            return Ok(());
        }
        let before = found.len();
        match view {
            View::Passages => {
                let mut number = 0;
                each_passage(&mut parts, |passage| {
                    number += 1;
                    let name = [&own, INSIDE.as_bytes(), format!("#{number}").as_bytes()].concat();
                    found.push((name, read(machine, &mut &*passage, keep_chunks)));
                    Ok::<(), io::Error>(())
                })?;
            }
            View::Raw | View::Text | View::Office => {
                let text_itself = read(machine, &mut JoinedLines(&mut parts), keep_chunks);
                found.push((own.clone(), text_itself));
            }
        }
        match parts.outcome()?.outcome {
            Outcome::Text | Outcome::Recognised => {}
            Outcome::NoText | Outcome::Container => found.truncate(before),
            Outcome::Pictures => {
                found.truncate(before);
                found.push((own, Err(io::Error::other("its pages are pictures"))));
            }
            Outcome::Unextractable(reason) => {
                found.truncate(before);
                found.push((own, Err(io::Error::other(format!("unextractable: {reason}")))));
            }
        }
    }
    Ok(())
}
