//! Which documents of a repository a scan is about. A selection narrows what a site offers; it can never widen it.
//!
//! The worker reads only what is selected, and the coordinator analyses only what is, by this one rule; what lies in an
//! index from an earlier scan and is not selected now is left alone.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::limits::{PATTERN_BYTES_MAX, PATTERNS_MAX};
use crate::v1;

/// The patterns of a selection as they were typed, and the greatest size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SelectionRule {
    /// Only what one of these matches; empty: everything.
    pub include: Vec<String>,
    /// Nothing that one of these matches.
    pub exclude: Vec<String>,
    /// Nothing larger, in bytes.
    pub size_bytes_max: Option<u64>,
}

/// A rule made ready to be asked.
///
/// A pattern without `/` matches a name at any depth; one with `/` matches from the root. A pattern that matches a
/// folder matches all that is in it. `*` and `?` stop at `/`, `**` does not.
#[derive(Clone, Debug)]
pub struct Selection {
    rule: SelectionRule,
    include: GlobSet,
    exclude: GlobSet,
}

/// Why a rule cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// A pattern is not a glob.
    #[error("the pattern `{pattern}` is not a glob: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There are too many patterns.
    #[error("{count} patterns are more than {PATTERNS_MAX}")]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

impl Selection {
    /// Compiles a rule.
    ///
    /// # Errors
    /// When a pattern is not a glob, is too long, or there are too many.
    pub fn new(rule: SelectionRule) -> Result<Selection, SelectionError> {
        Ok(Selection { include: compile(&rule.include)?, exclude: compile(&rule.exclude)?, rule })
    }

    /// Everything.
    pub fn all() -> Selection {
        Selection { rule: SelectionRule::default(), include: GlobSet::empty(), exclude: GlobSet::empty() }
    }

    /// The rule as it was typed.
    pub fn rule(&self) -> &SelectionRule {
        &self.rule
    }

    /// Whether a path is selected, as far as its names go.
    pub fn selects_path(&self, path: &[u8]) -> bool {
        (self.rule.include.is_empty() || matches(&self.include, path)) && !matches(&self.exclude, path)
    }

    /// Whether a size is selected.
    pub fn selects_size(&self, size_bytes: u64) -> bool {
        self.rule.size_bytes_max.is_none_or(|max| size_bytes <= max)
    }

    /// Whether nothing below a folder can be selected, so that it need not be entered.
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
            size_bytes_max: rule.size_bytes_max,
        }
    }
}

impl TryFrom<v1::SelectionSpec> for Selection {
    type Error = SelectionError;

    fn try_from(spec: v1::SelectionSpec) -> Result<Selection, SelectionError> {
        let v1::SelectionSpec { include, exclude, size_bytes_max } = spec;
        Selection::new(SelectionRule { include, exclude, size_bytes_max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(include: &[&str], exclude: &[&str], path: &str, selected: bool) {
        let owned = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect();
        let rule = SelectionRule { include: owned(include), exclude: owned(exclude), size_bytes_max: None };
        let answer = Selection::new(rule).unwrap().selects_path(path.as_bytes());
        assert_eq!(answer, selected, "include {include:?} exclude {exclude:?}: {path}");
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
    fn what_is_not_a_glob_is_refused_by_name() {
        for pattern in ["a[", "", "/", "{a"] {
            let rule = SelectionRule { include: vec![pattern.into()], ..SelectionRule::default() };
            let error = Selection::new(rule).unwrap_err().to_string();
            assert!(error.contains(&format!("`{pattern}`")), "{error}");
        }
    }
}
