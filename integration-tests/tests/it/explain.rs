//! The common parts of two documents: from the coordinator, from the files themselves, and from each site for its own.

use std::path::PathBuf;

use cognate_integration_tests::tree::{self, Files};
use cognate_integration_tests::{Dice, Federation, Sandbox, sandbox};
use serde_json::{Value, json};

/// Lines that no two numbers share.
fn lines(from: u64, to: u64) -> String {
    let line = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{number}: {mixed:x} {:x} {:x}\n", mixed.rotate_left(23) ^ number, mixed.wrapping_mul(number | 1))
    };
    (from..to).map(line).collect()
}

/// A document and another one into which a line came, from which some went, and of which one was changed.
fn versions() -> (String, String) {
    let old = lines(0, 2_000);
    let new = format!("{}{}{}", lines(0, 700), "a new line that nobody had\n", lines(760, 2_000));
    (old, new.replace("1500: ", "fifteen hundred: "))
}

fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

/// Checks that the bytes at the reported places are as many as reported, and equal in both documents: of whole chunks all of
/// them, of fine chunks all but a few at the ends of runs.
#[track_caller]
fn check_places(pair: &Value, old: &str, new: &str) {
    let shared = pair["shared"].as_array().unwrap();
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let (mut total, mut equal) = (0, 0);
    for run in shared {
        let (a, b, length) = (number(&run["offset_a"]), number(&run["offset_b"]), number(&run["length_bytes"]));
        let (of_a, of_b) = (&old.as_bytes()[a..a + length], &new.as_bytes()[b..b + length]);
        equal += of_a.iter().zip(of_b).filter(|(a, b)| a == b).count();
        total += length;
    }
    assert_eq!(number(&pair["shared_bytes"]), total);
    assert!(total * 10 > old.len() * 8, "{pair}");
    let least = if pair["precision"] == "fine" { total - total / 50 } else { total };
    assert!(equal >= least, "{equal} of {total} bytes are equal: {pair}");
}

#[test]
fn two_local_files_give_places_and_the_exact_difference() {
    let sandbox = Sandbox::new();
    let (old, new) = versions();
    let a = sandbox.tree("a", &files(&[("guide.txt", &old), ("plain.txt", "x")]));
    let b = sandbox.tree("b", &files(&[("kept/guide.txt", &new)]));
    let result = sandbox.path("result.sqlite");
    let result = result.to_str().unwrap();
    let folders = [("a", a.as_path()), ("b", b.as_path())];
    let coarse = ["--precision", "coarse", "--format", "sqlite", "-o", result];
    sandbox.cognate(sandbox::compare_args(&folders, &coarse)).expect(0);
    let explain =
        |more: &[&str]| sandbox.cognate([&["explain", result, "a/guide.txt", "b/main: kept/guide.txt"], more].concat());
    let plain = explain(&["--format", "json"]).expect(0).json();
    assert_eq!(plain["schema"], "cognate.explain/1");
    assert_eq!((&plain["views"][0]["relation"], &plain["views"][0]["linked"]), (&"near".into(), &true.into()));
    assert!(plain["views"][0]["unplaced"].as_str().unwrap().contains("--files"));
    let (left, right) = (a.join("guide.txt"), b.join("kept/guide.txt"));
    let at_hand = ["--files", left.to_str().unwrap(), right.to_str().unwrap()];
    let answer = explain(&[&at_hand[..], &["--format", "json"]].concat()).expect(0).json();
    check_places(&answer["views"][0], &old, &new);
    assert_eq!(answer["views"][0]["precision"], "coarse");
    let difference = &answer["difference"];
    assert_eq!((&difference["only_a"], &difference["only_b"]), (&61.into(), &2.into()), "{difference}");
    let shown = explain(&at_hand).expect(0);
    for said in ["█", "+a new line that nobody had", "[-1500-]", "{+fifteen hundred+}", "in common"] {
        assert!(shown.text().contains(said), "{said}: {}", shown.text());
    }
    // Another file than the one that was scanned is refused.
    let wrong = ["--files", right.to_str().unwrap(), left.to_str().unwrap()];
    assert!(explain(&wrong).refusal(2).contains("is not the document of the scan"));
    assert!(sandbox.cognate(["explain", result, "a/none", "b/none"]).refusal(1).contains("a/none"));
}

