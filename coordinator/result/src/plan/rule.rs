//! A rule: a preference among documents.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

use super::placed::Placed;

/// A preference among documents.
#[derive(Clone, Debug)]
pub enum Rule {
    /// All documents below this place stay: `reference:SITE[/REPOSITORY[/FOLDER]]`.
    Reference(Place),
    /// Prefers documents below this place: `prefer:SITE[/REPOSITORY[/FOLDER]]`.
    Prefer(Place),
    /// Prefers documents that match this pattern: `path:GLOB`.
    Path(String, GlobMatcher),
    /// Prefers documents that do not match it: `not-path:GLOB`.
    NotPath(String, GlobMatcher),
    /// The latest modified.
    Newest,
    /// The earliest modified.
    Oldest,
    /// The one with the shortest path.
    ShortestPath,
    /// The one with the longest path.
    LongestPath,
    /// The one with the most bytes. Copies of the same bytes are equal by this rule, versions are not.
    MostComplete,
    /// One that is not called a copy: `copy of`, `(1)`, `- Kopie`, `copie de`, `~`.
    NotACopy,
}

/// A site, a repository of it, or a folder in that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    site: String,
    repository: Option<String>,
    /// With a `/` at its end.
    folder: Option<String>,
}

/// The text is no rule.
#[derive(Debug, thiserror::Error)]
#[error("`{rule}` is no rule: {why}")]
pub struct RuleError {
    rule: String,
    why: String,
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rule, RuleError> {
        let wrong = |why: &str| RuleError { rule: text.to_owned(), why: why.to_owned() };
        let glob = |pattern: &str| {
            let built = GlobBuilder::new(pattern).literal_separator(true).build();
            built.map(|glob| glob.compile_matcher()).map_err(|error| wrong(&error.to_string()))
        };
        Ok(match text.split_once(':') {
            Some(("reference", place)) => Rule::Reference(Place::parse(place).ok_or_else(|| wrong("say which site"))?),
            Some(("prefer", place)) => Rule::Prefer(Place::parse(place).ok_or_else(|| wrong("say which site"))?),
            Some(("path", pattern)) => Rule::Path(pattern.to_owned(), glob(pattern)?),
            Some(("not-path", pattern)) => Rule::NotPath(pattern.to_owned(), glob(pattern)?),
            _ => match text {
                "newest" => Rule::Newest,
                "oldest" => Rule::Oldest,
                "shortest-path" => Rule::ShortestPath,
                "longest-path" => Rule::LongestPath,
                "most-complete" => Rule::MostComplete,
                "not-a-copy" => Rule::NotACopy,
                _ => {
                    return Err(wrong(
                        "there are reference:SITE[/REPOSITORY[/FOLDER]], prefer:SITE[/REPOSITORY[/FOLDER]], path:GLOB, \
                         not-path:GLOB, newest, oldest, most-complete, shortest-path, longest-path, not-a-copy",
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Reference(place) => write!(f, "reference:{place}"),
            Rule::Prefer(place) => write!(f, "prefer:{place}"),
            Rule::Path(pattern, _) => write!(f, "path:{pattern}"),
            Rule::NotPath(pattern, _) => write!(f, "not-path:{pattern}"),
            Rule::Newest => f.write_str("newest"),
            Rule::Oldest => f.write_str("oldest"),
            Rule::ShortestPath => f.write_str("shortest-path"),
            Rule::LongestPath => f.write_str("longest-path"),
            Rule::MostComplete => f.write_str("most-complete"),
            Rule::NotACopy => f.write_str("not-a-copy"),
        }
    }
}

impl Rule {
    /// True if a document must stay by this rule.
    pub(super) fn is_reference_of(&self, document: &impl Placed) -> bool {
        matches!(self, Rule::Reference(place) if place.holds(document))
    }

    /// True if the rule is about places, and this document is below its place.
    pub(crate) fn prefers(&self, document: &impl Placed) -> bool {
        matches!(self, Rule::Reference(place) | Rule::Prefer(place) if place.holds(document))
    }

    /// The site that the rule names, if it names one.
    pub fn site(&self) -> Option<&str> {
        match self {
            Rule::Reference(place) | Rule::Prefer(place) => Some(&place.site),
            _ => None,
        }
    }

    /// True if a document has what the rule prefers; nothing for a rule that compares by a measure.
    pub(super) fn prefers_alone(&self, document: &impl Placed) -> Option<bool> {
        Some(match self {
            Rule::Reference(place) | Rule::Prefer(place) => place.holds(document),
            Rule::Path(_, glob) => glob.is_match(document.path()),
            Rule::NotPath(_, glob) => !glob.is_match(document.path()),
            Rule::NotACopy => !is_called_a_copy(document.path()),
            Rule::Newest | Rule::Oldest | Rule::ShortestPath | Rule::LongestPath | Rule::MostComplete => return None,
        })
    }

    /// The preferred document comes first, by a rule that compares by a measure.
    pub(super) fn compare<D: Placed>(&self, a: &D, b: &D) -> Ordering {
        match self {
            Rule::Newest => b.compare_modified(a),
            Rule::Oldest => a.compare_modified(b),
            Rule::ShortestPath => a.path().len().cmp(&b.path().len()),
            Rule::LongestPath => b.path().len().cmp(&a.path().len()),
            Rule::MostComplete => b.size_bytes().cmp(&a.size_bytes()),
            Rule::Reference(_) | Rule::Prefer(_) | Rule::Path(..) | Rule::NotPath(..) | Rule::NotACopy => {
                Ordering::Equal
            }
        }
    }
}

impl Place {
    fn parse(text: &str) -> Option<Place> {
        let mut parts = text.splitn(3, '/');
        let site = parts.next().filter(|site| !site.is_empty())?.to_owned();
        let repository = parts.next().filter(|name| !name.is_empty()).map(str::to_owned);
        let folder = parts.next().map(|folder| folder.trim_matches('/')).filter(|folder| !folder.is_empty());
        Some(Place { site, repository, folder: folder.map(|folder| format!("{folder}/")) })
    }

    fn holds(&self, document: &impl Placed) -> bool {
        document.site() == self.site
            && self.repository.as_ref().is_none_or(|repository| document.repository() == *repository)
            && self.folder.as_ref().is_none_or(|folder| document.path().starts_with(folder))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.site)?;
        if let Some(repository) = &self.repository {
            write!(f, "/{repository}")?;
        }
        match &self.folder {
            Some(folder) => write!(f, "/{}", folder.trim_end_matches('/')),
            None => Ok(()),
        }
    }
}

/// True if any name on the path is one that file managers give to copies.
fn is_called_a_copy(path: &str) -> bool {
    may_be_called_a_copy(path.as_bytes())
        && path.split('/').any(|name| {
            let stem = name
                .rsplit_once('.')
                .map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
                .to_lowercase();
            let begins = ["copy of ", "copy (", "kopie von ", "copie de ", "copia de ", "cópia de "];
            let ends = [
                " copy", " - copy", " - kopie", " kopie", " - copie", " - copia", " (copy)", "_copy", ".orig", ".bak",
                "~",
            ];
            let is_numbered =
                stem.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).is_some_and(|(front, number)| {
                    !front.is_empty()
                        && (1..=3).contains(&number.len())
                        && number.bytes().all(|byte| byte.is_ascii_digit())
                });
            // `report copy 2`, as one system numbers them.
            let counted = stem.trim_end_matches(|last: char| last.is_ascii_digit()).trim_end();
            is_numbered
                || begins.iter().any(|begin| stem.starts_with(begin))
                || ends.iter().any(|end| stem.ends_with(end) || counted.ends_with(end) || name.ends_with(end))
        })
}

/// False if a path has none of the letters that such a name has: most have not, and looking costs less than reading names.
fn may_be_called_a_copy(path: &[u8]) -> bool {
    let mut before = 0;
    path.iter().any(|byte| {
        let (last, byte) = (before, byte.to_ascii_lowercase());
        before = byte;
        match byte {
            b'(' | b'~' => true,
            // All the words for copies have it.
            b'p' => last == b'o',
            b'b' | b'o' => last == b'.',
            // Other letters may be small ones of these.
            byte => !byte.is_ascii(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_file_managers_give_to_copies_are_known() {
        for copy in [
            "a/Copy of report.doc",
            "report (1).doc",
            "report - Kopie.doc",
            "report - Copy.doc",
            "report copy 2.doc",
            "Kopie von report.doc",
            "report.doc~",
            "report.doc.bak",
            "Copy of folder/report.doc",
            "COPIA DE REPORT.DOC",
            "CÓPIA DE report.doc",
        ] {
            assert!(is_called_a_copy(copy), "{copy}");
        }
        for original in ["report.doc", "photocopy.doc", "report (2019).doc", "(1).doc", ".copyrc", "a/b"] {
            assert!(!is_called_a_copy(original), "{original}");
        }
    }

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for rule in
            ["reference:paris", "prefer:paris/kb/a/b", "path:**/final/*", "not-path:*.tmp", "newest", "not-a-copy"]
        {
            assert_eq!(rule.parse::<Rule>().unwrap().to_string(), rule);
        }
        for nonsense in ["", "random", "reference:", "path:[", "newest:x"] {
            assert!(nonsense.parse::<Rule>().is_err(), "{nonsense}");
        }
    }
}
