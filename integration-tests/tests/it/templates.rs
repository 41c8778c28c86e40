//! Templates in a federation: what is marked is left out of later analyses, and of nothing else.

use std::collections::BTreeMap;

use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::sandbox::{copy, wait_until};
use cognate_integration_tests::{Corpus, Dice, Federation, Files, Rules};
use serde_json::{Value, json};

use crate::compare::{check_documents, check_lists};

mod frames;

const NO_SYNC: &[&str] = &["--no-sync"];

fn corpus(federation: &Federation) -> Corpus {
    let names: Vec<String> = federation.names().iter().map(|name| format!("{name}/kb")).collect();
    let folders: Vec<_> = names
        .iter()
        .zip(federation.names())
        .map(|(name, site)| (name.as_str(), federation.site(&site).folder().to_owned()))
        .collect();
    let folders: Vec<_> = folders.iter().map(|(name, folder)| (*name, folder.as_path())).collect();
    Corpus::read(&federation.sandbox, &folders, 1000)
}

fn digest(report: &Value) -> &str {
    report["scan"]["digest"].as_str().unwrap()
}

/// The cluster with most documents.
fn largest(report: &Value) -> &Value {
    let documents = |cluster: &&Value| cluster["documents"].as_array().unwrap().len();
    report["clusters"].as_array().unwrap().iter().max_by_key(documents).unwrap()
}

fn tags(template: &Value) -> Vec<String> {
    template["tags"].as_array().unwrap().iter().map(|row| row["tag"].as_str().unwrap().to_owned()).collect()
}

fn mark(federation: &Federation, words: &[&str]) -> Value {
    let words: Vec<&str> = ["template", "mark"].iter().chain(words).chain(&["--format", "json"]).copied().collect();
    federation.operate(&words).expect(0).json()
}

fn templates(federation: &Federation) -> Vec<Value> {
    let list = federation.operate(&["template", "list", "--format", "json"]).expect(0).json();
    list.as_array().unwrap().clone()
}

/// Pages with the same frame around texts of their own, each of them in two versions and one of them copied, and a family
/// of documents that are nearly the same.
fn pages(dice: &mut Dice, pages: usize, small_bytes: usize) -> [Files; 2] {
    let (head, foot) = (dice.bytes(9000), dice.bytes(4000));
    let near = dice.bytes(40_000);
    let mut sites = [Files::new(), Files::new()];
    for number in 0..pages {
        let text = dice.bytes(if number % 4 == 0 { small_bytes } else { 30_000 });
        for (version, files) in sites.iter_mut().enumerate() {
            let edit = dice.bytes(500);
            let page = [&head[..], &text, if version == 0 { b"" } else { &edit }, &foot].concat();
            files.insert(format!("d{}/page{number}.html", number % 3), page);
        }
    }
    for number in 0..8 {
        let edit = dice.bytes(2000);
        sites[number % 2].insert(format!("near{number}.bin"), [&near[..], &edit].concat());
    }
    let copied = sites[0]["d1/page1.html"].clone();
    sites[1].insert("copy.html".to_owned(), copied);
    if small_bytes < 10_000 {
        // Nothing but the frame.
        sites[0].insert("frame.html".to_owned(), [head, foot].concat());
    }
    sites
}

fn of_pages(own_seed: u64, count: usize) -> Federation {
    with_small_pages(own_seed, count, 3000)
}

