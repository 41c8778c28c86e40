//! A list of documents with what became of each.

use std::io::Write;

use anyhow::Error;
use cognate_coordinator::report::{DocumentFilter, DocumentSection, Report};
use cognate_proto::path::printable;

use crate::args::ReportFormat;
use crate::exit::usage;
use crate::output::table::{bytes, cell, count};

/// Writes the documents that a filter lets through.
pub(super) fn write(
    report: &Report,
    filter: &DocumentFilter,
    format: ReportFormat,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match format {
        ReportFormat::Text => text(report, filter, out),
        ReportFormat::Json => json(report, filter, out),
        ReportFormat::Ndjson => report.documents_where::<Error>(filter, |document| {
            serde_json::to_writer(&mut *out, &document)?;
            Ok(out.write_all(b"\n")?)
        }),
        ReportFormat::Csv => csv(report, filter, out),
        ReportFormat::Sqlite => {
            Err(usage("a list of documents is text, json, ndjson or csv; the whole result is sqlite"))
        }
    }
}

fn text(report: &Report, filter: &DocumentFilter, out: &mut impl Write) -> anyhow::Result<()> {
    let (mut documents, mut all_bytes) = (0, 0);
    report.documents_where::<Error>(filter, |document| {
        documents += 1;
        all_bytes += document.size_bytes;
        let partner = document.partner.as_ref().map(|partner| {
            let path = printable(partner.path.as_bytes());
            format!("  ~ {}/{}: {path}", partner.site, partner.repository)
        });
        let DocumentSection { status, site, repository, path, size_bytes, .. } = &document;
        let path = printable(path.as_bytes());
        let partner = partner.unwrap_or_default();
        Ok(writeln!(out, "{status:<10} {:>10}  {site}/{repository}: {path}{partner}", bytes(*size_bytes))?)
    })?;
    writeln!(out, "\n{} documents, {}", count(documents), bytes(all_bytes))?;
    Ok(())
}

fn json(report: &Report, filter: &DocumentFilter, out: &mut impl Write) -> anyhow::Result<()> {
    out.write_all(b"[")?;
    let mut begun = false;
    report.documents_where::<Error>(filter, |document| {
        out.write_all(if std::mem::replace(&mut begun, true) { b",\n" } else { b"\n" })?;
        Ok(serde_json::to_writer(&mut *out, &document)?)
    })?;
    Ok(out.write_all(b"]\n")?)
}

fn csv(report: &Report, filter: &DocumentFilter, out: &mut impl Write) -> anyhow::Result<()> {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    rows.write_record([
        "status",
        "site",
        "repository",
        "path",
        "path_escaped",
        "size_bytes",
        "modified",
        "content",
        "text_bytes",
        "text_content",
        "message_id_hash",
    ])?;
    report.documents_where::<Error>(filter, |document| {
        let escaped = if document.path_escaped.is_some() { "yes" } else { "" };
        let size = document.size_bytes.to_string();
        let text_size = document.text_bytes.map(|size| size.to_string()).unwrap_or_default();
        let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
        let (content, text_content) = (or_nothing(&document.content), or_nothing(&document.text_content));
        let message = or_nothing(&document.message_id_hash);
        let DocumentSection { status, site, repository, path, modified, .. } = &document;
        let path = cell(path);
        let cells = [status, site, repository, &path, escaped, &size, modified, &content, &text_size, &text_content];
        Ok(rows.write_record(cells.into_iter().chain([message.as_str()]))?)
    })?;
    Ok(rows.flush()?)
}
