//! What is new, changed and gone since an earlier scan.

use std::io::Write;

use cognate_coordinator::report::{Change, Changes};
use cognate_proto::path::printable;

use crate::args::ReportFormat;
use crate::exit::usage;
use crate::output::table::{bytes, count, table};

/// Writes what came between two results.
pub(super) fn write(changes: &Changes, format: ReportFormat, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    match format {
        ReportFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, changes)?;
            Ok(out.write_all(b"\n")?)
        }
        ReportFormat::Text => text(changes, limit, out),
        _ => Err(usage("what changed is written as text or json")),
    }
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
