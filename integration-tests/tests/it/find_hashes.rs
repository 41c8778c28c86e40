//! `cognate find --hashes`, held against `md5sum`, `sha1sum` and `sha256sum`: which files of the sites that keep such hashes
//! have one of a list, and everything that was not looked at is named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cognate_integration_tests::sandbox::{Run, contents, wait_until};
use cognate_integration_tests::{Federation, Files};
use serde_json::{Value, json};

/// The hash of a file by a common tool.
pub(crate) fn sum(tool: &str, file: &Path) -> String {
    let output = Command::new(tool).arg("--").arg(file).output().unwrap();
    assert!(output.status.success(), "{tool}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim_start_matches('\\').split(' ').next().unwrap().to_owned()
}

fn find(federation: &Federation, list: &Path, more: &[&str]) -> Run {
    let words = ["find", "--hashes", list.to_str().unwrap(), "--format", "json", "--limit", "1000"];
    federation.operate(&words.iter().chain(more).copied().collect::<Vec<_>>())
}

/// The matches of an answer, as (hash, place, state).
fn matches(answer: &Value) -> BTreeSet<(String, String, String)> {
    let mut rows = BTreeSet::new();
    for one in answer["matches"].as_array().unwrap() {
        let holders = one["holders"].as_array().unwrap();
        assert_eq!(one["files"].as_u64().unwrap(), holders.len() as u64 + one["files_omitted"].as_u64().unwrap());
        for holder in holders {
            let text = |field: &str| holder[field].as_str().unwrap();
            let place = format!("{}/{}/{}", text("site"), text("repository"), text("path"));
            rows.insert((one["hash"].as_str().unwrap().to_owned(), place, text("state").to_owned()));
        }
    }
    rows
}

/// The expected matches among the files of a site, by these tools.
fn expected(federation: &Federation, site: &str, tools: &[&str], list: &str) -> BTreeSet<(String, String, String)> {
    let folder = federation.site(site).folder().to_owned();
    let mut rows = BTreeSet::new();
    for path in contents(&folder).into_keys() {
        let hashes = tools.iter().map(|tool| sum(tool, &folder.join(&path)));
        rows.extend(
            hashes
                .filter(|hash| list.contains(hash.as_str()))
                .map(|hash| (hash, format!("{site}/kb/{}", path.display()), "unchanged".to_owned())),
        );
    }
    rows
}

fn keeping(kinds: &str) -> String {
    format!("[policy]\nfile_hashes = [{kinds}]\n")
}

const TOOLS: [&str; 3] = ["md5sum", "sha1sum", "sha256sum"];

/// Three sites with the same files: one keeps all kinds of hashes, one SHA-256 alone, one none.
fn federation(own_seed: u64) -> (Federation, PathBuf, String) {
    let mut federation = Federation::new(own_seed);
    let dice = &mut federation.dice;
    let (large, small) = (dice.bytes(300_000), dice.bytes(700));
    let files = Files::from([
        ("large.bin".to_owned(), large.clone()),
        ("copies/large again.bin".to_owned(), large),
        ("small.bin".to_owned(), small),
        ("empty".to_owned(), Vec::new()),
        ("other.bin".to_owned(), dice.bytes(10_000)),
    ]);
    federation.add_with("a", None, &files, &keeping("\"md5\", \"sha1\", \"sha256\""));
    federation.add_with("b", None, &files, &keeping("\"sha256\""));
    federation.add("c", &files);
    let known = ["large.bin", "small.bin", "empty"];
    let folder = federation.site("a").folder().to_owned();
    let mut list = String::from("# known files\n");
    for (name, tool) in known.iter().flat_map(|name| TOOLS.map(|tool| (name, tool))) {
        list.push_str(&format!("{}  {name}\n", sum(tool, &folder.join(name))));
    }
    list.push_str(&format!("{}\n", "ab".repeat(32)));
    let file = federation.sandbox.path("known.txt");
    std::fs::write(&file, &list).unwrap();
    federation.sandbox.settle();
    federation.start_all();
    (federation, file, list)
}

#[test]
fn files_are_found_by_their_hashes_and_sites_without_hashes_are_named() {
    let (mut federation, file, list) = federation(1401);
    // Before the first sync nothing is known, and the answer says so.
    let none = find(&federation, &file, &["--site", "a"]).expect(0).json();
    assert_eq!((&none["coverage"][0]["files"], &none["coverage"][0]["synced"]), (&json!(0), &Value::Null));
    federation.scan(&[]).expect(0);
    let answer = find(&federation, &file, &[]).expect(3).json();
    assert_eq!(answer["schema"], "cognate.find-hashes/1");
    let mut all = expected(&federation, "a", &TOOLS, &list);
    assert_eq!(all.len(), 12);
    all.extend(expected(&federation, "b", &["sha256sum"], &list));
    assert_eq!(matches(&answer), all);
    assert_eq!((&answer["hashes"], &answer["hashes_found"], &answer["files"]), (&json!(10), &json!(9), &json!(16)));
    let coverage = answer["coverage"].as_array().unwrap();
    let reasons: Vec<&str> = coverage.iter().map(|row| row["reason"].as_str().unwrap_or_default()).collect();
    assert_eq!(
        reasons,
        [
            "",
            "its site keeps no md5, sha1 of its files (policy.file_hashes)",
            "its site keeps no hashes of files (policy.file_hashes)",
        ]
    );
    assert_eq!(coverage[1]["kinds"], json!(["sha256"]));
    assert_eq!((&coverage[0]["files"], &coverage[0]["files_without"]), (&json!(5), &json!(0)));
    let largest = answer["matches"].as_array().unwrap().iter().find(|one| one["files"] == 4).unwrap();
    assert_eq!(largest["listed_as"], json!(["large.bin"]));
    // Narrowed to who keeps all of them, it is complete; to who keeps none, there is nothing.
    assert_eq!(matches(&find(&federation, &file, &["--site", "a/kb"]).expect(0).json()).len(), 12);
    assert!(find(&federation, &file, &["--site", "c"]).refusal(1).contains("nothing was looked through"));
    // The ledgers have everything that left the sites: nothing from sites that store no hashes.
    let kinds = |site: &str| {
        let rows = federation.worker(site, &["ledger", "summary", "--format", "json"]).expect(0).json();
        let text = rows.to_string();
        (text.contains("file-hash-hits"), text.contains("file-hashes-request"))
    };
    assert_eq!([kinds("a"), kinds("b"), kinds("c")], [(true, true), (true, true), (false, false)]);
    federation.worker("a", &["ledger", "verify"]).expect(0);
    let log = federation.site_mut("a").worker().stderr();
    assert!(log.contains("a query by hashes of files was answered") && log.contains("asked_by"), "{log}");
    // A changed file and a deleted file are reported with their earlier state.
    let folder = federation.site("a").folder().to_owned();
    std::fs::write(folder.join("small.bin"), b"something else").unwrap();
    std::fs::remove_file(folder.join("copies/large again.bin")).unwrap();
    let since = matches(&find(&federation, &file, &["--site", "a"]).expect(0).json());
    let of = |name: &str| -> BTreeSet<&str> {
        since.iter().filter(|row| row.1.ends_with(name)).map(|row| row.2.as_str()).collect()
    };
    assert_eq!(of("small.bin"), BTreeSet::from(["changed"]));
    assert_eq!(of("large again.bin"), BTreeSet::from(["gone"]));
    let text = federation.operate(&["find", "--hashes", file.to_str().unwrap()]).expect(3).text().to_owned();
    for said in ["gone since", "changed since", "c/kb: NOT LOOKED THROUGH", "by sha256 ALONE", "9 of 10 hashes"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    // After the next sync they are known as what they are.
    federation.sandbox.settle();
    federation.scan(&[]).expect(0);
    let after = find(&federation, &file, &["--site", "a"]).expect(0).json();
    assert_eq!(matches(&after), expected(&federation, "a", &TOOLS, &list));
    let csv = federation.operate(&["find", "--hashes", file.to_str().unwrap(), "--format", "csv"]).expect(3);
    assert_eq!(csv.text().lines().count(), 1 + matches(&find(&federation, &file, &[]).expect(3).json()).len());
    let lines =
        federation.operate(&["find", "--hashes", file.to_str().unwrap(), "--format", "ndjson"]).expect(3).lines();
    assert_eq!(lines.iter().filter(|line| line["type"] == "coverage").count(), 3);
}

#[test]
fn a_site_that_begins_to_keep_hashes_says_how_many_files_have_none_yet() {
    let mut federation = Federation::new(1402);
    let files = Files::from([("one".to_owned(), vec![1; 5000]), ("two".to_owned(), vec![2; 5000])]);
    federation.add("a", &files);
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&[]).expect(0);
    let config = federation.site("a").config().to_owned();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace("[[repository]]", "[policy]\nfile_hashes = [\"sha1\"]\n\n[[repository]]");
    std::fs::write(&config, text).unwrap();
    federation.restart_all();
    let list = federation.sandbox.path("list");
    let hash = sum("sha1sum", &federation.site("a").folder().join("one"));
    std::fs::write(&list, format!("{}\n", hash.to_uppercase())).unwrap();
    let before = find(&federation, &list, &[]).expect(3).json();
    assert_eq!((matches(&before).len(), &before["coverage"][0]["files_without"]), (0, &json!(2)));
    // The next sync reads them once for it, and sends nothing new.
    federation.scan(&[]).expect(0);
    let after = find(&federation, &list, &[]).expect(0).json();
    assert_eq!(matches(&after), expected(&federation, "a", &["sha1sum"], &hash));
    assert_eq!((matches(&after).len(), &after["coverage"][0]["files"]), (1, &json!(2)));
    // A scan of texts keeps them of the bytes, too, and so does a restart.
    std::fs::write(federation.site("a").folder().join("three"), b"the text of a third file").unwrap();
    federation.sandbox.settle();
    federation.scan(&["--view", "text"]).expect(0);
    federation.restart_all();
    let third = sum("sha1sum", &federation.site("a").folder().join("three"));
    std::fs::write(&list, &third).unwrap();
    let found = find(&federation, &list, &[]).expect(0).json();
    assert_eq!(matches(&found), expected(&federation, "a", &["sha1sum"], &third));
    // A paused or detached site is not asked, and the answer says so.
    federation.worker("a", &["pause"]).expect(0);
    assert!(find(&federation, &list, &[]).refusal(1).contains("a/kb: its site is paused"));
    federation.worker("a", &["resume"]).expect(0);
    federation.kill("a");
    wait_until("the site is detached", || {
        find(&federation, &list, &[]).stderr.contains("a/kb: its site is not attached")
    });
}

#[test]
fn a_bound_operator_asks_its_own_sites_and_a_viewer_asks_none() {
    let (federation, file, list) = federation(1403);
    federation.scan(&[]).expect(0);
    let bound = federation.person("bert", "analyst", &["--site", "b"]);
    let viewer = federation.person("vera", "viewer", &[]);
    let as_who = |who: &Path, more: &[&str]| {
        let words =
            ["find", "--hashes", file.to_str().unwrap(), "--format", "json", "--operator", who.to_str().unwrap()];
        federation.sandbox.cognate(words.iter().chain(more).copied())
    };
    let answer = as_who(&bound, &[]).expect(3).json();
    assert_eq!(matches(&answer), expected(&federation, "b", &["sha256sum"], &list));
    assert_eq!(answer["coverage"].as_array().unwrap().len(), 1);
    assert!(as_who(&bound, &["--site", "a"]).refusal(1).contains("no repository `a`"));
    assert!(as_who(&viewer, &[]).refusal(14).contains("role"));
}

#[test]
fn an_invalid_list_is_refused_before_any_site_is_asked() {
    let (federation, file, _) = federation(1404);
    let refused = |content: &str, more: &[&str], said: &str| {
        std::fs::write(&file, content).unwrap();
        let error = find(&federation, &file, more).refusal(2);
        assert!(error.contains(said), "{said} in {error}");
    };
    refused("nothing here\n", &[], "line 1: there is no MD5, SHA-1 or SHA-256 in `nothing here`");
    refused("", &[], "there is no hash in it");
    let hash = "ab".repeat(16);
    refused(&hash, &["--view", "text"], "--hashes are of whole files");
    refused(&hash, &["--min-shared-bytes", "4KB"], "--hashes are of whole files");
    refused(&hash, &["--site", "/kb"], "is not SITE or SITE/REPOSITORY");
    std::fs::write(&file, &hash).unwrap();
    assert!(find(&federation, &file, &["--site", "nobody"]).refusal(1).contains("no repository `nobody`"));
    let both = ["find", "x", "--hashes", file.to_str().unwrap()];
    assert!(federation.operate(&both).expect(2).stderr.contains("cannot be used with"));
    // A site decides on the kinds that it stores; an unknown kind is refused at its start.
    let config = federation.site("c").config().to_owned();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("[[repository]]", "[policy]\nfile_hashes = [\"crc32\"]\n\n[[repository]]"))
        .unwrap();
    let refusal = federation.worker("c", &["sync", "kb", "--dry-run", "--out", "/dev/null"]).refusal(2);
    assert!(refusal.contains("policy.file_hashes") && refusal.contains("`crc32`"), "{refusal}");
}
