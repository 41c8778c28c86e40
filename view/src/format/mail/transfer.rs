//! How the bytes of a part are written in mail: quoted-printable, base64 and uuencode, read as mail clients read them. What
//! is no part of an encoding stays as it is, or is left out, and what is around it is decoded all the same.

use std::borrow::Cow;

/// How a part is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Transfer {
    /// As it is.
    #[default]
    Plain,
    QuotedPrintable,
    Base64,
    Uuencode,
}

impl Transfer {
    /// The encoding that a header names; others are none.
    pub(super) fn named(name: &str) -> Transfer {
        match name.trim().to_ascii_lowercase().as_str() {
            "quoted-printable" => Transfer::QuotedPrintable,
            "base64" => Transfer::Base64,
            "x-uuencode" | "uuencode" | "x-uue" | "uue" => Transfer::Uuencode,
            _ => Transfer::Plain,
        }
    }

    /// The bytes as they were before they were put into mail.
    pub(super) fn decoded(self, written: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Transfer::Plain => Cow::Borrowed(written),
            Transfer::QuotedPrintable => Cow::Owned(quoted_printable(written)),
            Transfer::Base64 => Cow::Owned(base64(written)),
            Transfer::Uuencode => {
                let mut files = uuencoded(written).files;
                if files.is_empty() { Cow::Borrowed(written) } else { Cow::Owned(files.swap_remove(0).bytes) }
            }
        }
    }
}

/// Decodes quoted-printable. An equals sign that begins no escape stays.
fn quoted_printable(written: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(written.len());
    for line in written.split_inclusive(|&byte| byte == b'\n') {
        let mut rest = line.trim_ascii_end();
        let is_soft = rest.last() == Some(&b'=');
        if is_soft {
            rest = &rest[..rest.len() - 1];
        }
        while let Some(at) = memchr::memchr(b'=', rest) {
            bytes.extend_from_slice(&rest[..at]);
            match rest.get(at + 1..at + 3).and_then(hex) {
                Some(byte) => bytes.push(byte),
                None => {
                    bytes.push(b'=');
                    rest = &rest[at + 1..];
                    continue;
                }
            }
            rest = &rest[at + 3..];
        }
        bytes.extend_from_slice(rest);
        if !is_soft && line.ends_with(b"\n") {
            bytes.extend_from_slice(if line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" });
        }
    }
    bytes
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(digits[0])? << 4 | digit(digits[1])?)
}

/// The least length of a line that is base64 without a doubt.
const LONG_LINE_BYTES: usize = 60;

/// Decodes base64. Stray characters are left out. Lines behind the last that is base64, as a list appends them, stay as they
/// are.
fn base64(written: &[u8]) -> Vec<u8> {
    let end = base64_end(written);
    let mut bytes = Vec::with_capacity(end / 4 * 3);
    let (mut group, mut count) = (0_u32, 0);
    for &byte in &written[..end] {
        if byte == b'=' {
            flush(&mut bytes, group, count);
            count = 0;
        }
        let Some(digit) = base64_digit(byte) else { continue };
        group = group << 6 | digit;
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, count) = (0, 0);
        }
    }
    flush(&mut bytes, group, count);
    let footer = written[end..].trim_ascii();
    if !footer.is_empty() {
        bytes.push(b'\n');
        bytes.extend_from_slice(footer);
    }
    bytes
}

/// The last bytes of a group that is not full.
fn flush(bytes: &mut Vec<u8>, group: u32, count: u32) {
    let [_, first, second, _] = (group << (6 * (4 - count.clamp(1, 4)))).to_be_bytes();
    match count {
        2 => bytes.push(first),
        3 => bytes.extend_from_slice(&[first, second]),
        _ => {}
    }
}

/// The place behind the last line of base64.
fn base64_end(written: &[u8]) -> usize {
    let (mut at, mut end) = (0, None);
    for line in written.split_inclusive(|&byte| byte == b'\n') {
        let trimmed = line.trim_ascii();
        let strange = trimmed.iter().filter(|&&byte| byte != b'=' && base64_digit(byte).is_none()).count();
        if strange * 10 <= trimmed.len() && !trimmed.contains(&b' ') {
            // A long line shows that what looked like words before it was damage.
            if trimmed.len() >= LONG_LINE_BYTES {
                end = None;
            }
        } else {
            end.get_or_insert(at);
        }
        at += line.len();
    }
    end.unwrap_or(written.len())
}

fn base64_digit(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(digit.into())
}

/// A file that stands uuencoded in a text.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct UuencodedFile {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// A text, and the files that stood in it.
#[derive(Debug)]
pub(super) struct InlineFiles<'t> {
    pub(super) text: Cow<'t, [u8]>,
    pub(super) files: Vec<UuencodedFile>,
}

