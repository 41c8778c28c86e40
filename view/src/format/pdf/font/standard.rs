//! The fourteen fonts that every reader of PDF knows: the widths of their glyphs, and which of them a font is.

use std::collections::HashMap;
use std::sync::LazyLock;

use hayro_syntax::object::dict::keys::{BASE_FONT, FLAGS, FONT_DESC, FONT_WEIGHT, ITALIC_ANGLE};
use hayro_syntax::object::{Dict, Name};

use super::encoding::Predefined;

/// Widths by name of glyph: one for each of the columns of the two proportional families.
static WIDTHS: LazyLock<HashMap<&'static str, Vec<f32>>> =
    LazyLock::new(|| widths(include_str!("../data/standard-widths.txt")));
static SYMBOL: LazyLock<HashMap<&'static str, Vec<f32>>> =
    LazyLock::new(|| widths(include_str!("../data/symbol-widths.txt")));
static DINGBATS: LazyLock<HashMap<&'static str, Vec<f32>>> =
    LazyLock::new(|| widths(include_str!("../data/dingbats-widths.txt")));

/// The width of every glyph of Courier.
const COURIER: f32 = 600.0;
/// The flag of fonts with serifs.
const SERIF: u32 = 1 << 1;

fn widths(lines: &'static str) -> HashMap<&'static str, Vec<f32>> {
    let row = |line: &'static str| {
        let (name, widths) = line.split_once(' ')?;
        Some((name, widths.split(' ').filter_map(|width| width.parse().ok()).collect()))
    };
    lines.lines().filter_map(row).collect()
}

/// A family of the standard fonts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Helvetica,
    Courier,
    Times,
    Symbol,
    ZapfDingbats,
}

/// One of the standard fonts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Standard {
    pub(super) family: Family,
    pub(super) is_bold: bool,
    pub(super) is_italic: bool,
}

impl Standard {
    pub(super) const HELVETICA: Standard = Standard { family: Family::Helvetica, is_bold: false, is_italic: false };

    /// The standard font that a font is or looks like.
    pub(super) fn like(font: &Dict<'_>) -> Option<Standard> {
        let name = font.get::<Name<'_>>(BASE_FONT)?;
        let name = without_tag(name.as_str()).to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let descriptor = font.get::<Dict<'_>>(FONT_DESC).unwrap_or_default();
        let family = match () {
            () if name == "symbol" => Family::Symbol,
            () if has(&["helvetica", "arial", "sans"]) => Family::Helvetica,
            () if has(&["courier", "mono"]) => Family::Courier,
            () if has(&["times", "serif"]) => Family::Times,
            () if has(&["dingbats"]) => Family::ZapfDingbats,
            () => return None,
        };
        let is_heavy = descriptor.get::<u32>(FONT_WEIGHT).is_some_and(|weight| weight >= 700);
        let is_slanted = descriptor.get::<f32>(ITALIC_ANGLE).is_some_and(|angle| angle != 0.0);
        let (is_bold, is_italic) = (is_heavy || has(&["bold", "demi"]), is_slanted || has(&["italic", "oblique"]));
        Some(Standard { family, is_bold, is_italic })
    }

    /// The standard font that replaces one of which only the name and the flags are known.
    pub(super) fn instead_of(font: &Dict<'_>) -> Standard {
        let name = font.get::<Name<'_>>(BASE_FONT);
        let has = |part| name.as_ref().is_some_and(|name| name.as_str().contains(part));
        let descriptor = font.get::<Dict<'_>>(FONT_DESC).unwrap_or_default();
        let is_serif = descriptor.get::<u32>(FLAGS).unwrap_or(0) & SERIF != 0;
        let family = if is_serif { Family::Times } else { Family::Helvetica };
        Standard { family, is_bold: has("Bold"), is_italic: has("Italic") }
    }

    /// The encoding of the font itself.
    pub(super) fn encoding(self) -> Predefined {
        match self.family {
            Family::Symbol => Predefined::Symbol,
            Family::ZapfDingbats => Predefined::ZapfDingbats,
            _ => Predefined::Standard,
        }
    }

    /// True if the font is of signs, whatever encoding a document gives it.
    pub(super) fn is_of_signs(self) -> bool {
        matches!(self.family, Family::Symbol | Family::ZapfDingbats)
    }

    /// The width of a glyph, in thousandths of the size.
    pub(super) fn width(self, name: &str) -> Option<f32> {
        let name = match name {
            ".notdef" => return Some(250.0),
            "nbspace" => "space",
            "sfthyphen" => "hyphen",
            name => name,
        };
        let of = |table: &HashMap<&str, Vec<f32>>, column: usize| table.get(name)?.get(column).copied();
        match (self.family, self.is_bold, self.is_italic) {
            (Family::Helvetica, is_bold, _) => of(&WIDTHS, usize::from(is_bold)),
            (Family::Times, is_bold, is_italic) => of(&WIDTHS, 2 + usize::from(is_bold) + 2 * usize::from(is_italic)),
            (Family::Courier, ..) => WIDTHS.contains_key(name).then_some(COURIER),
            (Family::Symbol, ..) => of(&SYMBOL, 0),
            (Family::ZapfDingbats, ..) => of(&DINGBATS, 0),
        }
    }
}

/// The name of a font without the tag of a subset: `ABCDEF+Times`.
fn without_tag(name: &str) -> &str {
    match name.split_once('+') {
        Some((tag, name)) if tag.len() == 6 => name,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn font(family: Family, is_bold: bool, is_italic: bool) -> Standard {
        Standard { family, is_bold, is_italic }
    }

    #[test]
    fn glyphs_of_the_standard_fonts_have_their_widths() {
        let cases = [
            (font(Family::Helvetica, false, true), "A", Some(667.0)),
            (font(Family::Helvetica, true, false), "A", Some(722.0)),
            (font(Family::Times, false, false), "A", Some(722.0)),
            (font(Family::Times, true, false), "at", Some(930.0)),
            (font(Family::Times, false, true), "A", Some(611.0)),
            (font(Family::Times, true, true), "A", Some(667.0)),
            (font(Family::Courier, true, false), "A", Some(600.0)),
            (font(Family::Courier, true, false), "a1", None),
            (font(Family::Symbol, false, false), "space", Some(250.0)),
            (font(Family::ZapfDingbats, false, false), "space", Some(278.0)),
            (font(Family::Times, false, false), "nbspace", Some(250.0)),
            (font(Family::Courier, false, false), ".notdef", Some(250.0)),
        ];
        for (font, name, wanted) in cases {
            assert_eq!(font.width(name), wanted, "{font:?} {name}");
        }
    }
}
