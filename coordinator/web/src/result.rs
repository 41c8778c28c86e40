//! The pages of a result: summary, clusters, identical sets, folders, documents, and verdicts.
//!
//! Each calls `browse`, on behalf of a person who may see the complete result, on a blocking thread so that other
//! requests are not delayed.

mod cluster;
mod clusters;
mod desk;
mod explain;
mod lists;
mod map;
mod pictures;
mod review;
mod sample;
mod tree;
mod verdicts;

pub(crate) use self::explain::explained;

use std::collections::BTreeMap;

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use cognate_proto::name::ScanId;

use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_export::answer::{moved_folders, sentences};
use cognate_export::contradicted::{CONTRADICTED, contradicted};
use cognate_export::expected::expected_error;
use cognate_export::legend::{CHANGES, RECOGNISED};
use cognate_export::recognised;
use cognate_export::{Format, overlap};
use cognate_result::browse::{Browse, ClusterFilter, Summary};
use cognate_result::report::{ChangesRow, STATUSES, SampleSection, SiteSection};
use cognate_server::Error;
use cognate_server::operator::blocking;
use cognate_storage::store::Store;

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/result", get(landing))
        .merge(desk::routes())
        .merge(explain::routes())
        .merge(lists::routes())
        .merge(review::routes())
        .merge(sample::routes())
        .merge(tree::routes())
        .merge(verdicts::routes())
}

/// Runs a query on a result, for a person who may see all of it.
///
/// # Errors
/// Fails if there is no result, this person may not see it, or it cannot be read.
pub(crate) async fn browsing<T: Send + 'static>(
    person: &Person,
    id: ScanId,
    filter: &ClusterFilter,
    work: impl FnOnce(&Browse, &Store) -> Result<T, Error> + Send + 'static,
) -> Result<T, PageError> {
    person.may("FetchResult")?;
    let (person, filter) = (person.clone(), filter.clone());
    let working = cognate_storage::disk::off_tasks(move || {
        let service = &person.pages.service;
        service.result_of(&person.operator, id)?;
        if let Some(since) = filter.since {
            service.check_result(&person.operator, since)?;
        }
        let services = &service.services;
        work(&*services.results.browse_for(id, &filter, &service.reader(&person.operator))?, &services.records.store)
    });
    Ok(working.await.map_err(|_| PageError::internal("a page crashed: see the log"))??)
}

/// The pages of a list.
struct Paging {
    /// Counted from 1.
    number: u64,
    pages: u64,
    total: u64,
    /// The address without the number of the page.
    address: String,
}

impl Paging {
    fn of(number: u64, rows: u64, total: u64, address: String) -> Paging {
        let separator = if address.contains('?') { "&" } else { "?" };
        Paging { number, pages: total.div_ceil(rows).max(1), total, address: format!("{address}{separator}page=") }
    }
}

/// More pages than any result has: what is asked for beyond them is an empty page.
const PAGES_MAX: u64 = 1 << 32;

/// The requested page of a list, from 1.
fn page_number(fields: &Fields) -> Result<u64, PageError> {
    Ok(fields.number("page")?.unwrap_or(1).clamp(1, PAGES_MAX))
}

#[derive(Template)]
#[template(path = "result/landing.html")]
struct Landing {
    exports: [Format; 7],
    /// True if the auditor's report is offered.
    is_audited: bool,
    page: Page,
    id: ScanId,
    summary: Summary,
    /// The answer in sentences.
    answer: Vec<String>,
    /// The compared repositories in a few words.
    title: String,
    statuses: Vec<StatusPart>,
    redundant_bytes: u64,
    identical_sets: u64,
    unread: u64,
    /// Documents with recognised text and those that are not compared by text, a line for each repository.
    scanned: Vec<String>,
    contradicted: Vec<String>,
    /// Sentences on how far reported shares are from the truth.
    expected_error: Vec<String>,
    matrices: Vec<Matrix>,
    /// The unit of their bytes.
    unit: &'static str,
    histograms: Vec<pictures::HistogramPicture>,
    is_log: bool,
    /// The full names of parties, by their names.
    party_names: BTreeMap<String, String>,
}

impl Landing {
    /// The party of a site for people; empty where one party needs no name.
    fn party<'a>(&'a self, site: &'a SiteSection) -> &'a str {
        match (self.party_names.get(&site.party), site.party.as_str()) {
            (Some(full_name), _) => full_name,
            (None, "home") => "",
            (None, party) => party,
        }
    }

    fn in_words(&self, status: &str) -> String {
        cognate_export::legend::in_words(status)
    }

    fn of(&self, site: &SiteSection, status: &str) -> u64 {
        site.status.get(status).copied().unwrap_or(0)
    }

