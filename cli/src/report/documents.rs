//! A list of documents with their statuses.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Error;
use cognate_proto::path::printable;
use cognate_result::report::{DocumentFilter, DocumentSection, Order, Report};

use crate::args::ReportFormat;
use crate::exit::usage;
use cognate_export::format::through_file;
use cognate_export::grid::{CsvRows, Rows};
use cognate_export::human::{bytes, count};
use cognate_export::lists::{DOCUMENTS, document as cells};
use cognate_export::table::table;
use cognate_export::{html, xlsx};

/// Writes the documents that a filter selects.
pub(super) fn write(
    report: &Report,
    filter: &DocumentFilter,
    format: ReportFormat,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let order = match format {
        ReportFormat::Json | ReportFormat::Ndjson => Order::Names,
        _ => Order::Launch,
    };
    report.in_order(order, || write_in_order(report, filter, format, out))
}

fn write_in_order(
    report: &Report,
    filter: &DocumentFilter,
    format: ReportFormat,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let fill = |rows: &mut dyn Rows| {
        report.documents_where::<cognate_export::Error>(filter, |document| rows.row(cells(&document)))
    };
    match format {
        ReportFormat::Text => text(report, filter, out),
        ReportFormat::Json => json(report, filter, out),
        ReportFormat::Ndjson => report.documents_where::<Error>(filter, |document| {
            serde_json::to_writer(&mut *out, &document)?;
            Ok(out.write_all(b"\n")?)
        }),
        ReportFormat::Csv => {
            let mut rows = CsvRows::new(&DOCUMENTS, out)?;
            fill(&mut rows)?;
            Ok(rows.finish()?)
        }
        ReportFormat::Xlsx => {
            Ok(through_file(out, |file| xlsx::write_list("Documents", &title(filter), &DOCUMENTS, fill, file))?)
        }
        ReportFormat::Html => {
            let note = "All of them: the same command with --format xlsx or csv.";
            Ok(html::write_list(&title(filter), &DOCUMENTS, note, fill, out)?)
        }
        ReportFormat::Loadfile | ReportFormat::Sqlite => Err(usage(
            "a list of documents is text, json, ndjson, csv, xlsx or html; the complete result is sqlite or loadfile",
        )),
    }
}

/// The title of the list.
fn title(filter: &DocumentFilter) -> String {
    let what = match filter.statuses.as_slice() {
        [] => "Documents".to_owned(),
        statuses => format!("Documents that are {}", statuses.join(" or ")),
    };
    let site = filter.site.as_ref().map(|site| format!(", at {site}")).unwrap_or_default();
    let against = filter.against.as_ref().map(|site| format!(", compared with {site} alone")).unwrap_or_default();
    format!("{what}{site}{against}")
}

fn text(report: &Report, filter: &DocumentFilter, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "{}\n", title(filter))?;
    let mut sums = BTreeMap::<String, (u64, u64)>::new();
    report.documents_where::<Error>(filter, |document| {
        let (documents, all_bytes) = sums.entry(document.status.clone()).or_default();
        *documents += 1;
        *all_bytes += document.size_bytes;
        let partner = document.partner.as_ref().map(|partner| {
            let path = printable(partner.path.as_bytes());
            format!("  ~ {}/{}: {path}", partner.site, partner.repository)
        });
        let DocumentSection { status, site, repository, path, size_bytes, .. } = &document;
        let path = printable(path.as_bytes());
        let partner = partner.unwrap_or_default();
        Ok(writeln!(out, "{status:<10} {:>10}  {site}/{repository}: {path}{partner}", bytes(*size_bytes))?)
    })?;
    let all = sums.values().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let rows = sums.iter().map(|(status, (documents, size))| vec![status.clone(), count(*documents), bytes(*size)]);
    if sums.len() > 1 {
        writeln!(out, "\n{}", table(&["STATUS", " DOCUMENTS", " BYTES"], rows))?;
    }
    writeln!(out, "\n{} documents, {}", count(all.0), bytes(all.1))?;
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
