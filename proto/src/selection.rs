//! Selections: the documents of a repository that a scan compares. A selection narrows the offer of a site and never
//! widens it.
//!
//! The worker reads, and the coordinator analyses, only selected documents by this one rule: [`Selection::selects`] over
//! the [`Facts`] of a document. Documents of an index that are not selected are ignored.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::limits::{PATTERN_BYTES_MAX, PATTERNS_MAX};
use crate::v1;

/// The patterns of a selection as they were typed, and the greatest size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SelectionRule {
    /// Only documents that one of these matches; all if empty.
    pub include: Vec<String>,
    /// No document that one of these matches.
    pub exclude: Vec<String>,
    /// No larger document, in bytes.
    pub size_max_bytes: Option<u64>,
    /// Only a sample: this share of all sizes and of all places, in percent.
    pub sample_percent: Option<u32>,
}

/// The ways in which a sample has a document. Sites draw it apart and without reading: what has the same size, or the same place,
/// is drawn at all of them or at none, so that copies and versions meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// By its place, which is its name and the folder that it is in: an earlier or later version has the same.
    pub by_place: bool,
    /// By its size: a copy has the same. An empty document is drawn by its place alone.
    pub by_size: bool,
}

impl Drawn {
    /// Draws a document; `percent` of all places and of all sizes are in a sample, by a hash that is the same everywhere.
    pub fn of(path: &[u8], size_bytes: u64, percent: u32) -> Drawn {
        Drawn {
            by_place: is_drawn(b"place", place(path), percent),
            by_size: size_bytes > 0 && is_drawn(b"size", &size_bytes.to_be_bytes(), percent),
        }
    }
}

/// The part of a path by which documents of two sites are drawn together: the name, and the folder that it is in. The folders above
/// are often named after a site or a version.
pub fn place(path: &[u8]) -> &[u8] {
    let start = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').nth(1).map_or(0, |(at, _)| at + 1);
    &path[start..]
}

fn is_drawn(of: &[u8], what: &[u8], percent: u32) -> bool {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"cognate sample 1").update(of).update(what);
    let number = u64::from_le_bytes(*hasher.finalize().as_bytes().first_chunk().expect("a hash has 32 bytes"));
    number < u64::MAX / 100 * u64::from(percent.min(100))
}

/// A compiled rule.
///
/// A pattern without `/` matches a name at any depth; one with `/` matches from the root. A pattern that matches a
/// folder matches all that is in it. `*` and `?` stop at `/`, `**` does not.
#[derive(Clone, Debug)]
pub struct Selection {
    rule: SelectionRule,
    include: GlobSet,
    exclude: GlobSet,
}

/// The facts of a document by which a rule selects it. Whoever knows them gives all of them, so that a fact that is added here
/// does not compile until it is given; [`Facts::of_path`] is for documents of which no more is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts<'a> {
    /// The path in its repository. A document inside of another has the path of the outermost file.
    pub path: &'a [u8],
    /// The length of the file, if it is known. An unknown length excludes nothing.
    pub size_bytes: Option<u64>,
}

impl<'a> Facts<'a> {
    /// A document of which only the path is known: one that was listed and not looked at, or that is gone.
    pub fn of_path(path: &'a [u8]) -> Facts<'a> {
        Facts { path, size_bytes: None }
    }
}

/// The error of an invalid rule.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// A pattern is not a glob.
    #[error("the pattern `{pattern}` is not a glob: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The problem.
        reason: String,
    },
    /// The share of a sample is none.
    #[error("a sample has 1 to 99 percent")]
    Sample,
    /// There are too many patterns.
    #[error("{count} patterns are more than {PATTERNS_MAX}")]
    TooMany {
        /// Their number.
        count: usize,
    },
}

impl Selection {
    /// Compiles a rule.
    ///
    /// # Errors
    /// If a pattern is not a glob, is too long, or there are too many.
    pub fn new(rule: SelectionRule) -> Result<Selection, SelectionError> {
        Ok(Selection { include: compile(&rule.include)?, exclude: compile(&rule.exclude)?, rule })
    }

