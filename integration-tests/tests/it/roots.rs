//! Roots that are not there, or not the ones they were: a share that is not mounted looks like one that was emptied.

use std::path::Path;

use cognate_integration_tests::Federation;
use cognate_integration_tests::tree::Files;
use serde_json::Value;

/// Files that differ from one another.
fn files(federation: &mut Federation, count: usize) -> Files {
    (0..count).map(|number| (format!("f{number}.txt"), federation.dice.bytes(3000))).collect()
}

/// Two sites, the second of them with 30 files, after a first scan.
fn scanned(seed: u64, config: &str) -> Federation {
    let mut federation = Federation::prepared(seed);
    federation.init();
    federation.start_coordinator();
    let (few, many) = (files(&mut federation, 3), files(&mut federation, 30));
    federation.add("a", &few);
    federation.add_with("b", None, &many, "");
    std::fs::write(federation.site("b").folder().join(".mounted"), "").unwrap();
    let path = federation.site("b").config().to_owned();
    let values = std::fs::read_to_string(&path).unwrap() + config;
    std::fs::write(path, values).unwrap();
    federation.start_all();
    federation.sandbox.settle();
    assert_eq!(documents(&federation.scan(&[]).report()), 34);
    federation
}

fn documents(report: &Value) -> u64 {
    let sites = report["sites"].as_array().unwrap();
    sites.iter().map(|site| site["documents"].as_u64().unwrap()).sum()
}

/// Puts the folder aside as an unmount does, and below it appears one with a file of its own.
fn unmount(folder: &Path) {
    std::fs::rename(folder, folder.with_extension("away")).unwrap();
    std::fs::create_dir(folder).unwrap();
    std::fs::write(folder.join(".not-mounted"), "the share is not mounted").unwrap();
}

fn mount(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::rename(folder.with_extension("away"), folder).unwrap();
}

#[test]
fn a_mount_point_with_a_file_of_its_own_is_not_taken_for_the_share() {
    let federation = scanned(1901, "");
    let folder = federation.site("b").folder().to_owned();
    unmount(&folder);
    let run = federation.scan(&[]).expect(3);
    let report = run.json();
    assert_eq!(report["scan"]["missing"][0]["site"], "b", "{run:?}");
    assert!(run.stderr.contains("31 files of") && run.stderr.contains("is it mounted?"), "{run:?}");
    assert!(run.stderr.contains("leads to another folder"), "{run:?}");
    // Nor under another method, whose index begins.
    let other = federation.scan(&["--chunk-bytes", "2000"]).expect(3);
    assert!(other.stderr.contains("is it mounted?"), "{other:?}");
    mount(&folder);
    assert_eq!(documents(&federation.scan(&[]).report()), 34);
}

#[test]
fn files_that_are_gone_on_purpose_are_removed_when_the_site_says_so() {
    let federation = scanned(1902, "");
    let folder = federation.site("b").folder().to_owned();
    for number in 0..25 {
        std::fs::remove_file(folder.join(format!("f{number}.txt"))).unwrap();
    }
    let asked = federation.worker("b", &["sync", "kb"]).expect(1);
    assert!(asked.stderr.contains("25 files of") && asked.stderr.contains("--accept-removals"), "{asked:?}");
    let removed = federation.worker("b", &["sync", "kb", "--accept-removals"]).expect(0);
    assert!(removed.text().contains("6 documents"), "{removed:?}");
    assert_eq!(documents(&federation.scan(&[]).report()), 9);
}

#[test]
fn a_repository_without_its_sentinel_is_not_synced() {
    let federation = scanned(1903, "sentinel = \".mounted\"\n");
    let sentinel = federation.site("b").folder().join(".mounted");
    std::fs::remove_file(&sentinel).unwrap();
    let run = federation.scan(&[]).expect(3);
    assert!(run.stderr.contains("has no `.mounted`"), "{run:?}");
    std::fs::write(&sentinel, "").unwrap();
    assert_eq!(documents(&federation.scan(&[]).report()), 34);
}
