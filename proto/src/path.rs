//! The path of a document: bytes, relative to its repository's root, with `/` between the names.
//!
//! A path is unique only within its site and repository. File names are bytes on the systems that matter, so a path is
//! bytes too. Text formats get bytes that are not UTF-8 percent-escaped; terminals get unprintable characters escaped.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use data_encoding::HEXLOWER_PERMISSIVE;

use crate::limits::PATH_BYTES_MAX;
use crate::shown::harmless;

/// Separates a document from the name of a member inside it: `mail.zip!/inner/letter.docx`.
///
/// Only text views look inside. A folder whose name ends with `!` looks like a document with members.
pub const INSIDE: &str = "!/";
/// Begins the number of a passage, from 1: `essay.docx!/#12`.
const PASSAGE: &str = "!/#";

/// A checked path: 1 to 8,192 bytes, no empty name, no `.` or `..`, no NUL, not absolute.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentPath(Box<[u8]>);

/// The error of bytes that are no path of a document.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PathError {
    /// More bytes than [`PATH_BYTES_MAX`].
    #[error("a path of {length_bytes} bytes is longer than {PATH_BYTES_MAX}")]
    TooLong {
        /// Their number.
        length_bytes: usize,
    },
    /// An empty path, an absolute one, or one that could leave its repository.
    #[error("the path `{path}` is not a relative path of plain names")]
    NotPlain {
        /// The path, made printable.
        path: String,
    },
}

impl DocumentPath {
    /// Checks that bytes are a path.
    ///
    /// # Errors
    /// If they are too many, or could lead out of the repository.
    pub fn new(bytes: &[u8]) -> Result<DocumentPath, PathError> {
        if bytes.len() > PATH_BYTES_MAX {
            return Err(PathError::TooLong { length_bytes: bytes.len() });
        }
        let plain = |name: &[u8]| !name.is_empty() && name != b"." && name != b"..";
        if bytes.contains(&0) || !bytes.split(|byte| *byte == b'/').all(plain) {
            return Err(PathError::NotPlain { path: printable(bytes).into_owned() });
        }
        Ok(DocumentPath(bytes.into()))
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path of the file that contains the document, or its own: the bytes before the first [`INSIDE`].
    pub fn file(&self) -> &[u8] {
        let inside = self.0.windows(INSIDE.len()).position(|two| two == INSIDE.as_bytes());
        &self.0[..inside.unwrap_or(self.0.len())]
    }

    /// If the document is a passage: the path of its document, and its number, from 1.
    pub fn passage(&self) -> Option<(&[u8], u32)> {
        let start = self.0.windows(PASSAGE.len()).rposition(|three| three == PASSAGE.as_bytes())?;
        let digits = &self.0[start + PASSAGE.len()..];
        // As it is written: no sign, and no zero before it.
        let number = std::str::from_utf8(digits).ok().filter(|_| matches!(digits, [b'1'..=b'9', ..]))?.parse().ok()?;
        Some((&self.0[..start], number))
    }
}

impl fmt::Display for DocumentPath {
    /// On one line, without control characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.0))
    }
}

impl fmt::Debug for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", printable(&self.0))
    }
}

/// The path as text for other programs. UTF-8 stays as it is; in any other path each byte that is not part of valid
/// UTF-8 becomes `%XX`, and so does `%` itself, so that [`unescaped`] returns the bytes. The flag is true if the text
/// is escaped.
pub fn escaped(path: &[u8]) -> (Cow<'_, str>, bool) {
    if let Ok(text) = std::str::from_utf8(path) {
        return (Cow::Borrowed(text), false);
    }
    let mut text = String::with_capacity(path.len() + 16);
    for piece in path.utf8_chunks() {
        text.push_str(&piece.valid().replace('%', "%25"));
        for byte in piece.invalid() {
            write!(text, "%{byte:02X}").expect("a string takes everything");
        }
    }
    (Cow::Owned(text), true)
}

