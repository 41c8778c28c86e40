//! The sink of extractors: text is normalised, within the limits, and written to the open part.

use std::io::{self, Write};

use crate::budget::Budget;
use crate::frames::PartsWriter;
use crate::normalise::Normaliser;
use crate::outcome::Reason;
use crate::text::Text;

/// Text is written from this size on.
const READY_BYTES: usize = 16 * 1024;

pub(super) struct Sink<'s, 'o> {
    parts: &'s mut PartsWriter<&'o mut dyn Write>,
    budget: &'s Budget,
    normaliser: Normaliser,
    ready: String,
    pages: Pages,
    broken: Option<io::Error>,
}

/// The pages of a part.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pages {
    pub(super) pictures: u32,
    pub(super) others: u32,
}

impl<'s, 'o> Sink<'s, 'o> {
    pub(super) fn new(parts: &'s mut PartsWriter<&'o mut dyn Write>, budget: &'s Budget) -> Sink<'s, 'o> {
        Sink {
            parts,
            budget,
            normaliser: Normaliser::new(),
            ready: String::new(),
            pages: Pages::default(),
            broken: None,
        }
    }

    /// The pages so far.
    pub(super) fn pages(&self) -> Pages {
        self.pages
    }

    /// The text ends.
    pub(super) fn finish(&mut self) -> Result<(), Reason> {
        self.normaliser.finish(&mut self.ready);
        self.flush()
    }

    /// The error by which the output failed.
    pub(super) fn broken(self) -> Option<io::Error> {
        self.broken
    }

    fn flush(&mut self) -> Result<(), Reason> {
        self.budget.text(self.parts.text_bytes(), self.ready.len() as u64)?;
        let written = self.parts.text(&self.ready);
        self.ready.clear();
        self.note(written)
    }

    fn note(&mut self, written: io::Result<()>) -> Result<(), Reason> {
        written.map_err(|error| {
            self.broken = Some(error);
            Reason::Crashed
        })
    }
}

impl Text for Sink<'_, '_> {
    fn push(&mut self, text: &str) -> Result<(), Reason> {
        self.normaliser.push(text, &mut self.ready);
        // White space may become no text at all, but costs time.
        self.budget.work(text.len() as u64)?;
        if self.ready.len() >= READY_BYTES { self.flush() } else { Ok(()) }
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.normaliser.end_paragraph(&mut self.ready);
        Ok(())
    }

    fn picture_pages_max(&self) -> u32 {
        self.budget.picture_pages_max()
    }

    fn picture(&mut self, file: &[u8], dots_per_inch: u32) -> Result<(), Reason> {
        self.normaliser.end_paragraph(&mut self.ready);
        self.flush()?;
        self.budget.work(file.len() as u64)?;
        let written = self.parts.picture(file, dots_per_inch);
        self.note(written)
    }

    fn end_page(&mut self, is_picture: bool) -> Result<(), Reason> {
        let pages = if is_picture { &mut self.pages.pictures } else { &mut self.pages.others };
        *pages = pages.saturating_add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
