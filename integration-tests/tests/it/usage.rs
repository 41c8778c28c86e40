//! Commands and their results: exit codes, refusals in one line, the formats of a report.

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use cognate_integration_tests::binary::workspace;
use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::dice::seed;
use cognate_integration_tests::sandbox::names;
use cognate_integration_tests::tree::varied;
use cognate_integration_tests::{Dice, Run, Sandbox, not_checked};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use serde_json::{Value, json};

/// Two small sites that have a set, a cluster and an unique document between them.
struct Small {
    sandbox: Sandbox,
    a: PathBuf,
    b: PathBuf,
}

impl Small {
    fn new() -> Small {
        let seed = seed(51);
        let sandbox = Sandbox::seeded(seed);
        let mut dice = Dice::new(seed);
        let (copy, base, own) = (dice.bytes(5000), dice.bytes(40_000), dice.bytes(3000));
        let longer = [&base[..], &own].concat();
        let a = sandbox.folder("a", &[("sub/=copy", &copy), ("base", &base), ("empty", b"")]);
        let b = sandbox.folder("b", &[("copy", &copy), ("-longer", &longer), ("own", &own[..2000]), ("@x", &copy)]);
        Small { sandbox, a, b }
    }

    fn folders(&self) -> [(&str, &Path); 2] {
        [("a", &self.a), ("b", &self.b)]
    }

    fn compare(&self, args: &[&str]) -> Run {
        let mut words =
            vec!["compare".to_owned(), format!("a={}", self.a.display()), format!("b={}", self.b.display())];
        words.extend(args.iter().map(|&arg| arg.to_owned()));
        self.sandbox.cognate(words)
    }
}

/// Checks that a command line is refused with exit 2 and says all of `parts` on standard error.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], parts: &[&str]) {
    let run = sandbox.cognate(args).expect(2);
    assert!(run.stdout.is_empty(), "{run:?}");
    for part in parts {
        assert!(run.stderr.contains(part), "`{part}` is not said: {run:?}");
    }
}

#[test]
fn nonsense_is_refused_with_exit_2_and_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("1", b"1")]);
    sandbox.folder("other/x", &[("1", b"1")]);
    let check = |args: &[&str], parts: &[&str]| refused(&sandbox, args, parts);
    check(&["compare"], &["NAME=DIR"]);
    check(&["compare", "x", "other/x"], &["two folders have the name `x`", "x-1=x"]);
    check(&["compare", "a=x", "a=other/x"], &["a-1=x", "a-2=other/x"]);
    check(&["compare", "p:a/1=x", "q:a/2=x"], &["two parties"]);
    check(&["compare", "a="], &["a=DIR"]);
    check(&["compare", "a b=x"], &["[PARTY:]SITE[/REPOSITORY]=DIR"]);
    check(&["compare", "=x"], &["DIR"]);
    check(&["compare", "x", "--nonsense"], &["--nonsense"]);
    check(&["compare", "x", "--estimate"], &["--estimate is about two folders"]);
    check(&["compare", "x", "y", "--estimate=3"], &["20"]);
    check(&["compare", "x", "y", "--estimate", "--format", "ndjson"], &["text or json"]);
    check(&["compare", "x", "y", "--estimate", "--view", "text"], &["by chunks"]);
    check(&["report", "latest", "--printed", "audit.pdf"], &["report verify FILE --printed PDF"]);
    check(&["compare", "x", "--min-containmet", "1"], &["--min-containment"]);
    check(&["compare", "x", "--min-containment", "1.1"], &["between 0 and 1"]);
    check(&["compare", "x", "--min-containment", "much"], &["between 0 and 1"]);
    check(&["compare", "x", "--min-containment=-0.1"], &["between 0 and 1"]);
    check(&["compare", "x", "--min-shared-bytes", "some"], &["4KB"]);
    check(&["compare", "x", "--min-shared-bytes", "4XB"], &["4KB"]);
    check(&["compare", "x", "--chunk-bytes", "79"], &["80 to 1048576"]);
    check(&["compare", "x", "--chunk-bytes", "2MiB"], &["80 to 1048576"]);
    check(&["compare", "x", "--memory-budget", "1MiB"], &["32MiB"]);
    check(&["compare", "x", "--threads", "0"], &["--threads"]);
    check(&["compare", "x", "--sync-deadline", "soon"], &["--sync-deadline"]);
    check(&["compare", "x", "--format", "yaml"], &["json"]);
    check(&["compare", "x", "--format", "sqlite"], &["-o FILE"]);
    check(&["compare", "x", "--no-sync"], &["--state DIR"]);
    check(&["compare", "x", "--include", "a{b"], &["a{b"]);
    check(&["compare", "x", "--method", "sha1"], &["tttd"]);
    check(&["compare", "x", "--param", "w=20"], &["--chunk-bytes"]);
    check(&["compare", "x", "--passages"], &["--view text --passages"]);
    check(&["compare", "x", "--view", "raw", "--match-message-ids"], &["--view auto, text or both"]);
    check(&["fingerprint", "--view", "both", "--", "x/1"], &["raw or text"]);
    check(&["fingerprint"], &["FILE"]);
    check(&["fingerprint", "--fine", "--", "x/1"], &["--format ndjson"]);
    check(&["fingerprint", "--format", "json", "--", "x/1"], &["ndjson"]);
    check(&["comprae", "x"], &["comprae", "--help"]);
    assert_eq!(sandbox.temporary_files(), Vec::<PathBuf>::new());
}

