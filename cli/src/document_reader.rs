//! A document as a method reads it: the bytes of a file, or the text of one of the documents in it.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use cognate_fingerprint::{View, crlf_to_lf};
use cognate_proto::path::INSIDE;
use cognate_view::{JoinedLines, Outcome, Pool, each_passage};

use crate::extraction;

/// Most bytes of one document in memory.
const BYTES_MAX: u64 = 256 << 20;

/// Reads files like methods do.
pub(crate) struct DocumentReader {
    pool: Option<Pool>,
}

impl DocumentReader {
    /// Makes a reader without child processes; they start when a view needs them.
    pub(crate) fn new() -> DocumentReader {
        DocumentReader { pool: None }
    }

    /// The bytes that a method under this view reads: with LF where all lines end with CR LF; line ends of text become spaces, as for fingerprints.
    pub(crate) fn view(&mut self, file: &Path, inside: Option<&str>, view: View) -> anyhow::Result<Vec<u8>> {
        match view {
            View::Raw => {
                let mut read = bytes(file)?;
                let left = crlf_to_lf(&mut read);
                left.into_iter().for_each(|left| read.truncate(left));
                Ok(read)
            }
            View::Text | View::Passages | View::Office => {
                let text = self.text(file, inside, view)?;
                let mut joined = Vec::with_capacity(text.len());
                JoinedLines(text.as_slice()).read_to_end(&mut joined)?;
                Ok(joined)
            }
        }
    }

    /// The text that a reader sees, line by line.
    pub(crate) fn text(&mut self, file: &Path, inside: Option<&str>, view: View) -> anyhow::Result<Vec<u8>> {
        let context = || format!("`{}` cannot be read", file.display());
        let opened = open(file).with_context(context)?;
        let pool = match &self.pool {
            Some(pool) => pool,
            None => self.pool.insert(extraction::pool(NonZeroUsize::MIN)?),
        };
        let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let (part, passage) = wanted(inside, view);
        let mut parts = pool.extract(&opened, &name).with_context(context)?.parts();
        while let Some(found) = parts.next_part()? {
            if found.name != part {
                io::copy(&mut parts, &mut io::sink())?;
                parts.outcome()?;
                continue;
            }
            let mut text = Vec::new();
            match passage {
                None => drop((&mut parts).take(BYTES_MAX + 1).read_to_end(&mut text)?),
                Some(wanted) => {
                    let mut number = 0;
                    each_passage(&mut parts, |passage| {
                        number += 1;
                        if number == wanted {
                            text = passage.to_vec();
                        }
                        Ok::<(), io::Error>(())
                    })?;
                }
            }
            if u64::try_from(text.len()).unwrap_or(u64::MAX) > BYTES_MAX {
                return Err(too_large(file));
            }
            return match parts.outcome()?.outcome {
                Outcome::Text | Outcome::Recognised | Outcome::InPart(_) | Outcome::Container => Ok(text),
                Outcome::Pictures => Err(anyhow!("the pages of `{}` are pictures", file.display())),
                Outcome::NoText => Err(anyhow!("`{}` is of a type without text", file.display())),
                Outcome::Unextractable(reason) => {
                    Err(anyhow!("the text of `{}` cannot be read: {reason}", file.display()))
                }
            };
        }
        Err(anyhow!("`{}` has no `{part}` in it", file.display()))
    }
}

/// The bytes of a file.
pub(crate) fn bytes(file: &Path) -> anyhow::Result<Vec<u8>> {
    let context = || format!("`{}` cannot be read", file.display());
    let mut read = Vec::new();
    open(file).with_context(context)?.take(BYTES_MAX + 1).read_to_end(&mut read).with_context(context)?;
    if u64::try_from(read.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        return Err(too_large(file));
    }
    Ok(read)
}

fn too_large(file: &Path) -> anyhow::Error {
    anyhow!("`{}` is larger than {} MiB: too large to be compared on a page", file.display(), BYTES_MAX >> 20)
}

/// Opens a regular file; does not wait for pipes.
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// The member of a file, and the number of the passage in it.
fn wanted(inside: Option<&str>, view: View) -> (&str, Option<u64>) {
    let inside = inside.unwrap_or_default();
    if view != View::Passages {
        return (inside, None);
    }
    let (part, number) = match inside.strip_prefix('#') {
        Some(number) => ("", number),
        None => inside.rsplit_once(&format!("{INSIDE}#")).unwrap_or((inside, "")),
    };
    (part, number.parse().ok())
}

/// Splits the path of a document into the file and the member inside it.
pub(crate) fn split(path: &[u8]) -> (&[u8], Option<String>) {
    match path.windows(INSIDE.len()).position(|two| two == INSIDE.as_bytes()) {
        None => (path, None),
        Some(place) => (&path[..place], Some(String::from_utf8_lossy(&path[place + INSIDE.len()..]).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_file_a_member_and_a_passage() {
        assert_eq!(split(b"a/b.zip!/c/d.txt"), (&b"a/b.zip"[..], Some("c/d.txt".to_owned())));
        assert_eq!(split(b"plain"), (&b"plain"[..], None));
        assert_eq!(wanted(Some("c.txt!/#12"), View::Passages), ("c.txt", Some(12)));
        assert_eq!(wanted(Some("#3"), View::Passages), ("", Some(3)));
        assert_eq!(wanted(None, View::Text), ("", None));
    }
}
