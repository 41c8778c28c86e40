//! The same texts from a system that ends lines with CR LF and from one that ends them with LF.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cognate_integration_tests::sandbox;
use cognate_integration_tests::{Dice, Federation, Files, Sandbox, dice};
use serde_json::Value;

const LENGTHS: [usize; 7] = [40, 150, 900, 5_000, 16_000, 60_000, 400_000];

/// A text of lines with LF.
fn text(dice: &mut Dice, bytes: usize) -> String {
    let words = dice::text(dice, bytes).replace(['\r', '\n'], " ");
    let mut lines = String::new();
    for (number, word) in words.split(' ').enumerate() {
        lines.push_str(word);
        lines.push(if number % 9 == 8 { '\n' } else { ' ' });
    }
    lines.push_str("end\n");
    lines
}

fn crlf(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

/// A tree with LF, and the same with CR LF: all lengths unchanged; one in which a line was edited, one in which a line ends with LF still.
fn trees(dice: &mut Dice) -> [Files; 2] {
    let (mut lin, mut win) = (Files::new(), Files::new());
    for bytes in LENGTHS {
        let text = text(dice, bytes);
        lin.insert(format!("docs/{bytes}.txt"), text.clone().into_bytes());
        win.insert(format!("docs/{bytes}.txt"), crlf(&text));
    }
    let edited = text(dice, 30_000);
    lin.insert("edited.txt".to_owned(), edited.clone().into_bytes());
    win.insert("edited.txt".to_owned(), crlf(&edited.replacen("\n", "\nan added line\n", 1)));
    let mixed = text(dice, 30_000);
    lin.insert("mixed.txt".to_owned(), mixed.clone().into_bytes());
    win.insert("mixed.txt".to_owned(), [crlf(&mixed), b"last\n".to_vec()].concat());
    [lin, win]
}

/// By path, the status of a document and the relation and share of its partner.
fn documents(rows: &[Value], site: &str) -> BTreeMap<String, (String, String, f64)> {
    let own = rows.iter().filter(|row| row["site"] == site);
    own.map(|row| {
        let (status, partner) = (row["status"].as_str().unwrap().to_owned(), &row["partner"]);
        let relation = partner["relation"].as_str().unwrap_or_default().to_owned();
        (row["path"].as_str().unwrap().to_owned(), (status, relation, partner["share"].as_f64().unwrap_or_default()))
    })
    .collect()
}

fn compared(sandbox: &Sandbox, folders: &[(&str, &Path)], more: &[&str]) -> PathBuf {
    let result = sandbox.path("result.sqlite");
    let args = [&["--format", "sqlite", "-o", result.to_str().unwrap()], more].concat();
    sandbox.cognate(sandbox::compare_args(folders, &args)).expect(0);
    result
}

#[test]
fn texts_with_other_line_ends_are_the_same_lines_and_edited_ones_are_near() {
    let sandbox = Sandbox::seeded(2601);
    let [lin, win] = trees(&mut Dice::new(2601));
    let (a, b) = (sandbox.tree("lin", &lin), sandbox.tree("win", &win));
    for more in [&[][..], &["--precision", "coarse"], &["--method", "min", "--view", "raw"]] {
        let result = compared(&sandbox, &[("lin", &a), ("win", &b)], more);
        let report = |more: &[&str]| {
            sandbox.cognate([&["report", result.to_str().unwrap(), "--format", "ndjson"], more].concat()).expect(0)
        };
        for extra in [&["--documents"][..], &["--documents", "--in", "win", "--against", "lin"]] {
            let found = documents(&report(extra).lines(), "win");
            for bytes in LENGTHS {
                let (status, relation, share) = &found[&format!("docs/{bytes}.txt")];
                assert_eq!(
                    (status.as_str(), relation.as_str(), *share),
                    ("identical", "identical", 1.0),
                    "{bytes} {more:?}"
                );
            }
            let (status, _, share) = &found["edited.txt"];
            assert!(status == "near" && *share > 0.9, "{status} {share} {more:?}");
            assert_ne!(found["mixed.txt"].0, "identical");
        }
        let json: Value = sandbox.cognate(["report", result.to_str().unwrap(), "--format", "json"]).expect(0).json();
        let sets = json["identical"].as_array().unwrap();
        assert!(sets.iter().all(|set| set["tier"] == "same lines" && set["documents"].as_array().unwrap().len() == 2));
        assert_eq!(sets.len(), LENGTHS.len(), "{more:?}");
        // Each set is listed once, and not as a cluster too.
        let clustered =
            json["clusters"].as_array().unwrap().iter().flat_map(|one| one["documents"].as_array().unwrap());
        assert!(clustered.clone().all(|one| !one["path"].as_str().unwrap().starts_with("docs/")), "{more:?}");
        let changes = &json["changes"].as_array().unwrap()[0];
        assert_eq!((&changes["same"], &changes["only"]), (&LENGTHS.len().into(), &0.into()), "{more:?}: {changes}");
        let shown = sandbox.cognate(["report", result.to_str().unwrap()]).expect(0);
        assert!(shown.text().contains("the same lines with other line ends: 7 sets"), "{}", shown.text());
    }
}

#[test]
fn a_federation_says_of_line_ends_what_a_comparison_says() {
    let mut federation = Federation::new(2602);
    let [lin, win] = trees(&mut Dice::new(2602));
    federation.add("lin", &lin);
    federation.add("win", &win);
    federation.sandbox.settle();
    federation.start_all();
    for _ in 0..2 {
        let report = federation.check(federation.scan(&[]), &[]);
        assert_eq!(report["identical"].as_array().unwrap().len(), LENGTHS.len());
    }
    // A find knows either form, of a document that was kept in a handful and of one that was read alone.
    for bytes in [5_000, 60_000] {
        let name = format!("docs/{bytes}.txt");
        for (site, other) in [("lin", "win"), ("win", "lin")] {
            let sought = federation.site(site).folder().join(&name);
            let answer = federation.operate(&["find", sought.to_str().unwrap(), "--format", "json"]).expect(0).json();
            let found = |site: &str| {
                let matches = answer["documents"][0]["matches"].as_array().unwrap();
                let has = |one: &&Value| one["holders"].as_array().unwrap().iter().any(|holder| holder["site"] == site);
                let found = matches.iter().find(has).unwrap();
                (found["relation"].as_str().unwrap().to_owned(), found["sought_in_found"].as_f64().unwrap())
            };
            assert_eq!(found(site), ("identical".to_owned(), 1.0), "{name}");
            assert_eq!(found(other), ("near".to_owned(), 1.0), "{name}");
        }
    }
}

#[test]
fn a_plan_takes_away_copies_of_the_same_bytes_and_never_the_same_lines() {
    let sandbox = Sandbox::seeded(2603);
    let text = text(&mut Dice::new(2603), 20_000);
    let folder =
        sandbox.folder("a", &[("one.txt", &crlf(&text)), ("two.txt", &crlf(&text)), ("lf.txt", text.as_bytes())]);
    let other = sandbox.folder("b", &[("other.txt", b"other")]);
    let result = compared(&sandbox, &[("a", &folder), ("b", &other)], &[]);
    let plan = sandbox.path("plan");
    let words = ["plan", "make", result.to_str().unwrap(), "--keep", "path:one.txt", "-o", plan.to_str().unwrap()];
    sandbox.cognate(words).expect(0);
    let file = plan.join("a.json");
    let planned: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let sets = planned["sets"].as_array().unwrap();
    assert_eq!((sets.len(), &sets[0]["go"][0]["path"]), (1, &"two.txt".into()), "{planned}");
    let config =
        format!("state_dir = {:?}\n[[repository]]\nname = \"main\"\npath = {folder:?}\n", sandbox.path("state"));
    std::fs::write(sandbox.path("worker.toml"), config).unwrap();
    let check = || {
        let config = sandbox.path("worker.toml");
        sandbox.cognate(["worker", "plan", "check", file.to_str().unwrap(), "--config", config.to_str().unwrap()])
    };
    check().expect(0);
    let script = |code: i32, said: &str| {
        let root = format!("main={}", folder.display());
        let run = std::process::Command::new("sh").arg(plan.join("a.sh")).args(["--root", &root]).output().unwrap();
        let out = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.code() == Some(code) && out.contains(said), "{out}");
    };
    script(0, "1 would be moved");
    // With LF it is no copy any more, byte by byte.
    std::fs::write(folder.join("two.txt"), &text).unwrap();
    assert!(check().expect(3).text().contains("its content has changed"));
    script(3, "the copy that stays has changed");
}
