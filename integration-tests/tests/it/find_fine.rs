//! Fine figures of finds, watches and cases: an edited document is found with its true share, and what no site gave fine chunks
//! of is said to be of whole chunks.

use std::path::{Path, PathBuf};

use cognate_integration_tests::tree::{Files, versions};
use cognate_integration_tests::{Dice, Federation};
use serde_json::{Value, json};

use crate::fine::{fine_bytes, truth};
use crate::hook::listener;

/// A document, an edited version of it with a part in common, and one that has nothing to do with them.
struct Documents {
    sought: String,
    edited: String,
    other: String,
}

fn documents(seed: u64) -> Documents {
    let mut dice = Dice::new(seed);
    let [sought, edited] = versions(&mut dice);
    // Four chunks or so are in both.
    let common: String = (0..310).map(|_| format!("{:x} ", dice.below(1 << 48))).collect();
    let other = (0..3000).map(|_| format!("{:x} ", dice.below(1 << 30))).collect();
    Documents { sought: format!("{common}\n{sought}"), edited: format!("{common}\n{edited}"), other }
}

fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

/// Two sites, of which b has the edited version; and the file that is searched for.
fn federation(seed: u64, policy_of_b: &str) -> (Federation, Documents, PathBuf) {
    let mut federation = Federation::new(seed);
    let all = documents(seed);
    federation.add("a", &files(&[("other.txt", &all.other)]));
    federation.add_with("b", None, &files(&[("edited.txt", &all.edited), ("other.txt", &all.other)]), policy_of_b);
    let mine = federation.sandbox.folder("mine", &[("sought.txt", all.sought.as_bytes())]).join("sought.txt");
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--view", "raw", "--precision", "coarse"]).expect(0);
    (federation, all, mine)
}

fn find(federation: &Federation, file: &Path, more: &[&str]) -> Value {
    let words = ["find", file.to_str().unwrap(), "--format", "json"];
    federation.operate(&[&words[..], more].concat()).expect(0).json()
}

/// The one match of an answer about one document.
#[track_caller]
fn only_match(answer: &Value) -> &Value {
    let matches = answer["documents"][0]["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 1, "{answer}");
    &matches[0]
}

fn share(one: &Value) -> f64 {
    one["sought_in_found"].as_f64().unwrap()
}

#[test]
fn an_edited_document_is_found_with_its_true_share_and_its_site_has_the_question_in_its_ledger() {
    let (federation, all, mine) = federation(1161, "");
    let coarse = find(&federation, &mine, &["--precision", "coarse"]);
    let one = only_match(&coarse);
    assert!(share(one) < 0.3 && one["relation"] == "shares", "{one}");
    assert_eq!(
        (&coarse["precision"], &one["precision"], &one["coarse"]),
        (&json!("coarse"), &json!("coarse"), &Value::Null)
    );
    assert_eq!(fine_bytes(&federation, "b"), None, "no site is asked");
    let answer = find(&federation, &mine, &[]);
    let one = only_match(&answer);
    let true_share = truth(all.sought.as_bytes(), all.edited.as_bytes());
    assert!(share(one) <= true_share && true_share - share(one) < 0.04, "{} of {true_share}", share(one));
    assert_eq!(
        (&one["relation"], &one["precision"], &answer["precision"]),
        (&json!("near"), &json!("fine"), &json!("fine"))
    );
    assert_eq!(answer["coarse"], Value::Null);
    assert!(fine_bytes(&federation, "b").unwrap() > 5_000 && fine_bytes(&federation, "a").is_none());
    federation.worker("b", &["ledger", "verify"]).expect(0);
    // The thresholds are of the fine figures.
    assert_eq!(find(&federation, &mine, &["--min-containment", "0.8"])["documents"][0]["documents"], 1);
    let coarse = find(&federation, &mine, &["--min-containment", "0.8", "--precision", "coarse"]);
    assert_eq!(coarse["documents"][0]["documents"], 0);
    // Fingerprints that were made elsewhere say the same.
    let lines = |fine: &[&str]| {
        let words = ["fingerprint", "--chunk-bytes", "1000", "--format", "ndjson"];
        let words = [&words[..], fine, &["--", mine.to_str().unwrap()]].concat();
        let file = mine.with_file_name("lines.ndjson");
        std::fs::write(&file, federation.sandbox.cognate(words).expect(0).text()).unwrap();
        let words = ["find", "--fingerprints", file.to_str().unwrap(), "--format", "json"];
        federation.operate(&words).expect(0).json()
    };
    assert_eq!(lines(&["--fine"]), answer);
    let without = lines(&[]);
    assert_eq!(only_match(&without)["precision"], "coarse");
    assert!(without["coarse"][0]["reason"].as_str().unwrap().contains("no fine chunks"), "{without}");
}

#[test]
fn a_find_and_the_report_of_a_scan_measure_the_same_pair_alike() {
    let mut federation = Federation::new(1162);
    let all = documents(1162);
    federation.add("a", &files(&[("sought.txt", &all.sought)]));
    federation.add("b", &files(&[("edited.txt", &all.edited)]));
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&["--view", "raw"]).report();
    let cluster = &report["clusters"][0];
    assert_eq!(cluster["documents"][0]["path"], "sought.txt", "{cluster}");
    let link = &cluster["links"][0];
    let answer = find(&federation, &federation.site("a").folder().join("sought.txt"), &["--site", "b"]);
    let one = only_match(&answer);
    for (of_link, of_match) in [
        ("shared_bytes", "shared_bytes"),
        ("resemblance", "resemblance"),
        ("a_in_b", "sought_in_found"),
        ("b_in_a", "found_in_sought"),
        ("relation", "relation"),
    ] {
        assert_eq!(link[of_link], one[of_match], "{link} and {one}");
    }
}

