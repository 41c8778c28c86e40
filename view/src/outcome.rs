//! Outcomes of reading a part.

use std::fmt;

/// The outcome of reading a part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Its text was read (and may be empty).
    Text,
    /// It is of a kind that has no text, such as a picture.
    NoText,
    /// It is an archive: its members are parts of their own.
    Container,
    /// Most of its pages are pictures, whose text was not recognised; its text so far must not be used.
    Pictures,
    /// Its text was read, and some of it was recognised in pictures of pages.
    Recognised,
    /// Its text was read, but not all of it: the rest is damaged, or letters of it are unknown.
    InPart(Reason),
    /// It could not be read, or not to its end; its text so far must not be used.
    Unextractable(Reason),
}

/// The reason why a part could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Reason {
    /// It is locked with a password.
    Encrypted = 1,
    /// It is cut short or broken.
    Damaged = 2,
    /// It has text in a format that cannot be read.
    Unsupported = 3,
    /// It is too large, or becomes too large when it is unpacked.
    TooLarge = 4,
    /// It becomes too many times its own size.
    Ratio = 5,
    /// It has too many members.
    TooMany = 6,
    /// It is too deep in archives within archives.
    TooDeep = 7,
    /// It took too long.
    TimedOut = 8,
    /// It took too much memory.
    OutOfMemory = 9,
    /// The process that read it ended.
    Crashed = 10,
    /// Its pages are pictures, and the program that recognises text failed on one of them or does not read its format.
    NotRecognised = 11,
    /// Its pages are pictures, and recognising their text took too long.
    RecognitionTimedOut = 12,
    /// More of its pages are pictures than are recognised.
    TooManyPages = 13,
    /// It is a container or a document of a kind that is known and not opened.
    NotOpened = 14,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Encrypted => "encrypted",
            Reason::Damaged => "damaged",
            Reason::Unsupported => "a format that is not supported",
            Reason::TooLarge => "too large",
            Reason::Ratio => "compressed too strongly",
            Reason::TooMany => "too many members",
            Reason::TooDeep => "archives too deep in archives",
            Reason::TimedOut => "took too long",
            Reason::OutOfMemory => "took too much memory",
            Reason::Crashed => "the reader crashed",
            Reason::NotRecognised => "the text of its pages could not be recognised",
            Reason::RecognitionTimedOut => "recognising the text of its pages took too long",
            Reason::TooManyPages => "more of its pages are pictures than are recognised",
            Reason::NotOpened => "a kind that is not opened",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_reason_has_words_of_its_own_that_end_a_sentence() {
        let reasons = [
            Reason::Encrypted,
            Reason::Damaged,
            Reason::Unsupported,
            Reason::TooLarge,
            Reason::Ratio,
            Reason::TooMany,
            Reason::TooDeep,
            Reason::TimedOut,
            Reason::OutOfMemory,
            Reason::Crashed,
            Reason::NotRecognised,
            Reason::RecognitionTimedOut,
            Reason::TooManyPages,
            Reason::NotOpened,
        ];
        // Streams that are stored have these numbers.
        assert_eq!(reasons.map(|reason| reason as u8), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        let words: HashSet<String> = reasons.iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), reasons.len());
        for words in words {
            assert!(words.starts_with(char::is_lowercase) && words.ends_with(char::is_alphabetic), "{words}");
        }
    }
}
