//! Names of members: as the archive has them, made into names that cannot point outside the document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use crate::INSIDE;
use crate::frames::NAME_BYTES_MAX;

/// Endings of compressed files, and the endings of their content.
const ENDINGS: [(&str, &str); 13] = [
    (".gz", ""),
    (".xz", ""),
    (".zst", ""),
    (".bz2", ""),
    (".tgz", ".tar"),
    (".txz", ".tar"),
    (".tzst", ".tar"),
    (".tbz2", ".tar"),
    (".tbz", ".tar"),
    (".taz", ".tar"),
    (".svgz", ".svg"),
    (".emz", ".emf"),
    (".wmz", ".wmf"),
];

/// The name of a compressed file without its ending; `None` if it has no such ending.
pub(crate) fn without_ending(name: &str) -> Option<String> {
    let last = name.rsplit('/').next()?;
    let (stem, inside) = ENDINGS.iter().find_map(|(ending, inside)| {
        let split = last.len().checked_sub(ending.len())?;
        let matches = last.get(split..)?.eq_ignore_ascii_case(ending);
        matches.then(|| (&last[..split], inside))
    })?;
    (!stem.is_empty()).then(|| format!("{stem}{inside}"))
}

/// A name that cannot point elsewhere: no empty components, no `.` and `..`, no NUL.
pub(crate) fn clean(name: &str) -> Cow<'_, str> {
    let plain = |component: &&str| !matches!(*component, "" | "." | "..");
    if !name.contains('\0') && name.split('/').all(|component| plain(&component)) {
        return Cow::Borrowed(name);
    }
    let name = name.replace('\0', "\u{FFFD}");
    let components: Vec<&str> = name.split('/').filter(plain).collect();
    if components.is_empty() { Cow::Borrowed("unnamed") } else { Cow::Owned(components.join("/")) }
}

/// The names that were given out in one document.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// By the digest of a name: the number that its next double gets. Digests alone, since names may be long; two names
    /// of one digest would only look like doubles.
    next: HashMap<u64, u32>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Names {
    /// The name of a member within a part: cleaned, not too long, unlike all others of the document.
    pub(crate) fn within(&mut self, part: &str, member: &str) -> String {
        let member = clean(member);
        let name = if part.is_empty() { member.into_owned() } else { format!("{part}{INSIDE}{member}") };
        self.different(shortened(name))
    }

    fn different(&mut self, name: String) -> String {
        let digest = self.hasher.hash_one(&name);
        let Some(&first) = self.next.get(&digest) else {
            self.next.insert(digest, 2);
            return name;
        };
        let mut number = first;
        let different = loop {
            let candidate = format!("{name}~{number}");
            number += 1;
            if let Entry::Vacant(vacant) = self.next.entry(self.hasher.hash_one(&candidate)) {
                vacant.insert(2);
                break candidate;
            }
        };
        self.next.insert(digest, number);
        different
    }
}

/// A name that is too long, cut, with a checksum of all of it. It leaves space for the number of a double.
fn shortened(mut name: String) -> String {
    const SUFFIX_BYTES_MAX: usize = 32;
    if name.len() > NAME_BYTES_MAX - SUFFIX_BYTES_MAX {
        let sum = crc32fast::hash(name.as_bytes());
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX - 2 * SUFFIX_BYTES_MAX));
        name.push_str(&format!("~{sum:08x}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::valid_name;

    #[test]
    fn names_lead_nowhere_else() {
        let check = |name: &str, cleaned: &str| {
            assert_eq!(clean(name), cleaned, "{name:?}");
            assert!(valid_name(&clean(name)), "{name:?}");
        };
        check("a/b.txt", "a/b.txt");
        check("/etc/passwd", "etc/passwd");
        check("../../x", "x");
        check("a//./b/../c", "a/b/c");
        check("..", "unnamed");
        check("", "unnamed");
        check("/", "unnamed");
        check("a\0b", "a\u{FFFD}b");
        check("line\nbreak", "line\nbreak");
        check("...", "...");
    }

    #[test]
    fn doubles_get_numbers_and_never_a_name_that_is_taken() {
        let mut names = Names::default();
        let mut next = |name| names.within("", name);
        assert_eq!(next("a"), "a");
        assert_eq!(next("a~2"), "a~2");
        assert_eq!(next("a"), "a~3");
        assert_eq!(next("./a"), "a~4");
        assert_eq!(next("a~2"), "a~2~2");
        assert_eq!(names.within("z.zip", "a"), "z.zip!/a");
        assert_eq!(names.within("", "z.zip!/a"), "z.zip!/a~2");
    }

    #[test]
    fn names_that_are_too_long_are_cut_and_stay_different() {
        let mut names = Names::default();
        let long = "ä/".repeat(4000);
        let first = names.within("", &long);
        let second = names.within("", &format!("{long}x"));
        let third = names.within("", &long);
        assert!(first != second && first != third, "{first}");
        for name in [first, second, third] {
            assert!(valid_name(&name), "{name}");
        }
    }

    #[test]
    fn endings_of_compressed_files_are_left_out() {
        let check = |name, inside: Option<&str>| assert_eq!(without_ending(name).as_deref(), inside, "{name}");
        check("notes.txt.gz", Some("notes.txt"));
        check("in/NOTES.GZ", Some("NOTES"));
        check("x.tgz", Some("x.tar"));
        check("x.svgz", Some("x.svg"));
        check(".gz", None);
        check("notes.txt", None);
        check("ü", None);
        check("", None);
    }
}
