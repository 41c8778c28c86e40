//! The order of sites: of names for programs, as typed for people.

use std::path::PathBuf;

use cognate_integration_tests::dice::letters;
use cognate_integration_tests::{Sandbox, sandbox};
use serde_json::{Value, json};

/// Two versions of a folder: one document is the same, one edited, one moved, and each has some alone.
struct Versions {
    sandbox: Sandbox,
    older: PathBuf,
    newer: PathBuf,
}

impl Versions {
    fn new() -> Versions {
        let sandbox = Sandbox::new();
        let (same, moved, edited) = (letters(1, 9_000), letters(2, 8_000), letters(3, 40_000));
        let mut after = edited.clone();
        after.truncate(30_000);
        let (gone, fresh, extra) = (letters(4, 5_000), letters(5, 6_000), letters(6, 7_000));
        let older = [
            ("doc/same.txt", same.as_slice()),
            ("doc/edited.txt", &edited),
            ("doc/moved.txt", &moved),
            ("doc/gone.txt", &gone),
        ];
        let newer = [
            ("doc/same.txt", same.as_slice()),
            ("doc/edited.txt", &after),
            ("new/moved.txt", &moved),
            ("new/fresh.txt", &fresh),
            ("new/extra.txt", &extra),
        ];
        let (older, newer) = (sandbox.folder("1", &older), sandbox.folder("2", &newer));
        Versions { sandbox, older, newer }
    }

    /// The result of a comparison, with the older folder named first or last, and the names as typed.
    fn compare(&self, is_reversed: bool) -> ([&'static str; 2], String) {
        // The names sort the other way round than the older folder comes before the newer one.
        let mut folders = vec![("old", self.older.as_path()), ("new", self.newer.as_path())];
        if is_reversed {
            folders.reverse();
        }
        let result = self.sandbox.path(format!("{is_reversed}.sqlite")).to_str().unwrap().to_owned();
        self.sandbox.cognate(sandbox::compare_args(&folders, &["--format", "sqlite", "-o", &result])).expect(0);
        ([folders[0].0, folders[1].0], result)
    }

    /// A report on a result.
    fn report(&self, result: &str, args: &[&str]) -> String {
        self.sandbox.cognate([&["report", result], args].concat()).expect(0).text().to_owned()
    }
}

/// Asserts that the parts follow each other.
fn follow(shown: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at = shown[from..].find(part).unwrap_or_else(|| panic!("`{part}` does not follow in\n{shown}"));
        from += at + part.len();
    }
}

#[test]
fn text_goes_from_the_first_typed_site_to_the_second() {
    let versions = Versions::new();
    for (is_reversed, edited, only) in [(false, ["40.0 kB", "75.0 %"], [1, 2]), (true, ["30.0 kB", "99.9 %"], [2, 1])] {
        let ([first, second], result) = versions.compare(is_reversed);
        let shown = versions.report(&result, &["--format", "text"]);
        let [upper, upper_second] = [first.to_uppercase(), second.to_uppercase()];
        follow(&shown, &["SITE", &format!("\n  {first} "), &format!("\n  {second} ")]);
        follow(&shown, &[&format!("of {first} ("), &format!("of {second} (")]);
        follow(&shown, &[&format!("from {first} to {second}"), &format!("ONLY IN {upper}  ONLY IN {upper_second}")]);
        follow(&shown, &["CHANGED DOCUMENTS: 1", "doc/edited.txt", edited[0], edited[1]]);
        follow(&shown, &[&format!("ONLY IN {upper}: {}", only[0]), &format!("ONLY IN {upper_second}: {}", only[1])]);
        follow(&shown, &["IDENTICAL", &format!(" {first}: "), &format!(" {second}: ")]);
        follow(&shown, &["CLUSTERS of documents that share much: 1; 1 of them are one document that changed"]);
        assert_eq!(shown.matches("doc/edited.txt").count(), 1, "it is listed once: {shown}");
    }
}

#[test]
fn page_workbook_and_csv_show_sites_as_typed() {
    let versions = Versions::new();
    for is_reversed in [false, true] {
        let ([first, second], result) = versions.compare(is_reversed);
        let page = versions.report(&result, &["--format", "html"]);
        assert!(page.contains(&format!("what {first} and {second} have in common")), "{page}");
        follow(&page, &["id=\"coverage\"", &format!("<td>{first}</td>"), &format!("<td>{second}</td>")]);
        follow(&page, &["id=\"overlap\"", &format!("<th>{first}</th>"), &format!("<th>{second}</th>")]);
        let csv = versions.report(&result, &["--format", "csv"]);
        for kind in ["identical", "cluster"] {
            let rows = csv.lines().filter(|line| line.starts_with(kind));
            let sites: Vec<&str> = rows.map(|line| line.split(',').nth(3).unwrap()).collect();
            assert!(!sites.is_empty() && sites.chunks(2).all(|pair| pair == [first, second]), "{kind}: {csv}");
        }
        assert!(csv.contains(&format!(",{first} {second},")), "{csv}");
        let csv = versions.report(&result, &["--documents", "--format", "csv"]);
        let mut sites: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
        sites.dedup();
        assert_eq!(sites, [first, second], "{csv}");
    }
}

#[test]
fn json_lists_are_in_the_order_of_names_and_the_digest_does_not_know_the_typed_one() {
    let versions = Versions::new();
    let mut reports = [false, true].map(|is_reversed| {
        let (names, result) = versions.compare(is_reversed);
        let report: Value = serde_json::from_str(&versions.report(&result, &["--format", "json"])).unwrap();
        assert_eq!(report["scan"]["run"]["order"], json!(names.map(|name| format!("{name}/main"))));
        assert_eq!([&report["sites"][0]["site"], &report["sites"][1]["site"]], ["new", "old"]);
        assert_eq!([&report["overlap"][0]["a"], &report["overlap"][0]["b"]], ["new", "old"]);
        let documents: Value =
            serde_json::from_str(&versions.report(&result, &["--documents", "--format", "json"])).unwrap();
        assert_eq!(documents[0]["site"], "new");
        report
    });
    assert_eq!(reports[0]["scan"]["digest"], reports[1]["scan"]["digest"]);
    for report in &mut reports {
        let scan = report["scan"].as_object_mut().unwrap();
        scan.remove("run");
        scan.remove("id");
    }
    assert_eq!(reports[0], reports[1]);
}
