//! What `fuzzy` and `similarity-index` only propose: in an answer of `find`, in a scan that has it verified, and at sites that
//! do not agree to that.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cognate_integration_tests::{Dice, Federation, Files};
use serde_json::{Value, json};

/// The methods that the sites here allow.
const METHODS: &str = "[policy]\nmethods = [\"tttd\", \"min\", \"fuzzy\", \"similarity-index\"]\n";

/// A text of so many words that begin with these letters.
fn text(dice: &mut Dice, initials: &str, count: usize) -> Vec<String> {
    let initials: Vec<char> = initials.chars().collect();
    let word = |dice: &mut Dice| -> String {
        let first = *dice.pick(&initials);
        let rest = (0..dice.between(4, 8)).map(|_| char::from(b'a' + u8::try_from(dice.below(20)).unwrap()));
        std::iter::once(first).chain(rest).collect()
    };
    let words: Vec<String> = (0..600).map(|_| word(dice)).collect();
    (0..count).map(|_| words[dice.below(words.len())].clone()).collect()
}

/// One word in so many is another word of the same text.
fn edited(dice: &mut Dice, text: &[String], every: usize) -> Vec<String> {
    let mut edited = text.to_vec();
    for place in (every / 2..text.len()).step_by(every) {
        edited[place] = text[dice.below(text.len())].clone();
    }
    edited
}

/// At one site a text and an unrelated one; at the other a copy of it, an edited text, and one of other words and length.
fn planted(dice: &mut Dice) -> [Files; 2] {
    let original = text(dice, "abcdef", 2500);
    let edit = edited(dice, &original, 500);
    let file = |name: &str, text: &[String]| (name.to_owned(), text.join(" ").into_bytes());
    let a = Files::from([file("original.txt", &original), file("other.txt", &text(dice, "mnoprs", 9000))]);
    let unrelated = text(dice, "hiltwm", 9000);
    let b = Files::from([file("copy.txt", &original), file("edited.txt", &edit), file("unrelated.txt", &unrelated)]);
    [a, b]
}

/// Each document that was found of the one that was sought, with what is said of it.
fn found(answer: &Value) -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    for one in answer["documents"][0]["matches"].as_array().unwrap() {
        for holder in one["holders"].as_array().unwrap() {
            let place = format!("{}/{}", holder["site"].as_str().unwrap(), holder["path"].as_str().unwrap());
            rows.insert(place, one.clone());
        }
    }
    rows
}

fn relations(answer: &Value) -> BTreeMap<String, String> {
    found(answer).into_iter().map(|(place, one)| (place, one["relation"].as_str().unwrap().to_owned())).collect()
}

/// The link between two documents of a report; of identical ones, the first speaks for all.
fn link(report: &Value, a: &str, b: &str) -> Option<Value> {
    report["clusters"].as_array().unwrap().iter().find_map(|cluster| {
        let path = |place: &Value| {
            let document = &cluster["documents"][usize::try_from(place.as_u64().unwrap()).unwrap()];
            document["path"].as_str().unwrap().to_owned()
        };
        let ends = |link: &Value| [path(&link["a"]), path(&link["b"])];
        let is_it = |link: &&Value| ends(link) == [a, b] || ends(link) == [b, a];
        cluster["links"].as_array().unwrap().iter().find(is_it).cloned()
    })
}

