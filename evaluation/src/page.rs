//! The page of an experiment: Markdown with the comparison, the figures and the tables.

use std::fmt::Write as _;

use crate::findings::{Comparison, Findings, Table};

/// A page shows the tables that have at most this many cells. It links to the CSV files of all others.
const CELLS_MAX: usize = 24;

/// A text of this many words is not repeated in the row after it.
const REPEATED_WORDS: usize = 3;

const PAPER_HEAD: &str =
    "\n## Against the paper\n\n| | the paper | yes if | here | agrees | why |\n|---|---|---|---|---|---|\n";
const AIMS_HEAD: &str = "\n## Against the aims\n\n| | aim | here | met | before |\n|---|---|---|---|---|\n";

/// The page of an experiment.
pub(crate) fn page(experiment: &str, findings: &Findings) -> String {
    let mut page = format!("# {}\n\n`cognate evaluate {experiment}`. {}\n", findings.title, findings.paper);
    for (place, (name, value)) in findings.facts.iter().enumerate() {
        let _ = writeln!(page, "{}- {name}: {value}", if place == 0 { "\n" } else { "" });
    }
    write_comparisons(&mut page, findings);
    for figure in &findings.figures {
        let _ = write!(page, "\n## {}\n\n![]({}.svg)\n", figure.title, figure.name);
    }
    let is_shown = |table: &&Table| table.rows.len() * table.columns.len() <= CELLS_MAX;
    findings.tables.iter().filter(is_shown).for_each(|table| write_table(&mut page, table));
    let linked: Vec<&Table> = findings.tables.iter().filter(|table| !is_shown(table)).collect();
    if !linked.is_empty() {
        page.push_str("\n## Longer tables\n\n");
    }
    for table in linked {
        let _ = writeln!(page, "- [{}]({}.csv), {} rows", table.title, table.name, table.rows.len());
    }
    if !findings.remarks.is_empty() {
        page.push_str("\n## Remarks\n\n");
    }
    for remark in &findings.remarks {
        let _ = writeln!(page, "- {remark}");
    }
    page
}

fn write_comparisons(page: &mut String, findings: &Findings) {
    if !findings.comparisons.is_empty() {
        page.push_str(if findings.against_aims { AIMS_HEAD } else { PAPER_HEAD });
    }
    let mut above: Option<&Comparison> = None;
    for row in &findings.comparisons {
        let text = |of: fn(&Comparison) -> &str| match above.map(of) {
            Some(text) if text == of(row) && text.split(' ').count() >= REPEATED_WORDS => "the same".to_owned(),
            _ => cell(of(row)),
        };
        let (paper, criterion, why) = (text(|row| &row.paper), text(|row| &row.criterion), text(|row| &row.why));
        let criterion = if findings.against_aims { String::new() } else { format!("{criterion} | ") };
        let (what, ours, word) = (cell(&row.what), cell(&row.ours), row.agreement.word());
        let _ = writeln!(page, "| {what} | {paper} | {criterion}{ours} | **{word}** | {why} |");
        above = Some(row);
    }
}

fn write_table(page: &mut String, table: &Table) {
    let names: Vec<String> = table.columns.iter().map(|column| cell(column)).collect();
    let _ = write!(page, "\n## {}\n\n| {} |\n|{}\n", table.title, names.join(" | "), "---|".repeat(names.len()));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|value| cell(&value.text())).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

/// Text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Agreement, Cell};

    #[test]
    fn a_page_has_the_comparisons_with_their_results() {
        let mut findings = Findings::new("Title", "Somebody 1999.");
        findings.fact("corpus", "a|b");
        findings.compare("Fig. 1", "50 %", "within 2 points", "51 %", Agreement::Yes, "same data");
        let mut table = Table::new("t", "A table", &["name", "share"]);
        table.row(["x".into(), Cell::from(0.123_456)]);
        findings.tables.push(table);
        let page = page("name", &findings);
        for part in [
            "# Title",
            "- corpus: a|b\n",
            "| Fig. 1 | 50 % | within 2 points | 51 % | **yes** | same data |",
            "| x | 0.1235 |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn comparisons_with_aims_are_not_called_those_with_a_paper() {
        let mut findings = Findings::new("Title", "");
        findings.compare("error", "at most 4", "", "3", Agreement::Yes, "");
        findings.against_aims = true;
        let page = page("name", &findings);
        assert!(
            page.contains("## Against the aims") && page.contains("| aim | here | met |") && !page.contains("paper")
        );
    }

    #[test]
    fn a_long_table_is_linked_and_not_printed() {
        let mut findings = Findings::new("Title", "");
        let mut table = Table::new("long", "A table", &["n"]);
        (0..100_u64).for_each(|n| table.row([n.into()]));
        findings.tables.push(table);
        let page = page("name", &findings);
        assert!(page.contains("- [A table](long.csv), 100 rows\n") && !page.contains("| 50 |"));
    }

    #[test]
    fn cells_cannot_break_the_table() {
        for (text, expected) in [("a|b", "a\\|b"), ("a\nb", "a b"), ("||", "\\|\\|"), ("plain", "plain")] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn a_text_that_the_row_above_has_is_not_repeated() {
        let mut findings = Findings::new("Title", "");
        for what in ["a", "b", "c"] {
            findings.compare(what, "in all", "at most 4 points", what, Agreement::Yes, "a reason of four words");
        }
        let page = page("name", &findings);
        for part in [
            "| a | in all | at most 4 points | a | **yes** | a reason of four words |",
            "| b | in all | the same | b | **yes** | the same |",
            "| c | in all | the same | c | **yes** | the same |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn parts_without_content_have_no_heading() {
        let findings = Findings::new("Title", "Somebody 1999.");
        assert_eq!(page("name", &findings), "# Title\n\n`cognate evaluate name`. Somebody 1999.\n");
        let mut findings = findings;
        findings.remark("One.");
        findings.remark("Two.");
        assert!(page("name", &findings).ends_with("\n## Remarks\n\n- One.\n- Two.\n"));
    }

    #[test]
    fn a_table_of_the_greatest_length_is_printed() {
        for (rows, printed) in [(CELLS_MAX, true), (CELLS_MAX + 1, false)] {
            let mut table = Table::new("t", "A table", &["n"]);
            (0..rows).for_each(|n| table.row([n.into()]));
            let mut findings = Findings::new("Title", "");
            findings.tables.push(table);
            assert_eq!(page("name", &findings).contains("\n| 0 |\n"), printed, "{rows}");
        }
    }
}
