//! Collects the text of extractors, for the tests of all formats.

use std::io::Cursor;

use super::Text;
use crate::kind::Kind;
use crate::normalise::Normaliser;
use crate::outcome::Reason;

/// Collects normalised text.
#[derive(Default)]
pub(crate) struct CollectedText {
    normaliser: Normaliser,
    out: String,
}

impl CollectedText {
    /// All of it.
    pub(crate) fn finish(mut self) -> String {
        self.normaliser.finish(&mut self.out);
        self.out
    }
}

impl Text for CollectedText {
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
    let mut collected = CollectedText::default();
    crate::format::extract(kind, &mut Cursor::new(bytes), &mut collected)?;
    Ok(collected.finish())
}
