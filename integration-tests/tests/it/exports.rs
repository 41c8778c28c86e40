//! The formats of a result: a workbook, a page, a load file, lists of documents, a site's slice.

use std::path::{Path, PathBuf};
use std::process::Command;

use cognate_integration_tests::dice::letters;
use cognate_integration_tests::{Sandbox, not_checked, sandbox};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// Names that would be obeyed, if anything obeyed names.
const HOSTILE: [&str; 6] = [
    "=HYPERLINK(\"http:evil\")",
    "<img src=x onerror=alert(1)>",
    "invoice\u{202e}fdp.exe",
    "@SUM(1)",
    "line\nbreak \u{1} _x0041_",
    "+cmd|' C'!A0",
];

struct Made {
    sandbox: Sandbox,
    folders: Vec<(&'static str, PathBuf)>,
}

impl Made {
    /// At `a` and `b`: hostile names that are at both, one that changed, one that each has alone. At `c`: of `b` alone.
    fn new() -> Made {
        let sandbox = Sandbox::new();
        let (same, long) = (letters(1, 20_000), letters(2, 60_000));
        let mut edited = long.clone();
        edited[30_000..30_040].copy_from_slice(&letters(3, 40));
        let (only_a, only_b, of_c) = (letters(4, 9_000), letters(5, 8_000), letters(6, 7_000));
        let mut at_a: Vec<(String, Vec<u8>)> = HOSTILE.iter().map(|name| ((*name).to_owned(), same.clone())).collect();
        at_a.extend([("report.txt".to_owned(), long), ("only/a.txt".to_owned(), only_a)]);
        let at_b = [
            ("copy.txt".to_owned(), same),
            ("old/report.txt".to_owned(), edited.clone()),
            ("only/b.txt".to_owned(), only_b),
            ("shared/c.txt".to_owned(), of_c.clone()),
        ];
        let at_c = [("c.txt".to_owned(), of_c), ("report.txt".to_owned(), edited)];
        let tree = |name: &str, files: &[(String, Vec<u8>)]| {
            sandbox.tree(name, &files.iter().map(|(path, bytes)| (path.clone(), bytes.clone())).collect())
        };
        let folders = vec![("a", tree("a", &at_a)), ("b", tree("b", &at_b)), ("c", tree("c", &at_c))];
        Made { sandbox, folders }
    }

    fn folders(&self) -> Vec<(&str, &Path)> {
        self.folders.iter().map(|(name, path)| (*name, path.as_path())).collect()
    }

    /// The report in a format, as a file.
    fn file(&self, name: &str, format: &str, more: &[&str]) -> PathBuf {
        let path = self.sandbox.path(name);
        let output = path.to_str().unwrap();
        let args = [&["--format", format, "-o", output], more].concat();
        self.sandbox.cognate(sandbox::compare_args(&self.folders(), &args)).expect(0);
        path
    }

