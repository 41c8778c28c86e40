//! Recognises files that Cognate wrote, by their content: only these are replaced without `--force`.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

/// Bytes that are read at the beginning and at the end of a file.
const LOOKED_AT_BYTES: u64 = 256 * 1024;
/// The name of an `SQLite` file of results, at this place of the file.
const APPLICATION_ID: (usize, &[u8]) = (68, b"Cogn");
/// Columns that the lists of no other program have.
const COLUMNS: [&str; 3] = ["path_escaped", "NearDupGroup", "index_digest"];
/// The beginnings of first lines of text.
const TEXTS: [&str; 7] = [
    "PARTIAL: some repositories are missing from this result.",
    "COARSE: ",
    "REFINED: ",
    "Nothing is new, changed or gone.",
    "NEW: ",
    "CHANGED: ",
    "GONE: ",
];

/// True if a file is empty, or is an output of Cognate.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn is_ours(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    (&mut file).take(LOOKED_AT_BYTES).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(true);
    }
    if head.starts_with(b"SQLite format 3\0") {
        let (place, name) = APPLICATION_ID;
        return Ok(head.get(place..place + name.len()) == Some(name));
    }
    if head.starts_with(b"PK\x03\x04") {
        return Ok(is_our_workbook(&file));
    }
    let length = file.metadata()?.len();
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT_BYTES)))?;
    file.read_to_end(&mut tail)?;
    // A piece may end in the middle of a letter.
    let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
    Ok(is_our_json(&head, &tail) || is_our_table(&head) || is_our_page(&head) || is_our_text(&head))
}

fn is_our_workbook(file: &File) -> bool {
    let properties = || -> Option<String> {
        let mut archive = zip::ZipArchive::new(file).ok()?;
        let mut text = String::new();
        archive.by_name("docProps/core.xml").ok()?.take(LOOKED_AT_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    };
    properties().is_some_and(|text| text.contains("<dc:creator>cognate</dc:creator>"))
}

/// Objects name their schema; of lines, the first has a type or the columns of a document.
fn is_our_json(head: &str, tail: &str) -> bool {
    if !head.starts_with('{') {
        return false;
    }
    let names_schema = |text: &str| {
        text.match_indices("\"schema\"").any(|(place, name)| {
            text[place + name.len()..]
                .trim_start()
                .strip_prefix(':')
                .is_some_and(|rest| rest.trim_start().starts_with("\"cognate."))
        })
    };
    let first: Option<Value> = head.lines().next().and_then(|line| serde_json::from_str(line).ok());
    let is_line = first.is_some_and(|row| {
        let has = |name: &str| row.get(name).is_some();
        let is_typed = has("type") && (has("digest") || has("precision") || has("hashes") || has("first"));
        is_typed || ["path", "repository", "site"].into_iter().all(has)
    });
    is_line || names_schema(head) || names_schema(tail)
}

fn is_our_table(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.split(',').any(|column| COLUMNS.contains(&column.trim_matches('"')))
}

fn is_our_page(head: &str) -> bool {
    head.starts_with("<!doctype html>")
        && ["<title>Cognate: ", "<title>Auditor&#x27;s report of scan", "<title>Auditor's report of scan"]
            .into_iter()
            .any(|title| head.contains(title))
}

/// A report begins with its table of sites, or with what is missing of it.
fn is_our_text(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let is_heading = matches!(words.as_slice(), ["SITE", "DOCUMENTS" | "PASSAGES", ..] | ["STATUS", "SITE", ..]);
    is_heading || TEXTS.into_iter().any(|text| first.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_not_taken_for_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let check = |content: &[u8], expected: bool| {
            std::fs::write(&path, content).unwrap();
            assert_eq!(is_ours(&path).unwrap(), expected, "{}", String::from_utf8_lossy(content));
        };
        for theirs in [
            &b"my notes"[..],
            b"{}",
            b"{\"schema\":\"other/1\"}",
            b"[{\"schema\":\"cognate.report/1\"}]",
            b"site,path\na,b\n",
            b"SITE  COUNT\n",
            b"<!doctype html><title>Holiday</title>",
            b"SQLite format 3\0 and so on",
            b"PK\x03\x04 and so on",
            b"%PDF-1.7 Cognate: ",
        ] {
            check(theirs, false);
        }
        for ours in [
            &b""[..],
            b"{\n  \"coarse\": [],\n  \"schema\": \"cognate.find/1\"\n}",
            b"{\"type\":\"scan\",\"digest\":\"00\"}\n",
            b"kind,id,path,path_escaped\r\n",
            b"  SITE  DOCUMENTS     BYTES\n",
        ] {
            check(ours, true);
        }
    }
}
