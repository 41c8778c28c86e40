//! Standard text: what many otherwise unlike documents have is no relation between them, though nobody marked it, and copies and versions among
//! them are found.

use cognate_integration_tests::dice::text;
use cognate_integration_tests::{Dice, Files, Sandbox};
use serde_json::Value;

/// A text with a word changed in one line of twelve.
fn edited(text: &str) -> String {
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| if number % 12 == 5 { format!("{line} edited\n") } else { format!("{line}\n") })
        .collect()
}

/// Documents of two sites under other names at each, and which of them have anything to do with each other.
struct Crowd {
    sandbox: Sandbox,
    documents: [usize; 2],
    report: Value,
    text: String,
}

/// Documents that are copies at both sites, and those that are versions.
const COPIES: usize = 2;
const VERSIONS: usize = 1;

impl Crowd {
    /// Compares so many documents, of which `make` makes each but the copies and versions.
    fn new(seed: u64, count: usize, make: &dyn Fn(&mut Dice) -> String) -> Crowd {
        let mut dice = Dice::new(seed);
        let mut files = [Files::new(), Files::new()];
        for number in 0..count / 2 {
            let of_a = make(&mut dice);
            let of_b = match number {
                number if number < COPIES => of_a.clone(),
                number if number < COPIES + VERSIONS => edited(&of_a),
                _ => make(&mut dice),
            };
            files[0].insert(format!("drafts/{number}.txt"), of_a.into_bytes());
            files[1].insert(format!("signed/no {number}.txt"), of_b.into_bytes());
        }
        let sandbox = Sandbox::new();
        let [a, b] = [("a", &files[0]), ("b", &files[1])].map(|(name, files)| sandbox.tree(name, files));
        write_result(&sandbox, &["a", "b"]);
        let folders = [("a", a.as_path()), ("b", b.as_path())];
        let names = folders.map(|(name, tree)| format!("{name}={}", tree.display()));
        let text = sandbox.cognate(["compare", &names[0], &names[1]]).expect(0).text().to_owned();
        let report = sandbox.report(&folders, &[]);
        Crowd { sandbox, documents: files.map(|files| files.len()), report, text }
    }

    /// The documents of each site with a status.
    fn status(&self, status: &str) -> [usize; 2] {
        [0, 1].map(|site| count(&self.report["sites"][site]["status"][status]))
    }

    /// Only the copies and versions are related. All others have standard text in common with the other site, or are only at theirs: that is
    /// decided about each of them but those of which standard text is nearly half, and every list, table and sum of statuses has the same
    /// documents.
    fn check(&self, nearly_half: [usize; 2]) {
        let related = COPIES + VERSIONS;
        assert_eq!(self.status("identical"), [COPIES; 2], "{}", self.report["sites"]);
        assert_eq!(self.status("near"), [VERSIONS; 2], "{}", self.text);
        let unrelated = ["contains", "contained", "shares"].map(|status| self.status(status));
        assert_eq!(unrelated, [[0; 2]; 3], "{}", self.text);
        let overlap = &self.report["overlap"][0];
        assert_eq!(["documents_a", "documents_b"].map(|side| count(&overlap[side])), [related; 2], "{overlap}");
        for (side, change) in self.report["changes"].as_array().unwrap().iter().enumerate() {
            let counts = ["same", "changed", "moved"].map(|what| count(&change[what]));
            let [standard_text, only, undecided] =
                ["standard_text", "only", "not_decided"].map(|what| count(&change[what]));
            assert_eq!((counts, undecided), ([0, 0, related], nearly_half[side]), "{change}");
            assert_eq!(related + standard_text + only + undecided, self.documents[side], "{change}");
            let of_statuses = self.report["sites"][side]["status"].as_object().unwrap();
            assert_eq!(of_statuses.values().map(count).sum::<usize>(), self.documents[side], "{of_statuses:?}");
            let [of_standard_text, unique, undecided] =
                ["standard_text", "unique", "undecided"].map(|status| self.status(status)[side]);
            assert_eq!(related + of_standard_text + unique + undecided, self.documents[side], "{of_statuses:?}");
            // A document that has standard text in common with others of its own site alone is only here, or not decided.
            let others = unique + of_standard_text + undecided - standard_text;
            assert_eq!(only + nearly_half[side], others, "{change} {of_statuses:?}");
            let sites = [["a", "b"], ["b", "a"]][side];
            let listed = ["standard_text", "unique", "undecided"].map(|status| listed(&self.sandbox, status, sites));
            assert_eq!(listed, [standard_text, only, nearly_half[side]], "{change}");
        }
        for cluster in self.report["clusters"].as_array().unwrap() {
            for link in cluster["links"].as_array().unwrap() {
                let is_standard_text = link["relation"] == "standard_text";
                assert_eq!(is_standard_text, link["rests_on_frame"] == true, "{link}");
                assert!(is_standard_text || link["relation"] == "near", "{link}");
            }
        }
    }
}

