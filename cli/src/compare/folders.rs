//! The folders of a comparison, as typed: `NAME=DIR` or `DIR`, with `NAME` = `[PARTY:]SITE[/REPOSITORY]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cognate_proto::name::{PartyName, RepositoryName, SiteName};

use crate::exit::usage;

/// The sites of a comparison.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Folders {
    pub(super) sites: Vec<SiteFolders>,
}

/// One site and its folders.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct SiteFolders {
    pub(super) party: PartyName,
    pub(super) site: SiteName,
    pub(super) repositories: Vec<(RepositoryName, PathBuf)>,
}

struct Named {
    party: Option<PartyName>,
    site: SiteName,
    repository: RepositoryName,
    path: PathBuf,
}

impl Folders {
    /// Parses the arguments.
    pub(super) fn parse(words: &[OsString]) -> anyhow::Result<Folders> {
        let mut sites: Vec<SiteFolders> = Vec::new();
        for word in words {
            let named = parse_one(word)?;
            let Some(site) = sites.iter_mut().find(|site| site.site == named.site) else {
                sites.push(SiteFolders {
                    party: named.party.unwrap_or_else(PartyName::home),
                    site: named.site,
                    repositories: vec![(named.repository, named.path)],
                });
                continue;
            };
            if site.repositories.iter().any(|(repository, _)| *repository == named.repository) {
                return Err(usage(format!(
                    "two folders have the name `{}`: give each its own, as in `{}-1={}` `{}-2={}`",
                    named.site,
                    named.site,
                    site.repositories[0].1.display(),
                    named.site,
                    named.path.display()
                )));
            }
            if named.party.is_some_and(|party| party != site.party) {
                return Err(usage(format!("the site `{}` cannot belong to two parties", site.site)));
            }
            site.repositories.push((named.repository, named.path));
        }
        Ok(Folders { sites })
    }

    /// All repositories in the order of the arguments, site by site.
    pub(super) fn repositories(&self) -> Vec<(SiteName, RepositoryName)> {
        let of_site = |site: &SiteFolders| {
            site.repositories.iter().map(|(repository, _)| (site.site.clone(), repository.clone())).collect::<Vec<_>>()
        };
        self.sites.iter().flat_map(of_site).collect()
    }