fn check_find((method, param, named): (&str, &str, &str), verified_by: &str) {
    let mut federation = Federation::new(1120);
    let trees = planted(&mut federation.dice);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, METHODS);
    }
    federation.sandbox.settle();
    federation.start_all();
    let mine = federation.site("a").folder().join("original.txt");
    let mine = mine.to_str().unwrap();
    let under = ["--method", method, "--param", param];
    let find = |more: &[&str]| federation.operate(&[&["find", mine], more].concat());
    // Where no site has an index under the method, nothing was searched, and what makes one is told.
    let told = find(&under).expect(1).text().to_owned();
    let launch = format!("cognate scan launch --repositories a/kb,b/kb --method {method}");
    assert!(told.contains("NOT SEARCHED") && told.contains(&launch), "{told}");
    let report = federation.scan(&[&under[..], &["--min-containment", "0.3"]].concat()).report();
    let proposed = [&under[..], &["--precision", "coarse"]].concat();
    let answer = find(&[&proposed[..], &["--format", "json"]].concat()).expect(0).json();
    assert_eq!((&answer["under"]["method"], &answer["run_lengths"]), (&json!(method), &Value::Null));
    let expected = [("a/original.txt", "identical"), ("b/copy.txt", "identical"), ("b/edited.txt", "candidate")];
    assert_eq!(
        relations(&answer),
        expected.map(|(place, said)| (place.to_owned(), said.to_owned())).into(),
        "{method}"
    );
    // A proposal has no numbers, and no estimate either.
    let edited = &found(&answer)["b/edited.txt"];
    for field in ["shared_bytes", "resemblance", "sought_in_found", "found_in_sought"] {
        assert_eq!(edited[field], Value::Null, "{method} {field}");
    }
    assert_eq!(edited.get("estimated"), None);
    let told = find(&proposed).expect(0).text().to_owned();
    // Methods without a mean chunk are named with what they have.
    assert!(told.contains(&format!("Searched under {method} raw {named}")), "{told}");
    let said = "This method only proposes candidates: check them under another one, such as tttd.";
    assert!(told.contains(said) && !told.contains("unrelated.txt") && !told.contains("estimates"), "{told}");
    // What the same scan proposed was looked at; what it says of the pair has numbers, and by what.
    assert_eq!(report["scan"]["verified_by"], verified_by);
    let edit = link(&report, "original.txt", "edited.txt").or_else(|| link(&report, "copy.txt", "edited.txt"));
    let edit = edit.unwrap_or_else(|| panic!("{method}: the edited text is in no link"));
    assert!(edit["resemblance"].as_f64().unwrap() > 0.3, "{edit}");
    assert_eq!(edit.get("estimated").is_some(), verified_by == "cosine", "{edit}");
    assert_eq!(link(&report, "original.txt", "unrelated.txt"), None);
    if verified_by == "cosine" {
        check_verified(&federation, mine, &under, &edit);
    }
    // A method that samples says how much, and that it is an estimate.
    federation.scan(&["--method", "min", "--param", "n=100"]).expect(0);
    let answer = find(&["--method", "min", "--param", "n=100", "--format", "json"]).expect(0).json();
    let estimated = &found(&answer)["b/edited.txt"];
    assert_eq!((&estimated["estimated"], &estimated["sought_in_found"]), (&json!(true), &Value::Null));
    let [low, high] = [0, 1].map(|end| estimated["intervals"]["resemblance"][end].as_f64().unwrap());
    assert!((low..=high).contains(&estimated["resemblance"].as_f64().unwrap()), "{estimated}");
    assert!(!relations(&answer).contains_key("b/unrelated.txt"));
    let within = estimated["within_tenth"]["resemblance"].as_f64().unwrap();
    let told = find(&["--method", "min", "--param", "n=100"]).expect(0).text().to_owned();
    let said = format!("within 10 points of the truth in {:.1} % of cases", (within * 1000.0).floor() / 10.0);
    assert!(told.contains(&said), "{said}: {told}");
}

/// Indexes of parts of the repositories of all sites.
fn parts(federation: &Federation) -> usize {
    let list = federation.operate(&["repo", "list", "--format", "json"]).expect(0).json();
    let indexes = list.as_array().unwrap().iter().flat_map(|row| row["indexes"].as_array().unwrap());
    indexes.filter(|index| !index["scope"].is_null()).count()
}

