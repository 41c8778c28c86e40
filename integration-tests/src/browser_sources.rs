//! The sources of the module that the page of finds runs: what it was built from is recorded next to it.

use std::path::{Path, PathBuf};

use crate::binary::workspace;
use crate::sandbox::names;

/// The record, next to the module.
pub const RECORD: &str = "coordinator/web/static/fingerprint.sources";
/// The crates that are in the module.
const CRATES: [&str; 3] = ["fingerprint", "query", "view"];
/// Parts of them that are not: what needs an operating system.
const LEFT_OUT: [&str; 9] = [
    "archive/seven_zip.rs",
    "bin",
    "child.rs",
    "lanes/eight.rs",
    "lanes/sixteen.rs",
    "pool",
    "recognise",
    "sandbox",
    "x86.rs",
];

/// The digest of every source that the module is built from, and the version of every package: two columns, in the order of names.
/// Comments, blank lines and tests change nothing.
pub fn browser_sources() -> String {
    let mut lines = Vec::new();
    for name in CRATES {
        let folder = workspace().join(name).join("src");
        let mut files = Vec::new();
        sources(&folder, &folder, &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let digest = blake3::hash(code(&text).as_bytes()).to_hex();
            lines.push(format!("{}  {}", &digest[..32], file.strip_prefix(workspace()).unwrap().display()));
        }
    }
    lines.extend(packages());
    lines.sort_by(|a, b| a.split_once("  ").map(|two| two.1).cmp(&b.split_once("  ").map(|two| two.1)));
    lines.join("\n") + "\n"
}

fn sources(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    for path in names(folder) {
        let within = path.strip_prefix(root).unwrap().display().to_string();
        let is_left_out = LEFT_OUT.iter().any(|left| within == *left || within == format!("{left}.rs"));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if is_left_out || name == "tests" || name == "tests.rs" || name == "test_support.rs" {
            continue;
        }
        if path.is_dir() {
            sources(root, &path, files);
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
}

/// What of a source the compiler makes something of.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The versions of all packages that the module may have, as the lock has them.
fn packages() -> Vec<String> {
    let lock: toml::Table = std::fs::read_to_string(workspace().join("Cargo.lock")).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let field = |package: &toml::Value, name: &str| package.get(name).and_then(toml::Value::as_str).map(str::to_owned);
    let mut wanted = vec!["cognate-query".to_owned()];
    let mut known: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    while let Some(next) = wanted.pop() {
        // A dependency is a name, or a name and a version where there are several.
        let (name, version) =
            next.split_once(' ').map_or((next.as_str(), None), |(name, version)| (name, Some(version)));
        let is_it = |package: &&toml::Value| {
            field(package, "name").as_deref() == Some(name)
                && version.is_none_or(|version| field(package, "version").as_deref() == Some(version))
        };
        let package = packages.iter().find(is_it).unwrap();
        let full = format!("{} {}", name, field(package, "version").unwrap());
        if known.contains(&full) {
            continue;
        }
        if let Some(checksum) = field(package, "checksum") {
            lines.push(format!("{}  package {full}", &checksum[..32]));
        }
        known.push(full);
        let dependencies = package.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten();
        wanted.extend(dependencies.filter_map(toml::Value::as_str).map(str::to_owned));
    }
    lines
}
