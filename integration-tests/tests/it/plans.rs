//! Plans: made from a result, checked at the site, carried out by a script that moves and never deletes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cognate_integration_tests::sandbox::{self, contents};
use cognate_integration_tests::{Federation, Run, Sandbox};
use serde_json::Value;

struct Made {
    sandbox: Sandbox,
    folders: [PathBuf; 2],
    plan: PathBuf,
}

impl Made {
    /// Copies at `a`, some under names that a shell would obey, and at `b`; and a site `a` that can check a plan.
    fn new() -> Made {
        let sandbox = Sandbox::new();
        let (first, second, third) = (vec![b'1'; 5_000], b"second ".repeat(900), b"third ".repeat(700));
        let a = sandbox.folder(
            "a",
            &[
                ("final/plan.doc", &first),
                ("Copy of plan.doc", &first),
                ("it's $(touch gone) `x`; rm -rf .doc", &first),
                ("new\nline (1).doc", &first),
                ("second.txt", &second),
                ("alone.txt", b"alone"),
                ("tie/one.txt", &third),
                ("tie/two.txt", &third),
            ],
        );
        let b = sandbox.folder("b", &[("kept/second.txt", &second)]);
        let result = sandbox.path("result.sqlite");
        let folders = [("a", a.as_path()), ("b", b.as_path())];
        let args = ["--format", "sqlite", "-o", result.to_str().unwrap()];
        sandbox.cognate(sandbox::compare_args(&folders, &args)).expect(0);
        let config = format!(
            "state_dir = {:?}\none_party = true\n[[repository]]\nname = \"main\"\npath = {a:?}\n",
            sandbox.path("worker-state")
        );
        std::fs::write(sandbox.path("worker.toml"), config).unwrap();
        let plan = sandbox.path("plan");
        Made { sandbox, folders: [a, b], plan }
    }

    fn make(&self, more: &[&str]) -> Run {
        let result = self.sandbox.path("result.sqlite");
        let words = [&["plan", "make", result.to_str().unwrap()], more].concat();
        self.sandbox.cognate(words)
    }

    /// The plan for `a` by rules that leave a tie.
    fn planned(&self) -> Value {
        let rules = ["--keep", "prefer:b", "--keep", "path:final/*", "-o", self.plan.to_str().unwrap()];
        self.make(&rules).expect(0);
        serde_json::from_slice(&std::fs::read(self.plan.join("a.json")).unwrap()).unwrap()
    }

    fn check(&self, more: &[&str]) -> Run {
        let (plan, config) = (self.plan.join("a.json"), self.sandbox.path("worker.toml"));
        let words = ["worker", "plan", "check", plan.to_str().unwrap(), "--config", config.to_str().unwrap()];
        self.sandbox.cognate([&words[..], more].concat())
    }

    /// Runs the script of a plan; what it says and its exit code.
    fn script(&self, script: &Path, more: &[&str]) -> (String, i32) {
        let run = Command::new("sh").arg(script).args(more).current_dir(self.sandbox.path("tmp")).output().unwrap();
        let said = [run.stdout, run.stderr].concat();
        (String::from_utf8_lossy(&said).into_owned(), run.status.code().unwrap())
    }

    fn all(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        contents(&self.folders[0])
    }
}

fn going(plan: &Value) -> Vec<String> {
    let sets = plan["sets"].as_array().unwrap().iter();
    let mut paths: Vec<String> = sets
        .flat_map(|set| set["go"].as_array().unwrap())
        .map(|one| one["path"].as_str().unwrap().to_owned())
        .collect();
    paths.sort();
    paths
}

const GOING: [&str; 4] = ["Copy of plan.doc", "it's $(touch gone) `x`; rm -rf .doc", "new\nline (1).doc", "second.txt"];

