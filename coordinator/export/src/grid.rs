//! Lists as columns and cells, so that every format writes the same ones: CSV as it is, spreadsheets and pages for people.

use std::io::Write;

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

/// A receiver of the rows of a list.
pub trait Rows {
    /// Takes a row, with a cell for each column.
    fn row(&mut self, cells: Vec<Cell>) -> crate::Result<()>;
}

/// A list as CSV.
pub struct CsvRows<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvRows<W> {
    /// Begins with the names of the columns.
    pub fn new(columns: &[Column], out: W) -> crate::Result<CsvRows<W>> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(columns.iter().map(|column| column.key))?;
        Ok(CsvRows { writer })
    }

    /// Writes out the buffered rows.
    pub fn finish(mut self) -> crate::Result<()> {
        Ok(self.writer.flush()?)
    }
}

impl<W: Write> Rows for CsvRows<W> {
    fn row(&mut self, cells: Vec<Cell>) -> crate::Result<()> {
        Ok(self.writer.write_record(cells.iter().map(Cell::raw))?)
    }
}
