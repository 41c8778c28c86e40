//! The formats of a report: one list for the command line, the pages and the API.

use std::fs::File;
use std::io::{self, Seek as _, Write};

use cognate_result::report::{Order, Report};

use crate::lines::Lines;
use crate::{Error, Result, csv, html, json, loadfile, text, xlsx};

/// A format of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Tables for people.
    Text,
    /// One object, schema `cognate.report/1`.
    Json,
    /// One object a line.
    Ndjson,
    /// One row a member, for spreadsheets.
    Csv,
    /// A workbook whose clusters and sets fold.
    Xlsx,
    /// One page that needs nothing else: to mail, to keep, to print.
    Html,
    /// CSV for review platforms: one row a content, with group, principal, similarity, all sites and paths.
    Loadfile,
    /// The result itself, a database that can be queried.
    Sqlite,
}

impl Format {
    /// The formats that pages offer, those for people first.
    pub const OFFERED: [Format; 7] =
        [Format::Html, Format::Xlsx, Format::Csv, Format::Loadfile, Format::Json, Format::Ndjson, Format::Sqlite];

    /// Its name on a page.
    pub fn label(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "JSON",
            Format::Ndjson => "NDJSON",
            Format::Csv => "CSV",
            Format::Xlsx => "workbook",
            Format::Html => "web page",
            Format::Loadfile => "load file",
            Format::Sqlite => "SQLite",
        }
    }

    /// The end of its file's name, without the dot; unique among the formats.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
            Format::Xlsx => "xlsx",
            Format::Html => "html",
            Format::Loadfile => "load.csv",
            Format::Sqlite => "sqlite",
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; charset=utf-8",
            Format::Json => "application/json",
            Format::Ndjson => "application/x-ndjson",
            Format::Csv | Format::Loadfile => "text/csv; charset=utf-8",
            Format::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Format::Html => "text/html; charset=utf-8",
            Format::Sqlite => "application/vnd.sqlite3",
        }
    }

    /// Writes a report. `limit`: rows of each list in text; 0 for all.
    ///
    /// # Errors
    /// Fails if the result cannot be read, `out` fails, or the format cannot show a part of a result.
    pub fn write(self, report: &Report, limit: usize, out: &mut impl Write) -> Result<()> {
        report.in_order(self.order(), || self.write_in_order(report, limit, out))
    }

    /// The order of sites in a report.
    fn order(self) -> Order {
        match self {
            Format::Text | Format::Csv | Format::Xlsx | Format::Html => Order::Launch,
            Format::Json | Format::Ndjson | Format::Loadfile | Format::Sqlite => Order::Names,
        }
    }

    fn write_in_order(self, report: &Report, limit: usize, out: &mut impl Write) -> Result<()> {
        match self {
            Format::Text => {
                let mut lines = Lines::new(out);
                text::write(report, limit, None, &mut lines)?;
                Ok(lines.finish()?)
            }
            Format::Json => json::write(report, out),
            Format::Ndjson => json::write_lines(report, out),
            Format::Csv => csv::write(report, out),
            Format::Loadfile => loadfile::write(report, out),
            Format::Html => html::write(report, out),
            Format::Xlsx => through_file(out, |file| xlsx::write(report, file)),
            Format::Sqlite if report.is_part() => Err(Error::CompleteOnly(
                "--format sqlite writes the complete result: leave out --site, --verdict, --tag and --assignee, or use another format",
            )),
            Format::Sqlite => {
                let mut database = File::open(report.path())?;
                io::copy(&mut database, out)?;
                Ok(())
            }
        }
    }
}

/// Writes a report as text for a terminal of so many columns: tables and sentences fit in it.
///
/// # Errors
/// As [`Format::write`].
pub fn write_text(report: &Report, limit: usize, columns: usize, out: &mut impl Write) -> Result<()> {
    report.in_order(Format::Text.order(), || {
        let mut lines = Lines::within(columns, out);
        text::write(report, limit, Some(columns), &mut lines)?;
        Ok(lines.finish()?)
    })
}

/// Writes by way of a file: the threads that put a workbook together do not own `out`.
///
/// # Errors
/// Fails if no temporary file can be made, or `fill` or `out` fails.
pub fn through_file(out: &mut impl Write, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut file = tempfile::tempfile()?;
    fill(&mut file)?;
    file.rewind()?;
    io::copy(&mut file, out)?;
    Ok(())
}