    /// The output of `cognate report` for the result in a file.
    fn report(&self, result: &Path, more: &[&str]) -> cognate_integration_tests::Run {
        let result = result.to_str().unwrap();
        self.sandbox.cognate([&["report", result], more].concat()).expect(0)
    }
}

/// A file of a workbook, unpacked by another program; nothing where that is not here.
fn unpacked(workbook: &Path, member: &str) -> Option<String> {
    let script = "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";
    let run = Command::new("python3").args(["-c", script]).arg(workbook).arg(member).output();
    let Ok(run) = run else {
        not_checked("the files of a workbook, since `python3` is not installed");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap())
}

#[test]
fn in_a_workbook_members_fold_below_their_group_and_no_name_is_a_formula() {
    let made = Made::new();
    let workbook = made.file("report.xlsx", "xlsx", &[]);
    let Some(names) = unpacked(&workbook, "xl/workbook.xml") else { return };
    for sheet in ["Summary", "Clusters", "Identical", "Folders", "Documents", "Unread"] {
        assert!(names.contains(&format!("name=\"{sheet}\"")), "{sheet}: {names}");
    }
    let sheet = |number: u8| unpacked(&workbook, &format!("xl/worksheets/sheet{number}.xml")).unwrap();
    let strings = unpacked(&workbook, "xl/sharedStrings.xml").unwrap();
    for rows in [sheet(2), sheet(3)] {
        assert!(rows.contains("outlineLevel=\"1\"") && rows.contains("summaryBelow=\"0\""), "{rows}");
        assert!(rows.contains("outlineLevelRow=\"1\""), "{rows}");
        assert!(rows.contains("<autoFilter ") && rows.contains("state=\"frozen\""), "{rows}");
    }
    for what in ["representative", "=HYPERLINK(", "\\u{202e}", "_x005F_x0041_"] {
        assert!(strings.contains(what), "{what}: {strings}");
    }
    for rows in (1..=6).map(sheet).chain([strings]) {
        assert!(!rows.contains("<f>") && !rows.contains("<hyperlink"), "a name became a formula or link: {rows}");
        let hidden = |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || c == '\u{202e}';
        assert!(!rows.contains(hidden), "it holds what no one would see: {rows}");
    }
    let again = made.file("again.xlsx", "xlsx", &[]);
    assert_eq!(clusters_of(&workbook), clusters_of(&again));
}

/// The sheet of clusters of a workbook, with its texts in place of their numbers: these depend on other sheets, and so on the time
/// that a run took.
fn clusters_of(workbook: &Path) -> String {
    let strings = unpacked(workbook, "xl/sharedStrings.xml").unwrap();
    let strings: Vec<&str> = strings.split("<si>").skip(1).collect();
    let sheet = unpacked(workbook, "xl/worksheets/sheet2.xml").unwrap();
    let mut parts = sheet.split("t=\"s\"><v>");
    let mut all = parts.next().unwrap().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('<').unwrap();
        all += strings[number.parse::<usize>().unwrap()];
        all += rest;
    }
    all
}

