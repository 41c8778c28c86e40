//! The lists of a report as columns and rows: folders, documents, files that could not be read, changes since a scan.

use cognate_result::report::{AlignmentRow, Change, DocumentSection, FolderPlace, FolderSection, UnreadSection};

use crate::grid::Kind::{Bytes, Count, Share, Text, Time};
use crate::grid::{Cell, Column, column, hidden};

/// The columns of a list of documents.
pub const DOCUMENTS: [Column; 22] = [
    column("status", "Status", Text, 12),
    column("site", "Site", Text, 12),
    column("repository", "Repository", Text, 12),
    column("path", "Path", Text, 60),
    hidden("path_escaped"),
    column("size_bytes", "Size", Bytes, 12),
    column("modified", "Modified", Time, 19),
    column("content", "Content digest", Text, 34),
    column("text_bytes", "Text", Bytes, 12),
    column("text_content", "Text digest", Text, 34),
    column("message_id_hash", "Message ID hash", Text, 34),
    column("partner_site", "Best partner at", Text, 14),
    column("partner_repository", "Its repository", Text, 14),
    column("partner_path", "Its path", Text, 60),
    hidden("partner_path_escaped"),
    column("partner_relation", "As", Text, 10),
    column("shared_bytes", "In common", Bytes, 12),
    column("share", "% in common", Share, 10),
    column("recognised", "Recognised text", Text, 16),
    column("outside_share", "% without standard text", Share, 12),
    column("elsewhere", "Elsewhere", Text, 12),
    column("undecided", "Not decided because", Text, 20),
];

/// A document with its status.
pub fn document(document: &DocumentSection) -> Vec<Cell> {
    let partner = document.partner.as_ref();
    vec![
        document.status.as_str().into(),
        document.site.as_str().into(),
        document.repository.as_str().into(),
        document.path.as_str().into(),
        Cell::yes(document.path_escaped.is_some()),
        document.size_bytes.into(),
        document.modified.as_str().into(),
        document.content.clone().into(),
        document.text_bytes.into(),
        document.text_content.clone().into(),
        document.message_id_hash.clone().into(),
        partner.map(|partner| partner.site.as_str()).into(),
        partner.map(|partner| partner.repository.as_str()).into(),
        partner.map(|partner| partner.path.as_str()).into(),
        Cell::yes(partner.is_some_and(|partner| partner.path_escaped.is_some())),
        partner.map(|partner| partner.relation.as_str()).into(),
        partner.map(|partner| partner.shared_bytes).into(),
        Cell::share(partner.and_then(|partner| partner.share)),
        Cell::yes(document.recognised.is_some()),
        Cell::share(partner.and_then(|partner| partner.outside_share)),
        document.elsewhere.clone().into(),
        document.undecided.clone().into(),
    ]
}

/// The columns of pairs of folders.
pub const FOLDERS: [Column; 17] = [
    column("relation", "A to B", Text, 11),
    column("site_a", "Site A", Text, 12),
    column("repository_a", "Repository A", Text, 12),
    column("path_a", "Folder A", Text, 45),
    hidden("path_a_escaped"),
    column("site_b", "Site B", Text, 12),
    column("repository_b", "Repository B", Text, 12),
    column("path_b", "Folder B", Text, 45),
    hidden("path_b_escaped"),
    column("documents_a", "Documents of A at B", Count, 19),
    column("documents_total_a", "of", Count, 9),
    column("documents_b", "Documents of B at A", Count, 19),
    column("documents_total_b", "of", Count, 9),
    column("shared_bytes_a", "Bytes of A at B", Bytes, 16),
    column("share_a", "Share of A", Share, 11),
    column("shared_bytes_b", "Bytes of B at A", Bytes, 16),
    column("share_b", "Share of B", Share, 11),
];

/// A pair of folders.
pub fn folder(pair: &FolderSection) -> Vec<Cell> {
    let path = |place: &FolderPlace| Cell::from(if place.path.is_empty() { "/" } else { place.path.as_str() });
    vec![
        pair.relation.as_str().into(),
        pair.a.site.as_str().into(),
        pair.a.repository.as_str().into(),
        path(&pair.a),
        Cell::yes(pair.a.path_escaped.is_some()),
        pair.b.site.as_str().into(),
        pair.b.repository.as_str().into(),
        path(&pair.b),
        Cell::yes(pair.b.path_escaped.is_some()),
        pair.documents_a.into(),
        pair.documents_total_a.into(),
        pair.documents_b.into(),
        pair.documents_total_b.into(),
        pair.shared_bytes_a.into(),
        Cell::share(pair.share_a),
        pair.shared_bytes_b.into(),
        Cell::share(pair.share_b),
    ]
}

/// The columns of folders that are compared with each other at different paths.
pub const ALIGNMENT: [Column; 6] = [
    column("folder_a", "Folder", Text, 60),
    column("repository_a", "Of", Text, 14),
    column("folder_b", "Compared with", Text, 60),
    column("repository_b", "Of", Text, 14),
    column("documents", "Documents of both", Count, 18),
    column("given", "Named in the options", Text, 20),
];

/// Two folders that are compared with each other.
pub fn aligned(row: &AlignmentRow) -> Vec<Cell> {
    let repository = |place: &FolderPlace| Cell::from(format!("{}/{}", place.site, place.repository));
    let path = |place: &FolderPlace| Cell::from(if place.path.is_empty() { "/" } else { place.path.as_str() });
    vec![path(&row.a), repository(&row.a), path(&row.b), repository(&row.b), row.documents.into(), Cell::yes(row.given)]
}

/// The columns of files that could not be read.
pub const UNREAD: [Column; 6] = [
    column("site", "Site", Text, 12),
    column("repository", "Repository", Text, 12),
    column("path", "Path", Text, 70),
    hidden("path_escaped"),
    column("reason", "Why", Text, 50),
    column("view", "View", Text, 7),
];

/// A file that could not be read.
pub fn unread(row: &UnreadSection) -> Vec<Cell> {
    vec![
        row.site.as_str().into(),
        row.repository.as_str().into(),
        row.path.as_str().into(),
        Cell::yes(row.path_escaped.is_some()),
        row.reason.as_str().into(),
        row.view.as_deref().into(),
    ]
}

/// The columns of sets and clusters that are new, changed or gone.
pub const CHANGES: [Column; 9] = [
    column("change", "Change", Text, 10),
    column("kind", "Kind", Text, 10),
    column("tier", "Same", Text, 13),
    column("documents", "Documents", Count, 11),
    column("bytes", "Bytes", Bytes, 14),
    column("sites", "Sites", Text, 30),
    column("first", "First document", Text, 70),
    column("view", "View", Text, 7),
    column("id", "Id", Text, 34),
];

/// A set or cluster that is `new`, `changed` or `gone`.
pub fn change(what: &str, change: &Change) -> Vec<Cell> {
    vec![
        what.into(),
        change.kind.into(),
        change.tier.into(),
        change.documents.into(),
        change.bytes.into(),
        change.sites.join(", ").into(),
        change.first.as_str().into(),
        change.view.as_deref().into(),
        change.id.as_str().into(),
    ]
}
