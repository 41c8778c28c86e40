//! The report as JSON: one object, or one object a line. Lists are written as they are read.

use std::io::Write;

use cognate_result::report::{Report, SCHEMA};
use serde::Serialize;

/// Writes the report as one object.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let mut scan = report.scan()?;
    scan.digest = Some(report.digest()?);
    write!(out, "{{\"schema\":\"{SCHEMA}\",\n\"scan\":")?;
    serde_json::to_writer(&mut *out, &scan)?;
    write!(out, ",\n\"sites\":")?;
    serde_json::to_writer(&mut *out, &report.sites()?)?;
    let aligned = report.alignment_rows()?;
    if !aligned.is_empty() {
        write!(out, ",\n\"alignment\":")?;
        serde_json::to_writer(&mut *out, &aligned)?;
    }
    let changes = report.changes()?;
    if !changes.is_empty() {
        write!(out, ",\n\"changes\":")?;
        serde_json::to_writer(&mut *out, &changes)?;
    }
    let mut list = List::open(out, "identical")?;
    report.identical(|set| list.push(&set))?;
    list.close()?;
    let mut list = List::open(out, "clusters")?;
    report.clusters(|cluster| list.push(&cluster))?;
    list.close()?;
    let mut list = List::open(out, "folders")?;
    report.folders(|pair| list.push(&pair))?;
    list.close()?;
    write!(out, ",\n\"overlap\":")?;
    serde_json::to_writer(&mut *out, &report.overlap()?)?;
    if let Some(histogram) = report.histogram()? {
        write!(out, ",\n\"histogram\":")?;
        serde_json::to_writer(&mut *out, &histogram)?;
    }
    if let Some(histogram) = report.text_histogram()? {
        write!(out, ",\n\"text_histogram\":")?;
        serde_json::to_writer(&mut *out, &histogram)?;
    }
    let mut list = List::open(out, "set_aside")?;
    report.set_aside(|row| list.push(&row))?;
    list.close()?;
    let mut list = List::open(out, "unread")?;
    report.unread(|row| list.push(&row))?;
    list.close()?;
    writeln!(out, "}}")?;
    Ok(())
}

/// Writes the report as one object a line, each with its type.
pub(super) fn write_lines(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let mut scan = report.scan()?;
    scan.digest = Some(report.digest()?);
    line(out, "scan", &scan)?;
    report.sites()?.iter().try_for_each(|site| line(out, "site", site))?;
    report.alignment_rows()?.iter().try_for_each(|row| line(out, "alignment", row))?;
    report.changes()?.iter().try_for_each(|row| line(out, "changes", row))?;
    report.overlap()?.iter().try_for_each(|row| line(out, "overlap", row))?;
    report.set_aside(|row| line(out, "set_aside", &row))?;
    report.histogram()?.iter().try_for_each(|row| line(out, "histogram", row))?;
    report.text_histogram()?.iter().try_for_each(|row| line(out, "histogram", row))?;
    report.identical(|set| line(out, "identical", &set))?;
    report.clusters(|cluster| line(out, "cluster", &cluster))?;
    report.folders(|pair| line(out, "folder", &pair))?;
    report.documents(|document| line(out, "document", &document))?;
    report.unread(|row| line(out, "unread", &row))
}

#[derive(Serialize)]
struct Line<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    row: &'a T,
}

fn line(out: &mut impl Write, r#type: &'static str, row: &impl Serialize) -> crate::Result<()> {
    serde_json::to_writer(&mut *out, &Line { r#type, row })?;
    Ok(out.write_all(b"\n")?)
}

/// A list within the object, one element a line.
struct List<'a, W: Write> {
    out: &'a mut W,
    begun: bool,
}

impl<'a, W: Write> List<'a, W> {
    fn open(out: &'a mut W, name: &str) -> crate::Result<List<'a, W>> {
        write!(out, ",\n\"{name}\":[")?;
        Ok(List { out, begun: false })
    }

    fn push(&mut self, row: &impl Serialize) -> crate::Result<()> {
        let separator: &[u8] = if std::mem::replace(&mut self.begun, true) { b",\n" } else { b"\n" };
        self.out.write_all(separator)?;
        Ok(serde_json::to_writer(&mut *self.out, row)?)
    }

    fn close(self) -> crate::Result<()> {
        Ok(self.out.write_all(b"]")?)
    }
}
