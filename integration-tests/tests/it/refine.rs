//! Two granularities: scans at two means next to each other, and a second, finer scan of documents that the first one chose.

use std::collections::BTreeSet;
use std::path::Path;

use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::proxy::Way;
use cognate_integration_tests::sandbox::wait_until;
use cognate_integration_tests::tree::{Files, varied};
use cognate_integration_tests::{Dice, Federation, Run};
use serde_json::{Value, json};

/// The options of a refinement of these tests.
const FINE: [&str; 8] = ["--view", "raw", "--chunk-bytes", "100", "--min-shared-bytes", "200", "--precision", "coarse"];
/// The same threshold for a coarse scan: that it finds less is not for want of asking.
const COARSE: [&str; 6] = ["--view", "raw", "--min-shared-bytes", "200", "--precision", "coarse"];

/// A passage of a few hundred bytes in the middle of other things.
fn around(dice: &mut Dice, passage: &[u8]) -> Vec<u8> {
    [&dice.bytes(6000)[..], passage, &dice.bytes(6000)].concat()
}

/// Two sites: pairs that a coarse scan links, pairs that share only a passage that it cannot see, copies, and small fry.
fn trees(dice: &mut Dice, pairs: usize) -> [Files; 2] {
    let mut trees = [Files::new(), Files::new()];
    for number in 0..pairs {
        let common = dice.bytes(9000);
        let passage = dice.bytes(500);
        let copy = dice.bytes(5000);
        for tree in &mut trees {
            tree.insert(format!("linked/{number}"), [&common[..], &dice.bytes(4000)].concat());
            tree.insert(format!("passage/{number}"), around(dice, &passage));
            tree.insert(format!("same/{number}"), copy.clone());
            tree.insert(format!("small/{number}"), dice.bytes(800));
        }
    }
    trees
}

/// Two sites that were scanned once, coarsely; and that scan's report.
fn scanned(own_seed: u64, pairs: usize, config: [&str; 2]) -> (Federation, Value) {
    let mut federation = Federation::new(own_seed);
    let trees = trees(&mut federation.dice, pairs);
    for ((name, files), config) in ["a", "b"].iter().zip(&trees).zip(config) {
        federation.add_with(name, None, files, config);
    }
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&COARSE).report();
    (federation, report)
}

fn id(report: &Value) -> String {
    report["scan"]["id"].as_str().unwrap().to_owned()
}

fn refining<'a>(scan: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["scan", "launch", "--refine", scan, "--yes", "--wait", "--format", "json"];
    words.iter().chain(more).copied().collect()
}

fn refine(federation: &Federation, scan: &str, more: &[&str]) -> Run {
    federation.operate(&refining(scan, &[&FINE, more].concat()))
}

/// Documents and bytes that the sites have read for a scan.
fn reads(report: &Value) -> (u64, u64) {
    let sites = report["scan"]["run"]["sites"].as_array().unwrap();
    let sum = |name: &str| sites.iter().map(|site| site[name].as_u64().unwrap()).sum();
    (sum("read_documents"), sum("read_bytes"))
}

/// Folders of clusters' documents, one set for each cluster.
fn clusters(report: &Value) -> Vec<BTreeSet<String>> {
    let path = |document: &Value| document["path"].as_str().unwrap().to_owned();
    let cluster = |cluster: &Value| cluster["documents"].as_array().unwrap().iter().map(path).collect();
    report["clusters"].as_array().unwrap().iter().map(cluster).collect()
}

/// Documents of both sites below some folders, and their bytes.
fn below(federation: &Federation, folders: &[&str]) -> (u64, u64) {
    let (mut documents, mut bytes) = (0, 0);
    for name in federation.names() {
        for folder in folders {
            for entry in std::fs::read_dir(federation.site(&name).folder().join(folder)).unwrap() {
                documents += 1;
                bytes += entry.unwrap().metadata().unwrap().len();
            }
        }
    }
    (documents, bytes)
}

