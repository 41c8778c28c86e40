//! The canonical form of a report, and its digest, taken while the rows stream.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use super::{Report, SCHEMA, ScanSection};
use crate::error::Error;

impl Report {
    /// The digest of the report: BLAKE3 of its RFC 8785 form, less the scan's id, its run, and the digest itself. Equal
    /// inputs and options have equal digests, whatever happened on the way.
    pub fn digest(&self) -> Result<String, Error> {
        let mut hasher = blake3::Hasher::new();
        self.write_canonical(&mut hasher)?;
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Writes the form that the digest is taken of.
    fn write_canonical(&self, out: &mut impl std::io::Write) -> Result<(), Error> {
        let mut out = Canonical { out: std::io::BufWriter::new(out), path: &self.path };
        out.text("{\"clusters\":[");
        let mut list = List::default();
        self.clusters(|row| out.row(&mut list, &row))?;
        out.text("],\"folders\":[");
        list = List::default();
        self.folders(|row| out.row(&mut list, &row))?;
        out.text("],\"identical\":[");
        list = List::default();
        self.identical(|row| out.row(&mut list, &row))?;
        out.text("],\"overlap\":");
        out.value(&self.overlap()?)?;
        out.text(",\"scan\":");
        out.value(&ScanSection { id: None, run: None, digest: None, ..self.scan()? })?;
        out.text(",\"schema\":");
        out.value(&SCHEMA)?;
        out.text(",\"set_aside\":[],\"sites\":");
        out.value(&self.sites()?)?;
        out.text(",\"unread\":[");
        list = List::default();
        self.unread(|row| out.row(&mut list, &row))?;
        out.text("]}");
        out.out.flush().map_err(Error::state(&self.path))
    }
}

/// Whether a comma is due.
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