    /// Selects all documents.
    pub fn all() -> Selection {
        Selection { rule: SelectionRule::default(), include: GlobSet::empty(), exclude: GlobSet::empty() }
    }

    /// The rule as it was typed.
    pub fn rule(&self) -> &SelectionRule {
        &self.rule
    }

    /// True if a document is selected, by everything that is known of it.
    pub fn selects(&self, facts: &Facts<'_>) -> bool {
        let Facts { path, size_bytes } = *facts;
        // A place that is not in the sample excludes nothing while the size may be.
        let is_drawn = self.rule.sample_percent.zip(size_bytes).is_none_or(|(percent, size_bytes)| {
            let drawn = Drawn::of(path, size_bytes, percent);
            drawn.by_place || drawn.by_size
        });
        let is_larger = size_bytes.zip(self.rule.size_max_bytes).is_some_and(|(size_bytes, max)| size_bytes > max);
        is_drawn
            && !is_larger
            && (self.rule.include.is_empty() || matches(&self.include, path))
            && !matches(&self.exclude, path)
    }

    /// True if the path of a document is not enough to select it.
    pub fn needs_more_than_the_path(&self) -> bool {
        let SelectionRule { include: _, exclude: _, size_max_bytes, sample_percent } = &self.rule;
        size_max_bytes.is_some() || sample_percent.is_some()
    }

    /// True if nothing below a folder can be selected, so that it need not be entered.
    pub fn excludes_folder(&self, path: &[u8]) -> bool {
        matches(&self.exclude, path)
    }
}

fn matches(set: &GlobSet, path: &[u8]) -> bool {
    !set.is_empty() && set.is_match(as_path(path))
}

#[cfg(unix)]
fn as_path(path: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt as _;
    std::path::Path::new(std::ffi::OsStr::from_bytes(path))
}

#[cfg(not(unix))]
fn as_path(path: &[u8]) -> std::path::PathBuf {
    String::from_utf8_lossy(path).into_owned().into()
}

fn compile(patterns: &[String]) -> Result<GlobSet, SelectionError> {
    if patterns.len() > PATTERNS_MAX {
        return Err(SelectionError::TooMany { count: patterns.len() });
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let refused = |reason: String| SelectionError::Pattern { pattern: pattern.clone(), reason };
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(refused(format!("it is longer than {PATTERN_BYTES_MAX} bytes")));
        }
        let plain = pattern.trim_end_matches('/');
        let anchored = match plain.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            None if plain.contains('/') => plain.to_owned(),
            None => format!("**/{plain}"),
        };
        if anchored.is_empty() || plain.is_empty() {
            return Err(refused("it is empty".to_owned()));
        }
        for glob in [anchored.clone(), format!("{anchored}/**")] {
            let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
            set.add(glob.map_err(|error| refused(error.kind().to_string()))?);
        }
    }
    set.build().map_err(|error| SelectionError::Pattern { pattern: patterns.join(" "), reason: error.to_string() })
}

impl From<&SelectionRule> for v1::SelectionSpec {
    fn from(rule: &SelectionRule) -> v1::SelectionSpec {
        v1::SelectionSpec {
            include: rule.include.clone(),
            exclude: rule.exclude.clone(),
            size_max_bytes: rule.size_max_bytes,
            sample_percent: rule.sample_percent,
        }
    }
}

impl TryFrom<v1::SelectionSpec> for Selection {
    type Error = SelectionError;

