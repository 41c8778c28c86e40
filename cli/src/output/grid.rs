//! Lists as columns and cells, so that every format writes the same ones: CSV as it is, spreadsheets and pages for people.

use std::io::Write;

use cognate_coordinator::report::Ratio;

use super::table::cell;

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A name or word.
    Text,
    /// How many.
    Count,
    /// A size.
    Bytes,
    /// A share of a whole.
    Share,
    /// A moment.
    Time,
}

impl Kind {
    /// Whether the cells are numbers, which stand to the right.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Kind::Count | Kind::Bytes | Kind::Share)
    }
}

/// A column of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// What programs call it.
    pub(crate) key: &'static str,
    /// What people call it; nothing: it is for programs alone.
    pub(crate) title: Option<&'static str>,
    pub(crate) kind: Kind,
    /// How wide it is in a spreadsheet, in characters.
    pub(crate) width: u8,
}

/// A column for people and programs.
pub(crate) const fn column(key: &'static str, title: &'static str, kind: Kind, width: u8) -> Column {
    Column { key, title: Some(title), kind, width }
}

/// A column for programs alone.
pub(crate) const fn hidden(key: &'static str) -> Column {
    Column { key, title: None, kind: Kind::Text, width: 0 }
}

/// What stands in one place of a list.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// Nothing is known, or there is nothing to say: never zero.
    None,
    Text(String),
    Number(u64),
    Share(Ratio),
}

impl Cell {
    /// A ratio, or none.
    pub(crate) fn share(ratio: impl Into<Option<Ratio>>) -> Cell {
        ratio.into().map_or(Cell::None, Cell::Share)
    }

    /// A flag.
    pub(crate) fn yes(set: bool) -> Cell {
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

/// Whatever takes the rows of a list.
pub(crate) trait Rows {
    /// Takes a row, with a cell for each column.
    fn row(&mut self, cells: Vec<Cell>) -> anyhow::Result<()>;
}

/// A list as CSV.
pub(crate) struct CsvRows<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvRows<W> {
    /// Begins with the names of the columns.
    pub(crate) fn new(columns: &[Column], out: W) -> anyhow::Result<CsvRows<W>> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(columns.iter().map(|column| column.key))?;
        Ok(CsvRows { writer })
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        Ok(self.writer.flush()?)
    }
}

impl<W: Write> Rows for CsvRows<W> {
    fn row(&mut self, cells: Vec<Cell>) -> anyhow::Result<()> {
        Ok(self.writer.write_record(cells.iter().map(Cell::raw))?)
    }
}
