//! `cognate text`: what a reader sees of files, and of what is inside of them.

use cognate_integration_tests::Sandbox;
use serde_json::{Value, json};

/// A zip archive of stored files; those of the second list are said to be locked.
fn zip(files: &[(&str, &[u8])], locked: &[&str]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let at = u32::try_from(archive.len()).unwrap();
        let size = u32::try_from(content.len()).unwrap().to_le_bytes();
        let mut head = vec![20, 0, u8::from(locked.contains(name)), 0, 0, 0, 0, 0, 0, 0];
        head.extend(checksum(content).to_le_bytes());
        head.extend([size, size].concat());
        head.extend(u32::try_from(name.len()).unwrap().to_le_bytes());
        archive.extend([b"PK\x03\x04", head.as_slice(), name.as_bytes(), content].concat());
        directory
            .extend([b"PK\x01\x02\x14\x03", head.as_slice(), &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, length) = (u32::try_from(archive.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    let count = u16::try_from(files.len()).unwrap().to_le_bytes();
    archive.extend(directory);
    archive.extend([b"PK\x05\x06\0\0\0\0", [count, count].concat().as_slice()].concat());
    archive.extend([length.to_le_bytes(), at.to_le_bytes()].concat());
    archive.extend([0; 2]);
    archive
}

/// CRC-32, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 })
    })
}

fn archive() -> Vec<u8> {
    let inner = zip(&[("deep.txt", b"Deep inside")], &[]);
    let page = b"<html><body><p>Seen</p><script>unseen()</script></body></html>";
    zip(&[("a/letter.txt", b"Dear \"all\""), ("inner.zip", &inner), ("page", page), ("lock.txt", b"?")], &["lock.txt"])
}

#[test]
fn the_text_of_one_document_is_printed_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("one.txt", b"Some  words,\r\nand more.\n\nAnd a  second\tparagraph.\n"), ("empty", b"")]);
    let run = sandbox.cognate(["text", "x/one.txt"]).expect(0);
    assert_eq!(run.text(), "Some words, and more.\nAnd a second paragraph.\n");
    assert!(run.stderr.is_empty(), "{run:?}");
    assert_eq!(sandbox.cognate(["text", "x/empty"]).expect(0).text(), "");
}

#[test]
fn what_is_inside_is_printed_under_names_of_its_own_and_what_is_missing_is_told() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("outer.zip", &archive())]);
    let run = sandbox.cognate(["text", "x/outer.zip"]).expect(3);
    let wanted = "== x/outer.zip!/a/letter.txt (text)\nDear \"all\"\n\n\
                  == x/outer.zip!/inner.zip!/deep.txt (text)\nDeep inside\n\n\
                  == x/outer.zip!/inner.zip (zip)\n\n\
                  == x/outer.zip!/page (html)\nSeen\n\n\
                  == x/outer.zip!/lock.txt (other)\n\n\
                  == x/outer.zip (zip)\n";
    assert_eq!(run.text(), wanted);
    assert_eq!(run.stderr, "cognate: `x/outer.zip!/lock.txt` has no readable text: encrypted\n");
    let list = sandbox.cognate(["text", "--list", "x/outer.zip"]).expect(3);
    let line = list.text().lines().find(|line| line.ends_with("lock.txt")).unwrap();
    assert!(line.contains("unextractable(encrypted)") && list.text().lines().count() == 6, "{list:?}");
    assert!(!list.text().contains("Deep inside"));
}

#[test]
fn programs_are_told_the_same_with_every_outcome() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("outer.zip", &archive()), ("picture", b"\x89PNG\r\n\x1A\n\0\0\0")]);
    let files = ["x/outer.zip", "x/picture"];
    let lines = sandbox.cognate(["text", "--format", "ndjson", files[0], files[1]]).expect(3).lines();
    assert_eq!(lines.len(), 7);
    let letter = json!({"path": "x/outer.zip!/a/letter.txt", "kind": "text", "text": "Dear \"all\"", "outcome": "text", "bytes": 10});
    assert_eq!(lines[0], letter);
    let of = |path: &str| lines.iter().find(|line| line["path"] == path).unwrap();
    assert_eq!(
        (&of("x/outer.zip!/lock.txt")["reason"], &of("x/picture")["outcome"]),
        (&json!("encrypted"), &json!("no_text"))
    );
    assert_eq!(of("x/outer.zip")["outcome"], "container");
    let whole: Value =
        serde_json::from_slice(&sandbox.cognate(["text", "--format", "json", files[0], files[1]]).expect(3).stdout)
            .unwrap();
    assert_eq!(whole, json!({"schema": "cognate.text/1", "documents": lines}));
    let list = sandbox.cognate(["text", "--list", "--format", "ndjson", files[0]]).expect(3).lines();
    assert!(list.iter().all(|line| line.get("text").is_none() && line.get("bytes").is_some()));
}

#[test]
fn files_that_cannot_be_read_are_told_and_the_others_printed() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("one", b"one")]);
    let run = sandbox.cognate(["text", "x/none", "x", "x/one"]).expect(3);
    assert_eq!(run.text(), "== x/one (text)\none\n");
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("`x/none`") && lines[1].contains("`x`"), "{run:?}");
    sandbox.cognate(["text", "x/none"]).expect(1);
    sandbox.cognate(["text"]).expect(2);
}

#[test]
fn what_is_cut_off_or_a_bomb_is_told_and_the_next_file_read() {
    let sandbox = Sandbox::new();
    let whole = archive();
    let cut = &whole[..whole.len() / 4];
    sandbox.folder("x", &[("cut.zip", cut), ("noise.gz", b"\x1F\x8B\x08\0\0\0\0\0\0\x03garbage"), ("next", b"next")]);
    let run = sandbox.cognate(["text", "x/cut.zip", "x/noise.gz", "x/next"]).expect(3);
    assert!(run.text().starts_with("== x/cut.zip!/a/letter.txt (text)\nDear \"all\"\n"), "{run:?}");
    assert!(run.text().ends_with("== x/next (text)\nnext\n"), "{run:?}");
    for told in ["`x/cut.zip` has no readable text: damaged", "`x/noise.gz` has no readable text: damaged"] {
        assert!(run.stderr.contains(told), "{run:?}");
    }
}
