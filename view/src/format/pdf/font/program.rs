//! Fonts that a document embeds. Of what is in them only the names that they give to codes are read.

use hayro_syntax::object::Stream;

use super::encoding::{CODES, Names};
use super::{cff, type1};

/// An embedded font.
pub(super) struct Program {
    is_sfnt: bool,
    names: Names,
}

impl Program {
    /// Reads a font. None where it is of no kind that is known.
    pub(super) fn of(stream: &Stream<'_>) -> Option<Program> {
        Program::parse(&stream.decoded_data().ok()?)
    }

    fn parse(data: &[u8]) -> Option<Program> {
        let none = || vec![None; CODES];
        match data.get(..4)? {
            [0, 1, 0, 0] | b"true" | b"OTTO" | b"ttcf" => {
                let names = table(data, b"CFF ").and_then(cff::names).unwrap_or_else(none);
                Some(Program { is_sfnt: true, names })
            }
            [b'%', b'!', ..] | [0x80, 1, ..] => {
                Some(Program { is_sfnt: false, names: type1::names(data).unwrap_or_else(none) })
            }
            [1, ..] => Some(Program { is_sfnt: false, names: cff::names(data).unwrap_or_else(none) }),
            _ => None,
        }
    }

    /// True if it has the tables of TrueType and OpenType.
    pub(super) fn is_sfnt(&self) -> bool {
        self.is_sfnt
    }

    /// The name that the font itself gives to a code.
    pub(super) fn glyph_name(&self, code: u8) -> Option<&str> {
        self.names.get(usize::from(code))?.as_deref()
    }
}

/// A table of a font that is made of tables.
fn table<'d>(data: &'d [u8], tag: &[u8; 4]) -> Option<&'d [u8]> {
    let number = |at: usize| data.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let (records, _) = data.get(12..)?.as_chunks::<16>();
    let count = data.get(4..6)?.try_into().ok().map(u16::from_be_bytes)?;
    let place = records.iter().take(count.into()).position(|record| record.starts_with(tag))?;
    let record = 12 + 16 * place;
    let offset = usize::try_from(number(record + 8)?).ok()?;
    let length = usize::try_from(number(record + 12)?).ok()?;
    data.get(offset..offset.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_font_is_known_by_its_first_bytes() {
        let cases: [(&[u8], Option<bool>); 7] = [
            (b"%!PS-AdobeFont-1.0", Some(false)),
            (b"\x80\x01\x10\0\0\0%!PS", Some(false)),
            (b"\x01\0\x04\x01", Some(false)),
            (b"\0\x01\0\0\0\0", Some(true)),
            (b"OTTO\0\0", Some(true)),
            (b"nothing", None),
            (b"", None),
        ];
        for (data, wanted) in cases {
            assert_eq!(Program::parse(data).map(|program| program.is_sfnt()), wanted, "{data:?}");
        }
    }

    #[test]
    fn tables_are_found_by_their_tags() {
        let mut data = b"OTTO\0\x01\0\0\0\0\0\0CFF \0\0\0\0\0\0\0\x1C\0\0\0\x02".to_vec();
        data.extend(b"xyz");
        assert_eq!(table(&data, b"CFF "), Some(&b"xy"[..]));
        assert_eq!((table(&data, b"cmap"), table(&data[..20], b"CFF ")), (None, None));
    }
}
