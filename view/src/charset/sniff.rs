//! The charset of a text by its bytes: byte order marks first, then zeros and sequences.

use crate::source::HEAD_BYTES;

/// The encoding of a text, as far as its beginning shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Charset {
    /// UTF-8, ASCII too.
    Utf8,
    /// UTF-16, little end first.
    Utf16Le,
    /// UTF-16, big end first.
    Utf16Be,
    /// UTF-32, little end first.
    Utf32Le,
    /// UTF-32, big end first.
    Utf32Be,
    /// One of the encodings that are older than Unicode; the beginning does not show which.
    Legacy,
}

/// The encoding of a text with this beginning, or `None` if it is no text.
///
/// Text has no zero bytes and no control characters other than those that lay it out. Text that is not UTF-8 must be in
/// one of the old encodings: compressed data has control characters within its first hundred bytes.
pub(crate) fn sniff(head: &[u8]) -> Option<Charset> {
    if let Some((charset, mark)) = mark(head) {
        let text = &head[mark..];
        return match charset {
            Charset::Utf8 => (!has_control(text)).then_some(charset),
            _ => is_wide_text(charset, text, 0).then_some(charset),
        };
    }
    if !has_control(head) {
        return Some(if is_utf8(head) { Charset::Utf8 } else { Charset::Legacy });
    }
    // Every text in wide characters has zero bytes: even one without an ASCII letter has line ends.
    if !head.contains(&0) {
        return None;
    }
    [Charset::Utf32Le, Charset::Utf32Be].into_iter().find(|&charset| is_wide_text(charset, head, 2)).or_else(|| {
        let wide = [Charset::Utf16Le, Charset::Utf16Be];
        let blanks = wide.map(|charset| if is_wide_text(charset, head, 100) { blanks(charset, head) } else { 0 });
        (blanks != [0, 0]).then(|| if blanks[0] >= blanks[1] { wide[0] } else { wide[1] })
    })
}

/// The mark at the beginning, and its length.
pub(crate) fn mark(head: &[u8]) -> Option<(Charset, usize)> {
    match head {
        [0xEF, 0xBB, 0xBF, ..] => Some((Charset::Utf8, 3)),
        [0xFF, 0xFE, 0, 0, ..] => Some((Charset::Utf32Le, 4)),
        [0, 0, 0xFE, 0xFF, ..] => Some((Charset::Utf32Be, 4)),
        [0xFF, 0xFE, ..] => Some((Charset::Utf16Le, 2)),
        [0xFE, 0xFF, ..] => Some((Charset::Utf16Be, 2)),
        _ => None,
    }
}

/// The text behind a mark of UTF-8.
pub(crate) fn without_utf8_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head)
}

/// The beginning of a text in wide characters as UTF-8.
pub(crate) fn head_to_utf8(charset: Charset, head: &[u8]) -> String {
    let text = &head[mark(head).map_or(0, |(_, length)| length)..];
    characters(charset, text).map(|character| character.unwrap_or('\u{FFFD}')).collect()
}

/// True if no text has this byte: zero, and control characters that do not lay text out.
pub(crate) fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=6 | 14..=25 | 127)
}

fn has_control(text: &[u8]) -> bool {
    text.iter().any(|&byte| is_control(byte))
}

/// UTF-8 whose last character may be cut off.
fn is_utf8(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() >= HEAD_BYTES,
    }
}

/// True if this is text in wide characters: all are characters, none is a control character, and one in so many at
/// least is a blank (which hardly any pair of random bytes is).
fn is_wide_text(charset: Charset, text: &[u8], blank_of_max: usize) -> bool {
    let mut count = 0;
    for character in characters(charset, text) {
        let fine = character.is_some_and(|character| match u8::try_from(character) {
            Ok(byte) => !is_control(byte),
            Err(_) => !is_unassigned(character),
        });
        if !fine {
            return false;
        }
        count += 1;
    }
    match blank_of_max {
        0 => true,
        // Four bytes that are a character leave no doubt.
        2 => count > 0,
        _ => blanks(charset, text) * blank_of_max >= count && (count >= 128 || is_mostly_ascii(charset, text)),
    }
}

/// Blanks and line ends.
fn blanks(charset: Charset, text: &[u8]) -> usize {
    characters(charset, text).filter(|&character| matches!(character, Some(' ' | '\n' | '\r' | '\t'))).count()
}

/// A short text without a mark is only believed where half of it is ASCII.
fn is_mostly_ascii(charset: Charset, text: &[u8]) -> bool {
    let ascii = characters(charset, text).filter(|character| character.is_some_and(|c| c.is_ascii())).count();
    ascii * 4 >= text.len()
}