/// The bytes of a path that was [`escaped`]. Text without escapes stays as it is.
pub fn unescaped(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|digits| HEXLOWER_PERMISSIVE.decode(digits).ok()?.pop());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// A text with some of its characters as the `%XX` of their bytes, so that [`unescaped`] returns the text. If `percent`
/// is set, `%` is one of them: a text that was [`escaped`] has that done.
pub fn percent(text: &str, percent: bool, is_escaped: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) || (percent && character == '%') {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(shown, "%{byte:02X}").expect("a string takes everything");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The path as text for people: as [`escaped`], and characters that act on the text around them are shown by number.
pub fn printable(path: &[u8]) -> Cow<'_, str> {
    match escaped(path).0 {
        Cow::Borrowed(text) => harmless(text),
        Cow::Owned(text) => Cow::Owned(harmless(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_that_could_lead_out_of_its_root_is_refused() {
        for path in [&b""[..], b"/", b"/etc/passwd", b"a//b", b"a/", b".", b"..", b"a/../b", b"a/./b", b"a\0b"] {
            assert!(matches!(DocumentPath::new(path), Err(PathError::NotPlain { .. })), "{path:?}");
        }
        assert_eq!(DocumentPath::new(&[b'a'; 8193]), Err(PathError::TooLong { length_bytes: 8193 }));
    }

    #[test]
    fn a_member_names_its_file_and_a_passage_its_number() {
        let path = |text: &str| DocumentPath::new(text.as_bytes()).unwrap();
        assert_eq!(path("a/b.zip!/c/d.zip!/e").file(), b"a/b.zip");
        assert_eq!(path("a/b!c").file(), b"a/b!c");
        assert_eq!(path("a.zip!/b.docx!/#12").passage(), Some((&b"a.zip!/b.docx"[..], 12)));
        assert_eq!(path("a.zip!/#b").passage(), None);
        assert_eq!(path("a/#12").passage(), None);
    }

    #[test]
    fn names_keep_their_bytes() {
        for path in [&b"a"[..], b"a/b c", b"...", b"..a/b", b"\xff\xfe", b"new\nline", b" ", b"-rf"] {
            assert_eq!(DocumentPath::new(path).unwrap().as_bytes(), path);
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_percent_escaped_and_flagged() {
        assert_eq!(escaped(b"caf\xc3\xa9 100%"), (Cow::Borrowed("café 100%"), false));
        assert_eq!(escaped(b"latin1-\xe9 100%"), (Cow::Borrowed("latin1-%E9 100%25"), true));
    }

    #[test]
    fn escaped_bytes_come_back() {
        assert_eq!(unescaped("caf%E9 100%25 %zz"), b"caf\xe9 100% %zz");
    }

    #[test]
    fn no_control_character_is_printed() {
        assert_eq!(printable(b"a\x1b[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(printable("x\u{202e}txt".as_bytes()), "x\\u{202e}txt");
        assert_eq!(printable("\u{61c}a\u{2066}b\u{ffff}".as_bytes()), "\\u{61c}a\\u{2066}b\\u{ffff}");
        assert_eq!(printable(b"plain name"), "plain name");
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_from_escaping(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let (text, is_escaped) = escaped(&bytes);
            if is_escaped {
                prop_assert_eq!(unescaped(&text), bytes);
            } else {
                prop_assert_eq!(text.as_bytes(), &bytes[..]);
            }
        }

        #[test]
        fn a_path_is_accepted_exactly_if_all_its_names_are_plain(text in "[./a\\\\ \u{0}é]{0,12}") {
            let names: Vec<&str> = text.split('/').collect();
            let plain = names.iter().all(|name| !matches!(*name, "" | "." | "..")) && !text.contains('\0');
            let path = DocumentPath::new(text.as_bytes());
            prop_assert_eq!(path.is_ok(), plain, "{:?}", text);
            if let Ok(path) = path {
                prop_assert_eq!(path.as_bytes(), text.as_bytes());
                prop_assert!(path.as_bytes().starts_with(path.file()));
            }
        }

        #[test]
        fn printed_paths_have_one_line(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(!printable(&bytes).chars().any(char::is_control));
        }
    }

    #[test]
    fn the_longest_path_is_accepted_and_one_byte_more_is_not() {
        let path = |length: usize| DocumentPath::new(&vec![b'a'; length]);
        assert!(path(1).is_ok() && path(PATH_BYTES_MAX).is_ok());
        assert_eq!(path(PATH_BYTES_MAX + 1), Err(PathError::TooLong { length_bytes: PATH_BYTES_MAX + 1 }));
    }

    #[test]
    fn escapes_that_are_incomplete_stay_as_they_are() {
        for (text, bytes) in [
            ("%", &b"%"[..]),
            ("%4", b"%4"),
            ("%4g", b"%4g"),
            ("%41", b"A"),
            ("%%41", b"%A"),
            ("", b""),
            ("%+1", b"%+1"),
            ("%-1", b"%-1"),
            ("%é", "%é".as_bytes()),
        ] {
            assert_eq!(unescaped(text), bytes, "{text}");
        }
    }

    #[test]
    fn passages_are_numbered_and_only_at_the_end() {
        for (text, passage) in [
            ("a!/#1", Some((&b"a"[..], 1))),
            ("a!/#4294967295", Some((b"a", u32::MAX))),
            ("a!/#4294967296", None),
            ("a!/#", None),
            ("a!/#1x", None),
            ("a!/#1!/b", None),
            ("a!/#1!/#2", Some((b"a!/#1", 2))),
            ("a!/#0", None),
            ("a!/#01", None),
            ("a!/#+1", None),
        ] {
            assert_eq!(DocumentPath::new(text.as_bytes()).unwrap().passage(), passage, "{text}");
        }
    }
}
