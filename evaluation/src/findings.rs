//! The findings of an experiment.

use serde::Serialize;

use crate::figure::Figure;

/// The findings of an experiment.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Findings {
    /// The subject.
    pub title: String,
    /// The paper and the section.
    pub paper: String,
    /// True if the comparisons are with aims of this project and not with a paper.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub against_aims: bool,
    /// The corpus and the settings, as names with values.
    pub facts: Vec<(String, String)>,
    /// The paper's figures and findings, each against ours.
    pub comparisons: Vec<Comparison>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Remarks, each a sentence or two.
    pub remarks: Vec<String>,
}

/// A table.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Table {
    /// The name of the file, without its ending.
    pub name: String,
    /// The title.
    pub title: String,
    /// The columns, each with its unit.
    pub columns: Vec<String>,
    /// The rows, each with a cell for every column.
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
    /// No value.
    None,
}

/// A figure or finding of the paper against ours.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Comparison {
    /// The figure or finding.
    pub what: String,
    /// The paper's result.
    pub paper: String,
    /// What has to hold for a yes, written before the run and judged on the default. Empty where `paper` is an aim of this
    /// project, which is the criterion.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub criterion: String,
    /// Our result.
    pub ours: String,
    /// The agreement of the two.
    pub agreement: Agreement,
    /// The reason.
    pub why: String,
}

/// The agreement of a finding with the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// The criterion holds.
    Yes,
    /// The criterion does not hold.
    No,
    /// The paper claims nothing that could hold, or this corpus has nothing to judge it by.
    Other,
}

impl Findings {
    pub(crate) fn new(title: &str, paper: &str) -> Findings {
        Findings {
            title: title.to_owned(),
            paper: paper.to_owned(),
            against_aims: false,
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

    /// Compares a result with the paper's. The criterion says for which results the agreement is a yes.
    pub(crate) fn compare(
        &mut self,
        what: &str,
        paper: &str,
        criterion: &str,
        ours: impl Into<String>,
        agreement: Agreement,
        why: impl Into<String>,
    ) {
        self.comparisons.push(Comparison {
            what: what.to_owned(),
            paper: paper.to_owned(),
            criterion: criterion.to_owned(),
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
    /// `Yes` if it holds, else `No`.
    pub(crate) fn of(holds: bool) -> Agreement {
        if holds { Agreement::Yes } else { Agreement::No }
    }

    /// The word on a page: yes, no or other.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Yes => "yes",
            Agreement::No => "no",
            Agreement::Other => "other",
        }
    }
}

impl Cell {
    /// A measure, rounded; no value if it is infinite or undefined.
    pub(crate) fn number(value: f64) -> Cell {
        if value.is_finite() { Cell::Number(rounded(value)) } else { Cell::None }
    }

    /// The text in a CSV file and on a page.
    pub(crate) fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::None => String::new(),
        }
    }
}

/// Rounds to four digits after the point, or to five digits if the number is larger: no measurement is more exact.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_the_digits_that_it_is_worth() {
        for (value, expected) in [
            (0.0, "0"),
            (0.123_456, "0.1235"),
            (-0.123_456, "-0.1235"),
            (0.000_04, "0"),
            (9.999_94, "9.9999"),
            (12.345_67, "12.346"),
            (123.456_7, "123.46"),
            (1234.567, "1234.6"),
            (12_345.678, "12346"),
            (1e9 + 0.4, "1000000000"),
        ] {
            assert_eq!(Cell::from(value).text(), expected, "{value}");
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Cell::from(value), Cell::None);
        }
    }

    #[test]
    fn cells_are_texts_counts_numbers_or_nothing() {
        for (cell, text, json) in [
            (Cell::from("a|b"), "a|b", r#""a|b""#),
            (Cell::from(String::new()), "", r#""""#),
            (Cell::from(7_u64), "7", "7"),
            (Cell::from(7_usize), "7", "7"),
            (Cell::from(0.25), "0.25", "0.25"),
            (Cell::from(Some(0.5)), "0.5", "0.5"),
            (Cell::from(None), "", "null"),
        ] {
            assert_eq!(cell.text(), text);
            assert_eq!(serde_json::to_string(&cell).unwrap(), json);
        }
    }

    #[test]
    #[should_panic(expected = "a cell for each column of `t`")]
    fn a_row_with_another_number_of_cells_is_a_mistake_of_the_experiment() {
        Table::new("t", "A table", &["a", "b"]).row([Cell::None]);
    }

    #[test]
    fn agreement_is_a_word_on_pages_and_in_json() {
        let all = [Agreement::Yes, Agreement::No, Agreement::Other];
        for agreement in all {
            assert_eq!(serde_json::to_string(&agreement).unwrap(), format!("\"{}\"", agreement.word()));
        }
        assert_eq!([Agreement::of(true), Agreement::of(false)], [Agreement::Yes, Agreement::No]);
    }
}
