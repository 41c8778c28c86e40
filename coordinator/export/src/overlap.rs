//! The overlap of each site, or party, with each other one, as a table of both directions.

use std::collections::BTreeMap;

use cognate_result::report::{OverlapSection, Ratio, Report, SelectionSection, SiteSection};

/// The overlap of one with another.
#[derive(Clone, Copy, Debug)]
pub struct InCommon {
    /// Documents of the first that are identical or linked to one of the second.
    pub documents: u64,
    /// All documents of the first.
    pub documents_total: u64,
    /// Bytes of the first that are also at the second.
    pub bytes: u64,
    /// All bytes of the first.
    pub bytes_total: u64,
    /// Bytes of templates of the first that are also at the second.
    pub template_bytes: u64,
}

impl InCommon {
    /// The share of the first's bytes.
    pub fn share(&self) -> Ratio {
        Ratio::of(self.bytes, self.bytes_total)
    }
}

/// One table: of a view, of sites or of parties.
pub struct Matrix {
    /// The view, if the report has two.
    pub view: Option<String>,
    /// `site` or `party`.
    pub level: String,
    /// True if each document counts under one view alone.
    counts_once: bool,
    /// The sites or parties.
    pub names: Vec<String>,
    cells: BTreeMap<(String, String), InCommon>,
}

impl Matrix {
    /// All tables of a report, in its order.
    pub(crate) fn of(report: &Report) -> crate::Result<Vec<Matrix>> {
        Ok(Matrix::of_rows(&report.overlap()?, &report.sites()?, &report.scan()?.view))
    }

    /// The tables of rows, with the sites and the view of their scan.
    pub fn of_rows(rows: &[OverlapSection], sites: &[SiteSection], view: &str) -> Vec<Matrix> {
        let mut tables: Vec<Matrix> = Vec::new();
        let counts_once = sites.iter().any(|site| site.text_documents.is_some());
        for row in rows {
            let total = |name: &str| total(sites, row, name, view);
            let is_next = |table: &Matrix| table.view != row.view || table.level != row.level;
            if tables.last().is_none_or(is_next) {
                let (view, level) = (row.view.clone(), row.level.clone());
                tables.push(Matrix { view, level, counts_once, names: Vec::new(), cells: BTreeMap::new() });
            }
            let (all_a, all_b) = (total(&row.a), total(&row.b));
            let of_a = InCommon {
                documents: row.documents_a,
                documents_total: all_a.0,
                bytes: row.shared_bytes_a,
                bytes_total: all_a.1,
                template_bytes: row.template_bytes_a,
            };
            let of_b = InCommon {
                documents: row.documents_b,
                documents_total: all_b.0,
                bytes: row.shared_bytes_b,
                bytes_total: all_b.1,
                template_bytes: row.template_bytes_b,
            };
            if let Some(table) = tables.last_mut() {
                for name in [&row.a, &row.b] {
                    if !table.names.contains(name) {
                        table.names.push(name.clone());
                    }
                }
                table.cells.insert((row.a.clone(), row.b.clone()), of_a);
                table.cells.insert((row.b.clone(), row.a.clone()), of_b);
            }
        }
        tables
    }

    /// The part of `from` that `to` has.
    pub fn of_at(&self, from: &str, to: &str) -> Option<InCommon> {
        self.cells.get(&(from.to_owned(), to.to_owned())).copied()
    }

    /// The subject of the table.
    pub(crate) fn title(&self) -> String {
        let whose = if self.level == "party" { "party × party" } else { "site × site" };
        self.subject().map_or(whose.to_owned(), |subject| format!("{whose}, of {subject}"))
    }

    /// The subject of the table, if the report has two views.
    pub fn subject(&self) -> Option<&'static str> {
        Some(match (self.view.as_deref()?, self.counts_once) {
            ("text", true) => "text in office files",
            ("text", false) => "text",
            (_, true) => "other files",
            (_, false) => "bytes",
        })
    }
}

/// The documents and bytes, or bytes of text, that a site or party of a row has to compare; the view is that of the scan.
pub(crate) fn total(sites: &[SiteSection], row: &OverlapSection, name: &str, view: &str) -> (u64, u64) {
    let is_text = row.view.as_deref().unwrap_or(view) == "text";
    let mine = sites.iter().filter(|site| if row.level == "site" { site.site == name } else { site.party == name });
    mine.fold((0, 0), |(documents, bytes), site| {
        let (own_documents, own_bytes) = site.compared(is_text);
        (documents + own_documents, bytes + own_bytes)
    })
}

/// The statuses in the order in which they are listed.
pub(crate) const STATUSES: [&str; 8] =
    ["identical", "near", "contains", "contained", "shares", "standard_text", "unique", "excluded"];

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
