//! Known faults of crates, from a copy of the `RustSec` database that is one line a fault, held against a lock file.
//!
//! The copy makes the check part of every test run, without a network. `cargo run -p cognate-integration-tests --bin advisories FOLDER`
//! makes it from a clone of `github.com/rustsec/advisory-db`; the step `advisories` of `.ci/nightly` asks the database itself.

use std::path::Path;

use semver::{Version, VersionReq};

/// The committed copy.
pub const ADVISORIES: &str = include_str!("../advisories.txt");

/// A known fault of a crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advisory {
    /// Its number in the database.
    pub id: String,
    /// The crate.
    pub package: String,
    /// The versions that do not have it any more.
    pub patched: Vec<VersionReq>,
    /// The versions that never had it.
    pub unaffected: Vec<VersionReq>,
}

impl Advisory {
    fn concerns(&self, package: &str, version: &Version) -> bool {
        self.package == package && !self.patched.iter().chain(&self.unaffected).any(|good| good.matches(version))
    }
}

/// The faults of a copy.
///
/// # Errors
/// Names the line that cannot be read.
pub fn parse(copy: &str) -> Result<Vec<Advisory>, String> {
    let lines = copy.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| advisory(line).ok_or_else(|| format!("no advisory: {line}"))).collect()
}

fn advisory(line: &str) -> Option<Advisory> {
    let mut columns = line.split('|').map(str::trim);
    let mut next = || columns.next();
    let (id, package) = (next()?.to_owned(), next()?.to_owned());
    let (patched, unaffected) = (versions(next()?)?, versions(next()?)?);
    (next().is_none() && !package.is_empty()).then_some(Advisory { id, package, patched, unaffected })
}

fn versions(text: &str) -> Option<Vec<VersionReq>> {
    text.split(';').map(str::trim).filter(|text| !text.is_empty()).map(|text| VersionReq::parse(text).ok()).collect()
}

/// The faults of what a lock file names, each as `ID: crate version`, without those that are accepted.
///
/// # Errors
/// Says why the lock file cannot be read.
pub fn found(advisories: &[Advisory], lock: &str, accepted: &[&str]) -> Result<Vec<String>, String> {
    let lock: toml::Table = lock.parse().map_err(|error| format!("the lock file: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).ok_or("the lock file names no packages")?;
    let mut found = Vec::new();
    for row in packages {
        let text = |key: &str| row.get(key).and_then(toml::Value::as_str).ok_or_else(|| format!("no {key}: {row}"));
        let (name, version) = (text("name")?, text("version")?);
        let version = Version::parse(version).map_err(|error| format!("{name} {version}: {error}"))?;
        let those = advisories.iter().filter(|advisory| advisory.concerns(name, &version));
        let those = those.filter(|advisory| !accepted.contains(&advisory.id.as_str()));
        found.extend(those.map(|advisory| format!("{}: {name} {version}", advisory.id)));
    }
    Ok(found)
}

/// Makes a copy of the database in a folder. Withdrawn advisories are left out.
///
/// # Errors
/// Names the file that cannot be read.
pub fn copy(folder: &Path) -> Result<String, String> {
    let mut lines = Vec::new();
    for package in entries(&folder.join("crates"))? {
        for file in entries(&package)? {
            lines.extend(line(&file).map_err(|problem| format!("{}: {problem}", file.display()))?);
        }
    }
    lines.sort_unstable();
    let intro = "# Known faults of crates, a copy of the RustSec database (https://rustsec.org): number, crate, versions that do not have the\n\
                 # fault any more, versions that never had it. Made by `cargo run -p cognate-integration-tests --bin advisories FOLDER`.\n";
    Ok(format!("{intro}{}\n", lines.join("\n")))
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = std::fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    entries.map_err(|error| format!("{}: {error}", folder.display()))
}

/// The line of a file of the database, which begins with a table in a fence.
fn line(file: &Path) -> Result<Option<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let table = text.strip_prefix("```toml").and_then(|rest| rest.split("```").next()).ok_or("it has no table")?;
    let table: toml::Table = table.parse().map_err(|error| format!("{error}"))?;
    let advisory = table.get("advisory").ok_or("it has no advisory")?;
    if advisory.get("withdrawn").is_some() {
        return Ok(None);
    }
    let text = |key: &str| advisory.get(key).and_then(toml::Value::as_str).ok_or_else(|| format!("no {key}"));
    let versions = |key: &str| {
        let list = table.get("versions").and_then(|versions| versions.get(key)).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).collect::<Vec<_>>().join("; ")
    };
    Ok(Some(format!("{} | {} | {} | {}", text("id")?, text("package")?, versions("patched"), versions("unaffected"))))
}
