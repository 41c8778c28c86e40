//! The expected error: what sites count of pairs of their own documents, next to what the report says of them.

use super::*;

const PAIRS: usize = 12;

/// Two versions of documents in one tree: most of the first lines are the same, and of the others one in twelve is edited.
fn both_versions(dice: &mut Dice) -> Files {
    let mut files = Files::new();
    for number in 0..PAIRS {
        let [old, new] = versions(dice);
        let same = old[..old.len() * 5 / 8].rfind('\n').unwrap();
        files.insert(format!("new/{number}.txt"), format!("{}{}", &old[..same], &new[same..]).into_bytes());
        files.insert(format!("old/{number}.txt"), old.into_bytes());
    }
    files
}

fn expected_error(report: &Value) -> &Value {
    &report["scan"]["run"]["expected_error"]
}

/// The errors of the reported shares of a report's links, by the documents themselves: the least that half of them, and
/// nine of ten, do not exceed.
fn errors(report: &Value, files: &Files) -> [f64; 2] {
    let mut errors = Vec::new();
    for cluster in report["clusters"].as_array().unwrap() {
        let link = &cluster["links"][0];
        let paths = [0, 1].map(|place| cluster["documents"][place]["path"].as_str().unwrap());
        let [a, b] = paths.map(|path| files[path].as_slice());
        errors.push((link["a_in_b"].as_f64().unwrap() - truth(a, b)).abs());
        errors.push((link["b_in_a"].as_f64().unwrap() - truth(b, a)).abs());
    }
    errors.sort_by(f64::total_cmp);
    [5, 9].map(|tenths| errors[(errors.len() * tenths).div_ceil(10) - 1])
}

fn is_close(number: &Value, expected: f64) -> bool {
    (number.as_f64().unwrap() - expected).abs() < 0.0003
}

#[test]
fn a_report_says_how_far_its_shares_are_from_the_truth_that_the_site_counts() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1111);
    let files = both_versions(&mut dice);
    let (a, b) = (sandbox.tree("a", &files), sandbox.folder("b", &[("other.txt", &dice.bytes(9000))]));
    let folders: [(&str, &std::path::Path); 2] = [("a", &a), ("b", &b)];
    let mut medians = Vec::new();
    for precision in ["fine", "coarse"] {
        let report = sandbox.report(&folders, &["--precision", precision]);
        let expected = expected_error(&report);
        assert_eq!(report["clusters"].as_array().unwrap().len(), PAIRS);
        assert_eq!((expected["pairs"].as_u64(), expected["source"].as_str()), (Some(PAIRS as u64), Some("sites")));
        let [median, p90] = errors(&report, &files);
        assert!(is_close(&expected["median"], median) && is_close(&expected["p90"], p90), "{expected} {median} {p90}");
        medians.push(median);
        for format in ["text", "html"] {
            let run =
                sandbox.cognate(compare_args(&folders, &["--precision", precision, "--format", format])).expect(0);
            let sentence = "in nine of ten, measured on 12 pairs at these sites.";
            assert!(run.text().contains(sentence), "{format}: {}", run.text());
        }
    }
    assert!(medians[0] < 0.02 && medians[1] > 0.15, "{medians:?}");
    // A method without chunks has nothing to be measured by.
    assert!(expected_error(&sandbox.report(&folders, &["--method", "min"])).is_null());
}

#[test]
fn two_repositories_of_one_site_are_measured_by_it_and_two_sites_by_none() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1112);
    let (mut old, mut new) = (Files::new(), Files::new());
    for (path, bytes) in both_versions(&mut dice) {
        let (folder, name) = path.split_once('/').unwrap();
        let tree = if folder == "old" { &mut old } else { &mut new };
        tree.insert(name.to_owned(), bytes);
    }
    let trees = [sandbox.tree("old", &old), sandbox.tree("new", &new)];
    let report = |names: [&str; 2]| sandbox.report(&[(names[0], &trees[0]), (names[1], &trees[1])], &[]);
    let together = report(["a/old", "a/new"]);
    let expected = expected_error(&together);
    assert_eq!(
        (expected["source"].as_str(), expected["pairs"].as_u64()),
        (Some("sites"), Some(PAIRS as u64)),
        "{expected}"
    );
    let apart = report(["a", "b"]);
    let expected = expected_error(&apart);
    assert_eq!(
        (expected["source"].as_str(), expected["sites_pairs"].as_u64()),
        (Some("public"), Some(0)),
        "{expected}"
    );
    assert!(expected["pairs"].as_u64().unwrap() > 1000, "{expected}");
    let folders = [("a", trees[0].as_path()), ("b", trees[1].as_path())];
    let text = sandbox.cognate(compare_args(&folders, &[])).expect(0);
    let text = text.text();
    assert!(
        text.contains("pairs of public documents.") && text.contains("No pair could be measured at these sites."),
        "{text}"
    );
}

