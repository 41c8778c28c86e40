//! Text, numbers and cells as HTML. Nothing that came from outside reaches a page but through here.

use std::fmt::{self, Write as _};

use cognate_proto::path::printable;
use cognate_result::report::Ratio;

use crate::grid::{Cell, Column, Kind};
use crate::human::{bytes, count, share};

/// A text in which nothing is markup, and nothing hides.
pub(super) struct Safe<'a>(pub(super) &'a str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                ' '..='~' => f.write_char(character)?,
                _ => {
                    let mut buffer = [0; 4];
                    let one: &str = character.encode_utf8(&mut buffer);
                    match printable(one.as_bytes()) {
                        shown if shown == one => f.write_char(character)?,
                        shown => write!(f, "<span class=\"u\">{shown}</span>")?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// `81.8 %`.
pub(super) fn percent(ratio: Ratio) -> String {
    share(ratio.0).replace('<', "&lt;")
}

/// The cell of a table.
pub(super) fn td(cell: &Cell, column: &Column) -> String {
    let is_path = column.width >= 40;
    match cell {
        Cell::None => format!("<td{}></td>", class(column.kind)),
        Cell::Text(text) if column.kind == Kind::Time => {
            // To the minute: the whole stands in what is sorted by.
            let minutes = text.get(..16).unwrap_or(text).replace('T', " ");
            format!("<td class=\"w\" data-v=\"{}\">{}</td>", Safe(text), Safe(&minutes))
        }
        Cell::Text(text) if is_path => format!("<td class=\"p\">{}</td>", Safe(text)),
        Cell::Text(text) => format!("<td>{}</td>", Safe(text)),
        Cell::Number(number) if column.kind == Kind::Bytes => {
            format!("<td class=\"n\" data-v=\"{number}\" title=\"{} bytes\">{}</td>", count(*number), bytes(*number))
        }
        Cell::Number(number) => format!("<td class=\"n\" data-v=\"{number}\">{}</td>", count(*number)),
        Cell::Share(ratio) => format!("<td class=\"n\" data-v=\"{}\">{}</td>", ratio.0, percent(*ratio)),
    }
}

/// The heading of a column, by which a list can be sorted.
pub(super) fn th(column: &Column) -> String {
    let title = column.title.unwrap_or_default();
    format!("<th scope=\"col\" data-sort{}>{}</th>", class(column.kind), Safe(title))
}

fn class(kind: Kind) -> &'static str {
    if kind.is_number() { " class=\"n\"" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_markup_and_nothing_hides() {
        let shown = Safe("<img src=x onerror='a'>&\"\u{202e}gnp.exe\n").to_string();
        assert_eq!(
            shown,
            "&lt;img src=x onerror=&#39;a&#39;&gt;&amp;&quot;<span class=\"u\">\\u{202e}</span>gnp.exe\
             <span class=\"u\">\\n</span>"
        );
        assert_eq!(Safe("Übersicht – 日本").to_string(), "Übersicht – 日本");
    }

    #[test]
    fn less_than_all_is_not_shown_as_all() {
        assert_eq!(
            [percent(Ratio(9_999)), percent(Ratio(10_000)), percent(Ratio(5))],
            ["99.9 %", "100.0 %", "&lt; 0.1 %"]
        );
    }
}
