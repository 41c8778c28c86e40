//! Strings that are text by themselves (ISO 32000-2, 7.9.2): values of forms, names of files.

/// The letters of the encoding of documents from the code 0x18 on, and from 0x80 on; all others are as in Latin-1.
const FROM_0X18: &str = "˘ˇˆ˙˝˛˚˜";
const FROM_0X80: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\u{FFFD}€";

/// The text of a string.
pub(super) fn text(bytes: &[u8]) -> String {
    match bytes {
        [0xFE, 0xFF, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0.into_owned(),
        [0xFF, 0xFE, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0.into_owned(),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|&byte| letter(byte)).collect(),
    }
}

fn letter(byte: u8) -> char {
    let of = |letters: &str, first: u8| letters.chars().nth(usize::from(byte.checked_sub(first)?));
    let own = match byte {
        0x18..0x20 => of(FROM_0X18, 0x18),
        0x80..=0xA0 => of(FROM_0X80, 0x80),
        _ => None,
    };
    own.unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_in_one_of_four_encodings() {
        let cases: [(&[u8], &str); 5] = [
            (b"\xFE\xFF\0A\x20\xAC", "A€"),
            (b"\xFF\xFEA\0\xAC\x20", "A€"),
            (b"\xEF\xBB\xBFA\xE2\x82\xAC", "A€"),
            (b"A\xA0\x84\xE4\x18", "A€—ä˘"),
            (b"", ""),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(text(bytes), wanted);
        }
    }
}