#[test]
fn a_page_needs_no_other_host_and_obeys_no_name() {
    let made = Made::new();
    let page = std::fs::read_to_string(made.file("report.html", "html", &[])).unwrap();
    for foreign in ["http:", "https:", "src=\"", "<link", "@import", "url("] {
        let found = page.replace("http:evil", "").matches(foreign).count();
        assert_eq!(found, 0, "`{foreign}` in a page that is to need nothing but itself");
    }
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;") && !page.contains("<img"));
    assert!(page.contains("\\u{202e}") && !page.contains('\u{202e}'));
    for said in ["Coverage", "site × site", "redundant bytes", "default-src 'none'", "report.txt"] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn a_load_file_has_each_content_once_with_all_its_places() {
    let made = Made::new();
    let text = std::fs::read_to_string(made.file("load.csv", "loadfile", &[])).unwrap();
    let script = "import csv, json, sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline='')))))";
    let run = Command::new("python3").args(["-c", script]).arg(made.sandbox.path("load.csv")).output();
    let Ok(run) = run else {
        return not_checked("a load file, since `python3` is not installed");
    };
    let rows: Vec<Value> = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(rows.len(), 6, "each of six contents once: {text}");
    let of = |path: &str| rows.iter().find(|row| row["Path"] == path).unwrap_or_else(|| panic!("{path}: {rows:?}"));
    // `b` comes before `c`.
    assert_eq!((&of("shared/c.txt")["AllSites"], &of("shared/c.txt")["ExactDupCount"]), (&"b; c".into(), &"2".into()));
    let copies = rows.iter().find(|row| row["ExactDupCount"] == "7").unwrap();
    assert_eq!((copies["AllSites"].as_str(), copies["NearDupGroup"].as_str()), (Some("a; b"), Some("")));
    assert!(copies["Path"].as_str().unwrap().starts_with('\''), "{copies}");
    let (principal, other) = match of("report.txt")["NearDupPrincipal"] == "Y" {
        true => (of("report.txt"), of("old/report.txt")),
        false => (of("old/report.txt"), of("report.txt")),
    };
    assert_eq!(principal["NearDupGroup"], other["NearDupGroup"]);
    assert_eq!((&principal["NearDupSimilarity"], &other["NearDupPrincipal"]), (&"100".into(), &"N".into()));
    let similarity: f64 = other["NearDupSimilarity"].as_str().unwrap().parse().unwrap();
    assert!((80.0..100.0).contains(&similarity), "{other}");
}

#[test]
fn lists_of_documents_of_one_site_at_another_come_in_every_format() {
    let made = Made::new();
    let result = made.file("result.sqlite", "sqlite", &[]);
    let paths = |more: &[&str]| -> Vec<(String, String, Value)> {
        let args = [&["--documents", "--format", "json"], more].concat();
        let rows = made.report(&result, &args).json();
        let row = |row: &Value| {
            (
                row["path"].as_str().unwrap().to_owned(),
                row["status"].as_str().unwrap().to_owned(),
                row["partner"].clone(),
            )
        };
        rows.as_array().unwrap().iter().map(row).collect()
    };
    let named = |rows: &[(String, String, Value)]| -> Vec<(String, String)> {
        rows.iter().map(|(path, status, _)| (path.clone(), status.clone())).collect()
    };
    let pair = |path: &str, status: &str| (path.to_owned(), status.to_owned());
    // Documents of b that a does not have; documents shared with c alone count as unique.
    let only = paths(&["--status", "unique", "--in", "b", "--against", "a"]);
    assert_eq!(named(&only), [pair("only/b.txt", "unique"), pair("shared/c.txt", "unique")]);
    // Documents that a must copy from b to have all; the partner of each is one of a, although c has a better one.
    let copy = paths(&["--status", "unique,changed", "--in", "b", "--against", "a"]);
    let expected = [pair("old/report.txt", "near"), pair("only/b.txt", "unique"), pair("shared/c.txt", "unique")];
    assert_eq!(named(&copy), expected);
    assert_eq!((&copy[0].2["site"], &copy[0].2["path"]), (&"a".into(), &"report.txt".into()));
    let same = paths(&["--status", "identical", "--in", "b", "--against", "c"]);
    assert_eq!(named(&same), [pair("old/report.txt", "identical"), pair("shared/c.txt", "identical")]);
    assert_eq!(same[1].2["path"], "c.txt");
    for format in ["text", "csv", "ndjson", "html"] {
        let run = made.report(&result, &["--documents", "--status", "unique", "--in", "a", "--format", format]);
        assert!(run.text().contains("only/a.txt") && !run.text().contains("report.txt"), "{format}: {}", run.text());
    }
    let refused =
        made.sandbox.cognate(["report", result.to_str().unwrap(), "--documents", "--status", "new"]).refusal(2);
    assert!(refused.contains("changed"), "{refused}");
    let refused = made.sandbox.cognate(["report", result.to_str().unwrap(), "--format", "xlsx"]).refusal(2);
    assert!(refused.contains("-o FILE"), "{refused}");
}

#[test]
fn a_slice_has_the_rows_of_one_site_and_is_marked_as_such() {
    let made = Made::new();
    let result = made.file("result.sqlite", "sqlite", &[]);
    let slice = made.report(&result, &["--site", "c", "--format", "json"]).json();
    assert_eq!(slice["scan"]["slice"], "c");
    let sets = slice["identical"].as_array().unwrap();
    assert_eq!(sets.len(), 2, "{sets:?}");
    assert!(sets.iter().all(|set| set["documents"].as_array().unwrap().iter().any(|one| one["site"] == "c")));
    assert_eq!(slice["clusters"].as_array().unwrap().len(), 1);
    let complete = made.report(&result, &["--format", "json"]).json();
    assert_ne!(complete["scan"]["digest"], slice["scan"]["digest"]);
    let file = made.sandbox.path("slice.json");
    std::fs::write(&file, slice.to_string()).unwrap();
    made.sandbox.cognate(["report", "verify", file.to_str().unwrap()]).expect(0);
    let lines = made.report(&result, &["--site", "c", "--format", "ndjson"]).lines();
    let documents: Vec<&Value> = lines.iter().filter(|line| line["type"] == "document").collect();
    assert!(documents.len() == 2 && documents.iter().all(|document| document["site"] == "c"), "{documents:?}");
    for format in ["text", "csv", "html"] {
        let run = made.report(&result, &["--site", "c", "--format", format]);
        assert!(!run.text().contains("HYPERLINK"), "{format} has rows that do not concern c: {}", run.text());
    }
    let refused = made.sandbox.cognate(["report", result.to_str().unwrap(), "--site", "nowhere"]);
    assert!(refused.refusal(1).contains("nowhere"));
    let output = made.sandbox.path("x.sqlite");
    let args =
        ["report", result.to_str().unwrap(), "--site", "c", "--format", "sqlite", "-o", output.to_str().unwrap()];
    made.sandbox.cognate(args).refusal(2);
}

#[test]
fn a_list_in_the_order_of_likeness_has_every_document_next_to_those_that_are_like_it() {
    let made = Made::new();
    let result = made.file("result.sqlite", "sqlite", &[]);
    let documents = |more: &[&str]| -> Vec<String> {
        let rows = made.report(&result, &[&["--documents", "--format", "json"], more].concat()).json();
        let name = |row: &Value| format!("{}: {}", row["site"].as_str().unwrap(), row["path"].as_str().unwrap());
        rows.as_array().unwrap().iter().map(name).collect()
    };
    let by_path = documents(&[]);
    let by_likeness = documents(&["--order", "likeness"]);
    assert_eq!(by_likeness[..6], by_path[..6], "six copies at one site");
    let rest = [
        "b: copy.txt",
        "a: only/a.txt",
        "a: report.txt",
        "b: old/report.txt",
        "c: report.txt",
        "b: only/b.txt",
        "b: shared/c.txt",
        "c: c.txt",
    ];
    assert_eq!(by_likeness[6..], rest);
    let text = made.report(&result, &["--documents", "--order", "likeness", "--window", "64KiB"]);
    let last = text.text().lines().last().unwrap();
    // By path only copies at one site are near each other, and the last document of `b` is a copy of the first of `c`.
    assert!(
        last.starts_with("In this order 24") && last.ends_with("within 64.0 KiB, in the order of paths 107.0 kB."),
        "{last}"
    );
    let args = ["report", result.to_str().unwrap(), "--documents", "--window", "1MiB"];
    assert!(made.sandbox.cognate(args).refusal(2).contains("--order likeness"));
    let with_changed = documents(&["--order", "likeness", "--status", "changed,unique", "--in", "b", "--against", "a"]);
    assert_eq!(with_changed, ["b: old/report.txt", "b: only/b.txt", "b: shared/c.txt"]);
}

#[test]
fn the_paths_of_one_repository_are_listed_for_other_programs_as_they_are() {
    let made = Made::new();
    let result = made.file("result.sqlite", "sqlite", &[]);
    let run = made.report(&result, &["--documents", "--in", "a", "--order", "likeness", "--print0"]);
    let mut listed: Vec<&[u8]> = run.stdout.split(|byte| *byte == 0).collect();
    assert_eq!(listed.pop(), Some(&b""[..]), "a zero byte ends each");
    let mut expected: Vec<&[u8]> = HOSTILE.iter().map(|name| name.as_bytes()).collect();
    expected.extend([&b"only/a.txt"[..], b"report.txt"]);
    assert_eq!(listed.iter().filter(|path| HOSTILE.iter().any(|name| name.as_bytes() == **path)).count(), 6);
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    assert!(run.stderr.contains("In this order"), "{}", run.stderr);
    let args = ["report", result.to_str().unwrap(), "--documents", "--print0"];
    let refused = made.sandbox.cognate(args).expect(2).stderr;
    assert!(refused.contains("one repository") && refused.contains("--in SITE"), "{refused}");
}

#[test]
fn an_output_replaces_every_output_of_ours_and_nothing_else_without_force() {
    let made = Made::new();
    let compare = |path: &Path, more: &[&str]| {
        let args = [&["--format", "json", "-o", path.to_str().unwrap()], more].concat();
        made.sandbox.cognate(sandbox::compare_args(&made.folders()[..2], &args))
    };
    let formats = [
        ("text", &[][..]),
        ("json", &[]),
        ("ndjson", &[]),
        ("csv", &[]),
        ("loadfile", &[]),
        ("html", &[]),
        ("xlsx", &[]),
        ("sqlite", &[]),
    ];
    for (format, more) in formats {
        let ours = made.file("report", format, more);
        compare(&ours, &[]).expect(0);
        assert!(std::fs::read(&ours).unwrap().starts_with(b"{\"schema\":\"cognate.report/1\""), "{format}");
    }
    let theirs = made.sandbox.path("notes.txt");
    std::fs::write(&theirs, "what I think of it\n").unwrap();
    let refusal = compare(&theirs, &[]).refusal(2);
    for part in ["notes.txt` exists", "no output of Cognate", "--force"] {
        assert!(refusal.contains(part), "{refusal}");
    }
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "what I think of it\n");
    compare(&theirs, &["--force"]).expect(0);
    assert!(std::fs::read(&theirs).unwrap().starts_with(b"{\"schema\""));
    assert!(compare(&made.sandbox.path(""), &[]).refusal(1).contains("is a folder"));
}