#[test]
fn bytes_that_are_no_text_differ_by_their_places() {
    let sandbox = Sandbox::new();
    let old: Vec<u8> =
        (0..40_000u64).map(|n| u8::try_from((n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) & 0xff).unwrap()).collect();
    let mut new = old.clone();
    new[20_000] ^= 0xff;
    let tree = |name: &str, bytes: &[u8]| sandbox.folder(name, &[("image.bin", bytes)]);
    let (a, b) = (tree("a", &old), tree("b", &new));
    let result = sandbox.path("result.sqlite");
    let result = result.to_str().unwrap();
    let folders = [("a", a.as_path()), ("b", b.as_path())];
    sandbox.cognate(sandbox::compare_args(&folders, &["--format", "sqlite", "-o", result])).expect(0);
    let (left, right) = (a.join("image.bin"), b.join("image.bin"));
    let args = ["explain", result, "a/image.bin", "b/image.bin", "--format", "json", "--files"];
    let answer =
        sandbox.cognate([&args[..], &[left.to_str().unwrap(), right.to_str().unwrap()]].concat()).expect(0).json();
    let difference = &answer["difference"];
    assert_eq!((&difference["of"], &difference["hunks"][0]["start_a"]), (&"bytes".into(), &20_000.into()));
    assert_eq!((&difference["only_a"], difference["hunks"].as_array().unwrap().len()), (&1.into(), 1));
}

#[test]
fn the_coordinator_reports_the_places_and_each_site_shows_its_own_text() {
    let mut federation = Federation::new(0x4e9a);
    let (old, new) = versions();
    federation.add("paris", &files(&[("guide.txt", &old)]));
    federation.add("tokyo", &files(&[("old/guide.txt", &new)]));
    federation.start_all();
    federation.scan(&[]).expect(0);
    let (a, b) = ("paris/kb/guide.txt", "tokyo/kb/old/guide.txt");
    let answer = federation.operate(&["explain", "latest", a, b, "--format", "json"]).expect(0);
    let explained = answer.json();
    check_places(&explained["views"][0], &old, &new);
    let file: PathBuf = federation.coordinator_state().with_file_name("explained.json");
    std::fs::write(&file, explained.to_string()).unwrap();
    let shown = federation.worker("paris", &["explain", file.to_str().unwrap(), "--site", "paris"]).expect(0);
    assert!(shown.text().contains("at byte") && shown.text().contains("│ 0: "), "{}", shown.text());
    assert!(!shown.text().contains("nobody had"), "a site shows what both have: {}", shown.text());
    let other = federation.worker("tokyo", &["explain", file.to_str().unwrap(), "--site", "tokyo"]).expect(0);
    assert!(other.text().contains("tokyo") && !other.text().contains("nobody had"), "{}", other.text());
}

/// The figures of a pair that a report and an explanation have.
fn figures(row: &Value) -> Value {
    let fields = ["shared_bytes", "resemblance", "a_in_b", "b_in_a", "relation"];
    fields.into_iter().map(|field| (field.to_owned(), row[field].clone())).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn the_figures_of_an_explanation_are_those_of_the_report_and_what_is_drawn_was_counted() {
    let mut federation = Federation::new(0x4e9b);
    let mut dice = Dice::new(0x4e9b);
    let [old, new] = tree::versions(&mut dice);
    federation.add("paris", &files(&[("guide.txt", &old)]));
    federation.add("tokyo", &files(&[("guide.txt", &new)]));
    federation.sandbox.settle();
    federation.start_all();
    let first = federation.scan(&["--view", "raw"]).report();
    let link = &first["clusters"][0]["links"][0];
    assert!(link["a_in_b"].as_f64().unwrap() > 0.9, "{first}");
    let (a, b) = ("paris/kb/guide.txt", "tokyo/kb/guide.txt");
    let explained = |scan: &str, more: &[&str]| {
        let words = ["explain", scan, a, b, "--format", "json"];
        federation.operate(&[&words[..], more].concat()).expect(0).json()
    };
    let id = first["scan"]["id"].as_str().unwrap();
    let answer = explained(id, &[]);
    let pair = &answer["views"][0];
    assert_eq!((figures(pair), &pair["precision"]), (figures(link), &json!("fine")));
    check_places(pair, &old, &new);
    assert!(pair["shared"].as_array().unwrap().len() > 20, "there are many runs: {pair}");
    // Both files at hand give the same, and a site shows its own text at these places.
    let [left, right] = ["paris", "tokyo"].map(|site| federation.site(site).folder().join("guide.txt"));
    let by_files = explained(id, &["--files", left.to_str().unwrap(), right.to_str().unwrap()]);
    assert_eq!(by_files["views"][0], *pair);
    let file = federation.sandbox.path("explained.json");
    std::fs::write(&file, answer.to_string()).unwrap();
    let shown = federation.worker("paris", &["explain", file.to_str().unwrap(), "--site", "paris"]).expect(0);
    assert!(shown.text().contains("at byte") && shown.text().contains(&old[..60]), "{}", shown.text());
    // The figures of an earlier scan stay when a later one has taken over its fine chunks.
    federation.scan(&["--view", "raw"]).expect(0);
    assert_eq!(explained(id, &[])["views"][0], *pair);
    // A scan of whole chunks has no link, and says why nothing more is known.
    federation.scan(&["--view", "raw", "--precision", "coarse"]).expect(0);
    let coarse = explained("latest", &[]);
    let coarse = &coarse["views"][0];
    assert_eq!((&coarse["precision"], &coarse["linked"]), (&json!("coarse"), &json!(false)));
    let whole_chunks = coarse["shared_bytes"].as_u64().unwrap();
    assert!(4 * whole_chunks < pair["shared_bytes"].as_u64().unwrap(), "{coarse}");
    assert!(coarse["coarse_reason"].as_str().unwrap().contains("whole chunks alone"), "{coarse}");
}

#[test]
fn a_pair_whose_fine_chunks_a_site_did_not_give_is_of_whole_chunks() {
    let mut federation = Federation::new(0x4e9c);
    let mut dice = Dice::new(0x4e9c);
    let [old, new] = tree::versions(&mut dice);
    let common: String = (0..5000).map(|_| format!("{:x} ", dice.below(1 << 40))).collect();
    let [old, new] = [old, new].map(|text| format!("{common}{text}"));
    federation.add("paris", &files(&[("guide.txt", &old)]));
    federation.add_with("tokyo", None, &files(&[("guide.txt", &new)]), "[policy]\nfine = \"never\"\n");
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&["--view", "raw"]).report();
    let link = &report["clusters"][0]["links"][0];
    let words = ["explain", "latest", "paris/kb/guide.txt", "tokyo/kb/guide.txt"];
    let answer = federation.operate(&[&words[..], &["--format", "json"]].concat()).expect(0).json();
    let pair = &answer["views"][0];
    assert_eq!((figures(pair), &pair["precision"]), (figures(link), &json!("coarse")));
    let drawn: u64 = pair["shared"].as_array().unwrap().iter().map(|run| run["length_bytes"].as_u64().unwrap()).sum();
    assert_eq!(pair["shared_bytes"], drawn);
    let text = federation.operate(&words).expect(0);
    assert!(text.text().contains("COARSE: the fine chunks of "), "{}", text.text());
}

