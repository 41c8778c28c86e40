//! The journal of a plan that is carried out: what was moved where, one JSON object a line, each on the disk before the step that
//! it announces. The quarantine folder holds it together with the documents: nothing else is needed to put them back.
//!
//! Only the last line may be incomplete: the process ended while it wrote it. Any other line that cannot be read is damage. It is named,
//! the lines around it are used, and the file stays as it is.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cognate_proto::limits::PATH_BYTES_MAX;
use serde::{Deserialize, Serialize};

use crate::exit::usage;

/// The name of the schema.
const SCHEMA: &str = "cognate.plan-journal/1";
/// The name of the file in its folder.
pub(super) const NAME: &str = "journal.ndjson";
/// The longest line, in bytes. A path of [`PATH_BYTES_MAX`] bytes takes six times as many where all its characters are escaped, and
/// a line has four such paths and a stub, whose characters may be escaped once more; a plan may have paths of three times as many.
const LINE_BYTES_MAX: usize = 1 << 20;
const _: () = assert!(3 * 4 * 7 * PATH_BYTES_MAX + 2 * STUB_BYTES_MAX < LINE_BYTES_MAX);
/// The longest stub, in bytes.
pub(super) const STUB_BYTES_MAX: usize = 1 << 16;

/// A line of the journal.
#[derive(Clone, Serialize, Deserialize, Debug)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Entry {
    /// The first line.
    Begin { schema: String, site: String, scan: String, report_digest: String, time: String },
    /// A document will be moved.
    Move(Moving),
    /// It was moved, and its link or stub is in its place.
    Moved { number: u64 },
    /// It was put back.
    Undone { number: u64 },
}

/// A document that is moved.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(super) struct Moving {
    /// Its number, from 1.
    pub(super) number: u64,
    pub(super) repository: String,
    /// Its path in the repository, in hexadecimal digits: a path may hold anything.
    pub(super) path_hex: String,
    /// The same for people.
    pub(super) path: String,
    pub(super) size_bytes: u64,
    /// BLAKE3 of its bytes.
    pub(super) blake3: String,
    /// The place of the document that stays, for people.
    pub(super) kept: String,
    /// Bytes that no document which stays has for it.
    pub(super) lost_bytes: u64,
    /// The link or stub that replaces it.
    pub(super) leaves: Leaves,
}

/// The link or stub that replaces a document.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum Leaves {
    /// Nothing.
    Nothing,
    /// A symbolic link to the one that stays; in hexadecimal digits.
    Link(String),
    /// A small text file next to it that says where the one that stays is; its content.
    Stub(String),
}

impl Moving {
    /// The bytes of the path.
    pub(super) fn path_bytes(&self) -> anyhow::Result<Vec<u8>> {
        data_encoding::HEXLOWER
            .decode(self.path_hex.as_bytes())
            .map_err(|_| anyhow!("the journal has a path that is none"))
    }
}

/// An open journal. Nobody else writes to it.
pub(super) struct Journal {
    file: File,
}

/// The content of a journal.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) read: Vec<Entry>,
    /// The lines that cannot be read, each with its number and the reason.
    pub(super) damaged: Vec<String>,
}