#[test]
fn a_report_fits_in_a_terminal_of_80_columns() {
    let made = Made::new();
    let width = |line: &str| line.chars().count();
    let shown = |columns: &str, sites: usize| {
        let mut command = Command::new(cognate_integration_tests::binary::cognate());
        command.args(sandbox::compare_args(&made.folders()[..sites], &["--limit", "0"])).env("COLUMNS", columns);
        let run = made.sandbox.spawn(command).ended().expect(0);
        run.text().to_owned()
    };
    for sites in [2, 3] {
        let (narrow, wide) = (shown("80", sites), shown("1000", sites));
        let longest = |text: &str| text.lines().map(width).max().unwrap();
        assert!(longest(&wide) > 80, "there is something to fold:\n{wide}");
        let too_long: Vec<&str> = narrow.lines().filter(|line| width(line) > 80).collect();
        assert!(too_long.is_empty(), "{too_long:#?}");
        // Nothing is lost: the same letters, in lines.
        let letters = |text: &str| {
            let mut letters: Vec<char> = text.chars().filter(|letter| letter.is_alphanumeric()).collect();
            letters.sort_unstable();
            letters
        };
        // Times differ from run to run.
        assert!(letters(&narrow).len().abs_diff(letters(&wide).len()) < 40);
    }
}

