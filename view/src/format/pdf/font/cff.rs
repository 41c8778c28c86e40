//! The encoding of a font in Compact Font Format: codes to glyphs, glyphs to names.

use std::sync::LazyLock;

use super::encoding::{CODES, Names, Predefined};

/// The strings that every font knows, by number.
static STRINGS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("../data/cff-strings.txt").lines().collect());

/// Operators of the top dictionary.
const CHARSET: u16 = 15;
const ENCODING: u16 = 16;
const CHAR_STRINGS: u16 = 17;
const REGISTRY_ORDERING_SUPPLEMENT: u16 = 12 << 8 | 30;
/// The glyphs of the charset that is named by the offset 0: their names are the first strings.
const ISO_ADOBE_LAST: u16 = 228;

/// The names of the glyphs of all codes. None where a font is damaged, or numbers its characters.
pub(super) fn names(data: &[u8]) -> Option<Names> {
    let header = usize::from(*data.get(2)?);
    let (_, after) = index(data.get(header..)?)?;
    let (tops, after) = index(after)?;
    let (strings, _) = index(after)?;
    let top = Top::read(tops.first()?);
    if top.is_numbered {
        return None;
    }
    if top.encoding == 0 {
        return Some((0..=u8::MAX).map(|code| Predefined::Standard.name(code).map(str::to_owned)).collect());
    }
    let glyphs = index(data.get(top.char_strings..)?)?.0.len();
    let charset = charset(data, top.charset, glyphs)?;
    let name = |string: u16| {
        let string = usize::from(string);
        match STRINGS.get(string) {
            Some(known) => Some((*known).to_owned()),
            None => std::str::from_utf8(strings.get(string - STRINGS.len())?).ok().map(str::to_owned),
        }
    };
    let mut names = vec![None; CODES];
    for (code, string) in codes(data.get(top.encoding..)?, &charset)? {
        names[usize::from(code)] = name(string);
    }
    Some(names)
}

/// The entries of the top dictionary that are used.
#[derive(Default)]
struct Top {
    charset: usize,
    encoding: usize,
    char_strings: usize,
    is_numbered: bool,
}

impl Top {
    fn read(mut data: &[u8]) -> Top {
        let (mut top, mut operand) = (Top::default(), 0);
        while let Some((&first, rest)) = data.split_first() {
            let (skipped, number) = match (first, rest) {
                (12, [second, ..]) => (1, Err(12 << 8 | u16::from(*second))),
                (0..=27, _) => (0, Err(u16::from(first))),
                (28, [a, b, ..]) => (2, Ok(i64::from(i16::from_be_bytes([*a, *b])))),
                (29, [a, b, c, d, ..]) => (4, Ok(i64::from(i32::from_be_bytes([*a, *b, *c, *d])))),
                // A number with a point: its digits end with the nibble 15.
                (30, _) => (rest.iter().position(|byte| byte & 15 == 15).map_or(rest.len(), |end| end + 1), Ok(0)),
                (32..=246, _) => (0, Ok(i64::from(first) - 139)),
                (247..=250, [b, ..]) => (1, Ok((i64::from(first) - 247) * 256 + i64::from(*b) + 108)),
                (251..=254, [b, ..]) => (1, Ok(-(i64::from(first) - 251) * 256 - i64::from(*b) - 108)),
                _ => break,
            };
            data = &rest[skipped..];
            match number {
                Ok(number) => operand = usize::try_from(number).unwrap_or(0),
                Err(CHARSET) => top.charset = operand,
                Err(ENCODING) => top.encoding = operand,
                Err(CHAR_STRINGS) => top.char_strings = operand,
                Err(REGISTRY_ORDERING_SUPPLEMENT) => top.is_numbered = true,
                Err(_) => {}
            }
        }
        top
    }
}

/// The items of an index, and what is behind it.
fn index(data: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let count = usize::from(u16_at(data, 0)?);
    if count == 0 {
        return Some((Vec::new(), &data[2..]));
    }
    let size = usize::from(*data.get(2)?);
    let offset = |place: usize| {
        let bytes = data.get(3 + place * size..3 + (place + 1) * size).filter(|_| (1..=4).contains(&size))?;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    };
    // Offsets count from the byte before the items.
    let base = 2 + (count + 1) * size;
    let item = |place| data.get(base + offset(place)?..base + offset(place + 1)?);
    let items = (0..count).map(item).collect::<Option<Vec<_>>>()?;
    Some((items, data.get(base + offset(count)?..)?))
}

