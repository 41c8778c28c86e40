//! Lists with one row an entry: folders, files that could not be read, and any list alone.

use std::io::Write;

use crate::Error;
use cognate_result::report::Report;

use super::cells::{td, th};
use super::elsewhere;
use crate::grid::{Cell, Column};
use crate::human::count;
use crate::lists::{self as rows, ALIGNMENT, FOLDERS, UNREAD};

/// The bytes of markup that each list of a report may come to.
const BYTES_MAX: usize = 1 << 20;
/// The same of a list that is the whole page.
pub(super) const ALONE_BYTES_MAX: usize = 16 << 20;

/// A list while it is written: cut at its limit, with a count of the rest.
pub(super) struct List<'c, 'o> {
    out: &'o mut dyn Write,
    columns: Vec<(usize, &'c Column)>,
    room: usize,
    shown: u64,
    all: u64,
}

impl<'c, 'o> List<'c, 'o> {
    pub(super) fn begin(columns: &'c [Column], room: usize, out: &'o mut dyn Write) -> crate::Result<List<'c, 'o>> {
        let columns: Vec<(usize, &Column)> =
            columns.iter().enumerate().filter(|(_, column)| column.title.is_some()).collect();
        Ok(List { out, columns, room, shown: 0, all: 0 })
    }

    pub(super) fn push(&mut self, cells: &[Cell]) -> crate::Result<()> {
        self.all += 1;
        if self.shown + 1 < self.all {
            return Ok(());
        }
        let mut row = String::from("<tr>");
        for (place, column) in &self.columns {
            row.push_str(&td(&cells[*place], column));
        }
        row.push_str("</tr>\n");
        if row.len() > self.room {
            return Ok(());
        }
        if self.shown == 0 {
            head(false, self.columns.iter().map(|(_, column)| *column), self.out)?;
            writeln!(self.out, "<tbody>")?;
        }
        self.room -= row.len();
        self.shown += 1;
        Ok(self.out.write_all(row.as_bytes())?)
    }

    pub(super) fn end(self, whole: &str) -> crate::Result<()> {
        match (self.shown, self.all) {
            (_, 0) => writeln!(self.out, "<p>None.</p>")?,
            (0, _) => {}
            _ => writeln!(self.out, "</tbody></table></div>")?,
        }
        rest(self.shown, self.all, whole, self.out)
    }
}

/// The beginning of a table, up to its rows.
pub(super) fn head<'c>(
    folds: bool,
    columns: impl Iterator<Item = &'c Column>,
    out: &mut (impl Write + ?Sized),
) -> crate::Result<()> {
    tools(folds, out)?;
    write!(out, "<div class=\"scroll\"><table data-list><thead><tr>")?;
    for column in columns {
        out.write_all(th(column).as_bytes())?;
    }
    Ok(writeln!(out, "</tr></thead>")?)
}

/// The search field of a list; it appears with the script.
fn tools(folds: bool, out: &mut (impl Write + ?Sized)) -> crate::Result<()> {
    let folding = match folds {
        true => {
            "<button type=\"button\" data-fold=\"close\">Fold all</button><button type=\"button\" data-fold=\"open\">Open all</button>"
        }
        false => "",
    };
    writeln!(
        out,
        "<div class=\"tools\"><input type=\"search\" placeholder=\"Only rows with these words\" aria-label=\"Only rows with these words\">{folding}<output class=\"soft\"></output></div>"
    )?;
    Ok(())
}

/// The number of rows that are left out, never silently.
pub(super) fn rest(shown: u64, all: u64, whole: &str, out: &mut (impl Write + ?Sized)) -> crate::Result<()> {
    if shown < all {
        let (shown, all) = (count(shown), count(all));
        writeln!(out, "<p class=\"note\">The first {shown} of {all} are shown. {}</p>", super::Safe(whole))?;
    }
    Ok(())
}

pub(super) fn folders(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    writeln!(out, "<h2 id=\"folders\">Folders that hold documents of each other</h2>")?;
    let whole = elsewhere(report, "xlsx")?;
    let mut list = List::begin(&FOLDERS, BYTES_MAX, out)?;
    report.folders::<Error>(|pair| list.push(&rows::folder(&pair)))?;
    list.end(&whole)
}

/// The folders that are compared with each other at different paths, if any.
pub(super) fn alignment(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let rows = report.alignment_rows()?;
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3 id=\"alignment\">Folders at different paths that are compared with each other</h3>")?;
    let whole = elsewhere(report, "xlsx")?;
    let mut list = List::begin(&ALIGNMENT, BYTES_MAX, out)?;
    rows.iter().try_for_each(|row| list.push(&rows::aligned(row)))?;
    list.end(&whole)
}

pub(super) fn unread(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    writeln!(out, "<h2 id=\"unread\">What could not be read</h2>")?;
    let whole = elsewhere(report, "xlsx")?;
    let mut list = List::begin(&UNREAD, BYTES_MAX, out)?;
    report.unread::<Error>(|row| list.push(&rows::unread(&row)))?;
    list.end(&whole)
}
