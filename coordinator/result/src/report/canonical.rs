//! The canonical form of a report, and its digest, taken while the rows stream.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{ClusterSection, IdenticalSet, Order, Report, SCHEMA, ScanSection};
use crate::error::Error;

impl Report {
    /// The digest of the report: BLAKE3 of its RFC 8785 form, less the scan's id, its run, the digest itself, and verdicts. Equal
    /// inputs and options have equal digests, whatever happened on the way.
    pub fn digest(&self) -> Result<String, Error> {
        let mut hasher = blake3::Hasher::new();
        self.in_order(Order::Names, || self.write_canonical(&mut hasher))?;
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Writes the form that the digest is taken of.
    fn write_canonical(&self, out: &mut impl std::io::Write) -> Result<(), Error> {
        let mut out = Canonical { out: std::io::BufWriter::new(out), path: &self.path };
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
        let mut list = List::default();
        self.clusters(|row| out.row(&mut list, &ClusterSection { verdict: None, ..row }))?;
        out.text("],\"folders\":[");
        list = List::default();
        self.folders(|row| out.row(&mut list, &row))?;
        out.text("]");
        if let Some(histogram) = self.histogram()? {
            out.text(",\"histogram\":");
            out.value(&histogram)?;
        }
        out.text(",\"identical\":[");
        list = List::default();
        self.identical(|row| out.row(&mut list, &IdenticalSet { verdict: None, ..row }))?;
        out.text("],\"overlap\":");
        out.value(&self.overlap()?)?;
        out.text(",\"scan\":");
        out.value(&ScanSection { id: None, run: None, digest: None, ..self.scan()? })?;
        out.text(",\"schema\":");
        out.value(&SCHEMA)?;
        out.text(",\"set_aside\":[");
        list = List::default();
        self.set_aside(|row| out.row(&mut list, &row))?;
        out.text("],\"sites\":");
        out.value(&self.sites()?)?;
        if let Some(histogram) = self.text_histogram()? {
            out.text(",\"text_histogram\":");
            out.value(&histogram)?;
        }
        out.text(",\"unread\":[");
        list = List::default();
        self.unread(|row| out.row(&mut list, &row))?;
        out.text("]}");
        out.out.flush().map_err(Error::state(&self.path))
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
/// And what people decided: where in the report, and the name of the field.
const DECIDED: ([&[&str]; 2], &str) = ([&["clusters", "[]"], &["identical", "[]"]], "verdict");

fn write_value(value: &Value, place: &[&str], out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.retain(|(name, _)| place != ["scan"] || !LEFT_OUT.contains(&name.as_str()));
            fields.retain(|(name, _)| name.as_str() != DECIDED.1 || !DECIDED.0.contains(&place));
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

/// True if a comma is due.
#[derive(Default)]
struct List {
    begun: bool,
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

    fn row(&mut self, list: &mut List, value: &impl Serialize) -> Result<(), Error> {
        if std::mem::replace(&mut list.begun, true) {
            self.text(",");
        }
        self.value(value)
    }
}
