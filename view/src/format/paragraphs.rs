//! Paragraphs within others: notes and boxes come after the paragraph in which they are set.

use crate::outcome::Reason;
use crate::text::Text;

/// Text that waits for the end of the paragraph around it at most. More of it is written at once.
const ASIDE_BYTES_MAX: usize = 1 << 20;
/// Ends a paragraph that waits. No text has it: it is a control character.
const END: char = '\u{1E}';

/// Takes text, and delays notes and boxes until the paragraph around them ends.
pub(super) struct Paragraphs<'t> {
    text: &'t mut dyn Text,
    aside: String,
    depth: usize,
}

impl<'t> Paragraphs<'t> {
    pub(super) fn new(text: &'t mut dyn Text) -> Paragraphs<'t> {
        Paragraphs { text, aside: String::new(), depth: 0 }
    }

    /// The following text is a note or a box within the present paragraph.
    pub(super) fn begin_aside(&mut self) {
        self.depth += 1;
        self.aside.push(END);
    }

    /// The note or the box ends.
    pub(super) fn end_aside(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.aside.push(END);
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), Reason> {
        if self.depth == 0 {
            return self.text.push(text);
        }
        if self.aside.len() + text.len() > ASIDE_BYTES_MAX {
            self.hand_over()?;
        }
        self.aside.extend(text.split(END));
        Ok(())
    }

    pub(super) fn end_paragraph(&mut self) -> Result<(), Reason> {
        if self.depth > 0 {
            self.aside.push(END);
            return Ok(());
        }
        self.text.end_paragraph()?;
        if self.aside.is_empty() { Ok(()) } else { self.hand_over() }
    }

    fn hand_over(&mut self) -> Result<(), Reason> {
        self.text.end_paragraph()?;
        for paragraph in std::mem::take(&mut self.aside).split(END) {
            self.text.push(paragraph)?;
            self.text.end_paragraph()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::CollectedText;

    /// Steps: `(` begins a note, `)` ends it, `.` ends a paragraph, anything else is text.
    fn check(steps: &str, wanted: &str) {
        let mut text = CollectedText::default();
        let mut paragraphs = Paragraphs::new(&mut text);
        for step in steps.chars() {
            match step {
                '(' => paragraphs.begin_aside(),
                ')' => paragraphs.end_aside(),
                '.' => paragraphs.end_paragraph().unwrap(),
                _ => paragraphs.push(step.encode_utf8(&mut [0; 4])).unwrap(),
            }
        }
        assert_eq!(text.finish().replace('\n', "|"), wanted, "{steps}");
    }

    #[test]
    fn notes_come_after_the_paragraph_around_them() {
        check("ab.c.", "ab|c");
        check("a(n)b.c.", "ab|n|c");
        check("a(n.m)b.", "ab|n|m");
        check("a(n(deep)m)b.", "ab|n|deep|m");
        check("a(n)b(m)c.d.", "abc|n|m|d");
        check("(n).a.", "n|a");
        // An end too many changes nothing.
        check("a)b.", "ab");
        check("..a..b.", "a|b");
    }

    #[test]
    fn a_note_that_is_too_long_does_not_wait() {
        let mut text = CollectedText::default();
        let mut paragraphs = Paragraphs::new(&mut text);
        paragraphs.push("before").unwrap();
        paragraphs.begin_aside();
        let long = "x".repeat(ASIDE_BYTES_MAX);
        paragraphs.push(&long).unwrap();
        paragraphs.push("y").unwrap();
        paragraphs.end_aside();
        paragraphs.push("after").unwrap();
        paragraphs.end_paragraph().unwrap();
        let lines: Vec<usize> = text.finish().lines().map(str::len).collect();
        assert_eq!(lines, ["before".len(), ASIDE_BYTES_MAX, "after".len(), 1]);
    }
}
