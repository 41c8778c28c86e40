//! Paragraphs that hold others: notes and boxes stand behind the paragraph in which they are set.

use crate::outcome::Reason;
use crate::text::Text;

/// How much text waits for the end of the paragraph around it. More is handed over where it stands.
const ASIDE_BYTES_MAX: usize = 1 << 20;
/// Ends a paragraph that waits. No text has it: it is a control character.
const END: char = '\u{1E}';

/// Takes text, and keeps what is set aside until the paragraph around it ends.
pub(super) struct Paragraphs<'t> {
    text: &'t mut dyn Text,
    aside: String,
    depth: usize,
}

impl<'t> Paragraphs<'t> {
    pub(super) fn new(text: &'t mut dyn Text) -> Paragraphs<'t> {
        Paragraphs { text, aside: String::new(), depth: 0 }
    }

    /// What follows is a note or a box within the present paragraph.
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