#[test]
fn a_binary_report_is_not_written_to_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("1", b"1")]);
    for format in ["xlsx", "sqlite"] {
        refused(&sandbox, &["compare", "x", "--format", format], &[format]);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let sandbox = Sandbox::new();
    for args in [&["--help"][..], &["compare", "--help"], &["fingerprint", "--help"], &["--version"]] {
        let run = sandbox.cognate(args).expect(0);
        assert!(run.stderr.is_empty() && !run.stdout.is_empty(), "{run:?}");
        assert!(args.len() < 2 || run.text().contains("cognate "), "help has an example: {run:?}");
    }
}

/// The methods for which docs/methods.md has no need.
#[test]
fn methods_that_win_for_no_need_say_so_where_they_are_chosen() {
    let page = std::fs::read_to_string(workspace().join("docs/methods.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("Methods that win for no need")).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let methods: Vec<&str> = rows.map(|(method, _)| method).collect();
    assert_eq!(methods, ["bsw", "bsw-chunk", "similarity-index"]);
    let sandbox = Sandbox::new();
    for command in [&["compare"][..], &["scan", "launch"], &["fingerprint"], &["find"]] {
        let help = sandbox.cognate([command, &["--help"]].concat()).expect(0).text().to_owned();
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("600 false"), "{command:?} says nothing of similarity-index");
        assert!(words.contains("win for no need"), "{command:?} says nothing of bsw");
    }
}

#[test]
fn a_folder_that_is_not_there_is_refused_before_anything_is_written() {
    let small = Small::new();
    let report = small.sandbox.path("report.json");
    let out = report.to_str().unwrap();
    let earlier = b"{\"schema\":\"cognate.report/1\"}";
    std::fs::write(&report, earlier).unwrap();
    for missing in ["/nothing/here", small.a.join("base").to_str().unwrap()] {
        let run = small.compare(&[&format!("c={missing}"), "--format", "json", "-o", out]);
        let line = run.refusal(1);
        assert!(line.contains(missing), "{line}");
    }
    assert_eq!(std::fs::read(&report).unwrap(), earlier);
    assert_eq!(names(small.sandbox.path("").as_path()).len(), 5, "a, b, the report and the sandbox's own two folders");
}

#[test]
fn an_empty_folder_is_a_correct_result() {
    let sandbox = Sandbox::new();
    let (empty, hollow) = (sandbox.folder("empty", &[]), sandbox.path("hollow"));
    std::fs::create_dir_all(hollow.join("sub/sub")).unwrap();
    let report = sandbox.report(&[("empty", &empty), ("hollow", &hollow)], &[]);
    for site in report["sites"].as_array().unwrap() {
        assert_eq!((&site["documents"], &site["bytes"], &site["status"]), (&json!(0), &json!(0), &json!({})));
    }
    for list in ["identical", "clusters", "folders", "unread", "set_aside"] {
        assert_eq!(report[list], json!([]), "{list}");
    }
    assert_eq!(report["overlap"][0]["shared_bytes_a"], 0);
    for format in ["text", "ndjson", "csv"] {
        sandbox.cognate(["compare", "empty", "hollow", "--format", format]).expect(0);
    }
}

#[test]
fn a_key_that_cannot_be_used_is_refused() {
    let small = Small::new();
    let line = small.compare(&["--key", "/nothing/here"]).refusal(1);
    assert!(line.contains("/nothing/here"), "{line}");
    for (name, bytes) in [("short", &b"abc"[..]), ("long", &[b'f'; 66]), ("not-hex", &[b'x'; 64]), ("empty", b"")] {
        let key = small.sandbox.path(name);
        std::fs::write(&key, bytes).unwrap();
        let line = small.compare(&["--key", key.to_str().unwrap()]).refusal(2);
        assert!(line.contains(name), "{line}");
    }
}

#[test]
fn a_key_changes_every_tag_and_no_finding() {
    let seed = seed(52);
    let sandbox = Sandbox::seeded(seed);
    let trees = varied(&mut Dice::new(seed), 2, 100);
    let (a, b) = (sandbox.tree("a", &trees[0]), sandbox.tree("b", &trees[1]));
    let folders = [("a", a.as_path()), ("b", b.as_path())];
    let keys = ["1", "2"].map(|digit| {
        let path = sandbox.path(format!("key{digit}"));
        std::fs::write(&path, digit.repeat(64) + "\n").unwrap();
        path.to_str().unwrap().to_owned()
    });
    let plain = sandbox.report(&folders, &[]);
    let keyed = sandbox.report(&folders, &["--key", &keys[0]]);
    assert_eq!((&plain["scan"]["keyed"], &keyed["scan"]["keyed"]), (&json!(false), &json!(true)));
    assert_ne!(plain["scan"]["digest"], keyed["scan"]["digest"]);
    // Chunks fall elsewhere under another key, so that bytes shared may differ a little; identical sets may not.
    let sets = |report: &Value| -> BTreeSet<String> {
        report["identical"].as_array().unwrap().iter().map(|set| set["documents"].to_string()).collect()
    };
    assert_eq!(sets(&plain), sets(&keyed));
    let members = |report: &Value| report["clusters"].as_array().unwrap().len();
    assert!(members(&plain).abs_diff(members(&keyed)) <= 2, "{} {}", members(&plain), members(&keyed));
    let files: Vec<PathBuf> =
        cognate_integration_tests::sandbox::contents(&a).into_keys().map(|path| a.join(path)).collect();
    let tags = |key: &[&str]| -> BTreeSet<String> {
        let mut args: Vec<std::ffi::OsString> = ["fingerprint", "--format", "ndjson"].map(Into::into).into();
        args.extend(key.iter().map(Into::into));
        args.push("--".into());
        args.extend(files.iter().map(Into::into));
        let lines = sandbox.cognate(args).expect(0).lines();
        let chunks = lines.iter().flat_map(|line| line["chunks"].as_array().unwrap());
        chunks.map(|chunk| chunk[2].as_str().unwrap().to_owned()).collect()
    };
    let all = [tags(&[]), tags(&["--key", &keys[0]]), tags(&["--key", &keys[1]])];
    assert!(all[0].len() > 100 && all[0].iter().all(|tag| tag.len() == 32));
    assert!(all[0].is_disjoint(&all[1]) && all[0].is_disjoint(&all[2]) && all[1].is_disjoint(&all[2]));
    // The same key as 32 bytes and as digits is one key.
    let binary = sandbox.path("binary");
    std::fs::write(&binary, [0x11; 32]).unwrap();
    let again = sandbox.report(&folders, &["--key", binary.to_str().unwrap()]);
    assert_eq!(comparable(&again), comparable(&keyed));
}

/// The names of an object's fields.
fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[track_caller]
fn has(value: &Value, wanted: &str) {
    let fields = fields(value);
    for name in wanted.split(' ') {
        assert!(fields.contains(name), "`{name}` is missing: {value}");
    }
}

#[test]
fn the_json_report_has_the_fields_of_its_schema() {
    let small = Small::new();
    let report = small.sandbox.report(&small.folders(), &[]);
    assert_eq!(report["schema"], "cognate.report/1");
    has(&report, "schema scan sites identical clusters folders overlap set_aside unread");
    has(
        &report["scan"],
        "id method view chunk_bytes min_shared_bytes min_containment across_only keyed status digest run",
    );
    has(&report["scan"]["run"], "started finished order sites");
    has(&report["scan"]["run"]["sites"][0], "site read_bytes sent_bytes");
    let site = "party site repository documents bytes empty unreadable skipped changed chunks compressed_bytes status";
    report["sites"].as_array().unwrap().iter().for_each(|row| has(row, site));
    has(&report["identical"][0], "id tier size_bytes documents");
    has(&report["identical"][0]["documents"][0], "site repository path modified");
    let cluster = &report["clusters"][0];
    has(
        cluster,
        "id members_digest relation representative total_bytes joined_bytes documents links families link_count",
    );
    has(cluster, "links_omitted min_resemblance mean_resemblance");
    has(&cluster["documents"][0], "site repository path size_bytes payload_bytes modified copies sites identical");
    has(&cluster["links"][0], "a b shared_bytes resemblance a_in_b b_in_a relation");
    has(&cluster["families"][0], "representative members min_resemblance");
    has(&report["folders"][0], "a b relation documents_a documents_b shared_bytes_a shared_bytes_b");
    has(&report["folders"][0]["a"], "site repository path");
    has(&report["changes"][0], "from_site from_repository to_site to_repository same changed moved only");
    let overlap = "level a b documents_a documents_b shared_bytes_a shared_bytes_b template_bytes_a template_bytes_b";
    has(&report["overlap"][0], overlap);
    let scan = &report["scan"];
    assert_eq!((&scan["method"], &scan["view"], &scan["status"]), (&json!("tttd"), &json!("auto"), &json!("complete")));
    assert_eq!((&scan["chunk_bytes"], &scan["min_shared_bytes"]), (&json!(1000), &json!(16_384)));
    assert_eq!((&scan["min_containment"], &scan["across_only"]), (&json!(0.5), &json!(false)));
    assert_eq!(report["sites"][0]["excluded"], json!({"empty": 1}));
}

#[test]
fn ndjson_has_the_same_rows_one_a_line() {
    let small = Small::new();
    let report = small.sandbox.report(&small.folders(), &[]);
    let lines = small.compare(&["--format", "ndjson"]).expect(0).lines();
    let of_type = |name: &str| -> Vec<Value> {
        let mut rows: Vec<Value> = lines.iter().filter(|line| line["type"] == name).cloned().collect();
        rows.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("type")));
        rows
    };
    let lists = [
        ("site", "sites"),
        ("changes", "changes"),
        ("identical", "identical"),
        ("cluster", "clusters"),
        ("folder", "folders"),
        ("overlap", "overlap"),
        ("set_aside", "set_aside"),
    ];
    for (name, list) in lists {
        assert_eq!(&json!(of_type(name)), &report[list], "{name}");
    }
    assert_eq!(of_type("scan")[0]["digest"], report["scan"]["digest"]);
    assert_eq!(of_type("histogram")[0]["links"], report["histogram"]["links"]);
    assert_eq!(of_type("document").len(), 7);
    let known = [
        "scan",
        "site",
        "changes",
        "overlap",
        "set_aside",
        "histogram",
        "identical",
        "cluster",
        "folder",
        "document",
        "unread",
    ];
    assert!(lines.iter().all(|line| known.contains(&line["type"].as_str().unwrap())));
}