#[test]
fn a_site_that_refuses_is_named_and_its_match_is_of_whole_chunks() {
    let (federation, _, mine) = federation(1163, "[policy]\nfine = \"never\"\n");
    let answer = find(&federation, &mine, &[]);
    let one = only_match(&answer);
    assert!(share(one) < 0.3 && one["precision"] == "coarse", "{one}");
    let row = &answer["coarse"][0];
    assert_eq!(
        (&row["site"], &row["repository"], &row["refused"]),
        (&json!("b"), &json!("kb"), &json!(true)),
        "{answer}"
    );
    assert!(row["reason"].as_str().unwrap().contains("policy.fine is never"), "{row}");
    let text = federation.operate(&["find", mine.to_str().unwrap()]).expect(0);
    assert!(text.text().contains("COARSE: 1 match is measured by whole chunks alone: b/kb: "), "{}", text.text());
    // A candidate that is below the threshold is counted as well.
    let answer = find(&federation, &mine, &["--min-containment", "0.8"]);
    assert_eq!((&answer["documents"][0]["documents"], &answer["coarse"][0]["matches"]), (&json!(0), &json!(1)));
}

#[test]
fn an_absent_site_and_a_document_that_has_changed_keep_no_find_waiting() {
    let (mut federation, all, mine) = federation(1164, "");
    std::fs::write(federation.site("b").folder().join("edited.txt"), all.edited.replace(' ', "_")).unwrap();
    let began = std::time::Instant::now();
    let answer = find(&federation, &mine, &[]);
    assert!(answer["coarse"][0]["reason"].as_str().unwrap().contains("has changed"), "{answer}");
    federation.stop("b");
    let answer = find(&federation, &mine, &[]);
    assert_eq!((&only_match(&answer)["precision"], &answer["precision"]), (&json!("coarse"), &json!("coarse")));
    let row = &answer["coarse"][0];
    assert_eq!((&row["site"], &row["refused"]), (&json!("b"), &Value::Null), "{answer}");
    assert!(row["reason"].as_str().unwrap().contains("not attached"), "{row}");
    assert!(began.elapsed().as_secs() < 50, "it did not wait for the site");
    assert_eq!(only_match(&answer)["holders"][0]["path"], "edited.txt");
}

