//! The auditor's report: what a scan found between two or more sides, how completely it looked, what it would have missed,
//! and by what it can be checked; signed with the key of the federation's authority, to be read where there is no
//! coordinator.

mod page;
mod run_length;
mod signed;
mod statement;

use askama::Template as _;
use cognate_proto::name::ScanId;
use cognate_proto::v1;
use serde::Serialize;

use self::run_length::RunLengthRow;
use self::signed::Signed;
pub use self::signed::{VerifyError, verify};
use crate::coordinator::Coordinator;
use crate::error::Error;
use crate::report::{
    CensusSection, ControlRow, EvidenceRow, FolderSection, OnlyHereRow, Report, ScanSection, SiteSection,
    UnreadSection, time,
};
use crate::scan::seconds;
use crate::store::{ScanRow, ScanStep};

/// The name of the document's schema.
const SCHEMA: &str = "cognate.audit/1";
/// So many rows of a list are told; of what is left out, the number.
const LISTED_MAX: usize = 1000;

/// All that an auditor's report says. Sides are parties where there are two or more, else sites.
#[derive(Serialize, Debug)]
pub(crate) struct Audit {
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
struct Made {
    by: String,
    at: String,
    software: String,
    /// Which federation: as it stands in its certificates.
    federation: String,
}

/// What was asked for, and by whom.
#[derive(Serialize, Debug)]
struct Asked {
    by: String,
    repositories: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    size_bytes_max: Option<u64>,
    follow_symlinks: bool,
    /// Whether the sites were brought up to date first.
    synced: bool,
    control: Vec<String>,
    templates: Vec<String>,
}

/// A side in numbers.
#[derive(Serialize, Debug)]
struct Side {
    name: String,
    documents: u64,
    bytes: u64,
    unreadable: u64,
    controls: u64,
    /// Of no use to any other side's: neither identical nor linked to a document of another.
    only_here_documents: u64,
    only_here_bytes: u64,
}

/// What two sides have in common, seen from both.
#[derive(Serialize, Debug)]
struct Overlap {
    view: Option<String>,
    directions: [Direction; 2],
}

/// What of one side the other has.
#[derive(Serialize, Debug)]
struct Direction {
    of: String,
    at: String,
    documents: u64,
    documents_total: u64,
    /// Different ones.
    contents: u64,
    shared_bytes: u64,
    shared_once_bytes: u64,
    template_bytes: u64,
    bytes_total: u64,
}

impl Coordinator {
    /// What is to be said of the result of a scan.
    ///
    /// # Errors
    /// When there is none, it was made before there was anything to tell, or it cannot be read.
    pub(crate) fn audit(&self, id: ScanId, by: &str) -> Result<Audit, Error> {
        let row = self.store.scan(id)?.filter(|row| row.step() == ScanStep::Published);
        let row = row.ok_or_else(|| Error::Refused(format!("scan {id} has no result")))?;
        let report = Report::open(&self.result_path(id))?;
        if !report.has_evidence()? {
            return Err(Error::Refused(format!(
                "scan {id} was made by an earlier version, which kept no evidence: launch it again"
            )));
        }
        let run_lengths = self.run_lengths(&row, &report)?;
        let (folders, folders_omitted) = first(|each| report.folders(each))?;
        let (unread, unread_omitted) = first(|each| report.unread(each))?;
        let mut scan = report.scan()?;
        scan.digest = Some(row.digest.clone());
        let mut controls = report.controls()?;
        let sites = report.sites()?;
        let level = report.side()?;
        let only_here = report.only_here()?;
        let mut audit = Audit {
            schema: SCHEMA,
            statement: Vec::new(),
            made: Made {
                by: by.to_owned(),
                at: time(seconds((self.scans.clock)())),
                software: env!("CARGO_PKG_VERSION").to_owned(),
                federation: self.members.authority()?.deployment().to_owned(),
            },
            asked: Asked::of(&row),
            sides: sides(&level, &sites, &controls, &only_here),
            overlap: overlap(&report, &level, &sites)?,
            level,
            scan,
            folders,
            folders_omitted,
            only_here,
            census: report.census()?,
            sites,
            unread,
            unread_omitted,
            run_lengths,
            controls_omitted: controls.len().saturating_sub(LISTED_MAX) as u64,
            evidence: report.evidence()?,
            controls: Vec::new(),
        };
        audit.statement = statement::of(&audit, &controls);
        // Those that were missed are told first, and the others after them.
        controls.sort_by_key(|control| control.missed.is_empty());
        controls.truncate(LISTED_MAX);
        audit.controls = controls;
        Ok(audit)
    }

