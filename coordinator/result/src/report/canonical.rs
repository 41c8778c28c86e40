//! The canonical form of a report, and its digest, taken while the rows stream.

use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::sets::SetPiece;
use super::{ClusterSection, IdenticalSet, Order, Report, SCHEMA, ScanSection};
use crate::error::Error;

/// The buffer before the hash, which takes many blocks side by side.
const BUFFER_BYTES: usize = 1 << 16;

/// The lists of a report that may be long, in the order in which the digest takes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LongList {
    /// The clusters.
    Clusters,
    /// The pairs of folders.
    Folders,
    /// The identical sets.
    Identical,
    /// The tags that were set aside.
    SetAside,
    /// The documents that could not be read.
    Unread,
}

/// A row of a list, as the object that it is in a report as JSON.
#[derive(Clone, Copy, Debug)]
pub struct ListRow<'a> {
    /// The list.
    pub list: LongList,
    /// The object.
    pub bytes: &'a [u8],
}

impl Report {
    /// The digest of the report: BLAKE3 of its RFC 8785 form, less the scan's id, its run, the digest itself, verdicts and labels. Equal
    /// inputs and options have equal digests, whatever happened on the way.
    pub fn digest(&self) -> Result<String, Error> {
        self.digest_and_rows(|_| Ok(()))
    }

    /// The digest, and on the way every row of the long lists: list by list in their order, sites in the order of their names, each row
    /// as the object that it is in a report as JSON, with its verdict. Rows need not be read again to be written.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `each` fails.
    pub fn digest_and_rows<E: From<Error>>(
        &self,
        mut each: impl FnMut(ListRow<'_>) -> Result<(), E>,
    ) -> Result<String, E> {
        let mut hasher = blake3::Hasher::new();
        self.in_order(Order::Names, || self.write_canonical(&mut hasher, &mut each))?;
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Writes the form that the digest is taken of.
    fn write_canonical<E: From<Error>>(
        &self,
        out: &mut impl std::io::Write,
        each: &mut impl FnMut(ListRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = &self.path;
        let mut out = Canonical { out: std::io::BufWriter::with_capacity(BUFFER_BYTES, out), path };
        out.text("{");
        let aligned = self.alignment_rows()?;
        if !aligned.is_empty() {
            out.text("\"alignment\":");
            out.value(&aligned)?;
            out.text(",");
        }
        let changes = self.changes()?;
        if !changes.is_empty() {
            out.text("\"changes\":");
            out.value(&changes)?;
            out.text(",");
        }
        out.text("\"clusters\":[");
        let mut list = List::new(LongList::Clusters);
        for view in 0..self.views.len() {
            let read = |report: &Report, block: &Range<i64>| {
                let mut rows = Rows::default();
                report.clusters_in(view, block.clone(), |row| rows.cluster(row, path))?;
                Ok(rows)
            };
            self.in_pieces(&self.cluster_blocks(view)?, read, &mut |rows| out.rows(&mut list, &rows, each))?;
        }
        out.text("],\"folders\":[");
        list = List::new(LongList::Folders);
        self.folders(|row| out.row(&mut list, &row, each))?;
        out.text("]");
        if let Some(histogram) = self.histogram()? {
            out.text(",\"histogram\":");
            out.value(&histogram)?;
        }
        out.text(",\"identical\":[");
        list = List::new(LongList::Identical);
        let read = |report: &Report, piece: &SetPiece| {
            let mut rows = Rows::default();
            report.identical_in(piece, &mut |row| rows.identical(row, path))?;
            Ok(rows)
        };
        self.in_pieces(&self.identical_pieces()?, read, &mut |rows| out.rows(&mut list, &rows, each))?;
        self.loose_where("", &mut |row| {
            let mut rows = Rows::default();
            rows.identical(row, path)?;
            out.rows(&mut list, &rows, each)
        })?;
        out.text("],\"overlap\":");
        out.value(&self.overlap()?)?;
        out.text(",\"scan\":");
        out.value(&ScanSection { id: None, run: None, digest: None, samples: Vec::new(), ..self.scan()? })?;
        out.text(",\"schema\":");
        out.value(&SCHEMA)?;
        out.text(",\"set_aside\":[");
        list = List::new(LongList::SetAside);
        self.set_aside(|row| out.row(&mut list, &row, each))?;
        out.text("],\"sites\":");
        out.value(&self.sites()?)?;
        if let Some(histogram) = self.text_histogram()? {
            out.text(",\"text_histogram\":");
            out.value(&histogram)?;
        }
        out.text(",\"unread\":[");
        list = List::new(LongList::Unread);
        self.unread(|row| out.row(&mut list, &row, each))?;
        out.text("]}");
        Ok(out.out.flush().map_err(Error::state(path))?)
    }
}

/// The digest of a report that was written as JSON: what its `scan.digest` must be.
pub fn json_digest(report: &Value) -> String {
    let mut canonical = String::new();
    write_value(report, &[], &mut canonical);
    blake3::hash(canonical.as_bytes()).to_hex().to_string()
}

/// Fields that the digest of a report leaves out: they may differ between equal runs.
const LEFT_OUT: [&str; 3] = ["digest", "id", "run"];
/// And what people decided: where in the report, and the names of the fields.
const DECIDED: [(&[&str], &[&str]); 2] =
    [(&["clusters", "[]"], &["assignee", "tags", "verdict"]), (&["identical", "[]"], &["verdict"])];

fn write_value(value: &Value, place: &[&str], out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.retain(|(name, _)| place != ["scan"] || !LEFT_OUT.contains(&name.as_str()));
            let decided = DECIDED.iter().find(|(of, _)| *of == place).map_or(&[][..], |(_, names)| names);
            fields.retain(|(name, _)| !decided.contains(&name.as_str()));
            out.push('{');
            for (number, (name, field)) in fields.into_iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_value(field, &[place, &[name.as_str()]].concat(), out);
            }
            out.push('}');
        }
        Value::Array(rows) => {
            out.push('[');
            for (number, row) in rows.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                write_value(row, &[place, &["[]"]].concat(), out);
            }
            out.push(']');
        }
        simple => out.push_str(&simple.to_string()),
    }
}