#[test]
fn explain_find_and_plan_fit_in_a_terminal_of_80_columns() {
    let mut federation = Federation::new(1351);
    let (old, new) = versions();
    let deep = "departments/d07/projects/p012/a-very-long-name-of-a-document-that-fills-a-line-of-a-terminal.txt";
    federation.add("paris", &files(&[(deep, &old), ("copy.txt", &old)]));
    federation.add("tokyo", &files(&[(&format!("kept/{deep}"), &new), ("copy of it.txt", &old)]));
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&[]).expect(0);
    let file = federation.site("paris").folder().join(deep);
    let (a, b) = (format!("paris/kb/{deep}"), format!("tokyo/kb/kept/{deep}"));
    for words in [
        vec!["explain", "latest", &a, &b],
        vec!["find", file.to_str().unwrap()],
        vec!["plan", "make", "latest", "--keep", "shortest-path"],
    ] {
        let shown = |columns: &str| {
            let mut command = federation.operating(&words);
            command.env("COLUMNS", columns);
            federation.sandbox.spawn(command).ended().text().to_owned()
        };
        let width = |line: &str| line.chars().count();
        let (narrow, wide) = (shown("80"), shown("1000"));
        assert!(wide.lines().any(|line| width(line) > 80), "there is something to fold:\n{wide}");
        let too_long: Vec<&str> = narrow.lines().filter(|line| width(line) > 80).collect();
        assert!(too_long.is_empty(), "{words:?}: {too_long:#?}");
        let letters = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).count();
        assert_eq!(letters(&narrow), letters(&wide), "nothing is lost:\n{narrow}");
    }
}

#[test]
fn the_api_explains_as_the_command_does() {
    let mut federation = Federation::new(1352);
    let (old, new) = versions();
    federation.add("paris", &files(&[("guide.txt", &old)]));
    federation.add("tokyo", &files(&[("kept/guide.txt", &new)]));
    federation.sandbox.settle();
    federation.start_all();
    let id = federation.scan(&[]).report()["scan"]["id"].as_str().unwrap().to_owned();
    let token = federation.operate(&["operator", "login", "--token"]).expect(0).text().trim().to_owned();
    let path = format!("/api/v1/scans/{id}/explain?a=paris/kb/guide.txt&b=tokyo/kb/kept/guide.txt");
    let (status, body) = federation.http_with(&path, &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(status, 200, "{body}");
    let words = ["explain", &id, "paris/kb/guide.txt", "tokyo/kb/kept/guide.txt", "--format", "json"];
    let told = federation.operate(&words).expect(0).json();
    assert!(told["views"][0]["shared"].as_array().unwrap().len() > 1, "{told}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), told);
    let (status, _) = federation.http(&path);
    assert_eq!(status, 401);
}
