//! Identical sets, folders, and documents by status.

use askama::Template;
use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::routing::get;
use cognate_proto::name::ScanId;

use super::verdicts::VERDICTS;
use super::{Paging, browsing, page_number};
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_result::browse::{ClusterFilter, DocumentQuery, DocumentRow, Place, SetFilter, SetRow, Window};
use cognate_result::marks::Mark;
use cognate_result::report::{FolderSection, STATUSES};
use cognate_server::Error;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/identical", get(identical))
        .route("/scans/{id}/identical/{set}", get(set))
        .route("/scans/{id}/folders", get(folders))
        .route("/scans/{id}/documents", get(documents))
}

#[derive(Template)]
#[template(path = "result/identical.html")]
struct Sets {
    page: Page,
    id: ScanId,
    rows: Vec<(SetRow, Option<Mark>)>,
    paging: Paging,
    sites: Vec<String>,
    fields: Fields,
    here: String,
}

impl Sets {
    /// The value of a field of the filter.
    fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }
}

async fn identical(person: Person, Path(id): Path<String>, RawQuery(raw): RawQuery, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let filter = SetFilter::parse(raw.as_deref().unwrap_or_default()).map_err(Error::from)?;
    let number = page_number(&fields)?;
    let window = Window { page: number - 1, ..Window::default() };
    let query = filter.to_query();
    let (rows, total, sites) = browsing(&person, id, &ClusterFilter::default(), move |browse, store| {
        let page = browse.sets(&filter, window)?;
        let mut rows = Vec::new();
        for row in page.rows {
            let mark = browse.mark_of_set(store, &row)?;
            rows.push((row, mark));
        }
        Ok((rows, page.total, browse.sites().to_vec()))
    })
    .await?;
    let here = with(format!("/scans/{id}/identical"), &query);
    let paging = Paging::of(number, window.rows, total, here.clone());
    html(&Sets { page: person.page("scans"), id, rows, paging, sites, fields, here })
}

#[derive(Template)]
#[template(path = "result/set.html")]
struct OneSet {
    page: Page,
    id: ScanId,
    set: SetRow,
    mark: Option<Mark>,
    documents: Vec<Place>,
    paging: Paging,
    here: String,
}

async fn set(person: Person, Path((id, set)): Path<(String, String)>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let number = page_number(&fields)?;
    let window = Window { page: number - 1, rows: 200 };
    let found = browsing(&person, id, &ClusterFilter::default(), move |browse, store| {
        let Some(row) = browse.set_called(&set)? else { return Ok(None) };
        Ok(Some((browse.set_documents(&row, window)?, browse.mark_of_set(store, &row)?, row)))
    })
    .await?;
    let (documents, mark, set) = found.ok_or_else(PageError::not_found)?;
    let here = format!("/scans/{id}/identical/{}", set.id);
    let paging = Paging::of(number, window.rows, set.documents, here.clone());
    html(&OneSet { page: person.page("scans"), id, set, mark, documents, paging, here })
}

#[derive(Template)]
#[template(path = "result/folders.html")]
struct Folders {
    page: Page,
    id: ScanId,
    rows: Vec<FolderSection>,
    paging: Paging,
}

async fn folders(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let number = page_number(&fields)?;
    let window = Window { page: number - 1, ..Window::default() };
    let (rows, total) = browsing(&person, id, &ClusterFilter::default(), move |browse, _| {
        let offset = usize::try_from(window.page.saturating_mul(window.rows)).unwrap_or(usize::MAX);
        let rows = browse.report().folder_page(usize::try_from(window.rows).unwrap_or(50), offset)?;
        Ok((rows, browse.folder_count()?))
    })
    .await?;
    let paging = Paging::of(number, window.rows, total, format!("/scans/{id}/folders"));
    html(&Folders { page: person.page("scans"), id, rows, paging })
}

#[derive(Template)]
#[template(path = "result/documents.html")]
struct Documents {
    page: Page,
    id: ScanId,
    rows: Vec<DocumentRow>,
    paging: Paging,
    sites: Vec<String>,
    fields: Fields,
}

impl Documents {
    /// The value of a field of the filter.
    fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }

    fn statuses(&self) -> [&'static str; 9] {
        STATUSES
    }
}

async fn documents(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let number = page_number(&fields)?;
    let window = Window { page: number - 1, ..Window::default() };
    let query = DocumentQuery::parse(fields.pairs()).map_err(Error::from)?;
    let written = query.to_query();
    let (page, sites) = browsing(&person, id, &ClusterFilter::default(), move |browse, _| {
        Ok((browse.documents(&query, window)?, browse.sites().to_vec()))
    })
    .await?;
    let paging = Paging::of(number, window.rows, page.total, with(format!("/scans/{id}/documents"), &written));
    html(&Documents { page: person.page("scans"), id, rows: page.rows, paging, sites, fields })
}

fn with(address: String, query: &str) -> String {
    if query.is_empty() { address } else { format!("{address}?{query}") }
}
