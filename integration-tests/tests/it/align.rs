//! Folders of two repositories that do not line up: what is said of their documents is the same as if they did.

use std::path::Path;

use cognate_integration_tests::dice::letters;
use cognate_integration_tests::{Federation, Files, Sandbox, sandbox};
use serde_json::{Value, json};

/// Lines of text that no two seeds share.
fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let mut text = letters(seed.wrapping_add(1), bytes);
    text.iter_mut().skip(59).step_by(60).for_each(|byte| *byte = b'\n');
    text
}

/// A text with a byte changed in every so many: too often for a whole chunk in common.
fn edited(mut text: Vec<u8>, every: usize) -> Vec<u8> {
    text.iter_mut().step_by(every).for_each(|byte| *byte = b'#');
    text
}

/// The manuals of a library and the versions of them some time later. Both have many folders with documents of one name.
fn manuals() -> [Files; 2] {
    let (mut older, mut newer) = (Files::new(), Files::new());
    for part in 0..8 {
        let name = |document: &str| format!("usr/share/doc/libx-doc/html/part{part}/{document}");
        let seed = 100 * part;
        for same in 0..3 {
            let page = text(seed + same, 3000);
            older.insert(name(&format!("page{same}.html")), page.clone());
            newer.insert(name(&format!("page{same}.html")), page);
        }
        let index = text(seed + 10, 9000);
        older.insert(name("index.html"), index.clone());
        newer.insert(name("index.html"), edited(index, 250));
        older.insert(name("news.html"), text(seed + 11, 4000));
        newer.insert(name("news.html"), text(seed + 12, 4000));
        older.insert(name("old.html"), text(seed + 13, 2000));
        newer.insert(name("new.html"), text(seed + 14, 2500));
    }
    let moved = text(9000, 5000);
    older.insert("usr/share/doc/libx-doc/copyright.txt".to_owned(), moved.clone());
    newer.insert("usr/share/doc/common/copyright.txt".to_owned(), moved);
    [older, newer]
}

/// The same documents with one name of their paths changed, below another folder.
fn elsewhere(files: &Files, root: &str, (from, to): (&str, &str)) -> Files {
    files.iter().map(|(path, file)| (format!("{root}{}", path.replace(from, to)), file.clone())).collect()
}

/// What became of the documents of `old` and `new`: the same, changed, moved, only there.
fn changes(report: &Value) -> [[u64; 5]; 2] {
    ["old", "new"].map(|site| {
        let row = report["changes"].as_array().unwrap().iter().find(|row| row["from_site"] == site).unwrap();
        ["same", "changed", "moved", "not_decided", "only"].map(|what| row[what].as_u64().unwrap())
    })
}

/// The pairs of folders: that of `old`, that of `new`, their documents, and whether somebody named them.
fn aligned(report: &Value) -> Vec<(String, String, u64, bool)> {
    let path = |row: &Value, site: &str| {
        let side = if row["a"]["site"] == site { "a" } else { "b" };
        row[side]["path"].as_str().unwrap().to_owned()
    };
    let row = |row: &Value| {
        let documents = row["documents"].as_u64().unwrap();
        (path(row, "old"), path(row, "new"), documents, row["given"].as_bool().unwrap())
    };
    report["alignment"].as_array().into_iter().flatten().map(row).collect()
}

/// Documents by status, site by site.
fn statuses(report: &Value) -> Vec<Value> {
    report["sites"].as_array().unwrap().iter().map(|site| site["status"].clone()).collect()
}

struct Trees {
    sandbox: Sandbox,
    made: usize,
}

impl Trees {
    fn compare(&mut self, [older, newer]: [&Files; 2], args: &[&str]) -> Value {
        self.made += 1;
        let [older, newer] = [("old", older), ("new", newer)]
            .map(|(name, files)| self.sandbox.tree(&format!("{}-{name}", self.made), files));
        self.sandbox.report(&[("old", &older), ("new", &newer)], args)
    }
}

#[test]
fn trees_that_do_not_line_up_have_the_numbers_of_those_that_do() {
    let mut trees = Trees { sandbox: Sandbox::new(), made: 0 };
    let [older, newer] = manuals();
    for precision in [&[][..], &["--precision", "coarse"]] {
        let lined_up = trees.compare([&older, &newer], precision);
        assert_eq!(lined_up.get("alignment"), None, "equal paths are compared as ever");
        let expected = changes(&lined_up);
        // Whole chunks decide of no document that the other site has nothing of it.
        let alone = if precision.is_empty() { [0, 8] } else { [8, 0] };
        assert_eq!(expected, [[24, 16, 1, alone[0], alone[1]]; 2]);
        let renamed = elsewhere(&newer, "", ("libx-doc", "libx1.81-doc"));
        let below = elsewhere(&newer, "lib/", ("usr/", ""));
        let deep = elsewhere(&newer, "", ("/part", "/v2-part"));
        let old_below = elsewhere(&older, "mirror/", ("/doc/", "/documents/"));
        for (pair, folders) in [
            ([&older, &renamed], Some(("usr/share/doc/libx-doc", "usr/share/doc/libx1.81-doc"))),
            ([&older, &below], Some(("usr", "lib"))),
            ([&older, &deep], None),
            ([&old_below, &newer], Some(("mirror/usr/share/documents", "usr/share/doc"))),
            ([&old_below, &renamed], Some(("mirror/usr/share/documents/libx-doc", "usr/share/doc/libx1.81-doc"))),
        ] {
            let report = trees.compare(pair, precision);
            assert_eq!(changes(&report), expected, "{}", report["alignment"]);
            // Documents at one place are measured by fine chunks, whatever the names of their folders.
            let measured = |report: &Value| (statuses(report), report["scan"]["fine"]["fine_pairs"].clone());
            assert_eq!(measured(&report), measured(&lined_up));
            if let Some((from, to)) = folders {
                let found = aligned(&report);
                assert_eq!((found[0].0.as_str(), found[0].1.as_str(), found[0].3), (from, to, false), "{found:?}");
            }
        }
        // The same the other way round.
        let turned = trees.compare([&newer, &old_below], precision);
        let [from_old, from_new] = expected;
        assert_eq!(changes(&turned), [from_new, from_old], "{}", turned["alignment"]);
    }
}

