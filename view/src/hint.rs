//! The hint for the names of members that the name of a document gives.

use crate::archive;

/// The longest hint for names.
pub(crate) const HINT_BYTES_MAX: usize = 254;

/// The part of a name that matters: that of a compressed file without its ending.
pub fn hint(name: &str) -> String {
    let mut hint = archive::without_ending(name).unwrap_or_default();
    hint.truncate(hint.floor_char_boundary(HINT_BYTES_MAX));
    hint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_the_name_of_the_content_and_never_longer_than_a_request_can_hold() {
        for (name, expected) in [
            ("in/notes.txt.gz", "notes.txt"),
            ("x.tgz", "x.tar"),
            ("notes.txt", ""),
            ("", ""),
            (".gz", ""),
            ("a.gz/b", ""),
        ] {
            assert_eq!(hint(name), expected, "{name}");
        }
        for (letters, bytes) in [(253, 253), (254, 254), (255, 254), (9999, 254)] {
            assert_eq!(hint(&format!("{}.gz", "x".repeat(letters))).len(), bytes);
        }
        assert_eq!(hint(&format!("x{}.gz", "ä".repeat(200))).len(), 253, "no letter is cut in two");
    }
}
