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

/// The pages of a document, true for pictures, and the files of these pictures with their dots per inch.
#[derive(Default)]
pub(crate) struct CollectedPages {
    pub(crate) pictures_max: u32,
    pub(crate) are_pictures: Vec<bool>,
    pub(crate) files: Vec<(Vec<u8>, u32)>,
}

impl Text for CollectedPages {
    fn push(&mut self, _: &str) -> Result<(), Reason> {
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        Ok(())
    }

    fn picture_pages_max(&self) -> u32 {
        self.pictures_max
    }

    fn picture(&mut self, file: &[u8], dots_per_inch: u32) -> Result<(), Reason> {
        self.files.push((file.to_vec(), dots_per_inch));
        Ok(())
    }

    fn end_page(&mut self, is_picture: bool) -> Result<(), Reason> {
        self.are_pictures.push(is_picture);
        Ok(())
    }
}
