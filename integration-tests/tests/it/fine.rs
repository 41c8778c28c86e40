//! Fine figures: documents that share no whole chunk are reported with what they truly share, as far as sites allow it.

mod exact;
mod in_common;
mod interrupted;
mod standard_text;

use std::os::unix::fs::PermissionsExt as _;

use cognate_integration_tests::sandbox::compare_args;
use cognate_integration_tests::tree::{Files, versions};
use cognate_integration_tests::{Dice, Federation, Sandbox};
use serde_json::{Value, json};

/// The share of a that is in windows of 32 bytes which b has too.
pub(crate) fn truth(a: &[u8], b: &[u8]) -> f64 {
    let windows: std::collections::HashSet<&[u8]> = b.windows(32).collect();
    let mut common = vec![false; a.len()];
    for (place, window) in a.windows(32).enumerate() {
        if windows.contains(window) {
            common[place..place + 32].fill(true);
        }
    }
    common.iter().filter(|common| **common).count() as f64 / a.len() as f64
}

fn files(texts: &[String]) -> Files {
    let mut files = Files::new();
    for (number, text) in texts.iter().enumerate() {
        files.insert(format!("d/{number}.txt"), text.clone().into_bytes());
    }
    files
}

fn trees(seed: u64) -> [Files; 2] {
    let mut dice = Dice::new(seed);
    let pairs: Vec<[String; 2]> = (0..8).map(|_| versions(&mut dice)).collect();
    [0, 1].map(|side| files(&pairs.iter().map(|pair| pair[side].clone()).collect::<Vec<_>>()))
}

fn fine(report: &Value) -> &Value {
    &report["scan"]["fine"]
}

#[test]
fn documents_with_an_edit_in_every_chunk_are_reported_with_what_they_truly_share() {
    let sandbox = Sandbox::new();
    let [a, b] = trees(1101);
    let folders =
        [("a", &sandbox.tree("a", &a)), ("b", &sandbox.tree("b", &b))].map(|(name, tree)| (name, tree.clone()));
    let folders: Vec<(&str, &std::path::Path)> = folders.iter().map(|(name, tree)| (*name, tree.as_path())).collect();
    let coarse = sandbox.report(&folders, &["--precision", "coarse"]);
    assert_eq!(coarse["clusters"].as_array().unwrap().len(), 0, "no whole chunk says that they are versions");
    let report = sandbox.report(&folders, &[]);
    assert_eq!((report["scan"]["precision"].as_str(), fine(&report)["coarse_pairs"].as_u64()), (Some("fine"), Some(0)));
    let clusters = report["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 8);
    for cluster in clusters {
        let (path, link) = (cluster["documents"][0]["path"].as_str().unwrap(), &cluster["links"][0]);
        assert_eq!(cluster["documents"][1]["path"], path);
        let (told, true_share) = (link["a_in_b"].as_f64().unwrap(), truth(&a[path], &b[path]));
        assert!(told <= true_share && true_share - told < 0.04, "{path}: {told} of {true_share}");
    }
    let overlap = &report["overlap"][0];
    let (shared, total) = (overlap["shared_bytes_a"].as_f64().unwrap(), report["sites"][0]["bytes"].as_f64().unwrap());
    assert!(shared / total > 0.9, "{overlap}");
    let text = sandbox.cognate(compare_args(&folders, &[])).expect(0);
    assert!(!text.text().contains("COARSE"), "{}", text.text());
}

#[test]
fn a_site_that_gives_no_fine_chunks_takes_part_by_whole_chunks_and_is_named() {
    let mut federation = Federation::new(1102);
    let [a, b] = trees(1102);
    federation.add("a", &a);
    federation.add_with("b", None, &b, "[policy]\nfine = \"never\"\n");
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&[]).report();
    let incomplete = fine(&report)["incomplete"].as_array().unwrap();
    assert_eq!((incomplete.len(), incomplete[0]["site"].as_str()), (1, Some("b")), "{report}");
    assert!(
        incomplete[0]["refused"] == true && incomplete[0]["reason"].as_str().unwrap().contains("policy.fine is never")
    );
    assert_eq!(report["clusters"].as_array().unwrap().len(), 0, "one side alone tells nothing");
    let scan = report["scan"]["id"].as_str().unwrap();
    let text = federation.operate(&["report", scan]).expect(0);
    assert!(text.text().contains("COARSE: 8 pairs") && text.text().contains("b/kb: "), "{}", text.text());
    // The ledger of each site has what left: fine chunks of one, a refusal of the other.
    let [a, b] = ["a", "b"].map(|site| fine_bytes(&federation, site).unwrap());
    assert!(a > 10_000 && b < 1000, "{a} and {b}");
}

