//! The layout of recognised text: lines become paragraphs, as those of a PDF do.

use crate::hyphen::without_hyphen;
use crate::normalise::Normaliser;

/// The text of an answer, normalised: an empty line or the end of a page ends a paragraph.
pub(super) fn text(answer: &str) -> String {
    let (mut normaliser, mut out) = (Normaliser::new(), String::new());
    let mut lines = answer.split(['\n', '\u{C}']).peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let next = lines.peek().map_or("", |next| next.trim());
        match without_hyphen(line, next) {
            Some(part) => normaliser.push(part, &mut out),
            None => {
                normaliser.push(line, &mut out);
                normaliser.push(" ", &mut out);
            }
        }
        if next.is_empty() {
            normaliser.end_paragraph(&mut out);
        }
    }
    normaliser.finish(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_empty_ones_separate_paragraphs() {
        let answer = "The Supplier shall de-\nliver the goods\n\n \nwithin 30 days -\nor later\n\u{C}Page two\n\u{C}";
        assert_eq!(text(answer), "The Supplier shall deliver the goods\nwithin 30 days - or later\nPage two");
        assert_eq!(text(""), "");
        assert_eq!(text(" \n\n\u{C}"), "");
    }
}
