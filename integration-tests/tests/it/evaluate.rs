//! `cognate evaluate`: an experiment from its corpus to the files that report it.

use cognate_integration_tests::binary;
use cognate_integration_tests::sandbox::names;
use cognate_integration_tests::{Dice, Sandbox};

/// A sandbox whose program has the laboratory beside it.
fn laboratory() -> Sandbox {
    binary::build_laboratory();
    Sandbox::new()
}

/// A corpus in which every third document is a version of the one before.
fn corpus(sandbox: &Sandbox) -> std::path::PathBuf {
    let mut dice = Dice::new(61);
    let mut files = Vec::new();
    for number in 0..12 {
        let base = dice.bytes(6000 + 500 * number);
        let version = [&base[..2000], &dice.bytes(40), &base[2000..]].concat();
        files.push((format!("new/{number}"), version));
        files.push((format!("old/{number}"), base));
        files.push((format!("own/{number}"), dice.bytes(5000)));
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    sandbox.folder("corpus", &files)
}

#[test]
fn an_experiment_leaves_numbers_tables_a_picture_and_a_page() {
    let sandbox = laboratory();
    let corpus = corpus(&sandbox);
    let run = |out: &str| {
        let (corpus, out) = (corpus.to_str().unwrap(), sandbox.path(out));
        sandbox.cognate(["evaluate", "chunkers", "--corpus", corpus, "-o", out.to_str().unwrap()]).expect(0)
    };
    let said = run("out");
    assert!(said.text().contains("TTTD") && said.text().contains("chunkers.md"), "{said:?}");
    let read = |file: &str| std::fs::read_to_string(sandbox.path(file)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("out/chunkers.json")).unwrap();
    let fact = |name: &str| json["facts"].as_array().unwrap().iter().find(|fact| fact[0] == name).unwrap()[1].clone();
    assert_eq!((fact("documents"), fact("pairs of relatives"), fact("seed")), ("36".into(), "12".into(), "1".into()));
    let table = json["tables"].as_array().unwrap().iter().find(|table| table["name"] == "chunkers-means").unwrap();
    let recall = |chunker: &str, mean: u64| {
        let rows = table["rows"].as_array().unwrap();
        rows.iter().find(|row| row[0] == chunker && row[1] == mean).unwrap()[5].as_f64().unwrap()
    };
    // An insertion after 2000 bytes: what follows it is lost to fixed lengths, and not to the others.
    assert!(recall("TTTD", 200) > 0.9, "{}", recall("TTTD", 200));
    assert!(recall("fixed length", 200) < 0.5, "{}", recall("fixed length", 200));
    assert!(read("out/chunkers-means.csv").starts_with("chunker,wanted mean,mean,chunks,"));
    assert!(read("out/chunkers.svg").starts_with("<svg") && read("out/chunkers.svg").contains("TTTD"));
    assert!(read("out/chunkers.md").contains("## Against the paper"));
    run("again");
    let files = names(&sandbox.path("out"));
    assert_eq!(files.len(), 6, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap();
        let again = std::fs::read(sandbox.path("again").join(name)).unwrap();
        assert!(std::fs::read(&file).unwrap() == again, "{} is the same twice", file.display());
    }
    assert!(sandbox.temporary_files().is_empty());
}

#[test]
fn an_experiment_without_its_input_names_the_missing_input() {
    let sandbox = laboratory();
    let (corpus, out) = (sandbox.folder("corpus", &[("a", b"too short")]), sandbox.path("out"));
    let (corpus, out) = (corpus.to_str().unwrap(), out.to_str().unwrap());
    let run = sandbox.cognate(["evaluate", "chunkers", "--corpus", corpus, "-o", out]).expect(1);
    assert!(run.stderr.contains("versions of documents") && run.stderr.lines().count() == 1, "{run:?}");
    let run = sandbox.cognate(["evaluate", "alchemy", "-o", out]).expect(2);
    assert!(run.stderr.contains("chunkers"), "{run:?}");
    let run = sandbox.cognate(["evaluate", "--list"]).expect(0);
    assert!(run.text().contains("hp2005") && run.text().contains("corpus:"), "{run:?}");
}

#[test]
fn reported_shares_are_held_against_the_truth_of_two_folders() {
    let sandbox = laboratory();
    let corpus = corpus(&sandbox);
    let (old, new) = (corpus.join("old"), corpus.join("new"));
    let (old, new, out) = (old.to_str().unwrap(), new.to_str().unwrap(), sandbox.path("out"));
    let out = out.to_str().unwrap();
    let run = sandbox.cognate(["evaluate", "in-common", "--pairs", old, new, "--pairs", new, old, "-o", out]).expect(0);
    assert!(run.text().contains("old / new: median error") && run.text().contains("new / old: "), "{run:?}");
    let json = std::fs::read_to_string(sandbox.path("out/in-common.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6, "{rows:?}");
    let (coarse, fine) = (&rows[0], &rows[2]);
    // An insertion spoils a chunk or two of a dozen, and a few bytes of them.
    assert_eq!(coarse[1], 12);
    assert!(coarse[5].as_f64().unwrap() > 5.0 && fine[5].as_f64().unwrap() < 1.0, "{rows:?}");
    let page = std::fs::read_to_string(sandbox.path("out/in-common.md")).unwrap();
    assert!(page.contains("## Against the aims") && page.contains("in-common-2.svg"), "{page}");
    assert_eq!(names(&sandbox.path("out")).len(), 6);
}

#[test]
fn what_a_comparison_calls_only_here_is_held_against_every_document_elsewhere() {
    let sandbox = laboratory();
    let (corpus, out) = (corpus(&sandbox), sandbox.path("out"));
    let (corpus, out) = (corpus.to_str().unwrap(), out.to_str().unwrap());
    let run = sandbox.cognate(["evaluate", "only-here", "--corpus", corpus, "-o", out]).expect(0);
    assert!(run.text().contains("only here, and half of it is in one document elsewhere: 0 of 12"), "{run:?}");
    let json = std::fs::read_to_string(sandbox.path("out/only-here.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let table = |name: &str| json["tables"].as_array().unwrap().iter().find(|table| table["name"] == name).unwrap();
    // The sites are new, old and own; the third alone has documents without a version elsewhere.
    let only_here: Vec<_> = table("only-here-sites")["rows"].as_array().unwrap().iter().map(|row| &row[2]).collect();
    assert_eq!(only_here, [0, 0, 12]);
    assert_eq!(table("only-here-headline")["rows"].as_array().unwrap().len(), 6);
    assert!(table("only-here-cost")["rows"][0][3].as_u64().unwrap() >= 12, "pairs are measured: {json:?}");
    assert!(sandbox.temporary_files().is_empty());
}

#[test]
fn contracts_of_one_template_are_made_and_compared_by_their_text() {
    let sandbox = laboratory();
    let out = sandbox.path("out");
    let run = sandbox.cognate(["evaluate", "in-common", "--office-set", "-o", out.to_str().unwrap()]).expect(0);
    assert!(run.text().contains("yes  contracts-drafted / contracts-signed (text): median error"), "{run:?}");
    assert!(sandbox.temporary_files().is_empty());
}

#[test]
fn pairs_of_folders_and_a_corpus_belong_to_different_experiments() {
    let sandbox = laboratory();
    let (corpus, out) = (sandbox.folder("corpus", &[("a", b"too short")]), sandbox.path("out"));
    let (corpus, out) = (corpus.to_str().unwrap(), out.to_str().unwrap());
    let run = sandbox.cognate(["evaluate", "in-common", "-o", out]).expect(2);
    assert!(run.stderr.contains("needs --pairs A B, or --office-set"), "{run:?}");
    let run = sandbox.cognate(["evaluate", "chunkers", "--pairs", corpus, corpus, "-o", out]).expect(2);
    assert!(run.stderr.contains("not --pairs"), "{run:?}");
    let run = sandbox.cognate(["evaluate", "chunkers", "--office-set", "-o", out]).expect(2);
    assert!(run.stderr.contains("not --pairs or --office-set"), "{run:?}");
    sandbox.cognate(["evaluate", "in-common", "--pairs", corpus, "-o", out]).expect(2);
    let run = sandbox.cognate(["evaluate", "in-common", "--pairs", corpus, corpus, "-o", out]).expect(1);
    assert!(run.stderr.contains("the same path and different bytes"), "{run:?}");
}

#[test]
fn without_the_laboratory_the_command_that_builds_it_is_named() {
    let sandbox = Sandbox::new();
    let alone = sandbox.folder("alone", &[]).join("cognate");
    if std::fs::hard_link(binary::cognate(), &alone).is_err() {
        std::fs::copy(binary::cognate(), &alone).unwrap();
    }
    let mut command = std::process::Command::new(alone);
    command.args(["evaluate", "--list"]);
    let run = sandbox.spawn(command).ended().expect(2);
    assert!(run.stderr.contains("`cargo build --release --workspace` builds it"), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1);
}
