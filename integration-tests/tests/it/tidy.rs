//! The rules of the house that a machine can check: who may import whom, and how files look.

mod dependencies;
mod modules;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cognate_integration_tests::binary::{cargo, workspace};
use serde_json::Value;

/// Which of our crates each may import: the ladder. A crate that is not there yet is not missed.
const LADDER: [(&str, &[&str]); 20] = [
    ("cognate-disk-faults", &["fuzzing"]),
    ("cognate-fuzzing", &[]),
    ("cognate-durable", &[]),
    ("cognate-fingerprint", &[]),
    ("cognate-proto", &["fingerprint"]),
    ("cognate-similarity", &["durable", "fingerprint"]),
    ("cognate-view", &[]),
    ("cognate-query", &["fingerprint", "view"]),
    ("cognate-worker", &["durable", "fingerprint", "proto", "view"]),
    ("cognate-storage", &["durable", "fingerprint", "proto", "similarity"]),
    ("cognate-result-file", &[]),
    ("cognate-analysis", &["durable", "fingerprint", "proto", "result-file", "similarity", "storage"]),
    ("cognate-result", &["analysis", "fingerprint", "proto", "result-file", "similarity", "storage"]),
    ("cognate-export", &["proto", "result"]),
    ("cognate-desk", &["analysis", "durable", "fingerprint", "proto", "result", "similarity", "storage"]),
    (
        "cognate-server",
        &["analysis", "desk", "durable", "export", "fingerprint", "proto", "result", "similarity", "storage"],
    ),
    ("cognate-web", &["desk", "export", "fingerprint", "proto", "result", "server", "storage"]),
    ("cognate-evaluation", &["fingerprint", "similarity", "view"]),
    (
        "cognate-cli",
        &[
            "analysis",
            "desk",
            // Of the binary with failpoints alone.
            "disk-faults",
            "durable",
            "export",
            "fingerprint",
            "proto",
            "query",
            "result",
            "server",
            "similarity",
            "storage",
            "view",
            "web",
            "worker",
        ],
    ),
    ("cognate-integration-tests", &["fuzzing"]),
];

/// What the program for Spark clusters is built from, and the product is not: beginnings of the names of crates.
const OF_SPARK: [&str; 5] = ["apache-spark", "arrow-", "object_store", "parquet", "thrift"];

/// Crates of which the tests of every other one may make use.
const OF_TESTS: [&str; 2] = ["cognate-disk-faults", "cognate-fuzzing"];

/// No file is longer.
const LINES_MAX: usize = 800;
/// No cell of a table in a guide is longer.
const CELL_CHARS_MAX: usize = 200;

fn packages() -> Vec<Value> {
    let output = cargo().args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Rust sources of the workspace, less what is generated, with their text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![workspace().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in cognate_integration_tests::sandbox::names(&folder) {
            let name = path.file_name().unwrap().to_str().unwrap_or_default();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "generated"].contains(&name) {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                sources.push((path, text));
            }
        }
    }
    assert!(sources.len() > 50, "the sources were found");
    sources
}

#[test]
fn crates_import_what_the_ladder_allows_and_no_more() {
    let ladder: BTreeMap<&str, BTreeSet<&str>> =
        LADDER.iter().map(|(name, imports)| (*name, imports.iter().copied().collect())).collect();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let dependencies = package["dependencies"].as_array().unwrap();
        let of_tests =
            |dependency: &Value| dependency["kind"] == "dev" && OF_TESTS.iter().any(|name| dependency["name"] == *name);
        let ours = dependencies.iter().filter(|dependency| !dependency["path"].is_null() && !of_tests(dependency));
        let imports: BTreeSet<&str> =
            ours.map(|dependency| dependency["name"].as_str().unwrap().trim_start_matches("cognate-")).collect();
        let allowed = ladder.get(name).unwrap_or_else(|| panic!("`{name}` has no line in the ladder"));
        assert_eq!(&imports, allowed, "what `{name}` imports");
    }
}

#[test]
fn the_module_of_the_page_of_finds_is_built_from_these_sources() {
    use cognate_integration_tests::browser_sources::{RECORD, browser_sources};
    let recorded = std::fs::read_to_string(workspace().join(RECORD)).unwrap();
    let (recorded, now): (BTreeSet<&str>, String) = (recorded.lines().collect(), browser_sources());
    let now: BTreeSet<&str> = now.lines().collect();
    let changed: Vec<&&str> = recorded.symmetric_difference(&now).collect();
    assert!(now.len() > 150, "the sources were found");
    assert!(changed.is_empty(), "run query/browser.sh, since these have changed: {changed:#?}");
}

#[test]
fn no_module_imports_another_in_a_circle() {
    let sources = sources();
    for package in packages() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap().join("src");
        let own = sources.iter().filter_map(|(path, text)| Some((path.strip_prefix(&folder).ok()?, text.as_str())));
        let circle = modules::Modules::of(own).circle();
        assert_eq!(circle, None, "{}: these modules import each other", folder.display());
    }
}

