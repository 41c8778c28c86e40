//! A fault: which calls fail, and with which error.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::operation::{OPERATIONS, Operation};

/// Errors that a disk answers.
const ERRORS: [(&str, i32); 6] = [
    ("ENOSPC", libc::ENOSPC),
    ("EIO", libc::EIO),
    ("EDQUOT", libc::EDQUOT),
    ("EROFS", libc::EROFS),
    ("SLOW", SLOW),
    ("HANG", HANG),
];

/// In the place of an error: the call is done after five seconds. For reads, writes and syncs.
pub const SLOW: i32 = -1;
/// In the place of an error: the call never comes back. For reads, writes and syncs.
pub const HANG: i32 = -2;

/// The state of a disk after the first error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disk {
    /// Only this call fails.
    Recovers,
    /// This call and all later ones of this kind fail.
    StaysSo,
}

/// A fault: the calls that fail, and the error.
///
/// As text: `OPERATION:FILES:NUMBER:ERROR`, such as `write:*journal:3:ENOSPC`. `FILES` is matched against the whole path, `*` stands for
/// any characters. A `+` after the number means this call and all later ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of the calls.
    pub operation: Operation,
    /// The files, with `*` for any characters.
    pub files: String,
    /// The first call that fails, from 1.
    pub number: u64,
    /// The number of the error, such as `ENOSPC`.
    pub error: i32,
    /// What later calls do.
    pub disk: Disk,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = ERRORS.iter().find(|(_, number)| *number == self.error).map_or("?", |(name, _)| *name);
        let plus = if self.disk == Disk::StaysSo { "+" } else { "" };
        write!(f, "{}:{}:{}{plus}:{error}", self.operation.name(), self.files, self.number)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [operation, files, number, error] = parts[..] else { return Err(format!("`{text}` has not four parts")) };
        let wrong = |what: &str| format!("`{what}` of `{text}` is unknown");
        let disk = if number.ends_with('+') { Disk::StaysSo } else { Disk::Recovers };
        Ok(Fault {
            operation: OPERATIONS.into_iter().find(|one| one.name() == operation).ok_or_else(|| wrong(operation))?,
            files: files.to_owned(),
            number: number.trim_end_matches('+').parse().map_err(|_| wrong(number))?,
            error: ERRORS.iter().find(|(name, _)| *name == error).ok_or_else(|| wrong(error))?.1,
            disk,
        })
    }
}

/// A fault that waits for its calls.
#[derive(Debug)]
pub(crate) struct Armed {
    fault: Fault,
    calls: u64,
    fired: Arc<AtomicU64>,
    announce: Option<fn(&str)>,
}

impl Armed {
    /// `fired` counts the calls that fail; the first one is announced.
    pub(crate) fn new(fault: Fault, fired: Arc<AtomicU64>, announce: Option<fn(&str)>) -> Armed {
        Armed { fault, calls: 0, fired, announce }
    }

    pub(crate) fn concerns(&self, path: &Path) -> bool {
        matches(self.fault.files.as_bytes(), path.as_os_str().as_encoded_bytes())
    }

    pub(crate) fn error_of(&mut self, operation: Operation, path: &Path) -> Option<i32> {
        if operation != self.fault.operation || !self.concerns(path) {
            return None;
        }
        self.calls += 1;
        let fails = match self.fault.disk {
            Disk::Recovers => self.calls == self.fault.number,
            Disk::StaysSo => self.calls >= self.fault.number,
        };
        if !fails {
            return None;
        }
        if self.fired.fetch_add(1, Ordering::AcqRel) == 0
            && let Some(announce) = self.announce
        {
            announce(&format!("disk fault: {} at `{}`\n", self.fault, path.display()));
        }
        Some(self.fault.error)
    }
}

/// True if a pattern matches, where `*` is any number of characters.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern_at, mut text_at) = (0, 0);
    let mut star = None;
    while text_at < text.len() {
        if pattern.get(pattern_at) == Some(&b'*') {
            star = Some((pattern_at, text_at));
            pattern_at += 1;
        } else if pattern.get(pattern_at) == Some(&text[text_at]) {
            pattern_at += 1;
            text_at += 1;
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            pattern_at = star_at + 1;
            text_at = taken + 1;
        } else {
            return false;
        }
    }
    pattern[pattern_at..].iter().all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_with_any_characters_at_its_stars() {
        let cases = [
            ("*", "", true),
            ("*ab", "aab", true),
            ("a*b*c", "a-b-bc", true),
            ("a*b", "abc", false),
            ("ab", "abc", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_fault_is_read_as_it_is_written_and_another_text_is_refused() {
        for text in ["write:*/journal:3:ENOSPC", "read:*:2:HANG", "sync:*:1+:EIO", "rename:/a/b:20:EDQUOT"] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for text in ["write:x:3", "look:x:1:EIO", "write:x:y:EIO", "write:x:1:EPERM"] {
            text.parse::<Fault>().unwrap_err();
        }
    }
}