#[test]
fn a_plan_says_what_is_kept_and_why_and_leaves_ties() {
    let made = Made::new();
    let shown = made.make(&["--keep", "prefer:b", "--keep", "path:final/*"]).expect(0);
    for said in [
        "keep  a/main: final/plan.doc  (path:final/*)",
        "keep  b/main: kept/second.txt  (prefer:b)",
        "TIES",
        "tie/one.txt",
    ] {
        assert!(shown.text().contains(said), "{said}: {}", shown.text());
    }
    let plan = made.planned();
    assert_eq!((&plan["schema"], &plan["site"]), (&"cognate.plan/1".into(), &"a".into()));
    assert_eq!(going(&plan), GOING);
    assert!(!made.plan.join("b.json").is_file(), "nothing of b goes");
    let csv = std::fs::read_to_string(made.plan.join("a.csv")).unwrap();
    assert!(csv.starts_with("action,set,site,") && csv.contains("b/main: kept/second.txt"), "{csv}");
    // No plan is written over another, and no plan leaves nothing.
    assert!(made.make(&["--keep", "newest", "-o", made.plan.to_str().unwrap()]).refusal(2).contains("not empty"));
    made.make(&["--keep", "newest", "--min-copies", "0"]).refusal(2);
    assert!(made.make(&["--keep", "prefer:nowhere"]).refusal(2).contains("nowhere"));
    assert!(made.make(&["--keep", "best"]).refusal(2).contains("newest"));
    let two = made.make(&["--keep", "prefer:b", "--keep", "path:final/*", "--min-copies", "2"]).expect(0);
    assert!(two.text().contains("all their copies must stay"), "{}", two.text());
}

#[test]
fn a_script_shows_what_it_would_move_and_moves_only_when_told_to() {
    let made = Made::new();
    made.planned();
    let (script, before) = (made.plan.join("a.sh"), made.all());
    let root = format!("main={}", made.folders[0].display());
    assert_eq!(made.script(&script, &[]).1, 2, "it must be told where the repository lies");
    let (said, code) = made.script(&script, &["--root", &root]);
    assert_eq!((code, made.all()), (0, before.clone()), "{said}");
    assert!(said.contains("4 would be moved"), "{said}");
    // What has changed since is left where it is.
    std::fs::write(made.folders[0].join("Copy of plan.doc"), b"edited").unwrap();
    let quarantine = made.sandbox.path("quarantine");
    let (said, code) = made.script(&script, &["--root", &root, "--move", quarantine.to_str().unwrap()]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("left   ") && said.contains("it has another size") && said.contains("3 moved"), "{said}");
    let moved = contents(&quarantine);
    let after = made.all();
    assert_eq!(moved.len() + after.len(), before.len(), "nothing is lost: {moved:?}");
    for path in &GOING[1..] {
        assert_eq!(moved[&Path::new("main").join(path)], before[Path::new(path)]);
    }
    assert!(after.contains_key(Path::new("final/plan.doc")) && after.contains_key(Path::new("tie/one.txt")));
    assert!(!made.sandbox.path("tmp").join("gone").is_file(), "a name was obeyed");
}