    fn try_from(spec: v1::SelectionSpec) -> Result<Selection, SelectionError> {
        let v1::SelectionSpec { include, exclude, size_max_bytes, sample_percent } = spec;
        if sample_percent.is_some_and(|percent| !(1..100).contains(&percent)) {
            return Err(SelectionError::Sample);
        }
        Selection::new(SelectionRule { include, exclude, size_max_bytes, sample_percent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(include: &[&str], exclude: &[&str], path: &str, selected: bool) {
        let owned = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect();
        let rule = SelectionRule {
            include: owned(include),
            exclude: owned(exclude),
            size_max_bytes: None,
            sample_percent: None,
        };
        let is_selected = Selection::new(rule).unwrap().selects(&Facts::of_path(path.as_bytes()));
        assert_eq!(is_selected, selected, "include {include:?} exclude {exclude:?}: {path}");
    }

    #[test]
    fn patterns_match_names_anywhere_and_paths_from_the_root() {
        check(&[], &[], "a/b.txt", true);
        check(&["*.txt"], &[], "a/b.txt", true);
        check(&["*.txt"], &[], "a/b.rs", false);
        check(&["/a"], &[], "a/b/c", true);
        check(&["/a"], &[], "b/a/c", false);
        check(&["a/*.txt"], &[], "a/b.txt", true);
        check(&["a/*.txt"], &[], "x/a/b.txt", false);
        check(&["**/a/*.txt"], &[], "x/a/b.txt", true);
        check(&[], &["node_modules"], "x/node_modules/y/z.js", false);
        check(&[], &["node_modules/"], "node_modules", false);
        check(&["*.js"], &["dist"], "dist/a.js", false);
    }

    #[test]
    fn a_pattern_that_is_no_glob_is_refused_by_name() {
        for pattern in ["a[", "", "/", "{a"] {
            let rule = SelectionRule { include: vec![pattern.into()], ..SelectionRule::default() };
            let error = Selection::new(rule).unwrap_err().to_string();
            assert!(error.contains(&format!("`{pattern}`")), "{error}");
        }
    }

    #[test]
    fn patterns_of_either_list_are_tables_of_rows() {
        for (include, exclude, path, selected) in [
            (&[][..], &[][..], "", true),
            (&["**"], &[], "a/b", true),
            (&["a"], &[], "a", true),
            (&["a"], &[], "b/a/c", true),
            (&["a/"], &[], "x/a/b", true),
            (&["/a/b"], &[], "a/b", true),
            (&["/a/b"], &[], "a/bc", false),
            (&["a/b"], &[], "x/a/b", false),
            (&["*.{txt,md}"], &[], "x/y.md", true),
            (&["*.{txt,md}"], &[], "x/y.mdx", false),
            (&["?.txt"], &[], "a.txt", true),
            (&["?.txt"], &[], "ab.txt", false),
            (&["a/*"], &[], "a/b/c", true),
            (&["[ab].txt"], &[], "b.txt", true),
            (&["a\\*"], &[], "a*", true),
            (&["a\\*"], &[], "ab", false),
            (&["*.txt"], &["secret*"], "secret.txt", false),
            (&["*.txt"], &["secret*"], "x/secret/a.txt", false),
            (&[], &["/tmp"], "a/tmp/b", true),
            (&[], &["**/b/**"], "a/b/c/d", false),
            (&["*.TXT"], &[], "a.txt", false),
        ] {
            check(include, exclude, path, selected);
        }
    }

    #[test]
    fn a_size_is_selected_up_to_the_bound() {
        for (max, size, selected) in
            [(None, u64::MAX, true), (Some(0), 0, true), (Some(0), 1, false), (Some(9), 9, true), (Some(9), 10, false)]
        {
            let selection = Selection::new(SelectionRule { size_max_bytes: max, ..SelectionRule::default() }).unwrap();
            let facts = Facts { path: b"a", size_bytes: Some(size) };
            assert_eq!(selection.selects(&facts), selected, "{max:?} {size}");
            assert!(selection.selects(&Facts::of_path(b"a")), "{max:?}: an unknown size excludes nothing");
            assert_eq!(selection.needs_more_than_the_path(), max.is_some());
        }
    }

    #[test]
    fn a_document_is_selected_only_if_every_fact_is() {
        let (include, exclude) = (vec!["*.txt".into()], vec!["b".into()]);
        let rule = SelectionRule { include, exclude, size_max_bytes: Some(9), sample_percent: None };
        let selection = Selection::new(rule).unwrap();
        for (path, size_bytes, selected) in [
            ("a.txt", Some(9), true),
            ("a.txt", Some(10), false),
            ("a.txt", None, true),
            ("a.md", Some(9), false),
            ("a.md", None, false),
            ("b/a.txt", Some(9), false),
            ("b/a.md", Some(10), false),
        ] {
            let facts = Facts { path: path.as_bytes(), size_bytes };
            assert_eq!(selection.selects(&facts), selected, "{facts:?}");
        }
    }

    #[test]
    fn a_folder_is_left_out_only_if_nothing_below_it_can_be_selected() {
        let (include, exclude) = (vec!["*.txt".into()], vec!["/a/b".into()]);
        let rule = SelectionRule { include, exclude, ..SelectionRule::default() };
        let selection = Selection::new(rule).unwrap();
        for (folder, excluded) in [("a", false), ("a/b", true), ("a/b/c", true), ("x/a/b", false), ("images", false)] {
            assert_eq!(selection.excludes_folder(folder.as_bytes()), excluded, "{folder}");
        }
    }

    #[test]
    fn a_rule_comes_back_from_its_message_and_limits_are_exact() {
        let rule = |patterns: usize, length: usize| SelectionRule {
            include: vec!["a".repeat(length); patterns],
            exclude: vec!["*.bak".into()],
            size_max_bytes: Some(7),
            sample_percent: Some(5),
        };
        let sent = rule(3, 5);
        let selection = Selection::try_from(v1::SelectionSpec::from(&sent)).unwrap();
        assert_eq!(selection.rule(), &sent);
        assert!(Selection::new(rule(PATTERNS_MAX, 1)).is_ok());
        assert!(matches!(Selection::new(rule(PATTERNS_MAX + 1, 1)), Err(SelectionError::TooMany { count: 257 })));
        assert!(Selection::new(rule(1, PATTERN_BYTES_MAX)).is_ok());
        assert!(matches!(Selection::new(rule(1, PATTERN_BYTES_MAX + 1)), Err(SelectionError::Pattern { .. })));
        assert!(Selection::all().selects(&Facts { path: b"any/thing", size_bytes: Some(u64::MAX) }));
    }

    #[test]
    fn paths_that_are_not_utf8_are_matched_by_their_bytes() {
        let rule = SelectionRule { include: vec!["*.txt".into()], ..SelectionRule::default() };
        let selection = Selection::new(rule).unwrap();
        for (path, selected) in [(&b"a/\xff.txt"[..], true), (b"a/\xff.md", false)] {
            assert_eq!(selection.selects(&Facts::of_path(path)), selected, "{path:?}");
        }
    }

    #[test]
    fn a_sample_has_its_share_of_the_sizes_and_of_the_places_and_copies_and_versions_meet_in_it() {
        let rule = SelectionRule { sample_percent: Some(5), ..SelectionRule::default() };
        let selection = Selection::new(rule).unwrap();
        let all = 20_000_u64;
        let (mut by_place, mut by_size) = (0_u64, 0_u64);
        for number in 0..all {
            let path = format!("release-1/part {}/{number}.txt", number % 7);
            let drawn = Drawn::of(path.as_bytes(), number + 1, 5);
            by_place += u64::from(drawn.by_place);
            by_size += u64::from(drawn.by_size);
            let of = |path: &str, size_bytes| selection.selects(&Facts { path: path.as_bytes(), size_bytes });
            assert_eq!(of(&path, Some(number + 1)), drawn.by_place || drawn.by_size);
            assert!(of(&path, None), "an unknown size excludes nothing");
            if drawn.by_place {
                assert!(of(&path.replace("release-1", "other/release-2"), Some(7 * number)));
            }
            if drawn.by_size {
                assert!(of(&format!("moved/{number} (copy).txt"), Some(number + 1)));
            }
        }
        // Five standard deviations of so many draws.
        for drawn in [by_place, by_size] {
            assert!(drawn.abs_diff(all / 20) < 155, "{by_place} {by_size}");
        }
        assert!(selection.needs_more_than_the_path());
        assert!(Selection::try_from(v1::SelectionSpec { sample_percent: Some(0), ..Default::default() }).is_err());
        assert!(Selection::try_from(v1::SelectionSpec { sample_percent: Some(100), ..Default::default() }).is_err());
    }
}
