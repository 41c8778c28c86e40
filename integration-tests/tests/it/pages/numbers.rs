//! One set of numbers: what text, HTML, workbook, JSON and pages of one scan say of the same thing is equal.

use std::path::Path;
use std::process::Command;

use cognate_integration_tests::{Browser, Federation, Files, not_checked};
use serde_json::Value;

use super::{prose, revised};

/// Two versions of a folder. The older one has the name that comes last in the order of names.
fn versions() -> Federation {
    let mut federation = Federation::new(1571);
    let dice = &mut federation.dice;
    let (mut older, mut newer) = (Files::new(), Files::new());
    for number in 0..4 {
        let text = prose(dice, 7000);
        older.insert(format!("same/{number}.txt"), text.clone().into());
        newer.insert(format!("same/{number}.txt"), text.into());
    }
    for (number, revised_bytes) in [(0, 700), (1, 9000), (2, 12_000)] {
        let text = prose(dice, 40_000);
        older.insert(format!("plans/{number}.txt"), text.clone().into());
        newer.insert(format!("plans/{number}.txt"), revised(dice, &text, revised_bytes).into());
    }
    // One document under its old path that shares nothing with the older one: it changed, and is missing nowhere.
    older.insert("plans/written again.txt".to_owned(), prose(dice, 5000).into());
    newer.insert("plans/written again.txt".to_owned(), prose(dice, 5000).into());
    // A folder at another path, which is compared with the old one.
    for number in 0..3 {
        let text = prose(dice, 6000);
        older.insert(format!("desk/{number}.txt"), text.clone().into());
        newer.insert(format!("archive/desk/{number}.txt"), text.into());
    }
    for number in 0..2 {
        older.insert(format!("own/{number}.txt"), prose(dice, 4000).into());
    }
    let moved = prose(dice, 6000);
    older.insert("own/letter.txt".to_owned(), moved.clone().into());
    newer.insert("post/letter.txt".to_owned(), moved.into());
    newer.insert("own/offer.txt".to_owned(), prose(dice, 4500).into());
    federation.add("old", &older);
    federation.add("new", &newer);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// A percentage as people see it: one decimal, rounded down from the four of JSON.
fn percent(ratio: &Value) -> String {
    let tenths = tenths(ratio);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a ratio is 0 to 1")]
fn tenths(ratio: &Value) -> u64 {
    (ratio.as_f64().unwrap() * 10_000.0).round() as u64 / 10
}

/// The sheets of a workbook: of each its rows of values.
fn sheets(workbook: &Path) -> Option<Value> {
    let script = r#"
import sys, json, zipfile, xml.etree.ElementTree as E
z = zipfile.ZipFile(sys.argv[1]); n = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
words = [''.join(t.text or '' for t in s.iter(n + 't')) for s in E.fromstring(z.read('xl/sharedStrings.xml'))]
def value(c):
    v, t = c.find(n + 'v'), c.get('t')
    if t == 'inlineStr': return ''.join(x.text or '' for x in c.iter(n + 't'))
    if v is None: return None
    return words[int(v.text)] if t == 's' else float(v.text)
names = [s.get('name') for s in E.fromstring(z.read('xl/workbook.xml')).iter(n + 'sheet')]
rows = lambda i: [[value(c) for c in r] for r in E.fromstring(z.read(f'xl/worksheets/sheet{i}.xml')).iter(n + 'row')]
json.dump({name: rows(i + 1) for i, name in enumerate(names)}, sys.stdout)
"#;
    let Ok(run) = Command::new("python3").args(["-c", script]).arg(workbook).output() else {
        not_checked("the numbers of a workbook, since `python3` is not installed");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(serde_json::from_slice(&run.stdout).unwrap())
}

/// The numbers of a report, from JSON.
struct Numbers {
    report: Value,
    documents: Value,
}

/// A document of the older site with its path, and the share of it that its partner has.
struct Pair {
    path: String,
    share: Value,
}

impl Numbers {
    /// Same, changed, moved, standard text, not decided, only there: from one site to the other.
    fn changes(&self, from: &str) -> [u64; 6] {
        let row = self.report["changes"].as_array().unwrap().iter().find(|row| row["from_site"] == from).unwrap();
        ["same", "changed", "moved", "standard_text", "not_decided", "only"].map(|what| row[what].as_u64().unwrap())
    }

    /// Of one site at the other: the share of its bytes, its documents with something there, and all its documents.
    fn overlap(&self, from: &str) -> (Value, u64, u64) {
        let row = &self.report["overlap"][0];
        let end = if row["a"] == from { "a" } else { "b" };
        let number = |what: &str| row[format!("{what}_{end}")].as_u64().unwrap();
        let site = self.site(from);
        let (part, all) = (number("shared_bytes"), number("bytes_total"));
        let share = (part * 20_000 + all) / (2 * all);
        #[expect(clippy::cast_precision_loss, reason = "a share is 0 to 1")]
        let share = Value::from(share as f64 / 10_000.0);
        assert_eq!(
            (all, number("documents_total")),
            (site["bytes"].as_u64().unwrap(), site["documents"].as_u64().unwrap())
        );
        (share, number("documents"), number("documents_total"))
    }

    fn site(&self, name: &str) -> &Value {
        self.report["sites"].as_array().unwrap().iter().find(|site| site["site"] == name).unwrap()
    }

    fn status(&self, site: &str, status: &str) -> u64 {
        self.site(site)["status"][status].as_u64().unwrap_or(0)
    }

    fn pairs(&self) -> Vec<Pair> {
        let is_changed = |row: &&Value| {
            row["site"] == "old" && row["partner"]["path"] == row["path"] && row["status"] != "identical"
        };
        let rows = self.documents.as_array().unwrap().iter().filter(is_changed);
        let pair = |row: &Value| Pair {
            path: row["path"].as_str().unwrap().to_owned(),
            share: row["partner"]["share"].clone(),
        };
        rows.map(pair).collect()
    }

    /// The pair of folders with the document that moved: documents of it, all documents, the share of its bytes.
    fn folder(&self) -> (u64, u64, Value) {
        let folders = self.report["folders"].as_array().unwrap();
        let row = folders.iter().find(|row| row["b"]["path"] == "own").unwrap();
        (row["documents_b"].as_u64().unwrap(), row["documents_total_b"].as_u64().unwrap(), row["share_b"].clone())
    }

    /// The folder of the older site that is compared with one at another path, that one, and their documents.
    fn aligned(&self) -> (String, String, u64) {
        let [row] = self.report["alignment"].as_array().unwrap().as_slice() else {
            panic!("{}", self.report["alignment"])
        };
        let path = |side: &str| row[side]["path"].as_str().unwrap().to_owned();
        assert_eq!((&row["a"]["site"], &row["given"]), (&Value::from("new"), &Value::from(false)));
        (path("b"), path("a"), row["documents"].as_u64().unwrap())
    }

    fn clusters(&self) -> &Vec<Value> {
        self.report["clusters"].as_array().unwrap()
    }
}

const STATUSES: [&str; 9] =
    ["identical", "near", "contains", "contained", "shares", "standard_text", "undecided", "unique", "excluded"];

/// The words of the line that begins so.
fn words<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let line = text.lines().map(str::trim).find(|line| line.starts_with(begin));
    line.unwrap_or_else(|| panic!("no line begins with `{begin}` in\n{text}")).split_whitespace().collect()
}

fn check_text(text: &str, numbers: &Numbers) {
    let (older, newer) = (numbers.changes("old"), numbers.changes("new"));
    // No document shares standard text alone, and all is decided, so that no column tells it.
    let all: Vec<String> = older[..3].iter().chain([&older[5], &newer[5]]).map(u64::to_string).collect();
    assert_eq!(words(text, "all ")[1..], all, "{text}");
    for site in ["old", "new"] {
        let (share, documents, total) = numbers.overlap(site);
        assert!(text.contains(&format!("In common     at least {} of {site} (", percent(&share))), "{text}");
        assert!(text.contains(&format!("; {documents} of its {total} documents have")), "{text}");
        let shown = STATUSES.iter().filter(|status| !["standard_text", "undecided"].contains(status));
        let statuses: Vec<String> = shown.map(|status| numbers.status(site, status).to_string()).collect();
        let row = words(text, &format!("{site}/kb "));
        assert!(row.ends_with(&statuses.iter().map(String::as_str).collect::<Vec<_>>()), "{text}");
    }
    let changed = text.split("CHANGED DOCUMENTS:").nth(1).unwrap();
    for pair in numbers.pairs() {
        let share = percent(&pair.share);
        assert_eq!(words(changed, &pair.path)[3..].join(" "), share, "{text}");
    }
    let (documents, total, share) = numbers.folder();
    let row = words(text, "old: own").join(" ");
    let is_all = share == 1;
    assert!(row.contains(&format!("{documents} of {total}")) && (!is_all || row.contains("identical")), "{row}");
    let (older, newer, documents) = numbers.aligned();
    let sentence = format!("{older} of old/kb is compared with {newer} of new/kb ({documents} documents)");
    assert!(text.contains(&sentence), "{text}");
    assert_eq!(
        words(text, "CLUSTERS of documents that share much:")[6].trim_end_matches(';'),
        numbers.clusters().len().to_string()
    );
}

/// The text of a page without its markup, a cell a line.
fn cells(html: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        cells.push(rest[..at].trim().to_owned());
        rest = rest[at..].find('>').map_or("", |end| &rest[at + end + 1..]);
    }
    cells.retain(|cell| !cell.is_empty());
    cells
}

/// The cells that follow one that reads so.
fn after(cells: &[String], from: &str, count: usize) -> Vec<String> {
    let at = cells.iter().position(|cell| cell == from).unwrap_or_else(|| panic!("no cell reads `{from}`: {cells:?}"));
    cells.iter().skip(at + 1).take(count).cloned().collect()
}

fn check_html(html: &str, numbers: &Numbers) {
    let part = |id: &str| cells(html.split(&format!("id=\"{id}\"")).nth(1).unwrap().split("<h2").next().unwrap());
    for site in ["old", "new"] {
        let name = format!("{site}/kb");
        assert_eq!(
            after(&part("changes")[8..], &name, 6),
            numbers.changes(site).map(|count| count.to_string()),
            "{html}"
        );
        let statuses = STATUSES.map(|status| numbers.status(site, status).to_string());
        assert!(after(&part("coverage"), &name, 14).ends_with(&statuses), "{:?}", part("coverage"));
        let (share, documents, total) = numbers.overlap(site);
        let overlap = part("overlap");
        assert!(overlap.contains(&percent(&share)), "{share}: {overlap:?}");
        assert!(overlap.contains(&format!("{documents} of {total} documents")), "{overlap:?}");
    }
    let (older, newer, documents) = numbers.aligned();
    let aligned = html.split("id=\"alignment\"").nth(1).unwrap().split("<h2").next().unwrap();
    assert_eq!(after(&cells(aligned), &older, 4), ["old/kb", &newer, "new/kb", &documents.to_string()]);
    let clusters = part("clusters");
    for cluster in numbers.clusters() {
        assert!(clusters.contains(&percent(&cluster["mean_resemblance"])), "{cluster}: {clusters:?}");
        let link = &cluster["links"][0];
        let within = if cluster["representative"] == 0 { &link["b_in_a"] } else { &link["a_in_b"] };
        assert!(clusters.contains(&percent(within)), "{cluster}: {clusters:?}");
    }
    let (documents, total, share) = numbers.folder();
    let folder = after(&part("folders"), "own", 12);
    for shown in [documents.to_string(), total.to_string(), percent(&share)] {
        assert!(folder.contains(&shown), "{shown}: {folder:?}");
    }
}

fn check_workbook(sheets: &Value, numbers: &Numbers) {
    let row = |sheet: &str, of: &dyn Fn(&[Value]) -> bool| -> Vec<Value> {
        let rows = sheets[sheet].as_array().unwrap().iter().map(|row| row.as_array().unwrap().as_slice());
        rows.into_iter().find(|row| of(row)).unwrap_or_else(|| panic!("{}", sheets[sheet])).to_vec()
    };
    let whole = |value: &Value| value.as_f64().unwrap().to_string();
    let thousandths = |value: &Value| (value.as_f64().unwrap() * 1000.0).round().to_string();
    for site in ["old", "new"] {
        let name = format!("{site}/kb");
        let found = row("Summary", &|row| row[0] == name.as_str() && row.len() == 7);
        assert_eq!(
            found[1..].iter().map(whole).collect::<Vec<_>>(),
            numbers.changes(site).map(|count| count.to_string())
        );
        let coverage = row("Summary", &|row| row[0] == name.as_str() && row.len() > 12);
        for (place, status) in STATUSES.iter().enumerate() {
            assert_eq!(whole(&coverage[8 + place]), numbers.status(site, status).to_string(), "{coverage:?}");
        }
        let (share, documents, total) = numbers.overlap(site);
        let overlap = row("Summary", &|row| row[0] == site && row.len() == 9);
        assert_eq!([&overlap[2], &overlap[3]].map(whole), [documents, total].map(|count| count.to_string()));
        let shares = row("Summary", &|row| row[0] == site && row.len() < 4);
        let shown: Vec<String> = shares[1..].iter().filter(|cell| cell.is_number()).map(thousandths).collect();
        assert_eq!(shown, [tenths(&share).to_string()], "{shares:?}");
    }
    for pair in numbers.pairs() {
        let is_it = |row: &[Value]| row.contains(&Value::from("old")) && row.contains(&Value::from(pair.path.as_str()));
        let shown = row("Documents", &is_it);
        assert_eq!(
            thousandths(shown.iter().rfind(|cell| cell.is_number()).unwrap()),
            tenths(&pair.share).to_string(),
            "{shown:?}"
        );
    }
    let shown: Vec<String> = sheets["Clusters"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row.as_array().is_some_and(|row| row.contains(&Value::from("pair"))))
        .map(|row| {
            thousandths(
                row.as_array().unwrap().iter().find(|cell| cell.as_f64().is_some_and(|n| n > 0.0 && n < 1.0)).unwrap(),
            )
        })
        .collect();
    let expected: Vec<String> =
        numbers.clusters().iter().map(|cluster| tenths(&cluster["mean_resemblance"]).to_string()).collect();
    assert_eq!(shown, expected);
    let (older, newer, documents) = numbers.aligned();
    let aligned = row("Alignment", &|row| row[0] == older.as_str());
    assert_eq!((&aligned[2], whole(&aligned[4])), (&Value::from(newer), documents.to_string()), "{aligned:?}");
    let (documents, total, share) = numbers.folder();
    let folder = row("Folders", &|row| row.contains(&Value::from("own")));
    let counts: Vec<&Value> = folder.iter().filter(|cell| cell.is_number()).collect();
    assert_eq!([whole(counts[0]), whole(counts[1])], [documents, total].map(|count| count.to_string()), "{folder:?}");
    assert_eq!(thousandths(counts[5]), tenths(&share).to_string(), "{folder:?}");
}

fn check_pages(browser: &Browser, id: &str, numbers: &Numbers) {
    browser.open(&format!("/scans/{id}/result"));
    browser.wait("there are changes", |browser| browser.has("#changes"));
    let shown: Vec<Vec<String>> = browser
        .texts("#changes tbody tr")
        .iter()
        .map(|row| row.split_whitespace().map(str::to_owned).collect())
        .collect();
    for (row, site) in shown.iter().zip(["old", "new"]) {
        assert_eq!(row[1..], numbers.changes(site).map(|count| count.to_string()), "{shown:?}");
        assert_eq!(row[0], format!("{site}/kb"), "from the first typed site: {shown:?}");
    }
    let (older, newer, documents) = numbers.aligned();
    let aligned = format!("{older} of old/kb is compared with {newer} of new/kb ({documents} documents)");
    assert_eq!(browser.texts("#alignment li"), [aligned]);
    let matrix = browser.texts(".matrix td").join(" | ");
    for site in ["old", "new"] {
        let (share, documents, _) = numbers.overlap(site);
        assert!(matrix.contains(&percent(&share)) && matrix.contains(&format!("{documents} documents")), "{matrix}");
    }
    browser.open(&format!("/scans/{id}/clusters"));
    let rows = browser.texts("ol[data-rows] > li");
    for (row, cluster) in rows.iter().zip(numbers.clusters()) {
        let is_same = row.contains(&percent(&cluster["mean_resemblance"])) || row.contains("inside");
        assert!(is_same, "in the same order: {row}: {cluster}");
    }
    assert_eq!(rows.len(), numbers.clusters().len());
    browser.open(&format!("/scans/{id}/documents?site=old&path=plans"));
    let rows = browser.texts("table tbody tr");
    for pair in numbers.pairs() {
        let row = rows.iter().find(|row| row.contains(&pair.path)).unwrap();
        assert!(row.contains(&percent(&pair.share)), "{}: {row}", pair.share);
    }
    browser.open(&format!("/scans/{id}/folders"));
    let (documents, total, _) = numbers.folder();
    let row = browser.texts("table tbody tr").into_iter().find(|row| row.contains("own")).unwrap();
    assert!(row.contains(&format!("{documents} of {total}")), "{row}");
    browser.check();
}

#[test]
fn text_page_workbook_json_and_the_coordinators_pages_have_one_set_of_numbers() {
    let federation = versions();
    let scan = federation.operate(&Federation::launching("old/kb,new/kb", &[])).report();
    let id = scan["scan"]["id"].as_str().unwrap();
    let report = |args: &[&str]| federation.operate(&[&["report", id], args].concat()).expect(0);
    let numbers = Numbers {
        report: report(&["--format", "json"]).json(),
        documents: report(&["--documents", "--format", "json"]).json(),
    };
    assert_eq!((numbers.changes("old"), numbers.changes("new")), ([7, 4, 1, 0, 0, 2], [7, 4, 1, 0, 0, 1]));
    assert_eq!((numbers.pairs().len(), numbers.clusters().len()), (3, 3));
    let weights: Vec<u64> = numbers.clusters().iter().map(|one| one["joined_bytes"].as_u64().unwrap()).collect();
    assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
    check_text(report(&["--format", "text", "--limit", "0"]).text(), &numbers);
    check_html(report(&["--format", "html"]).text(), &numbers);
    let workbook = federation.sandbox.path("report.xlsx");
    report(&["--format", "xlsx", "-o", workbook.to_str().unwrap()]);
    if let Some(sheets) = sheets(&workbook) {
        check_workbook(&sheets, &numbers);
    }
    if let Some(browser) = Browser::signed_in(&federation) {
        check_pages(&browser, id, &numbers);
    }
}
