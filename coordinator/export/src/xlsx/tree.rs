//! The sheet of changes by folder.

use cognate_result::report::{Report, TreeEntry};

use super::{Book, Sheet};
use crate::grid::{Cell, Column, Kind, Rows as _, column};
use crate::tree::{Visit, walk};

/// Folders of a sheet, of both repositories together.
const FOLDERS_MAX: usize = 50_000;

const COLUMNS: [Column; 8] = [
    column("repository", "Repository", Kind::Text, 24),
    column("folder", "Folder", Kind::Text, 60),
    column("same", "Same", Kind::Count, 12),
    column("changed", "Changed", Kind::Count, 12),
    column("moved", "Moved", Kind::Count, 12),
    column("standard_text", "Standard text", Kind::Count, 14),
    column("not_decided", "Not decided", Kind::Count, 12),
    column("only", "Only", Kind::Count, 12),
];

/// Writes the sheet; nothing of a scan that is not of two repositories.
pub(super) fn sheet(report: &Report, book: &mut Book) -> crate::Result<()> {
    let rows = report.changes()?;
    if rows.is_empty() {
        return Ok(());
    }
    let sheet = book.list("Changes", "G. What became of the documents of each folder", &COLUMNS)?;
    let mut folders = Folders { sheet, repository: String::new(), left: FOLDERS_MAX };
    for row in &rows {
        folders.repository = format!("{}/{}", row.from_site, row.from_repository);
        walk(report, row, &mut folders)?;
    }
    folders.sheet.finish()
}

struct Folders<'b> {
    sheet: Sheet<'b>,
    repository: String,
    left: usize,
}

impl Visit for Folders<'_> {
    fn folder(&mut self, path: &str, entry: &TreeEntry) -> crate::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let counts = entry.counts().map(Cell::from);
        let folder = if path.is_empty() { "/" } else { path };
        self.sheet.row([vec![self.repository.as_str().into(), folder.into()], counts.into()].concat())?;
        // A folder that is wholly the same needs no rows below it.
        Ok(entry.same != entry.documents())
    }

    fn document(&mut self, _: &TreeEntry) -> crate::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: bool) -> crate::Result<()> {
        Ok(())
    }
}
