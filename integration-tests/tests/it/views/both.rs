//! Scans over bytes and text, and over passages: one report, each document once.

use std::collections::BTreeMap;

use super::*;

const BOTH: &[&str] = &["--view", "both"];

/// Two sites with the same bytes, the same words in other bytes, an edited text, an archive and a picture.
fn offices(seed: u64) -> [Files; 2] {
    let mut dice = Dice::new(seed);
    let [same, words, edited, inside] = [(); 4].map(|()| paragraphs(&mut dice, 20));
    let mut version = edited.clone();
    version[9] = super::words(&mut dice, 60);
    let picture = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &dice.bytes(3000)].concat();
    let file = |path: &str, bytes: Vec<u8>| (path.to_owned(), bytes);
    let a = [
        file("all.tar", tar(&[("inside.txt", &broken_text(&inside))])),
        file("edited.html", html(&edited)),
        file("picture.png", picture.clone()),
        file("same.txt", broken_text(&same)),
        file("words.html", html(&words)),
    ];
    let b = [
        file("copy.txt", broken_text(&same)),
        file("edited.txt", broken_text(&version)),
        file("inside.html", html(&inside)),
        file("picture.png", picture),
        file("words.txt", broken_text(&words)),
    ];
    [a.into(), b.into()]
}

fn sites(seed: u64) -> Sites {
    let sandbox = Sandbox::new();
    let [a, b] = offices(seed);
    let (a, b) = (sandbox.tree("a", &a), sandbox.tree("b", &b));
    Sites { sandbox, a, b }
}

impl Sites {
    fn shown(&self, args: &[&str]) -> String {
        let folders = ["a", "b"].map(|name| format!("{name}={}", self.sandbox.path(name).display()));
        let words = ["compare"].iter().copied().chain(folders.iter().map(String::as_str)).chain(args.iter().copied());
        self.sandbox.cognate(words).expect(0).text().to_owned()
    }
}

/// The status of every document, from the lines of NDJSON.
fn statuses(lines: &str) -> BTreeMap<String, String> {
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let documents: Vec<Value> = rows.filter(|row| row["type"] == "document").collect();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    let by_place: BTreeMap<_, _> = documents
        .iter()
        .map(|row| (format!("{}/{}", text(row, "site"), text(row, "path")), text(row, "status")))
        .collect();
    assert_eq!(by_place.len(), documents.len(), "each occurs once");
    by_place
}

#[test]
fn bytes_and_text_are_in_one_report_and_each_document_has_one_status() {
    let sites = sites(21);
    let report = sites.report(BOTH);
    assert_eq!(report["scan"]["view"], "both");
    let layers = json!([
        {"view": "raw", "chunk_bytes": 1000, "min_shared_bytes": 16384},
        {"view": "text", "chunk_bytes": 200, "min_shared_bytes": 2048},
    ]);
    assert_eq!(report["scan"]["layers"], layers);
    let tiers: Vec<_> =
        report["identical"].as_array().unwrap().iter().map(|set| (&set["tier"], &set["view"])).collect();
    let [bytes, text] = [(&json!("same bytes"), &json!("raw")), (&json!("same text"), &json!("text"))];
    assert_eq!(tiers, [bytes, bytes, text, text]);
    let mut sets = paths(&report, "identical");
    sets.sort();
    assert_eq!(
        sets,
        [
            ["a/all.tar!/inside.txt", "b/inside.html"],
            ["a/picture.png", "b/picture.png"],
            ["a/same.txt", "b/copy.txt"],
            ["a/words.html", "b/words.txt"],
        ]
    );
    assert_eq!(paths(&report, "clusters"), [["a/edited.html", "b/edited.txt"]]);
    assert_eq!(report["clusters"][0]["view"], "text");
    let expected = [
        ("a/all.tar", "unique"),
        ("a/all.tar!/inside.txt", "identical"),
        ("a/edited.html", "near"),
        ("a/picture.png", "identical"),
        ("a/same.txt", "identical"),
        ("a/words.html", "identical"),
        ("b/copy.txt", "identical"),
        ("b/edited.txt", "near"),
        ("b/inside.html", "identical"),
        ("b/picture.png", "identical"),
        ("b/words.txt", "identical"),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(path, status)| (path.to_owned(), status.to_owned())).into();
    assert_eq!(statuses(&sites.shown(&["--view", "both", "--format", "ndjson"])), expected);
    for site in report["sites"].as_array().unwrap() {
        let counts = site["status"].as_object().unwrap().values().map(|count| count.as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), site["documents"], "{site}");
    }
    assert_eq!((&report["sites"][0]["members"], &report["sites"][0]["no_text"]), (&json!(1), &json!(1)));
}

