//! Looking through the state for damage: the journal's chain, every segment, run and result, and whether the store says
//! what they say.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cognate_similarity::Run;
use serde::Serialize;

use crate::error::Error;
use crate::indexes::{Replay, read_run};
use crate::journal::{self, Verified};
use crate::segment::{Next, RECORD_BYTES_MAX, SegmentReader};
use crate::store::{IndexId, IndexRow, ScanStep, Store};

/// Options of a check.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Read all that is stored and compute what can be computed from it, not only what says how it hangs together.
    pub read_data: bool,
}

/// Counts of checked files, and the findings.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Checked {
    /// Events of the journal.
    pub events: u64,
    /// Segments, with the batches in them.
    pub segments: u64,
    /// Batches in the segments.
    pub batches: u64,
    /// Runs.
    pub runs: u64,
    /// Results.
    pub results: u64,
    /// True if the store was checked: it is not while a coordinator has it open.
    pub store: bool,
    /// Problems, in the order of the check.
    pub findings: Vec<Finding>,
    /// What is not as it would be today, and no problem.
    pub notes: Vec<Finding>,
}

/// Something that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The file or folder.
    pub path: PathBuf,
    /// Description of the problem.
    pub problem: String,
    /// Advice to the operator.
    pub cure: String,
}

/// What the record says of a result.
#[derive(Clone, Copy, Debug)]
pub struct RecordedResult<'a> {
    /// The digest of its report.
    pub digest: &'a str,
    /// The digest of its file; empty for a result of a build that took none.
    pub file_digest: &'a [u8],
}

/// What is noticed about a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResultProblem {
    /// It is damaged.
    Damaged(String),
    /// Its file is the one that was published, and this build does not read the same report from it.
    OtherBuild(String),
}

/// Reads a result file and describes what is wrong with it, if anything: its structure, and its digests if they are given.
/// The floor that knows results supplies it.
pub type CheckResult = dyn Fn(&Path, Option<RecordedResult<'_>>) -> Option<ResultProblem>;

/// Looks through the state. Nothing is changed.
///
/// # Errors
/// Fails if something cannot be read at all; damage is no error but a finding.
pub fn check(state_dir: &Path, options: CheckOptions, check_result: &CheckResult) -> Result<Checked, Error> {
    let mut check = Check { state_dir, options, check_result, in_use: false, checked: Checked::default() };
    let journal = check.journal()?;
    let store = check.store(journal.as_ref())?;
    let rows = match &store {
        Some(store) => store.indexes()?.into_iter().collect(),
        None => HashMap::new(),
    };
    check.indexes(&rows, store.is_some())?;
    check.results(store.as_ref())?;
    Ok(check.checked)
}

struct Check<'a> {
    state_dir: &'a Path,
    options: CheckOptions,
    check_result: &'a CheckResult,
    /// True if a coordinator has the state open.
    in_use: bool,
    checked: Checked,
}

