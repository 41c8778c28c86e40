//! One cluster: its members compared with the pivot, the places of their common parts, its links, and the parts that
//! remain above a threshold; and the next cluster.

use askama::Template;
use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::routing::get;
use cognate_proto::name::ScanId;

use super::clusters::asked;
use super::map::OverlapMap;
use super::pictures::Graph;
use super::verdicts::VERDICTS;
use super::{Paging, browsing, page_number};
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_result::browse::{
    ClusterFilter, ClusterPage, ClusterQuery, ClusterRow, LinkView, MemberRow, Place, Window,
};
use cognate_result::marks::Mark;
use cognate_storage::verdict::sixteen;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/scans/{id}/clusters/{view}/{name}", get(cluster))
}

/// Links that are listed; the others are in the picture and in the exports.
const LINKS: usize = 100;

#[derive(Template)]
#[template(path = "result/cluster.html")]
struct One {
    page: Page,
    id: ScanId,
    cluster: ClusterPage,
    mark: Option<Mark>,
    members: Vec<(MemberRow, Vec<Option<Mark>>)>,
    map: OverlapMap,
    graph: Graph,
    paging: Paging,
    before: Option<ClusterRow>,
    after: Option<ClusterRow>,
    /// The filter and the order of the list that it was reached from.
    query: String,
    here: String,
    threshold: i64,
    pivot: String,
}

impl One {
    fn links(&self) -> &[LinkView] {
        &self.cluster.links[..self.cluster.links.len().min(LINKS)]
    }

    /// The address of a cluster of the same list.
    fn address(&self, row: &ClusterRow) -> String {
        let separator = if self.query.is_empty() { "" } else { "?" };
        format!("/scans/{}/clusters/{}/{}{separator}{}", self.id, row.view, row.id, self.query)
    }

    /// The page that follows a verdict.
    fn next(&self) -> String {
        let list = || {
            let separator = if self.query.is_empty() { "" } else { "?" };
            format!("/scans/{}/clusters{separator}{}", self.id, self.query)
        };
        self.after.as_ref().map_or_else(list, |row| self.address(row))
    }

    /// The filter and the order again, for forms that show the same cluster with other options.
    fn asked(&self) -> Vec<(String, String)> {
        form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }

    fn with_pivot(&self, digest: &str) -> String {
        let separator = if self.query.is_empty() { "" } else { "&" };
        let threshold = if self.threshold > 0 { format!("&threshold={}", self.threshold) } else { String::new() };
        let row = &self.cluster.cluster;
        let address = format!("/scans/{}/clusters/{}/{}", self.id, row.view, row.id);
        format!("{address}?{}{separator}pivot={digest}{threshold}", self.query)
    }

    /// The address of the comparison of a member with the pivot.
    fn with_member(&self, member: &MemberRow) -> String {
        let named = |member: &MemberRow| member.documents.first().map(Place::named).unwrap_or_default();
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("a", &named(&self.cluster.pivot)).append_pair("b", &named(member));
        format!("/scans/{}/explain?{}", self.id, query.finish())
    }

    /// True if a link is weaker than the threshold.
    fn is_dropped(&self, link: &LinkView) -> bool {
        link.resemblance.is_some_and(|resemblance| resemblance.0 < self.threshold * 100)
    }

    fn has_estimates(&self) -> bool {
        self.cluster.links.iter().any(|link| link.estimated)
    }
}

async fn cluster(
    person: Person,
    Path((id, view, name)): Path<(String, String, String)>,
    RawQuery(raw): RawQuery,
    fields: Fields,
) -> Shown {
    let id = scan_id(&id)?;
    let (filter, sort, query) = asked(raw.as_deref(), &fields)?;
    let number = page_number(&fields)?;
    let threshold = fields.number("threshold")?.unwrap_or(0).min(100);
    let threshold = i64::try_from(threshold).unwrap_or(0);
    let pivot = fields.text("pivot").map(str::to_owned);
    let wanted = ClusterQuery {
        pivot: pivot.clone(),
        threshold: threshold * 100,
        window: Window { page: number - 1, ..Window::default() },
    };
    let rows = wanted.window.rows;
    let results = std::sync::Arc::clone(&person.pages.services().results);
    let asked: ClusterFilter = filter.clone();
    let found = browsing(&person, id, &filter, move |browse, store| {
        let Some(row) = browse.cluster_called(&view, &name)? else { return Ok(None) };
        let (before, after) = browse.neighbours(&asked, sort, row.number)?;
        let Some(cluster) = browse.cluster(row.number, &wanted)? else { return Ok(None) };
        let mark = browse.mark_of_cluster(store, &cluster.cluster)?;
        let mut members = Vec::new();
        for member in &cluster.members.rows {
            let mut marks = Vec::new();
            for place in &member.documents {
                let at = (place.site.as_str(), place.repository.as_str(), place.bytes.as_slice());
                marks.push(browse.mark_of_document(store, at, (&row.view, &member.digest))?);
            }
            members.push((member.clone(), marks));
        }
        let layer = browse.report().views().iter().position(|known| *known == row.view).unwrap_or(0);
        // The pivot is first on every page of the members.
        let mut shown: Vec<(usize, [u8; 16])> = Vec::new();
        for member in std::iter::once(&cluster.pivot).chain(&cluster.members.rows) {
            if !shown.iter().any(|(place, _)| *place == member.place) {
                shown.push((member.place, sixteen(&member.digest).unwrap_or_default()));
            }
        }
        let map = OverlapMap::of(&results, id, layer, &shown)?;
        Ok(Some((cluster, mark, members, map, before, after)))
    })
    .await?;
    let (cluster, mark, members, map, before, after) = found.ok_or_else(PageError::not_found)?;
    let address = format!("/scans/{id}/clusters/{}/{}", cluster.cluster.view, cluster.cluster.id);
    let here = if query.is_empty() { address } else { format!("{address}?{query}") };
    html(&One {
        page: person.page("scans"),
        id,
        graph: Graph::of(&cluster, threshold * 100),
        paging: Paging::of(number, rows, cluster.members.total, here.clone()),
        cluster,
        mark,
        members,
        map,
        before,
        after,
        query,
        here,
        threshold,
        pivot: pivot.unwrap_or_default(),
    })
}
