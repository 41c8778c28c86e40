//! The encodings of simple fonts: which glyph a code of one byte means.

use std::collections::HashMap;
use std::sync::LazyLock;

use hayro_syntax::object::dict::keys::{
    BASE_ENCODING, DIFFERENCES, ENCODING, MAC_EXPERT_ENCODING, MAC_ROMAN_ENCODING, STANDARD_ENCODING, WIN_ANSI_ENCODING,
};
use hayro_syntax::object::{Array, Dict, Name, Object};

/// Number of codes.
pub(super) const CODES: usize = 256;
/// The names of the glyphs of all codes.
pub(super) type Names = Vec<Option<String>>;

/// The names of glyphs by code.
type Table = HashMap<u8, &'static str>;

static TABLES: LazyLock<HashMap<&'static str, Table>> = LazyLock::new(|| {
    let mut tables: HashMap<&'static str, Table> = HashMap::new();
    for line in include_str!("../data/encodings.txt").lines() {
        let mut parts = line.split(' ');
        if let (Some(table), Some(Ok(code)), Some(name)) = (parts.next(), parts.next().map(str::parse), parts.next()) {
            tables.entry(table).or_default().insert(code, name);
        }
    }
    tables
});

/// An encoding that PDF defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Predefined {
    Standard,
    MacRoman,
    WinAnsi,
    MacExpert,
    Symbol,
    ZapfDingbats,
}

impl Predefined {
    /// The name of the glyph of a code.
    pub(super) fn name(self, code: u8) -> Option<&'static str> {
        let table = match self {
            Predefined::Standard => "Standard",
            Predefined::MacRoman => "MacRoman",
            Predefined::WinAnsi => "WinAnsi",
            Predefined::MacExpert => "MacExpert",
            Predefined::Symbol => "Symbol",
            Predefined::ZapfDingbats => "ZapfDingbats",
        };
        let name = TABLES.get(table)?.get(&code).copied();
        // Codes that Windows leaves undefined are bullets.
        name.or_else(|| (self == Predefined::WinAnsi && code > 40).then_some("bullet"))
    }

    /// The encoding that a name in a document means.
    fn of(name: &[u8]) -> Option<Predefined> {
        match name {
            WIN_ANSI_ENCODING => Some(Predefined::WinAnsi),
            MAC_ROMAN_ENCODING => Some(Predefined::MacRoman),
            MAC_EXPERT_ENCODING => Some(Predefined::MacExpert),
            STANDARD_ENCODING => Some(Predefined::Standard),
            _ => None,
        }
    }
}

/// The encoding that a font's dictionary gives.
pub(super) struct Encoding {
    /// None: that of the font itself.
    pub(super) base: Option<Predefined>,
    /// The codes that mean something else.
    pub(super) differences: HashMap<u8, String>,
}

impl Encoding {
    pub(super) fn of(font: &Dict<'_>) -> Encoding {
        let named = |dict: &Dict<'_>, key: &[u8]| dict.get::<Name<'_>>(key).and_then(|name| Predefined::of(&name));
        match font.get::<Dict<'_>>(ENCODING) {
            Some(own) => Encoding { base: named(&own, BASE_ENCODING), differences: differences(&own) },
            None => Encoding { base: named(font, ENCODING), differences: HashMap::new() },
        }
    }

    /// The name of the glyph of a code; `None` if the font itself decides.
    pub(super) fn name(&self, code: u8) -> Option<&str> {
        let different = self.differences.get(&code).map(String::as_str);
        different.or_else(|| if code == 0 { Some(".notdef") } else { self.base?.name(code) })
    }
}

fn differences(encoding: &Dict<'_>) -> HashMap<u8, String> {
    let (mut names, mut code) = (HashMap::new(), 0_i64);
    let all = encoding.get::<Array<'_>>(DIFFERENCES);
    for part in all.iter().flat_map(|all| all.iter::<Object<'_>>()) {
        match part {
            Object::Number(number) => code = number.as_i64(),
            Object::Name(name) => {
                if let Ok(code) = u8::try_from(code) {
                    names.insert(code, name.as_str().to_owned());
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_mean_glyphs() {
        let cases = [
            (Predefined::Standard, 0o101, Some("A")),
            (Predefined::Standard, 0x80, None),
            (Predefined::WinAnsi, 0x80, Some("Euro")),
            (Predefined::WinAnsi, 0x7F, Some("bullet")),
            (Predefined::WinAnsi, 10, None),
            (Predefined::MacRoman, 0xA5, Some("bullet")),
            (Predefined::MacRoman, 0xB0, Some("infinity")),
            (Predefined::MacExpert, 0x30, Some("zerooldstyle")),
            (Predefined::Symbol, 0x61, Some("alpha")),
            (Predefined::ZapfDingbats, 0x21, Some("a1")),
        ];
        for (encoding, code, wanted) in cases {
            assert_eq!(encoding.name(code), wanted, "{encoding:?} {code:#x}");
        }
    }
}
