//! What an extractor gives: text as it stands in the document, and where its paragraphs end.

use crate::outcome::Reason;

/// Takes text as an extractor finds it.
///
/// White space is folded and characters are normalised on the other side: an extractor hands over what it finds, a space
/// or a tab where words must not run together, and says where a paragraph (a heading, an item, a cell of a table, a row
/// of a sheet) ends.
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