#[test]
fn page_and_workbook_have_the_folders_of_two_repositories_with_what_became_of_them() {
    let made = Made::new();
    let two = &made.folders()[..2];
    let write = |name: &str, format: &str| {
        let path = made.sandbox.path(name);
        let args = ["--format", format, "-o", path.to_str().unwrap()];
        made.sandbox.cognate(sandbox::compare_args(two, &args)).expect(0);
        path
    };
    let page = std::fs::read_to_string(write("two.html", "html")).unwrap();
    let (_, tree) = page.split_once("<h2 id=\"tree\">").unwrap();
    let (tree, _) = tree.split_once("<h2").unwrap();
    // Each folder that is opened is closed, and what is the same wholly does not open.
    assert_eq!(tree.matches("<details").count(), tree.matches("</details>").count(), "{tree}");
    for told in [
        "<summary>only/ <small>1 only</small></summary>",
        "<div class=\"leaf\">a.txt <small>only</small></div>",
        "<summary>old/ <small>1 moved</small></summary>",
        "there at report.txt",
    ] {
        assert!(tree.contains(told), "{told}: {tree}");
    }
    assert!(!tree.contains("<img") && !tree.contains('\u{202e}'), "{tree}");
    let workbook = write("two.xlsx", "xlsx");
    let Some(names) = unpacked(&workbook, "xl/workbook.xml") else { return };
    assert!(names.contains("name=\"Changes\""), "{names}");
    // The sums of a sheet are those of the table of changes.
    let script = "import json, sys, zipfile, re\nbook = zipfile.ZipFile(sys.argv[1])\n\
                  names = re.findall('name=\"([^\"]*)\"', book.read('xl/workbook.xml').decode())\n\
                  sheet = book.read('xl/worksheets/sheet%d.xml' % (names.index('Changes') + 1)).decode()\n\
                  print(json.dumps([re.findall('<v>([^<]*)</v>', row) for row in re.findall('<row .*?</row>', sheet)]))";
    let run = Command::new("python3").args(["-c", script]).arg(&workbook).output().unwrap();
    let rows: Vec<Vec<String>> = serde_json::from_slice(&run.stdout).unwrap();
    // A title, headings, and below them `/` with its folders, of each repository.
    let of = |counts: [&str; 6]| rows.iter().filter(|row| row[..] == counts).count();
    assert!(rows.len() >= 7, "{rows:?}");
    assert_eq!(of(["0", "0", "0", "0", "0", "1"]), 3, "only/ of a, only/ and shared/ of b: {rows:?}");
    // Of three repositories there is no such comparison.
    let page = std::fs::read_to_string(made.file("three.html", "html", &[])).unwrap();
    assert!(!page.contains("id=\"tree\""));
}

