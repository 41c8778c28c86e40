//! The sheets whose rows fold: clusters as Figure 5 of the report of 2005 shows them, identical sets as its Figure 6.

use crate::Error;
use cognate_result::report::{ClusterSection, IdenticalSet, Report};

use super::{Book, Look, Sheet};
use crate::clusters::{Cluster, Export, Layout};
use crate::grid::Kind::{Bytes, Count, Text, Time};
use crate::grid::{Cell, Column, column};
use crate::human::{bytes, count};
use crate::representative::name;

/// The sheet of clusters.
pub(super) fn clusters(report: &Report, book: &mut Book) -> crate::Result<()> {
    let totals = report.cluster_totals()?;
    let title = format!(
        "B. Clusters of related files: {} clusters, {} files, {}",
        count(totals.clusters),
        count(totals.contents),
        bytes(totals.bytes),
    );
    let layout = Layout::of(Export::Sheet);
    let mut sheet = book.folding_list("Clusters", &title, &layout.columns, totals.clusters + totals.contents)?;
    let mut number = 0;
    report.clusters::<Error>(|cluster| {
        number += 1;
        write_cluster(&mut sheet, &layout, number, &cluster)
    })?;
    sheet.finish()
}

fn write_cluster(sheet: &mut Sheet<'_>, layout: &Layout, number: u64, section: &ClusterSection) -> crate::Result<()> {
    sheet.reserve(section.documents.len() + 1)?;
    let cluster = Cluster::new(number, section);
    sheet.push(&layout.cluster(&cluster), Look::Group)?;
    (0..section.documents.len()).try_for_each(|place| sheet.push(&layout.member(&cluster.member(place)), Look::Member))
}

const IDENTICAL: [Column; 12] = [
    column("number", "Set #", Text, 8),
    column("files", "# Files", Count, 8),
    column("overhead", "Overhead bytes", Bytes, 15),
    column("size", "File size", Bytes, 12),
    column("name", "Filename", Text, 34),
    column("path", "Path", Text, 50),
    column("site", "Site", Text, 12),
    column("repository", "Repository", Text, 12),
    column("modified", "Modified", Time, 19),
    column("same", "Same", Text, 13),
    column("id", "Set id", Text, 34),
    column("recognised", "Recognised text", Text, 16),
];

/// The sheet of identical sets.
pub(super) fn identical(report: &Report, book: &mut Book) -> crate::Result<()> {
    let totals = report.identical_totals()?;
    let title = format!(
        "A. Identical files: {} sets, {} overhead",
        count(totals.iter().map(|tier| tier.sets).sum()),
        bytes(totals.iter().map(|tier| tier.wasted_bytes).sum()),
    );
    let mut sheet = book.folding_list("Identical", &title, &IDENTICAL, report.identical_documents()?)?;
    let mut number = 0;
    report.identical::<Error>(|set| {
        number += 1;
        write_set(&mut sheet, number, &set)
    })?;
    sheet.finish()
}

fn write_set(sheet: &mut Sheet<'_>, number: u64, set: &IdenticalSet) -> crate::Result<()> {
    sheet.reserve(set.documents.len())?;
    for (place, document) in set.documents.iter().enumerate() {
        let first = place == 0;
        // Copies of a text or message have sizes of their own, and no one size is wasted.
        let overhead = set.size_bytes.map(|size| size * (set.documents.len() as u64 - 1));
        let of_set = |cell: Cell| if first { cell } else { Cell::None };
        sheet.push(
            &[
                number.into(),
                of_set((set.documents.len() as u64).into()),
                of_set(overhead.into()),
                document.size_bytes.or(set.size_bytes).into(),
                name(&document.path).into(),
                document.path.as_str().into(),
                document.site.as_str().into(),
                document.repository.as_str().into(),
                document.modified.as_str().into(),
                of_set(set.tier.into()),
                of_set(set.id.as_str().into()),
                Cell::yes(document.recognised.is_some()),
            ],
            if first { Look::Group } else { Look::Member },
        )?;
    }
    Ok(())
}