/// Takes the files out of a text: the lines from `begin`, a mode and a name up to `end`.
pub(super) fn uuencoded(text: &[u8]) -> InlineFiles<'_> {
    let mut found = InlineFiles { text: Cow::Borrowed(text), files: Vec::new() };
    if memchr::memmem::find(text, b"begin ").is_none() {
        return found;
    }
    let (mut words, mut open): (Vec<u8>, Option<UuencodedFile>) = (Vec::new(), None);
    let mut opened_at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let trimmed = line.trim_ascii_end();
        let Some(file) = &mut open else {
            open = uuencoded_name(trimmed).map(|name| UuencodedFile { name, bytes: Vec::new() });
            opened_at = words.len();
            words.extend_from_slice(line);
            continue;
        };
        words.extend_from_slice(line);
        if trimmed == b"end" {
            words.truncate(opened_at);
            found.files.extend(open.take());
        } else if !uuencoded_line(trimmed, &mut file.bytes) {
            // It was a text about something that begins.
            open = None;
        }
    }
    if let Some(file) = open.filter(|file| !file.bytes.is_empty()) {
        words.truncate(opened_at);
        found.files.push(file);
    }
    if !found.files.is_empty() {
        found.text = Cow::Owned(words);
    }
    found
}

fn uuencoded_name(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"begin ")?;
    let mode = rest.iter().take_while(|byte| (b'0'..=b'7').contains(*byte)).count();
    let name = rest[mode..].strip_prefix(b" ")?.trim_ascii();
    (matches!(mode, 3 | 4) && !name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Adds the bytes of a line, whose first character says how many they are. False if it is none.
fn uuencoded_line(line: &[u8], bytes: &mut Vec<u8>) -> bool {
    let Some((&first, digits)) = line.split_first() else { return true };
    if !(b' '..=b'`').contains(&first) || digits.iter().any(|byte| !(b' '..=b'`').contains(byte)) {
        return false;
    }
    let length = usize::from((first - b' ') & 63);
    // Blanks at the end of a line may be lost.
    if digits.len() > length.div_ceil(3) * 4 + 2 {
        return false;
    }
    let start = bytes.len();
    for group in digits.chunks(4) {
        let digit = |at: usize| u32::from((group.get(at).unwrap_or(&b' ') - b' ') & 63);
        let group = digit(0) << 18 | digit(1) << 12 | digit(2) << 6 | digit(3);
        bytes.extend_from_slice(&group.to_be_bytes()[1..]);
    }
    bytes.resize(start + length, 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equals_sign_that_escapes_nothing_stays() {
        for (written, decoded) in [
            ("a=3Db=C3=BC", "a=bü"),
            ("x=\r\ny= \r\nz", "xyz"),
            ("a  \r\nb", "a\r\nb"),
            ("<p title=\"x\">=C3=9c", "<p title=\"x\">Ü"),
            ("?a=zz&b=1 =3D", "?a=zz&b=1 ="),
            ("cut off =C", "cut off =C"),
            ("cut off =", "cut off "),
            ("==3D", "=="),
        ] {
            assert_eq!(String::from_utf8_lossy(&quoted_printable(written.as_bytes())), decoded, "{written:?}");
        }
    }

    #[test]
    fn base64_is_decoded_around_stray_characters_and_before_a_footer() {
        let long = "QUJD".repeat(19);
        let abc = "ABC".repeat(19);
        for (written, decoded) in [
            ("QUJD\r\nRA==\r\n".to_owned(), "ABCD".to_owned()),
            ("QUJDRA".to_owned(), "ABCD".to_owned()),
            ("RA==QUJD".to_owned(), "DABC".to_owned()),
            ("  QUJD\r\n  RA==".to_owned(), "ABCD".to_owned()),
            (format!("{long}\r\nQU!JD{long}"), format!("{abc}ABC{abc}")),
            (format!("{long}\r\n-- \r\nlist footer\r\n"), format!("{abc}\n-- \r\nlist footer")),
            (format!("{long}\r\n\r\n____________\r\nhttps://list.example.org\r\n"), {
                format!("{abc}\n____________\r\nhttps://list.example.org")
            }),
            (format!("{long}\r\n???? ????\r\n{long}"), format!("{abc}{abc}")),
            ("Q".to_owned(), String::new()),
            (String::new(), String::new()),
        ] {
            assert_eq!(String::from_utf8_lossy(&base64(written.as_bytes())), decoded, "{written:?}");
        }
    }

    #[test]
    fn a_uuencoded_file_is_taken_out_of_a_text() {
        let text = b"see\r\nbegin 644 a note.txt\r\n#0V%T\r\n`\r\nend\r\nbye";
        let found = uuencoded(text);
        assert_eq!(&*found.text, b"see\r\nbye");
        assert_eq!(found.files, [UuencodedFile { name: "a note.txt".to_owned(), bytes: b"Cat".to_vec() }]);
        assert_eq!(&*Transfer::Uuencode.decoded(text), b"Cat");
        assert_eq!(&*Transfer::Uuencode.decoded(b"no file"), b"no file");
    }

    #[test]
    fn a_text_about_a_beginning_stays() {
        for text in
            ["to begin 644 x", "begin 644 x\nwith lower case words\nend\n", "begin at noon\nend", "begin 644 \nend"]
        {
            let found = uuencoded(text.as_bytes());
            assert_eq!(&*found.text, text.as_bytes());
            assert_eq!(found.files, []);
        }
        let cut_off = uuencoded(b"x\nbegin 644 a\n#0V%T\n");
        assert_eq!((&*cut_off.text, cut_off.files.len()), (&b"x\n"[..], 1));
    }
}
