//! Lists as columns and cells, so that every format writes the same ones: CSV as it is, spreadsheets and pages for people.

use std::borrow::Cow;
use std::io::Write;

use cognate_proto::path::percent;
use cognate_proto::shown::is_marked;
use cognate_result::report::Ratio;

use crate::table::cell;

/// The kind of the cells of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name or word.
    Text,
    /// A count.
    Count,
    /// A size.
    Bytes,
    /// A share of a total.
    Share,
    /// A moment.
    Time,
}

impl Kind {
    /// True if the cells are numbers, which are aligned to the right.
    pub fn is_number(self) -> bool {
        matches!(self, Kind::Count | Kind::Bytes | Kind::Share)
    }
}

/// A column of a list.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name for programs.
    pub key: &'static str,
    /// The title for people; nothing: it is for programs alone.
    pub title: Option<&'static str>,
    /// The kind of its cells.
    pub kind: Kind,
    /// The width in a spreadsheet, in characters.
    pub width: u8,
}

/// A column for people and programs.
pub const fn column(key: &'static str, title: &'static str, kind: Kind, width: u8) -> Column {
    Column { key, title: Some(title), kind, width }
}

/// A column for programs alone.
pub const fn hidden(key: &'static str) -> Column {
    Column { key, title: None, kind: Kind::Text, width: 0 }
}

/// The value in one cell of a list.
#[derive(Clone, Debug)]
pub enum Cell {
    /// The value is unknown or does not apply: never zero.
    None,
    /// A text or word.
    Text(String),
    /// A count, a size in bytes, or another integer.
    Number(u64),
    /// A ratio with its exact parts.
    Share(Ratio),
}

impl Cell {
    /// A ratio, or none.
    pub fn share(ratio: impl Into<Option<Ratio>>) -> Cell {
        ratio.into().map_or(Cell::None, Cell::Share)
    }

    /// A flag.
    pub fn yes(set: bool) -> Cell {
        if set { Cell::from("yes") } else { Cell::None }
    }

    /// The cell as programs read it.
    fn raw(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Text(text) => cell(text),
            Cell::Number(number) => number.to_string(),
            Cell::Share(ratio) => ratio.to_f64().to_string(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Number(number)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Cell {
        cell.map_or(Cell::None, Into::into)
    }
}

/// A path as a CSV file has it, and if it is percent-escaped: as it is, but characters that act on a terminal or a
/// spreadsheet are percent-escaped, so that a program can still get the path.
pub fn csv_path(path: &str, is_escaped: bool) -> (Cow<'_, str>, bool) {
    match path.chars().any(is_marked) {
        true => (Cow::Owned(percent(path, !is_escaped, is_marked)), true),
        false => (Cow::Borrowed(path), is_escaped),
    }
}

/// A receiver of the rows of a list.
pub trait Rows {
    /// Takes a row, with a cell for each column.
    fn row(&mut self, cells: Vec<Cell>) -> crate::Result<()>;
}

/// A list as CSV.
pub struct CsvRows<W: Write> {
    writer: csv::Writer<W>,
    /// The places of columns of paths, and of the columns that say if the path is percent-escaped.
    paths: Vec<(usize, usize)>,
}

impl<W: Write> CsvRows<W> {
    /// Begins with the names of the columns.
    pub fn new(columns: &[Column], out: W) -> crate::Result<CsvRows<W>> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(columns.iter().map(|column| column.key))?;
        let place = |key: &str| columns.iter().position(|column| column.key == key);
        let escaped = |key: &str| place(&format!("{key}_escaped")).or_else(|| place(&format!("{key}Escaped")));
        let paths =
            columns.iter().enumerate().filter_map(|(path, column)| Some((path, escaped(column.key)?))).collect();
        Ok(CsvRows { writer, paths })
    }

    /// Writes out the buffered rows.
    pub fn finish(mut self) -> crate::Result<()> {
        Ok(self.writer.flush()?)
    }
}

impl<W: Write> Rows for CsvRows<W> {
    fn row(&mut self, mut cells: Vec<Cell>) -> crate::Result<()> {
        for (path, escaped) in &self.paths {
            let is_escaped = matches!(&cells[*escaped], Cell::Text(text) if !text.is_empty());
            if let Cell::Text(text) = &cells[*path]
                && let (Cow::Owned(text), is_escaped) = csv_path(text, is_escaped)
            {
                (cells[*path], cells[*escaped]) = (Cell::Text(text), Cell::yes(is_escaped));
            }
        }
        Ok(self.writer.write_record(cells.iter().map(Cell::raw))?)
    }
}

#[cfg(test)]
mod tests {
    use cognate_proto::path::unescaped;

    use super::*;

    #[test]
    fn a_path_in_a_csv_file_acts_on_nothing_and_can_be_read_back() {
        let columns = [hidden("path"), hidden("path_escaped"), hidden("note")];
        let mut out = Vec::new();
        let mut rows = CsvRows::new(&columns, &mut out).unwrap();
        for (path, is_escaped) in [("100%/\u{1b}[2J\u{200b}=1.txt", false), ("%FF\u{1b}", true), ("100%.txt", false)] {
            rows.row(vec![path.into(), Cell::yes(is_escaped), "\u{9b}".into()]).unwrap();
        }
        rows.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "100%25/%1B[2J%E2%80%8B=1.txt,yes,\\u{9b}");
        assert_eq!(lines[1..], ["%FF%1B,yes,\\u{9b}", "100%.txt,,\\u{9b}"]);
        assert_eq!(unescaped("100%25/%1B[2J%E2%80%8B=1.txt"), "100%/\u{1b}[2J\u{200b}=1.txt".as_bytes());
    }
}
