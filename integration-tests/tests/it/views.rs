//! The text views: what a reader sees is compared, whatever it is stored as, and what is inside of archives as well.

mod both;
mod office;
mod scanned;

pub(crate) use office::docx;

use std::path::{Path, PathBuf};

use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::{Dice, Federation, Files, Sandbox};
use serde_json::{Value, json};

/// So many words that no other text has.
fn words(dice: &mut Dice, count: usize) -> String {
    let word = |dice: &mut Dice| {
        let letters = dice.bytes(6);
        letters.iter().map(|letter| char::from(b'a' + letter % 26)).collect::<String>()
    };
    (0..count).map(|_| word(dice)).collect::<Vec<_>>().join(" ")
}

/// Paragraphs of such words, as lines.
fn paragraphs(dice: &mut Dice, count: usize) -> Vec<String> {
    (0..count).map(|_| words(dice, 60)).collect()
}

fn html(paragraphs: &[String]) -> Vec<u8> {
    let body: String = paragraphs.iter().map(|text| format!("<p class=\"x\">{text}</p>\n")).collect();
    format!("<!DOCTYPE html><html><head><style>p {{ color: red }}</style></head><body>{body}</body></html>").into()
}

/// Paragraphs as a text editor of another system saves them: lines of some words, `\r\n` between them.
fn broken_text(paragraphs: &[String]) -> Vec<u8> {
    let broken = |text: &String| {
        let words: Vec<&str> = text.split(' ').collect();
        words.chunks(9).map(|line| line.join(" ")).collect::<Vec<_>>().join("\r\n")
    };
    paragraphs.iter().map(broken).collect::<Vec<_>>().join("\r\n\r\n").into()
}

/// A tar archive of plain files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[136..148].copy_from_slice(b"00000000000\0");
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// Two sites in a sandbox.
struct Sites {
    sandbox: Sandbox,
    a: PathBuf,
    b: PathBuf,
}

impl Sites {
    fn new(a: &[(&str, &[u8])], b: &[(&str, &[u8])]) -> Sites {
        let sandbox = Sandbox::new();
        let (a, b) = (sandbox.folder("a", a), sandbox.folder("b", b));
        Sites { sandbox, a, b }
    }

    fn report(&self, args: &[&str]) -> Value {
        self.report_with(0, args)
    }

    #[track_caller]
    fn report_with(&self, code: i32, args: &[&str]) -> Value {
        let folders: [(&str, &Path); 2] = [("a", &self.a), ("b", &self.b)];
        self.sandbox.compare(&folders, args).expect(code).json()
    }
}

/// The paths of the documents of every identical set, or of every cluster.
fn paths(report: &Value, list: &str) -> Vec<Vec<String>> {
    let path =
        |document: &Value| format!("{}/{}", document["site"].as_str().unwrap(), document["path"].as_str().unwrap());
    let documents = |one: &Value| one["documents"].as_array().unwrap().iter().map(path).collect();
    report[list].as_array().unwrap().iter().map(documents).collect()
}

fn run_of(report: &Value, field: &str) -> Vec<u64> {
    report["scan"]["run"]["sites"].as_array().unwrap().iter().map(|site| site[field].as_u64().unwrap()).collect()
}

#[test]
fn the_same_words_in_other_bytes_are_the_same_text() {
    let text = paragraphs(&mut Dice::new(1), 20);
    let sites = Sites::new(&[("page.html", &html(&text))], &[("notes.txt", &broken_text(&text))]);
    let raw = sites.report(&[]);
    assert!(paths(&raw, "identical").is_empty());
    let report = sites.report(&["--view", "text"]);
    assert_eq!(paths(&report, "identical"), [["a/page.html", "b/notes.txt"]]);
    assert_eq!(report["scan"]["view"], "text");
    assert_eq!(report["scan"]["chunk_bytes"], 200);
    assert_eq!(report["scan"]["min_shared_bytes"], 2048);
}

#[test]
fn an_edited_sentence_leaves_a_text_near_its_earlier_version() {
    let mut dice = Dice::new(2);
    let text = paragraphs(&mut dice, 20);
    let mut edited = text.clone();
    edited[9] = words(&mut dice, 60);
    let sites = Sites::new(&[("page.html", &html(&text))], &[("notes.txt", &broken_text(&edited))]);
    let report = sites.report(&["--view", "text"]);
    assert_eq!(paths(&report, "clusters"), [["a/page.html", "b/notes.txt"]]);
    let link = &report["clusters"][0]["links"][0];
    assert_eq!(link["relation"], "near");
    assert!(link["a_in_b"].as_f64().unwrap() > 0.85, "{link}");
}

