//! The auditor's report: the overlap of two or more sides, the coverage of the scan, the lengths that it could have missed,
//! and the evidence to check it by. It is read where there is no coordinator.

mod page;
mod statement;

use std::collections::{BTreeMap, HashSet};

use askama::Template as _;
use cognate_result::report::{
    CensusSection, ControlRow, DecidedRow, EvidenceRow, FolderSection, OnlyHereRow, Order, Report, ScanSection,
    SiteSection, UnreadSection,
};
use serde::Serialize;

use crate::Result;
use crate::overlap::directions;

/// The name of the document's schema.
const SCHEMA: &str = "cognate.audit/1";
/// Rows of a list that are written out; the rest is a number.
const LISTED_MAX: usize = 1000;

/// The content of an auditor's report. Sides are parties where the scan has two or more, else sites.
#[derive(Serialize, Debug)]
pub struct Audit {
    schema: &'static str,
    /// The findings in words, the first one first.
    statement: Vec<String>,
    made: Made,
    asked: Asked,
    scan: ScanSection,
    /// `party` or `site`.
    level: String,
    sides: Vec<Side>,
    overlap: Vec<Overlap>,
    folders: Vec<FolderSection>,
    folders_omitted: u64,
    only_here: Vec<OnlyHereRow>,
    decided: Vec<DecidedRow>,
    sites: Vec<SiteSection>,
    census: Vec<CensusSection>,
    unread: Vec<UnreadSection>,
    unread_omitted: u64,
    run_lengths: Vec<RunLengthRow>,
    controls: Vec<ControlRow>,
    controls_omitted: u64,
    evidence: Vec<EvidenceRow>,
}

/// By whom and when the document was made.
#[derive(Serialize, Debug)]
pub struct Made {
    /// The person who made it.
    pub by: String,
    /// The time at which it was made, as reports write times.
    pub at: String,
    /// The program and its version.
    pub software: String,
    /// The federation, as its certificates name it.
    pub federation: String,
    /// The words of the key that signs the document.
    pub key_words: String,
}

/// The options of the scan, and the person who launched it.
#[derive(Serialize, Debug)]
pub struct Asked {
    /// The person who launched the scan.
    pub by: String,
    /// The repositories of the scan, as `site/repository`.
    pub repositories: Vec<String>,
    /// Patterns of the files that are read; empty: all files.
    pub include: Vec<String>,
    /// Patterns of the files that are left out.
    pub exclude: Vec<String>,
    /// The size of the largest file that is read; nothing: no limit.
    #[serde(rename = "size_bytes_max")]
    pub size_max_bytes: Option<u64>,
    /// The share of the documents that are read, in percent; nothing: all.
    pub sample_percent: Option<u32>,
    /// True if targets of symbolic links are read.
    pub follow_symlinks: bool,
    /// True if the sites were brought up to date first.
    pub synced: bool,
    /// Patterns of the planted controls.
    pub control: Vec<String>,
    /// The federation key under which the sites made their fingerprints; nothing: none, or it is not known which one.
    pub federation_key: Option<FederationKey>,
    /// The templates that the scan sets aside.
    pub templates: Vec<String>,
}

/// The fingerprint of a federation key, as `cognate worker key check` prints it.
#[derive(Serialize, Debug)]
pub struct FederationKey {
    /// Its fingerprint in hexadecimal digits.
    pub fingerprint: String,
    /// The same as words that can be read out.
    pub words: String,
}

/// A side in numbers.
#[derive(Serialize, Debug)]
struct Side {
    name: String,
    /// What a party is called in full; nothing: it has no other name.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_name: Option<String>,
    documents: u64,
    bytes: u64,
    unreadable: u64,
    controls: u64,
    /// Of no use to any other side's: neither identical nor linked to a document of another.
    only_here_documents: u64,
    /// Of what was compared, like the next ones.
    only_here_bytes: u64,
    /// That share standard text with another side, and nothing else.
    standard_text_documents: u64,
    standard_text_bytes: u64,
    /// Of which it is not decided whether another side has anything of them.
    undecided_documents: u64,
    undecided_bytes: u64,
    compared_bytes: u64,
}

