//! The page of an experiment: Markdown with the comparison, the figures and the tables.

use std::fmt::Write as _;

use crate::findings::{Findings, Table};

/// The page only links to the CSV files of longer tables.
const ROWS_MAX: usize = 48;

const PAPER_HEAD: &str =
    "\n## Against the paper\n\n| | the paper | yes if | here | agrees | why |\n|---|---|---|---|---|---|\n";
const AIMS_HEAD: &str = "\n## Against the aims\n\n| | aim | here | met | before |\n|---|---|---|---|---|\n";

/// The page of an experiment.
pub(crate) fn page(experiment: &str, findings: &Findings) -> String {
    let mut page = format!("# {}\n\n`cognate evaluate {experiment}`. {}\n", findings.title, findings.paper);
    if !findings.facts.is_empty() {
        page.push_str("\n| run | |\n|---|---|\n");
        for (name, value) in &findings.facts {
            let _ = writeln!(page, "| {} | {} |", cell(name), cell(value));
        }
    }
    if !findings.comparisons.is_empty() {
        page.push_str(if findings.against_aims { AIMS_HEAD } else { PAPER_HEAD });
        for row in &findings.comparisons {
            let criterion = (!findings.against_aims).then_some(&row.criterion);
            let words = [Some(&row.what), Some(&row.paper), criterion, Some(&row.ours)];
            let words = words.into_iter().flatten().map(|text| cell(text)).collect::<Vec<_>>().join(" | ");
            let _ = writeln!(page, "| {words} | **{}** | {} |", row.agreement.word(), cell(&row.why));
        }
    }
    for figure in &findings.figures {
        let _ = write!(page, "\n## {}\n\n![{}]({}.svg)\n", figure.title, figure.title, figure.name);
    }
    for table in &findings.tables {
        write_table(&mut page, table);
    }
    if !findings.remarks.is_empty() {
        page.push_str("\n## Remarks\n\n");
        for remark in &findings.remarks {
            let _ = writeln!(page, "- {remark}");
        }
    }
    page
}

fn write_table(page: &mut String, table: &Table) {
    let _ = write!(page, "\n## {}\n\n", table.title);
    if table.rows.len() > ROWS_MAX {
        let _ = writeln!(page, "{} rows: [{}.csv]({}.csv)", table.rows.len(), table.name, table.name);
        return;
    }
    let names: Vec<String> = table.columns.iter().map(|column| cell(column)).collect();
    let _ = writeln!(page, "| {} |", names.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(names.len()));
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
        for part in
            ["# Title", "a\\|b", "| Fig. 1 | 50 % | within 2 points | 51 % | **yes** | same data |", "| x | 0.1235 |"]
        {
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
        assert!(page.contains("100 rows: [long.csv](long.csv)") && !page.contains("| 50 |"));
    }

    #[test]
    fn cells_cannot_break_the_table() {
        for (text, expected) in [("a|b", "a\\|b"), ("a\nb", "a b"), ("||", "\\|\\|"), ("plain", "plain")] {
            assert_eq!(cell(text), expected);
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
        for (rows, printed) in [(ROWS_MAX, true), (ROWS_MAX + 1, false)] {
            let mut table = Table::new("t", "A table", &["n"]);
            (0..rows).for_each(|n| table.row([n.into()]));
            let mut findings = Findings::new("Title", "");
            findings.tables.push(table);
            assert_eq!(page("name", &findings).contains("\n| 0 |\n"), printed, "{rows}");
        }
    }
}
