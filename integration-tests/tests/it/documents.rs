//! The documentation is true: every field that leaves a site is named, every test that is promised exists, and
//! the commands of the guide work as they are printed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use cognate_integration_tests::binary::{cognate, workspace};
use cognate_integration_tests::sandbox::{copy, find, names};
use cognate_integration_tests::{Sandbox, rows};
use serde_json::Value;

fn document(name: &str) -> String {
    std::fs::read_to_string(workspace().join("docs").join(name)).unwrap()
}

/// The messages of a `.proto` file: name, then field and type.
fn messages(text: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut found: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["message", name, ..] => {
                found.insert((*name).to_owned(), Vec::new());
                current = (!line.ends_with('}')).then(|| (*name).to_owned());
            }
            ["enum" | "service", ..] => current = None,
            [.., kind, field, "=", number] if number.ends_with(';') && words[0] != "reserved" => {
                if let Some(message) = &current {
                    found.get_mut(message).unwrap().push(((*field).to_owned(), (*kind).to_owned()));
                }
            }
            _ => {}
        }
    }
    found
}

/// The request types of the methods of a service.
fn requests(text: &str, service: &str) -> Vec<String> {
    let body = text.split(&format!("service {service} {{")).nth(1).unwrap().split("\n}").next().unwrap();
    let taken = |line: &str| {
        let inside = line.trim().strip_prefix("rpc ")?.split_once('(')?.1.split_once(')')?.0;
        Some(inside.rsplit(' ').next()?.to_owned())
    };
    body.lines().filter_map(taken).collect()
}

/// Words of the glossary's last table that are ordinary ones in another sense, so that only a reader can check them.
const ORDINARY: [&str; 21] = [
    "tell",
    "say",
    "stand",
    "lie",
    "what is there",
    "what there is",
    "who has …",
    "whoever",
    "whether …",
    "here",
    "there",
    "side",
    "before",
    "whole",
    "found",
    "kept",
    "book",
    "board",
    "room",
    "way",
    "root",
];

/// The words and phrases that no page uses, by the last table of the glossary.
pub(crate) fn avoided_words() -> Vec<String> {
    let glossary = document("glossary.md");
    let table = glossary.split("## Words we do not use").nth(1).unwrap();
    let left = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let words = left.flat_map(|cell| cell.split(", ")).map(|word| word.split(" (").next().unwrap().to_owned());
    let words: Vec<String> = words.filter(|word| word != "not" && !ORDINARY.contains(&word.as_str())).collect();
    assert!(words.len() > 10 && words.iter().any(|word| word == "anew"), "{words:?}");
    words
}

/// The first of the avoided words that a text has, as a word of its own.
pub(crate) fn first_avoided<'w>(text: &str, avoided: &'w [String]) -> Option<&'w String> {
    let spaced = |text: &str| {
        let words: Vec<&str> =
            text.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        format!(" {} ", words.join(" ").to_lowercase())
    };
    let text = spaced(text);
    avoided.iter().find(|word| text.contains(&spaced(word)))
}

