//! The report as CSV: one row for each member of an identical set or a cluster. The columns are described in
//! `docs/report.md`.

use std::collections::HashMap;
use std::io::Write;

use cognate_coordinator::report::{ClusterSection, IdenticalSet, LinkRow, Ratio, Report};

use super::table::cell;

const COLUMNS: [&str; 18] = [
    "kind",
    "id",
    "relation",
    "site",
    "repository",
    "path",
    "path_escaped",
    "size_bytes",
    "payload_bytes",
    "modified",
    "copies",
    "identical",
    "representative",
    "resemblance",
    "in_representative",
    "view",
    "message_id_hash",
    "estimated",
];

/// Writes the report.
pub(super) fn write(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    rows.write_record(COLUMNS)?;
    report.identical(|set| write_set(&mut rows, &set))?;
    report.clusters(|cluster| write_cluster(&mut rows, &cluster))?;
    Ok(rows.flush()?)
}

fn write_set(rows: &mut csv::Writer<impl Write>, set: &IdenticalSet) -> anyhow::Result<()> {
    for document in &set.documents {
        let size_bytes = document.size_bytes.or(set.size_bytes).map(|size| size.to_string()).unwrap_or_default();
        rows.write_record([
            "identical",
            &set.id,
            set.tier,
            &document.site,
            &document.repository,
            &cell(&document.path),
            flag(document.path_escaped),
            &size_bytes,
            "",
            &document.modified,
            &set.documents.len().to_string(),
            &set.id,
            "",
            "1",
            "1",
            set.view.as_deref().unwrap_or(""),
            document.message_id_hash.as_deref().unwrap_or(""),
            "",
        ])?;
    }
    Ok(())
}

fn write_cluster(rows: &mut csv::Writer<impl Write>, cluster: &ClusterSection) -> anyhow::Result<()> {
    let with_representative: HashMap<usize, &LinkRow> = cluster
        .links
        .iter()
        .filter(|link| link.a == cluster.representative || link.b == cluster.representative)
        .map(|link| (if link.a == cluster.representative { link.b } else { link.a }, link))
        .collect();
    for (place, document) in cluster.documents.iter().enumerate() {
        let representative = place == cluster.representative;
        let link = with_representative.get(&place);
        // What is not linked with the representative has nothing to say there; it is not zero.
        let resemblance = link.map(|link| shown(link.resemblance));
        let within = link.map(|link| shown(if link.a == place { link.a_in_b } else { link.b_in_a }));
        let own = || if representative { "1".to_owned() } else { String::new() };
        rows.write_record([
            "cluster",
            &cluster.id,
            &cluster.relation,
            &document.site,
            &document.repository,
            &cell(&document.path),
            flag(document.path_escaped),
            &document.size_bytes.to_string(),
            &document.payload_bytes.to_string(),
            &document.modified,
            &document.copies.to_string(),
            document.identical.as_deref().unwrap_or(""),
            if representative { "yes" } else { "" },
            &resemblance.unwrap_or_else(own),
            &within.unwrap_or_else(own),
            cluster.view.as_deref().unwrap_or(""),
            document.message_id_hash.as_deref().unwrap_or(""),
            if link.is_some_and(|link| link.estimated.is_some()) { "yes" } else { "" },
        ])?;
    }
    Ok(())
}

/// A ratio; nothing where the method cannot tell.
fn shown(ratio: Option<Ratio>) -> String {
    ratio.map(|ratio| ratio.to_f64().to_string()).unwrap_or_default()
}

fn flag(escaped: Option<bool>) -> &'static str {
    if escaped.is_some() { "yes" } else { "" }
}