#[test]
fn a_watch_reports_an_edited_document_by_its_true_share_and_a_case_keeps_the_precision() {
    let mut federation = Federation::new(1165);
    let all = documents(1165);
    federation.add("a", &files(&[("other.txt", &all.other)]));
    federation.add_with("b", None, &files(&[("other.txt", &all.other)]), "[policy]\nfine = \"never\"\n");
    let mine = federation.sandbox.folder("mine", &[("sought.txt", all.sought.as_bytes())]).join("sought.txt");
    federation.sandbox.settle();
    federation.start_all();
    let scan = ["--view", "raw", "--precision", "coarse"];
    federation.scan(&scan).expect(0);
    let (address, heard) = listener();
    let mine = mine.to_str().unwrap();
    for (name, more) in [("true", &["--min-containment", "0.8"][..]), ("any", &[])] {
        let words = ["watch", "add", name, mine, "--webhook", &address];
        assert!(federation.operate(&[&words[..], more].concat()).expect(0).text().contains("0 documents match now"));
    }
    std::fs::write(federation.site("a").folder().join("edited.txt"), &all.edited).unwrap();
    std::fs::write(federation.site("b").folder().join("edited.txt"), &all.edited).unwrap();
    federation.sandbox.settle();
    federation.scan(&scan).expect(0);
    let mut notices: Vec<Value> =
        (0..3).map(|_| heard.recv_timeout(std::time::Duration::from_secs(60)).unwrap()).collect();
    notices.sort_by_key(|notice| (notice["watch"].to_string(), notice["site"].to_string()));
    let document = |relation: &str, precision: &str| json!([{"path": "edited.txt", "relation": relation, "precision": precision, "sought": mine}]);
    // By whole chunks the one at b is below the threshold.
    let [any_a, any_b, true_a] = notices.as_slice() else { panic!("{notices:?}") };
    assert_eq!((&any_a["watch"], &any_a["site"], &any_a["precision"]), (&json!("any"), &json!("a"), &json!("fine")));
    assert_eq!((&any_a["documents"], &any_a["coarse"]), (&document("near", "fine"), &Value::Null));
    assert_eq!((&any_b["site"], &any_b["precision"]), (&json!("b"), &json!("coarse")));
    assert_eq!(any_b["documents"], document("shares", "coarse"));
    assert!(
        any_b["coarse"][0]
            .as_str()
            .is_some_and(|row| row.starts_with("b/kb: ") && row.contains("policy.fine is never")),
        "{any_b}"
    );
    assert_eq!(
        (&true_a["watch"], &true_a["site"], &true_a["documents"]),
        (&json!("true"), &json!("a"), &document("near", "fine"))
    );
    federation.operate(&["case", "new", "leak", mine]).expect(0);
    let case = federation.operate(&["case", "export", "leak"]).expect(0).json();
    let record = &case["checks"][0]["record"];
    let precisions: Vec<&Value> =
        record["documents"][0]["matches"].as_array().unwrap().iter().map(|one| &one["precision"]).collect();
    assert_eq!((precisions, &record["precision"]), (vec![&json!("fine")], &json!("fine")), "a copy at a gives them");
}

/// Words that no other text has.
fn words(dice: &mut Dice, bytes: usize) -> String {
    let mut words: String = (0..bytes / 7).map(|_| format!("{:06x} ", dice.below(1 << 24))).collect();
    words.truncate(bytes);
    words
}

/// The text with another letter at every place that is a multiple of `step`.
fn edited(text: &str, step: usize) -> String {
    text.chars().enumerate().map(|(place, letter)| if place % step == 0 { '#' } else { letter }).collect()
}

