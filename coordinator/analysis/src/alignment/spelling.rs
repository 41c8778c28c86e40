//! Names as people compare them: file systems differ in case, and in the way in which accents are written.

use unicode_normalization::UnicodeNormalization as _;

/// A path in small letters, with letters and their accents in one. What is no UTF-8 is as it is.
pub(super) fn folded(path: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(path) {
        Ok(path) if path.is_ascii() => path.to_ascii_lowercase().into_bytes(),
        Ok(path) => path.nfc().flat_map(char::to_lowercase).nfc().collect::<String>().into_bytes(),
        Err(_) => path.to_vec(),
    }
}

/// True if two names are one for people.
pub(crate) fn is_one_name(a: &[u8], b: &[u8]) -> bool {
    a == b || folded(a) == folded(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_the_way_of_accents_do_not_matter() {
        assert_eq!(folded("Re\u{301}sume\u{301}s/A.TXT".as_bytes()), "résumés/a.txt".as_bytes());
        assert_eq!(folded("한글".nfd().collect::<String>().as_bytes()), "한글".as_bytes());
        assert_eq!(folded(b"A\xFF"), b"A\xFF");
        assert!(is_one_name(b"Plan", b"PLAN") && !is_one_name(b"Plan", b"Plane"));
    }
}
