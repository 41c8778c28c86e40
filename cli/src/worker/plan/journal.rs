//! The journal of a plan that is carried out: what was moved where, one JSON object a line, each on the disk before the step that
//! it announces. The quarantine folder holds it together with the documents: nothing else is needed to put them back.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde::{Deserialize, Serialize};

use crate::exit::usage;

/// The name of the schema.
const SCHEMA: &str = "cognate.plan-journal/1";
/// The name of the file in its folder.
pub(super) const NAME: &str = "journal.ndjson";
/// The greatest line, in bytes: two paths, escaped.
const LINE_BYTES_MAX: u64 = 1 << 16;

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
    pub(super) fn open(folder: &Path) -> anyhow::Result<(Journal, Vec<Entry>)> {
        let path: PathBuf = folder.join(NAME);
        let context = || format!("`{}` cannot be read", path.display());
        let file = OpenOptions::new().read(true).append(true).open(&path).with_context(context)?;
        let journal = Journal { file };
        journal.lock(&path)?;
        let mut source = BufReader::new(journal.file.try_clone().with_context(context)?);
        let (mut entries, mut complete_bytes) = (Vec::new(), 0);
        loop {
            let mut line = Vec::new();
            source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).with_context(context)?;
            // A line without an end was never finished: what it announces was not done.
            if line.last() != Some(&b'\n') {
                break;
            }
            let entry = serde_json::from_slice(&line).map_err(|error| {
                usage(format!("`{}` is not a journal: line {}: {error}", path.display(), entries.len() + 1))
            })?;
            entries.push(entry);
            complete_bytes += line.len() as u64;
        }
        // The next entry begins a line of its own.
        journal.file.set_len(complete_bytes).with_context(context)?;
        match entries.first() {
            Some(Entry::Begin { schema, .. }) if schema == SCHEMA => Ok((journal, entries)),
            _ => Err(usage(format!("`{}` is not a journal of a plan of this version", path.display()))),
        }
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
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
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
        assert_eq!(entries.len(), 2);
        journal.write(&Entry::Moved { number: 2 }).unwrap();
        drop(journal);
        assert_eq!(Journal::open(folder.path()).unwrap().1.len(), 3);
    }
}