#[test]
fn no_cell_of_a_table_is_too_long_to_be_read_at_once() {
    let mut pages = cognate_integration_tests::sandbox::names(&workspace().join("docs"));
    pages.extend(cognate_integration_tests::sandbox::names(workspace()));
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(page).unwrap();
        let mut is_code = false;
        for line in text.lines() {
            is_code ^= line.starts_with("```");
            if is_code || !line.starts_with('|') {
                continue;
            }
            for cell in line.replace("\\|", " ").split('|') {
                let chars = cell.trim().chars().count();
                assert!(chars <= CELL_CHARS_MAX, "{}: {chars} characters in `{cell}`", page.display());
            }
        }
    }
}

#[test]
fn versions_of_dependencies_stand_in_one_place() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let text = std::fs::read_to_string(manifest).unwrap();
        let mut in_dependencies = false;
        for line in text.lines() {
            if line.starts_with('[') {
                in_dependencies = line.contains("dependencies");
                // `[dependencies.name]` would hide a version on the next line.
                assert!(!line.contains("dependencies."), "{manifest}: {line}");
            } else if in_dependencies && !line.trim().is_empty() && !line.starts_with([' ', '#', ']']) {
                let inherits = line.contains(".workspace = true") || line.contains("workspace = true");
                assert!(inherits, "{manifest}: `{line}` does not come from the workspace");
            }
        }
        assert_eq!(package["publish"], serde_json::json!([]), "{manifest}: publish = false");
        assert!(text.contains("[lints]\nworkspace = true"), "{manifest}: the lints of the workspace apply");
    }
}

#[test]
fn every_file_says_what_it_is_about() {
    for (path, text) in sources() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "tests.rs" || name == "build.rs" {
            continue;
        }
        assert!(text.starts_with("//! "), "{} does not begin with `//!`", path.display());
    }
}

#[test]
fn no_file_is_too_long_to_be_read_at_once() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", path.display());
    }
}

#[test]
fn no_test_sleeps() {
    // Put together, so that this file does not find itself.
    let words = [["thread::", "sleep"].concat(), ["time::", "sleep"].concat()];
    let is_test = |path: &Path, text: &str| {
        path.components().any(|part| part.as_os_str() == "tests")
            || path.ends_with("tests.rs")
            || text.contains("cfg(test)")
    };
    for (path, text) in sources() {
        if !is_test(&path, &text) {
            continue;
        }
        let start = if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
            0
        } else {
            text.find("#[cfg(test)]").unwrap()
        };
        for word in &words {
            assert!(!text[start..].contains(word.as_str()), "{} sleeps", path.display());
        }
    }
}

#[test]
fn tests_are_named_as_facts() {
    for (path, text) in sources() {
        for line in text.lines() {
            let line = line.trim_start();
            assert!(!line.starts_with("fn test_"), "{}: {line}", path.display());
        }
    }
}

fn read_toml(name: &str) -> toml::Table {
    std::fs::read_to_string(workspace().join(name)).unwrap().parse().unwrap()
}

/// The crates of a lock file.
fn locked(lock: &toml::Table) -> Vec<&str> {
    lock["package"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn the_product_is_built_and_locked_without_the_crates_of_the_program_for_spark() {
    let (lock, spark) = (read_toml("Cargo.lock"), read_toml("coordinator/spark/Cargo.lock"));
    let (product, spark) = (locked(&lock), locked(&spark));
    assert!(product.len() > 100, "{product:?}");
    for name in OF_SPARK {
        let is_there = |names: &[&str]| names.iter().any(|found| found.starts_with(name));
        assert!(is_there(&spark), "the program for Spark is built from `{name}`");
        assert!(!is_there(&product), "`{name}` is in the lock of the product");
    }
    // A crate of ours that only that program needs would be built with the workspace.
    assert!(packages().iter().all(|package| package["name"] != "cognate-spark"), "a workspace of its own");
    let ours: Vec<&&str> = spark.iter().filter(|name| name.starts_with("cognate")).collect();
    assert_eq!(ours, [&"cognate-durable", &"cognate-fingerprint", &"cognate-similarity", &"cognate-spark"]);
}

#[test]
fn there_is_one_provider_of_cryptography_and_nothing_that_the_rules_forbid() {
    let (lock, rules) = (read_toml("Cargo.lock"), read_toml("deny.toml"));
    let names = locked(&lock);
    assert!(names.contains(&"ring") && names.len() > 100, "{names:?}");
    let forbidden: Vec<&str> =
        rules["bans"]["deny"].as_array().unwrap().iter().map(|row| row["crate"].as_str().unwrap()).collect();
    assert!(["aws-lc-sys", "openssl-sys", "native-tls"].iter().all(|name| forbidden.contains(name)), "{forbidden:?}");
    let there: Vec<_> = forbidden.iter().filter(|name| names.contains(name)).collect();
    assert!(there.is_empty(), "in Cargo.lock are {there:?}");
    let spark = read_toml("coordinator/spark/Cargo.lock");
    let there: Vec<_> = locked(&spark).into_iter().filter(|name| forbidden.contains(name)).collect();
    assert!(there.is_empty(), "in coordinator/spark/Cargo.lock are {there:?}");
    // Everything comes from the one registry, with its checksum.
    for row in lock["package"].as_array().unwrap() {
        let is_ours = row["name"].as_str().unwrap().starts_with("cognate");
        let is_checked = row.get("source").is_some_and(|source| source.as_str().unwrap().starts_with("registry+"))
            && row.get("checksum").is_some();
        assert!(is_ours != is_checked, "{row}");
    }
}
