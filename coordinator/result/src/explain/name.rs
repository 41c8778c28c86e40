//! The name of a document as people write it: `site/repository/path`, or as reports do, `site/repository: path`. The
//! repository may be left out if it is `main`.

use cognate_proto::path::unescaped;

use crate::Error;
use crate::report::{Found, Report};

/// A document as somebody named it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentName {
    /// Site, repository and path that the name may mean, the likeliest first.
    candidates: Vec<[String; 3]>,
}

impl DocumentName {
    /// Reads a name; nothing if it names no document. Spaces at the ends of a path are part of it.
    pub fn parse(named: &str) -> Option<DocumentName> {
        let mut candidates = Vec::new();
        let mut add = |site: &str, repository: &str, path: &str| {
            let candidate = [site, repository, path].map(str::to_owned);
            if candidate.iter().all(|part| !part.is_empty()) && !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        };
        if let Some((place, path)) = named.split_once(':') {
            let (site, repository) = place.split_once('/').unwrap_or((place, "main"));
            if !repository.contains('/') {
                // Reports write one space. People write none, or more.
                add(site, repository, path.strip_prefix(' ').unwrap_or(path));
                add(site, repository, path.trim_start());
            }
        }
        if let Some((site, rest)) = named.split_once('/') {
            if let Some((repository, path)) = rest.split_once('/') {
                add(site, repository, path);
            }
            add(site, "main", rest);
        }
        (!candidates.is_empty()).then_some(DocumentName { candidates })
    }

    /// The document of a result that has the name; its path may be escaped as in reports.
    ///
    /// # Errors
    /// If the result cannot be read.
    pub fn find(&self, report: &Report) -> Result<Option<Found>, Error> {
        for [site, repository, path] in &self.candidates {
            for bytes in [path.as_bytes().to_vec(), unescaped(path)] {
                if let Some(found) = report.find(site, repository, &bytes)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_as_people_and_as_reports_do() {
        for (named, expected) in [
            ("paris/kb/a/b.txt", &["paris|kb|a/b.txt", "paris|main|kb/a/b.txt"][..]),
            ("paris/kb: a/b.txt", &["paris|kb|a/b.txt", "paris|kb: a|b.txt", "paris|main|kb: a/b.txt"]),
            ("paris/kb:a.txt", &["paris|kb|a.txt", "paris|main|kb:a.txt"]),
            ("paris/kb:  a", &["paris|kb| a", "paris|kb|a", "paris|main|kb:  a"]),
            ("a/report.txt", &["a|main|report.txt"]),
            ("a: report.txt", &["a|main|report.txt"]),
            ("paris/kb/a: b.txt", &["paris|kb|a: b.txt", "paris|main|kb/a: b.txt"]),
            ("paris/kb/ a ", &["paris|kb| a ", "paris|main|kb/ a "]),
            ("paris/kb/", &["paris|main|kb/"]),
        ] {
            let name = DocumentName::parse(named).unwrap();
            let candidates: Vec<String> = name.candidates.iter().map(|parts| parts.join("|")).collect();
            assert_eq!(candidates, expected, "{named}");
        }
        for named in ["", "report", "a/", "a:", "/a", ": a", "/"] {
            assert_eq!(DocumentName::parse(named), None, "{named}");
        }
    }
}