/// The report of a comparison of some folders alone.
fn comparison_of(federation: &Federation, folders: &[&str]) -> Value {
    let trees: Vec<_> = federation
        .names()
        .iter()
        .map(|name| {
            let to = federation.sandbox.path(format!("chosen-{name}"));
            folders.iter().for_each(|folder| copy(&federation.site(name).folder().join(folder), &to.join(folder)));
            (format!("{name}/kb"), to)
        })
        .collect();
    federation.sandbox.settle();
    let named: Vec<(&str, &Path)> = trees.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    let report = federation.sandbox.report(&named, &FINE);
    trees.iter().for_each(|(_, path)| std::fs::remove_dir_all(path).unwrap());
    report
}

/// Copies a folder of documents with their times.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        std::fs::copy(&from, &to).unwrap();
        let modified = std::fs::metadata(&from).unwrap().modified().unwrap();
        std::fs::File::options().write(true).open(&to).unwrap().set_modified(modified).unwrap();
    }
}

/// A report without what it says of the refinement, and so without its digest.
fn unrefined(report: &Value) -> Value {
    let mut report = comparable(report);
    let scan = report["scan"].as_object_mut().unwrap();
    ["digest", "refines", "refined", "selection"].iter().for_each(|name| drop(scan.remove(*name)));
    report
}

/// The indexes of one site in `repo list`: mean, and true if they cover all documents.
fn indexes(federation: &Federation) -> Vec<(u64, bool)> {
    let list = federation.operate(&["repo", "list", "--format", "json"]).expect(0).json();
    let indexes = list[0]["indexes"].as_array().unwrap().clone();
    let mut found: Vec<_> =
        indexes.iter().map(|one| (one["chunk_bytes"].as_u64().unwrap(), one["scope"].is_null())).collect();
    found.sort_unstable();
    found
}

#[test]
fn two_methods_in_turn_and_at_once_do_not_get_in_each_others_way() {
    let mut federation = Federation::new(801);
    let trees = varied(&mut federation.dice, 2, 80);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add(name, files);
    }
    federation.sandbox.settle();
    federation.start_all();
    let (coarse, fine): (&[&str], &[&str]) = (&["--view", "raw"], &["--view", "raw", "--chunk-bytes", "100"]);
    let all = reads(&federation.check(federation.scan(coarse), coarse));
    assert_eq!(reads(&federation.check(federation.scan(fine), fine)), all);
    for method in [coarse, fine] {
        federation.check(federation.scan(&[method, &["--no-sync"]].concat()), method);
        assert_eq!(reads(&federation.check(federation.scan(method), method)), (0, 0));
    }
    // New documents are read once for each method, in either order, and for both at once.
    let folder = federation.site("a").folder().to_owned();
    std::fs::write(folder.join("new"), federation.dice.bytes(30_000)).unwrap();
    federation.sandbox.settle();
    let running = [coarse, fine].map(|method| (federation.begin_scan(method), method));
    for (running, method) in running {
        assert_eq!(reads(&federation.check(running.ended(), method)), (1, 30_000));
    }
    for method in [coarse, fine] {
        federation.check(federation.scan(&[method, &["--no-sync"]].concat()), method);
    }
    assert_eq!(indexes(&federation), [(100, true), (1000, true)]);
    assert!(federation.worker("a", &["ledger", "verify"]).expect(0).text().contains("to the last byte"));
}