/// The overlap of two sides, seen from both.
#[derive(Serialize, Debug)]
struct Overlap {
    directions: [Direction; 2],
}

/// The part of one side that the other has. Bytes are those of what was compared.
#[derive(Serialize, Debug)]
struct Direction {
    of: String,
    at: String,
    documents: u64,
    documents_total: u64,
    /// Different ones.
    contents: u64,
    shared_bytes: u64,
    /// The estimate with what samples show besides, and its expected distance from the truth.
    estimated_bytes: u64,
    estimate_error_bytes: u64,
    shared_once_bytes: u64,
    template_bytes: u64,
    bytes_total: u64,
}

impl Direction {
    fn of(direction: &crate::overlap::Direction<'_>) -> Direction {
        let common = &direction.common;
        Direction {
            of: direction.of.to_owned(),
            at: direction.at.to_owned(),
            documents: common.documents,
            documents_total: common.documents_total,
            contents: common.contents,
            shared_bytes: common.bytes,
            estimated_bytes: common.estimated_bytes,
            estimate_error_bytes: common.estimate_error_bytes,
            shared_once_bytes: common.once_bytes,
            template_bytes: common.template_bytes,
            bytes_total: common.bytes_total,
        }
    }
}

/// The shortest shared runs that would have been found in a repository's documents.
#[derive(Serialize, Debug)]
pub struct RunLengthRow {
    /// The site.
    pub site: String,
    /// The repository.
    pub repository: String,
    /// `raw`, `text` or `passages`.
    pub view: String,
    /// Contents that were looked at; 0: it follows from the method alone.
    pub contents: u64,
    /// The least length in bytes that is found with a probability of 50 %; none where no length is.
    pub p50_bytes: Option<u64>,
    /// With 95 %.
    pub p95_bytes: Option<u64>,
    /// With 99 %.
    pub p99_bytes: Option<u64>,
}

/// The parts of an audit that the result file does not hold.
#[derive(Debug)]
pub struct AuditInput {
    /// Author, time, program and federation.
    pub made: Made,
    /// Options of the scan.
    pub asked: Asked,
    /// The digest of the report.
    pub digest: String,
    /// The shortest runs that would have been found.
    pub run_lengths: Vec<RunLengthRow>,
    /// The full names of parties that have one, by their names.
    pub party_names: BTreeMap<String, String>,
}

impl Audit {
    /// Gathers the findings of a result.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn of(report: &Report, input: AuditInput) -> Result<Audit> {
        report.in_order(Order::Launch, || Audit::in_order(report, input))
    }

    fn in_order(report: &Report, input: AuditInput) -> Result<Audit> {
        let mut controls = report.controls()?;
        let (folders, folders_omitted) = first(|each| report.folders(each))?;
        let (unread, unread_omitted) = first(|each| report.unread(each))?;
        let mut scan = report.scan()?;
        scan.digest = Some(input.digest);
        let sites = report.sites()?;
        let level = report.side()?;
        let (only_here, overlap) = (report.only_here()?, overlap(report, &level)?);
        let mut audit = Audit {
            schema: SCHEMA,
            statement: Vec::new(),
            made: input.made,
            asked: input.asked,
            sides: sides(&level, &sites, &controls, &only_here, &overlap, &input.party_names),
            overlap,
            level,
            scan,
            folders,
            folders_omitted,
            only_here,
            decided: report.decided_documents()?,
            census: report.census()?,
            sites,
            unread,
            unread_omitted,
            run_lengths: input.run_lengths,
            controls_omitted: controls.len().saturating_sub(LISTED_MAX) as u64,
            evidence: report.evidence()?,
            controls: Vec::new(),
        };
        audit.put_text_first();
        audit.statement = statement::of(&audit, &controls);
        // Missed controls come first.
        controls.sort_by_key(|control| control.missed.is_empty());
        controls.truncate(LISTED_MAX);
        audit.controls = controls;
        Ok(audit)
    }

    /// Text is what people read and write: it comes before bytes in every list.
    fn put_text_first(&mut self) {
        let is_bytes = |view: &Option<String>| view.as_deref() == Some("raw");
        self.run_lengths.sort_by_key(|row| row.view == "raw");
        self.evidence.sort_by_key(|row| is_bytes(&row.view));
    }

    /// What people call a side: the full name of a party where it has one.
    fn called<'a>(&'a self, side: &'a str) -> &'a str {
        let named = self.sides.iter().find(|known| known.name == side);
        named.and_then(|known| known.full_name.as_deref()).unwrap_or(side)
    }

    /// The audit as one JSON object.
    ///
    /// # Errors
    /// Fails if a row cannot be written.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// The audit as a page.
    ///
    /// # Errors
    /// Fails if the page cannot be rendered.
    pub fn html(&self) -> Result<String> {
        Ok(page::Page { audit: self }.render()?.trim_end().to_owned())
    }
}