#[test]
fn a_check_reads_every_document_again_and_refuses_what_has_changed() {
    let made = Made::new();
    let plan = made.planned();
    let whole = made.check(&["--format", "json"]).expect(0).json();
    assert_eq!((&whole["go"], &whole["unchanged"]), (&4.into(), &5.into()), "{whole}");
    // Of the same size, so that only its content says so; and one that is gone.
    let mut other = made.all()[Path::new("second.txt")].clone();
    other[0] ^= 1;
    std::fs::write(made.folders[0].join("second.txt"), other).unwrap();
    std::fs::remove_file(made.folders[0].join("Copy of plan.doc")).unwrap();
    // Another name of the file that is kept is no copy of it.
    let (kept, link) = (made.folders[0].join("final/plan.doc"), made.folders[0].join("new\nline (1).doc"));
    std::fs::remove_file(&link).unwrap();
    std::fs::hard_link(&kept, &link).unwrap();
    let (rest, script) = (made.sandbox.path("rest.json"), made.sandbox.path("rest.sh"));
    let args = ["--format", "json", "-o", rest.to_str().unwrap(), "--script", script.to_str().unwrap()];
    let checked = made.check(&args).expect(3).json();
    let refused: BTreeMap<&str, &str> = checked["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert_eq!(refused["second.txt"], "its content has changed");
    assert_eq!(refused["Copy of plan.doc"], "it is not there any more");
    assert!(refused["new\nline (1).doc"].contains("another name of a file that stays"));
    let rest: Value = serde_json::from_slice(&std::fs::read(rest).unwrap()).unwrap();
    assert_eq!(going(&rest), [GOING[1]]);
    assert_eq!(plan["sets"].as_array().unwrap().len(), 2);
    // The script of what holds knows where the repository lies.
    let (said, code) = made.script(&script, &[]);
    assert!(code == 0 && said.contains("1 would be moved"), "{said}");
}

#[test]
fn where_the_copy_that_is_kept_has_changed_nothing_of_its_set_goes() {
    let made = Made::new();
    made.planned();
    std::fs::write(made.folders[0].join("final/plan.doc"), b"another plan").unwrap();
    let checked = made.check(&["--format", "json"]).expect(3).json();
    assert_eq!(checked["go"], 1, "only the one whose copy stands elsewhere: {checked}");
    assert!(checked["refused"].as_array().unwrap().iter().any(|row| row["planned"] == "keep"));
    // A plan whose paths lead elsewhere is read as hostile.
    let file = made.plan.join("a.json");
    let hostile = std::fs::read_to_string(&file).unwrap().replace("\"second.txt\"", "\"../b/kept/second.txt\"");
    std::fs::write(&file, hostile).unwrap();
    let text = made.check(&[]).expect(3);
    assert!(text.text().contains("not a relative path of plain names"), "{}", text.text());
}

/// A log and its longer version, a text and its edited version, and a text that says something else; and a site that can carry
/// out plans.
struct Versions {
    sandbox: Sandbox,
    folder: PathBuf,
    plan: PathBuf,
    quarantine: PathBuf,
}

impl Versions {
    fn new() -> Versions {
        let sandbox = Sandbox::new();
        let line = |number: u32| format!("{number} entry {} of the log\n", number.wrapping_mul(2_654_435_761));
        let log: String = (0..1500).map(line).collect();
        let text: String = (5000..6500).map(line).collect();
        let edited = text.replacen("5700 entry", "5700 ENTRY, edited,", 1);
        let other: String = (9000..10_000).map(line).collect();
        let folder = sandbox.folder(
            "a",
            &[
                ("logs/2024/part.log", &log.as_bytes()[..20_000]),
                ("logs/all.log", log.as_bytes()),
                ("text/first.txt", edited.as_bytes()),
                ("text/second.txt", text.as_bytes()),
                ("other.txt", other.as_bytes()),
            ],
        );
        let at = |path: &str, seconds: u64| {
            let file = std::fs::File::options().write(true).open(folder.join(path)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000 + seconds)).unwrap();
        };
        for (place, path) in
            ["logs/2024/part.log", "text/first.txt", "logs/all.log", "text/second.txt"].iter().enumerate()
        {
            at(path, 1000 * place as u64);
        }
        let result = sandbox.path("result.sqlite");
        let args = ["--format", "sqlite", "-o", result.to_str().unwrap()];
        sandbox.cognate(sandbox::compare_args(&[("a", folder.as_path())], &args)).expect(0);
        let config = format!(
            "state_dir = {:?}\none_party = true\n[[repository]]\nname = \"main\"\npath = {folder:?}\n",
            sandbox.path("worker-state")
        );
        std::fs::write(sandbox.path("worker.toml"), config).unwrap();
        let (plan, quarantine) = (sandbox.path("plan"), sandbox.path("quarantine"));
        std::fs::create_dir(&quarantine).unwrap();
        Versions { sandbox, folder, plan, quarantine }
    }

    fn make(&self, lose_max: &str) -> Value {
        let (result, plan) = (self.sandbox.path("result.sqlite"), self.plan.to_str().unwrap());
        let words = [
            "plan",
            "make",
            result.to_str().unwrap(),
            "--versions",
            "--lose-max",
            lose_max,
            "--keep",
            "newest",
            "-o",
            plan,
        ];
        self.sandbox.cognate(words).expect(0);
        serde_json::from_slice(&std::fs::read(self.plan.join("a.json")).unwrap()).unwrap()
    }

    fn worker(&self, words: &[&str]) -> Run {
        let config = self.sandbox.path("worker.toml");
        self.sandbox.cognate([&["worker", "plan"], words, &["--config", config.to_str().unwrap()]].concat())
    }

    fn apply(&self, more: &[&str]) -> Run {
        let (plan, quarantine) = (self.plan.join("a.json"), self.quarantine.to_str().unwrap());
        self.worker(&[&["apply", plan.to_str().unwrap(), "--quarantine", quarantine], more].concat())
    }

    /// The folder that `apply` made.
    fn applied(&self) -> PathBuf {
        std::fs::read_dir(&self.quarantine).unwrap().next().unwrap().unwrap().path()
    }
}

