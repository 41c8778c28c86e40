//! docs/faults.md and docs/threats.md: the lines of `integration-tests/faults.md` and `threats.md`, with the rows of the specification
//! that each belongs to and their classes, and at the end the rows that no line is about.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Class, Row};

/// A page whose lines are tests of faults or of threats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// What can fail, and what happens then.
    Faults,
    /// Who may do harm, and what stands against it.
    Threats,
}

impl Page {
    /// Both pages.
    pub const ALL: [Page; 2] = [Page::Faults, Page::Threats];

    /// The name of its file below `docs/`.
    pub fn file(self) -> &'static str {
        match self {
            Page::Faults => "faults.md",
            Page::Threats => "threats.md",
        }
    }

    /// Its lines, as they are kept.
    fn source(self) -> &'static str {
        match self {
            Page::Faults => include_str!("../../faults.md"),
            Page::Threats => include_str!("../../threats.md"),
        }
    }

    fn is_about(self, row: &Row) -> bool {
        (self == Page::Threats) == row.id.starts_with('S')
    }

    /// The page of these rows.
    pub fn made(self, rows: &[Row]) -> String {
        let (mut page, mut seen) = (String::new(), BTreeSet::new());
        for line in self.source().lines() {
            let cells: Vec<&str> =
                line.strip_prefix("| ").unwrap_or_default().trim_end_matches(" |").split(" | ").collect();
            let made = match (self, cells[0]) {
                _ if line.starts_with("|---") => format!("|---{line}"),
                (_, "") => line.to_owned(),
                (Page::Faults, "row") => format!("| row | class | {} |", cells[1..].join(" | ")),
                (Page::Threats, "asset") => format!("| row | class | {} |", cells.join(" | ")),
                (Page::Faults, ids) => {
                    let own: Vec<&Row> = rows.iter().filter(|row| names(ids, &row.id)).collect();
                    seen.extend(own.iter().map(|row| row.id.clone()));
                    format!("| {ids} | {} | {} |", class(&own), cells[1..].join(" | "))
                }
                (Page::Threats, _) => {
                    let is_named = |test: &String| cells[3].contains(&format!("::{test}`"));
                    let own: Vec<&Row> =
                        rows.iter().filter(|row| self.is_about(row) && row.tests.iter().any(is_named)).collect();
                    seen.extend(own.iter().map(|row| row.id.clone()));
                    let ids: Vec<&str> = own.iter().map(|row| row.id.as_str()).collect();
                    let ids = if ids.is_empty() { "–".to_owned() } else { ids.join(", ") };
                    format!("| {ids} | {} | {} |", class(&own), cells.join(" | "))
                }
            };
            // A table has two columns more than its source, or one if it has its rows already.
            let made = if self == Page::Threats && line.starts_with("|---") { format!("|---{made}") } else { made };
            page.push_str(&made);
            page.push('\n');
        }
        let rest: Vec<&Row> = rows.iter().filter(|row| self.is_about(row) && !seen.contains(&row.id)).collect();
        if !rest.is_empty() {
            page.push_str(FURTHER);
            page.push_str(self.further_head());
            for row in rest {
                let mut cells =
                    [row.class.name(), &row.fault, &row.remark].map(|cell| if cell.is_empty() { "–" } else { cell });
                let tests = row.tests.iter().map(|test| format!("`{test}`"));
                // One test a line: a list of them would be too long to be read.
                for test in if row.tests.is_empty() { vec!["–".to_owned()] } else { tests.collect() } {
                    let [class, fault, remark] = cells;
                    let _ = match self {
                        Page::Faults => writeln!(page, "| {} | {class} | {fault} | {test} | {remark} |", row.id),
                        Page::Threats => {
                            writeln!(page, "| {} | {class} | – | {fault} | – | {test} | {remark} |", row.id)
                        }
                    };
                    cells = ["–"; 3];
                }
            }
        }
        page
    }

    /// The head of the table of rows that no line is about.
    fn further_head(self) -> &'static str {
        match self {
            Page::Faults => {
                "| row | class | fault | test | why it is not tested, or not well |\n|---|---|---|---|---|\n"
            }
            Page::Threats => {
                "| row | class | asset | adversary and attempt | control | test | what remains |\n|---|---|---|---|---|---|---|\n"
            }
        }
    }
}

/// What precedes the rows that no line is about.
const FURTHER: &str = "\n## Further rows of the specification\n\
    These rows have tests, or a reason for having none, and no line of their own above.\n\n";

/// The weakest class of rows.
fn class(rows: &[&Row]) -> &'static str {
    rows.iter().map(|row| row.class).max().map_or("–", Class::name)
}

/// True if a list of rows, such as `F01-F04, A1`, names a row.
fn names(list: &str, id: &str) -> bool {
    list.split(", ").any(|part| match part.split_once('-') {
        None => part == id,
        Some((first, last)) => {
            let number = |id: &str| id.trim_start_matches(char::is_alphabetic).parse::<u32>().ok();
            let is_kind = |id: &str| id.chars().next() == first.chars().next();
            is_kind(id) && number(first) <= number(id) && number(id) <= number(last)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_rows_names_each_of_them() {
        for (list, id, expected) in [
            ("F01-F04", "F03", true),
            ("F01-F04", "F05", false),
            ("F01-F04", "A1", false),
            ("F04, A1", "A1", true),
            ("F1", "F11", false),
        ] {
            assert_eq!(names(list, id), expected, "{list} {id}");
        }
    }

    #[test]
    fn a_line_has_the_weakest_class_of_its_rows_and_a_row_without_a_line_is_listed() {
        let rows = super::super::parse(
            "F04 | tested | a | x |\nA1 | weak | b | y | half of it\nZ9 | tested | c | zed |\nS1 | tested | d | each_method_is_open_only_to_its_callers |",
        )
        .unwrap();
        let faults = Page::Faults.made(&rows);
        assert!(faults.contains("\n| F04, A1 | weak | the coordinator ends"), "{faults}");
        assert!(faults.contains("\n| Z9 | tested | c | `zed` | – |\n") && !faults.contains("| S1 |"), "{faults}");
        let threats = Page::Threats.made(&rows);
        assert!(threats.contains("\n| S1 | tested | ") && !threats.contains("Further rows"), "{threats}");
    }
}
