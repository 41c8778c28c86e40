//! `cognate find` in a federation: what it finds is what brute force finds, and what it did not look at it says.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cognate_integration_tests::sandbox::{contents, wait_until};
use cognate_integration_tests::{Federation, Files};
use serde_json::{Value, json};

use crate::hook::listener;

/// A file as `cognate fingerprint` tells it: each tag with its length, but for those of one repeated byte.
struct Cut {
    content: String,
    size: u64,
    chunks: Vec<(String, u64)>,
}

fn chunks(federation: &Federation, files: &[PathBuf], more: &[&str]) -> Vec<Cut> {
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let args = ["fingerprint", "--format", "ndjson"].iter().chain(more).copied().chain(["--"]).chain(files);
    let lines = federation.sandbox.cognate(args).expect(0).lines();
    let cut = |line: &Value| {
        let repeated: Vec<u64> = line["repeated"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let all = (0..).zip(line["chunks"].as_array().unwrap());
        let kept = all.filter(|(number, _)| !repeated.contains(number));
        let chunks = kept.map(|(_, chunk)| (chunk[2].as_str().unwrap().to_owned(), chunk[1].as_u64().unwrap()));
        let content = line["content"].as_str().unwrap().to_owned();
        Cut { content, size: line["size_bytes"].as_u64().unwrap(), chunks: chunks.collect() }
    };
    lines.iter().map(cut).collect()
}

/// Bytes in common: over common tags, the lesser count times the length.
fn shared(a: &[(String, u64)], b: &[(String, u64)]) -> u64 {
    let counts = |chunks: &[(String, u64)]| {
        let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        chunks.iter().for_each(|(tag, length)| {
            let entry = counts.entry(tag.clone()).or_insert((0, *length));
            entry.0 += 1;
        });
        counts
    };
    let (a, b) = (counts(a), counts(b));
    a.iter().filter_map(|(tag, (count, length))| b.get(tag).map(|(other, _)| count.min(other) * length)).sum()
}

fn ratio(part: u64, whole: u64) -> f64 {
    f64::from(u32::try_from((part * 20_000 + whole) / (2 * whole)).unwrap()) / 10_000.0
}

/// What `find` must say of a file: a row for each document that shares anything, as (place, relation, numbers).
fn expected(federation: &Federation, sought: &Path, more: &[&str]) -> Vec<Value> {
    let mut places = Vec::new();
    for site in federation.names() {
        let folder = federation.site(&site).folder().to_owned();
        for path in contents(&folder).into_keys() {
            places.push((format!("{site}/kb/{}", path.display()), folder.join(&path)));
        }
    }
    let files: Vec<PathBuf> = places.iter().map(|(_, file)| file.clone()).chain([sought.to_owned()]).collect();
    let mut all = chunks(federation, &files, more);
    let own = all.pop().unwrap();
    let size = |chunks: &[(String, u64)]| chunks.iter().map(|chunk| chunk.1).sum::<u64>();
    let mut rows = Vec::new();
    for ((place, _), other) in places.iter().zip(&all) {
        let (common, ours, theirs) = (shared(&own.chunks, &other.chunks), size(&own.chunks), size(&other.chunks));
        if own.content == other.content {
            rows.push(json!({
                "place": place, "relation": "identical", "shared": own.size, "size": own.size,
                "sought_in_found": 1.0, "found_in_sought": 1.0, "resemblance": 1.0,
            }));
            continue;
        }
        if common == 0 {
            continue;
        }
        let relation = match (common * 10 >= ours * 8, common * 10 >= theirs * 8) {
            (true, true) => "near",
            (true, false) => "contains",
            (false, true) => "contained",
            (false, false) => "shares",
        };
        rows.push(json!({
            "place": place, "relation": relation, "shared": common, "size": other.size,
            "sought_in_found": ratio(common, ours), "found_in_sought": ratio(common, theirs),
            "resemblance": ratio(common, ours + theirs - common),
        }));
    }
    rows.sort_by_key(Value::to_string);
    rows
}

/// The rows of an answer about one document, in the same form.
fn told(document: &Value) -> Vec<Value> {
    let mut rows = Vec::new();
    for one in document["matches"].as_array().unwrap() {
        for holder in one["holders"].as_array().unwrap() {
            let text = |field: &str| holder[field].as_str().unwrap();
            rows.push(json!({
                "place": format!("{}/{}/{}", text("site"), text("repository"), text("path")),
                "relation": one["relation"], "shared": one["shared_bytes"], "size": one["size_bytes"],
                "sought_in_found": one["sought_in_found"].as_f64(), "found_in_sought": one["found_in_sought"].as_f64(),
                "resemblance": one["resemblance"].as_f64(),
            }));
        }
    }
    rows.sort_by_key(Value::to_string);
    rows
}

fn find(federation: &Federation, words: &[&str]) -> cognate_integration_tests::sandbox::Run {
    let args: Vec<&str> = ["find"].iter().chain(words).chain(&["--format", "json"]).copied().collect();
    federation.operate(&args)
}

/// Two sites with relatives of one document, and a third one that was never scanned.
fn relatives(own_seed: u64) -> (Federation, PathBuf) {
    let mut federation = Federation::new(own_seed);
    let dice = &mut federation.dice;
    let (whole, other, noise) = (dice.bytes(60_000), dice.bytes(50_000), dice.bytes(30_000));
    let edited = [&whole[..30_000], b"edited", &whole[30_010..]].concat();
    let part = whole[10_000..40_000].to_vec();
    let a = Files::from([
        ("copy.bin".to_owned(), whole.clone()),
        ("d/again.bin".to_owned(), whole.clone()),
        ("inside.bin".to_owned(), [&other[..], &whole, &other[..20_000]].concat()),
        ("noise.bin".to_owned(), noise),
    ]);
    let b = Files::from([
        ("edited.bin".to_owned(), edited),
        ("part.bin".to_owned(), part),
        ("shares.bin".to_owned(), [&whole[..12_000], &other[..30_000]].concat()),
        ("empty".to_owned(), Vec::new()),
    ]);
    let c = Files::from([("unseen.bin".to_owned(), whole.clone())]);
    for (name, files) in [("a", &a), ("b", &b), ("c", &c)] {
        federation.add(name, files);
    }
    let sought = federation.sandbox.folder("mine", &[("sought.bin", &whole), ("empty", b"")]).join("sought.bin");
    federation.sandbox.settle();
    federation.start_all();
    (federation, sought)
}

fn scan(federation: &Federation, repositories: &str, more: &[&str]) {
    federation.operate(&Federation::launching(repositories, more)).expect(0);
}

#[test]
fn copies_versions_and_parts_are_found_as_brute_force_finds_them() {
    let federation = Federation::of(1101, 2, 120);
    scan(&federation, "a/kb,b/kb", &[]);
    let mut compared = 0;
    for site in ["a", "b"] {
        let folder = federation.site(site).folder().to_owned();
        let all = contents(&folder).into_iter().filter(|(_, bytes)| !bytes.is_empty());
        let files: Vec<PathBuf> = all.map(|(name, _)| folder.join(name)).collect();
        for sought in files.iter().step_by(files.len() / 4) {
            let words = [sought.to_str().unwrap(), "--limit", "10000", "--precision", "coarse"];
            let answer = find(&federation, &words).expect(0).json();
            let rows = expected(&federation, sought, &[]);
            assert_eq!(told(&answer["documents"][0]), rows, "{}", sought.display());
            compared += rows.len();
        }
    }
    assert!(compared > 8, "{compared}");
}

#[test]
fn an_answer_names_who_has_what_and_what_was_not_searched() {
    let (mut federation, sought) = relatives(1102);
    let mine = sought.to_str().unwrap();
    let refused = find(&federation, &[mine]).refusal(1);
    assert!(refused.contains("cognate scan launch"), "{refused}");
    scan(&federation, "a/kb,b/kb", &[]);
    scan(&federation, "a/kb", &["--chunk-bytes", "500"]);
    let answer = find(&federation, &[mine]).expect(3).json();
    // What most repositories are indexed under, though there is something finer.
    assert_eq!((&answer["schema"], &answer["under"]["chunk_bytes"]), (&json!("cognate.find/1"), &json!(1000)));
    let document = &answer["documents"][0];
    let relations: BTreeMap<String, String> = told(document)
        .iter()
        .map(|row| (row["place"].as_str().unwrap().to_owned(), row["relation"].as_str().unwrap().to_owned()))
        .collect();
    let found = [
        ("a/kb/copy.bin", "identical"),
        ("a/kb/d/again.bin", "identical"),
        ("a/kb/inside.bin", "contains"),
        ("b/kb/edited.bin", "near"),
        ("b/kb/part.bin", "contained"),
        ("b/kb/shares.bin", "shares"),
    ];
    assert_eq!(relations, found.map(|(place, relation)| (place.to_owned(), relation.to_owned())).into());
    assert_eq!((&document["documents"], &document["documents_omitted"]), (&json!(6), &json!(0)));
    let lengths = &document["run_lengths"];
    assert!(lengths["p50"].as_u64() < lengths["p95"].as_u64() && lengths["p95"].as_u64() <= lengths["p99"].as_u64());
    // The strongest first; identical ones are one match.
    assert_eq!(document["matches"][0]["holders"].as_array().unwrap().len(), 2);
    let coverage = answer["coverage"].as_array().unwrap();
    let covered: Vec<(&str, bool)> =
        coverage.iter().map(|row| (row["site"].as_str().unwrap(), row["covered"].as_bool().unwrap())).collect();
    assert_eq!(covered, [("a", true), ("b", true), ("c", false)]);
    assert_eq!(coverage[2]["launch"], "cognate scan launch --repositories c/kb --chunk-bytes 1000");
    assert_eq!((&coverage[1]["documents"], &coverage[1]["unread"]), (&json!(4), &json!(0)));
    // Fewer matches, and how many more there are.
    let short = find(&federation, &[mine, "--limit", "1"]).expect(3).json();
    assert_eq!(short["documents"][0]["documents_omitted"], 4);
    // Narrowed to what was searched, it is complete; to what shares much, it is less.
    let near = find(&federation, &[mine, "--site", "a", "--site", "b/kb", "--min-containment", "0.9"]).expect(0).json();
    assert_eq!(told(&near["documents"][0]).len(), 5);
    let large = find(&federation, &[mine, "--site", "b", "--min-shared-bytes", "50000"]).expect(0).json();
    assert_eq!(told(&large["documents"][0]).len(), 1);
    // What it says to launch makes it whole.
    scan(&federation, "c/kb", &["--chunk-bytes", "1000"]);
    let whole = find(&federation, &[mine]).expect(0).json();
    assert_eq!(told(&whole["documents"][0]).len(), 7);
    // A finer index finds no less where it is asked for.
    let fine = find(&federation, &[mine, "--chunk-bytes", "500", "--site", "a"]).expect(0).json();
    assert_eq!(fine["under"]["chunk_bytes"], 500);
    assert!(fine["run_lengths"]["p95"].as_u64() < whole["run_lengths"]["p95"].as_u64());
    // The text names places, sizes and what is missing; so do the others.
    let text = federation.operate(&["find", mine]).expect(0).text().to_owned();
    for said in ["identical", "b/kb/edited.bin", "100.0 %", "by site: a 3, b 3, c 1", "19 times in 20"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let csv = federation.operate(&["find", mine, "--format", "csv"]).expect(0).text().to_owned();
    assert_eq!(csv.lines().count(), 8);
    let lines = federation.operate(&["find", mine, "--format", "ndjson"]).expect(0).lines();
    assert_eq!(lines.iter().filter(|line| line["type"] == "match").count(), 5);
    // A document that changed is what it was when its site was last synced.
    let b = federation.site("b").folder().join("part.bin");
    std::fs::write(&b, b"something else").unwrap();
    assert_eq!(told(&find(&federation, &[mine]).expect(0).json()["documents"][0]).len(), 7);
    std::fs::remove_file(&b).unwrap();
    federation.sandbox.settle();
    federation.scan(&[]).expect(0);
    assert_eq!(told(&find(&federation, &[mine]).expect(0).json()["documents"][0]).len(), 6);
    federation.stop_coordinator();
}

#[test]
fn fingerprints_made_elsewhere_say_the_same_as_the_files() {
    let (federation, sought) = relatives(1103);
    scan(&federation, "a/kb,b/kb", &[]);
    let mine = sought.to_str().unwrap();
    let empty = sought.with_file_name("empty");
    let direct = find(&federation, &[mine, empty.to_str().unwrap()]).expect(3).json();
    assert_eq!(direct["documents"][1]["matches"], json!([]));
    let args =
        ["fingerprint", "--chunk-bytes", "1000", "--format", "ndjson", "--fine", "--", mine, empty.to_str().unwrap()];
    let lines = federation.sandbox.cognate(args).expect(0).text().to_owned();
    let file = sought.with_file_name("fingerprints.ndjson");
    std::fs::write(&file, &lines).unwrap();
    let again = find(&federation, &["--fingerprints", file.to_str().unwrap()]).expect(3).json();
    assert_eq!(again, direct);
    // What is no such file is refused by its line, and what cannot be true by the coordinator.
    std::fs::write(&file, lines.replace("\"size_bytes\":60000", "\"size_bytes\":60001")).unwrap();
    let refused = find(&federation, &["--fingerprints", file.to_str().unwrap()]).refusal(2);
    assert!(refused.contains("size_bytes"), "{refused}");
    std::fs::write(&file, "{}\n").unwrap();
    let refused = find(&federation, &["--fingerprints", file.to_str().unwrap()]).refusal(2);
    assert!(refused.contains("line 1"), "{refused}");
    let refused = find(&federation, &["--fingerprints", file.to_str().unwrap(), "--view", "raw"]).refusal(2);
    assert!(refused.contains("leave these options out"), "{refused}");
}

#[test]
fn another_key_is_told_and_never_taken_for_nothing() {
    let mut federation = Federation::new(1104);
    let document = federation.dice.bytes(40_000);
    let key = federation.sandbox.path("key");
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let files = Files::from([("x.bin".to_owned(), document.clone())]);
    let config = format!("key = \"{}\"\n", key.display());
    federation.add_with("a", None, &files, &config);
    let sought = federation.sandbox.folder("mine", &[("sought.bin", &document)]).join("sought.bin");
    federation.sandbox.settle();
    federation.start_all();
    scan(&federation, "a/kb", &[]);
    let mine = sought.to_str().unwrap();
    let refused = find(&federation, &[mine]).refusal(12);
    assert!(refused.contains("with a key") && refused.contains("--key"), "{refused}");
    let other = federation.sandbox.path("other");
    std::fs::write(&other, "cd".repeat(32)).unwrap();
    let refused = find(&federation, &[mine, "--key", other.to_str().unwrap()]).refusal(12);
    assert!(refused.contains("another key"), "{refused}");
    let answer = find(&federation, &[mine, "--key", key.to_str().unwrap()]).expect(0).json();
    assert_eq!(told(&answer["documents"][0])[0]["relation"], "identical");
    assert_eq!(answer["under"]["keyed"], true);
}

#[test]
fn a_site_that_shares_nothing_across_parties_without_a_key_is_not_searched_and_its_index_not_used() {
    let mut federation = Federation::new(1108);
    let document = federation.dice.bytes(40_000);
    let files = Files::from([("x.bin".to_owned(), document.clone())]);
    // Both had no other party beside them when they were configured.
    let alone = "one_party = true\n";
    federation.add_with("a", Some("acquirer"), &files, &format!("{alone}[policy]\nunkeyed_across_parties = true\n"));
    federation.add_with("b", Some("target"), &files, alone);
    let sought = federation.sandbox.folder("mine", &[("sought.bin", &document)]).join("sought.bin");
    federation.sandbox.settle();
    federation.start_all();
    // Each is scanned for its own party, with chunks as short as it allows there.
    for repository in ["a/kb", "b/kb"] {
        scan(&federation, repository, &["--view", "raw", "--chunk-bytes", "80"]);
    }
    let words = ["--view", "raw", "--chunk-bytes", "80", sought.to_str().unwrap()];
    let answer = find(&federation, &words).expect(3).json();
    let covered: Vec<(&str, bool)> = answer["coverage"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["site"].as_str().unwrap(), row["covered"].as_bool().unwrap()))
        .collect();
    assert_eq!(covered, [("a", true), ("b", false)]);
    assert!(answer["coverage"][1]["reason"].as_str().unwrap().contains("unkeyed_across_parties"), "{answer}");
    assert_eq!(answer["coverage"][1]["launch"], Value::Null, "no scan would change it");
    assert_eq!(told(&answer["documents"][0]).len(), 1, "of a alone");

    let words = ["--view", "raw", "--chunk-bytes", "80", "--no-sync"];
    let refused = federation.operate(&Federation::launching("a/kb,b/kb", &words)).expect(1);
    assert!(refused.stderr.contains("each site has to check its policy"), "{refused:?}");
}

#[test]
fn whoever_is_bound_to_a_site_hears_of_that_site_alone() {
    let (federation, sought) = relatives(1105);
    scan(&federation, "a/kb,b/kb", &[]);
    let enrolled = |name: &str, role: &str, more: &[&str]| {
        let args: Vec<&str> = ["operator", "invite", name, "--role", role].iter().chain(more).copied().collect();
        let token = federation.operate(&args).expect(0).text().trim().to_owned();
        let file = federation.sandbox.path(format!("{name}.toml"));
        let args = ["operator", "enroll", &token, "-o", file.to_str().unwrap()];
        federation.sandbox.cognate(args).expect(0);
        file
    };
    let (bound, viewer) = (enrolled("bert", "analyst", &["--site", "b"]), enrolled("vera", "viewer", &[]));
    let mine = sought.to_str().unwrap();
    let as_who = |who: &Path, more: &[&str]| {
        let words = ["find", mine, "--format", "json", "--operator", who.to_str().unwrap()];
        federation.sandbox.cognate(words.iter().chain(more).copied())
    };
    let answer = as_who(&bound, &[]).expect(0).json();
    assert_eq!(answer["coverage"].as_array().unwrap().len(), 1);
    assert!(told(&answer["documents"][0]).iter().all(|row| row["place"].as_str().unwrap().starts_with("b/")));
    let other = as_who(&bound, &["--site", "a", "--chunk-bytes", "1000"]).refusal(1);
    // As if there were none: that a site exists is no business of who may not see it.
    assert!(other.contains("no repository `a`"), "{other}");
    assert!(as_who(&viewer, &[]).refusal(14).contains("role"));
}

#[test]
fn what_templates_hold_counts_for_nothing_but_copies_do() {
    let mut federation = Federation::new(1106);
    let (frame, own, other) =
        (federation.dice.bytes(20_000), federation.dice.bytes(20_000), federation.dice.bytes(20_000));
    let page = |text: &[u8]| [&frame[..], text].concat();
    let files = Files::from([("one".to_owned(), page(&own)), ("two".to_owned(), page(&other))]);
    federation.add("a", &files);
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&[]).report();
    let cluster = report["clusters"][0]["id"].as_str().unwrap().to_owned();
    let one = federation.site("a").folder().join("one");
    let before = find(&federation, &[one.to_str().unwrap()]).expect(0).json();
    assert_eq!(told(&before["documents"][0]).len(), 2);
    federation.operate(&["template", "mark", "latest", &cluster]).expect(0);
    let after = find(&federation, &[one.to_str().unwrap()]).expect(0).json();
    assert_eq!(told(&after["documents"][0]).len(), 1);
    assert!(after["documents"][0]["template_bytes"].as_u64().unwrap() > 15_000);
}