fn with_small_pages(own_seed: u64, count: usize, small_bytes: usize) -> Federation {
    let mut federation = Federation::new(own_seed);
    let [a, b] = pages(&mut federation.dice, count, small_bytes);
    federation.add("a", &a);
    federation.add("b", &b);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

#[test]
fn marked_tags_are_left_out_as_by_brute_force_and_unmarking_restores_the_report() {
    let federation = Federation::of(901, 2, 250);
    // Brute force counts whole chunks.
    let coarse = ["--precision", "coarse"];
    let before = federation.check(federation.scan(&coarse), &coarse);
    let mut corpus = corpus(&federation);
    check_lists(&before, &corpus, Rules::default());
    let cluster = largest(&before);
    let id = cluster["id"].as_str().unwrap();
    let documents: Vec<(String, String)> = cluster["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["site"].as_str().unwrap().to_owned(), row["path"].as_str().unwrap().to_owned()))
        .collect();
    let least = documents.len().div_ceil(4);
    let expected = corpus.common_tags(&documents, least);
    // Marked twice, by the beginning of its id and without its scan: it is one.
    let marked = mark(&federation, &[id, "--share", "0.25", "--note", "a quarter has it"]);
    assert_eq!(marked, mark(&federation, &["latest", &id[..12], "--share", "0.25"]));
    assert_eq!(tags(&marked), expected);
    assert!(!expected.is_empty() && templates(&federation) == [marked.clone()], "{marked}");
    let same = json!({"note": "a quarter has it", "cluster": id, "scan": before["scan"]["id"], "chunk_bytes": 1000});
    assert!(same.as_object().unwrap().iter().all(|(name, value)| marked[name] == *value), "{marked}");

    let set_aside = corpus.set_aside(&expected);
    for sync in [NO_SYNC, &[]] {
        let after = federation.scan(&[sync, &coarse].concat()).report();
        check_lists(&after, &corpus, Rules::default());
        assert_eq!(after["set_aside"], set_aside);
        assert_eq!(after["scan"]["templates_digest"].as_str().unwrap().len(), 64);
        // Neither read nor sent.
        assert!(after["scan"]["run"]["sites"].as_array().unwrap().iter().all(|site| site["read_bytes"] == 0));
        assert_eq!(after["identical"], before["identical"]);
        let scan = after["scan"]["id"].as_str().unwrap();
        let lines = federation.operate(&["report", scan, "--format", "ndjson"]).expect(0).lines();
        check_documents(&lines, &after, &corpus, Rules::default());
        assert_eq!(lines.iter().filter(|line| line["type"] == "set_aside").count(), expected.len());
        assert!(federation.operate(&["report", scan]).expect(0).text().contains("tags are set aside"));
        let file = federation.sandbox.path("report.json");
        std::fs::write(&file, after.to_string()).unwrap();
        federation.sandbox.cognate(["report", "verify", file.to_str().unwrap()]).expect(0);
    }
    // A template of this method says nothing of another.
    let finer = federation.scan(&["--chunk-bytes", "300"]).report();
    assert_eq!((&finer["set_aside"], &finer["scan"]["templates_digest"]), (&json!([]), &Value::Null));

    federation.operate(&["template", "unmark", &marked["id"].as_str().unwrap()[..6]]).expect(0);
    assert!(templates(&federation).is_empty());
    let again = federation.scan(&[NO_SYNC, &coarse].concat()).report();
    assert_eq!(digest(&again), digest(&before));
    let all = federation.operate(&["template", "list", "--all", "--format", "json"]).expect(0).json();
    assert_eq!(all[0]["unmarked_by"], "admin");
}

#[test]
fn single_tags_are_marked_at_sites_that_have_them_and_nonsense_is_refused() {
    let federation = Federation::of(902, 2, 60);
    let before = federation.scan(&["--precision", "coarse"]).report();
    let file = federation.site("a").folder().join("one");
    std::fs::write(&file, b"not synced yet").unwrap();
    let chunks = |path: &str| {
        federation.sandbox.cognate(["fingerprint", "--format", "ndjson", "--", path]).expect(0).lines()[0].clone()
    };
    let unknown = chunks(file.to_str().unwrap())["chunks"][0][2].as_str().unwrap().to_owned();
    let document = &largest(&before)["documents"][0];
    let (site, path) = (document["site"].as_str().unwrap(), document["path"].as_str().unwrap());
    let known = chunks(federation.site(site).folder().join(path).to_str().unwrap());
    let [tag, other] = [0, 1].map(|place| known["chunks"][place][2].as_str().unwrap().to_owned());
    let refused = |words: &[&str], code: i32, part: &str| {
        let words: Vec<&str> = ["template", "mark"].iter().chain(words).copied().collect();
        let run = federation.operate(&words).expect(code);
        assert!(run.stdout.is_empty() && run.stderr.contains(part), "{run:?}");
    };
    refused(&["--tag", &tag, "--tag", &unknown], 2, &unknown);
    refused(&["--tag", "12"], 2, "32 hexadecimal digits");
    refused(&[], 2, "cluster");
    refused(&["ffffffffffffffffffffffffffffffff"], 1, "ffff");
    refused(&["latest", "no cluster"], 2, "cluster");
    refused(&[largest(&before)["id"].as_str().unwrap(), "--share", "0"], 2, "share");
    assert!(templates(&federation).is_empty());
    let marked = mark(&federation, &["--tag", &tag, "--tag", &other, "--tag", &tag]);
    let mut both = [tag, other];
    both.sort();
    assert_eq!(tags(&marked), both);
    let mut corpus = {
        std::fs::remove_file(&file).unwrap();
        corpus(&federation)
    };
    let expected = corpus.set_aside(&both);
    let after = federation.scan(&[NO_SYNC, &["--precision", "coarse"]].concat()).report();
    assert_eq!(after["set_aside"], expected);
    check_lists(&after, &corpus, Rules::default());
}

#[test]
fn the_templates_of_a_scan_stay_frozen_through_later_marks_and_crashes() {
    let mut federation = of_pages(903, 12);
    let before = federation.scan(&[]).report();
    let first = mark(&federation, &[largest(&before)["id"].as_str().unwrap()]);
    let marked = federation.scan(NO_SYNC).report();
    assert_ne!(digest(&marked), digest(&before));
    // A scan that ended right after it was frozen: the first template was in force, the second comes later.
    federation.stop_coordinator();
    assert!(federation.start_coordinator_failing("scan.after_frozen=return"));
    let scan = federation.begin_scan(NO_SYNC);
    wait_until("the coordinator is gone", || federation.coordinator().ends_within(std::time::Duration::ZERO));
    federation.start_coordinator_failing("scan.between_partitions=pause");
    let tag = federation.sandbox.cognate(
        ["fingerprint", "--format", "ndjson", "--"].iter().map(|word| (*word).into()).chain([federation
            .site("b")
            .folder()
            .join("near1.bin")
            .into_os_string()]),
    );
    let tag = tag.expect(0).lines()[0]["chunks"][3][2].as_str().unwrap().to_owned();
    mark(&federation, &["--scan", marked["scan"]["id"].as_str().unwrap(), "--tag", &tag]);
    federation.operate(&["template", "unmark", first["id"].as_str().unwrap()]).expect(0);
    federation.kill_coordinator();
    federation.start_coordinator();
    let resumed = scan.ended().report();
    assert_eq!(comparable(&resumed), comparable(&marked));
    assert_eq!(digest(&resumed), digest(&marked));
    // The next one is frozen with what is in force now.
    let next = federation.scan(NO_SYNC).report();
    assert_eq!(next["set_aside"].as_array().unwrap().len(), 1);
}

#[test]
fn templates_survive_restart_rebuild_and_backup() {
    let mut federation = of_pages(904, 12);
    let before = federation.scan(&[]).report();
    mark(&federation, &[largest(&before)["id"].as_str().unwrap()]);
    let marked = federation.scan(NO_SYNC).report();
    let known = templates(&federation);
    let again = |federation: &Federation| {
        assert_eq!(templates(federation), known);
        assert_eq!(digest(&federation.scan(NO_SYNC).report()), digest(&marked));
    };
    federation.kill_coordinator();
    federation.start_coordinator();
    again(&federation);
    federation.stop_coordinator();
    let config = federation.coordinator_config();
    let config = config.to_str().unwrap();
    federation.sandbox.cognate(["coordinator", "rebuild", "--config", config]).expect(0);
    federation.start_coordinator();
    again(&federation);
    federation.stop_coordinator();
    let backup = federation.sandbox.path("backup");
    federation
        .sandbox
        .cognate(["coordinator", "backup", backup.to_str().unwrap(), "--include-ca", "--config", config])
        .expect(0);
    let state = federation.coordinator_state();
    copy(&state, &federation.sandbox.path("before"));
    federation.lose_coordinator_state();
    federation
        .sandbox
        .cognate(["coordinator", "restore", backup.to_str().unwrap(), "--none-revoked", "--config", config])
        .expect(0);
    federation.start_coordinator();
    assert_eq!(templates(&federation), known);
}

#[test]
fn a_viewer_marks_nothing() {
    let federation = of_pages(905, 6);
    let report = federation.scan(&[]).report();
    let cluster = largest(&report)["id"].as_str().unwrap().to_owned();
    let enrolled = |name: &str, role: &str, more: &[&str]| {
        let words: Vec<&str> = ["operator", "invite", name, "--role", role].iter().chain(more).copied().collect();
        let line = federation.operate(&words).expect(0).text().trim().to_owned();
        let file = federation.sandbox.path(format!("{name}.toml"));
        federation.sandbox.cognate(["operator", "enroll", &line, "-o", file.to_str().unwrap()]).expect(0);
        file
    };
    let viewer = enrolled("vera", "viewer", &[]);
    let analyst = enrolled("anna", "analyst", &[]);
    let bound = enrolled("bert", "analyst", &["--site", "a"]);
    let operate = |who: &std::path::Path, words: &[&str]| {
        let words = words.iter().copied().chain(["--operator", who.to_str().unwrap()]);
        federation.sandbox.cognate(words)
    };
    for who in [&viewer, &bound] {
        operate(who, &["template", "mark", &cluster]).expect(14);
    }
    operate(&viewer, &["template", "suggest", "latest"]).expect(14);
    assert!(templates(&federation).is_empty());
    operate(&analyst, &["template", "mark", &cluster, "--note", "what all have"]).expect(0);
    let marked = templates(&federation);
    assert_eq!((marked.len(), &marked[0]["marked_by"]), (1, &json!("anna")));
    for who in [&viewer, &bound] {
        operate(who, &["template", "unmark", marked[0]["id"].as_str().unwrap()]).expect(14);
    }
    let seen = |who| operate(who, &["template", "list", "--format", "json"]).expect(0).json()[0].clone();
    assert_eq!(seen(&viewer), marked[0]);
    assert_eq!((seen(&bound)["tags"].clone(), seen(&bound)["note"].clone()), (json!([]), json!("")));
    assert_eq!(seen(&bound)["bytes"], marked[0]["bytes"]);
}

#[test]
fn the_frame_of_pages_is_suggested_and_similar_pages_are_not() {
    let federation = of_pages(906, 20);
    // Templates are of whole chunks: the rest of a frame, in chunks that each page has alone, still counts in pieces.
    let coarse = ["--precision", "coarse"];
    let before = federation.scan(&coarse).report();
    let names = |cluster: &Value| -> Vec<String> {
        let documents = cluster["documents"].as_array().unwrap().iter();
        documents.map(|row| row["path"].as_str().unwrap().to_owned()).collect()
    };
    // Small pages, of which the frame is the greater part, hold all the others together.
    assert!(names(largest(&before)).len() > 35);
    let suggested = federation.operate(&["template", "suggest", "latest", "--format", "json"]).expect(0).json();
    assert!(templates(&federation).is_empty(), "nothing is marked silently");
    let suggestion = &suggested[0];
    assert_eq!((suggested.as_array().unwrap().len(), &suggestion["cluster"]), (1, &largest(&before)["id"]));
    assert_eq!((&suggestion["clusters_changed"], &suggestion["documents_emptied"]), (&json!(1), &json!(0)));
    let near = federation.site("a").folder().join("near0.bin");
    let near = federation.sandbox.cognate(["fingerprint", "--format", "ndjson", "--", near.to_str().unwrap()]);
    let near = near.expect(0).lines()[0]["chunks"].to_string();
    assert!(tags(suggestion).iter().all(|tag| !near.contains(tag)));
    federation.operate(&["template", "suggest", "latest", "--accept"]).refusal(2);
    federation.operate(&["template", "suggest", "latest", "--accept", "--until-quiet", "--yes"]).expect(0);
    assert!(!templates(&federation).is_empty());
    let after = federation.scan(&[NO_SYNC, &coarse].concat()).report();
    let mut pairs = BTreeMap::new();
    for cluster in after["clusters"].as_array().unwrap() {
        for name in names(cluster) {
            *pairs.entry(name).or_insert(0) += 1;
        }
        let names = names(cluster);
        assert!(names.len() == 8 || names.len() == 2 && names[0] == names[1], "{names:?}");
    }
    // Every page is linked to its other version, and the family is complete.
    assert_eq!(pairs.len(), 20 + 8);
    assert_eq!(after["identical"], before["identical"]);
    let quiet = federation.operate(&["template", "suggest", "latest", "--format", "json"]).expect(0).json();
    assert_eq!(quiet, json!([]));
}

#[test]
fn where_every_link_says_something_nothing_is_suggested() {
    // All pages are large enough that their frame links none of them, whatever it adds to versions of one.
    let federation = with_small_pages(907, 20, 20_000);
    let report = federation.scan(&[]).report();
    assert_eq!(report["clusters"].as_array().unwrap().len(), 20 + 1);
    let suggested = federation.operate(&["template", "suggest", "latest", "--until-quiet", "--format", "json"]);
    assert_eq!(suggested.expect(0).json(), json!([]));
}
