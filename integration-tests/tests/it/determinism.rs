//! Equal inputs and options give equal reports, with any number of threads, memory, order, and state of earlier runs.

use cognate_integration_tests::canonical::{canonical, comparable, digest};
use cognate_integration_tests::dice::seed;
use cognate_integration_tests::tree::varied;
use cognate_integration_tests::{Dice, Sandbox};
use serde_json::json;

#[test]
fn threads_memory_order_and_state_change_nothing_in_a_report() {
    let seed = seed(11);
    let sandbox = Sandbox::seeded(seed);
    let trees = varied(&mut Dice::new(seed), 3, 250);
    let paths: Vec<_> =
        trees.iter().enumerate().map(|(place, files)| sandbox.tree(&format!("{place}"), files)).collect();
    let folders = [("x", paths[0].as_path()), ("p:y/kb", &paths[1]), ("z", &paths[2])];
    let reversed = [folders[2], folders[1], folders[0]];
    let state = sandbox.path("state");
    let state = state.to_str().unwrap();
    let first = sandbox.report(&folders, &["--threads", "1"]);
    let others: [(&str, &[_], &[&str]); 7] = [
        ("two threads", &folders, &["--threads", "2"]),
        ("many threads", &folders, &["--threads", "9"]),
        ("little memory", &folders, &["--memory-budget", "32MiB"]),
        ("much memory", &folders, &["--memory-budget", "1GiB"]),
        ("another order", &reversed, &[]),
        ("a new state", &folders, &["--state", state]),
        ("the state of an earlier run, another order", &reversed, &["--state", state, "--threads", "1"]),
    ];
    for (what, folders, args) in others {
        let other = sandbox.report(folders, args);
        assert_eq!(other["scan"]["digest"], first["scan"]["digest"], "{what}");
        assert_eq!(comparable(&other), comparable(&first), "{what}");
    }
    let other = sandbox.report(&folders, &["--min-containment", "0.6"]);
    assert_ne!(other["scan"]["digest"], first["scan"]["digest"], "another question has another answer");
}

#[test]
fn the_same_tree_elsewhere_gives_the_same_digest() {
    let seed = seed(12);
    let sandbox = Sandbox::seeded(seed);
    let files = &varied(&mut Dice::new(seed), 1, 60)[0];
    let times = |folder: &std::path::Path| {
        for path in cognate_integration_tests::sandbox::contents(folder).into_keys() {
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            std::fs::File::open(folder.join(path)).unwrap().set_modified(then).unwrap();
        }
    };
    let digests = ["one", "two"].map(|name| {
        let folder = sandbox.tree(name, files);
        times(&folder);
        sandbox.report(&[("site", &folder)], &[])["scan"]["digest"].clone()
    });
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn the_digest_is_that_of_the_canonical_report_without_the_fields_that_may_differ() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder", &[("a \"quoted\" \\ tab\t näme", b"hello"), ("copy", b"hello")]);
    let report = sandbox.report(&[("site", &folder)], &[]);
    assert_eq!(report["scan"]["digest"].as_str().unwrap(), digest(&report));
    let mut changed = report.clone();
    changed["scan"]["run"]["started"] = json!("another time");
    changed["scan"]["id"] = json!("another id");
    assert_eq!(digest(&changed), digest(&report));
    changed["sites"][0]["documents"] = json!(3);
    assert_ne!(digest(&changed), digest(&report));
}

#[test]
fn the_canonical_form_is_that_of_the_standard() {
    let value = json!({"b": [1.0, 0.25, 333_333_333, true, null], "a": "\u{20ac}$\u{f}\n\u{1}A'B\"\\\"/"});
    assert_eq!(canonical(&value), "{\"a\":\"€$\\u000f\\n\\u0001A'B\\\"\\\\\\\"/\",\"b\":[1,0.25,333333333,true,null]}");
}
