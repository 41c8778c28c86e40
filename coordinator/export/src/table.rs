//! Tables for people: columns that align, without lines.

use comfy_table::{CellAlignment, Table, presets};

/// A table with these headings. Columns whose heading begins with a space contain numbers, which are aligned to the
/// right.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().map(|heading| heading.trim_start()));
    for row in rows {
        table.add_row(row);
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if headings[number].starts_with(' ') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
    lines.join("\n")
}

/// A text that no spreadsheet takes for a formula.
pub fn cell(text: &str) -> String {
    let dangerous = |first: char| matches!(first, '=' | '+' | '-' | '@') || first.is_control();
    if text.starts_with(dangerous) { format!("'{text}") } else { text.to_owned() }
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
    fn no_cell_is_a_formula() {
        for (text, shown) in [("=1+1", "'=1+1"), ("-rf", "'-rf"), ("@x", "'@x"), ("\tx", "'\tx"), ("a=b", "a=b")] {
            assert_eq!(cell(text), shown);
        }
    }
}