fn watches(federation: &Federation) -> Value {
    federation.operate(&["watch", "list", "--format", "json"]).expect(0).json()
}

#[test]
fn a_watch_tells_of_what_is_new_once_and_of_what_was_there_never() {
    let (mut federation, sought) = relatives(1111);
    let mine = sought.to_str().unwrap();
    scan(&federation, "a/kb,b/kb", &[]);
    let (address, heard) = listener();
    let added = federation.operate(&["watch", "add", "leak", mine, "--webhook", &address, "--note", "legal"]);
    assert!(added.expect(0).text().contains("6 documents match now"));
    let watch = watches(&federation)[0].clone();
    assert_eq!((&watch["matches"], &watch["last_new"], &watch["note"]), (&json!(6), &Value::Null, &json!("legal")));
    assert_eq!(watch["query"]["documents"], json!([{"path": mine, "size_bytes": 60_000}]));
    // A sync that brings something new, and one that brings nothing.
    let whole = std::fs::read(&sought).unwrap();
    std::fs::write(federation.site("b").folder().join("late.bin"), &whole).unwrap();
    federation.sandbox.settle();
    scan(&federation, "a/kb,b/kb", &[]);
    let told = heard.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    let document = json!({"path": "late.bin", "relation": "identical", "precision": "fine", "sought": mine});
    let notice = json!({"watch": "leak", "site": "b", "repository": "kb", "new": 1, "precision": "fine"});
    assert_eq!(told["documents"], json!([document]));
    assert!(notice.as_object().unwrap().iter().all(|(key, value)| told[key] == *value), "{told}");
    scan(&federation, "a/kb,b/kb", &[]);
    // A repository that was never scanned before is all new; a restart in between forgets nothing.
    federation.stop_coordinator();
    federation.start_coordinator();
    federation.names().iter().for_each(|name| federation.wait_attached(name));
    scan(&federation, "c/kb", &[]);
    let told = heard.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!((&told["site"], &told["new"]), (&json!("c"), &json!(1)));
    wait_until("what is new is counted", || federation.metric("cognate_watch_hits_total") > 0.5);
    assert_eq!(watches(&federation)[0]["matches"], 8);
    assert!(federation.coordinator().stderr().contains("a watch found something new"));
    // Removed, it is gone, and nobody is told any more.
    federation.operate(&["watch", "remove", "leak"]).expect(0);
    assert_eq!(watches(&federation), json!([]));
    assert!(federation.operate(&["watch", "remove", "leak"]).refusal(1).contains("no watch"));
    std::fs::write(federation.site("c").folder().join("later.bin"), &whole).unwrap();
    federation.sandbox.settle();
    scan(&federation, "c/kb", &[]);
    assert!(heard.try_recv().is_err());
    let refused = federation.operate(&["watch", "add", "leak", mine, "--webhook", "ftp://x"]).refusal(2);
    assert!(refused.contains("webhook"), "{refused}");
}

