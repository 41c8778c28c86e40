//! Names of sites, parties, repositories and persons, and the ids of scans. Every value is valid.

use std::fmt;
use std::str::FromStr;

use crate::limits::{NAME_BYTES_MAX, TEXT_BYTES_MAX};
use crate::shown::is_marked;

/// The error of a text that is no name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// It is empty.
    #[error("a name is empty")]
    Empty,
    /// It is too long.
    #[error("the name `{0}` is longer than {NAME_BYTES_MAX} bytes")]
    TooLong(String),
    /// It has something other than letters, digits, `.`, `_` and `-`.
    #[error("the name `{0}` may hold only letters, digits, `.`, `_` and `-`, and is neither `.` nor `..`")]
    Character(String),
}

/// Defines a checked name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<$name, NameError> {
                check(text).map(|()| $name(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }
    };
}

name! {
    /// A place with one worker. Unique in a federation.
    SiteName
}
name! {
    /// A company or team whose sites trust each other.
    PartyName
}
name! {
    /// A named root folder at a site. A name, never a path.
    RepositoryName
}

name! {
    /// A person who works with the federation. Unique among them.
    OperatorName
}

impl PartyName {
    /// The party of every site that names none.
    pub fn home() -> PartyName {
        PartyName("home".into())
    }
}

impl RepositoryName {
    /// The repository of a site that has only one.
    pub fn main() -> RepositoryName {
        RepositoryName("main".into())
    }
}

fn check(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong(text.chars().take(NAME_BYTES_MAX).collect()));
    }
    // Names become folders of the state: a dot or two would lead out of it.
    let allowed = |character: char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-');
    if !text.chars().all(allowed) || text == "." || text == ".." {
        return Err(NameError::Character(text.into()));
    }
    Ok(())
}

/// A text for people as one line within [`TEXT_BYTES_MAX`]: control characters are spaces, and other characters that act
/// on the text around them are shown by number. Texts from other machines pass through this function before they are
/// shown or stored.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars() {
        let start = line.len();
        match character {
            character if character.is_control() => line.push(' '),
            character if is_marked(character) => line.extend(character.escape_default()),
            character => line.push(character),
        }
        if line.len() > TEXT_BYTES_MAX {
            line.truncate(start);
            break;
        }
    }
    line
}

/// The id of a scan. The client that launches the scan makes it at random.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScanId(pub u64);

impl fmt::Display for ScanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for ScanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_digits_and_three_signs_make_a_name() {
        for text in ["a", "paris", "tokyo-2", "x_y.z", "9", "münchen"] {
            assert_eq!(text.parse::<SiteName>().map(|name| name.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_foreign_text_becomes_one_line_of_limited_length() {
        assert_eq!(one_line("a\nb\u{1b}[31mc\u{202e}"), "a b [31mc\\u{202e}");
        assert_eq!(one_line(&"é".repeat(2000)).len(), TEXT_BYTES_MAX);
    }

    #[test]
    fn a_text_that_could_be_a_path_or_a_line_is_no_name() {
        assert_eq!("".parse::<SiteName>(), Err(NameError::Empty));
        for text in [".", "..", "a/b", "a b", "a\nb", "a=b", "a:b", "\u{1b}[31m"] {
            assert_eq!(text.parse::<RepositoryName>(), Err(NameError::Character(text.into())));
        }
        assert!(matches!("x".repeat(65).parse::<PartyName>(), Err(NameError::TooLong(_))));
    }

    proptest! {
        #[test]
        fn every_name_comes_back_from_its_text(text in "[\\pL\\pN._-]{1,15}") {
            let plain = text != "." && text != "..";
            let name = text.parse::<SiteName>();
            prop_assert_eq!(name.is_ok(), plain);
            if let Ok(name) = name {
                prop_assert_eq!(name.to_string().parse(), Ok(name));
            }
        }

        #[test]
        fn one_line_is_short_and_has_no_control_characters(text in "\\PC{0,2000}|.{0,200}") {
            let line = one_line(&text);
            prop_assert!(line.len() <= TEXT_BYTES_MAX && !line.chars().any(is_marked));
            prop_assert_eq!(one_line(&line), line);
        }
    }

    #[test]
    fn the_longest_name_has_64_bytes_however_many_letters() {
        for (text, fits) in
            [("a".repeat(64), true), ("a".repeat(65), false), ("ü".repeat(32), true), ("ü".repeat(33), false)]
        {
            assert_eq!(text.parse::<OperatorName>().is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn the_usual_names_are_names() {
        assert_eq!(PartyName::home().as_str().parse(), Ok(PartyName::home()));
        assert_eq!(RepositoryName::main().as_str().parse(), Ok(RepositoryName::main()));
    }

    #[test]
    fn a_scan_id_is_sixteen_digits() {
        for (id, text) in [(0, "0000000000000000"), (255, "00000000000000ff"), (u64::MAX, "ffffffffffffffff")] {
            assert_eq!(ScanId(id).to_string(), text);
        }
    }
}
