//! The report as CSV: one row for each member of an identical set or a cluster. The columns are described in
//! `docs/report.md`.

use std::io::Write;

use crate::Error;
use cognate_result::report::{ClusterSection, IdenticalSet, Ratio, Report};

use crate::grid::{Cell, Column, CsvRows, Rows as _, hidden};
use crate::representative::{linked_with_representative, redundant_bytes};

/// New ones come at the end.
const COLUMNS: [Column; 31] = [
    hidden("kind"),
    hidden("id"),
    hidden("relation"),
    hidden("site"),
    hidden("repository"),
    hidden("path"),
    hidden("path_escaped"),
    hidden("size_bytes"),
    hidden("payload_bytes"),
    hidden("modified"),
    hidden("copies"),
    hidden("identical"),
    hidden("representative"),
    hidden("resemblance"),
    hidden("in_representative"),
    hidden("view"),
    hidden("message_id_hash"),
    hidden("estimated"),
    hidden("representative_in"),
    hidden("shared_bytes"),
    hidden("relation_to_representative"),
    hidden("sites"),
    hidden("members"),
    hidden("links"),
    hidden("total_bytes"),
    hidden("redundant_bytes"),
    hidden("min_resemblance"),
    hidden("mean_resemblance"),
    hidden("members_digest"),
    hidden("verdict"),
    hidden("verdict_changed"),
];

/// Writes the report.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let mut rows = CsvRows::new(&COLUMNS, out)?;
    report.identical::<Error>(|set| write_set(&mut rows, &set))?;
    report.clusters::<Error>(|cluster| write_cluster(&mut rows, &cluster))?;
    rows.finish()
}

fn write_set(rows: &mut CsvRows<impl Write>, set: &IdenticalSet) -> crate::Result<()> {
    let copies = set.documents.len() as u64;
    let mut sites: Vec<&str> = set.documents.iter().map(|document| document.site.as_str()).collect();
    sites.dedup();
    let sites = sites.join(" ");
    for document in &set.documents {
        rows.row(vec![
            "identical".into(),
            set.id.as_str().into(),
            set.tier.into(),
            document.site.as_str().into(),
            document.repository.as_str().into(),
            document.path.as_str().into(),
            Cell::yes(document.path_escaped.is_some()),
            document.size_bytes.or(set.size_bytes).into(),
            Cell::None,
            document.modified.as_str().into(),
            copies.into(),
            set.id.as_str().into(),
            Cell::None,
            1.into(),
            1.into(),
            set.view.as_deref().into(),
            document.message_id_hash.as_deref().into(),
            Cell::None,
            1.into(),
            document.size_bytes.or(set.size_bytes).into(),
            "identical".into(),
            sites.as_str().into(),
            copies.into(),
            Cell::None,
            set.size_bytes.into(),
            set.size_bytes.map(|size| size * (copies - 1)).into(),
            Cell::None,
            Cell::None,
            Cell::None,
            set.verdict.as_ref().map(|verdict| verdict.verdict).into(),
            set.verdict.as_ref().and_then(|verdict| verdict.changed.as_deref()).into(),
        ])?;
    }
    Ok(())
}

fn write_cluster(rows: &mut CsvRows<impl Write>, cluster: &ClusterSection) -> crate::Result<()> {
    let linked = linked_with_representative(cluster);
    for (place, document) in cluster.documents.iter().enumerate() {
        let is_representative = place == cluster.representative;
        let link = linked.get(&place);
        // The representative is all of itself; what is not linked with it has nothing to say.
        let share = |of: Option<Ratio>| match is_representative {
            true => Cell::from(1),
            false => of.map_or(Cell::None, Cell::Share),
        };
        rows.row(vec![
            "cluster".into(),
            cluster.id.as_str().into(),
            cluster.relation.as_str().into(),
            document.site.as_str().into(),
            document.repository.as_str().into(),
            document.path.as_str().into(),
            Cell::yes(document.path_escaped.is_some()),
            document.size_bytes.into(),
            document.payload_bytes.into(),
            document.modified.as_str().into(),
            document.copies.into(),
            document.identical.as_deref().into(),
            Cell::yes(is_representative),
            share(link.and_then(|link| link.resemblance)),
            share(link.and_then(|link| link.within)),
            cluster.view.as_deref().into(),
            document.message_id_hash.as_deref().into(),
            Cell::yes(link.is_some_and(|link| link.estimated)),
            share(link.and_then(|link| link.holds)),
            link.map(|link| link.shared_bytes).into(),
            link.map(|link| link.relation).into(),
            document.sites.join(" ").into(),
            (cluster.documents.len() as u64).into(),
            cluster.link_count.into(),
            cluster.total_bytes.into(),
            redundant_bytes(cluster).into(),
            Cell::share(cluster.min_resemblance),
            Cell::share(cluster.mean_resemblance),
            cluster.members_digest.as_str().into(),
            cluster.verdict.as_ref().map(|verdict| verdict.verdict).into(),
            cluster.verdict.as_ref().and_then(|verdict| verdict.changed.as_deref()).into(),
        ])?;
    }
    Ok(())
}