/// The same documents under names that say nothing, in one folder and in another order.
fn renamed(files: &Files, dice: &mut Dice) -> Files {
    files.values().map(|bytes| (format!("{:08x}", dice.below(1 << 32)), bytes.clone())).collect()
}

#[test]
fn renamed_documents_with_an_edit_in_every_chunk_are_found_by_their_window_samples() {
    let sandbox = Sandbox::new();
    let [a, b] = trees(1107);
    let b = renamed(&b, &mut Dice::new(7));
    let [at_a, at_b] = [("a", &a), ("b", &b)].map(|(name, files)| sandbox.tree(name, files));
    let folders = [("a", at_a.as_path()), ("b", at_b.as_path())];
    let coarse = sandbox.report(&folders, &["--precision", "coarse"]);
    assert_eq!(coarse["clusters"].as_array().unwrap().len(), 0, "no whole chunk says that they are versions");
    let report = sandbox.report(&folders, &[]);
    let clusters = report["clusters"].as_array().unwrap();
    assert_eq!(
        (clusters.len(), &fine(&report)["fine_pairs"], &fine(&report)["omitted_pairs"]),
        (8, &json!(8), &json!(0))
    );
    for cluster in clusters {
        let [one, other] = [0, 1].map(|place| cluster["documents"][place]["path"].as_str().unwrap());
        let share = cluster["links"][0]["a_in_b"].as_f64().unwrap();
        assert!((truth(&a[one], &b[other]) - share).abs() < 0.04, "{one} and {other}: {share}");
    }
}

#[test]
fn a_comparison_with_a_state_gets_and_loses_samples_with_its_precision_and_reads_nothing_for_it() {
    let sandbox = Sandbox::new();
    let [a, b] = trees(1108);
    let b = renamed(&b, &mut Dice::new(8));
    let [at_a, at_b] = [("a", &a), ("b", &b)].map(|(name, files)| sandbox.tree(name, files));
    sandbox.settle();
    let folders = [("a", at_a.as_path()), ("b", at_b.as_path())];
    let state = sandbox.path("state");
    let state = state.to_str().unwrap();
    let mut batch_bytes = Vec::new();
    for (run, precision) in ["coarse", "coarse", "fine", "fine", "coarse"].into_iter().enumerate() {
        let report = sandbox.report(&folders, &["--state", state, "--precision", precision]);
        let clusters = report["clusters"].as_array().unwrap().len();
        assert_eq!(clusters, if precision == "fine" { 8 } else { 0 }, "run {run}");
        let sites = report["scan"]["run"]["sites"].as_array().unwrap();
        let sum = |field: &str| sites.iter().map(|site| site[field].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum("read_documents") == 0, run > 0, "run {run}");
        batch_bytes.push(sum("sent_bytes"));
    }
    // The index is sent once for each precision, and by a run of the same precision not again.
    let [first, same, fine, fine_again, back] = batch_bytes[..] else { panic!("five runs") };
    assert!(same < first / 4 && fine > first && fine_again < first / 4 && back > first / 2, "{batch_bytes:?}");
}

/// The bytes of fine chunks in the ledger of a site, if it has any.
pub(crate) fn fine_bytes(federation: &Federation, site: &str) -> Option<u64> {
    let rows = federation.worker(site, &["ledger", "summary", "--format", "json"]).expect(0).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["kind"] == "fine-chunks").cloned()?;
    row["bytes"].as_u64().filter(|bytes| *bytes > 0)
}

#[test]
fn two_parties_with_a_key_get_what_one_process_gets_and_each_ledger_has_its_fine_chunks() {
    let mut federation = Federation::new(1106);
    let trees = trees(1106);
    let key = federation.sandbox.path("key");
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!("key = \"{}\"\n", key.display());
    for (name, party, tree) in [("a", "one", &trees[0]), ("b", "two", &trees[1])] {
        federation.add_with(name, Some(party), tree, &config);
    }
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.check(federation.scan(&[]), &["--key", key.to_str().unwrap()]);
    assert_eq!((report["clusters"].as_array().unwrap().len(), &fine(&report)["coarse_pairs"]), (8, &json!(0)));
    for site in ["a", "b"] {
        let sent = fine_bytes(&federation, site).unwrap();
        assert!(sent > 10_000, "{site}: {sent}");
        federation.worker(site, &["ledger", "verify"]).expect(0);
    }
}

