//! The words for things by view: bytes, text, paragraphs, or bytes and text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use cognate_result::report::{Report, STATUSES, SiteSection};

use crate::human::{bytes, count};
use crate::table::table_within;

/// The words of one report.
pub(super) struct Words {
    /// The noun of a row of a list.
    pub(super) documents: &'static str,
    /// One and many of them, as titles.
    pub(super) titles: [&'static str; 2],
    /// One and many of the documents that hold them, as titles.
    pub(super) folders: [&'static str; 2],
    /// View by view.
    pub(super) sizes: Vec<Size>,
    /// View by view, the titles of lists of clusters.
    pub(super) clusters: Vec<&'static str>,
    /// The columns of the terminal, where the report is for one.
    pub(super) columns: Option<usize>,
}

/// The documents and bytes under a view.
pub(super) struct Size {
    view: &'static str,
    pub(super) heading: &'static str,
    pub(super) what: &'static str,
    pub(super) of: fn(&SiteSection) -> u64,
}

const BYTES: Size = Size { view: "raw", heading: " BYTES", what: "", of: |site| site.bytes };
const TEXT: Size = Size { view: "text", heading: " TEXT", what: " of text", of: |site| site.text_bytes.unwrap_or(0) };
/// Under the view `auto`, office files count by their text, and all other files by their bytes.
const OTHER_FILES: Size = Size { what: " outside of office files", ..BYTES };
const OFFICE: Size = Size { what: " of text in office files", ..TEXT };

impl Words {
    pub(super) fn of(report: &Report) -> crate::Result<Words> {
        let scan = report.scan()?;
        let words = Words {
            documents: "documents",
            titles: ["DOCUMENT", "DOCUMENTS"],
            folders: ["FOLDER", "FOLDERS"],
            sizes: vec![TEXT],
            clusters: vec!["CLUSTERS of documents that share much text"],
            columns: None,
        };
        Ok(match (scan.view.as_str(), scan.passages) {
            ("raw", _) => {
                Words { sizes: vec![BYTES], clusters: vec!["CLUSTERS of documents that share much"], ..words }
            }
            ("auto", _) if scan.layers.is_none() => {
                Words { sizes: vec![BYTES], clusters: vec!["CLUSTERS of documents that share much"], ..words }
            }
            ("auto", _) => Words {
                sizes: vec![OTHER_FILES, OFFICE],
                clusters: vec![
                    "CLUSTERS of documents that share many bytes",
                    "CLUSTERS of documents that share much text",
                ],
                ..words
            },
            ("both", _) => Words {
                sizes: vec![BYTES, TEXT],
                clusters: vec![
                    "CLUSTERS of documents that share many bytes",
                    "CLUSTERS of documents that share much text",
                ],
                ..words
            },
            (_, Some(true)) => Words {
                documents: "passages",
                titles: ["PASSAGE", "PASSAGES"],
                folders: ["DOCUMENT", "DOCUMENTS"],
                clusters: vec!["CLUSTERS of passages that share much text"],
                ..words
            },
            _ => words,
        })
    }

    /// A table that fits in the terminal.
    pub(super) fn table(&self, headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
        table_within(self.columns, headings, rows)
    }

    pub(super) fn has_bytes(&self) -> bool {
        self.sizes.iter().any(|size| size.view == "raw")
    }

    pub(super) fn has_text(&self) -> bool {
        self.sizes.iter().any(|size| size.view == "text")
    }

    /// The statuses that are listed: standard text, and what is not decided, where there is any. A document that holds passages is left out,
    /// because it is no passage.
    pub(super) fn statuses(&self, sites: &[SiteSection]) -> Vec<&'static str> {
        let occurs = |status: &str| sites.iter().any(|site| site.status.get(status).is_some_and(|count| *count > 0));
        let is_listed = |status: &&str| match *status {
            "standard_text" | "undecided" => occurs(status),
            "excluded" => !self.holds_passages(),
            _ => true,
        };
        STATUSES.into_iter().filter(is_listed).collect()
    }

    /// A folder by its name; where passages are compared, that is the document which holds them.
    pub(super) fn folder<'n>(&self, name: &'n str) -> &'n str {
        let end = if name.ends_with("!/") { "!/" } else { "!" };
        name.strip_suffix(end).filter(|_| self.holds_passages()).unwrap_or(name)
    }

    fn holds_passages(&self) -> bool {
        self.documents == "passages"
    }

    /// The title of a list of identical sets.
    pub(super) fn tier(&self, tier: &str) -> String {
        let all = self.titles[1];
        match tier {
            "same bytes" if !self.has_text() => format!("IDENTICAL {all}"),
            "same bytes" => format!("IDENTICAL {all}, the same bytes"),
            "same text" if self.has_bytes() => format!("IDENTICAL {all}, the same text in other bytes"),
            "same text" => format!("IDENTICAL {all}, the same text"),
            "same lines" => format!("IDENTICAL {all}, the same lines with other line ends"),
            _ => format!("IDENTICAL {all}, the same message"),
        }
    }
}

/// The documents with and without text; nothing where text was not read.
pub(super) fn write_text(sites: &[SiteSection], out: &mut impl Write) -> crate::Result<()> {
    if sites.iter().all(|site| site.text_bytes.is_none()) {
        return Ok(());
    }
    let sum = |of: fn(&SiteSection) -> Option<u64>| -> u64 { sites.iter().filter_map(of).sum() };
    let mut parts = vec![match sum(|site| site.text_bytes) {
        0 => "none was found".to_owned(),
        text_bytes => bytes(text_bytes),
    }];
    let passages = sum(|site| site.passages);
    if passages > 0 {
        parts.push(format!("{} passages", count(passages)));
    }
    let members = sum(|site| site.members);
    if members > 0 {
        let documents = if members == 1 { "document" } else { "documents" };
        parts.push(format!("{} {documents} inside of archives and messages", count(members)));
    }
    let no_text = sum(|site| site.no_text);
    if no_text > 0 {
        parts.push(format!("{} documents of kinds that have none", count(no_text)));
    }
    let mut reasons = BTreeMap::<&str, u64>::new();
    for (reason, documents) in sites.iter().flat_map(|site| &site.unextractable) {
        *reasons.entry(reason).or_default() += documents;
    }
    if !reasons.is_empty() {
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, documents)| format!("{} × {reason}", count(*documents))).collect();
        parts.push(format!("not to be had from some: {}", reasons.join(", ")));
    }
    writeln!(out, "Text          {}", parts.join("; "))?;
    Ok(())
}

/// A path for people: `essay.docx ¶12` where the twelfth paragraph is meant.
pub(super) fn shown(path: &str) -> Cow<'_, str> {
    match path.rsplit_once("!/#") {
        Some((document, number)) if !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) => {
            Cow::Owned(format!("{document} ¶{number}"))
        }
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_shown_by_its_document_and_number() {
        assert_eq!(shown("a/b.zip!/essay.docx!/#12"), "a/b.zip!/essay.docx ¶12");
        assert_eq!(shown("a/b.zip!/essay.docx"), "a/b.zip!/essay.docx");
        assert_eq!(shown("a!/#b"), "a!/#b");
    }
}