#[test]
fn equal_bytes_are_listed_before_equal_text() {
    let sites = sites(22);
    let text = sites.shown(BOTH);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in\n{text}"));
    let [bytes, words] = ["the same bytes: 2 sets", "the same text in other bytes: 2 sets"].map(place);
    assert!(bytes < words, "{text}");
    place("a: all.tar!/inside.txt");
    place("1 document inside of archives and messages");
    // A copy elsewhere was moved, in whichever view it is one.
    let row = |shown: &str, name: &str| -> Vec<u64> {
        let line = shown.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} in\n{shown}"));
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    assert_eq!(row(&text, "(in the root itself)"), [1, 0, 3, 1, 0]);
    // As bytes, a page and a text with the same words share these.
    assert_eq!(row(&sites.shown(&[]), "(all)"), [1, 0, 4, 0, 0]);
}

#[test]
fn passages_are_compared_each_for_itself_and_shown_by_their_numbers() {
    let mut dice = Dice::new(23);
    let text = paragraphs(&mut dice, 9);
    let other: Vec<String> = [paragraphs(&mut dice, 4), vec![text[6].clone()]].concat();
    let sites = Sites::new(&[("essay.html", &html(&text))], &[("answer.txt", &broken_text(&other))]);
    let report = sites.report(&["--view", "text", "--passages"]);
    assert_eq!((&report["scan"]["view"], &report["scan"]["passages"]), (&json!("text"), &json!(true)));
    assert_eq!(paths(&report, "identical"), [["a/essay.html!/#7", "b/answer.txt!/#5"]]);
    assert_eq!((&report["sites"][0]["passages"], &report["sites"][0]["documents"]), (&json!(9), &json!(10)));
    let shown = sites.shown(&["--view", "text", "--passages"]);
    for part in ["a: essay.html ¶7", "b: answer.txt ¶5", "MOVED OR COPIED DOCUMENTS: 1", "1 of 9"] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
}

#[test]
fn a_second_run_over_both_views_reads_nothing_and_one_without_a_sync_says_the_same() {
    let sites = sites(24);
    sites.sandbox.settle();
    let args = |more: &[&'static str]| [&["--view", "both", "--state", "state"], more].concat();
    let first = sites.report(&args(&[]));
    assert!(run_of(&first, "read_bytes").iter().all(|bytes| *bytes > 0));
    let second = sites.report(&args(&[]));
    assert_eq!(run_of(&second, "read_bytes"), [0, 0]);
    let unsynced = sites.report(&args(&["--no-sync"]));
    assert_eq!(comparable(&second), comparable(&first));
    assert_eq!(comparable(&unsynced), comparable(&first));
}

#[test]
fn a_federation_reports_both_views_like_one_process_and_names_a_site_that_allows_one() {
    let mut federation = Federation::new(25);
    let [a, b] = offices(25);
    federation.add("a", &a);
    federation.add("b", &b);
    federation.start_all();
    federation.check(federation.scan(BOTH), BOTH);
    let shown = federation.operate(&["scan", "show", "latest", "--format", "json"]).expect(0).json();
    assert_eq!((&shown["view"], &shown["text"]["chunk_bytes"]), (&json!("both"), &json!(200)));
    // A refinement is of one view.
    let refused = federation.operate(&["scan", "launch", "--refine", "latest", "--view", "both", "--yes"]).refusal(2);
    assert!(refused.contains("one view"), "{refused}");
    federation.add_with("c", None, &b, "[policy]\nviews = [\"raw\"]\n");
    federation.start("c");
    federation.wait_attached("c");
    let report = federation.scan(BOTH).expect(3).json();
    let missing = &report["scan"]["missing"][0];
    assert_eq!((&missing["site"], report["sites"].as_array().unwrap().len()), (&json!("c"), 2));
    let reason = missing["reason"].as_str().unwrap();
    assert!(reason.starts_with("view text: ") && reason.contains("policy.views"), "{reason}");
}

#[test]
fn a_size_selects_files_of_a_text_scan_whatever_an_earlier_scan_sent() {
    let mut dice = Dice::new(31);
    let [small, large, inside] = [10, 80, 10].map(|count| paragraphs(&mut dice, count));
    // The archive is large, and its member is small.
    let padded = tar(&[("inside.txt", &broken_text(&inside)), ("padding.bin", &dice.bytes(60_000))]);
    let a: &[(&str, &[u8])] =
        &[("all.tar", &padded), ("large.txt", &broken_text(&large)), ("small.txt", &broken_text(&small))];
    let b: &[(&str, &[u8])] = &[
        ("inside.html", &html(&inside)),
        ("large.html", &[html(&large), vec![b' '; 60_000]].concat()),
        ("small.html", &html(&small)),
    ];
    let sites = Sites::new(a, b);
    sites.sandbox.settle();
    let state = sites.sandbox.path("state").display().to_string();
    let report = |args: &[&str]| sites.report(&[&["--state", &state, "--view", "text"], args].concat());
    let all = report(&[]);
    assert_eq!(paths(&all, "identical").len(), 3, "{all}");
    let narrowed = report(&["--size-max", "20KB"]);
    assert_eq!(paths(&narrowed, "identical"), [["a/small.txt", "b/small.html"]]);
    // The rows of large files have left the indexes. They come back without reading the files.
    let again = report(&[]);
    assert_eq!(paths(&again, "identical"), paths(&all, "identical"));
    assert_eq!(run_of(&again, "read_bytes"), [0, 0]);
}