/// A find that verifies tells what a scan tells of the same pair.
fn check_verified(federation: &Federation, mine: &str, under: &[&str], edit: &Value) {
    let before = parts(federation);
    let find = |more: &[&str]| federation.operate(&[&["find", mine], under, more].concat());
    let answer = find(&["--format", "json"]).expect(0).json();
    let edited = &found(&answer)["b/edited.txt"];
    assert_eq!((&answer["precision"], &edited["precision"]), (&json!("fine"), &json!("fine")), "{answer}");
    for field in ["resemblance", "estimated", "shared_bytes"] {
        assert_eq!(edited[field], edit[field], "{field}: {edited} {edit}");
    }
    assert_eq!(relations(&answer)["b/edited.txt"], "near");
    assert!(!relations(&answer).contains_key("b/unrelated.txt"));
    // What sites sent for the find alone is gone again.
    assert_eq!(parts(federation), before);
    let told = find(&[]).expect(0).text().to_owned();
    assert!(told.contains("cosine of the angle between the words") && !told.contains("candidate"), "{told}");
    // A threshold counts for what the words say.
    let answer = find(&["--min-containment", "0.9999", "--format", "json"]).expect(0).json();
    assert_eq!(relations(&answer).into_keys().collect::<Vec<_>>(), ["a/original.txt", "b/copy.txt"]);
    assert_eq!(answer["documents"][0]["documents"], 2);
    // So has a stored query.
    federation.operate(&[&["case", "new", "words"], under, &[mine]].concat()).expect(0);
    federation.operate(&["case", "check", "words"]).expect(0);
    let case = federation.operate(&["case", "export", "words"]).expect(0).json();
    assert_eq!(relations(&case["checks"][0]["record"])["b/edited.txt"], "near");
    // Fingerprints in a file have the words if they were asked for.
    let fingerprinted = |more: &[&str]| -> Value {
        let words = [&["fingerprint", "--format", "ndjson"], under, more, &["--", mine]].concat();
        let lines = federation.sandbox.cognate(&words).expect(0).text().to_owned();
        let file = federation.sandbox.path("fingerprints");
        std::fs::write(&file, lines).unwrap();
        let words = ["find", "--fingerprints", file.to_str().unwrap(), "--format", "json"];
        federation.operate(&words).expect(0).json()
    };
    assert_eq!(relations(&fingerprinted(&["--fine"]))["b/edited.txt"], "near");
    let without = fingerprinted(&[]);
    assert_eq!(relations(&without)["b/edited.txt"], "candidate");
    assert!(without["coarse"][0]["reason"].as_str().unwrap().contains("has no words of its document"), "{without}");
}

#[test]
fn what_a_site_that_is_away_would_verify_stays_a_candidate_with_the_reason() {
    let mut federation = Federation::new(1121);
    let trees = planted(&mut federation.dice);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, METHODS);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&[&FUZZY[..], &["--min-containment", "0.3"]].concat()).expect(0);
    let mine = federation.site("a").folder().join("original.txt");
    let words = [&["find", mine.to_str().unwrap()], &FUZZY[..]].concat();
    // A document that has changed since its sync is not what was proposed.
    std::fs::write(federation.site("b").folder().join("edited.txt"), "other words altogether").unwrap();
    let told = federation.operate(&words).expect(0).text().to_owned();
    let said =
        "NOT VERIFIED: 1 match is proposed and no more: b/kb: the document has changed since its last sync, or is gone";
    assert!(told.contains(said), "{told}");
    federation.stop("b");
    let told = federation.operate(&words).expect(0).text().to_owned();
    let said = "NOT VERIFIED: 1 match is proposed and no more: b/kb: its site is not attached";
    assert!(told.contains(said) && told.contains("candidate"), "{told}");
}

#[test]
fn find_under_fuzzy_proposes_the_edited_text_at_the_other_site_and_no_other() {
    check_find(("fuzzy", "k=18,r=3", "k=18,r=3,"), "cosine");
}

#[test]
fn find_under_the_similarity_index_proposes_what_has_about_the_same_number() {
    check_find(("similarity-index", "k=4,hash=unsigned", "way=43B,k=4,"), "tttd");
}

/// A federation of two parties with a key, and the key.
fn of_two_parties(own_seed: u64, policies: [&str; 2]) -> (Federation, PathBuf) {
    let mut federation = Federation::new(own_seed);
    let key = federation.sandbox.path("key");
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let trees = planted(&mut federation.dice);
    for ((name, party), (files, more)) in [("a", "buyer"), ("b", "seller")].into_iter().zip(trees.iter().zip(policies))
    {
        let config = format!("key = \"{}\"\n{METHODS}{more}", key.display());
        federation.add_with(name, Some(party), files, &config);
    }
    federation.sandbox.settle();
    federation.start_all();
    (federation, key)
}