#[test]
fn versions_that_lose_nothing_go_and_others_only_as_far_as_a_loss_is_allowed() {
    let versions = Versions::new();
    let plan = versions.make("0");
    assert_eq!(going(&plan), ["logs/2024/part.log"], "{plan:#}");
    let of = &plan["sets"][0]["version_of"];
    assert_eq!(of["relation"], "contained", "{plan:#}");
    // The scan knows what is shared to the borders of fine chunks; the site counts.
    assert!(of["lost_bytes"].as_u64().unwrap() <= 8, "{plan:#}");
    let said = versions.worker(&["check", versions.plan.join("a.json").to_str().unwrap()]).expect(0);
    assert!(said.text().contains("0 B would be lost; 1 of 1 are counted byte by byte"), "{}", said.text());
    std::fs::remove_dir_all(&versions.plan).unwrap();
    let plan = versions.make("100");
    assert_eq!(going(&plan), ["logs/2024/part.log", "text/first.txt"]);
    let lost = plan["totals"]["lost_bytes"].as_u64().unwrap();
    assert!((10..=100).contains(&lost), "the edited words: {plan:#}");
    // The loss is counted again in the documents: a plan that promises too much is refused.
    let file = versions.plan.join("a.json");
    let hostile =
        std::fs::read_to_string(&file).unwrap().replace(&format!("\"lost_bytes\": {lost}"), "\"lost_bytes\": 0");
    std::fs::write(&file, hostile.replace("\"lose_bytes_max\": 100", "\"lose_bytes_max\": 5")).unwrap();
    let said = versions.worker(&["check", file.to_str().unwrap()]).expect(3);
    assert!(said.text().contains("counted byte by byte"), "{}", said.text());
}

#[test]
fn a_plan_is_carried_out_with_links_and_taken_back_to_the_last_byte() {
    let versions = Versions::new();
    versions.make("100");
    let before = contents(&versions.folder);
    let shown = versions.apply(&[]).expect(0);
    assert!(shown.text().contains("2 would move") && contents(&versions.folder) == before, "{}", shown.text());
    versions.apply(&["--yes"]).expect(0);
    let part = versions.folder.join("logs/2024/part.log");
    assert_eq!(std::fs::read_link(&part).unwrap(), Path::new("../all.log"));
    assert_eq!(std::fs::read_link(versions.folder.join("text/first.txt")).unwrap(), Path::new("second.txt"));
    let applied = versions.applied();
    let moved = contents(&applied.join("files/main"));
    assert_eq!(moved.len(), 2);
    assert!(moved.iter().all(|(path, bytes)| before[path] == *bytes));
    // A place that somebody has taken meanwhile is not overwritten.
    std::fs::remove_file(&part).unwrap();
    std::fs::write(&part, b"a new log").unwrap();
    let said = versions.worker(&["undo", applied.to_str().unwrap()]).expect(3);
    assert!(said.text().contains("something else is in its place"), "{}", said.text());
    std::fs::remove_file(&part).unwrap();
    versions.worker(&["undo", applied.to_str().unwrap()]).expect(0);
    assert_eq!(contents(&versions.folder), before);
    let again = versions.worker(&["undo", applied.to_str().unwrap()]).expect(0);
    assert!(again.text().contains("put back 0"), "{}", again.text());
}

