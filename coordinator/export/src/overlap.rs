//! The overlap of each site, or party, with each other one, as a table of both directions.

use std::collections::BTreeMap;

use cognate_result::report::{OverlapSection, Ratio, Report, STATUSES, ScanSection, SelectionSection, SiteSection};

use crate::human::percent;

/// The overlap of one with another.
#[derive(Clone, Copy, Debug)]
pub struct InCommon {
    /// Documents of the first that are identical or linked to one of the second.
    pub documents: u64,
    /// All documents of the first.
    pub documents_total: u64,
    /// Contents of the first that are identical or linked to one of the second, each once.
    pub contents: u64,
    /// Bytes of the first that are also at the second.
    pub bytes: u64,
    /// Of these, each content once.
    pub once_bytes: u64,
    /// An estimate of the bytes of the first that are also at the second: those that were measured, and what samples show besides.
    pub estimated_bytes: u64,
    /// The expected distance of the estimate from the truth, either way.
    pub estimate_error_bytes: u64,
    /// All bytes of the first that were compared.
    pub bytes_total: u64,
    /// Bytes of templates of the first that are also at the second.
    pub template_bytes: u64,
}

impl InCommon {
    /// The share of the first's bytes.
    pub fn share(&self) -> Ratio {
        Ratio::of(self.bytes, self.bytes_total)
    }

    /// The estimated share, after a comma; nothing if samples show no more than was measured.
    pub fn estimated_share(&self) -> String {
        estimated_share(self.bytes, self.estimated_bytes, self.estimate_error_bytes, self.bytes_total)
    }
}

/// One table: of sites or of parties.
pub struct Matrix {
    /// `site` or `party`.
    pub level: String,
    /// The sites or parties.
    pub names: Vec<String>,
    cells: BTreeMap<(String, String), InCommon>,
}

impl Matrix {
    /// All tables of a report, in its order.
    pub(crate) fn of(report: &Report) -> crate::Result<Vec<Matrix>> {
        Ok(Matrix::of_rows(&report.overlap()?))
    }

    /// The tables of rows.
    pub fn of_rows(rows: &[OverlapSection]) -> Vec<Matrix> {
        let mut tables: Vec<Matrix> = Vec::new();
        for row in rows {
            if tables.last().is_none_or(|table| table.level != row.level) {
                tables.push(Matrix { level: row.level.clone(), names: Vec::new(), cells: BTreeMap::new() });
            }
            if let Some(table) = tables.last_mut() {
                for name in [&row.a, &row.b] {
                    if !table.names.contains(name) {
                        table.names.push(name.clone());
                    }
                }
                let [a, b] = directions(row);
                table.cells.insert((row.a.clone(), row.b.clone()), a.common);
                table.cells.insert((row.b.clone(), row.a.clone()), b.common);
            }
        }
        tables
    }

    /// The part of `from` that `to` has.
    pub fn of_at(&self, from: &str, to: &str) -> Option<InCommon> {
        self.cells.get(&(from.to_owned(), to.to_owned())).copied()
    }

    /// The subject of the table.
    pub(crate) fn title(&self) -> &'static str {
        if self.level == "party" { "party × party" } else { "site × site" }
    }
}

/// The part of one site or party that another has.
pub(crate) struct Direction<'a> {
    pub(crate) of: &'a str,
    pub(crate) at: &'a str,
    pub(crate) common: InCommon,
}

/// The share of bytes in common. More may be in common than was measured, which `at_least` says before it, unless it is all.
pub(crate) fn least_share(at_least: &str, bytes: u64, bytes_total: u64) -> String {
    let share = percent(bytes, bytes_total);
    if bytes < bytes_total { format!("{at_least} {share}") } else { share }
}

/// An estimate of the share of bytes in common with its interval, after a comma: `, by samples about 97.2 % (96.9 to 97.5 %)`. Nothing if it reads
/// as what was measured, which is in common in any case.
pub(crate) fn estimated_share(bytes: u64, estimated_bytes: u64, error_bytes: u64, bytes_total: u64) -> String {
    let least = estimated_bytes.saturating_sub(error_bytes).max(bytes);
    let most = (estimated_bytes + error_bytes).min(bytes_total);
    let [about, least, most] = [estimated_bytes, least, most].map(|bytes| percent(bytes, bytes_total));
    if most == percent(bytes, bytes_total) {
        return String::new();
    }
    format!(", by samples about {about} ({} to {most})", least.trim_end_matches(" %"))
}

/// A row of the overlap, from both ends.
pub(crate) fn directions(row: &OverlapSection) -> [Direction<'_>; 2] {
    let of_a = InCommon {
        documents: row.documents_a,
        documents_total: row.documents_total_a,
        contents: row.contents_a,
        bytes: row.shared_bytes_a,
        once_bytes: row.shared_once_bytes_a,
        estimated_bytes: row.estimated_bytes_a.unwrap_or(row.shared_bytes_a),
        estimate_error_bytes: row.estimate_error_bytes_a.unwrap_or(0),
        bytes_total: row.bytes_total_a,
        template_bytes: row.template_bytes_a,
    };
    let of_b = InCommon {
        documents: row.documents_b,
        documents_total: row.documents_total_b,
        contents: row.contents_b,
        bytes: row.shared_bytes_b,
        once_bytes: row.shared_once_bytes_b,
        estimated_bytes: row.estimated_bytes_b.unwrap_or(row.shared_bytes_b),
        estimate_error_bytes: row.estimate_error_bytes_b.unwrap_or(0),
        bytes_total: row.bytes_total_b,
        template_bytes: row.template_bytes_b,
    };
    [Direction { of: &row.a, at: &row.b, common: of_a }, Direction { of: &row.b, at: &row.a, common: of_b }]
}