#[test]
fn parties_without_a_key_give_each_other_no_fine_chunks_unless_they_say_so() {
    let trees = trees(1103);
    for (fine_policy, clusters) in [("", 0), ("fine = \"always\"\n", 8)] {
        let mut federation = Federation::new(1103);
        let policy = format!("[policy]\nunkeyed_across_parties = true\n{fine_policy}");
        federation.add_with("a", Some("one"), &trees[0], &policy);
        federation.add_with("b", Some("two"), &trees[1], &policy);
        federation.sandbox.settle();
        federation.start_all();
        let report = federation.scan(&[]).report();
        assert_eq!(report["clusters"].as_array().unwrap().len(), clusters, "{fine_policy}");
        let refused = fine(&report)["incomplete"].as_array().map_or(0, Vec::len);
        assert_eq!(refused, if clusters == 0 { 2 } else { 0 }, "{}", fine(&report));
    }
}

#[test]
fn a_scan_that_asks_no_site_is_coarse_and_the_next_one_is_fine_again() {
    let mut federation = Federation::new(1104);
    let [a, b] = trees(1104);
    federation.add("a", &a);
    federation.add("b", &b);
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--precision", "coarse"]).expect(0);
    std::fs::remove_file(federation.site("b").folder().join("d/3.txt")).unwrap();
    std::fs::write(federation.site("b").folder().join("d/4.txt"), "quite another text").unwrap();
    // The last indexes are compared, and no site is asked: everything stays as whole chunks say.
    let report = federation.scan(&["--no-sync"]).report();
    assert_eq!((fine(&report)["fine_pairs"].as_u64(), report["clusters"].as_array().unwrap().len()), (Some(0), 0));
    let report = federation.check(federation.scan(&[]), &[]);
    assert_eq!(report["clusters"].as_array().unwrap().len(), 6);
    assert_eq!(fine(&report)["coarse_pairs"], 0);
}

#[test]
fn of_a_long_document_the_chunks_that_a_scan_asks_for_are_read_and_no_others() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1114);
    // So many chunks are left of each that a scan asks in two portions.
    let original: Vec<u8> = (0..3_600_000).map(|_| dice.below(256).to_le_bytes()[0]).collect();
    let mut edited = original.clone();
    (0..1_800_000).step_by(100).for_each(|place| edited[place] ^= 1);
    let [a, b] = [original, edited].map(|bytes| Files::from([("image".to_owned(), bytes)]));
    let (a, b) = (sandbox.tree("a", &a), sandbox.tree("b", &b));
    sandbox.settle();
    let folders: [(&str, &std::path::Path); 2] = [("a", &a), ("b", &b)];
    let state = sandbox.path("state");
    let in_state = ["--chunk-bytes", "80", "--state", state.to_str().unwrap()];
    let coarse = sandbox.report(&folders, &["--chunk-bytes", "80", "--precision", "coarse"]);
    let shared = |report: &Value| report["clusters"][0]["links"][0]["shared_bytes"].as_u64().unwrap();
    let finer = shared(&coarse) + 500_000;
    for args in [&in_state[..2], &in_state] {
        let report = sandbox.report(&folders, args);
        assert!(shared(&report) > finer, "{} of {finer}", shared(&report));
        let read_bytes: Vec<u64> = report["scan"]["run"]["sites"]
            .as_array()
            .unwrap()
            .iter()
            .map(|repository| repository["fine_read_bytes"].as_u64().unwrap())
            .collect();
        // The half that was edited, twice; to read the whole document twice would be 7,200,000.
        assert!(read_bytes.iter().all(|bytes| (1_800_000..5_000_000).contains(bytes)), "{read_bytes:?}");
    }
}

#[test]
fn editions_with_enough_bytes_in_common_are_relatives_however_long_they_are() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1111);
    let [first, second] = versions(&mut dice);
    let editions = [first, second].map(|common| {
        let own = versions(&mut dice).concat();
        Files::from([("book.txt".to_owned(), format!("{common}{own}").into_bytes())])
    });
    let folders = [("a", sandbox.tree("a", &editions[0])), ("b", sandbox.tree("b", &editions[1]))];
    let folders = folders.each_ref().map(|(name, tree)| (*name, tree.as_path()));
    let clusters = |args: &[&str]| sandbox.report(&folders, args)["clusters"].as_array().unwrap().clone();
    assert_eq!(clusters(&["--precision", "coarse"]).len(), 0, "no whole chunk is in common");
    assert_eq!(clusters(&["--min-shared-bytes", "1MB"]).len(), 0, "it is less than half of each");
    let found = clusters(&[]);
    let link = &found[0]["links"][0];
    assert!(link["a_in_b"].as_f64().unwrap() < 0.4 && link["relation"] == "shares", "{link}");
    assert!(link["shared_bytes"].as_u64().unwrap() > 16_384, "{link}");
}