/// What a launch says in the end, with its exit code.
fn launched(federation: &Federation, args: &[&str]) -> (Option<i32>, String) {
    let run = federation.scan(&[args, &["--min-containment", "0.3"]].concat());
    (run.code, format!("{}{}", String::from_utf8_lossy(&run.stdout), run.stderr))
}

const FUZZY: [&str; 6] = ["--view", "raw", "--method", "fuzzy", "--param", "k=18,r=3"];
const INDEX: [&str; 6] = ["--view", "raw", "--method", "similarity-index", "--param", "k=4,hash=unsigned"];
/// What each is refused with.
const NO_TERMS: &str = "policy.term_vectors is false, the scan asks for term vectors across parties";
const NO_INDEXES: &str = "policy.plain_indexes is false, the scan asks for similarity-index, which no key protects";

#[test]
fn across_parties_neither_terms_nor_plain_indexes_leave_a_site_that_was_not_told_to_send_them() {
    let (federation, _) = of_two_parties(1122, ["", ""]);
    for (args, reason) in [(&FUZZY[..], NO_TERMS), (&INDEX[..], NO_INDEXES)] {
        let (code, told) = launched(&federation, args);
        assert!(matches!(code, Some(1 | 3)), "{code:?} {told}");
        for said in ["a/kb", "b/kb", reason] {
            assert!(told.contains(said), "`{said}` is not said: {told}");
        }
        assert!(!told.contains("edited.txt"), "what could not be verified is told: {told}");
    }
    // A site's own books say the same: one index left it, that of the first letters, and none of chosen documents.
    for site in ["a", "b"] {
        let rows = federation.worker(site, &["ledger", "export"]).expect(0).lines();
        let methods: BTreeSet<&str> = rows.iter().filter_map(|row| row["method_id"].as_str()).collect();
        assert_eq!(methods.len(), 1, "{rows:?}");
        assert!(rows.iter().all(|row| row["scope"].is_null()), "{rows:?}");
    }
}

#[test]
fn a_site_that_allows_them_is_read_and_one_that_does_not_is_missing_with_the_reason() {
    let allowed = "term_vectors = true\nplain_indexes = true\n";
    let (federation, key) = of_two_parties(1123, [allowed, allowed]);
    for (args, verified_by) in [(&FUZZY[..], "cosine"), (&INDEX[..], "tttd")] {
        let report = federation.scan(&[args, &["--min-containment", "0.3"]].concat()).report();
        assert_eq!(report["scan"]["verified_by"], verified_by);
        assert!(link(&report, "original.txt", "edited.txt").is_some(), "{verified_by}");
        let mine = federation.site("a").folder().join("original.txt");
        let words = ["find", mine.to_str().unwrap(), "--key", key.to_str().unwrap(), "--format", "json"];
        let answer = federation.operate(&[&words, args].concat()).expect(0).json();
        let expected = if verified_by == "cosine" { "near" } else { "candidate" };
        assert_eq!(relations(&answer)["b/edited.txt"], expected, "{verified_by}");
    }
    let (federation, key) = of_two_parties(1124, [allowed, ""]);
    for (args, reason) in [(&FUZZY[..], NO_TERMS), (&INDEX[..], NO_INDEXES)] {
        let (code, told) = launched(&federation, args);
        assert_eq!(code, Some(3), "{told}");
        assert!(told.contains(reason) && !told.contains("edited.txt"), "{told}");
    }
    // A find asks the same, and is refused with the same reason.
    let mine = federation.site("a").folder().join("original.txt");
    let words = ["find", mine.to_str().unwrap(), "--key", key.to_str().unwrap(), "--format", "json"];
    let answer = federation.operate(&[&words, &FUZZY[..]].concat()).expect(0).json();
    assert_eq!(relations(&answer)["b/edited.txt"], "candidate");
    let coarse = &answer["coarse"][0];
    assert!(coarse["reason"].as_str().unwrap().contains(NO_TERMS) && coarse["refused"] == true, "{coarse}");
}