#[test]
fn a_case_keeps_every_answer_and_is_exported_as_one_record() {
    let (mut federation, sought) = relatives(1112);
    let mine = sought.to_str().unwrap();
    scan(&federation, "a/kb,b/kb", &[]);
    let opened = federation.operate(&["case", "new", "leak-7", mine, "--note", "legal", "--format", "json"]).expect(3);
    let check = opened.json()["checks"][0].clone();
    assert_eq!((&check["documents"], &check["searched"], &check["not_searched"]), (&json!(6), &json!(2), &json!(1)));
    assert!(federation.operate(&["case", "new", "leak-7", mine]).refusal(1).contains("there is a case"));
    scan(&federation, "c/kb", &[]);
    federation.operate(&["case", "check", "leak-7"]).expect(0);
    // Through a rebuild of the store from the journal.
    federation.stop_coordinator();
    std::fs::remove_dir_all(federation.coordinator_state().join("store")).unwrap();
    let config = federation.coordinator_config();
    federation.sandbox.cognate(["coordinator", "rebuild", "--config", config.to_str().unwrap()]).expect(0);
    federation.start_coordinator();
    let file = federation.sandbox.path("case.json");
    federation.operate(&["case", "export", "leak-7", "-o", file.to_str().unwrap()]).expect(0);
    let whole: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&whole["schema"], &whole["note"]), (&json!("cognate.case/1"), &json!("legal")));
    let checks = whole["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 2);
    assert_eq!(told(&checks[0]["record"]["documents"][0]).len(), 6);
    assert_eq!(told(&checks[1]["record"]["documents"][0]).len(), 7);
    assert_eq!(checks[0]["record"]["coverage"][2]["covered"], false);
    assert_eq!(whole["sought"][0]["size_bytes"], 60_000);
    let listed = federation.operate(&["case", "list", "--format", "json"]).expect(0).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &json!("leak-7")));
    // An answer that was changed on the disk is no record any more.
    let kept = federation.coordinator_state().join("cases/leak-7/1.json");
    let before = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, before.replace("copy.bin", "cop1.bin")).unwrap();
    assert!(federation.operate(&["case", "export", "leak-7"]).refusal(1).contains("its digest differs"));
    std::fs::write(&kept, before).unwrap();
    // What names a site is erased with it; that it was asked is kept.
    federation.names().iter().for_each(|name| federation.wait_attached(name));
    federation.operate(&["site", "forget", "c", "--yes"]).expect(0);
    let case = federation.operate(&["case", "export", "leak-7"]).expect(0).json();
    assert_eq!(case["checks"][0]["erased"], true);
    assert_eq!((&case["checks"][1]["record"], &case["checks"][1]["documents"]), (&Value::Null, &json!(7)));
    assert!(!kept.try_exists().unwrap());
    federation.stop_coordinator();
}

