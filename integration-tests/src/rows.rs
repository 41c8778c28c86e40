//! The rows of the specification of reliability, each with its tests, and their results in the output of a test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The rows, as they are kept.
pub const ROWS: &str = include_str!("../rows.txt");

/// How well a row is tested.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Its tests fail if the row breaks.
    Tested,
    /// Its tests would miss a part of it.
    Weak,
    /// There is code for it and no test.
    Untested,
    /// There is no code for it.
    None,
}

impl Class {
    const ALL: [Class; 4] = [Class::Tested, Class::Weak, Class::Untested, Class::None];

    fn name(self) -> &'static str {
        match self {
            Class::Tested => "tested",
            Class::Weak => "weak",
            Class::Untested => "untested",
            Class::None => "none",
        }
    }
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its name in the specification.
    pub id: String,
    /// How well it is tested.
    pub class: Class,
    /// The fault or the threat.
    pub fault: String,
    /// The names of its tests.
    pub tests: Vec<String>,
    /// The reason why it is not tested well.
    pub remark: String,
}

/// Reads rows: `id | class | fault | tests | remark`.
///
/// # Errors
/// Names the line that is no row, or that contradicts itself.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('|').map(str::trim);
        let mut cell = || cells.next().unwrap_or_default().to_owned();
        let (id, class, fault, tests, remark) = (cell(), cell(), cell(), cell(), cell());
        let class = Class::ALL.into_iter().find(|one| one.name() == class);
        let class = class.ok_or_else(|| format!("`{line}` has no class"))?;
        let tests: Vec<String> =
            tests.split(',').map(str::trim).filter(|test| !test.is_empty()).map(str::to_owned).collect();
        let has_tests = matches!(class, Class::Tested | Class::Weak);
        if fault.is_empty() || has_tests == tests.is_empty() || (class == Class::Tested) != remark.is_empty() {
            return Err(format!("`{line}` contradicts itself"));
        }
        if rows.iter().any(|row| row.id == id) {
            return Err(format!("`{id}` is there twice"));
        }
        rows.push(Row { id, class, fault, tests, remark });
    }
    Ok(rows)
}

/// The results of tests in the output of `cargo test`, by the last part of their names. A test that failed anywhere has failed.
pub fn results(output: &str) -> BTreeMap<String, bool> {
    let mut results = BTreeMap::new();
    for line in output.lines() {
        let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else {
            continue;
        };
        let passed = match result.trim() {
            "ok" => true,
            "FAILED" => false,
            _ => continue,
        };
        let name = name.split(' ').next().and_then(|name| name.rsplit("::").next()).unwrap_or_default();
        let all_passed = results.entry(name.to_owned()).or_insert(true);
        *all_passed &= passed;
    }
    results
}

/// The number of rows of each class, as a table.
fn counts(rows: &[Row]) -> String {
    let of = |class: Class, is_threat: bool| {
        rows.iter().filter(|row| row.class == class && row.id.starts_with('S') == is_threat).count()
    };
    let mut table = "| class | faults | threats | together |\n|---|---|---|---|\n".to_owned();
    for class in Class::ALL {
        let (faults, threats) = (of(class, false), of(class, true));
        let _ = writeln!(table, "| {} | {faults} | {threats} | {} |", class.name(), faults + threats);
    }
    table
}

/// `docs/reliability.md`: its text, and below the marker the counts of the rows and those that are not tested well. With the results of
/// a run, all rows and each test with its result.
pub fn page(rows: &[Row], results: Option<&BTreeMap<String, bool>>) -> String {
    let text = RELIABILITY.split(MADE).next().unwrap_or_default();
    let mut page = format!("{text}{MADE}\n\n{}\n", counts(rows));
    for row in rows.iter().filter(|row| results.is_some() || row.class != Class::Tested) {
        let test = |name: &String| match results.map(|results| results.get(name)) {
            None => format!("`{name}`"),
            Some(Some(true)) => format!("`{name}`: passed"),
            Some(Some(false)) => format!("`{name}`: **failed**"),
            Some(None) => format!("`{name}`: not run"),
        };
        let tests: Vec<String> = row.tests.iter().map(test).collect();
        let weakness = match row.class {
            Class::Tested => String::new(),
            class => format!(" (**{}**: {})", class.name(), row.remark),
        };
        let end = if tests.is_empty() { "." } else { ": " };
        let _ = writeln!(page, "- {} {}{weakness}{end}{}", row.id, row.fault, tests.join(", "));
    }
    page
}

