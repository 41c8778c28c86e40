//! PDF: the characters of each page as they are drawn, put together to words, lines and paragraphs.
//!
//! Characters come in the order in which the page draws them, which is that of reading for the programs that make most
//! documents, columns and tables too. Text that is only there to be searched (of a scanned page) is read as well.

mod lines;

use std::io::{Read as _, SeekFrom};

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, interpret_page,
};

use self::lines::{Lines, Mark};
use crate::format::broken;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// How large a document may be: it is at hand as a whole.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// Reads a document page by page.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    if source.length_bytes() > DOCUMENT_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut bytes = Vec::new();
    source.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes).map_err(broken)?;
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => Reason::Unsupported,
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Reason::Encrypted,
        LoadPdfError::Decryption(_) | LoadPdfError::Invalid => Reason::Damaged,
    })?;
    let cache = InterpreterCache::new();
    let mut page = Page::default();
    for read in pdf.pages().iter() {
        let area = Rect::new(0.0, 0.0, 1.0, 1.0);
        let mut context = Context::new(Affine::IDENTITY, area, &cache, pdf.xref(), InterpreterSettings::default());
        interpret_page(read, &mut context, &mut page);
        std::mem::take(&mut page.lines).give(text)?;
        text.end_paragraph()?;
    }
    // A font can say which shapes to draw and not which letters they are.
    if page.unknown > page.known { Err(Reason::Unsupported) } else { Ok(()) }
}

/// Takes what a page draws.
#[derive(Default)]
struct Page {
    lines: Lines,
    /// How many characters there were, and how many shapes that are not known as characters.
    known: u64,
    unknown: u64,
    /// Where the run before began and ended, and how many characters it had.
    run: Option<(Point, Point, usize)>,
}

impl Page {
    fn draw(&mut self, glyph: &Glyph<'_>, transform: Affine, upright: bool) {
        let advance = match glyph {
            Glyph::Outline(outline) => outline.advance_width(),
            Glyph::Type3(shape) => shape.advance_width(),
        };
        let mut buffer = [0; 4];
        let text = match glyph.as_unicode() {
            Some(BfString::Char(character)) => &*character.encode_utf8(&mut buffer),
            Some(BfString::String(ref text)) => {
                self.known += 1;
                return self.lines.draw(text, mark(transform, advance, upright));
            }
            None => {
                self.unknown += 1;
                return;
            }
        };
        self.known += 1;
        self.lines.draw(text, mark(transform, advance, upright));
    }
}

/// Where a character stands. Its own space has a thousand units to the size of the font.
fn mark(transform: Affine, advance: Option<f32>, upright: bool) -> Mark {
    let origin = transform * Point::ZERO;
    let up = (transform * Point::new(0.0, 1000.0)) - origin;
    let along = (transform * Point::new(1000.0, 0.0)) - origin;
    Mark { origin, along, size: up.hypot(), advance: f64::from(advance.unwrap_or(500.0)) / 1000.0, upright }
}

impl Device<'_> for Page {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, mode: &DrawMode) {
        let (Some(first), Some(last)) = (run.glyphs().first(), run.glyphs().last()) else {
            return;
        };
        let at = |transform: Affine| props.transform * transform * Point::ZERO;
        let place = Some((at(first.transform()), at(last.transform()), run.glyphs().len()));
        // What is filled and outlined comes twice.
        if matches!(mode, DrawMode::Stroke(_)) && self.run == place {
            return;
        }
        self.run = place;
        let upright = run.writing_mode() == WritingMode::Vertical;
        for glyph in run.glyphs() {
            self.draw(glyph, props.transform * glyph.transform(), upright);
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}

    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {}

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

#[cfg(test)]
mod tests;