#[test]
fn a_member_of_an_archive_matches_its_copy_outside() {
    let mut dice = Dice::new(3);
    let [first, second] = [paragraphs(&mut dice, 15), paragraphs(&mut dice, 15)];
    let archive = tar(&[("letters/first.txt", &broken_text(&first)), ("second.html", &html(&second))]);
    let outer = tar(&[("inner.tar", &archive)]);
    let sites =
        Sites::new(&[("all.tar", &outer)], &[("first.html", &html(&first)), ("second.txt", &broken_text(&second))]);
    let report = sites.report(&["--view", "text"]);
    let mut sets = paths(&report, "identical");
    sets.sort();
    assert_eq!(
        sets,
        [
            ["a/all.tar!/inner.tar!/letters/first.txt", "b/first.html"],
            ["a/all.tar!/inner.tar!/second.html", "b/second.txt"]
        ]
    );
}

#[test]
fn an_unextractable_document_is_named_with_its_reason_and_the_rest_is_compared() {
    let text = paragraphs(&mut Dice::new(4), 20);
    let cut = &tar(&[("x", &[b'x'; 4000])])[..2000];
    let broken = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R";
    let sites = Sites::new(
        &[
            ("good.html", &html(&text)),
            ("cut.tar", cut),
            ("broken.pdf", broken),
            ("picture.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ],
        &[("good.txt", &broken_text(&text))],
    );
    let report = sites.report_with(3, &["--view", "text"]);
    assert_eq!(paths(&report, "identical"), [["a/good.html", "b/good.txt"]]);
    let unread: Vec<(&str, bool)> = report["unread"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["reason"].as_str().unwrap().starts_with("unextractable: ")))
        .collect();
    // The text before the cut is compared, and the report says that the rest is missing.
    assert_eq!(unread, [("broken.pdf", true), ("cut.tar", true), ("cut.tar!/x", false)], "{}", report["unread"]);
}

#[test]
fn a_second_run_extracts_nothing_and_a_second_method_reads_nothing() {
    let mut dice = Dice::new(5);
    let [first, second] = [paragraphs(&mut dice, 15), paragraphs(&mut dice, 15)];
    let archive = tar(&[("first.html", &html(&first)), ("second.txt", &broken_text(&second))]);
    let sites = Sites::new(&[("all.tar", &archive), ("page.html", &html(&second))], &[("first.html", &html(&first))]);
    sites.sandbox.settle();
    let state = sites.sandbox.path("state").to_str().unwrap().to_owned();
    let text = ["--view", "text", "--state", &state];
    let before = sites.report(&text);
    assert_eq!(run_of(&before, "read_documents"), [2, 1]);
    let again = sites.report(&text);
    assert_eq!(comparable(&again), comparable(&before));
    assert_eq!((run_of(&again, "read_documents"), run_of(&again, "read_bytes")), (vec![0, 0], vec![0, 0]));
    let fine = ["--view", "text", "--chunk-bytes", "100"];
    let with_state = sites.report(&[&fine[..], &["--state", &state]].concat());
    assert_eq!(comparable(&with_state), comparable(&sites.report(&fine)));
    assert_eq!(run_of(&with_state, "read_bytes"), [0, 0], "the stored text was used");
}

#[test]
fn damaged_stored_text_is_extracted_again() {
    let text = paragraphs(&mut Dice::new(6), 30);
    let sites = Sites::new(&[("page.html", &html(&text))], &[("notes.txt", &broken_text(&text))]);
    sites.sandbox.settle();
    let state = sites.sandbox.path("state");
    let stored = state.join("sites/a/texts/1");
    let state = state.to_str().unwrap().to_owned();
    sites.report(&["--view", "text", "--state", &state]);
    let mut bytes = std::fs::read(&stored).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&stored, bytes).unwrap();
    let fine = ["--view", "text", "--chunk-bytes", "100"];
    let report = sites.report(&[&fine[..], &["--state", &state]].concat());
    assert_eq!(comparable(&report), comparable(&sites.report(&fine)));
}

