//! The report as JSON, one object, schema [`SCHEMA`]: for who has the result at hand and a program that asks. Lists are
//! written as they are read.

use std::io::{self, Write};

use serde::Serialize;

use super::{Report, SCHEMA};
use crate::error::Error;

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The result cannot be read.
    #[error(transparent)]
    Report(#[from] Error),
    /// What it is written to does not take it.
    #[error("the report cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl From<serde_json::Error> for WriteError {
    fn from(error: serde_json::Error) -> WriteError {
        WriteError::Io(error.into())
    }
}

impl Report {
    /// Writes the report as one object.
    ///
    /// # Errors
    /// When the result cannot be read, or `out` fails.
    pub fn write_json(&self, out: &mut impl Write) -> Result<(), WriteError> {
        let mut scan = self.scan()?;
        scan.digest = Some(self.digest()?);
        write!(out, "{{\"schema\":\"{SCHEMA}\",\n\"scan\":")?;
        serde_json::to_writer(&mut *out, &scan)?;
        write!(out, ",\n\"sites\":")?;
        serde_json::to_writer(&mut *out, &self.sites()?)?;
        let mut list = List::open(out, "identical")?;
        self.identical(|set| list.push(&set))?;
        list.close()?;
        let mut list = List::open(out, "clusters")?;
        self.clusters(|cluster| list.push(&cluster))?;
        list.close()?;
        let mut list = List::open(out, "folders")?;
        self.folders(|pair| list.push(&pair))?;
        list.close()?;
        write!(out, ",\n\"overlap\":")?;
        serde_json::to_writer(&mut *out, &self.overlap()?)?;
        if let Some(histogram) = self.histogram()? {
            write!(out, ",\n\"histogram\":")?;
            serde_json::to_writer(&mut *out, &histogram)?;
        }
        if let Some(histogram) = self.text_histogram()? {
            write!(out, ",\n\"text_histogram\":")?;
            serde_json::to_writer(&mut *out, &histogram)?;
        }
        let mut list = List::open(out, "set_aside")?;
        self.set_aside(|row| list.push(&row))?;
        list.close()?;
        let mut list = List::open(out, "unread")?;
        self.unread(|row| list.push(&row))?;
        list.close()?;
        writeln!(out, "}}")?;
        Ok(())
    }
}

/// A list within the object, one element a line.
struct List<'a, W: Write> {
    out: &'a mut W,
    begun: bool,
}

impl<'a, W: Write> List<'a, W> {
    fn open(out: &'a mut W, name: &str) -> Result<List<'a, W>, WriteError> {
        write!(out, ",\n\"{name}\":[")?;
        Ok(List { out, begun: false })
    }

    fn push(&mut self, row: &impl Serialize) -> Result<(), WriteError> {
        let separator: &[u8] = if std::mem::replace(&mut self.begun, true) { b",\n" } else { b"\n" };
        self.out.write_all(separator)?;
        Ok(serde_json::to_writer(&mut *self.out, row)?)
    }

    fn close(self) -> Result<(), WriteError> {
        Ok(self.out.write_all(b"]")?)
    }
}