/// A text document of a word processor.
fn rtf(text: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap().replace('\n', "\\par\n");
    format!("{{\\rtf1\\ansi {text}}}").into_bytes()
}

#[test]
fn office_files_are_measured_by_their_text() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1115);
    let texts = both_versions(&mut dice);
    let files: Files = texts.iter().map(|(path, text)| (path.replace(".txt", ".rtf"), rtf(text))).collect();
    let tree = sandbox.tree("a", &files);
    let mut report = sandbox.report(&[("a", &tree)], &["--state", sandbox.path("state").to_str().unwrap()]);
    assert_eq!((&report["scan"]["view"], report["clusters"].as_array().unwrap().len()), (&json!("auto"), PAIRS));
    for cluster in report["clusters"].as_array_mut().unwrap() {
        for document in cluster["documents"].as_array_mut().unwrap() {
            document["path"] = document["path"].as_str().unwrap().replace(".rtf", ".txt").into();
        }
    }
    let expected = expected_error(&report);
    assert_eq!(
        (expected["pairs"].as_u64(), expected["source"].as_str()),
        (Some(PAIRS as u64), Some("sites")),
        "{expected}"
    );
    // The text is that of the documents but for the ends of lines.
    let [median, p90] = errors(&report, &texts);
    let is_near = |number: &Value, error: f64| (number.as_f64().unwrap() - error).abs() < 0.005;
    assert!(is_near(&expected["median"], median) && is_near(&expected["p90"], p90), "{expected} {median} {p90}");
    // The next comparison with the same state asks nothing.
    let again = sandbox.report(&[("a", &tree)], &["--state", sandbox.path("state").to_str().unwrap()]);
    let expected_again = expected_error(&again);
    assert_eq!((&expected_again["median"], &expected_again["p90"]), (&expected["median"], &expected["p90"]));
    assert_eq!(expected_again["sites"][0]["read_bytes"], 0);
}

#[test]
fn pairs_that_the_comparison_misses_are_in_the_expected_error() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1114);
    let pairs: Vec<[String; 2]> = (0..PAIRS).map(|_| versions(&mut dice)).collect();
    let [old, new] = [0, 1].map(|side| files(&pairs.iter().map(|pair| pair[side].clone()).collect::<Vec<_>>()));
    let (old, new) = (sandbox.tree("old", &old), sandbox.tree("new", &new));
    let report = sandbox.report(&[("a/old", &old), ("a/new", &new)], &["--precision", "coarse"]);
    // Every chunk differs: nothing is reported of documents that share nearly all.
    assert_eq!(report["clusters"], json!([]));
    let expected = expected_error(&report);
    assert_eq!(
        (expected["source"].as_str(), expected["pairs"].as_u64()),
        (Some("sites"), Some(PAIRS as u64)),
        "{expected}"
    );
    assert!(expected["median"].as_f64().unwrap() > 0.8, "{expected}");
}

/// The number of messages of a kind in the ledger of a site, and their bytes.
fn sent(federation: &Federation, site: &str, kind: &str) -> [u64; 2] {
    let rows = federation.worker(site, &["ledger", "summary", "--format", "json"]).expect(0).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["kind"] == kind).cloned().unwrap_or_default();
    ["messages", "bytes"].map(|field| row[field].as_u64().unwrap_or_default())
}