#[test]
fn what_changed_since_the_scan_or_in_the_quarantine_is_refused() {
    let versions = Versions::new();
    versions.make("100");
    let (repository, all) = (versions.folder.to_str().unwrap().to_owned(), versions.folder.join("logs/all.log"));
    let inside =
        versions.worker(&["apply", versions.plan.join("a.json").to_str().unwrap(), "--quarantine", &repository]);
    assert!(inside.refusal(2).contains("in the repository"));
    // The log that stays has lost its end since.
    let whole = std::fs::read(&all).unwrap();
    std::fs::write(&all, &whole[..41_000]).unwrap();
    let said = versions.apply(&["--yes", "--leave", "stub"]).expect(3);
    assert!(said.text().contains("a copy that should stay has changed"), "{}", said.text());
    assert!(versions.folder.join("logs/2024/part.log").is_file());
    let stub = std::fs::read_to_string(versions.folder.join("text/first.txt.moved.txt")).unwrap();
    assert!(
        stub.contains("a/main: text/second.txt") && !versions.folder.join("text/first.txt").try_exists().unwrap(),
        "{stub}"
    );
    let applied = versions.applied();
    let quarantined = applied.join("files/main/text/first.txt");
    let kept = std::fs::read(&quarantined).unwrap();
    std::fs::write(&quarantined, b"changed").unwrap();
    let said = versions.worker(&["undo", applied.to_str().unwrap()]).expect(3);
    assert!(said.text().contains("changed in the quarantine"), "{}", said.text());
    std::fs::write(&quarantined, kept).unwrap();
    versions.worker(&["undo", applied.to_str().unwrap()]).expect(0);
    assert!(!versions.folder.join("text/first.txt.moved.txt").try_exists().unwrap());
}

#[test]
fn an_apply_or_an_undo_that_ended_at_any_moment_is_undone_to_the_last_byte() {
    let versions = Versions::new();
    versions.make("100");
    let before = contents(&versions.folder);
    let remains = |folder: &Path, journal: &[&str]| {
        let joined: String = journal.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join("journal.ndjson"), joined).unwrap();
    };
    // What a process leaves that ended before the last entry, before the last link or stub, before the last move; and an undo
    // that ended after a document was back and before its stub was gone.
    for leave in ["link", "stub"] {
        for moment in ["moved", "torn", "left", "announced", "put back"] {
            versions.apply(&["--yes", "--leave", leave]).expect(0);
            let applied = versions.applied();
            let text = std::fs::read_to_string(applied.join("journal.ndjson")).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            let (last, entries) = lines.split_last().unwrap();
            assert!(last.contains("\"moved\"") && lines.len() == 5, "{text}");
            let announced: Value = serde_json::from_str(entries.last().unwrap()).unwrap();
            let path = announced["path"].as_str().unwrap();
            let place = versions.folder.join(path);
            let left = match leave {
                "link" => place.clone(),
                _ => versions.folder.join(format!("{path}.moved.txt")),
            };
            match moment {
                "moved" => remains(&applied, entries),
                "torn" => std::fs::write(applied.join("journal.ndjson"), &text[..text.len() - last.len() / 2]).unwrap(),
                "left" => {
                    remains(&applied, entries);
                    std::fs::remove_file(&left).unwrap();
                }
                "announced" => {
                    remains(&applied, entries);
                    std::fs::remove_file(&left).unwrap();
                    std::fs::rename(applied.join("files/main").join(path), &place).unwrap();
                }
                // The link has to go before the document comes back, the stub goes after it.
                _ => std::fs::rename(applied.join("files/main").join(path), &place).unwrap(),
            }
            versions.worker(&["undo", applied.to_str().unwrap()]).expect(0);
            assert_eq!(contents(&versions.folder), before, "{leave}, {moment}");
            std::fs::remove_dir_all(&applied).unwrap();
        }
    }
}

impl Made {
    fn worker(&self, words: &[&str]) -> Run {
        let config = self.sandbox.path("worker.toml");
        self.sandbox.cognate([&["worker", "plan"], words, &["--config", config.to_str().unwrap()]].concat())
    }