#[test]
fn a_refinement_finds_more_than_the_coarse_scan_and_reads_only_chosen_documents() {
    let (federation, coarse) = scanned(802, 4, ["", ""]);
    let linked: Vec<_> = clusters(&coarse);
    assert!(linked.len() == 4 && linked.iter().flatten().all(|path| path.starts_with("linked/")), "{linked:?}");
    let coarse_id = id(&coarse);
    let report = refine(&federation, &coarse_id, &[]).report();
    let found = clusters(&report);
    for number in 0..4 {
        assert!(found.contains(&BTreeSet::from([format!("passage/{number}")])), "{found:?}");
    }
    // Nothing else was read, and what is said is what a comparison of these documents alone says.
    let chosen = ["linked", "passage"];
    let (documents, bytes) = below(&federation, &chosen);
    assert_eq!((documents, reads(&report)), (16, (16, bytes)));
    assert_eq!(unrefined(&report), unrefined(&comparison_of(&federation, &chosen)));
    assert_eq!(report["scan"]["refines"], *coarse_id);
    let expected = json!({"changed": 0, "documents": 16, "size_min_bytes": 1000, "what": "both"});
    assert_eq!(report["scan"]["refined"], expected);
    // The scan is known for what it is.
    let refined_id = id(&report);
    let shown = federation.operate(&["scan", "show", &refined_id, "--format", "json"]).expect(0).json();
    assert_eq!((&shown["refines"], &shown["refined"]["what"]), (&json!(coarse_id), &json!("both")));
    assert!(federation.operate(&["scan", "show", &refined_id]).expect(0).text().contains(&coarse_id));
    assert!(federation.operate(&["scan", "list"]).expect(0).text().contains(&format!("refines {coarse_id}")));
    assert!(federation.operate(&["report", &refined_id]).expect(0).text().contains("REFINED: 16 documents"));
    // Asked again, in one way or the other, nothing is read and the same is said.
    for more in [&[][..], &["--no-sync"]] {
        let again = refine(&federation, &coarse_id, more).report();
        assert_eq!((reads(&again), comparable(&again)), ((0, 0), comparable(&report)));
    }
    for name in federation.names() {
        assert!(federation.worker(&name, &["ledger", "verify"]).expect(0).text().contains("to the last byte"));
        let status = federation.worker(&name, &["status"]).expect(0);
        assert!(status.text().contains("chunks of the bytes, mean 100, refined"), "{status:?}");
        // Syncs that the site begins itself are for methods of complete scans.
        let own = federation.worker(&name, &["sync"]).expect(0);
        assert!(own.text().contains("1000") && !own.text().contains("(tttd 100)"), "{own:?}");
    }
}

#[test]
fn the_chosen_documents_are_those_of_the_request() {
    let (federation, coarse) = scanned(803, 2, ["", ""]);
    let coarse = id(&coarse);
    let check = |more: &[&str], folders: &[&str], expected: Value| {
        let report = refine(&federation, &coarse, more).report();
        assert_eq!(unrefined(&report), unrefined(&comparison_of(&federation, folders)), "{more:?}");
        assert_eq!(report["scan"]["refined"], expected);
    };
    let expected = |what: &str, size: Option<u64>, documents: u64| json!({"changed": 0, "documents": documents, "size_min_bytes": size, "what": what});
    check(&["--refine-what", "linked"], &["linked"], expected("linked", None, 4));
    check(&["--refine-what", "unmatched"], &["passage"], expected("unmatched", Some(1000), 4));
    let small = ["--refine-what", "unmatched", "--refine-size-min", "500"];
    check(&small, &["passage", "small"], expected("unmatched", Some(500), 8));
    check(&["--exclude", "linked"], &["passage"], expected("both", Some(1000), 4));
}

