//! The forms in which the coordinator's pages hand results out: the same that the command line writes.

use std::io::Write;

use cognate_coordinator::report::Report;
use cognate_coordinator::{Export, Exported};

use super::write_to;
use crate::args::ReportFormat;

/// All of them, those for people first.
pub(crate) const EXPORTS: &[Export] = &[
    Export { label: "web page", extension: "html", content_type: "text/html; charset=utf-8", write: html },
    Export {
        label: "workbook",
        extension: "xlsx",
        content_type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        write: xlsx,
    },
    Export { label: "CSV", extension: "csv", content_type: "text/csv; charset=utf-8", write: csv },
    Export { label: "load file", extension: "load.csv", content_type: "text/csv; charset=utf-8", write: loadfile },
    Export { label: "JSON", extension: "json", content_type: "application/json", write: json },
    Export { label: "NDJSON", extension: "ndjson", content_type: "application/x-ndjson", write: ndjson },
    Export { label: "SQLite", extension: "sqlite", content_type: "application/vnd.sqlite3", write: sqlite },
];

fn html(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Html, out)
}

fn xlsx(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Xlsx, out)
}

fn csv(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Csv, out)
}

fn loadfile(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Loadfile, out)
}

fn json(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Json, out)
}

fn ndjson(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Ndjson, out)
}

fn sqlite(report: &Report, out: &mut dyn Write) -> Exported {
    write(report, ReportFormat::Sqlite, out)
}

fn write(report: &Report, format: ReportFormat, mut out: &mut dyn Write) -> Exported {
    Ok(write_to(report, format, 0, &mut out)?)
}
