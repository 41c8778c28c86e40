//! A report as a workbook. Rows are written as they come, so that memory does not grow with them, except for sheets
//! whose rows fold; a list that is longer than a sheet continues in the next.

mod groups;
mod summary;
mod tree;

use std::io::Write;

use crate::Error;
use cognate_proto::path::printable;
use cognate_result::report::Report;
use rust_xlsxwriter::{Color, DocProperties, ExcelDateTime, Format, FormatAlign, Workbook, Worksheet};

use crate::grid::{Cell, Column, Kind, Rows};
use crate::table::is_formula;
use crate::{human, lists};

/// The rows of a sheet, as Excel has them.
const SHEET_ROWS: u32 = 1_048_576;
/// The characters of a cell, as Excel has them.
const CELL_UNITS: usize = 32_767;
/// The columns of a list that fit on paper: the first ones.
const PRINTED_COLUMNS: u16 = 11;
/// The height of a row unless set otherwise.
const ROW_POINTS: f64 = 15.0;
/// Rows of a sheet that folds: it is held in memory until it is written, some 2 KiB a row. Longer ones do not fold.
const FOLDING_ROWS_MAX: u64 = 100_000;
/// Rows above those of a list: its title and its headings.
const HEAD_ROWS: u32 = 2;

/// Writes the complete report.
pub(super) fn write(report: &Report, out: &mut (impl Write + Send)) -> crate::Result<()> {
    let mut book = Book::new();
    groups::clusters(report, &mut book)?;
    groups::identical(report, &mut book)?;
    let mut sheet = book.list("Folders", "C. Folders that hold documents of each other", &lists::FOLDERS)?;
    report.folders::<Error>(|pair| sheet.row(lists::folder(&pair)))?;
    sheet.finish()?;
    let mut sheet = book.list("Documents", "D. Every document with its status", &lists::DOCUMENTS)?;
    report.documents::<Error>(|document| sheet.row(lists::document(&document)))?;
    sheet.finish()?;
    let mut sheet = book.list("Unread", "E. What could not be read", &lists::UNREAD)?;
    report.unread::<Error>(|row| sheet.row(lists::unread(&row)))?;
    sheet.finish()?;
    let aligned = report.alignment_rows()?;
    if !aligned.is_empty() {
        let title = "F. Folders at different paths that are compared with each other";
        let mut sheet = book.list("Alignment", title, &lists::ALIGNMENT)?;
        aligned.iter().try_for_each(|row| sheet.row(lists::aligned(row)))?;
        sheet.finish()?;
    }
    tree::sheet(report, &mut book)?;
    let summary = summary::sheet(report, &book)?;
    book.save(Some(summary), out)
}

/// Writes one list.
pub fn write_list(
    name: &str,
    title: &str,
    columns: &[Column],
    fill: impl FnOnce(&mut dyn Rows) -> crate::Result<()>,
    out: &mut (impl Write + Send),
) -> crate::Result<()> {
    let mut book = Book::new();
    let mut sheet = book.list(name, title, columns)?;
    fill(&mut sheet)?;
    sheet.finish()?;
    book.save(None, out)
}

/// The workbook as it is written.
struct Book {
    workbook: Workbook,
    formats: Formats,
    /// The content of each sheet: its name and number of rows.
    written: Vec<(String, u32)>,
}

struct Formats {
    title: Format,
    heading: Format,
    number_heading: Format,
    group: Format,
    text: Format,
    /// For text that a spreadsheet would take for a formula once somebody edits the cell.
    quoted: Format,
    count: Format,
    share: Format,
    time: Format,
    bold_count: Format,
    bold_share: Format,
    pale: Format,
}

impl Formats {
    fn new() -> Formats {
        let bold = Format::new().set_bold();
        let heading =
            bold.clone().set_background_color(Color::RGB(0x00E3_E8EE)).set_align(FormatAlign::Top).set_text_wrap();
        Formats {
            title: bold.clone().set_font_size(13),
            heading: heading.clone().set_align(FormatAlign::Left).set_indent(1),
            number_heading: heading.set_align(FormatAlign::Right),
            group: bold.clone().set_indent(1),
            text: Format::new().set_indent(1),
            quoted: Format::new().set_quote_prefix().set_indent(1),
            count: Format::new().set_num_format("#,##0"),
            share: Format::new().set_num_format("0.0%"),
            time: Format::new().set_num_format("yyyy-mm-dd hh:mm:ss"),
            bold_count: bold.clone().set_num_format("#,##0"),
            bold_share: bold.set_num_format("0.0%"),
            pale: Format::new().set_font_color(Color::RGB(0x0080_8080)).set_num_format("0"),
        }
    }
}

impl Book {
    fn new() -> Book {
        Book { workbook: Workbook::new(), formats: Formats::new(), written: Vec::new() }
    }

