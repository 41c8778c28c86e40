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
        })
    }
}