/// The cells of a CSV file (RFC 4180).
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, quoted) {
            ('"', true) if rest.peek() == Some(&'"') => cell.extend(rest.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\r', false) => {}
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            (other, _) => cell.push(other),
        }
    }
    assert!(cell.is_empty() && row.is_empty() && !quoted, "the last row ends");
    rows
}

#[test]
fn csv_has_a_row_for_each_member_and_no_cell_that_a_spreadsheet_would_run() {
    let small = Small::new();
    std::fs::write(small.a.join("+line\nbreak, \"quoted\""), std::fs::read(small.b.join("copy")).unwrap()).unwrap();
    let run = small.compare(&["--format", "csv"]).expect(0);
    let rows = cells(run.text());
    let header: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    assert_eq!(header[..6], ["kind", "id", "relation", "site", "repository", "path"]);
    assert_eq!(rows.len(), 1 + 4 + 3, "a set of four, a cluster of three: {run:?}");
    for row in &rows {
        assert_eq!(row.len(), header.len());
        for cell in row {
            let first = cell.chars().next().unwrap_or('x');
            assert!(!"=+-@".contains(first) && !first.is_control(), "{cell}");
        }
    }
    // It is said that a path is percent-escaped: programs read it back.
    let row = rows.iter().find(|row| row[5].contains("%0A")).unwrap();
    assert_eq!(row[header.iter().position(|name| *name == "path_escaped").unwrap()], "yes");
    let paths: BTreeSet<&str> = rows.iter().map(|row| row[5].as_str()).collect();
    for path in ["'+line%0Abreak, \"quoted\"", "sub/=copy", "'@x", "'-longer"] {
        assert!(paths.contains(path), "{paths:?}");
    }
}