    /// The page of a repository's folders.
    fn folders_of(&self, row: &ChangesRow) -> String {
        tree::address(self.id, row, &[])
    }

    /// Documents that are linked to others.
    fn similar(&self, site: &SiteSection) -> u64 {
        ["near", "contains", "contained", "shares"].iter().map(|status| self.of(site, status)).sum()
    }
}

/// A part of the bar of statuses.
struct StatusPart {
    name: String,
    documents: u64,
    /// In thousandths of the bar.
    from: u64,
    width: u64,
}

/// The overlap of sites, or parties, under one view.
struct Matrix {
    title: String,
    names: Vec<String>,
    /// For each, the share of its bytes that the others have, in ten-thousandths, and its documents.
    rows: Vec<Vec<Option<Cell>>>,
}

struct Cell {
    share: i64,
    documents: u64,
    bytes: u64,
    /// The share with what samples show besides; empty if they show nothing.
    estimated_share: String,
    /// Strength of the colour, 0 to 9.
    strength: i64,
}

async fn landing(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let mut summary = browsing(&person, id, &ClusterFilter::default(), |browse, _| Ok(browse.summary()?)).await?;
    let name = crate::scan::shown(&person, id).await?.name;
    let asking = person.clone();
    let samples = blocking(move || Ok(asking.pages.service.review(&asking.operator, id)?.samples)).await?;
    summary.scan.samples = samples.iter().map(SampleSection::of).collect();
    let is_log = fields.is_set("log");
    let mut answer = sentences(&summary.scan, &summary.overlap, &summary.changes);
    if summary.scan.estimates.is_empty() {
        answer.extend(moved_folders(&summary.aligned, summary.aligned_count));
    }
    let names = person.pages.services().records.store.full_names_of_parties().map_err(cognate_server::Error::from)?;
    html(&Landing {
        party_names: names,
        page: person.page("scans"),
        id,
        answer,
        title: if name.is_empty() { title(&summary.sites) } else { format!("{name}: {}", title(&summary.sites)) },
        statuses: statuses(&summary),
        redundant_bytes: summary.identical.iter().map(|totals| totals.wasted_bytes).sum(),
        identical_sets: summary.identical.iter().map(|totals| totals.sets).sum(),
        contradicted: contradicted(&summary.sites),
        expected_error: expected_error(&summary.scan),
        scanned: recognised::lines(&summary.sites),
        unread: summary.sites.iter().map(|site| site.unreadable).sum(),
        matrices: matrices(&summary),
        unit: overlap::compared(&summary.scan).unwrap_or("bytes"),
        histograms: summary.histograms.iter().map(|found| pictures::HistogramPicture::of(found, is_log)).collect(),
        is_log,
        exports: Format::OFFERED,
        is_audited: person.may("Audit").is_ok(),
        summary,
    })
}

/// The compared repositories, in the order of the launch: the first three, and the number of the others.
fn title(sites: &[SiteSection]) -> String {
    let names: Vec<String> = sites.iter().map(|site| format!("{}/{}", site.site, site.repository)).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [a, b, c, more @ ..] => format!("{a}, {b}, {c} and {} more", more.len()),
    }
}

fn statuses(summary: &Summary) -> Vec<StatusPart> {
    let mut before = 0;
    let all = summary.documents.max(1);
    let place = |documents: u64| u64::try_from(u128::from(documents) * 1000 / u128::from(all)).unwrap_or(1000);
    let mut parts = Vec::new();
    for name in STATUSES {
        let documents = summary.status.get(name).copied().unwrap_or(0);
        if documents > 0 {
            let (from, to) = (place(before), place(before + documents));
            before += documents;
            // A part that is not empty has to be visible.
            parts.push(StatusPart { name: name.to_owned(), documents, from, width: (to - from).max(2) });
        }
    }
    parts
}

fn matrices(summary: &Summary) -> Vec<Matrix> {
    let tables = overlap::Matrix::of_rows(&summary.overlap);
    tables.into_iter().map(matrix).collect()
}

/// The same table as in other formats, with colours.
fn matrix(table: overlap::Matrix) -> Matrix {
    let cell = |a: &String, b: &String| {
        let common = table.of_at(a, b)?;
        let share = common.share().0.min(10_000);
        Some(Cell {
            share,
            documents: common.documents,
            bytes: common.bytes,
            estimated_share: common.estimated_share().trim_start_matches(", ").to_owned(),
            strength: (share + 1110) * 9 / 11_110,
        })
    };
    let title = if table.level == "party" { "Party by party" } else { "Site by site" }.to_owned();
    let rows = table.names.iter().map(|a| table.names.iter().map(|b| cell(a, b)).collect()).collect();
    Matrix { title, names: table.names, rows }
}
