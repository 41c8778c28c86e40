//! Tables for people: columns that align, without lines, and numbers as people read them.

use bytesize::ByteSize;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;

/// A table with these headings. Columns whose heading begins with a space are numbers, and stand to the right.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
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

/// `597.1 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    ByteSize(bytes).display().si().to_string()
}

/// `108,804`.
pub(crate) fn count(count: u64) -> String {
    HumanCount(count).to_string()
}

/// `93.8 %`; less than all is never shown as all, and more than nothing never as nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    match tenths {
        0 if part > 0 => "< 0.1 %".to_owned(),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// A text that no spreadsheet takes for a formula.
pub(crate) fn cell(text: &str) -> String {
    let dangerous = |first: char| matches!(first, '=' | '+' | '-' | '@') || first.is_control();
    if text.starts_with(dangerous) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        let check = |part, whole, shown: &str| assert_eq!(percent(part, whole), shown);
        check(999_999, 1_000_000, "99.9 %");
        check(1, 1_000_000, "< 0.1 %");
        check(0, 10, "0.0 %");
        check(10, 10, "100.0 %");
        check(0, 0, "–");
    }

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
