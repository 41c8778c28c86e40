//! The report as CSV: one row for each member of an identical set or a cluster. The columns are in
//! `clusters.rs`, and described in `docs/report.md`.

use std::io::Write;

use crate::Error;
use cognate_result::report::Report;

use crate::clusters::{Cluster, Export, Layout};
use crate::grid::{CsvRows, Rows as _};

/// Writes the report.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let layout = Layout::of(Export::Csv);
    let mut rows = CsvRows::new(&layout.columns, out)?;
    report
        .identical::<Error>(|set| set.documents.iter().try_for_each(|document| rows.row(layout.set(&set, document))))?;
    report.clusters::<Error>(|section| {
        let cluster = Cluster::new(0, &section);
        (0..section.documents.len()).try_for_each(|place| rows.row(layout.flat(&cluster.member(place))))
    })?;
    rows.finish()
}