    /// Rewrites the plan for `a`.
    fn replan(&self, change: impl FnOnce(&mut Value)) -> PathBuf {
        let _ = std::fs::remove_dir_all(&self.plan);
        let (mut plan, file) = (self.planned(), self.plan.join("a.json"));
        change(&mut plan);
        std::fs::write(&file, plan.to_string()).unwrap();
        file
    }

    fn quarantine(&self) -> PathBuf {
        let quarantine = self.sandbox.path("quarantine");
        std::fs::create_dir_all(&quarantine).unwrap();
        quarantine
    }
}

#[test]
fn documents_with_the_longest_paths_go_and_come_back() {
    let made = Made::new();
    // As long as the system lets a path be, of characters that take most room where they are written down.
    let folder = made.folders[0].clone();
    let depth = (4_000 - folder.as_os_str().len()) / 201;
    let long = vec!["\u{1}".repeat(200); depth].join("/");
    let second = std::fs::read(folder.join("second.txt")).unwrap();
    std::fs::create_dir_all(folder.join(&long)).unwrap();
    std::fs::write(folder.join(&long).join("x"), second).unwrap();
    let long = format!("{long}/x");
    let before = made.all();
    let file = made.replan(|plan| {
        let set = plan["sets"].as_array_mut().unwrap().iter_mut().find(|set| set["go"][0]["path"] == "second.txt");
        let set = set.unwrap();
        set["go"][0]["path"] = long.clone().into();
        let mut kept = set["kept"][0].clone();
        kept["path"] = "\u{2}".repeat(8_000).into();
        set["kept"] = vec![kept; 8].into();
    });
    let quarantine = made.quarantine();
    for leave in ["stub", "link"] {
        let apply = ["apply", file.to_str().unwrap(), "--quarantine", quarantine.to_str().unwrap(), "--leave", leave];
        made.worker(&[&apply[..], &["--yes"]].concat()).expect(0);
        assert!(!folder.join(&long).try_exists().unwrap());
        let applied = std::fs::read_dir(&quarantine).unwrap().next().unwrap().unwrap().path();
        let said = made.worker(&["undo", applied.to_str().unwrap()]).expect(0);
        assert!(said.text().contains("put back 4, refused 0"), "{}", said.text());
        assert_eq!(made.all(), before, "{leave}");
        std::fs::remove_dir_all(applied).unwrap();
    }
}

#[test]
fn an_undo_names_damaged_lines_and_documents_that_no_line_names() {
    let made = Made::new();
    made.planned();
    let (before, quarantine, plan) = (made.all(), made.quarantine(), made.plan.join("a.json"));
    let apply = ["apply", plan.to_str().unwrap(), "--quarantine", quarantine.to_str().unwrap(), "--yes"];
    made.worker(&apply).expect(0);
    let applied = std::fs::read_dir(&quarantine).unwrap().next().unwrap().unwrap().path();
    let journal = applied.join("journal.ndjson");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let longest = whole.lines().find(|line| line.contains("second.txt")).unwrap();
    // Longer than any entry, so that a reader might take it for the end of what was written.
    let damaged = whole.replace(longest, &format!("{longest}{}", " ".repeat(2 << 20)));
    std::fs::write(&journal, &damaged).unwrap();
    let said = made.worker(&["undo", applied.to_str().unwrap()]).expect(3);
    for words in ["is damaged", "refused main/second.txt: it is in the quarantine", "put back 3, refused 2"] {
        assert!(said.text().contains(words), "{words}: {}", said.text());
    }
    assert!(std::fs::read_to_string(&journal).unwrap().starts_with(&damaged), "the journal is as it was");
    std::fs::write(&journal, whole).unwrap();
    made.worker(&["undo", applied.to_str().unwrap()]).expect(0);
    assert_eq!(made.all(), before);
}

