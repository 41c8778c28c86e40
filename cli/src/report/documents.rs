//! A list of documents with their statuses.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Error;
use cognate_proto::path::{DocumentPath, printable, unescaped};
use cognate_result::report::{DocumentFilter, DocumentSection, Order, RepeatedBytes, Report};

use crate::args::ReportFormat;
use crate::exit::usage;
use cognate_export::format::through_file;
use cognate_export::grid::{CsvRows, Rows};
use cognate_export::human::{bytes, count};
use cognate_export::lists::{DOCUMENTS, document as cells};
use cognate_export::table::table;
use cognate_export::{html, xlsx};

/// A list of documents.
pub(super) struct List {
    pub(super) filter: DocumentFilter,
    /// In the order of likeness, if there is a window; else in that of paths.
    pub(super) window_bytes: Option<u64>,
}

impl List {
    /// Writes the list.
    pub(super) fn write(&self, report: &Report, format: ReportFormat, out: &mut impl Write) -> anyhow::Result<()> {
        let order = match format {
            ReportFormat::Json | ReportFormat::Ndjson => Order::Names,
            _ => Order::Launch,
        };
        report.in_order(order, || self.write_in_order(report, format, out))
    }

    fn write_in_order(&self, report: &Report, format: ReportFormat, out: &mut impl Write) -> anyhow::Result<()> {
        let fill = |rows: &mut dyn Rows| {
            self.each::<cognate_export::Error>(report, |document| rows.row(cells(&document)))?;
            Ok(())
        };
        match format {
            ReportFormat::Text => self.text(report, out),
            ReportFormat::Json => self.json(report, out),
            ReportFormat::Ndjson => {
                self.each::<Error>(report, |document| {
                    serde_json::to_writer(&mut *out, &document)?;
                    Ok(out.write_all(b"\n")?)
                })?;
                Ok(())
            }
            ReportFormat::Csv => {
                let mut rows = CsvRows::new(&DOCUMENTS, out)?;
                fill(&mut rows)?;
                Ok(rows.finish()?)
            }
            ReportFormat::Xlsx => {
                Ok(through_file(out, |file| xlsx::write_list("Documents", &self.title(), &DOCUMENTS, fill, file))?)
            }
            ReportFormat::Html => {
                let note = "All of them: the same command with --format xlsx or csv.";
                Ok(html::write_list(&self.title(), &DOCUMENTS, note, fill, out)?)
            }
            ReportFormat::Loadfile | ReportFormat::Sqlite => Err(usage(
                "a list of documents is text, json, ndjson, csv, xlsx or html; the complete result is sqlite or loadfile",
            )),
        }
    }

    /// Writes the paths of the files, a zero byte after each. Documents inside of files are part of these.
    pub(super) fn write_paths(&self, report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
        let mut of_repository = None;
        let repeated = self.each::<Error>(report, |document| {
            let here = (document.site, document.repository);
            if *of_repository.get_or_insert_with(|| here.clone()) != here {
                return Err(usage("--print0 lists the paths of one repository: choose one with --in SITE"));
            }
            let path = match document.path_escaped == Some(true) {
                true => unescaped(&document.path),
                false => document.path.into_bytes(),
            };
            if DocumentPath::new(&path)?.file() == path {
                out.write_all(&path)?;
                out.write_all(b"\0")?;
            }
            Ok(())
        })?;
        if let Some(repeated) = repeated {
            tell!("{}", sentence(&repeated));
        }
        Ok(())
    }

    /// Hands over the documents in their order. Answers what comes again in it, if it is that of likeness.
    fn each<E: From<cognate_result::Error>>(
        &self,
        report: &Report,
        each: impl FnMut(DocumentSection) -> Result<(), E>,
    ) -> Result<Option<RepeatedBytes>, E> {
        match self.window_bytes {
            Some(window_bytes) => report.documents_by_likeness(&self.filter, window_bytes, each).map(Some),
            None => report.documents_where(&self.filter, each).map(|()| None),
        }
    }
}

/// A sentence with the bytes that come again in either order.
fn sentence(repeated: &RepeatedBytes) -> String {
    let RepeatedBytes { document_bytes, window_bytes, by_likeness, by_path, .. } = *repeated;
    format!(
        "In this order {} of {} come again within {}, in the order of paths {}.",
        bytes(by_likeness),
        bytes(document_bytes),
        window(window_bytes),
        bytes(by_path)
    )
}

/// A window as it is typed: most are a power of two.
fn window(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().iec().to_string()
}

impl List {
    /// The title of the list.
    fn title(&self) -> String {
        let filter = &self.filter;
        let order = if self.window_bytes.is_some() { ", like ones together" } else { "" };
        let what = match filter.statuses.as_slice() {
            [] => "Documents".to_owned(),
            statuses => format!("Documents that are {}", statuses.join(" or ")),
        };
        let site = filter.site.as_ref().map(|site| format!(", at {site}")).unwrap_or_default();
        let against = filter.against.as_ref().map(|site| format!(", compared with {site} alone")).unwrap_or_default();
        format!("{what}{site}{against}{order}")
    }

    fn text(&self, report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
        writeln!(out, "{}\n", self.title())?;
        let mut sums = BTreeMap::<String, (u64, u64)>::new();
        let repeated = self.each::<Error>(report, |document| {
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
        if let Some(repeated) = repeated {
            writeln!(out, "{}", sentence(&repeated))?;
        }
        Ok(())
    }

    fn json(&self, report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
        out.write_all(b"[")?;
        let mut begun = false;
        self.each::<Error>(report, |document| {
            out.write_all(if std::mem::replace(&mut begun, true) { b",\n" } else { b"\n" })?;
            Ok(serde_json::to_writer(&mut *out, &document)?)
        })?;
        Ok(out.write_all(b"]\n")?)
    }
}
