//! The output of extractors: text as the document has it, and the ends of its paragraphs.

use crate::outcome::Reason;

/// Takes text as an extractor finds it.
///
/// The receiver folds white space and normalises characters: an extractor passes text unchanged, a space or a tab between
/// words that must not run together, and the end of each paragraph (a heading, an item, a cell, a row of a sheet).
pub trait Text {
    /// Adds text to the present paragraph.
    ///
    /// # Errors
    /// If the text or the time exceeds its limit; the extractor then ends with the same reason.
    fn push(&mut self, text: &str) -> Result<(), Reason>;

    /// Ends the present paragraph. Empty paragraphs are ignored.
    ///
    /// # Errors
    /// As [`Text::push`].
    fn end_paragraph(&mut self) -> Result<(), Reason>;

    /// Pictures of pages that are taken; 0: none.
    fn picture_pages_max(&self) -> u32 {
        0
    }

    /// Takes a picture of the present page, as the bytes of a file, with its dots per inch (0: unknown). What was pushed
    /// before comes before its text.
    ///
    /// # Errors
    /// As [`Text::push`].
    fn picture(&mut self, _file: &[u8], _dots_per_inch: u32) -> Result<(), Reason> {
        Ok(())
    }

    /// Ends a page: one that is a picture, or one with text or nothing on it. Formats without pages have none.
    ///
    /// # Errors
    /// As [`Text::push`].
    fn end_page(&mut self, _is_picture: bool) -> Result<(), Reason> {
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