/// The names of all glyphs, as numbers of strings.
fn charset(data: &[u8], offset: usize, glyphs: usize) -> Option<Vec<u16>> {
    if offset == 0 {
        return Some((0..=ISO_ADOBE_LAST).take(glyphs).collect());
    }
    let table = data.get(offset..).filter(|_| offset > 2)?;
    let format = *table.first()?;
    let mut strings = vec![0];
    let mut at = 1;
    while strings.len() < glyphs {
        let first = u16_at(table, at)?;
        let more = match format {
            0 => 0,
            1 => u16::from(*table.get(at + 2)?),
            2 => u16_at(table, at + 2)?,
            _ => return None,
        };
        at += 2 + usize::from(format);
        strings.extend((0..=more).map(|step| first.saturating_add(step)));
    }
    Some(strings)
}

/// Codes with the names of their glyphs.
fn codes(table: &[u8], charset: &[u16]) -> Option<Vec<(u8, u16)>> {
    let (&format, rest) = table.split_first()?;
    let (&count, rest) = rest.split_first()?;
    let count = usize::from(count);
    let (in_order, after): (Vec<u8>, usize) = match format & 0x7F {
        0 => (rest.get(..count)?.to_vec(), count),
        1 => {
            let ranges = rest.get(..2 * count)?.as_chunks::<2>().0;
            (ranges.iter().flat_map(|&[first, more]| first..=first.saturating_add(more)).collect(), 2 * count)
        }
        _ => return None,
    };
    // Glyph 0 has no code.
    let mut codes: Vec<(u8, u16)> = in_order.into_iter().zip(charset.iter().skip(1).copied()).collect();
    if format & 0x80 != 0 {
        let supplement = rest.get(after..)?;
        let entries = supplement.get(1..).unwrap_or_default().as_chunks::<3>().0;
        let count = usize::from(*supplement.first()?);
        codes.extend(entries.iter().take(count).map(|&[code, high, low]| (code, u16::from_be_bytes([high, low]))));
    }
    Some(codes)
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A font of three glyphs: `.notdef`, `A` and one with a name of its own, with codes 1 and 5, and 9 for `B`.
    fn font(encoding: &[u8]) -> Vec<u8> {
        let index = |items: &[&[u8]]| {
            let mut bytes = vec![0, u8::try_from(items.len()).unwrap()];
            if !items.is_empty() {
                bytes.push(1);
                let mut offset = 1;
                bytes.push(offset);
                items.iter().for_each(|item| {
                    offset += u8::try_from(item.len()).unwrap();
                    bytes.push(offset);
                });
                items.iter().for_each(|item| bytes.extend(*item));
            }
            bytes
        };
        let mut data = vec![1, 0, 4, 1];
        data.extend(index(&[b"Name"]));
        let strings = index(&[b"own"]);
        let charset = [0, 0, 34, 1, 135];
        // Operands of two bytes: 28 and the number.
        let top_length = 4 * 3;
        let after = data.len() + 5 + top_length + strings.len() + 2;
        let number = |number: usize| [28, 0, u8::try_from(number).unwrap()];
        let mut top = Vec::new();
        for (place, operator) in [(after, 15), (after + 5, 16), (after + 5 + encoding.len(), 17)] {
            top.extend(number(place));
            top.push(operator);
        }
        data.extend(index(&[&top]));
        data.extend(strings);
        data.extend(index(&[]));
        data.extend(charset);
        data.extend(encoding);
        data.extend(index(&[b"x", b"x", b"x"]));
        data
    }

    #[test]
    fn codes_have_the_names_of_their_glyphs() {
        for encoding in [&[0, 2, 1, 5][..], &[1, 2, 1, 0, 5, 0], &[0x80, 2, 1, 5, 1, 9, 0, 35]] {
            let names = names(&font(encoding)).expect("a font");
            let of = |code: usize| names[code].as_deref();
            assert_eq!((of(1), of(5), of(2)), (Some("A"), Some("own"), None), "{encoding:?}");
            assert_eq!(of(9), (encoding[0] & 0x80 != 0).then_some("B"));
        }
    }

    #[test]
    fn a_font_that_is_cut_anywhere_has_no_names_and_breaks_nothing() {
        let complete = font(&[0x80, 2, 1, 5, 1, 9, 0, 35]);
        for length in 0..complete.len() {
            let _ = names(&complete[..length]);
        }
        assert_eq!(names(&complete[..20]), None);
    }
}