/// A list, and whether a comma is due.
struct List {
    list: LongList,
    begun: bool,
}

impl List {
    fn new(list: LongList) -> List {
        List { list, begun: false }
    }
}

struct Canonical<'a, W: std::io::Write> {
    out: std::io::BufWriter<W>,
    path: &'a Path,
}

impl<W: std::io::Write> Canonical<'_, W> {
    fn text(&mut self, text: &str) {
        // The buffer keeps the first failure for the flush at the end.
        let _ = self.out.write_all(text.as_bytes());
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), Error> {
        let failed = |error: serde_json::Error| Error::state(self.path)(error.into());
        serde_json::to_writer(&mut self.out, value).map_err(failed)
    }

    /// Writes a row, and hands it over.
    fn row<E: From<Error>>(
        &mut self,
        list: &mut List,
        value: &impl Serialize,
        each: &mut impl FnMut(ListRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = Rows::default();
        rows.push(value, self.path)?;
        self.rows(list, &rows, each)
    }

    /// Writes rows, and hands them over.
    fn rows<E: From<Error>>(
        &mut self,
        list: &mut List,
        rows: &Rows,
        each: &mut impl FnMut(ListRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for row in &rows.rows {
            if std::mem::replace(&mut list.begun, true) {
                self.text(",");
            }
            self.out.write_all(&rows.bytes[row.canonical.clone()]).map_err(Error::state(self.path))?;
            each(ListRow { list: list.list, bytes: &rows.bytes[row.shown.clone()] })?;
        }
        Ok(())
    }
}

/// Rows as JSON, written by the thread that read them: so the work is shared, and what it allocates for a row does not go to another thread.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    rows: Vec<RowPlace>,
}

/// The places of a row.
struct RowPlace {
    /// The bytes that the digest takes.
    canonical: Range<usize>,
    /// The bytes that are handed over: the same, if nobody decided on the row.
    shown: Range<usize>,
}

impl Rows {
    fn push(&mut self, row: &impl Serialize, path: &Path) -> Result<(), Error> {
        let place = self.write(row, path)?;
        self.rows.push(RowPlace { canonical: place.clone(), shown: place });
        Ok(())
    }

    /// Adds a row on which somebody decided, without the decision and with it.
    fn push_decided(&mut self, bare: &impl Serialize, decided: &impl Serialize, path: &Path) -> Result<(), Error> {
        let canonical = self.write(bare, path)?;
        let shown = self.write(decided, path)?;
        self.rows.push(RowPlace { canonical, shown });
        Ok(())
    }

    fn write(&mut self, row: &impl Serialize, path: &Path) -> Result<Range<usize>, Error> {
        let start = self.bytes.len();
        serde_json::to_writer(&mut self.bytes, row).map_err(|error| Error::state(path)(error.into()))?;
        Ok(start..self.bytes.len())
    }

    fn cluster(&mut self, row: ClusterSection, path: &Path) -> Result<(), Error> {
        if row.verdict.is_none() && row.tags.is_empty() && row.assignee.is_empty() {
            return self.push(&row, path);
        }
        let bare = ClusterSection { verdict: None, tags: Vec::new(), assignee: String::new(), ..row.clone() };
        self.push_decided(&bare, &row, path)
    }

    fn identical(&mut self, row: IdenticalSet, path: &Path) -> Result<(), Error> {
        if row.verdict.is_none() {
            return self.push(&row, path);
        }
        let bare = IdenticalSet { verdict: None, ..row.clone() };
        self.push_decided(&bare, &row, path)
    }
}