#[test]
fn the_database_opens_and_has_the_data_of_the_report() {
    let small = Small::new();
    let report = small.sandbox.report(&small.folders(), &[]);
    let path = small.sandbox.path("result.sqlite");
    let run = small.compare(&["--format", "sqlite", "-o", path.to_str().unwrap()]).expect(0);
    assert!(run.stdout.is_empty(), "{run:?}");
    let database = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let text = |sql: &str| database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    assert_eq!(text("PRAGMA integrity_check"), "ok");
    assert_eq!(text("SELECT schema FROM scan"), "cognate.result/1");
    let tables = "root skipped missing content document unread cluster link family family_member folder overlap";
    for table in tables.split(' ') {
        number(&format!("SELECT count(*) FROM {table}"));
    }
    assert_eq!(number("SELECT count(*) FROM document"), 7);
    assert_eq!(number("SELECT sum(bytes) FROM root"), 40_000 + 43_000 + 3 * 5000 + 2000);
    assert_eq!(number("SELECT max(shared_bytes) FROM link"), report["clusters"][0]["links"][0]["shared_bytes"]);
    assert_eq!(number("SELECT count(*) FROM content WHERE identical IS NOT NULL"), 1);
    assert_eq!(number("SELECT count(*) FROM document WHERE status = 'identical'"), 3);
}