/// The tests of rows that failed in a run or are not in it.
pub fn missing<'a>(rows: &'a [Row], results: &BTreeMap<String, bool>) -> BTreeSet<&'a str> {
    let all = rows.iter().flat_map(|row| &row.tests).map(String::as_str);
    all.filter(|test| results.get(*test) != Some(&true)).collect()
}

/// The tests that the tables of a page name, as `module::test`.
fn named(line: &str) -> Vec<&str> {
    let is_row = line.starts_with("| ") && !line.starts_with("| row") && !line.starts_with("| asset");
    let names = line.split('`').skip(1).step_by(2).filter(|name| name.contains("::") && !name.contains([' ', '(']));
    names.filter(|_| is_row).collect()
}

/// A page with tables of tests (docs/faults.md, docs/threats.md), each test with its result in a run, and the tests that failed or are
/// not in the run.
pub fn with_results(page: &str, results: &BTreeMap<String, bool>) -> (String, BTreeSet<String>) {
    let (mut out, mut missing) = (String::new(), BTreeSet::new());
    for line in page.lines() {
        let mut line = line.to_owned();
        for name in named(&line.clone()) {
            let test = name.rsplit("::").next().unwrap_or_default();
            let result = match results.get(test) {
                Some(true) => "passed",
                Some(false) => "**failed**",
                None => "not run",
            };
            if results.get(test) != Some(&true) {
                missing.insert(test.to_owned());
            }
            line = line.replace(&format!("`{name}`"), &format!("`{name}`: {result}"));
        }
        out.push_str(&line);
        out.push('\n');
    }
    (out, missing)
}

/// The page of the rows, as it is committed.
const RELIABILITY: &str = include_str!("../../docs/reliability.md");

/// Everything below this line of the page is made of the rows.
const MADE: &str = "<!-- below: made by fault-rows -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_tests_needs_a_reason_and_a_weak_one_both() {
        let read = |text: &str| parse(text).map(|rows| rows[0].class);
        assert_eq!(read("F01 | tested | a fault | a_test, another |"), Ok(Class::Tested));
        assert_eq!(read("F01 | weak | a fault | a_test | half of it"), Ok(Class::Weak));
        assert_eq!(read("F01 | none | a fault | | decided against"), Ok(Class::None));
        for wrong in
            ["F01 | tested | a fault | |", "F01 | weak | a fault | a_test |", "F01 | good | a fault | a_test |"]
        {
            parse(wrong).unwrap_err();
        }
        assert!(parse("F01 | tested | x | y |\nF01 | tested | x | y |").unwrap_err().contains("twice"));
    }

    #[test]
    fn the_tests_of_a_page_get_their_results() {
        let page =
            "# `x::y`\n| row | `a::head` |\n| F01 | cut | `a::good`, `b::bad` | `code` |\n| F02 | | `c::absent` | |\n";
        let results = BTreeMap::from([("good".to_owned(), true), ("bad".to_owned(), false)]);
        let (page, missing) = with_results(page, &results);
        let expected =
            "| F01 | cut | `a::good`: passed, `b::bad`: **failed** | `code` |\n| F02 | | `c::absent`: not run | |\n";
        assert!(page.ends_with(expected) && page.starts_with("# `x::y`\n| row | `a::head` |\n"), "{page}");
        assert_eq!(missing, BTreeSet::from(["absent".to_owned(), "bad".to_owned()]));
    }

    #[test]
    fn a_test_that_failed_or_was_not_run_is_named() {
        let rows = parse("F01 | tested | a fault | good, bad, absent |").unwrap();
        let results = results(
            "test a::good ... ok\ntest b::bad ... FAILED\ntest c::bad ... ok\ntest x ... ignored\nother line\n",
        );
        assert_eq!(missing(&rows, &results), BTreeSet::from(["bad", "absent"]));
        let page = page(&rows, Some(&results));
        for expected in ["`good`: passed", "`bad`: **failed**", "`absent`: not run", "| tested | 1 | 0 | 1 |"] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
    }
}