    /// Checks that the state is outside of all folders; otherwise it would be compared with the documents.
    pub(super) fn check_apart_from(&self, state: &Path) -> anyhow::Result<()> {
        // A path that does not exist yet is resolved through its parent.
        let resolved = state.ancestors().find_map(|path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            path.canonicalize().ok()
        });
        for (_, path) in self.sites.iter().flat_map(|site| &site.repositories) {
            let folder =
                path.canonicalize().with_context(|| format!("the folder `{}` cannot be read", path.display()))?;
            if resolved.as_ref().is_some_and(|state| state.starts_with(&folder)) {
                return Err(usage(format!(
                    "the state `{}` is inside the folder `{}`: name a place outside of it, with --state or TMPDIR",
                    state.display(),
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// One line for each folder that is inside of another, or the same: its documents are compared with themselves.
    pub(super) fn nested(&self) -> Vec<String> {
        let all: Vec<(&SiteName, &Path, PathBuf)> = self
            .sites
            .iter()
            .flat_map(|site| site.repositories.iter().map(|(_, path)| (&site.site, path.as_path())))
            .filter_map(|(site, path)| Some((site, path, path.canonicalize().ok()?)))
            .collect();
        let mut lines = Vec::new();
        for (number, (_, path, resolved)) in all.iter().enumerate() {
            for (other_number, (_, other, other_resolved)) in all.iter().enumerate() {
                let how = match resolved == other_resolved {
                    true if number > other_number => "the same folder as",
                    false if resolved.starts_with(other_resolved) => "inside of",
                    _ => continue,
                };
                lines.push(format!(
                    "`{}` is {how} `{}`: its documents are compared with themselves",
                    path.display(),
                    other.display()
                ));
            }
        }
        lines
    }

    /// Checks that every folder can be listed, before any work starts.
    pub(super) fn check_readable(&self) -> anyhow::Result<()> {
        for (_, path) in self.sites.iter().flat_map(|site| &site.repositories) {
            std::fs::read_dir(path).with_context(|| format!("the folder `{}` cannot be read", path.display()))?;
        }
        Ok(())
    }
}

fn parse_one(word: &OsStr) -> anyhow::Result<Named> {
    if let Some(place) = word.as_bytes().iter().position(|byte| *byte == b'=') {
        let name = String::from_utf8_lossy(&word.as_bytes()[..place]).into_owned();
        let path = PathBuf::from(OsStr::from_bytes(&word.as_bytes()[place + 1..]));
        if path.as_os_str().is_empty() {
            return Err(usage(format!("`{name}=` names no folder: type `{name}=DIR`")));
        }
        return parse_name(&name, path);
    }
    let path = PathBuf::from(word);
    let site = name_of(&path)?;
    Ok(Named { party: None, site, repository: RepositoryName::main(), path })
}

fn parse_name(name: &str, path: PathBuf) -> anyhow::Result<Named> {
    let refused = |error: &dyn std::fmt::Display| {
        usage(format!("`{name}` is not a name: {error}; type [PARTY:]SITE[/REPOSITORY]=DIR"))
    };
    let (party, rest) = match name.split_once(':') {
        Some((party, rest)) => (Some(party.parse().map_err(|error| refused(&error))?), rest),
        None => (None, name),
    };
    let (site, repository) = match rest.split_once('/') {
        Some((site, repository)) => (site, repository.parse().map_err(|error| refused(&error))?),
        None => (rest, RepositoryName::main()),
    };
    Ok(Named { party, site: site.parse().map_err(|error| refused(&error))?, repository, path })
}

/// A folder's own name as the name of a site; characters that a name cannot hold become `-`.
fn name_of(path: &Path) -> anyhow::Result<SiteName> {
    let resolved = path.canonicalize();
    let folder = resolved.as_deref().unwrap_or(path).file_name().unwrap_or(OsStr::new("root"));
    let allowed = |character: char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-');
    let mut name = String::new();
    for character in folder.to_string_lossy().chars() {
        let character = if allowed(character) { character } else { '-' };
        if name.len() + character.len_utf8() > cognate_proto::limits::NAME_BYTES_MAX {
            break;
        }
        name.push(character);
    }
    name.parse().map_err(|_| usage(format!("`{}` needs a name: type NAME={}", path.display(), path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parsed folders as `party:site/repository=path`, or the error.
    fn check(words: &[&str], expected: Result<&[&str], &str>) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let parsed = Folders::parse(&words).map(|folders| {
            let of_site = |site: &SiteFolders| {
                let line = |(repository, path): &(RepositoryName, PathBuf)| {
                    format!("{}:{}/{}={}", site.party, site.site, repository, path.display())
                };
                site.repositories.iter().map(line).collect::<Vec<_>>()
            };
            folders.sites.iter().flat_map(of_site).collect::<Vec<_>>()
        });
        match (parsed, expected) {
            (Ok(parsed), Ok(expected)) => assert_eq!(parsed, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (parsed, expected) => panic!("{parsed:?} and not {expected:?}"),
        }
    }

    #[test]
    fn names_may_say_party_site_and_repository() {
        check(&["a=x", "b=y"], Ok(&["home:a/main=x", "home:b/main=y"]));
        check(&["p:a/kb=x", "a/wiki=y", "q:b=z"], Ok(&["p:a/kb=x", "p:a/wiki=y", "q:b/main=z"]));
        check(
            &["/nowhere/old", "/nowhere/new v2"],
            Ok(&["home:old/main=/nowhere/old", "home:new-v2/main=/nowhere/new v2"]),
        );
        check(&["a=/x=y"], Ok(&["home:a/main=/x=y"]));
    }

    #[test]
    fn a_folder_inside_of_another_and_the_same_folder_twice_are_named_once() {
        let top = tempfile::tempdir().unwrap();
        let [outer, inner, apart] = ["outer", "outer/inner", "outer-2"].map(|name| top.path().join(name));
        [&inner, &apart].into_iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
        let nested = |folders: &[(&str, &Path)]| {
            let words: Vec<_> =
                folders.iter().map(|(name, path)| format!("{name}={}", path.display()).into()).collect();
            Folders::parse(&words).unwrap().nested()
        };
        assert_eq!(nested(&[("a", &outer), ("b", &apart)]), [""; 0]);
        let [line] = nested(&[("a", &inner), ("b", &outer)]).try_into().unwrap();
        assert!(line.contains("inner` is inside of `") && line.contains("outer`: its documents"), "{line}");
        let [line] = nested(&[("a", &apart), ("b", &apart)]).try_into().unwrap();
        assert!(line.contains("the same folder as"), "{line}");
    }

    #[test]
    fn an_invalid_folder_is_an_error_that_names_the_correct_usage() {
        check(&["a=x", "a=y"], Err("`a-1=x`"));
        check(&["/one/src", "/two/src"], Err("two folders have the name `src`"));
        check(&["a="], Err("type `a=DIR`"));
        check(&["a b=x"], Err("[PARTY:]SITE[/REPOSITORY]=DIR"));
        check(&["p:a/x=1", "q:a/y=2"], Err("two parties"));
    }
}