    /// Begins a list of its own sheet, or sheets.
    fn list(&mut self, name: &str, title: &str, columns: &[Column]) -> crate::Result<Sheet<'_>> {
        let columns: Vec<(usize, Column)> =
            columns.iter().copied().enumerate().filter(|(_, column)| column.title.is_some()).collect();
        let mut sheet = Sheet {
            book: self,
            worksheet: Worksheet::new(),
            name: name.to_owned(),
            title: title.to_owned(),
            columns,
            part: 0,
            next: HEAD_ROWS,
            rows_max: SHEET_ROWS,
            folds: false,
        };
        sheet.begin()?;
        Ok(sheet)
    }

    /// Begins a list whose members fold below their groups, where its rows are not too many for that.
    fn folding_list(&mut self, name: &str, title: &str, columns: &[Column], rows: u64) -> crate::Result<Sheet<'_>> {
        let folds = rows <= FOLDING_ROWS_MAX;
        let title = match folds {
            true => title.to_owned(),
            false => format!("{title} (too many rows to fold: filter by the number, or sort)"),
        };
        let mut sheet = self.list(name, &title, columns)?;
        if folds {
            sheet.folds = true;
            sheet.part = 0;
            sheet.begin()?;
        }
        Ok(sheet)
    }

    /// Writes the file; the summary comes first.
    fn save(mut self, summary: Option<Worksheet>, out: &mut (impl Write + Send)) -> crate::Result<()> {
        if let Some(summary) = summary {
            self.workbook.worksheets_mut().insert(0, summary);
        }
        // Equal reports are equal files: the moment of writing is left out.
        let created = ExcelDateTime::from_ymd(2000, 1, 1)?;
        self.workbook.set_properties(&DocProperties::new().set_creation_datetime(&created).set_author("cognate"));
        Ok(self.workbook.save_to_writer(out)?)
    }
}

/// A list while it is written: a sheet, and the next where that is full.
struct Sheet<'a> {
    book: &'a mut Book,
    worksheet: Worksheet,
    name: String,
    title: String,
    /// Those for people, with their places among all.
    columns: Vec<(usize, Column)>,
    part: u32,
    next: u32,
    rows_max: u32,
    folds: bool,
}

/// The look of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    /// The first row of a group.
    Group,
    /// A row below it, which folds away.
    Member,
}

impl Sheet<'_> {
    fn begin(&mut self) -> crate::Result<()> {
        self.part += 1;
        if self.part == 2 {
            let name = &self.name;
            tracing::warn!(
                "`{name}` has more rows than a sheet can hold: it goes on in `{name} (2)`; csv and sqlite know no such end"
            );
        }
        self.next = HEAD_ROWS;
        // A sheet that is written row by row has no outline.
        let mut worksheet = match self.folds {
            true => Worksheet::new(),
            false => self.book.workbook.new_worksheet_with_constant_memory()?,
        };
        let name = if self.part == 1 { self.name.clone() } else { format!("{} ({})", self.name, self.part) };
        worksheet.set_name(&name)?;
        worksheet.group_symbols_above(true);
        let formats = &self.book.formats;
        for (place, (_, column)) in (0u16..).zip(&self.columns) {
            worksheet.set_column_width(place, column.width)?;
        }
        worksheet.set_freeze_panes(HEAD_ROWS, 0)?;
        worksheet.set_landscape();
        worksheet.set_print_fit_to_pages(1, 0);
        worksheet.set_repeat_rows(0, HEAD_ROWS - 1)?;
        let title = if self.part == 1 { self.title.clone() } else { format!("{} (continued)", self.title) };
        worksheet.write_string_with_format(0, 0, shown(&title), &formats.title)?;
        for (place, (_, column)) in (0u16..).zip(&self.columns) {
            let format = if column.kind.is_number() { &formats.number_heading } else { &formats.heading };
            worksheet.write_string_with_format(1, place, column.title.unwrap_or_default(), format)?;
        }
        self.worksheet = worksheet;
        Ok(())
    }

    /// Ends the sheet that is open.
    fn end(&mut self) -> crate::Result<()> {
        let mut worksheet = std::mem::take(&mut self.worksheet);
        let last = u16::try_from(self.columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let last_row = self.next.max(HEAD_ROWS + 1) - 1;
        worksheet.autofilter(HEAD_ROWS - 1, 0, last_row, last)?;
        worksheet.set_print_area(0, 0, last_row, last.min(PRINTED_COLUMNS - 1))?;
        self.book.written.push((worksheet.name(), self.next - HEAD_ROWS));
        self.book.workbook.push_worksheet(worksheet);
        Ok(())
    }

    fn finish(mut self) -> crate::Result<()> {
        self.end()
    }

    /// Makes sure that a group is on one sheet, where one can hold it.
    fn reserve(&mut self, rows: usize) -> crate::Result<()> {
        let rows_left = usize::try_from(self.rows_max - self.next).unwrap_or(usize::MAX);
        if rows > rows_left && self.next > HEAD_ROWS {
            self.end()?;
            self.begin()?;
        }
        Ok(())
    }

    fn push(&mut self, cells: &[Cell], look: Look) -> crate::Result<()> {
        if self.next >= self.rows_max {
            self.end()?;
            self.begin()?;
        }
        let row = self.next;
        self.next += 1;
        if look == Look::Member && self.folds {
            // The crate writes the depth of the outline only for a row that it knows already; without it no outline is
            // shown.
            self.worksheet.set_row_height(row, ROW_POINTS)?;
            self.worksheet.group_rows(row, row)?;
        }
        for (place, (number, column)) in (0u16..).zip(&self.columns) {
            put(&mut self.worksheet, &self.book.formats, (row, place), &cells[*number], column.kind, look)?;
        }
        Ok(())
    }
}