/// Compares trees, and keeps the result in a file.
fn write_result(sandbox: &Sandbox, sites: &[&str]) {
    let trees: Vec<String> = sites.iter().map(|site| format!("{site}={}", sandbox.path(site).display())).collect();
    let result = sandbox.path("result.sqlite");
    let format = ["--format", "sqlite", "-o", result.to_str().unwrap()];
    let trees = trees.iter().map(String::as_str);
    sandbox.cognate(std::iter::once("compare").chain(trees).chain(format)).expect(0);
}

/// The number of documents of one site with a status against another, of which none has a partner.
fn listed(sandbox: &Sandbox, status: &str, [own, other]: [&str; 2]) -> usize {
    let result = sandbox.path("result.sqlite");
    let options = ["--documents", "--format", "ndjson", "--status", status, "--in", own, "--against", other];
    let rows = sandbox.cognate([&["report", result.to_str().unwrap()][..], &options].concat()).expect(0).lines();
    assert!(rows.iter().all(|row| row["status"] == status && row["partner"].is_null()), "{rows:?}");
    rows.len()
}

fn count(value: &Value) -> usize {
    value.as_u64().map_or(0, |number| usize::try_from(number).unwrap())
}

#[test]
fn contracts_that_share_their_terms_alone_are_neither_moved_nor_only_at_one_site() {
    let mut dice = Dice::new(4801);
    let terms = text(&mut dice, 6000);
    let crowd = Crowd::new(4802, 24, &|dice| format!("{}{terms}{}", text(dice, 400), text(dice, 3700)));
    crowd.check([0, 0]);
    assert_eq!(crowd.status("standard_text"), [12 - COPIES - VERSIONS; 2], "{}", crowd.text);
    assert!(crowd.text.contains("THAT SHARE STANDARD TEXT"), "{}", crowd.text);
    assert!(!crowd.text.contains("template"), "a comparison without a coordinator has no templates: {}", crowd.text);
    let result = crowd.sandbox.path("result.sqlite");
    let list = ["report", result.to_str().unwrap(), "--documents", "--status", "standard_text", "--format", "ndjson"];
    let rows = crowd.sandbox.cognate(list).expect(0).lines();
    assert_eq!(rows.len(), 18, "{rows:?}");
}

#[test]
fn of_three_sites_standard_text_counts_against_that_which_has_it() {
    let mut dice = Dice::new(4809);
    let terms = text(&mut dice, 6000);
    let sandbox = Sandbox::new();
    for (site, terms) in [("a", &*terms), ("b", ""), ("c", &*terms)] {
        let document = |number: usize| {
            let own = format!("{}{terms}{}", text(&mut dice, 400), text(&mut dice, 3700));
            (format!("at {site} {number}.txt"), own.into_bytes())
        };
        sandbox.tree(site, &(0..8).map(document).collect::<Files>());
    }
    write_result(&sandbox, &["a", "b", "c"]);
    for (own, other) in [("a", "c"), ("c", "a")] {
        let of = |status: &str, other: &str| listed(&sandbox, status, [own, other]);
        assert_eq!([of("standard_text", other), of("unique", other)], [8, 0], "{own} against {other}");
        assert_eq!([of("standard_text", "b"), of("unique", "b")], [0, 8], "{own} against b");
    }
    assert_eq!(listed(&sandbox, "unique", ["b", "a"]), 8);
}

#[test]
fn source_files_with_one_licence_are_related_only_to_their_copies_and_versions() {
    let licence = text(&mut Dice::new(4803), 1000);
    Crowd::new(4804, 100, &|dice| {
        let own = 600 + dice.below(2400);
        format!("{licence}{}", text(dice, own))
    })
    .check([0, 0]);
}

#[test]
fn mails_with_one_disclaimer_are_related_only_to_their_copies_and_versions() {
    let disclaimer = text(&mut Dice::new(4805), 900);
    Crowd::new(4806, 300, &|dice| {
        let own = 500 + dice.below(1500);
        format!("{}{disclaimer}", text(dice, own))
    })
    .check([1, 0]);
}

#[test]
fn pages_of_one_manual_are_related_only_to_their_copies_and_versions() {
    let mut dice = Dice::new(4807);
    let menu = text(&mut dice, 2500);
    let parts: Vec<String> = (0..14).map(|_| text(&mut dice, 250)).collect();
    Crowd::new(4808, 60, &|dice| {
        let name = format!("{:x}", dice.below(1 << 24));
        let parts: String = parts.iter().map(|part| format!("{part}<a href=\"{name}\">{name}</a>\n")).collect();
        format!("{menu}{parts}{}", text(dice, 4000))
    })
    .check([0, 0]);
}