impl Journal {
    /// Begins a journal in a new folder.
    pub(super) fn create(folder: &Path, begin: &Entry) -> anyhow::Result<Journal> {
        let path = folder.join(NAME);
        let context = || format!("`{}` cannot be written", path.display());
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path).with_context(context)?;
        let mut journal = Journal { file };
        journal.lock(&path)?;
        journal.write(begin)?;
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(context)?;
        Ok(journal)
    }

    /// Opens a journal, and reads its entries.
    pub(super) fn open(folder: &Path) -> anyhow::Result<(Journal, Entries)> {
        let path: PathBuf = folder.join(NAME);
        let context = || format!("`{}` cannot be read", path.display());
        // A folder may be from anybody: nothing is written through a link, or before the file has shown that it is a journal.
        let no_link = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).append(true).custom_flags(no_link.bits().cast_signed());
        let file = options.open(&path).with_context(context)?;
        let is_none = || usage(format!("`{}` is not a journal of a plan of this version", path.display()));
        if !file.metadata().with_context(context)?.is_file() {
            return Err(is_none());
        }
        let journal = Journal { file };
        journal.lock(&path)?;
        let mut source = BufReader::new(journal.file.try_clone().with_context(context)?);
        let mut entries = Entries { read: Vec::new(), damaged: Vec::new() };
        let (mut whole_bytes, mut is_torn, mut is_ended) = (0, false, true);
        for number in 1.. {
            let line = next_line(&mut source).with_context(context)?;
            match line.entry() {
                _ if line.length_bytes == 0 => break,
                Ok(Entry::Begin { schema, .. }) if schema != SCHEMA => return Err(is_none()),
                Ok(entry) => entries.read.push(entry),
                Err(_) if line.is_torn() => {
                    is_torn = true;
                    break;
                }
                Err(reason) => entries.damaged.push(format!("line {number} of `{}`: {reason}", path.display())),
            }
            whole_bytes += line.length_bytes;
            is_ended = line.is_ended;
        }
        if entries.read.is_empty() {
            return Err(is_none());
        }
        // The next entry begins a line of its own.
        if is_torn {
            // The step that the last line announces was not done.
            journal.file.set_len(whole_bytes).with_context(context)?;
        } else if !is_ended {
            (&journal.file).write_all(b"\n").with_context(context)?;
        }
        Ok((journal, entries))
    }

    fn lock(&self, path: &Path) -> anyhow::Result<()> {
        let how = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&self.file, how)
            .map_err(|_| usage(format!("`{}` is in use by another process: wait until it has ended", path.display())))
    }

    /// Writes an entry, and returns once it is on the disk.
    pub(super) fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        assert!(line.len() <= LINE_BYTES_MAX, "the parts of an entry have limits of their own");
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

/// A line of the file.
struct Line {
    /// Its bytes; of a line that is too long, the first ones.
    bytes: Vec<u8>,
    /// The length of all of it.
    length_bytes: u64,
    /// False for the last line if it was never finished.
    is_ended: bool,
}

impl Line {
    /// True for a line that the process may have been writing when it ended.
    fn is_torn(&self) -> bool {
        !self.is_ended && self.length_bytes <= LINE_BYTES_MAX as u64
    }

    fn entry(&self) -> Result<Entry, String> {
        if self.length_bytes > LINE_BYTES_MAX as u64 {
            return Err(format!("it is damaged: its {} bytes are more than any entry has", self.length_bytes));
        }
        serde_json::from_slice(&self.bytes).map_err(|error| format!("it is damaged: {error}"))
    }
}

/// Reads a line, of any length.
fn next_line(source: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Line { bytes: Vec::new(), length_bytes: 0, is_ended: false };
    while !line.is_ended {
        let held = source.fill_buf()?;
        if held.is_empty() {
            break;
        }
        let end = held.iter().position(|byte| *byte == b'\n').map(|place| place + 1);
        let length = end.unwrap_or(held.len());
        let room = (LINE_BYTES_MAX + 1).saturating_sub(line.bytes.len());
        line.bytes.extend_from_slice(&held[..length.min(room)]);
        line.length_bytes += length as u64;
        line.is_ended = end.is_some();
        source.consume(length);
    }
    Ok(line)
}