#[test]
fn the_text_names_the_sites_and_the_documents() {
    let small = Small::new();
    let run = small.compare(&[]).expect(0);
    for part in ["SITE", "a ", "b ", "IDENTICAL DOCUMENTS", "CLUSTERS", "base", "-longer", "In common"] {
        assert!(run.text().contains(part), "{part}: {run:?}");
    }
    assert!(run.stderr.is_empty(), "no progress where there is no terminal: {run:?}");
    let widest = run.text().lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest < 200, "{widest}");
}

#[test]
fn a_report_appears_complete_in_its_file_or_not_at_all() {
    let small = Small::new();
    let folder = small.sandbox.folder("reports", &[]);
    let path = folder.join("report.json");
    let out = path.to_str().unwrap();
    let run = small.compare(&["--format", "json", "-o", out]).expect(0);
    assert!(run.stdout.is_empty() && run.stderr.is_empty(), "{run:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(comparable(&report), comparable(&small.sandbox.report(&small.folders(), &[])));
    assert_eq!(names(&folder), std::slice::from_ref(&path), "no other file is left");
    small.compare(&["--format", "text", "-o", out]).expect(0);
    assert!(std::fs::read_to_string(&path).unwrap().contains("SITE"), "an earlier report is replaced");
    // A place where nothing can be written, for root too: below a file, and where a folder is.
    let below = path.join("report");
    for place in [below.to_str().unwrap(), folder.to_str().unwrap(), "/nothing/here/report"] {
        let line = small.compare(&["-o", place]).refusal(1);
        assert!(line.contains(place), "{line}");
    }
    assert_eq!(names(&folder), [path], "no other file is left");
    assert_eq!(small.sandbox.temporary_files(), Vec::<PathBuf>::new());
}

#[test]
fn a_pipe_that_is_named_as_the_output_is_written_to_or_refused_but_never_replaced() {
    let small = Small::new();
    let pipe = small.sandbox.path("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // A reader empties the pipe, so that the writer does not wait.
    let _reader = rustix::fs::open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    let run = small.compare(&["-o", pipe.to_str().unwrap()]);
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo(), "the pipe is gone: {run:?}");
    assert!(matches!(run.code, Some(0..=2)), "{run:?}");
}

#[test]
fn a_result_that_cannot_be_written_out_is_a_failure() {
    let small = Small::new();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return not_checked("a full output, since this system has no `/dev/full`") };
    for format in ["text", "json", "ndjson", "csv"] {
        let mut command = std::process::Command::new(cognate_integration_tests::binary::cognate());
        command.arg("compare").args([&small.a, &small.b]).args(["--format", format]).stdout(full.try_clone().unwrap());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_line_on_standard_error_that_cannot_be_written_changes_neither_result_nor_exit_code() {
    cognate_integration_tests::binary::build_laboratory();
    let small = Small::new();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return not_checked("a full log, since this system has no `/dev/full`") };
    let base = small.a.join("base");
    let below = base.join("findings");
    let (base, below) = (base.to_str().unwrap(), below.to_str().unwrap());
    std::fs::create_dir(small.sandbox.path("none")).unwrap();
    for (code, args) in [
        (0, &["compare", "a", "none", "--format", "csv"][..]),
        (3, &["fingerprint", "--format", "ndjson", base, "nothing"]),
        (3, &["text", base, "nothing"]),
        (1, &["evaluate", "templates", "-o", below]),
        (2, &["evaluate", "templates", "-o", "findings", "--office-set"]),
    ] {
        let run = small.sandbox.cognate(args).expect(code);
        assert!(!run.stderr.is_empty(), "nothing is said: {run:?}");
        let mut command = small.sandbox.command("");
        let output = command.args(args).stderr(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert_eq!(output.stdout, run.stdout, "{args:?}");
    }
}

#[test]
fn a_deadline_beyond_all_clocks_is_refused_or_waited_for() {
    let small = Small::new();
    for deadline in ["1000y", "584542046090y"] {
        let run = small.compare(&["--sync-deadline", deadline]);
        assert!(matches!(run.code, Some(0 | 2)), "{run:?}");
    }
}

#[test]
fn include_exclude_and_size_select_the_compared_documents() {
    let small = Small::new();
    let counts = |args: &[&str]| {
        let report = small.sandbox.report(&small.folders(), args);
        let count = |site: usize, name: &str| report["sites"][site][name].as_u64().unwrap();
        [count(0, "documents"), count(0, "skipped"), count(1, "documents"), count(1, "skipped")]
    };
    assert_eq!(counts(&[]), [3, 0, 4, 0]);
    assert_eq!(counts(&["--include", "*copy"]), [1, 2, 1, 3]);
    assert_eq!(counts(&["--include", "sub/**"]), [1, 2, 0, 4]);
    // A folder that is excluded is not entered, and counts once.
    assert_eq!(counts(&["--exclude", "sub"]), [2, 1, 4, 0]);
    assert_eq!(counts(&["--exclude", "*copy", "--exclude", "own"]), [2, 1, 2, 2]);
    assert_eq!(counts(&["--include", "*copy", "--exclude", "sub"]), [0, 3, 1, 3]);
    assert_eq!(counts(&["--size-max", "5000"]), [2, 1, 3, 1]);
    assert_eq!(counts(&["--size-max", "4999"]), [1, 2, 1, 3]);
    assert_eq!(counts(&["--size-max", "0"]), [1, 2, 0, 4]);
    assert_eq!(counts(&["--size-max", "43KB"]), [3, 0, 4, 0]);
}

#[test]
fn a_selection_over_an_existing_state_selects_and_forgets_nothing() {
    let small = Small::new();
    small.sandbox.settle();
    let state = small.sandbox.path("state");
    let with =
        |args: &[&str]| small.sandbox.report(&small.folders(), &[&["--state", state.to_str().unwrap()], args].concat());
    let without = |args: &[&str]| small.sandbox.report(&small.folders(), args);
    with(&[]);
    for args in [&["--size-max", "4999"][..], &["--include", "*copy"], &[], &["--exclude", "sub"], &[]] {
        assert_eq!(comparable(&with(args)), comparable(&without(args)), "{args:?}");
    }
    let last = with(&[]);
    assert_eq!(last["scan"]["run"]["sites"][0]["read_bytes"], 0, "what was left out for once is not read again");
}

#[test]
fn folders_take_their_own_names_and_may_overlap() {
    let small = Small::new();
    let run = small.sandbox.cognate(["compare", "a", "b/", "--format", "json"]);
    let report = run.report();
    assert_eq!((&report["sites"][0]["site"], &report["sites"][1]["site"]), (&json!("a"), &json!("b")));
    let nested = small.a.join("sub");
    let report = small.sandbox.report(&[("all", &small.a), ("part", &nested)], &[]);
    assert_eq!(report["overlap"][0]["shared_bytes_b"], 5000);
    let same = small.sandbox.report(&[("one", &small.a), ("two", &small.a)], &[]);
    assert_eq!(same["sites"][0]["status"], same["sites"][1]["status"]);
    assert_eq!(same["overlap"][0]["documents_a"], 2);
    let link = small.sandbox.path("link");
    std::os::unix::fs::symlink(&small.a, &link).unwrap();
    let linked = small.sandbox.report(&[("a", &link), ("b", &small.b)], &[]);
    assert_eq!(linked["scan"]["digest"], small.sandbox.report(&small.folders(), &[])["scan"]["digest"]);
}

#[test]
fn fingerprint_goes_on_after_a_file_that_cannot_be_read() {
    let small = Small::new();
    let run = small.sandbox.cognate(["fingerprint", "--format", "ndjson", "--", "a/base", "a/none", "b/own"]).expect(3);
    let lines = run.lines();
    assert_eq!((&lines[0]["path"], &lines[1]["path"]), (&json!("a/base"), &json!("b/own")));
    assert!(run.stderr.contains("a/none"), "{run:?}");
    small.sandbox.cognate(["fingerprint", "--", "a/none", "a"]).expect(1);
    let summary = small.sandbox.cognate(["fingerprint", "--format", "summary", "--", "a/base", "a/empty"]).expect(0);
    assert!(summary.text().contains("40000 bytes") && summary.text().lines().count() == 2, "{summary:?}");
    let one = small.sandbox.cognate(["fingerprint", "--threads", "1", "--format", "ndjson", "--", "a/base", "b/own"]);
    assert_eq!(one.expect(0).lines(), lines, "threads change nothing");
}
