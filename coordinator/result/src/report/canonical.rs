//! The canonical form of a report, and its digest, taken while the rows stream.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{ClusterSection, IdenticalSet, Order, Report, SCHEMA, ScanSection};
use crate::error::Error;

/// The buffer before the hash, which takes many blocks side by side, and the longest part of a row.
const BUFFER_BYTES: usize = 1 << 16;
/// Nearly all rows are no longer.
const ROW_BYTES: usize = 1 << 12;

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

/// A part of a row of a list: of most rows, all.
#[derive(Clone, Copy, Debug)]
pub struct RowPart<'a> {
    /// The list.
    pub list: LongList,
    /// True if the row begins here.
    pub begins: bool,
    /// The next bytes of the row, which is an object of JSON.
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
        mut each: impl FnMut(RowPart<'_>) -> Result<(), E>,
    ) -> Result<String, E> {
        let mut hasher = blake3::Hasher::new();
        self.in_order(Order::Names, || self.write_canonical(&mut hasher, &mut each))?;
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Writes the form that the digest is taken of.
    fn write_canonical<E: From<Error>>(
        &self,
        out: &mut impl std::io::Write,
        each: &mut impl FnMut(RowPart<'_>) -> Result<(), E>,
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
        self.clusters(|mut row| {
            let (verdict, tags) = (row.verdict.take(), std::mem::take(&mut row.tags));
            let assignee = std::mem::take(&mut row.assignee);
            if verdict.is_none() && tags.is_empty() && assignee.is_empty() {
                return out.row(&mut list, &row, each);
            }
            out.row(&mut list, &row, &mut |_| Ok::<(), E>(()))?;
            parts(LongList::Clusters, &ClusterSection { verdict, tags, assignee, ..row }, path, each)
        })?;
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
        self.identical(|mut row| match row.verdict.take() {
            None => out.row(&mut list, &row, each),
            verdict => {
                out.row(&mut list, &row, &mut |_| Ok::<(), E>(()))?;
                parts(LongList::Identical, &IdenticalSet { verdict, ..row }, path, each)
            }
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
        each: &mut impl FnMut(RowPart<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::replace(&mut list.begun, true) {
            self.text(",");
        }
        let (out, path) = (&mut self.out, self.path);
        parts(list.list, value, path, &mut |part: RowPart<'_>| {
            out.write_all(part.bytes).map_err(Error::state(path))?;
            each(part)
        })
    }
}

/// Hands a row over, part by part: a cluster may be long.
fn parts<E: From<Error>>(
    list: LongList,
    value: &impl Serialize,
    path: &Path,
    each: &mut impl FnMut(RowPart<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = Parts { list, begins: true, bytes: Vec::with_capacity(ROW_BYTES), each, failure: None };
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => out.hand_over(),
        Err(error) => Err(out.failure.take().unwrap_or_else(|| Error::state(path)(error.into()).into())),
    }
}

struct Parts<'a, F, E> {
    list: LongList,
    begins: bool,
    bytes: Vec<u8>,
    each: &'a mut F,
    failure: Option<E>,
}

impl<F: FnMut(RowPart<'_>) -> Result<(), E>, E> Parts<'_, F, E> {
    fn hand_over(&mut self) -> Result<(), E> {
        let begins = std::mem::replace(&mut self.begins, false);
        (self.each)(RowPart { list: self.list, begins, bytes: &self.bytes })?;
        self.bytes.clear();
        Ok(())
    }
}

impl<F: FnMut(RowPart<'_>) -> Result<(), E>, E> std::io::Write for Parts<'_, F, E> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > BUFFER_BYTES
            && let Err(failure) = self.hand_over()
        {
            self.failure = Some(failure);
            return Err(std::io::ErrorKind::Other.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_row_is_handed_over_in_parts_and_the_first_failure_ends_it() {
        let row: Vec<String> = (0..3).map(|_| "x".repeat(BUFFER_BYTES / 2)).collect();
        let mut taken: Vec<(bool, Vec<u8>)> = Vec::new();
        let mut take = |part: RowPart<'_>| {
            taken.push((part.begins, part.bytes.to_owned()));
            Ok::<(), Error>(())
        };
        parts(LongList::Unread, &row, Path::new("result"), &mut take).unwrap();
        assert!(taken.len() > 1);
        assert!(
            taken
                .iter()
                .enumerate()
                .all(|(place, (begins, bytes))| { *begins == (place == 0) && bytes.len() <= BUFFER_BYTES })
        );
        let all: Vec<u8> = taken.into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(all, serde_json::to_vec(&row).unwrap());
        let mut fail = |_: RowPart<'_>| Err::<(), _>(Error::Invalid("no room".to_owned()));
        let failure = parts(LongList::Unread, &row, Path::new("result"), &mut fail).unwrap_err();
        assert!(matches!(failure, Error::Invalid(why) if why == "no room"));
    }
}
