//! `cognate fingerprint --method`: what every method says of files, and what it refuses.

use std::path::PathBuf;

use cognate_integration_tests::sandbox::Sandbox;
use serde_json::{Value, json};

const OTHERS: [&str; 8] = ["mod", "min", "sketch", "bsw", "bsw-chunk", "shingle", "fuzzy", "similarity-index"];
const OF_WORDS: [&str; 3] = ["shingle", "fuzzy", "similarity-index"];

/// A text of 400 different words, an empty file, one of one word, and one that is no text.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let words: String =
        (0..400).map(|place| format!("{}{place}e ", char::from(b'a' + u8::try_from(place % 26).unwrap()))).collect();
    sandbox.folder("x", &[("text", words.as_bytes()), ("empty", b""), ("word", b"rose"), ("binary", b"\x7fELF\0\x01")]);
    sandbox
}

fn fingerprint(sandbox: &Sandbox, args: &[&str], files: &[&str], exit: i32) -> Vec<Value> {
    let mut all = vec!["fingerprint", "--format", "ndjson"];
    all.extend(args);
    all.push("--");
    all.extend(files);
    sandbox.cognate(all).expect(exit).lines()
}

#[test]
fn every_method_has_features_or_a_number() {
    let sandbox = sandbox();
    for method in OTHERS {
        let args = match method {
            "mod" | "bsw" | "bsw-chunk" | "shingle" => vec!["--method", method, "--chunk-bytes", "100"],
            _ => vec!["--method", method],
        };
        let line = fingerprint(&sandbox, &args, &["x/text"], 0).remove(0);
        assert_eq!((&line["path"], &line["method"]), (&json!("x/text"), &json!(method)));
        assert!(line.get("chunks").is_none() && line["content"].as_str().unwrap().len() == 32, "{line}");
        if method == "similarity-index" {
            assert!(line["index"].is_i64() && line.get("features").is_none(), "{line}");
            continue;
        }
        let features = line["features"].as_array().unwrap();
        assert!(!features.is_empty() && line.get("index").is_none(), "{line}");
        let weights: u64 = features.iter().map(|feature| feature[1].as_u64().unwrap()).sum();
        let total = if method == "bsw-chunk" { line["size_bytes"].as_u64().unwrap() } else { features.len() as u64 };
        assert_eq!(weights, total, "{method}");
        assert!(features.iter().all(|feature| feature[0].as_str().unwrap().len() == 32), "{method}");
    }
}

#[test]
fn a_key_changes_every_feature_but_no_index() {
    let sandbox = sandbox();
    let key: PathBuf = sandbox.path("key");
    std::fs::write(&key, [9; 32]).unwrap();
    for method in OTHERS {
        let plain = fingerprint(&sandbox, &["--method", method], &["x/text"], 0).remove(0);
        let keyed =
            fingerprint(&sandbox, &["--method", method, "--key", key.to_str().unwrap()], &["x/text"], 0).remove(0);
        assert_ne!(plain["content"], keyed["content"], "{method}");
        assert_eq!(plain["index"], keyed["index"], "{method}");
        let all = |line: &Value| line["features"].as_array().cloned().unwrap_or_default();
        assert!(all(&plain).iter().all(|feature| !all(&keyed).contains(feature)), "{method}");
    }
}

#[test]
fn short_and_empty_files_have_no_features_and_a_note_says_why() {
    let sandbox = sandbox();
    for method in OTHERS.into_iter().filter(|method| *method != "bsw-chunk") {
        for line in fingerprint(&sandbox, &["--method", method], &["x/empty", "x/word"], 0) {
            assert!(line["note"].as_str().unwrap().starts_with("too short: "), "{line}");
            let nothing =
                if method == "similarity-index" { line["index"].is_null() } else { line["features"] == json!([]) };
            assert!(nothing, "{line}");
        }
    }
    let summary =
        sandbox.cognate(["fingerprint", "--method", "shingle", "--format", "summary", "--", "x/word"]).expect(0);
    assert!(summary.text().contains("1 of the 7 words"), "{summary:?}");
}

#[test]
fn methods_of_words_refuse_documents_without_text_and_go_on() {
    let sandbox = sandbox();
    for method in OF_WORDS {
        let run = sandbox
            .cognate(["fingerprint", "--method", method, "--format", "ndjson", "--", "x/binary", "x/text"])
            .expect(3);
        assert!(
            run.stderr.contains("x/binary") && run.stderr.contains("not text") && run.stderr.contains(method),
            "{run:?}"
        );
        assert_eq!(run.lines()[0]["path"], "x/text");
    }
    fingerprint(&sandbox, &["--method", "mod"], &["x/binary"], 0);
}

#[test]
fn parameters_are_checked_and_said_in_one_line() {
    let sandbox = sandbox();
    let check = |args: &[&str], parts: &[&str]| {
        let mut all = vec!["fingerprint"];
        all.extend(args);
        all.extend(["--", "x/text"]);
        let line = sandbox.cognate(all).refusal(2);
        parts.iter().for_each(|part| assert!(line.contains(part), "`{part}` is not said: {line}"));
    };
    check(&["--method", "mod", "--param", "w=1"], &["w=1", "2 to 1024"]);
    check(&["--method", "min", "--param", "n=0"], &["n=0", "1 to 65536"]);
    check(&["--method", "sketch", "--param", "s=3"], &["`sketch` has no parameter `s`", "w and n"]);
    check(&["--method", "mod", "--param", "w"], &["w=20,n=100"]);
    check(&["--method", "bsw", "--param", "n=10", "--chunk-bytes", "10"], &["--chunk-bytes and n="]);
    check(&["--method", "mod", "--chunk-bytes", "2MiB"], &["--chunk-bytes", "1 to 1048576"]);
    check(&["--method", "shingle", "--param", "tokens=syllables"], &["words, letters or lines"]);
    check(&["--method", "similarity-index", "--param", "way=13A"], &["way=13A", "21A to 34D"]);
    check(&["--method", "fuzzy", "--param", "r=4"], &["r=4", "2 to 3"]);
    let ignored = ["fingerprint", "--method", "min", "--chunk-bytes", "50", "--", "x/text"];
    assert!(sandbox.cognate(ignored).expect(0).stderr.contains("--chunk-bytes changes nothing"));
}
