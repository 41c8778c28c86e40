//! The report as JSON: one object, or one object a line. Lists are written as they are read.

use std::io::Write;

use cognate_coordinator::report::Report;
use serde::Serialize;

/// Writes the report as one object.
pub(super) fn write(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    Ok(report.write_json(out)?)
}

/// Writes the report as one object a line, each with its type.
pub(super) fn write_lines(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    let mut scan = report.scan()?;
    scan.digest = Some(report.digest()?);
    line(out, "scan", &scan)?;
    report.sites()?.iter().try_for_each(|site| line(out, "site", site))?;
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

fn line(out: &mut impl Write, r#type: &'static str, row: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, &Line { r#type, row })?;
    Ok(out.write_all(b"\n")?)
}