impl Check<'_> {
    fn found(&mut self, path: &Path, problem: impl ToString, cure: &str) {
        let finding = Finding { path: path.to_owned(), problem: problem.to_string(), cure: cure.to_owned() };
        self.checked.findings.push(finding);
    }

    /// The journal, where it can be read.
    fn journal(&mut self) -> Result<Option<Verified>, Error> {
        let path = self.state_dir.join("journal");
        if !path.try_exists().map_err(Error::state(&path))? {
            self.found(&path, "it is gone", "restore a backup: the registry is in it");
            return Ok(None);
        }
        match journal::read(&path, |_, _| Ok(())) {
            Ok(read) => {
                self.checked.events = read.events();
                if read.has_rest() {
                    let problem = format!("the last record, at byte {}, is incomplete", read.file_bytes());
                    self.found(&path, problem, "nothing: it was never answered for, and the next start cuts it off");
                }
                for (part, problem) in journal::check_kept(&path, read.past())? {
                    self.found(&part, problem, "take this file from a backup: only the audit log reads it");
                }
                Ok(Some(read))
            }
            Err(Error::Corrupt { path, detail }) => {
                self.found(&path, detail, "restore a backup: what comes after this place cannot be trusted");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn store(&mut self, journal: Option<&Verified>) -> Result<Option<Store>, Error> {
        let path = self.state_dir.join("store");
        let rebuilt = "nothing: it is rebuilt at the next start, or by `cognate coordinator rebuild`";
        if !path.join("db").try_exists().map_err(Error::state(&path))? {
            self.found(&path, "it is gone", rebuilt);
            return Ok(None);
        }
        let store = match Store::inspect(&path) {
            Ok(store) => store,
            Err(Error::Locked { .. }) => {
                self.in_use = true;
                return Ok(None);
            }
            Err(Error::Corrupt { path, detail }) => {
                self.found(&path, detail, rebuilt);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.checked.store = true;
        if let Some(read) = journal {
            let mut behind = 0_u64;
            let is_level = read.read_after(store.applied()?, |_, _| {
                behind += 1;
                Ok(())
            })?;
            if !is_level {
                self.found(&path, "it does not follow from the journal", rebuilt);
            } else if behind > 0 {
                let problem = format!("it lacks the last {behind} events of the journal");
                self.found(&path, problem, "nothing: the next start takes them");
            }
        }
        Ok(Some(store))
    }

    fn indexes(&mut self, rows: &HashMap<IndexId, IndexRow>, known: bool) -> Result<(), Error> {
        let folder = self.state_dir.join("indexes");
        let mut files = files(&folder)?;
        files.sort();
        for path in files {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let parts: Vec<&str> = name.split('.').collect();
            let row = parts[0].parse().ok().and_then(|id| rows.get(&IndexId(id)));
            match parts[..] {
                [_, "seg"] => self.segment(&path, row, known)?,
                [_, number, "run"] => {
                    let refers = |row: &IndexRow| row.runs.iter().any(|run| run.number.to_string() == number);
                    if !known || row.is_some_and(refers) {
                        self.run(&path)?;
                    }
                }
                [_, "damaged"] => {
                    let cure = "once the site has synced again, remove it";
                    self.found(&path, "a damaged segment that was set aside", cure);
                }
                _ => {}
            }
        }
        for (id, row) in rows {
            let path = folder.join(format!("{}.seg", id.0));
            if row.segment_bytes > 0 && !path.try_exists().map_err(Error::state(&path))? {
                self.found(&path, "it is gone", &sends_again(row.header.as_ref()));
            }
            for run in &row.runs {
                let path = folder.join(format!("{}.{}.run", id.0, run.number));
                if !path.try_exists().map_err(Error::state(&path))? {
                    self.found(&path, "it is gone", "nothing: it is rebuilt when it is needed");
                }
            }
        }
        Ok(())
    }

    fn segment(&mut self, path: &Path, row: Option<&IndexRow>, known: bool) -> Result<(), Error> {
        self.checked.segments += 1;
        let length = std::fs::metadata(path).map_err(Error::state(path))?.len();
        let mut reader = match SegmentReader::open(path) {
            Ok(reader) => reader,
            Err(Error::Corrupt { path, detail }) => {
                self.found(&path, detail, &sends_again(row.and_then(|row| row.header.as_ref())));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let header = reader.header().clone();
        let again = sends_again(Some(&header));
        // While a coordinator runs, an unfinished last record may be one that is just being written.
        let being_written = if self.in_use { RECORD_BYTES_MAX } else { 0 };
        let committed = row.map_or(length.saturating_sub(being_written), |row| row.segment_bytes);
        let mut replay = Replay::new(path, header.chunk_bytes_max);
        let mut batches = 0;
        loop {
            let at = reader.at();
            match reader.next()? {
                Next::Record(record) => {
                    batches += u64::from(record.kind == crate::segment::Kind::Batch);
                    if self.options.read_data {
                        match replay.take(&record, |_, _| {}) {
                            Err(Error::Corrupt { detail, .. }) => {
                                self.found(path, detail, &again);
                                break;
                            }
                            taken => taken?,
                        }
                    }
                }
                Next::End if at < committed => {
                    self.found(path, format!("it is cut short at byte {at}"), &again);
                    break;
                }
                // A record that is being written grows from its beginning: a whole one with wrong bytes is damaged.
                Next::Broken if at < committed || (self.in_use && !reader.ran_out()) => {
                    self.found(path, format!("a record does not match its checksum at byte {at}"), &again);
                    break;
                }
                Next::End | Next::Broken => break,
            }
        }
        self.checked.batches += batches;
        match row {
            None if known => {
                self.found(path, "the store does not know it", "nothing: the next start takes it over");
            }
            Some(row) if row.header.as_ref() != Some(&header) => {
                let cure = "nothing: run `cognate coordinator rebuild`";
                self.found(path, "the store says that it is another's", cure);
            }
            Some(row) if self.options.read_data && reader.at() == row.segment_bytes => {
                let same = replay.index.sequence() == row.committed_sequence
                    && replay.index.head()[..] == row.head[..]
                    && replay.seal.as_ref().map(|(sequence, _)| *sequence) == row.sealed.then_some(row.sealed_sequence);
                if !same {
                    let cure = "run `cognate coordinator rebuild`";
                    self.found(path, "the store says something else of its batches", cure);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn run(&mut self, path: &Path) -> Result<(), Error> {
        self.checked.runs += 1;
        let read = Run::open(path).map_err(Error::from).and_then(|run| match self.options.read_data {
            true => read_run(&run, |_| {}),
            false => Ok(()),
        });
        match read {
            Err(Error::Run(error)) => {
                self.found(path, error, "nothing: it is rebuilt from its segment when it is needed");
                Ok(())
            }
            read => read,
        }
    }

    fn results(&mut self, store: Option<&Store>) -> Result<(), Error> {
        let Some(store) = store else {
            for folder in files(&self.state_dir.join("scans"))? {
                let path = folder.join("result.sqlite");
                if path.try_exists().map_err(Error::state(&path))? {
                    self.result(&path, None);
                }
            }
            return Ok(());
        };
        for (id, row) in store.scans()? {
            let path = self.state_dir.join("scans").join(id.to_string()).join("result.sqlite");
            if row.step() != ScanStep::Published {
                continue;
            }
            if path.try_exists().map_err(Error::state(&path))? {
                self.result(&path, Some(RecordedResult { digest: &row.digest, file_digest: &row.file_digest }));
            } else {
                self.found(&path, "the result is gone", "restore a backup, or delete the scan and launch it again");
            }
        }
        Ok(())
    }

    fn result(&mut self, path: &Path, recorded: Option<RecordedResult<'_>>) {
        self.checked.results += 1;
        // The digest covers the complete report: reading it reads all data.
        let recorded = recorded.filter(|recorded| self.options.read_data && !recorded.digest.is_empty());
        match (self.check_result)(path, recorded) {
            None => {}
            Some(ResultProblem::Damaged(problem)) => {
                self.found(path, problem, "restore a backup, or delete the scan and launch it again");
            }
            Some(ResultProblem::OtherBuild(problem)) => self.checked.notes.push(Finding {
                path: path.to_owned(),
                problem,
                cure: "none is needed: nothing is damaged; launch the scan again for a result of this build".to_owned(),
            }),
        }
    }
}

fn sends_again(header: Option<&crate::segment::SegmentHeader>) -> String {
    match header {
        Some(header) => format!(
            "nothing: it is set aside when `{}/{}` is next synced, and the site sends it again",
            header.site, header.repository
        ),
        None => "nothing: it is set aside at the next start or sync, and the site sends it again".to_owned(),
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::state(folder)(error)),
        Ok(entries) => entries.map(|entry| Ok(entry.map_err(Error::state(folder))?.path())).collect(),
    }
}
