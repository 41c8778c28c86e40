//! The auditor's report as a page: for people, on paper as well.

use askama::Template;

use super::{Audit, Direction, RunLengthRow};
use cognate_result::report::{Counts, DecidedRow, LayerRow, SiteSection};

use crate::filters;
use crate::human::{bytes as size, percent};

/// The page.
#[derive(Template)]
#[template(path = "audit.html")]
pub(super) struct Page<'a> {
    pub(super) audit: &'a Audit,
}

impl Page<'_> {
    /// A view in the words of people.
    fn by<'v>(&self, view: &'v Option<String>) -> &'v str {
        by(view.as_deref())
    }

    fn kind<'v>(&self, class: &'v str) -> &'v str {
        kind(class)
    }
}

impl Audit {
    /// The repositories of a side, as `site/repository`.
    fn places_of(&self, side: &str) -> String {
        let own = self.sites.iter().filter(|site| super::side_of(&self.level, site) == side);
        own.map(|site| format!("{}/{}", site.site, site.repository)).collect::<Vec<_>>().join(", ")
    }

    /// True if the method tells passages apart.
    fn has_passages(&self) -> bool {
        !self.run_lengths.is_empty()
    }

    /// Documents that could not be read at all.
    pub(super) fn unreadable(&self) -> u64 {
        self.sites.iter().map(|site| self.unreadable_of(site)).sum()
    }

    /// Documents whose text could not be read, where they were compared by their bytes all the same.
    pub(super) fn text_unreadable(&self) -> u64 {
        self.sites.iter().map(|site| self.text_unreadable_of(site)).sum()
    }

    /// Documents of a repository that could not be read at all.
    fn unreadable_of(&self, site: &SiteSection) -> u64 {
        site.unreadable.saturating_sub(self.text_unreadable_of(site))
    }

    /// Documents of a repository whose text alone could not be read.
    fn text_unreadable_of(&self, site: &SiteSection) -> u64 {
        match self.scan.view.as_str() {
            "both" => site.unextractable.values().chain(site.not_compared_by_text.values()).sum(),
            _ => 0,
        }
    }

    /// A row of the table that says how documents were decided.
    fn decision(&self, row: &DecidedRow) -> String {
        let measured = match self.scan.precision.as_deref() {
            Some("fine") => "measured, of passages that are not equal piece by piece",
            Some("coarse") => "by complete passages alone",
            _ => "estimated from signatures",
        };
        let how = match row.how.as_deref() {
            Some("measured") | None => measured,
            Some(how) => how,
        };
        match row.elsewhere.as_deref() {
            Some("yes") if how == "identical" => "identical to one of another side".to_owned(),
            Some("yes") => format!("similar to one of another side: {how}"),
            Some("standard text") => format!("standard text alone: {how}"),
            Some("no") => format!("only here: {how}"),
            Some(_) => format!("not decided: {how}"),
            None => "nothing to compare".to_owned(),
        }
    }

    /// The mean length of a passage, of text too where it has one of its own: `1.0 kB (of text 200 B)`.
    fn passage(&self) -> Option<String> {
        let own = self.scan.chunk_bytes.map(size)?;
        let text = self.scan.layers.iter().flatten().find(|layer| layer.view == "text");
        let other = text.and_then(|layer| layer.chunk_bytes).filter(|bytes| Some(*bytes) != self.scan.chunk_bytes);
        Some(other.map_or_else(|| own.clone(), |bytes| format!("{own} (of text {})", size(bytes))))
    }

    /// Documents without a text that can be read, where text was compared.
    fn without_text(&self) -> u64 {
        self.sites.iter().filter_map(|site| site.no_text).sum()
    }

    /// Documents that changed each time they were read.
    fn changed(&self) -> u64 {
        self.sites.iter().map(|site| site.changed).sum()
    }

    /// Documents without a byte.
    fn empty(&self) -> u64 {
        self.sites.iter().map(|site| site.empty).sum()
    }

    fn scan_id(&self) -> &str {
        self.scan.id.as_deref().unwrap_or_default()
    }

    /// The method and its parameters, for an expert who repeats the comparison.
    fn recipe(&self) -> String {
        let param = self.scan.param.as_ref().map(|param| format!(" ({param})")).unwrap_or_default();
        let chunks = self.passage().map(|length| format!(", passages of {length} on average")).unwrap_or_default();
        let method = match self.scan.method.as_str() {
            "tttd" => "chunks that the content delimits (two thresholds, two divisors)",
            method => method,
        };
        format!("{method}{param}{chunks}; docs/fingerprint.md of Cognate {}", self.made.software)
    }

    fn finished(&self) -> String {
        self.scan.run.as_ref().map_or_else(String::new, |run| time(&run.finished))
    }

    fn made_at(&self) -> String {
        time(&self.made.at)
    }

    fn digest(&self) -> &str {
        self.scan.digest.as_deref().unwrap_or_default()
    }

    fn has_views(&self) -> bool {
        self.scan.layers.is_some()
    }

    /// The least that two similar documents share, up to `of the smaller one`; each view has a number of bytes of its own.
    fn least_shared(&self) -> String {
        let share = percent(u64::try_from(self.scan.min_containment.0).unwrap_or_default(), 10_000);
        let text = |layer: &&LayerRow| layer.view == "text";
        let further = self.scan.layers.iter().flatten().find(text).and_then(|layer| layer.min_shared_bytes);
        match (self.scan.min_shared_bytes, further) {
            (Some(bytes), Some(of_text)) => format!("{} (of text {}), or {share}", size(bytes), size(of_text)),
            (Some(bytes), None) => format!("{}, or {share}", size(bytes)),
            (None, _) => share,
        }
    }

    /// The unit of bytes in sections 2 and 3.
    fn unit(&self) -> &'static str {
        crate::overlap::compared(&self.scan).unwrap_or("bytes")
    }

    /// Files that were left out by rule, at all sites.
    fn skipped(&self) -> Counts {
        let mut all = Counts::new();
        for (reason, count) in self.sites.iter().flat_map(|site| &site.skipped_reasons) {
            *all.entry(reason.clone()).or_default() += count;
        }
        all
    }
}

/// A kind of file in the words of people.
fn kind(class: &str) -> &str {
    match class {
        "plain" => "not compressed: text, sources, data",
        "office" => "PDF, mail, and office files that are no archives (DOC, RTF)",
        "archive" => "archives, among them office files (DOCX, XLSX, ODT)",
        "media" => "pictures, sound, film",
        class => class,
    }
}

/// A time of a report as people write it: `2026-11-26 05:38:39 UTC`.
fn time(stamp: &str) -> String {
    stamp.replace('T', " ").replace('Z', " UTC")
}

/// A view in the words of people.
fn by(view: Option<&str>) -> &str {
    match view.unwrap_or_default() {
        "raw" => "bytes",
        "office" => "text of office files",
        "passages" => "paragraphs",
        view => view,
    }
}

impl Direction {
    fn documents_share(&self) -> String {
        percent(self.documents, self.documents_total)
    }

    fn bytes_share(&self) -> String {
        percent(self.shared_bytes, self.bytes_total)
    }
}

impl RunLengthRow {
    fn by(&self) -> &str {
        by(Some(&self.view))
    }

    fn p50(&self) -> String {
        length(self.p50_bytes)
    }

    fn p95(&self) -> String {
        length(self.p95_bytes)
    }

    fn p99(&self) -> String {
        length(self.p99_bytes)
    }
}

fn length(bytes: Option<u64>) -> String {
    bytes.map_or("–".to_owned(), size)
}