#[test]
fn a_plan_with_a_name_that_a_shell_would_obey_is_refused() {
    let made = Made::new();
    for name in ["main\ntouch gone", "$(touch gone)", "`touch gone`", "x\"; touch gone; \""] {
        let file = made.replan(|plan| plan["sets"][0]["go"][0]["repository"] = name.into());
        let script = made.sandbox.path("go.sh");
        let words = ["check", file.to_str().unwrap(), "--script", script.to_str().unwrap()];
        assert!(made.worker(&words).refusal(2).contains("may hold only letters"));
        assert!(!script.try_exists().unwrap());
        let file = made.replan(|plan| plan["sets"][0]["digest"] = name.into());
        made.worker(&["check", file.to_str().unwrap()]).refusal(2);
    }
    let file = made.replan(|plan| plan["sets"][0]["kept"][0]["path"] = "k".repeat(2 << 20).into());
    assert!(made.worker(&["check", file.to_str().unwrap()]).refusal(2).contains("longer than any document has"));
}

#[test]
fn a_plan_never_moves_what_belongs_to_the_worker() {
    let made = Made::new();
    // The configuration lies in the repository, and has a copy there.
    let config = std::fs::read(made.sandbox.path("worker.toml")).unwrap();
    let own = made.folders[0].join("worker.toml");
    std::fs::rename(made.sandbox.path("worker.toml"), &own).unwrap();
    std::os::unix::fs::symlink(&own, made.sandbox.path("worker.toml")).unwrap();
    std::fs::write(made.folders[0].join("copy.toml"), &config).unwrap();
    let result = made.sandbox.path("result.sqlite");
    std::fs::remove_file(&result).unwrap();
    let folders = [("a", made.folders[0].as_path()), ("b", made.folders[1].as_path())];
    made.sandbox
        .cognate(sandbox::compare_args(&folders, &["--format", "sqlite", "-o", result.to_str().unwrap()]))
        .expect(0);
    let rules = ["--keep", "path:copy.toml", "-o", made.plan.to_str().unwrap()];
    made.make(&rules).expect(0);
    let (plan, quarantine) = (made.plan.join("a.json"), made.quarantine());
    let apply = ["apply", plan.to_str().unwrap(), "--quarantine", quarantine.to_str().unwrap(), "--yes"];
    let said = made.worker(&apply).expect(3);
    assert!(said.text().contains("refused main: worker.toml: it belongs to the worker itself"), "{}", said.text());
    assert!(own.is_file());
}

#[test]
fn a_link_takes_no_document_away_from_its_readers() {
    use std::os::unix::fs::PermissionsExt as _;

    let made = Made::new();
    let kept = made.folders[0].join("final/plan.doc");
    std::fs::set_permissions(&kept, std::fs::Permissions::from_mode(0o600)).unwrap();
    made.planned();
    let (plan, quarantine) = (made.plan.join("a.json"), made.quarantine());
    let apply = ["apply", plan.to_str().unwrap(), "--quarantine", quarantine.to_str().unwrap(), "--yes"];
    made.worker(&apply).expect(0);
    let copy = made.folders[0].join("Copy of plan.doc");
    assert!(!copy.is_symlink() && made.folders[0].join("Copy of plan.doc.moved.txt").is_file());
}

#[test]
fn a_site_refuses_a_plan_that_was_made_for_another() {
    let mut federation = Federation::new(2101);
    let bytes = b"the same at both places ".repeat(300);
    let files = [("one.txt".to_owned(), bytes.clone()), ("two.txt".to_owned(), bytes)].into();
    federation.add("paris", &files);
    federation.add("tokyo", &files);
    federation.start_all();
    federation.scan(&[]).expect(0);
    let folder = federation.sandbox.path("plan");
    let make = ["plan", "make", "latest", "--keep", "prefer:paris", "--keep", "path:one.txt"];
    federation.operate(&[&make[..], &["-o", folder.to_str().unwrap()]].concat()).expect(0);
    let plan = folder.join("tokyo.json");
    let own = federation.worker("tokyo", &["plan", "check", plan.to_str().unwrap()]).expect(0);
    assert!(own.text().contains("may go"), "{}", own.text());
    let refused = federation.worker("paris", &["plan", "check", plan.to_str().unwrap()]).refusal(2);
    assert!(refused.contains("for the site `tokyo`, and this is `paris`"), "{refused}");
}