#[test]
fn a_partial_index_never_counts_as_a_complete_one() {
    let (mut federation, coarse) = scanned(804, 3, ["", ""]);
    let coarse = id(&coarse);
    let report = refine(&federation, &coarse, &[]).report();
    assert_eq!(indexes(&federation), [(100, false), (1000, true)]);
    // Without a complete index there is nothing to analyse at this mean.
    let fine = ["--view", "raw", "--chunk-bytes", "100", "--precision", "coarse"];
    let refused = federation.scan(&["--view", "raw", "--chunk-bytes", "100", "--no-sync"]);
    assert!(refused.stderr.contains("no sync of it has completed"), "{refused:?}");
    assert_ne!(refused.code, Some(0));
    // A complete scan reads the documents that the refinement has not read, and no others.
    let (all, chosen) =
        (below(&federation, &["linked", "passage", "same", "small"]), below(&federation, &["linked", "passage"]));
    let complete = federation.check(federation.scan(&fine), &fine);
    assert_eq!(reads(&complete), (all.0 - chosen.0, all.1 - chosen.1));
    // And after it a refinement reads nothing.
    let other = refine(&federation, &coarse, &["--refine-what", "unmatched", "--refine-size-min", "500"]).report();
    assert_eq!(reads(&other), (0, 0));
    assert_eq!(indexes(&federation), [(100, false), (100, false), (100, true), (1000, true)]);
    // A rebuilt store and a restored backup still distinguish the two.
    let (config, backup) = (federation.coordinator_config(), federation.sandbox.path("backup"));
    let (config, backup) = (config.to_str().unwrap().to_owned(), backup.to_str().unwrap().to_owned());
    let maintain = |federation: &Federation, words: &[&str]| {
        federation.sandbox.cognate([&["coordinator"], words, &["--config", &config]].concat()).expect(0);
    };
    maintain(&federation, &["backup", &backup, "--include-ca"]);
    for step in ["rebuild", "restore"] {
        federation.stop_coordinator();
        if step == "rebuild" {
            maintain(&federation, &["rebuild"]);
        } else {
            federation.lose_coordinator_state();
            maintain(&federation, &["restore", &backup, "--none-revoked"]);
        }
        maintain(&federation, &["check", "--read-data"]);
        federation.start_coordinator();
        let again = refine(&federation, &coarse, &["--no-sync"]).report();
        assert_eq!(again["scan"]["digest"], report["scan"]["digest"], "after {step}");
        federation.check(federation.scan(&[&fine[..], &["--no-sync"]].concat()), &fine);
        assert_eq!(indexes(&federation), [(100, false), (100, false), (100, true), (1000, true)], "after {step}");
    }
    // The index of a refinement is removed with the last scan that refers to it.
    let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
    for scan in scans.as_array().unwrap().iter().filter(|scan| !scan["refines"].is_null()) {
        federation.operate(&["scan", "delete", scan["id"].as_str().unwrap()]).expect(0);
    }
    assert_eq!(indexes(&federation), [(100, true), (1000, true)]);
    federation.restart_all();
    federation.check(federation.scan(&fine), &fine);
    assert!(federation.worker("a", &["ledger", "verify"]).expect(0).text().contains("to the last byte"));
}

#[test]
fn a_document_that_has_changed_since_is_left_out_and_counted() {
    let (mut federation, coarse) = scanned(805, 3, ["", ""]);
    let folder = federation.site("a").folder().to_owned();
    std::fs::write(folder.join("passage/0"), federation.dice.bytes(12_500)).unwrap();
    std::fs::remove_file(folder.join("linked/1")).unwrap();
    std::fs::write(folder.join("passage/new"), federation.dice.bytes(12_500)).unwrap();
    federation.sandbox.settle();
    let report = refine(&federation, &id(&coarse), &[]).report();
    assert_eq!(report["scan"]["refined"]["changed"], 2);
    assert_eq!((&report["scan"]["refined"]["documents"], reads(&report).0), (&json!(12), 10));
    let documents: u64 =
        report["sites"].as_array().unwrap().iter().map(|site| site["documents"].as_u64().unwrap()).sum();
    assert_eq!(documents, 10);
    // The site still knows what it did not look at: the next coarse scan reads what is new.
    assert_eq!(reads(&federation.check(federation.scan(&COARSE), &COARSE)).0, 2);
}

#[test]
fn a_site_that_does_not_agree_to_refinements_says_so_and_is_missing() {
    let (federation, coarse) = scanned(806, 2, ["", "[policy]\nrefine = false\n"]);
    let report = refine(&federation, &id(&coarse), &[]).expect(3).json();
    assert_eq!(report["scan"]["status"], "partial");
    let missing = &report["scan"]["missing"][0];
    assert_eq!(missing["site"], "b");
    assert!(missing["reason"].as_str().unwrap().contains("policy.refine is false"), "{missing}");
    assert_eq!(report["scan"]["refined"]["documents"], 4, "those of the site that took part");
    refine(&federation, &id(&coarse), &["--require-complete"]).expect(1);
    // One that allows no such method does not either.
    let (federation, coarse) = scanned(807, 1, ["[policy]\nchunk_bytes_min = \"500\"\n"; 2]);
    let refused = refine(&federation, &id(&coarse), &[]).expect(1);
    assert!(refused.stderr.contains("policy.chunk_bytes_min is 500"), "{refused:?}");
}