#[test]
fn every_method_finds_the_copy_and_says_what_it_can_of_versions() {
    let mut federation = Federation::new(1113);
    const WORDS: [&str; 10] =
        ["river", "stone", "garden", "letter", "window", "paper", "house", "money", "night", "summer"];
    let words = |dice: &mut cognate_integration_tests::Dice, count: usize| -> String {
        (0..count).map(|_| format!("{}{} ", dice.pick(&WORDS), dice.below(500))).collect()
    };
    let text = words(&mut federation.dice, 6000);
    let edited = format!("{} something else {}", &text[..20_000], &text[20_000..]);
    let half = text[..text.len() / 2].to_owned();
    let other = words(&mut federation.dice, 6000);
    let files = Files::from([
        ("copy.txt".to_owned(), text.clone().into_bytes()),
        ("edited.txt".to_owned(), edited.into_bytes()),
        ("half.txt".to_owned(), half.into_bytes()),
        ("other.txt".to_owned(), other.into_bytes()),
    ]);
    let methods =
        ["tttd", "mod", "bsw", "bsw-chunk", "shingle", "min", "sketch"].map(|name| format!("{name:?}")).join(", ");
    federation.add_with("a", None, &files, &format!("[policy]\nmethods = [{methods}]\n"));
    let sought = federation.sandbox.folder("mine", &[("mine.txt", text.as_bytes())]).join("mine.txt");
    federation.sandbox.settle();
    federation.start_all();
    for (method, containment, lengths) in [
        ("mod", true, true),
        ("bsw", true, true),
        ("bsw-chunk", true, true),
        ("shingle", true, true),
        ("min", false, false),
        ("sketch", false, false),
    ] {
        scan(&federation, "a/kb", &["--method", method]);
        let answer = find(&federation, &[sought.to_str().unwrap(), "--method", method]).expect(0).json();
        let matches = answer["documents"][0]["matches"].as_array().unwrap();
        let of = |path: &str| matches.iter().find(|one| one["holders"][0]["path"] == path).unwrap_or(&Value::Null);
        assert_eq!(
            (&of("copy.txt")["relation"], &of("copy.txt")["resemblance"]),
            (&json!("identical"), &json!(1)),
            "{method}"
        );
        assert_eq!(of("edited.txt")["relation"], "near", "{method} {matches:?}");
        let half = of("half.txt");
        let share = if containment { &half["sought_in_found"] } else { &half["resemblance"] };
        assert!((0.3..0.7).contains(&share.as_f64().unwrap()), "{method} {half}");
        assert_eq!(half["sought_in_found"].is_null(), !containment, "{method}");
        assert_eq!(half["relation"], if containment { "contained" } else { "shares" }, "{method}");
        let is_estimated = method != "bsw-chunk";
        assert_eq!(half["estimated"] == true, is_estimated, "{method}");
        assert_eq!(half["intervals"]["resemblance"].is_array(), is_estimated && method != "bsw", "{method} {half}");
        if is_estimated && method != "bsw" {
            let interval = &half["intervals"]["resemblance"];
            assert!(
                interval[0].as_f64() < half["resemblance"].as_f64()
                    && half["resemblance"].as_f64() < interval[1].as_f64()
            );
            let close = half["within_tenth"]["resemblance"].as_f64().unwrap();
            // A tenth at either side of an interval of 95 of 100 cases: it is the wider one, or the other is.
            let width = interval[1].as_f64().unwrap() - interval[0].as_f64().unwrap();
            assert!((0.1..=1.0).contains(&close) && (width > 0.18 || close > 0.9), "{method}: {close} of {interval}");
        }
        assert_eq!(answer["run_lengths"].is_null(), !lengths, "{method}");
    }
    // A method that is not there is refused before anything is asked.
    let refused = find(&federation, &[sought.to_str().unwrap(), "--method", "tomorrow"]).expect(2);
    assert!(refused.stderr.contains("tomorrow"), "{}", refused.stderr);
}
