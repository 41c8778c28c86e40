//! New, changed and gone documents since an earlier scan.

use std::io::Write;

use cognate_proto::path::printable;
use cognate_result::report::{Change, Changes};

use crate::args::ReportFormat;
use crate::exit::usage;
use cognate_export::format::through_file;
use cognate_export::grid::{CsvRows, Rows};
use cognate_export::human::{bytes, count};
use cognate_export::lists::{CHANGES, change as cells};
use cognate_export::table::table;
use cognate_export::{html, xlsx};

const TITLE: &str = "New, changed and gone documents since the earlier scan";

/// Writes the differences between two results.
pub(super) fn write(changes: &Changes, format: ReportFormat, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    match format {
        ReportFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, changes)?;
            Ok(out.write_all(b"\n")?)
        }
        ReportFormat::Ndjson => lines(changes, out),
        ReportFormat::Text => text(changes, limit, out),
        ReportFormat::Csv => {
            let mut rows = CsvRows::new(&CHANGES, out)?;
            fill(changes, &mut rows)?;
            Ok(rows.finish()?)
        }
        ReportFormat::Xlsx => Ok(through_file(out, |file| {
            xlsx::write_list("Changes", TITLE, &CHANGES, |rows| fill(changes, rows), file)
        })?),
        ReportFormat::Html => {
            let note = "All of them: the same command with --format xlsx or csv.";
            Ok(html::write_list(TITLE, &CHANGES, note, |rows| fill(changes, rows), out)?)
        }
        ReportFormat::Loadfile | ReportFormat::Sqlite => {
            Err(usage("changes are text, json, ndjson, csv, xlsx or html"))
        }
    }
}

/// The three lists in their order.
fn all(changes: &Changes) -> impl Iterator<Item = (&'static str, &Change)> {
    let lists = [("new", &changes.new), ("changed", &changes.changed), ("gone", &changes.gone)];
    lists.into_iter().flat_map(|(what, list)| list.iter().map(move |change| (what, change)))
}

fn fill(changes: &Changes, rows: &mut dyn Rows) -> cognate_export::Result<()> {
    all(changes).try_for_each(|(what, change)| rows.row(cells(what, change)))
}

fn lines(changes: &Changes, out: &mut impl Write) -> anyhow::Result<()> {
    for (what, change) in all(changes) {
        let mut row = serde_json::to_value(change)?;
        row["type"] = what.into();
        serde_json::to_writer(&mut *out, &row)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn text(changes: &Changes, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    if changes.is_empty() {
        return Ok(writeln!(out, "Nothing is new, changed or gone.")?);
    }
    for (title, list) in [("NEW", &changes.new), ("CHANGED", &changes.changed), ("GONE", &changes.gone)] {
        if list.is_empty() {
            continue;
        }
        writeln!(out, "{title}: {}\n", count(list.len() as u64))?;
        let shown = if limit == 0 { list.len() } else { limit.min(list.len()) };
        writeln!(out, "{}", table(&["WHAT", " DOCUMENTS", " BYTES", "SITES", "FIRST"], list[..shown].iter().map(row)))?;
        if shown < list.len() {
            writeln!(out, "  … {} more; --limit 0 shows all", count((list.len() - shown) as u64))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn row(change: &Change) -> Vec<String> {
    vec![
        match (change.tier, &change.view) {
            (Some(tier), _) => tier.to_owned(),
            (None, Some(view)) => format!("{} ({view})", change.kind),
            (None, None) => change.kind.to_owned(),
        },
        count(change.documents),
        bytes(change.bytes),
        change.sites.join(", "),
        printable(change.first.as_bytes()).to_string(),
    ]
}