#[test]
fn an_archive_that_changes_leaves_no_trace_of_its_earlier_members() {
    let mut dice = Dice::new(7);
    let texts: Vec<Vec<u8>> = (0..4).map(|_| broken_text(&paragraphs(&mut dice, 15))).collect();
    let archive = |chosen: &[usize]| {
        let names: Vec<String> = chosen.iter().map(|number| format!("{number}.txt")).collect();
        let files: Vec<_> =
            names.iter().zip(chosen).map(|(name, number)| (name.as_str(), &texts[*number][..])).collect();
        tar(&files)
    };
    let sites = Sites::new(
        &[("all.tar", &archive(&[0, 1, 2]))],
        &[("0.txt", &texts[0]), ("1.txt", &texts[1]), ("3.txt", &texts[3])],
    );
    let state = sites.sandbox.path("state").to_str().unwrap().to_owned();
    let view = ["--view", "text"];
    for chosen in [&[0, 1, 2][..], &[1, 3], &[], &[0]] {
        std::fs::write(sites.a.join("all.tar"), archive(chosen)).unwrap();
        sites.sandbox.settle();
        let report = sites.report(&[&view[..], &["--state", &state]].concat());
        assert_eq!(comparable(&report), comparable(&sites.report(&view)), "{chosen:?}");
    }
    std::fs::remove_file(sites.a.join("all.tar")).unwrap();
    std::fs::write(sites.a.join("other.txt"), &texts[3]).unwrap();
    sites.sandbox.settle();
    let report = sites.report(&[&view[..], &["--state", &state]].concat());
    assert_eq!(paths(&report, "identical"), [["a/other.txt", "b/3.txt"]]);
}

#[test]
fn a_folder_named_like_the_inside_of_an_archive_is_distinguished_from_it() {
    let mut dice = Dice::new(8);
    let [inside, outside] = [paragraphs(&mut dice, 15), paragraphs(&mut dice, 15)].map(|text| broken_text(&text));
    let sites = Sites::new(
        &[("all.tar", &tar(&[("x.txt", &inside)])), ("all.tar!/x.txt", &outside)],
        &[("inside.txt", &inside), ("beside.txt", &outside)],
    );
    let report = sites.report(&["--view", "text"]);
    let mut sets = paths(&report, "identical");
    sets.sort();
    assert_eq!(sets, [["a/all.tar!/x.txt", "b/beside.txt"], ["a/all.tar!/~/x.txt", "b/inside.txt"]]);
}

#[test]
fn a_site_refuses_a_view_that_it_does_not_allow_and_says_which_key_is_against_it() {
    let mut federation = Federation::new(9);
    let files: Files = [("notes.txt".to_owned(), b"some words".to_vec())].into();
    federation.add_with("a", None, &files, "[policy]\nviews = [\"raw\"]\n");
    federation.add_with("b", None, &files, "");
    federation.start_all();
    let report = federation.scan(&["--view", "text"]).expect(3).json();
    assert_eq!(report["scan"]["status"], "partial");
    let missing = report["scan"]["missing"].to_string();
    assert!(missing.contains("policy.views is raw, the scan asks for text"), "{report}");
    let raw = federation.scan(&["--view", "raw"]).report();
    assert_eq!(raw["scan"]["status"], json!("complete"));
}

#[test]
fn a_refinement_of_texts_reads_the_archive_that_a_chosen_document_is_in() {
    let mut federation = Federation::new(10);
    let [common, other] = [paragraphs(&mut federation.dice, 30), paragraphs(&mut federation.dice, 30)];
    let mut edited = common.clone();
    edited[3] = words(&mut federation.dice, 60);
    let archive = tar(&[("letter.txt", &broken_text(&common)), ("other.txt", &broken_text(&other))]);
    let files = |name: &str, bytes: Vec<u8>| -> Files { [(name.to_owned(), bytes)].into() };
    federation.add_with("a", None, &files("all.tar", archive), "");
    federation.add_with("b", None, &files("letter.html", html(&edited)), "");
    federation.sandbox.settle();
    federation.start_all();
    let coarse = federation.scan(&["--view", "text", "--chunk-bytes", "1000", "--precision", "coarse"]).report();
    let linked = [["a/all.tar!/letter.txt", "b/letter.html"]];
    assert_eq!(paths(&coarse, "clusters"), linked);
    let id = coarse["scan"]["id"].as_str().unwrap();
    let refining = ["scan", "launch", "--refine", id, "--refine-what", "linked", "--yes", "--wait", "--format", "json"];
    let fine = federation.operate(&[&refining[..], &["--view", "text", "--chunk-bytes", "100"]].concat()).report();
    assert_eq!(paths(&fine, "clusters"), linked);
    let resemblance = |report: &Value| report["clusters"][0]["mean_resemblance"].as_f64().unwrap();
    assert!(resemblance(&fine) > resemblance(&coarse), "{fine}");
    assert_eq!(run_of(&fine, "read_bytes"), [0, 0], "the stored text was used");
}