/// The first entry of a journal.
pub(super) fn begin(site: &str, scan: &str, report_digest: &str, time: String) -> Entry {
    let [site, scan, report_digest] = [site, scan, report_digest].map(str::to_owned);
    Entry::Begin { schema: SCHEMA.to_owned(), site, scan, report_digest, time }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_never_finished_is_removed_before_the_next_entry() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path(), &begin("a", "1f", "00", "now".to_owned())).unwrap();
        journal.write(&Entry::Moved { number: 1 }).unwrap();
        drop(journal);
        let path = folder.path().join(NAME);
        let torn = [&std::fs::read(&path).unwrap()[..], br#"{"moved":{"num"#].concat();
        std::fs::write(&path, torn).unwrap();
        let (mut journal, entries) = Journal::open(folder.path()).unwrap();
        assert_eq!((entries.read.len(), entries.damaged.len()), (2, 0));
        journal.write(&Entry::Moved { number: 2 }).unwrap();
        drop(journal);
        assert_eq!(Journal::open(folder.path()).unwrap().1.read.len(), 3);
    }

    #[test]
    fn a_last_line_that_lacks_only_its_end_counts_and_a_long_one_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        for (last, damaged) in [(r#"{"type":"moved","number":1}"#, 0), (&*long, 1)] {
            drop(Journal::create(folder.path(), &begin("a", "1f", "00", "now".to_owned())).unwrap());
            let whole = std::fs::read_to_string(&path).unwrap() + last;
            std::fs::write(&path, &whole).unwrap();
            let (mut journal, entries) = Journal::open(folder.path()).unwrap();
            assert_eq!((entries.read.len(), entries.damaged.len()), (2 - damaged, damaged));
            journal.write(&Entry::Undone { number: 1 }).unwrap();
            drop(journal);
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(&(whole + "\n")));
            assert_eq!(Journal::open(folder.path()).unwrap().1.read.len(), 3 - damaged);
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn damage_to_the_first_line_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path(), &begin("a", "1f", "00", "now".to_owned())).unwrap();
        journal.write(&Entry::Moved { number: 1 }).unwrap();
        drop(journal);
        let path = folder.path().join(NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("x{text}")).unwrap();
        let (_, entries) = Journal::open(folder.path()).unwrap();
        assert_eq!((entries.read.len(), entries.damaged.len()), (1, 1));
        std::fs::write(&path, text.replace("plan-journal/1", "plan-journal/2")).unwrap();
        assert!(Journal::open(folder.path()).is_err(), "another version");
    }

    #[test]
    fn a_file_that_is_no_journal_stays_as_it_is_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join(NAME), folder.path().join("other"));
        for content in ["a secret without an end", "a line\n", ""] {
            std::fs::write(&path, content).unwrap();
            assert!(Journal::open(folder.path()).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        std::fs::remove_file(&path).unwrap();
        drop(Journal::create(folder.path(), &begin("a", "1f", "00", "now".to_owned())).unwrap());
        std::fs::rename(&path, &other).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(Journal::open(folder.path()).is_err(), "a valid journal behind a link");
    }

    #[test]
    fn a_damaged_line_is_named_and_the_file_and_the_other_lines_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path(), &begin("a", "1f", "00", "now".to_owned())).unwrap();
        for number in 1..=3 {
            journal.write(&Entry::Moved { number }).unwrap();
        }
        drop(journal);
        let path = folder.path().join(NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        let long = format!("{{\"type\":\"moved\",\"number\":{}2}}", " ".repeat(LINE_BYTES_MAX));
        for (damage, reason) in [("xx", "expected value"), ("", "EOF"), (&*long, "bytes are more than any entry has")] {
            let mut lines: Vec<&str> = text.lines().collect();
            lines[2] = damage;
            let damaged = lines.join("\n") + "\n";
            std::fs::write(&path, &damaged).unwrap();
            let (_, entries) = Journal::open(folder.path()).unwrap();
            assert_eq!((entries.read.len(), entries.damaged.len()), (3, 1));
            assert!(entries.damaged[0].contains("line 3 of ") && entries.damaged[0].contains(reason), "{entries:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
        }
    }

    #[test]
    fn the_longest_entry_that_there_can_be_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path(), &begin("a", "1f", "00", "now".to_owned())).unwrap();
        let path = "\u{1}".repeat(PATH_BYTES_MAX);
        let printable = cognate_proto::path::printable(path.as_bytes()).into_owned();
        journal
            .write(&Entry::Move(Moving {
                number: u64::MAX,
                repository: "r".repeat(cognate_proto::limits::NAME_BYTES_MAX),
                path_hex: data_encoding::HEXLOWER.encode(path.as_bytes()),
                path: path.clone(),
                size_bytes: u64::MAX,
                blake3: "f".repeat(64),
                kept: printable,
                lost_bytes: u64::MAX,
                leaves: Leaves::Stub("\\".repeat(STUB_BYTES_MAX)),
            }))
            .unwrap();
        drop(journal);
        let (_, entries) = Journal::open(folder.path()).unwrap();
        let [_, Entry::Move(moving)] = &entries.read[..] else { panic!("{entries:?}") };
        assert_eq!((moving.path.as_str(), entries.damaged.len()), (path.as_str(), 0));
    }
}
