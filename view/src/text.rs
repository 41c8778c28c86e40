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

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Cursor;

    use super::Text;
    use crate::kind::Kind;
    use crate::normalise::Normaliser;
    use crate::outcome::Reason;

    /// Keeps normalised text.
    #[derive(Default)]
    pub(crate) struct Kept {
        normaliser: Normaliser,
        out: String,
    }

    impl Kept {
        /// All of it.
        pub(crate) fn finish(mut self) -> String {
            self.normaliser.finish(&mut self.out);
            self.out
        }
    }

    impl Text for Kept {
        fn push(&mut self, text: &str) -> Result<(), Reason> {
            self.normaliser.push(text, &mut self.out);
            Ok(())
        }

        fn end_paragraph(&mut self) -> Result<(), Reason> {
            self.normaliser.end_paragraph(&mut self.out);
            Ok(())
        }
    }

    /// The text of a document, normalised.
    pub(crate) fn text_of(kind: Kind, bytes: &[u8]) -> Result<String, Reason> {
        let mut kept = Kept::default();
        crate::format::extract(kind, &mut Cursor::new(bytes), &mut kept)?;
        Ok(kept.finish())
    }
}
