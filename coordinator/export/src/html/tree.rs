//! The tree of both repositories: folders to open, with what became of their documents.

use std::io::Write;

use cognate_result::report::{Report, TreeEntry};

use super::cells::Safe;
use crate::human::count;
use crate::legend::CHANGES;
use crate::tree::{Visit, walk};

/// Bytes of the tree of one repository: a larger one keeps its deeper folders closed.
const BYTES_MAX: usize = 1 << 20;

/// Writes the trees of two repositories; nothing of other scans.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let rows = report.changes()?;
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2 id=\"tree\">Changes by folder</h2>")?;
    for row in &rows {
        let mut folders = Folders { room: BYTES_MAX, closed: 0, html: String::new(), out };
        walk(report, row, &mut folders)?;
        let closed = folders.closed;
        folders.flush()?;
        if closed > 0 {
            writeln!(
                out,
                "<p class=\"soft\">{} folders cannot be opened here: the page would be too long.</p>",
                count(closed)
            )?;
        }
    }
    Ok(())
}

struct Folders<'o, W: Write> {
    room: usize,
    /// Folders with changes that stay closed.
    closed: u64,
    html: String,
    out: &'o mut W,
}

impl<W: Write> Folders<'_, W> {
    fn flush(&mut self) -> crate::Result<()> {
        self.room = self.room.saturating_sub(self.html.len());
        self.out.write_all(self.html.as_bytes())?;
        self.html.clear();
        Ok(())
    }
}

/// The numbers of an entry that are not 0, in words.
fn words(entry: &TreeEntry) -> String {
    let some = CHANGES.iter().zip(entry.counts()).filter(|(_, count)| *count > 0);
    some.map(|((word, _), many)| format!("{} {}", count(many), word)).collect::<Vec<_>>().join(", ")
}

impl<W: Write> Visit for Folders<'_, W> {
    fn folder(&mut self, path: &str, entry: &TreeEntry) -> crate::Result<bool> {
        self.flush()?;
        let is_all_same = entry.same == entry.documents();
        let opens = !is_all_same && self.room > 0;
        self.closed += u64::from(!is_all_same && !opens);
        let (name, words) = (Safe(&entry.name), words(entry));
        self.html += &match (opens, path.is_empty()) {
            (true, true) => format!("<details class=\"tree\" open><summary>{name} <small>{words}</small></summary>\n"),
            (true, false) => format!("<details class=\"tree\"><summary>{name} <small>{words}</small></summary>\n"),
            (false, _) => format!("<div class=\"leaf\">{name} <small>{words}</small></div>\n"),
        };
        Ok(opens)
    }

    fn document(&mut self, entry: &TreeEntry) -> crate::Result<()> {
        let fate = entry.counts().iter().position(|count| *count > 0);
        let word = fate.map_or("", |place| CHANGES[place].0);
        let there = entry.elsewhere.as_ref().map(|path| format!(", there at {}", Safe(path))).unwrap_or_default();
        self.html += &format!("<div class=\"leaf\">{} <small>{word}{there}</small></div>\n", Safe(&entry.name));
        Ok(())
    }

    fn end(&mut self, is_more: bool) -> crate::Result<()> {
        if is_more {
            self.html += "<div class=\"leaf\"><small>… and more entries</small></div>\n";
        }
        self.html += "</details>\n";
        self.flush()
    }
}
