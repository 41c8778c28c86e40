//! A site that lets a scan down, among others that do not.

use std::os::unix::fs::PermissionsExt as _;

use cognate_integration_tests::federation::text;
use cognate_integration_tests::sandbox::wait_until;
use cognate_integration_tests::{Federation, Files};

/// The line of a configuration that names a key of this byte.
fn key(federation: &Federation, byte: u8) -> String {
    let path = federation.sandbox.path(format!("key-{byte}"));
    std::fs::write(&path, format!("{byte:02x}").repeat(32)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!("key = \"{}\"\n", path.display())
}

#[test]
fn a_site_that_comes_first_with_another_key_is_left_out_and_named_and_the_scan_goes_on() {
    let mut federation = Federation::new(5401);
    let (own, other) = (key(&federation, 1), key(&federation, 2));
    let files = Files::from([("a.txt".to_owned(), b"a document that all sites have ".repeat(200))]);
    for (name, key) in [("a", &own), ("b", &own), ("c", &other)] {
        federation.add_with(name, None, &files, key);
    }
    federation.sandbox.settle();
    federation.start("c");
    federation.wait_attached("c");
    let scan = federation.begin_scan(&[]);
    wait_until("the false one has sent its index", || federation.metric("cognate_batches_total") >= 1.0);
    for name in ["a", "b"] {
        federation.start(name);
    }
    let report = scan.ended().expect(3).json();
    assert_eq!(report["identical"][0]["documents"].as_array().unwrap().len(), 2, "{report:#}");
    let missing = report["scan"]["missing"].as_array().unwrap();
    assert!(missing.len() == 1 && missing[0]["site"] == "c", "{missing:?}");
    assert!(missing[0]["reason"].as_str().unwrap().contains("and the other sites"), "{missing:?}");
}

#[test]
fn a_coordinator_that_stores_no_batch_is_not_ready_until_it_does() {
    let mut federation = Federation::new(5402);
    let files = Files::from([("a.txt".to_owned(), b"a document".repeat(200))]);
    federation.add("a", &files);
    federation.sandbox.settle();
    federation.start_all();
    assert_eq!(federation.http("/readyz").0, 200);
    let (folder, aside) = (federation.coordinator_state().join("indexes"), federation.sandbox.path("aside"));
    std::fs::rename(&folder, &aside).unwrap();
    std::fs::write(&folder, "no folder").unwrap();
    let scan = federation.begin_scan(&[]);
    wait_until("it is not ready", || {
        let (status, reasons) = federation.http("/readyz");
        status == 503 && reasons.contains("batches cannot be stored")
    });
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&aside, &folder).unwrap();
    scan.ended().expect(0);
    assert_eq!(federation.http("/readyz").0, 200);
}

#[test]
fn a_person_with_bounds_cancels_only_what_concerns_nobody_else() {
    let mut federation = Federation::new(5403);
    let files = Files::from([("a.txt".to_owned(), b"a document".repeat(200))]);
    federation.add("a", &files);
    federation.add("b", &files);
    let ben = federation.person("ben", "analyst", &["--site", "a"]);
    let as_ben = |words: &[&str]| federation.sandbox.cognate(words.iter().copied().chain(["--operator", text(&ben)]));
    // Neither site is there: the scans wait.
    let both = federation.operate(&["scan", "launch", "--repositories", "a/kb,b/kb", "--yes"]).expect(0);
    let id = both.text().split_whitespace().find(|word| word.len() == 16).unwrap().to_owned();
    let refused = as_ben(&["scan", "cancel", &id]);
    assert!(refused.code != Some(0) && refused.stderr.contains("ask `admin`, who launched it"), "{refused:?}");
    let own = federation.operate(&["scan", "launch", "--repositories", "a/kb", "--yes"]).expect(0);
    let own = own.text().split_whitespace().find(|word| word.len() == 16).unwrap().to_owned();
    as_ben(&["scan", "cancel", &own]).expect(0);
    federation.operate(&["scan", "cancel", &id]).expect(0);
}

#[test]
fn a_person_with_bounds_refines_no_result_that_the_person_may_not_see() {
    let mut federation = Federation::new(5404);
    let files = Files::from([("a.txt".to_owned(), b"a document of both sites ".repeat(200))]);
    let key = key(&federation, 1);
    federation.add_with("a", Some("acme"), &files, &key);
    federation.add_with("b", Some("bolt"), &files, &key);
    federation.start_all();
    let ben = federation.person("ben", "analyst", &["--party", "acme"]);
    let as_ben = |words: &[&str]| federation.sandbox.cognate(words.iter().copied().chain(["--operator", text(&ben)]));
    let both = federation.scan(&[]).expect(0).json();
    let own = federation.operate(&["scan", "launch", "--repositories", "a/kb", "--yes", "--wait", "--format", "json"]);
    let [both, own] = [both, own.expect(0).json()].map(|report| report["scan"]["id"].as_str().unwrap().to_owned());
    let refine = |scan: &str| {
        let words = ["scan", "launch", "--repositories", "a/kb", "--refine", scan];
        as_ben(&[&words[..], &["--chunk-bytes", "100", "--yes", "--wait"]].concat())
    };
    let refused = refine(&both);
    assert!(refused.code != Some(0) && refused.stderr.contains("which `ben` may not see"), "{refused:?}");
    refine(&own).expect(0);
}

#[test]
fn only_administrators_without_bounds_see_who_is_bound_to_what() {
    let federation = Federation::new(5405);
    let vera = federation.person("vera", "viewer", &[]);
    federation.person("ben", "analyst", &["--party", "acme"]);
    let names = |operator: &std::path::Path| -> Vec<String> {
        let words = ["operator", "list", "--format", "json", "--operator", text(operator)];
        let list = federation.sandbox.cognate(words).expect(0).json();
        list.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&federation.operator()), ["admin", "ben", "vera"]);
    assert_eq!(names(&vera), ["vera"]);
}