/// So many documents are written apart from the other tables, and copied.
#[test]
fn a_result_of_many_documents_has_every_row_in_its_place_and_indexes_that_agree() {
    let sandbox = Sandbox::new();
    let count = 2100;
    let content = |site: u64, number: u64| letters(if number.is_multiple_of(3) { number } else { number + site }, 600);
    let tree = |name: &str, site: u64| {
        sandbox.tree(name, &(0..count).map(|number| (format!("{number:04}.txt"), content(site, number))).collect())
    };
    let folders = [("a", tree("a", 10_000)), ("b", tree("b", 20_000))];
    let folders: Vec<(&str, &Path)> = folders.iter().map(|(name, path)| (*name, path.as_path())).collect();
    let path = sandbox.path("result.sqlite");
    let out = ["--format", "sqlite", "-o", path.to_str().unwrap()];
    sandbox.cognate(sandbox::compare_args(&folders, &out)).expect(0);
    let database = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let answer: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
    let mut rows = database.prepare("SELECT id, root, path, status, partner FROM document ORDER BY id").unwrap();
    let rows = rows.query_map([], |row| {
        let path = String::from_utf8(row.get(2)?).unwrap();
        Ok((
            row.get::<_, u64>(0)?,
            row.get::<_, u64>(1)?,
            path,
            row.get::<_, String>(3)?,
            row.get::<_, Option<u64>>(4)?,
        ))
    });
    for (row, id) in rows.unwrap().zip(0..) {
        let (root, number) = (id / count, id % count);
        let (status, partner) = match number.is_multiple_of(3) {
            true => ("identical", Some((1 - root) * count + number)),
            false => ("unique", None),
        };
        assert_eq!(row.unwrap(), (id, root, format!("{number:04}.txt"), status.to_owned(), partner));
    }
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    assert_eq!(number("SELECT count(*) FROM document"), 2 * count);
    assert_eq!(number("SELECT sum(documents) FROM status WHERE status = 'identical'"), 2 * count.div_ceil(3));
}
