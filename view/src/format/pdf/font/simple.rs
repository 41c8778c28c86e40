//! Simple fonts: a code is a byte, an encoding gives it the name of a glyph, and the name gives the letters.

use hayro_cmap::BfString;
use hayro_syntax::object::dict::keys::{
    ENCODING, FIRST_CHAR, FONT_DESC, FONT_FILE, FONT_FILE2, FONT_FILE3, FONT_MATRIX, LAST_CHAR, MISSING_WIDTH, WIDTHS,
};
use hayro_syntax::object::{Array, Dict, Stream};

use super::encoding::{Encoding, Predefined};
use super::program::Program;
use super::standard::{Family, Standard};
use super::{ToUnicode, glyph_name, numbered};

/// Number of codes.
const CODES: usize = 256;

/// A font of a byte a code: the letters and the width of each.
pub(in crate::format::pdf) struct Simple {
    to_unicode: Option<ToUnicode>,
    letters: Vec<Option<BfString>>,
    widths: Vec<Option<f32>>,
}

impl Simple {
    /// A Type 1 font, which may be embedded or one of the standard fonts.
    pub(super) fn type1(font: &Dict<'_>) -> Option<Simple> {
        let descriptor = font.get::<Dict<'_>>(FONT_DESC).unwrap_or_default();
        let stream = descriptor.get::<Stream<'_>>(FONT_FILE3).or_else(|| descriptor.get::<Stream<'_>>(FONT_FILE));
        let program = stream.and_then(|stream| Program::of(&stream));
        let has_file = descriptor.contains_key(FONT_FILE) || descriptor.contains_key(FONT_FILE3);
        let widths = Widths::of(font, &descriptor)?;
        let like = Standard::like(font);
        let Some(program) = program else {
            let known = like.filter(|_| !has_file);
            return Some(Simple::standard(font, known.unwrap_or_else(|| Standard::instead_of(font)), &widths));
        };
        let encoding = Encoding::of(font);
        let name = |code: u8| match (encoding.differences.get(&code), encoding.base) {
            (None, None) => program.glyph_name(code).map(str::to_owned),
            _ => encoding.name(code).map(str::to_owned),
        };
        let is_dingbats = like.is_some_and(|like| like.family == Family::ZapfDingbats);
        Some(Simple::with(font, &widths, like, is_dingbats, name))
    }

    /// A TrueType font.
    pub(super) fn true_type(font: &Dict<'_>) -> Option<Simple> {
        let descriptor = font.get::<Dict<'_>>(FONT_DESC).unwrap_or_default();
        let widths = Widths::of(font, &descriptor)?;
        let stream = descriptor.get::<Stream<'_>>(FONT_FILE2);
        let is_embedded = stream.and_then(|stream| Program::of(&stream)).is_some_and(|program| program.is_sfnt());
        let like = Standard::like(font);
        if !is_embedded {
            return Some(Simple::standard(font, like.unwrap_or_else(|| Standard::instead_of(font)), &widths));
        }
        let encoding = Encoding::of(font);
        // A font without an encoding has the letters of Windows, as most programs take it.
        let base = if font.contains_key(ENCODING) { Predefined::Standard } else { Predefined::WinAnsi };
        let name = |code| encoding.name(code).or_else(|| base.name(code)).map(str::to_owned);
        let is_dingbats = like.is_some_and(|like| like.family == Family::ZapfDingbats);
        let instead = like.unwrap_or_else(|| Standard::instead_of(font));
        Some(Simple::with(font, &widths, Some(instead), is_dingbats, name))
    }

    /// A font whose glyphs are drawings of the document.
    pub(super) fn type3(font: &Dict<'_>) -> Option<Simple> {
        let widths = Widths::of(font, font)?;
        let encoding = Encoding::of(font);
        let mut simple = Simple::with(font, &widths, None, false, |code| encoding.name(code).map(str::to_owned));
        let scale = font.get::<[f32; 6]>(FONT_MATRIX).map_or(0.001, |matrix| matrix[0]);
        let missing = widths.missing;
        simple.widths.iter_mut().for_each(|width| *width = Some(width.unwrap_or(missing) * scale * 1000.0));
        Some(simple)
    }

    /// Helvetica, for documents that define no font.
    pub(super) fn helvetica() -> Simple {
        let nothing = Widths { given: Vec::new(), missing: 0.0 };
        Simple::standard(&Dict::default(), Standard::HELVETICA, &nothing)
    }

    /// A font that is not embedded.
    fn standard(font: &Dict<'_>, standard: Standard, widths: &Widths) -> Simple {
        let mut encoding = Encoding::of(font);
        if standard.is_of_signs() {
            encoding.base = None;
        }
        let base = encoding.base.unwrap_or(standard.encoding());
        let name = |code: u8| {
            let different = encoding.differences.get(&code).map(String::as_str);
            let is_named = code == 0 && encoding.base.is_some();
            different.or_else(|| if is_named { Some(".notdef") } else { base.name(code) }).map(str::to_owned)
        };
        Simple::with(font, widths, Some(standard), standard.family == Family::ZapfDingbats, name)
    }

    fn with(
        font: &Dict<'_>,
        widths: &Widths,
        standard: Option<Standard>,
        is_dingbats: bool,
        name: impl Fn(u8) -> Option<String>,
    ) -> Simple {
        let names: Vec<Option<String>> = (0..=u8::MAX).map(name).collect();
        let mut letters: Vec<Option<BfString>> =
            names.iter().map(|name| letters_of(name.as_deref()?, is_dingbats)).collect();
        numbered::fill(&mut letters, &names);
        let width =
            |(code, name): (usize, &Option<String>)| widths.of_code(code).or_else(|| standard?.width(name.as_deref()?));
        Simple { to_unicode: ToUnicode::of(font), letters, widths: names.iter().enumerate().map(width).collect() }
    }

    /// The letters of a code: by the map of the document, else by the name of the glyph.
    pub(super) fn text(&self, code: u32) -> Option<BfString> {
        let given = self.to_unicode.as_ref().and_then(|map| map.text(code, 1));
        let given = given.filter(super::is_known);
        given.or_else(|| self.letters.get(usize::try_from(code).ok()?)?.clone())
    }

    /// The width of a code, where it is known.
    pub(super) fn width(&self, code: u32) -> Option<f32> {
        *self.widths.get(usize::try_from(code).ok()?)?
    }
}

