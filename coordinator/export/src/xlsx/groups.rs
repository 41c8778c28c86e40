//! The sheets whose rows fold: clusters as Figure 5 of the report of 2005 shows them, identical sets as its Figure 6.

use crate::Error;
use cognate_result::report::{ClusterSection, IdenticalSet, Report};

use super::{Book, Look, Sheet};
use crate::grid::Kind::{Bytes, Count, Share, Text, Time};
use crate::grid::{Cell, Column, column};
use crate::human::{bytes, count};
use crate::representative::{linked_with_representative, name, sites};

const CLUSTERS: [Column; 19] = [
    column("number", "Cluster #", Text, 11),
    column("total_bytes", "Total size", Bytes, 12),
    column("files", "# Files", Count, 8),
    column("links", "Links", Count, 8),
    column("type", "Type", Text, 13),
    column("similar", "% Similar", Share, 10),
    column("size", "File size", Bytes, 12),
    column("name", "Filename", Text, 34),
    column("path", "Path", Text, 50),
    column("site", "Site", Text, 12),
    column("repository", "Repository", Text, 12),
    column("within", "% in repre-sentative", Share, 11),
    column("holds", "% of repre-sentative", Share, 11),
    column("shared", "In common", Bytes, 12),
    column("modified", "Modified", Time, 19),
    column("copies", "Copies", Count, 8),
    column("sites", "All sites", Text, 20),
    column("view", "View", Text, 7),
    column("id", "Cluster id, or identical set", Text, 34),
];

/// The sheet of clusters.
pub(super) fn clusters(report: &Report, book: &mut Book) -> crate::Result<()> {
    let totals = report.cluster_totals()?;
    let title = format!(
        "B. Clusters of related files: {} clusters, {} files, {}",
        count(totals.clusters),
        count(totals.contents),
        bytes(totals.bytes),
    );
    let mut sheet = book.folding_list("Clusters", &title, &CLUSTERS, totals.clusters + totals.contents)?;
    let mut number = 0;
    report.clusters::<Error>(|cluster| {
        number += 1;
        write_cluster(&mut sheet, number, &cluster)
    })?;
    sheet.finish()
}

fn write_cluster(sheet: &mut Sheet<'_>, number: u64, cluster: &ClusterSection) -> crate::Result<()> {
    sheet.reserve(cluster.documents.len() + 1)?;
    let mut head = vec![Cell::None; CLUSTERS.len()];
    head[0] = number.into();
    head[1] = cluster.total_bytes.into();
    head[2] = (cluster.documents.len() as u64).into();
    head[3] = cluster.link_count.into();
    head[4] = cluster.relation.as_str().into();
    head[5] = Cell::share(cluster.mean_resemblance);
    head[15] = cluster.documents.iter().map(|member| member.copies).sum::<u64>().into();
    head[16] = sites(cluster).into();
    head[17] = cluster.view.as_deref().into();
    head[18] = cluster.id.as_str().into();
    sheet.push(&head, Look::Group)?;
    let links = linked_with_representative(cluster);
    for (place, member) in cluster.documents.iter().enumerate() {
        let linked = links.get(&place);
        let is_representative = place == cluster.representative;
        let role = if is_representative { Some("representative") } else { linked.map(|linked| linked.relation) };
        sheet.push(
            &[
                number.into(),
                Cell::None,
                Cell::None,
                Cell::None,
                role.into(),
                linked.and_then(|linked| linked.resemblance).map_or(Cell::None, Cell::Share),
                member.size_bytes.into(),
                name(&member.path).into(),
                member.path.as_str().into(),
                member.site.as_str().into(),
                member.repository.as_str().into(),
                linked.and_then(|linked| linked.within).map_or(Cell::None, Cell::Share),
                linked.and_then(|linked| linked.holds).map_or(Cell::None, Cell::Share),
                linked.map(|linked| linked.shared_bytes).into(),
                member.modified.as_str().into(),
                member.copies.into(),
                member.sites.join(", ").into(),
                Cell::None,
                member.identical.as_deref().into(),
            ],
            Look::Member,
        )?;
    }
    Ok(())
}

const IDENTICAL: [Column; 11] = [
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
            ],
            if first { Look::Group } else { Look::Member },
        )?;
    }
    Ok(())
}
