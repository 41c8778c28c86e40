//! Words of the shell, and scripts of plans from anybody.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use super::*;

#[test]
fn a_word_of_the_shell_is_one_whatever_is_in_it() {
    assert_eq!(quoted(b"a'b $(rm) \n\xff"), b"'a'\\''b $(rm) \n\xff'");
    assert_eq!(quoted(b"-rf"), b"'-rf'");
    assert_eq!(quoted(b"a\0b"), b"'ab'");
}

#[test]
fn what_is_inserted_into_a_template_is_not_a_template() {
    let found = filled("x @@A@@ y @@B@@\n", |word| if word == "A" { b"@@B@@ '".to_vec() } else { b"$(z)".to_vec() });
    assert_eq!(found, b"x @@B@@ ' y $(z)\n");
}

/// A plan in which every text that a person may have chosen is one of the words, in turn.
fn plan_of(words: &[&str]) -> PlanFile {
    let mut words = words.iter().copied().cycle();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let site = word();
    let method = json!({"name": "tttd", "view": "raw", "chunk_bytes": 1000});
    let mut copy = |site: &str| json!({"site": site, "repository": word(), "path": word(), "path_escaped": true, "modified": word(), "rule": word()});
    let (here, elsewhere) = (copy(&site), copy("other"));
    let mut going = || json!({"repository": word(), "path": word(), "modified": word()});
    let go = [going(), going()];
    let set = |kept| json!({"digest": word(), "size_bytes": 4, "kept": [kept], "go": go});
    let sets: Vec<_> = [here, elsewhere].into_iter().map(set).collect();
    serde_json::from_value(json!({
        "schema": "cognate.plan/1", "site": site, "scan": word(), "report_digest": word(), "method": method, "keyed": false,
        "keep": [word(), word()], "min_copies": 1, "totals": {"sets": 2, "documents": 4, "bytes": 16}, "sets": sets,
    }))
    .unwrap()
}

/// Every command of the script that is a file is replaced by one that does nothing; whatever else a plan makes a shell look for, it
/// does not find, and says so.
#[test]
fn no_plan_makes_its_script_run_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    let [commands, here] = ["commands", "here"].map(|name| folder.path().join(name));
    std::fs::create_dir(&commands).unwrap();
    std::fs::create_dir(&here).unwrap();
    for name in ["wc", "cmp", "mkdir", "mv"] {
        std::os::unix::fs::symlink("/bin/true", commands.join(name)).unwrap();
    }
    std::fs::write(commands.join("injected"), "#!/bin/sh\n: > ran\n").unwrap();
    std::fs::set_permissions(commands.join("injected"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let file = folder.path().join("plan.sh");
    let check = |plan: &PlanFile, roots: &[(String, &Path)], words: &[&str]| {
        std::fs::write(&file, script(plan, roots).unwrap()).unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg(&file).args(words).current_dir(&here).env_clear().env("PATH", &commands);
        let run = command.output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(matches!(run.status.code(), Some(0 | 2 | 3)), "{said}");
        assert!(!said.contains("not found") && !said.contains("Syntax"), "{said}");
        assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0, "something ran, or made a file: {said}");
        run.status.code().unwrap_or_default().to_string()
    };
    let words = [
        "paris\ninjected\n",
        "$(injected)",
        "`injected`",
        "'; injected; '",
        "\"; injected; \"",
        "a\\",
        "@@SITE@@'@@ROOTS@@",
        "> injected",
        "x=FOLDER) injected ;; y",
        "%24(injected)",
        "--root",
    ];
    let turned = |first: usize| [&words[first..], &words[..first]].concat().join("\0").into_bytes();
    let valid: Vec<Vec<u8>> = (0..words.len()).map(turned).collect();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/plan-script");
    cognate_fuzzing::run("plan-script", &corpus, &valid, |input| {
        let input = String::from_utf8_lossy(input);
        let plan = plan_of(&input.split('\0').collect::<Vec<_>>());
        let roots: Vec<(String, &Path)> = plan.sets.iter().map(|set| (set.go[0].repository.clone(), &*here)).collect();
        let shown = [check(&plan, &roots, &[]), check(&plan, &[], &[]), check(&plan, &roots, &["--move", "q"])];
        format!("{shown:?} {}", plan.check().is_ok())
    });
}