    /// The same as a signed document of JSON.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn audit_json(&self, id: ScanId, by: &str) -> Result<Vec<u8>, Error> {
        let audit = self.audit(id, by)?;
        let body = serde_json::to_string(&audit).map_err(|error| Error::Refused(error.to_string()))?;
        Signed::JSON.seal(body, self.members.authority()?)
    }

    /// The same as a signed page.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn audit_html(&self, id: ScanId, by: &str) -> Result<Vec<u8>, Error> {
        let audit = self.audit(id, by)?;
        let page = page::Page { audit: &audit }.render().map_err(|error| Error::Refused(error.to_string()))?;
        Signed::HTML.seal(page.trim_end().to_owned(), self.members.authority()?)
    }
}

impl Asked {
    fn of(row: &ScanRow) -> Asked {
        let spec = row.spec.clone().unwrap_or_default();
        let selection = spec.selection.unwrap_or_default();
        let templates = (0..row.layers()).flat_map(|layer| row.layer(layer).templates);
        let name = |place: &v1::RepositoryRef| format!("{}/{}", place.site, place.repository);
        Asked {
            by: row.launched_by.clone(),
            repositories: spec.repositories.iter().map(name).collect(),
            include: selection.include,
            exclude: selection.exclude,
            size_bytes_max: selection.size_bytes_max,
            follow_symlinks: spec.follow_symlinks,
            synced: !spec.no_sync,
            control: spec.control,
            templates: templates.map(|template| ScanId(template).to_string()).collect(),
        }
    }
}

/// The first rows of a list, and how many follow.
fn first<T>(
    list: impl FnOnce(&mut dyn FnMut(T) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<(Vec<T>, u64), Error> {
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

fn sides(level: &str, sites: &[SiteSection], controls: &[ControlRow], only_here: &[OnlyHereRow]) -> Vec<Side> {
    let mut names: Vec<&str> = sites.iter().map(|site| side_of(level, site)).collect();
    names.sort_unstable();
    names.dedup();
    // Of two views, the bytes are told first: what is of the text stands in its own rows.
    let first_view = only_here.first().and_then(|row| row.view.clone());
    let side = |name: &str| {
        let own = || sites.iter().filter(|site| side_of(level, site) == name);
        let alone = || {
            let is_own = |row: &&OnlyHereRow| if level == "party" { row.party == name } else { row.site == name };
            only_here.iter().filter(is_own).filter(|row| row.view == first_view)
        };
        Side {
            name: name.to_owned(),
            documents: own().map(|site| site.documents).sum(),
            bytes: own().map(|site| site.bytes).sum(),
            unreadable: own().map(|site| site.unreadable).sum(),
            controls: controls.iter().filter(|control| control.side == name).count() as u64,
            only_here_documents: alone().map(|row| row.documents).sum(),
            only_here_bytes: alone().map(|row| row.bytes).sum(),
        }
    };
    names.into_iter().map(side).collect()
}

fn overlap(report: &Report, level: &str, sites: &[SiteSection]) -> Result<Vec<Overlap>, Error> {
    let all = report.overlap()?.into_iter().zip(report.overlap_once()?);
    let total = |name: &str, count: fn(&SiteSection) -> u64| {
        sites.iter().filter(|site| side_of(level, site) == name).map(count).sum::<u64>()
    };
    let both = all.filter(|(row, _)| row.level == level).map(|(row, once)| {
        let of_text = row.view.as_deref() == Some("text");
        let bytes_total = |name: &str| {
            total(name, if of_text { |site| site.text_bytes.unwrap_or_default() } else { |site| site.bytes })
        };
        let direction = |of: &str, at: &str| Direction {
            of: of.to_owned(),
            at: at.to_owned(),
            documents: 0,
            documents_total: total(of, |site| site.documents),
            contents: 0,
            shared_bytes: 0,
            shared_once_bytes: 0,
            template_bytes: 0,
            bytes_total: bytes_total(of),
        };
        let directions = [
            Direction {
                documents: row.documents_a,
                contents: once.contents_a,
                shared_bytes: row.shared_bytes_a,
                shared_once_bytes: once.shared_bytes_a,
                template_bytes: row.template_bytes_a,
                ..direction(&row.a, &row.b)
            },
            Direction {
                documents: row.documents_b,
                contents: once.contents_b,
                shared_bytes: row.shared_bytes_b,
                shared_once_bytes: once.shared_bytes_b,
                template_bytes: row.template_bytes_b,
                ..direction(&row.b, &row.a)
            },
        ];
        Overlap { view: row.view.clone(), directions }
    });
    Ok(both.collect())
}