#[test]
fn folders_are_aligned_as_the_options_say() {
    let mut trees = Trees { sandbox: Sandbox::new(), made: 0 };
    let [older, newer] = manuals();
    let newer = elsewhere(&newer, "", ("libx-doc", "libx1.81-doc"));
    let found = changes(&trees.compare([&older, &newer], &[]));
    let unaligned = trees.compare([&older, &newer], &["--no-align"]);
    assert_eq!((changes(&unaligned)[0][0], aligned(&unaligned)), (0, Vec::new()));
    let pair = "usr/share/doc/libx-doc=/usr/share/doc/libx1.81-doc/";
    let given = trees.compare([&older, &newer], &["--no-align", "--align", pair]);
    assert_eq!(changes(&given), found);
    let folders = ["usr/share/doc/libx-doc", "usr/share/doc/libx1.81-doc"].map(str::to_owned);
    assert_eq!(aligned(&given), [(folders[0].clone(), folders[1].clone(), 40, true)]);
    // What is given wins over what would be found, and its folders need not exist.
    let wrong = trees.compare([&older, &newer], &["--align", "usr/share/doc/libx-doc=usr/share/doc/none"]);
    assert_eq!(aligned(&wrong)[0], (folders[0].clone(), "usr/share/doc/none".to_owned(), 0, true));
    assert!(changes(&wrong)[0][0] < found[0][0], "{:?}", changes(&wrong));
}

#[test]
fn the_text_says_which_folders_are_compared_and_lists_them_once() {
    let sandbox = Sandbox::new();
    let [older, newer] = manuals();
    let newer = elsewhere(&newer, "", ("libx-doc", "libx1.81-doc"));
    let folders = [sandbox.tree("1", &older), sandbox.tree("2", &newer)];
    let folders: Vec<(&str, &Path)> = vec![("old", &folders[0]), ("new", &folders[1])];
    let run = sandbox.cognate(sandbox::compare_args(&folders, &[])).expect(0);
    let shown = run.text();
    let sentence = "usr/share/doc/libx-doc of old is compared with usr/share/doc/libx1.81-doc of new (40 documents)";
    assert!(shown.contains(sentence), "{shown}");
    let moved = shown.split("MOVED OR COPIED FOLDERS").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or("");
    assert!(!moved.contains("libx1.81-doc"), "{shown}");
    let all = shown.lines().find(|line| line.trim().starts_with("all ")).unwrap();
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["all", "24", "16", "1", "8", "8"], "{shown}");
}

#[test]
fn sites_of_a_federation_are_aligned_as_folders_of_one_machine_are() {
    let mut federation = Federation::new(1572);
    let [older, newer] = manuals();
    federation.add("a", &older);
    federation.add("b", &elsewhere(&newer, "", ("libx-doc", "libx1.81-doc")));
    federation.sandbox.settle();
    federation.start_all();
    let found = federation.check(federation.scan(&[]), &[]);
    let folders = |report: &Value| report["alignment"].as_array().cloned().unwrap_or_default();
    assert_eq!(folders(&found)[0]["b"]["path"], "usr/share/doc/libx1.81-doc");
    let more = ["--no-align", "--align", "usr/share/doc/libx-doc/html=usr/share/doc/libx1.81-doc/html"];
    let given = federation.check(federation.scan(&more), &more);
    assert_eq!((&folders(&given)[0]["given"], folders(&given).len()), (&json!(true), 1));
    assert_eq!(found["changes"], given["changes"]);
}

#[test]
fn a_pair_that_makes_no_sense_is_refused() {
    let sandbox = Sandbox::new();
    let folders = ["a", "b", "c"].map(|name| sandbox.folder(name, &[("x", b"x".as_slice())]));
    let named: Vec<(&str, &Path)> =
        ["a", "b", "c"].into_iter().zip(folders.iter().map(|folder| folder.as_path())).collect();
    for (places, pair, reason) in [
        (2, "x", "--align: say FOLDER=FOLDER"),
        (2, "../x=y", "--align: the path `../x` is not a relative path"),
        (3, "x=y", "--align: only the folders of two repositories"),
    ] {
        let refusal = sandbox.compare(&named[..places], &["--align", pair]).refusal(2);
        assert!(refusal.contains(reason), "{refusal}");
    }
    let report = sandbox.report(&named[..2], &[]);
    assert_eq!(report["changes"][0]["same"], json!(1));
}