/// Private use and places without a character, as far as a cheap check shows.
fn is_unassigned(character: char) -> bool {
    let code = u32::from(character);
    (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE || (0xE000..=0xF8FF).contains(&code)
}

/// The characters of a text in wide characters, `None` for invalid ones. One that is cut off at the end is left out.
fn characters(charset: Charset, text: &[u8]) -> Box<dyn Iterator<Item = Option<char>> + '_> {
    let big = matches!(charset, Charset::Utf16Be | Charset::Utf32Be);
    if matches!(charset, Charset::Utf32Le | Charset::Utf32Be) {
        let read = if big { u32::from_be_bytes } else { u32::from_le_bytes };
        return Box::new(text.chunks_exact(4).map(move |unit| {
            let code = <[u8; 4]>::try_from(unit).map(read).unwrap_or_default();
            char::from_u32(code)
        }));
    }
    let read = if big { u16::from_be_bytes } else { u16::from_le_bytes };
    let even = text.len() - text.len() % 2;
    let mut units = text[..even].chunks_exact(2).map(move |unit| read([unit[0], unit[1]])).collect::<Vec<_>>();
    if units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
        units.pop();
    }
    Box::new(char::decode_utf16(units).map(Result::ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    fn utf32(text: &str, big: bool) -> Vec<u8> {
        let bytes = |code: u32| if big { code.to_be_bytes() } else { code.to_le_bytes() };
        text.chars().flat_map(|character| bytes(u32::from(character))).collect()
    }

    #[test]
    fn a_charset_is_recognised_with_and_without_its_mark() {
        let text = "A plain text of some words, and a second line.\nThe end.\n".repeat(5);
        for (charset, bytes, mark) in [
            (Charset::Utf8, text.clone().into_bytes(), &[0xEF, 0xBB, 0xBF][..]),
            (Charset::Utf16Le, utf16(&text, false), &[0xFF, 0xFE]),
            (Charset::Utf16Be, utf16(&text, true), &[0xFE, 0xFF]),
            (Charset::Utf32Le, utf32(&text, false), &[0xFF, 0xFE, 0, 0]),
            (Charset::Utf32Be, utf32(&text, true), &[0, 0, 0xFE, 0xFF]),
        ] {
            assert_eq!(sniff(&bytes), Some(charset), "without a mark");
            let marked = [mark, &bytes].concat();
            assert_eq!(sniff(&marked), Some(charset), "with a mark");
            assert_eq!(super::mark(&marked), Some((charset, mark.len())));
            if charset != Charset::Utf8 {
                assert_eq!(head_to_utf8(charset, &marked), text);
            }
        }
    }

    #[test]
    fn bytes_are_text_only_without_control_characters() {
        for (bytes, charset) in [
            (&b""[..], Some(Charset::Utf8)),
            (b"a\tb\r\n\x0c", Some(Charset::Utf8)),
            (b"caf\xc3\xa9", Some(Charset::Utf8)),
            (b"caf\xe9", Some(Charset::Legacy)),
            // A character that is cut off within a short text is damage.
            (b"caf\xc3", Some(Charset::Legacy)),
            (b"a\x01b", None),
            (b"a\0b", None),
            (b"\x7fELF", None),
            (b"\xEF\xBB\xBF\x01", None),
            (&[0; 16], None),
        ] {
            assert_eq!(sniff(bytes), charset, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_may_be_cut_off_at_the_end_of_the_head_only() {
        let mut head = vec![b'a'; HEAD_BYTES];
        head[HEAD_BYTES - 1] = 0xC3;
        assert_eq!(sniff(&head), Some(Charset::Utf8));
        assert_eq!(sniff(&head[1..]), Some(Charset::Legacy));
    }

    #[test]
    fn only_bytes_that_no_text_has_are_control_bytes() {
        let control: Vec<u8> = (0..=255).filter(|&byte| is_control(byte)).collect();
        assert_eq!(control.len(), 7 + 12 + 1);
        assert!(b"\x07\x08\t\n\x0b\x0c\r\x1a\x1b ".iter().all(|&byte| !is_control(byte)));
    }

    #[test]
    fn a_mark_of_utf8_is_left_out() {
        assert_eq!(without_utf8_mark(b"\xEF\xBB\xBFa"), b"a");
        assert_eq!(without_utf8_mark(b"\xEF\xBBa"), b"\xEF\xBBa");
    }
}
