//! Tables for people: columns that align, without lines.

use std::borrow::Cow;

use cognate_proto::shown::harmless;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Terminals that are narrower get tables of this width.
const COLUMNS_MIN: usize = 60;

/// A table with these headings. Columns whose heading begins with a space contain numbers, which are aligned to the
/// right. Cells may come from outside: each is one line, and acts neither on the table nor on the terminal.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_within(None, headings, rows)
}

/// A character without width that marks a place for a line break: behind a blank, and between the parts of a path. Cells from outside
/// cannot contain it: there it is escaped.
const BREAK: char = '\u{200b}';

/// The same for a terminal of so many columns: cells that are too long for it take several lines.
pub fn table_within(columns: Option<usize>, headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    if let Some(columns) = columns {
        // The indent in front takes the place of the distance behind the last column.
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(columns.max(COLUMNS_MIN)).unwrap_or(u16::MAX));
    }
    table.set_delimiter(BREAK);
    let broken = |text: &str| text.replace(' ', &format!(" {BREAK}")).replace('/', &format!("/{BREAK}"));
    table.load_style(presets::NOTHING).set_header(headings.iter().map(|heading| broken(heading.trim_start())));
    for row in rows {
        table.add_row(row.iter().map(|cell| broken(&harmless(cell))));
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if headings[number].starts_with(' ') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.replace(BREAK, "").trim_end())).collect();
    lines.join("\n")
}

/// A text that no spreadsheet takes for a formula, and that acts on no terminal: the cells of every CSV file pass through
/// this function.
pub fn cell(text: &str) -> String {
    let shown = harmless(text);
    if is_formula(&shown) { format!("'{shown}") } else { Cow::into_owned(shown) }
}

/// True if a spreadsheet could take a text for a formula or a command. Some spreadsheets ignore blanks in front of it,
/// and take the full-width signs for the usual ones.
pub(crate) fn is_formula(text: &str) -> bool {
    text.trim_start().starts_with(['=', '+', '-', '@', '|', '＝', '＋', '－', '＠', '｜'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let shown = table(&["NAME", " SIZE"], [vec!["a".into(), "1".into()], vec!["long name".into(), "1,000".into()]]);
        assert_eq!(shown, "  NAME        SIZE\n  a              1\n  long name  1,000");
    }

    #[test]
    fn a_table_fits_in_its_columns_and_loses_nothing() {
        let path = "departments/d07/projects/p012/a-very-long-name-of-a-document-that-fills-a-line.docx";
        let rows = || [vec![path.to_owned(), "12,345".to_owned(), "some words that say why it is so".to_owned()]];
        for columns in [60, 80, 100] {
            let shown = table_within(Some(columns), &["WHAT", " SIZE", "WHY"], rows());
            assert!(shown.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{shown}");
            let letters: Vec<char> = shown.chars().filter(|letter| !letter.is_whitespace()).collect();
            assert_eq!(letters.len(), "WHATSIZEWHY12,345somewordsthatsaywhyitisso".len() + path.len(), "{shown}");
            assert!(shown.contains("12,345"), "a number is not cut:\n{shown}");
            for line in shown.lines().map(|line| line.split_whitespace().next().unwrap_or_default()) {
                let parts = ["", "WHAT", "a-very", "name-of", "that-fills", ".docx", "long", "document"];
                let is_whole = line.ends_with('/') || parts.iter().any(|part| line.contains(part));
                assert!(
                    is_whole,
                    "{line:?} ends between two parts of the path, where one of them fits in a line:\n{shown}"
                );
            }
        }
    }

    #[test]
    fn no_cell_is_a_formula() {
        for (text, shown) in [
            ("=1+1", "'=1+1"),
            ("-rf", "'-rf"),
            ("@x", "'@x"),
            (" =1", "' =1"),
            ("\u{3000}=1", "'\u{3000}=1"),
            ("＝1+1", "'＝1+1"),
            ("|calc", "'|calc"),
            ("\u{200b}=1", "\\u{200b}=1"),
            ("\tx", "\\tx"),
            ("a\u{1b}]0;b", "a\\u{1b}]0;b"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(cell(text), shown);
        }
    }

    #[test]
    fn a_cell_of_a_table_is_one_line_and_acts_on_no_terminal() {
        let shown = table(&["NAME"], [vec!["a\n\u{1b}[2Jb\u{202e}c".into()]]);
        assert_eq!(shown, "  NAME\n  a\\n\\u{1b}[2Jb\\u{202e}c");
    }
}
