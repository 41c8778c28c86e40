//! The output of extractors: text as the document has it, and the ends of its paragraphs.

use crate::outcome::Reason;

/// Takes text as an extractor finds it.
///
/// White space is folded and characters are normalised on the other side: an extractor hands over what it finds, a
/// space or a tab where words must not run together, and reports the end of a paragraph (a heading, an item, a cell, a
/// row of a sheet).
pub trait Text {
    /// More of the present paragraph.
    ///
    /// # Errors
    /// When there is too much text, or too much time has gone: the extractor gives up with the same reason.
    fn push(&mut self, text: &str) -> Result<(), Reason>;

    /// The present paragraph ends. Empty paragraphs are no paragraphs.
    ///
    /// # Errors
    /// As [`Text::push`].
    fn end_paragraph(&mut self) -> Result<(), Reason>;
}

#[cfg(test)]
pub(crate) mod tests;