/// The unit of bytes of what was compared, where a scan compares the text of some documents; nothing where it compares one view.
pub fn compared(scan: &ScanSection) -> Option<&'static str> {
    scan.layers.as_ref().map(|_| match scan.view.as_str() {
        "auto" => "bytes of what was compared: of office files, PDF and mail their text, of all others their bytes",
        _ => {
            "bytes of what was compared: of office files, PDF, mail and web pages their text, of all others their bytes"
        }
    })
}

/// The documents of all sites by status.
pub(crate) fn by_status(sites: &[SiteSection]) -> Vec<(&'static str, u64)> {
    let sum = |status: &str| sites.iter().filter_map(|site| site.status.get(status)).sum();
    STATUSES.iter().map(|status| (*status, sum(status))).collect()
}

/// The choice of documents in words.
pub(crate) fn selected(selection: &SelectionSection) -> String {
    let listed = |patterns: &[String]| cognate_proto::name::one_line(&patterns.join(", "));
    let mut parts = Vec::new();
    if !selection.include.is_empty() {
        parts.push(format!("documents that match {}", listed(&selection.include)));
    }
    if !selection.exclude.is_empty() {
        parts.push(format!("none that match {}", listed(&selection.exclude)));
    }
    parts.extend(selection.size_max_bytes.map(|bytes| format!("none larger than {}", crate::human::bytes(bytes))));
    parts.extend(selection.sample_percent.map(|percent| format!("a sample of {percent} % of the documents")));
    parts.extend(selection.follow.map(|_| "symbolic links followed".to_owned()));
    parts.join("; ")
}

/// The options of a scan, as pairs of words.
pub(crate) fn parameters(report: &Report) -> crate::Result<Vec<(&'static str, String)>> {
    use crate::human::{bytes, count};
    let scan = report.scan()?;
    let needs = |shared: Option<u64>| {
        let share = format!("{} of the smaller one", crate::human::share(scan.min_containment.0));
        shared.map_or(share.clone(), |shared| format!("{} in common, or {share}", bytes(shared)))
    };
    let chunks =
        |mean: Option<u64>| mean.map(|mean| format!(", a chunk or feature for {}", bytes(mean))).unwrap_or_default();
    let param = scan.param.as_ref().map(|param| format!(" ({param})")).unwrap_or_default();
    let mut options = vec![
        ("Scan", scan.id.clone().unwrap_or_default()),
        ("Method", format!("{}{param}{}", scan.method, chunks(scan.chunk_bytes))),
        ("View", scan.view.clone()),
        ("A link needs", needs(scan.min_shared_bytes)),
    ];
    if let Some(text) = scan.layers.as_ref().and_then(|layers| layers.get(1)) {
        options.push(("Of text", format!("{}{}", needs(text.min_shared_bytes), chunks(text.chunk_bytes))));
    }
    options.extend(crate::expected::expected_error(&scan).into_iter().map(|sentence| ("Expected error", sentence)));
    if let Some(verified_by) = &scan.verified_by {
        options.push(("Verified by", verified_by.clone()));
    }
    if let Some(cluster) = &scan.cluster {
        options.push(("Clusters", cluster.clone()));
    }
    options.extend(scan.selection.as_ref().map(|selection| ("Only", selected(selection))));
    if scan.across_only {
        options.push(("Counted", "only what crosses sites (parties, where there are several)".to_owned()));
    }
    if let (Some(refines), Some(refined)) = (&scan.refines, &scan.refined) {
        let chosen =
            format!("{} documents ({}) of scan {refines}, and no others", count(refined.documents), refined.what);
        options.push(("Refines", chosen));
    }
    options
        .push(("Key", if scan.keyed { "fingerprinted with a key" } else { "fingerprinted without a key" }.to_owned()));
    if let Some(digest) = &scan.templates_digest {
        options.push(("Templates", format!("set aside, digest {digest}")));
    }
    if let Some(rows) = scan.fine.as_ref().map(|fine| fine.template_rows).filter(|rows| *rows > 0) {
        options.push(("Rows set aside", format!("{} rows of fine chunks, of templates", count(rows))));
    }
    if let Some(frames) = crate::frames::frames(&scan, report.cluster_totals()?.clusters) {
        options.push(("Frames", frames));
    }
    if let Some(run) = &scan.run {
        options.push(("Started", run.started.clone()));
        options.push(("Finished", run.finished.clone()));
    }
    if let Some(site) = report.sliced() {
        options.push(("Slice", format!("only what concerns {site}")));
    }
    if let Some(words) = report.chosen() {
        options.push(("Clusters", format!("only those with {words}")));
    }
    options.push(("Digest of the report", report.digest()?));
    options.push(("Written by", concat!("cognate ", env!("CARGO_PKG_VERSION")).to_owned()));
    Ok(options)
}
