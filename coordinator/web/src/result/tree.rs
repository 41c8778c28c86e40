//! What became of the documents of two repositories, folder by folder: the same, changed, elsewhere, or only there.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use cognate_proto::name::ScanId;
use data_encoding::HEXLOWER;

use super::browsing;
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_export::legend::CHANGES;
use cognate_result::browse::ClusterFilter;
use cognate_result::report::{ChangesRow, TreeEntry};

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/scans/{id}/tree/{site}/{repository}", get(tree))
}

#[derive(Template)]
#[template(path = "result/tree.html")]
struct Tree {
    page: Page,
    id: ScanId,
    /// The repository whose folders are shown, and the other one.
    row: ChangesRow,
    /// The folders above, from the repository on: their names and addresses.
    above: Vec<(String, String)>,
    entries: Vec<TreeEntry>,
    is_more: bool,
    folder: Vec<u8>,
}

impl Tree {
    /// The column of a document: the same, changed, elsewhere, standard text, not decided, only here.
    fn marks(&self, entry: &TreeEntry) -> Vec<bool> {
        entry.counts().map(|count| count > 0).into()
    }

    fn address(&self, entry: &TreeEntry) -> String {
        address(self.id, &self.row, &[&self.folder[..], &entry.bytes].concat())
    }
}

/// The address of a folder.
pub(super) fn address(id: ScanId, row: &ChangesRow, folder: &[u8]) -> String {
    let address = format!("/scans/{id}/tree/{}/{}", row.from_site, row.from_repository);
    if folder.is_empty() { address } else { format!("{address}?folder={}", HEXLOWER.encode(folder)) }
}

async fn tree(person: Person, Path((id, site, repository)): Path<(String, String, String)>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let folder = HEXLOWER.decode(fields.text("folder").unwrap_or_default().as_bytes());
    let folder = folder.map_err(|_| PageError::not_found())?;
    let wanted = folder.clone();
    let every = ClusterFilter::default();
    let found = browsing(&person, id, &every, move |browse, _| {
        let report = browse.report();
        let row = report.changes()?.into_iter().find(|row| row.from_site == site && row.from_repository == repository);
        Ok((row, report.tree((&site, &repository), &wanted)?))
    });
    let (row, (entries, is_more)) = found.await?;
    let row = row.ok_or_else(PageError::not_found)?;
    let mut above = vec![(format!("{}/{}", row.from_site, row.from_repository), address(id, &row, &[]))];
    for end in folder.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(place, _)| place + 1) {
        let begin = folder[..end - 1].iter().rposition(|byte| *byte == b'/').map_or(0, |place| place + 1);
        let name = String::from_utf8_lossy(&folder[begin..end - 1]).into_owned();
        above.push((name, address(id, &row, &folder[..end])));
    }
    html(&Tree { page: person.page("scans"), id, row, above, entries, is_more, folder })
}