/// The text of a template, without its tags.
fn words_of(template: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_u32;
    for letter in template.chars() {
        match letter {
            '<' | '{' => depth += 1,
            '>' | '}' => depth = depth.saturating_sub(1),
            letter if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    text
}

#[test]
fn no_page_has_a_word_that_the_glossary_avoids_and_each_has_the_glossary_in_reach() {
    let avoided = avoided_words();
    assert_eq!(first_avoided("You wished it. Make it Anew!", &avoided).map(String::as_str), Some("anew"));
    let mut folders =
        vec![workspace().join("coordinator/web/templates"), workspace().join("coordinator/export/templates")];
    let mut pages = 0;
    while let Some(folder) = folders.pop() {
        for path in names(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let template = std::fs::read_to_string(&path).unwrap();
            let found = first_avoided(&words_of(&template), &avoided);
            assert_eq!(found, None, "{}", path.display());
            pages += usize::from(template.starts_with("{% extends \"layout.html\" %}"));
        }
    }
    assert!(pages > 25, "{pages} pages");
    let layout = std::fs::read_to_string(workspace().join("coordinator/web/templates/layout.html")).unwrap();
    let foot = layout.split("<footer").nth(1).unwrap();
    assert!(foot.contains("<a href=\"/glossary\">"), "{foot}");
}

#[test]
fn every_field_that_a_worker_sends_is_explained() {
    let folder = workspace().join("proto/proto/cognate/v1");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (worker, enrolment) = (read("worker.proto"), read("enrolment.proto"));
    let mut messages_of = messages(&worker);
    messages_of.extend(messages(&enrolment));
    messages_of.extend(messages(&read("file_hash.proto")));
    messages_of.extend(messages(&read("fine.proto")));
    messages_of.extend(messages(&read("measure.proto")));
    let mut open = [requests(&worker, "Worker"), requests(&enrolment, "Enrolment")].concat();
    assert!(open.len() >= 6, "{open:?}");
    let mut seen = BTreeSet::new();
    let mut fields = BTreeSet::new();
    while let Some(message) = open.pop() {
        if !seen.insert(message.clone()) {
            continue;
        }
        for (field, kind) in &messages_of[&message] {
            fields.insert(format!("{message}.{field}"));
            if messages_of.contains_key(kind) {
                open.push(kind.clone());
            }
        }
    }
    // The body of a batch is encoded within it.
    for nested in ["BatchBody", "ContentTable", "ChunkTable", "ContentPart", "ContentEnd", "DocumentTable"] {
        fields.extend(messages_of[nested].iter().map(|(field, _)| format!("{nested}.{field}")));
    }
    assert!(fields.len() > 70, "{fields:?}");
    let text = document("privacy.md");
    let explained = |line: &str| Some(line.strip_prefix("| `")?.split_once("` | ")?.0.to_owned());
    let explained: BTreeSet<String> = text.lines().filter_map(explained).collect();
    assert_eq!(explained, fields);
}

/// The names of all tests in the sources.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<_> =
        names(workspace()).into_iter().filter(|path| path.is_dir() && !path.ends_with("target")).collect();
    while let Some(folder) = folders.pop() {
        for path in names(&folder) {
            let name = path.file_name().unwrap().to_str().unwrap_or_default();
            if path.is_dir() && !["target", "generated"].contains(&name) {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found.extend(tests_in(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

fn tests_in(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
            found.push(rest.split(['(', '<']).next().unwrap().to_owned());
            is_test = false;
        }
    }
    found
}

/// The rows of all tables of a page that have so many cells, and the tests that are named in one of the cells.
#[track_caller]
fn all_exist(page: &str, cell_count: usize, named_in: usize) {
    let tests = tests();
    assert!(tests.contains("every_test_that_a_table_of_faults_or_threats_names_exists"));
    let text = document(page);
    let mut rows = 0;
    let mut missing = Vec::new();
    let is_row = |line: &&str| {
        line.starts_with("| ") && !["| row", "| asset", "| what |"].iter().any(|head| line.starts_with(head))
    };
    for line in text.lines().filter(is_row) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), cell_count, "{page}: {line}");
        for name in cells[named_in].split(", ") {
            let name = name.trim_matches('`').rsplit("::").next().unwrap();
            if !tests.contains(name) && name != "–" {
                missing.push(format!("{}: {name}", cells[0]));
            }
        }
        rows += 1;
    }
    assert!(rows > 20, "the tables were found");
    assert!(missing.is_empty(), "{page} names tests that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn every_test_that_a_table_of_faults_or_threats_names_exists() {
    all_exist("faults.md", 4, 2);
    all_exist("threats.md", 5, 3);
    all_exist("desk.md", 3, 2);
    all_exist("papers.md", 4, 3);
}

/// The findings of a page of the evaluation that are judged with this word.
fn judged(page: &str, word: &str) -> usize {
    page.matches(&format!(" | **{word}** | ")).count()
}

#[test]
fn the_counts_of_findings_are_those_of_their_pages_and_each_has_a_criterion() {
    let words = ["yes", "no", "other"];
    let page = |name: &str| std::fs::read_to_string(workspace().join("evaluation").join(name)).unwrap();
    let overview = page("README.md");
    let numbers = |line: &str| -> Vec<usize> {
        line.split('|').filter_map(|cell| cell.trim().trim_matches('*').parse().ok()).collect()
    };
    let row = |start: &str| numbers(overview.lines().find(|line| line.starts_with(start)).unwrap());
    let mut sums = [0; 3];
    let mut pages = 0;
    for entry in std::fs::read_dir(workspace().join("evaluation/pages")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_suffix(".md") else { continue };
        let page = page(&format!("pages/{file}"));
        let counts = words.map(|word| judged(&page, word));
        assert_eq!(row(&format!("| [{name}](pages/{file}) |")), counts, "{file}: the counts in README.md");
        for (place, count) in counts.into_iter().enumerate() {
            sums[place] += count;
        }
        let findings = page.lines().filter(|line| words.iter().any(|word| judged(line, word) > 0));
        for line in findings {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            assert!(cells.len() >= 5 && !cells[2].is_empty(), "{file}: a finding without a criterion: {line}");
        }
        pages += 1;
    }
    assert_eq!(pages, 17, "one page for each experiment");
    assert_eq!(row("| all |"), sums);
}

#[test]
fn the_page_of_rows_is_made_of_them_and_few_rows_have_no_test() {
    let rows = rows::parse(rows::ROWS).unwrap();
    let tests = tests();
    let unknown: Vec<_> = rows.iter().flat_map(|row| &row.tests).filter(|test| !tests.contains(*test)).collect();
    assert!(unknown.is_empty(), "tests that do not exist: {unknown:?}");
    let (faults, threats): (Vec<_>, Vec<_>) = rows.iter().partition(|row| !row.id.starts_with('S'));
    assert_eq!((faults.len(), threats.len()), (111, 35));
    let not_tested: Vec<&str> =
        rows.iter().filter(|row| row.class != rows::Class::Tested).map(|row| row.id.as_str()).collect();
    assert!(not_tested.len() <= 5, "{not_tested:?}");
    let page = document("reliability.md");
    assert!(page == rows::page(&rows, None), "docs/reliability.md is not that of the rows: run `fault-rows`");
}

#[test]
fn every_bug_that_was_found_has_a_test_that_exists() {
    let (page, tests) = (document("reliability.md"), tests());
    let section = page.split("\n## ").find(|section| section.starts_with("Every bug")).unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 30, "the table was found");
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{row}");
        for name in cells[2].split(", ") {
            assert!(tests.contains(name.trim_matches('`')), "{name}");
        }
    }
}

/// The blocks of a section that are to be typed, as they are printed.
fn blocks(text: &str, section: &str) -> String {
    let body = text.split(&format!("\n## {section}")).nth(1).unwrap().split("\n## ").next().unwrap();
    body.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A shell in a network of its own, where that can be had, so that the ports of the guide are free.
fn shell() -> Command {
    let alone = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).output();
    if alone.is_ok_and(|output| output.status.success()) {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "ip link set lo up && exec bash guide.sh"]);
        return command;
    }
    let mut command = Command::new("bash");
    command.arg("guide.sh");
    command
}