impl Rows for Sheet<'_> {
    fn row(&mut self, cells: Vec<Cell>) -> crate::Result<()> {
        self.push(&cells, Look::Plain)
    }
}

/// Writes a cell. Text is written as text, even if it begins like a formula.
fn put(
    worksheet: &mut Worksheet,
    formats: &Formats,
    (row, column): (u32, u16),
    cell: &Cell,
    kind: Kind,
    look: Look,
) -> crate::Result<()> {
    let bold = look == Look::Group;
    match cell {
        Cell::None => {}
        Cell::Text(text) if kind == Kind::Time => match moment(text) {
            Some(days) => drop(worksheet.write_number_with_format(row, column, days, &formats.time)?),
            None => drop(worksheet.write_string(row, column, shown(text))?),
        },
        Cell::Text(text) => {
            let format = match text.starts_with('\'') || is_formula(text) {
                true => &formats.quoted,
                false if bold => &formats.group,
                false => &formats.text,
            };
            worksheet.write_string_with_format(row, column, shown(text), format)?;
        }
        Cell::Number(number) => {
            let format = match kind {
                // The number of a group, which its rows repeat so that they can be filtered with it.
                Kind::Text if !bold => &formats.pale,
                _ if bold => &formats.bold_count,
                _ => &formats.count,
            };
            #[expect(clippy::cast_precision_loss, reason = "a spreadsheet has no other numbers")]
            worksheet.write_number_with_format(row, column, *number as f64, format)?;
        }
        Cell::Share(ratio) => {
            let format = if bold { &formats.bold_share } else { &formats.share };
            worksheet.write_number_with_format(row, column, human::cell(ratio.0), format)?;
        }
    }
    Ok(())
}

/// A text as a cell shows it: control characters are shown by number, and a text too long for a cell is cut and marked.
fn shown(text: &str) -> String {
    let shown = printable(text.as_bytes());
    if shown.encode_utf16().count() <= CELL_UNITS {
        return shown.into_owned();
    }
    let mut units = 0;
    let shortened: String = shown
        .chars()
        .take_while(|character| {
            units += character.len_utf16();
            units <= CELL_UNITS - 16
        })
        .collect();
    format!("{shortened}… (cut)")
}

/// A time as a spreadsheet counts, in days since the end of 1899; nothing where its calendar does not reach.
fn moment(text: &str) -> Option<f64> {
    const DAY_SECONDS: f64 = 86_400.0;
    /// Days from there to 1970.
    const DAYS_BEFORE: f64 = 25_569.0;
    let time: jiff::Timestamp = text.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "the seconds of a calendar are far below 2^53")]
    let days = time.as_second() as f64 / DAY_SECONDS + DAYS_BEFORE;
    (1.0..2_958_466.0).contains(&days).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::super::grid::column;
    use super::*;

    #[test]
    fn a_moment_is_counted_as_spreadsheets_do() {
        assert_eq!(moment("1970-01-01T00:00:00Z"), Some(25_569.0));
        assert_eq!(moment("2026-11-22T12:00:00Z"), Some(46_348.5));
        assert_eq!(moment("1601-01-01T00:00:00Z"), None);
        assert_eq!(moment("not a time"), None);
    }

    #[test]
    fn what_no_cell_can_hold_is_cut_and_says_so() {
        let long = shown(&"ä".repeat(40_000));
        assert!(long.encode_utf16().count() <= CELL_UNITS && long.ends_with("… (cut)"));
        assert_eq!(shown("a\u{202e}b\u{1}"), "a\\u{202e}b\\u{1}");
    }

    #[test]
    fn a_list_longer_than_a_sheet_continues_in_the_next_and_a_group_stays_on_one_sheet() {
        let mut book = Book::new();
        let mut sheet = book.list("L", "A list", &[column("n", "N", Kind::Count, 8)]).unwrap();
        sheet.rows_max = 6;
        for number in 0..3u64 {
            sheet.reserve(2).unwrap();
            sheet.push(&[number.into()], Look::Group).unwrap();
            sheet.push(&[number.into()], Look::Member).unwrap();
        }
        // Longer than any sheet: cut where it must be.
        sheet.reserve(5).unwrap();
        (0..5u64).for_each(|number| sheet.push(&[number.into()], Look::Plain).unwrap());
        sheet.finish().unwrap();
        let rows: Vec<(&str, u32)> = book.written.iter().map(|(name, rows)| (name.as_str(), *rows)).collect();
        assert_eq!(rows, [("L", 4), ("L (2)", 2), ("L (3)", 4), ("L (4)", 1)]);
        let mut file = Vec::new();
        book.save(None, &mut file).unwrap();
        assert_eq!(&file[..2], b"PK");
    }
}