#[test]
fn a_site_that_gives_no_fine_chunks_measures_nothing_and_is_named_and_a_rescan_asks_nothing_again() {
    let mut federation = Federation::new(1113);
    let [a, b] = [(); 2].map(|()| both_versions(&mut federation.dice));
    federation.add("a", &a);
    federation.add_with("b", None, &b, "[policy]\nfine = \"never\"\n");
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&[]).report();
    let expected = expected_error(&report);
    assert_eq!(
        (expected["pairs"].as_u64(), expected["source"].as_str()),
        (Some(PAIRS as u64), Some("sites")),
        "{expected}"
    );
    let site = |number: usize, field: &str| expected["sites"][number][field].clone();
    assert_eq!((site(0, "site"), site(0, "measured_pairs")), (json!("a"), json!(PAIRS)), "{expected}");
    assert_eq!((site(1, "site"), site(1, "measured_pairs"), site(1, "refused")), (json!("b"), json!(0), json!(true)));
    let reason =
        "this site's policy does not allow it: policy.fine is never, the scan asks for the exact measure of pairs";
    assert_eq!(site(1, "reason"), reason);
    let scan = report["scan"]["id"].as_str().unwrap();
    let text = federation.operate(&["report", scan]).expect(0);
    assert!(text.text().contains(&format!("b measured 0 of 12 pairs: {reason}.")), "{}", text.text());
    // The ledger of each site has what left: counts of one, a refusal of the other.
    let [of_a, of_b] = ["a", "b"].map(|site| sent(&federation, site, "measures"));
    assert!(of_a[0] == 1 && of_a[1] > 0 && of_a[1] < 1000 && of_b[0] == 1 && of_b[1] < 1000, "{of_a:?} {of_b:?}");
    // Nothing has changed: the answers of the earlier scan count.
    let again = federation.scan(&[]).report();
    assert_eq!(sent(&federation, "a", "measures"), of_a);
    assert_eq!(
        (&expected_error(&again)["median"], &expected_error(&again)["p90"]),
        (&expected["median"], &expected["p90"])
    );
    assert_eq!(expected_error(&again)["sites"][0]["read_bytes"], 0);
    // With one document changed, its pair alone is asked for.
    let path = federation.site("a").folder().join("new/3.txt");
    let changed = [std::fs::read(&path).unwrap(), b"and one more line\n".to_vec()].concat();
    std::fs::write(path, changed).unwrap();
    federation.sandbox.settle();
    let changed = federation.scan(&[]).report();
    let site = &expected_error(&changed)["sites"][0];
    assert_eq!((site["measured_pairs"].as_u64(), expected_error(&changed)["pairs"].as_u64()), (Some(12), Some(12)));
    let read = site["read_bytes"].as_u64().unwrap();
    let both: u64 = ["new/3.txt", "old/3.txt"].iter().map(|path| a[*path].len() as u64).sum();
    assert_eq!(read, both + 18, "the two documents of the pair are read");
    // The other site alone says nothing of the error.
    let alone = federation.operate(&Federation::launching("b/kb", &[])).report();
    let expected = expected_error(&alone);
    assert_eq!(
        (expected["source"].as_str(), expected["sites_pairs"].as_u64()),
        (Some("public"), Some(0)),
        "{expected}"
    );
}

#[test]
fn siblings_at_home_that_nobody_measures_say_nothing_of_the_shares_that_are_reported() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1117);
    let [mut a, mut b] = [Files::new(), Files::new()];
    for number in 0..PAIRS {
        let [old, new] = versions(&mut dice);
        // A quarter is in whole chunks that both have: too little for a link, and their samples are nearly the same.
        let same = old[..old.len() / 4].rfind('\n').unwrap();
        for (folder, text) in [("old", old.clone()), ("new", format!("{}{}", &old[..same], &new[same..]))] {
            let longer = format!("{text}{:x}\n", dice.below(1 << 40));
            a.insert(format!("{folder}/{number}.txt"), text.into_bytes());
            b.insert(format!("{folder}/{number}.txt"), longer.into_bytes());
        }
    }
    let (a, b) = (sandbox.tree("a", &a), sandbox.tree("b", &b));
    let report = sandbox.report(&[("a", &a), ("b", &b)], &[]);
    assert_eq!(report["overlap"][0]["documents_a"], 2 * PAIRS);
    let expected = expected_error(&report);
    let is_close = expected["source"] == "public" || expected["p90"].as_f64().unwrap() < 0.05;
    assert!(is_close, "all that is reported is close to the truth: {expected}");
}
