//! The list of clusters: filtered, sorted, in pages, with verdicts on rows or on all clusters of the filter.

use askama::Template;
use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::routing::get;
use cognate_proto::name::ScanId;

use super::verdicts::VERDICTS;
use super::{Paging, browsing, page_number};
use crate::{Fields, Page, Pages, Person, Shown, filters, html, scan_id};
use cognate_result::browse::{ClusterFilter, ClusterRow, Sort, Window};
use cognate_result::marks::Mark;
use cognate_storage::verdict::SavedFilter;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/scans/{id}/clusters", get(list))
}

#[derive(Template)]
#[template(path = "result/clusters.html")]
struct List {
    page: Page,
    id: ScanId,
    rows: Vec<(ClusterRow, Option<Mark>)>,
    paging: Paging,
    sites: Vec<String>,
    has_views: bool,
    fields: Fields,
    filter: ClusterFilter,
    sort: Sort,
    /// The filter and the order, as addresses have them.
    query: String,
    here: String,
    saved: Vec<SavedFilter>,
}

impl List {
    /// The value of a field of the filter.
    fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }

    fn has_site(&self, site: &str) -> bool {
        self.filter.sites.iter().any(|known| known == site)
    }

    /// True if the filter uses a field of the folded part.
    fn is_detailed(&self) -> bool {
        let first = ["site", "path", "verdict", "least", "across", "sort", "page"];
        let names = [
            "relation",
            "view",
            "frame",
            "least_max",
            "mean",
            "mean_max",
            "contains",
            "size",
            "size_max",
            "members",
            "members_max",
            "from",
            "to",
            "since",
        ];
        debug_assert!(names.iter().all(|name| !first.contains(name)), "a field is in one place");
        names.iter().any(|name| self.fields.is_set(name))
    }

    /// The columns: each with what it can be sorted by.
    fn columns(&self) -> [(&'static str, &'static [(&'static str, &'static str)]); 9] {
        [
            ("", &[("path", "Cluster"), ("id", "id")]),
            ("", &[("relation", "Kind"), ("sites", "Sites")]),
            ("num", &[("members", "Members"), ("documents", "Documents")]),
            ("num", &[("least", "Least alike")]),
            ("num", &[("mean", "Mean"), ("most", "Most")]),
            ("num", &[("containment", "Contained")]),
            ("num", &[("size", "Size"), ("links", "Links")]),
            ("num", &[("joined", "In common"), ("redundant", "Redundant"), ("shared", "Strongest link")]),
            ("num", &[("first", "Modified first"), ("last", "Last")]),
        ]
    }

    /// The name of the filter that is shown, if it has one.
    fn saved_here(&self) -> Option<&str> {
        self.saved.iter().find(|filter| filter.query == self.query).map(|filter| filter.name.as_str())
    }

    fn heading(&self, name: &str) -> Heading {
        let by = Sort::by(name).unwrap_or_default();
        let is_here = self.sort.name() == name;
        let next = if is_here { self.sort.reversed() } else { by };
        let query = self.filter.to_query();
        let separator = if query.is_empty() { "" } else { "&" };
        Heading {
            address: format!("/scans/{}/clusters?{query}{separator}sort={next}", self.id),
            order: match (is_here, self.sort.is_descending()) {
                (false, _) => "",
                (true, true) => "descending",
                (true, false) => "ascending",
            },
        }
    }
}

/// A heading that sorts.
struct Heading {
    address: String,
    order: &'static str,
}

/// The filter and the order of a query, and both as a query again.
pub(super) fn asked(
    query: Option<&str>,
    fields: &Fields,
) -> Result<(ClusterFilter, Sort, String), cognate_server::Error> {
    let filter: ClusterFilter = query.unwrap_or_default().parse()?;
    let sort: Sort = fields.text("sort").map_or(Ok(Sort::default()), str::parse)?;
    let mut written = filter.to_query();
    if sort != Sort::default() {
        written.push_str(if written.is_empty() { "" } else { "&" });
        written.push_str(&format!("sort={sort}"));
    }
    Ok((filter, sort, written))
}

async fn list(person: Person, Path(id): Path<String>, RawQuery(raw): RawQuery, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let (filter, sort, query) = asked(raw.as_deref(), &fields)?;
    let number = page_number(&fields)?;
    let window = Window { page: number - 1, ..Window::default() };
    let wanted = filter.clone();
    let (rows, total, sites, has_views) = browsing(&person, id, &filter, move |browse, store| {
        let page = browse.clusters(&wanted, sort, window)?;
        let mut rows = Vec::new();
        for row in page.rows {
            let mark = browse.mark_of_cluster(store, &row)?;
            rows.push((row, mark));
        }
        Ok((rows, page.total, browse.sites().to_vec(), browse.report().views().len() > 1))
    })
    .await?;
    let address = format!("/scans/{id}/clusters");
    let here = if query.is_empty() { address } else { format!("{address}?{query}") };
    let paging = Paging::of(number, window.rows, total, here.clone());
    let here = if number > 1 { format!("{}{number}", paging.address) } else { here };
    // Saved filters are for all people, and may contain names that a bound person must not see.
    let saved = if person.operator.viewer().is_bound() {
        Vec::new()
    } else {
        person.pages.services().records.store.saved_filters().map_err(cognate_server::Error::from)?
    };
    let page = person.page("scans");
    html(&List { page, id, rows, paging, sites, has_views, fields, filter, sort, query, here, saved })
}