#[test]
fn an_impossible_refinement_is_refused_with_a_sentence() {
    let (mut federation, coarse) = scanned(808, 1, ["", ""]);
    let coarse = id(&coarse);
    let refused = |federation: &Federation, scan: &str, more: &[&str], why: &str| {
        let run = federation.operate(&refining(scan, more));
        assert!(run.code != Some(0) && run.stderr.contains(why), "{why}: {run:?}");
    };
    refused(&federation, &coarse, &[], "needs shorter ones");
    refused(&federation, &coarse, &["--chunk-bytes", "2000"], "needs shorter ones");
    let nothing = ["--chunk-bytes", "100", "--refine-what", "unmatched", "--refine-size-min", "1MB"];
    refused(&federation, &coarse, &nothing, "leaves no documents");
    refused(&federation, &coarse, &["--chunk-bytes", "100", "--repositories", "a/other"], "is not about a/other");
    let refined = id(&refine(&federation, &coarse, &[]).report());
    refused(&federation, &refined, &["--chunk-bytes", "80"], "is a refinement itself");
    // One that has not ended, and until then the one that it refines stays.
    federation.kill("b");
    let mut running = federation.begin(&refining(&coarse, &["--chunk-bytes", "90"]));
    let mut under_way = String::new();
    wait_until("the refinement is launched", || {
        let list = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
        under_way = list[0]["id"].as_str().unwrap().to_owned();
        list[0]["status"] == "syncing"
    });
    refused(&federation, &under_way, &["--chunk-bytes", "80"], "it has no result");
    let delete = federation.operate(&["scan", "delete", &coarse]);
    assert!(delete.code != Some(0) && delete.stderr.contains(&under_way), "{delete:?}");
    federation.operate(&["scan", "cancel", &under_way]).expect(0);
    wait_until("it has ended", || running.ends_within(std::time::Duration::ZERO));
    federation.operate(&["scan", "delete", &coarse]).expect(0);
    federation.operate(&refining(&coarse, &FINE)).expect(1);
    // A finished result does not need the one that it refines.
    federation.operate(&["report", &refined, "--format", "json"]).expect(0);
}

#[test]
fn a_refinement_ends_with_the_same_result_if_any_process_is_killed() {
    let slow = "[policy]\nread_bytes_per_second = \"400KB\"\n";
    for (own_seed, coordinator) in [(809, true), (810, false)] {
        let (mut federation, coarse) = scanned(own_seed, 12, [slow, slow]);
        let coarse = id(&coarse);
        let up = |federation: &Federation| federation.site("a").line().bytes(Way::Up);
        let before = up(&federation);
        let mut running = federation.begin(&refining(&coarse, &FINE));
        wait_until("the sites are at it", || {
            up(&federation) > before + 2000 || running.ends_within(std::time::Duration::ZERO)
        });
        if coordinator {
            federation.kill_coordinator();
            federation.start_coordinator();
        } else {
            federation.kill("a");
            federation.kill("b");
            federation.start("a");
            federation.start("b");
        }
        let report = running.ended().report();
        assert_eq!(unrefined(&report), unrefined(&comparison_of(&federation, &["linked", "passage"])));
        assert_eq!(report["scan"]["refined"]["documents"], 48);
        let again = refine(&federation, &coarse, &["--no-sync"]).report();
        assert_eq!(again["scan"]["digest"], report["scan"]["digest"]);
        for name in federation.names() {
            federation.worker(&name, &["ledger", "verify"]).expect(0);
        }
    }
}
