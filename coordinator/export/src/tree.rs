//! A walk over the trees of two compared repositories, with the numbers of same, changed, moved and other documents of each folder, for every format.

use cognate_result::report::{ChangesRow, Report, TreeEntry};

/// Folders are not opened below this depth.
const DEPTH_MAX: usize = 32;

/// Takes a tree as it is walked: each folder before its entries.
pub(crate) trait Visit {
    /// A folder, with its path from the repository on; true to see its entries, after which [`Visit::end`] follows.
    fn folder(&mut self, path: &str, entry: &TreeEntry) -> crate::Result<bool>;
    /// A document of the folder that is open.
    fn document(&mut self, entry: &TreeEntry) -> crate::Result<()>;
    /// The end of a folder that was opened; true if it had more entries than were visited.
    fn end(&mut self, is_more: bool) -> crate::Result<()>;
}

/// Walks the folders of one of two repositories.
pub(crate) fn walk(report: &Report, row: &ChangesRow, visitor: &mut dyn Visit) -> crate::Result<()> {
    let name = format!("{}/{}", row.from_site, row.from_repository);
    let whole = TreeEntry {
        name,
        bytes: b"/".to_vec(),
        same: row.same,
        changed: row.changed,
        moved: row.moved,
        standard_text: row.standard_text,
        only: row.only,
        not_decided: row.not_decided,
        elsewhere: None,
    };
    if visitor.folder("", &whole)? {
        open(report, row, (&mut Vec::new(), &mut String::new()), 1, visitor)?;
    }
    Ok(())
}

fn open(
    report: &Report,
    row: &ChangesRow,
    (bytes, path): (&mut Vec<u8>, &mut String),
    depth: usize,
    visitor: &mut dyn Visit,
) -> crate::Result<()> {
    let (entries, is_more) = report.tree((&row.from_site, &row.from_repository), bytes)?;
    for entry in &entries {
        if !entry.is_folder() {
            visitor.document(entry)?;
            continue;
        }
        let before = (bytes.len(), path.len());
        bytes.extend(&entry.bytes);
        path.push_str(&entry.name);
        if visitor.folder(path, entry)? {
            if depth < DEPTH_MAX {
                open(report, row, (bytes, path), depth + 1, visitor)?;
            } else {
                visitor.end(true)?;
            }
        }
        bytes.truncate(before.0);
        path.truncate(before.1);
    }
    visitor.end(is_more)
}