/// The first rows of a list, and how many follow.
fn first<T>(list: impl FnOnce(&mut dyn FnMut(T) -> Result<()>) -> Result<()>) -> Result<(Vec<T>, u64)> {
    let (mut rows, mut omitted) = (Vec::new(), 0);
    list(&mut |row| {
        match rows.len() < LISTED_MAX {
            true => rows.push(row),
            false => omitted += 1,
        }
        Ok(())
    })?;
    Ok((rows, omitted))
}

fn side_of<'a>(level: &str, site: &'a SiteSection) -> &'a str {
    if level == "party" { &site.party } else { &site.site }
}

fn sides(
    level: &str,
    sites: &[SiteSection],
    controls: &[ControlRow],
    only_here: &[OnlyHereRow],
    overlap: &[Overlap],
    party_names: &BTreeMap<String, String>,
) -> Vec<Side> {
    let mut names: Vec<&str> = sites.iter().map(|site| side_of(level, site)).collect();
    let mut known = HashSet::new();
    names.retain(|name| known.insert(*name));
    let side = |name: &str| {
        let own = || sites.iter().filter(|site| side_of(level, site) == name);
        let alone = || {
            let is_own = |row: &&OnlyHereRow| if level == "party" { row.party == name } else { row.site == name };
            only_here.iter().filter(is_own)
        };
        Side {
            name: name.to_owned(),
            full_name: party_names.get(name).filter(|_| level == "party").cloned(),
            documents: own().map(|site| site.documents).sum(),
            bytes: own().map(|site| site.bytes).sum(),
            unreadable: own().map(|site| site.unreadable).sum(),
            controls: controls.iter().filter(|control| control.side == name).count() as u64,
            only_here_documents: alone().map(|row| row.documents).sum(),
            only_here_bytes: alone().map(|row| row.bytes).sum(),
            standard_text_documents: alone().map(|row| row.standard_text_documents).sum(),
            standard_text_bytes: alone().map(|row| row.standard_text_bytes).sum(),
            undecided_documents: alone().map(|row| row.undecided_documents).sum(),
            undecided_bytes: alone().map(|row| row.undecided_bytes).sum(),
            compared_bytes: overlap
                .iter()
                .flat_map(|row| &row.directions)
                .find(|side| side.of == name)
                .map_or(0, |side| side.bytes_total),
        }
    };
    names.into_iter().map(side).collect()
}

fn overlap(report: &Report, level: &str) -> Result<Vec<Overlap>> {
    let rows = report.overlap()?.into_iter().filter(|row| row.level == level);
    Ok(rows.map(|row| Overlap { directions: directions(&row).each_ref().map(Direction::of) }).collect())
}