/// The letters of a glyph; the one for what a font does not have is no letter that is lost.
fn letters_of(name: &str, is_dingbats: bool) -> Option<BfString> {
    match name {
        ".notdef" => Some(BfString::String(String::new())),
        name => glyph_name::text(name, is_dingbats),
    }
}

/// The widths that a font's dictionary gives.
struct Widths {
    /// By code, or empty where it gives none; `None` is missing.
    given: Vec<Option<f32>>,
    missing: f32,
}

impl Widths {
    /// None where its bounds make no sense.
    fn of(font: &Dict<'_>, descriptor: &Dict<'_>) -> Option<Widths> {
        let missing = descriptor.get::<f32>(MISSING_WIDTH).unwrap_or(0.0);
        let bounds = font.get::<usize>(FIRST_CHAR).zip(font.get::<usize>(LAST_CHAR));
        let Some(((first, last), widths)) = bounds.zip(font.get::<Array<'_>>(WIDTHS)) else {
            return Some(Widths { given: Vec::new(), missing });
        };
        let count = last.checked_sub(first)?.checked_add(1)?;
        let mut given = vec![None; CODES];
        let after = given.get_mut(first..).unwrap_or_default();
        for (place, width) in after.iter_mut().zip(widths.iter::<f32>().take(count)) {
            *place = Some(width);
        }
        Some(Widths { given, missing })
    }

    fn of_code(&self, code: usize) -> Option<f32> {
        Some(self.given.get(code)?.unwrap_or(self.missing))
    }
}
