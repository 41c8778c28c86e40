//! What an experiment found.

use serde::Serialize;

use crate::figure::Figure;

/// What an experiment found.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Findings {
    /// What it is about.
    pub title: String,
    /// Whose experiment it is.
    pub paper: String,
    /// On what it was run, and how.
    pub facts: Vec<(String, String)>,
    /// The paper's figures and findings, each against ours.
    pub comparisons: Vec<Comparison>,
    /// Curves.
    pub figures: Vec<Figure>,
    /// Numbers.
    pub tables: Vec<Table>,
    /// What else there is to say.
    pub remarks: Vec<String>,
}

/// Numbers in rows and columns.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Table {
    /// The name of its file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What stands in each column, with its unit.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell of a table.
#[derive(Clone, PartialEq, Serialize, Debug)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A measure.
    Number(f64),
    /// There is no such thing.
    None,
}

/// A figure or finding of the paper against ours.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Comparison {
    /// Which.
    pub what: String,
    /// What the paper says.
    pub paper: String,
    /// What was found here.
    pub ours: String,
    /// Whether that agrees.
    pub agreement: Agreement,
    /// Why, or why not.
    pub why: String,
}

/// Whether a finding agrees with the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// It does.
    Yes,
    /// In part.
    Partly,
    /// It does not.
    No,
    /// It cannot be said from this corpus.
    Open,
}

impl Findings {
    pub(crate) fn new(title: &str, paper: &str) -> Findings {
        Findings {
            title: title.to_owned(),
            paper: paper.to_owned(),
            facts: Vec::new(),
            comparisons: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(crate) fn fact(&mut self, name: &str, value: impl ToString) {
        self.facts.push((name.to_owned(), value.to_string()));
    }

    pub(crate) fn compare(
        &mut self,
        what: &str,
        paper: &str,
        ours: impl Into<String>,
        agreement: Agreement,
        why: impl Into<String>,
    ) {
        self.comparisons.push(Comparison {
            what: what.to_owned(),
            paper: paper.to_owned(),
            ours: ours.into(),
            agreement,
            why: why.into(),
        });
    }

    pub(crate) fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }
}

impl Table {
    pub(crate) fn new(name: &str, title: &str, columns: &[&str]) -> Table {
        Table {
            name: name.to_owned(),
            title: title.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a cell for each column of `{}`", self.name);
        self.rows.push(row);
    }
}

impl Agreement {
    /// `Yes` where it holds.
    pub(crate) fn of(holds: bool) -> Agreement {
        if holds { Agreement::Yes } else { Agreement::No }
    }

    /// The word for it on a page.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Yes => "yes",
            Agreement::Partly => "partly",
            Agreement::No => "no",
            Agreement::Open => "open",
        }
    }
}

impl Cell {
    /// A measure, to as many digits as it is worth telling.
    pub(crate) fn number(value: f64) -> Cell {
        if value.is_finite() { Cell::Number(rounded(value)) } else { Cell::None }
    }

    /// What stands in a CSV file and on a page.
    pub(crate) fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::None => String::new(),
        }
    }
}

/// To four digits after the point, or to five digits where it is larger than one: nothing here is measured better.
pub(crate) fn rounded(value: f64) -> f64 {
    let digits = match value.abs() {
        small if small < 10.0 => 4,
        small if small < 100.0 => 3,
        small if small < 1000.0 => 2,
        small if small < 10_000.0 => 1,
        _ => 0,
    };
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
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
    fn from(count: u64) -> Cell {
        Cell::Count(count)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Cell {
        Cell::Count(count as u64)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::number(value)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.map_or(Cell::None, Cell::number)
    }
}
