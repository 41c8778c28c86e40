//! The list of scans, and the description of a scan in a line.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_export::human;
use cognate_proto::name::ScanId;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, ScanStatus};

use crate::{Fields, Page, Pages, Person, Shown, filters, html};

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/scans", get(list))
}

/// Scans on a page.
const ROWS: usize = 50;
/// Repositories that a line names.
const NAMED: usize = 3;

#[derive(Template)]
#[template(path = "scans.html")]
struct List {
    page: Page,
    scans: Vec<ScanRow>,
    number: usize,
    pages: usize,
    /// The text that scans were searched for, or empty.
    search: String,
}

/// A scan in a line.
pub(crate) struct ScanRow {
    pub(crate) id: String,
    /// What people call it, or empty.
    pub(crate) name: String,
    pub(crate) status: &'static str,
    pub(crate) started: i64,
    pub(crate) finished: i64,
    pub(crate) took: u64,
    pub(crate) repositories: String,
    pub(crate) all_repositories: String,
    pub(crate) method: String,
    pub(crate) by: String,
    pub(crate) origin: String,
    pub(crate) result_bytes: u64,
}

impl ScanRow {
    pub(crate) fn of(state: &v1::ScanState) -> ScanRow {
        let options = state.options.clone().unwrap_or_default();
        let names: Vec<String> = options.repositories.iter().map(repository).collect();
        let more = names.len().saturating_sub(NAMED);
        let mut repositories = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            repositories.push_str(&format!(" and {more} more"));
        }
        ScanRow {
            id: ScanId(state.scan).to_string(),
            name: state.name.clone(),
            status: status(state.status()),
            started: state.started,
            finished: state.finished,
            took: u64::try_from(state.finished.saturating_sub(state.started)).unwrap_or_default(),
            repositories,
            all_repositories: names.join(", "),
            method: method(&options),
            by: state.launched_by.clone(),
            origin: options.origin,
            result_bytes: state.result_bytes,
        }
    }
}

impl ScanRow {
    /// True if a text is in the name of the scan, its id, its repositories, or the name of the person; capitals do not matter.
    fn has(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let fields = [&self.name, &self.id, &self.all_repositories, &self.by, &self.origin];
        fields.into_iter().any(|field| field.to_lowercase().contains(&text))
    }
}

/// `site/repository`, or the site alone if the repository is another party's.
pub(crate) fn repository(reference: &v1::RepositoryRef) -> String {
    match reference.repository.as_str() {
        "" => reference.site.clone(),
        name => format!("{}/{name}", reference.site),
    }
}

/// A status in a word, as the command line says it.
pub(crate) fn status(status: ScanStatus) -> &'static str {
    match status {
        ScanStatus::Unspecified => "unknown",
        ScanStatus::Syncing => "syncing",
        ScanStatus::Analysing => "analysing",
        ScanStatus::Complete => "complete",
        ScanStatus::Partial => "partial",
        ScanStatus::Cancelled => "cancelled",
        ScanStatus::Failed => "failed",
    }
}

/// The method of a scan, in a few words. The default one needs no name.
pub(crate) fn method(options: &v1::ScanOptions) -> String {
    let method = match (options.method.as_str(), human::view(&options.view)) {
        ("tttd" | "", view) => view.to_owned(),
        (method, view) => format!("{method} over {view}"),
    };
    match options.sample_percent {
        Some(percent) => format!("{method}, a sample of {percent} %"),
        None => method,
    }
}

async fn list(person: Person, fields: Fields) -> Shown {
    let service = &person.pages.service;
    let states = service.list_scans(person.ask("ListScans", v1::ListScansRequest {})?).await?.into_inner().scans;
    let search = fields.text("search").unwrap_or_default().to_owned();
    let rows: Vec<ScanRow> = states.iter().map(ScanRow::of).filter(|row| row.has(&search)).collect();
    let pages = rows.len().div_ceil(ROWS).max(1);
    let number = usize::try_from(fields.number("page")?.unwrap_or(1)).unwrap_or(pages).clamp(1, pages);
    let scans = rows.into_iter().skip((number - 1) * ROWS).take(ROWS).collect();
    html(&List { page: person.page("scans"), scans, number, pages, search })
}