#[test]
fn an_excerpt_in_a_longer_text_and_an_edit_in_every_sixty_bytes_are_found_though_no_chunk_is_in_common() {
    let mut federation = Federation::new(1167);
    let dice = &mut federation.dice;
    let theirs: Vec<String> = (0..24).map(|number| words(dice, 6_000 + 1_000 * number)).collect();
    let around = |text: &str, dice: &mut Dice| [words(dice, 9_000), text.to_owned(), words(dice, 9_000)].concat();
    let mut mine: Vec<(String, String)> = Vec::new();
    for (number, text) in theirs.iter().enumerate() {
        mine.push((format!("edited-{number:02}"), edited(text, 60)));
        mine.push((format!("excerpt-{number:02}"), around(&edited(&text[2_000..4_500], 250), dice)));
    }
    let named: Vec<(String, &str)> =
        (0..).zip(&theirs).map(|(number, text)| (format!("{number:02}"), &**text)).collect();
    let of_a: Vec<(&str, &str)> = named.iter().map(|(path, text)| (&**path, *text)).collect();
    federation.add("a", &files(&of_a));
    let queried: Vec<(&str, &[u8])> = mine.iter().map(|(path, text)| (&**path, text.as_bytes())).collect();
    let folder = federation.sandbox.folder("mine", &queried);
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--view", "raw", "--precision", "coarse"]).expect(0);
    let paths: Vec<PathBuf> = mine.iter().map(|(path, _)| folder.join(path)).collect();
    let asked = |precision: &str| {
        let files = paths.iter().map(|path| path.to_str().unwrap());
        let words: Vec<&str> =
            ["find", "--format", "json", "--precision", precision].into_iter().chain(files).collect();
        federation.operate(&words).expect(0).json()
    };
    let (coarse, fine) = (asked("coarse"), asked("fine"));
    for (place, (path, text)) in mine.iter().enumerate() {
        let of_whole_chunks = &coarse["documents"][place]["matches"];
        assert_eq!(of_whole_chunks.as_array().unwrap().len(), 0, "{path}");
        let matches = fine["documents"][place]["matches"].as_array().unwrap();
        assert_eq!(matches.len(), 1, "{path}: {matches:?}");
        assert_eq!(matches[0]["holders"][0]["path"], path[path.len() - 2..], "{path}");
        let true_share = truth(text.as_bytes(), theirs[place / 2].as_bytes());
        let share = share(&matches[0]);
        assert!(share <= true_share + 0.005 && share > 0.6 * true_share, "{path}: {share} of {true_share}");
    }
}

#[test]
fn a_passage_of_a_document_and_the_original_of_an_edited_one_are_found_in_a_crowd() {
    let mut federation = Federation::new(1168);
    let dice = &mut federation.dice;
    // Sixty documents that share most of their text, and one more with a passage of its own.
    let common = words(dice, 12_000);
    let (first, second) = common.split_at(6_000);
    let mut theirs: Vec<(String, String)> = (0..60)
        .map(|number| (format!("of the crowd {number:02}"), [first, &words(dice, 2_000), second].concat()))
        .collect();
    let alone = words(dice, 20_000);
    let with_passage =
        [first, &words(dice, 1_000), &edited(&alone[5_000..7_500], 250), &words(dice, 1_000), second].concat();
    let of_last = edited(&theirs[59].1, 300);
    theirs.push(("alone".to_owned(), alone));
    let of_a: Vec<(&str, &str)> = theirs.iter().map(|(path, text)| (&**path, &**text)).collect();
    federation.add("a", &files(&of_a));
    let mine: [(&str, &[u8]); 2] = [("passage", with_passage.as_bytes()), ("version", of_last.as_bytes())];
    let folder = federation.sandbox.folder("mine", &mine);
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--view", "raw"]).expect(0);
    for (file, wanted) in [("passage", "alone"), ("version", "of the crowd 59")] {
        let path = folder.join(file);
        let answer = federation.operate(&["find", "--format", "json", path.to_str().unwrap()]).expect(0).json();
        let matches = answer["documents"][0]["matches"].as_array().unwrap();
        let is_wanted = |one: &&Value| one["holders"][0]["path"] == wanted;
        let found = matches.iter().find(is_wanted).unwrap_or_else(|| panic!("{file}: {matches:?}"));
        assert_eq!(found["precision"], "fine", "{found}");
        assert!(file == "passage" || is_wanted(&&matches[0]), "the original comes first: {matches:?}");
    }
}