#[test]
fn the_guide_leads_from_nothing_to_a_report_word_for_word() {
    let sandbox = Sandbox::new();
    copy(&workspace().join("samples"), &sandbox.path("samples"));
    let commands = blocks(&document("operations.md"), "From nothing to a first report");
    assert!(commands.contains("cognate scan launch") && commands.contains("ledger verify"));
    // Processes that a failed command leaves end with the shell.
    let script = format!("set -eux\ntrap 'for job in $(jobs -p); do kill -9 $job || true; done' EXIT\n{commands}");
    std::fs::write(sandbox.path("guide.sh"), script).unwrap();
    let mut shell = shell();
    let path = std::env::var("PATH").unwrap();
    shell.current_dir(sandbox.path("")).env("PATH", format!("{}:{path}", cognate().parent().unwrap().display()));
    let run = sandbox.spawn(shell).ended();
    let logs = ["coordinator", "paris", "tokyo"]
        .map(|name| std::fs::read_to_string(sandbox.path(format!("trial/{name}.log"))).unwrap_or_default());
    assert_eq!(run.code, Some(0), "{run:?}\n{}", logs.join("\n---\n"));
    let report = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(sandbox.path("trial").join(name)).unwrap()).unwrap()
    };
    assert_eq!(report("report.json")["scan"]["digest"], report("compare.json")["scan"]["digest"]);
    assert!(!report("report.json")["clusters"].as_array().unwrap().is_empty());
    // No word of the document of one site alone is in the answer.
    let left = std::fs::read(sandbox.path("trial/would-leave")).unwrap();
    let contents = std::fs::read(sandbox.path("samples/paris/notes/only-here.txt")).unwrap();
    assert!(find(&left, b"only-here.txt") && !find(&left, &contents[..24]));
}

#[test]
fn the_readme_has_two_commands_alone_on_a_line_and_the_check_of_a_change_finds_the_second() {
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("cargo ")).collect();
    assert!(matches!(commands[..2], [run, test] if run.starts_with("cargo run") && test.starts_with("cargo test")));
    let check = std::fs::read_to_string(workspace().join(".ci/run")).unwrap();
    assert!(check.contains("grep -m1 -E '^cargo test' README.md"));
}

#[test]
fn the_files_and_types_that_the_life_of_a_chunk_names_exist() {
    let page = document("life-of-a-chunk.md");
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let files: Vec<&str> = named.iter().copied().filter(|name| name.ends_with(".rs")).collect();
    let sources: String =
        files.iter().map(|file| std::fs::read_to_string(workspace().join(file)).expect(file)).collect();
    let is_type =
        |name: &&str| name.len() > 3 && name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
    let types: Vec<&str> = named.iter().copied().filter(is_type).collect();
    assert!(files.len() > 30 && types.len() > 20, "{} files, {} types", files.len(), types.len());
    for name in types {
        let used = sources.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name);
        assert!(used, "no file that the page names knows `{name}`");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let folders = ["", "docs", "docs/decisions", "evaluation", "evaluation/pages"];
    for folder in folders.map(|folder| workspace().join(folder)) {
        for path in names(&folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
            let text = std::fs::read_to_string(&path).unwrap();
            for target in text.split("](").skip(1).map(|rest| rest.split([')', '#']).next().unwrap()) {
                let is_local = !target.is_empty() && !target.contains("://") && !target.contains(' ');
                let to: &Path = &folder.join(target);
                assert!(!is_local || to.try_exists().unwrap(), "{}: `{target}` is not there", path.display());
            }
        }
    }
}
