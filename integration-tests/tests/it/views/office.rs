//! Contracts written with one template: what a program packs around the words relates none of them.

use std::collections::BTreeSet;

use cognate_integration_tests::sandbox::compare_args;

use super::*;

const CONTRACTS: usize = 24;
/// The first so many have an edited copy under another name at the second site.
const COPIED: usize = 8;

/// A zip archive of stored files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let at = u32::try_from(archive.len()).unwrap();
        let size = u32::try_from(content.len()).unwrap().to_le_bytes();
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
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

/// A text document with the styles of the template.
pub(crate) fn docx(template: &[u8], paragraphs: &[String]) -> Vec<u8> {
    let body: String = paragraphs.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    let relations = "<Relationships><Relationship Id=\"a\" Type=\"http://schemas.example/officeDocument\" \
                     Target=\"word/document.xml\"/></Relationships>";
    zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", relations.as_bytes()),
        ("word/theme/theme1.xml", template),
        ("word/document.xml", document.as_bytes()),
    ])
}

/// A PDF of one page; without lines it shows nothing that could be read.
fn pdf(lines: &[String]) -> Vec<u8> {
    let shown: String = lines.iter().map(|line| format!("({line}) Tj 0 -14 Td\n")).collect();
    let content = format!("BT /F 10 Tf 50 750 Td\n{shown}ET");
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Count 1/Kids[4 0 R]>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F 3 0 R>>>>>>".to_owned(),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()),
    ];
    let (mut file, mut offsets) = (String::from("%PDF-1.4\n"), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let start = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1));
    offsets.iter().for_each(|offset| file.push_str(&format!("{offset:010} 00000 n \n")));
    file.push_str(&format!("trailer<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1));
    file.into_bytes()
}

/// Contracts at one company; at the other edited copies of some, one of them as PDF as well, and others.
fn companies(seed: u64) -> Sites {
    let mut dice = Dice::new(seed);
    let theme: String = (0..33_000).map(|_| char::from(b'a' + dice.bytes(1)[0] % 26)).collect();
    let theme = format!("<a:theme>{theme}</a:theme>").into_bytes();
    let (mut a, mut b) = (Files::new(), Files::new());
    for number in 0..CONTRACTS {
        let mut text = paragraphs(&mut dice, 17);
        a.insert(format!("contracts/{number:02}.docx"), docx(&theme, &text));
        if number < COPIED {
            text[5] = words(&mut dice, 60);
            b.insert(format!("signed/copy-of-{number:02}.docx"), docx(&theme, &text));
        } else {
            let other = paragraphs(&mut dice, 17);
            b.insert(format!("signed/other-{number:02}.docx"), docx(&theme, &other));
        }
        if number == 0 {
            b.insert("signed/printed-00.pdf".to_owned(), pdf(&text));
        }
    }
    let sandbox = Sandbox::new();
    let (a, b) = (sandbox.tree("a", &a), sandbox.tree("b", &b));
    Sites { sandbox, a, b }
}

/// The number of the contract that a document is about; nothing for one that is alone.
fn contract(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?.split('.').next()?;
    (!name.starts_with("other")).then(|| &name[name.len() - 2..])
}

#[test]
fn contracts_of_one_template_are_related_by_their_words_alone() {
    let sites = companies(31);
    for args in [&[][..], &["--view", "both"]] {
        check_contracts(&sites.report(args));
    }
}

fn check_contracts(report: &Value) {
    let clusters = paths(report, "clusters");
    for cluster in &clusters {
        let about: BTreeSet<_> = cluster.iter().map(|path| contract(path)).collect();
        assert!(about.len() == 1 && !about.contains(&None), "{cluster:?}");
    }
    let copied: BTreeSet<_> = clusters.iter().flatten().filter_map(|path| contract(path)).collect();
    assert_eq!(copied.len(), COPIED, "{clusters:?}");
    assert_eq!(report["sites"][0]["status"], json!({"near": COPIED, "unique": CONTRACTS - COPIED}));
    for folder in report["folders"].as_array().unwrap() {
        assert_eq!(folder["documents_a"].as_u64().unwrap(), COPIED as u64, "{folder}");
    }
}

#[test]
fn an_office_file_without_text_is_identical_or_nothing_and_is_named_as_not_compared() {
    let mut dice = Dice::new(32);
    let scan = |dice: &mut Dice| [pdf(&[]), b"% ".to_vec(), vec![b'x'; 40_000], dice.bytes(2_000)].concat();
    let [same, one, other] = [(); 3].map(|()| scan(&mut dice));
    let sites = Sites::new(&[("same.pdf", &same), ("one.pdf", &one)], &[("again.pdf", &same), ("other.pdf", &other)]);
    for args in [&[][..], &["--view", "both"]] {
        let report = sites.report_with(3, args);
        assert_eq!(paths(&report, "identical"), [["a/same.pdf", "b/again.pdf"]]);
        assert_eq!(report["clusters"], json!([]));
        let unread = report["unread"].as_array().unwrap().iter();
        let reasons: BTreeSet<_> = unread.map(|row| row["reason"].as_str()).collect();
        assert_eq!(reasons, [Some("not compared by text: no text was found in it")].into());
    }
}

#[test]
fn a_site_that_keeps_its_text_takes_part_by_bytes_and_its_office_files_are_named() {
    let mut federation = Federation::new(37);
    let [same, text] = [(); 2].map(|()| paragraphs(&mut federation.dice, 20));
    let mut edited = text.clone();
    edited[3] = words(&mut federation.dice, 60);
    let files = |files: &[(&str, &[String])]| -> Files {
        files.iter().map(|(name, text)| ((*name).to_owned(), docx(&[b'x'; 30_000], text))).collect()
    };
    federation.add_with("a", None, &files(&[("same.docx", &same), ("first.docx", &text)]), "");
    federation.add_with("b", None, &files(&[("same.docx", &same), ("edited.docx", &edited)]), "");
    federation.sandbox.settle();
    federation.start_all();
    let open = federation.scan(&[]).report();
    assert_eq!(paths(&open, "clusters"), [["a/first.docx", "b/edited.docx"]]);
    federation.stop("b");
    let config = federation.site("b").config().to_owned();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[policy]\nviews = [\"raw\"]\n")).unwrap();
    federation.start("b");
    let kept = federation.scan(&[]).expect(3).json();
    assert_eq!((&kept["scan"]["status"], &kept["clusters"]), (&json!("complete"), &json!([])), "{kept}");
    assert_eq!(paths(&kept, "identical"), [["a/same.docx", "b/same.docx"]]);
    let unread = kept["unread"].as_array().unwrap().iter();
    let unread: Vec<_> =
        unread.map(|row| (row["site"].as_str(), row["path"].as_str(), row["reason"].as_str())).collect();
    let reason = Some("not compared by text: the policy of its site does not allow it");
    assert_eq!(unread, [(Some("b"), Some("edited.docx"), reason), (Some("b"), Some("same.docx"), reason)]);
}

#[test]
fn an_explanation_begins_with_the_text_by_which_two_contracts_count() {
    let sites = companies(36);
    let result = sites.sandbox.path("result.sqlite");
    let folders: [(&str, &Path); 2] = [("a", &sites.a), ("b", &sites.b)];
    let to_file = ["--format", "sqlite", "-o", result.to_str().unwrap()];
    sites.sandbox.cognate(compare_args(&folders, &to_file)).expect(0);
    let names = ["a/contracts/00.docx", "b/signed/copy-of-00.docx"];
    let files = [sites.a.join("contracts/00.docx"), sites.b.join("signed/copy-of-00.docx")];
    let mut words = vec!["explain", result.to_str().unwrap(), names[0], names[1], "--format", "json", "--files"];
    words.extend(files.iter().map(|file| file.to_str().unwrap()));
    let explained = sites.sandbox.cognate(words).expect(0).json();
    let views: Vec<_> = explained["views"].as_array().unwrap().iter().collect();
    assert_eq!((&views[0]["view"], &views[0]["relation"]), (&json!("text"), &json!("near")), "{explained}");
    assert_eq!((&views[1]["view"], &views[1]["evidence_only"]), (&json!("raw"), &json!(true)), "{explained}");
}

#[test]
fn a_copy_at_home_does_not_hide_the_same_text_at_the_other_site_in_any_format() {
    let mut dice = Dice::new(38);
    let text = paragraphs(&mut dice, 20);
    let contract = docx(b"<a:theme/>", &text);
    let sites = Sites::new(
        &[("x.docx", &contract), ("Copy of x.docx", &contract)],
        &[("x.html", &html(&text)), ("other.txt", &broken_text(&paragraphs(&mut dice, 20)))],
    );
    let result = sites.sandbox.path("result.sqlite");
    let folders: [(&str, &Path); 2] = [("a", &sites.a), ("b", &sites.b)];
    let to_file = ["--view", "both", "--format", "sqlite", "-o", result.to_str().unwrap()];
    sites.sandbox.cognate(compare_args(&folders, &to_file)).expect(0);
    let shown = |args: &[&str]| {
        let words = [&["report", result.to_str().unwrap()], args].concat();
        sites.sandbox.cognate(words).expect(0).text().to_owned()
    };
    let report: Value = serde_json::from_str(&shown(&["--format", "json"])).unwrap();
    let overlap = &report["overlap"][0];
    let documents =
        ["documents_a", "documents_total_a", "documents_b", "documents_total_b"].map(|field| &overlap[field]);
    assert_eq!(documents, [&json!(2), &json!(2), &json!(1), &json!(2)], "{overlap}");
    assert_eq!(overlap["shared_bytes_a"], overlap["bytes_total_a"], "text over text: {overlap}");
    let counts =
        |row: &Value| ["same", "changed", "moved", "only", "not_decided"].map(|what| row[what].as_u64().unwrap());
    let changes = report["changes"].as_array().unwrap();
    assert_eq!((counts(&changes[0]), counts(&changes[1])), ([0, 0, 2, 0, 0], [0, 0, 1, 1, 0]));
    let lists: Vec<Value> = serde_json::from_str(&shown(&["--documents", "--format", "json"])).unwrap();
    for document in lists.iter().filter(|document| document["site"] == "a") {
        assert_eq!((&document["status"], &document["elsewhere"]), (&json!("identical"), &json!("yes")), "{document}");
        assert_eq!(document["partner"]["path"], "x.html", "{document}");
    }
    let only = |site: &str, other: &str| {
        let args = ["--documents", "--format", "json", "--status", "unique", "--in", site, "--against", other];
        serde_json::from_str::<Vec<Value>>(&shown(&args)).unwrap().len()
    };
    assert_eq!((only("a", "b"), only("b", "a")), (0, 1));
    let text = shown(&[]);
    assert!(!text.contains("ONLY IN A:") && text.contains("ONLY IN B: 1"), "{text}");
    assert!(text.contains("2 of its 2 documents have a copy or a relative there"), "{text}");
}

#[test]
fn an_attachment_matches_its_copy_and_archives_stay_closed() {
    let mut dice = Dice::new(33);
    let contract = docx(b"<a:theme/>", &paragraphs(&mut dice, 20));
    let mail = [
        b"From: a@example.com\r\nMessage-ID: <1@example.com>\r\nMIME-Version: 1.0\r\n".as_slice(),
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nHello\r\n--x\r\n",
        b"Content-Type: application/octet-stream; name=c.docx\r\nContent-Transfer-Encoding: base64\r\n\r\n",
        data_encoding::BASE64_MIME.encode(&contract).as_bytes(),
        b"\r\n--x--\r\n",
    ]
    .concat();
    let packed = zip(&[("inside.docx", &contract)]);
    let sites = Sites::new(&[("contract.docx", &contract)], &[("sent.eml", &mail), ("packed.zip", &packed)]);
    let report = sites.report(&[]);
    assert_eq!(paths(&report, "identical"), [["a/contract.docx", "b/sent.eml!/c.docx"]], "{report}");
    let with_archives = sites.report(&["--view", "both"]);
    let expected = [["a/contract.docx", "b/packed.zip!/inside.docx", "b/sent.eml!/c.docx"]];
    assert_eq!(paths(&with_archives, "identical"), expected, "{with_archives}");
}

#[test]
fn each_document_counts_once_in_the_overlap_and_files_without_office_files_are_compared_as_bytes() {
    let mut dice = Dice::new(34);
    let (notes, contract) = (dice.bytes(30_000), docx(b"<a:theme/>", &paragraphs(&mut dice, 20)));
    let sites = Sites::new(
        &[("notes.bin", &notes), ("contract.docx", &contract)],
        &[("notes.bin", &notes), ("copy.docx", &contract)],
    );
    let report = sites.report(&[]);
    let overlap = |field: &str| -> Vec<u64> {
        report["overlap"].as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).collect()
    };
    let text_bytes = report["sites"][0]["text_bytes"].as_u64().unwrap();
    assert_eq!((overlap("documents_a"), overlap("documents_total_a")), (vec![2], vec![2]));
    // One unit: the bytes of the notes, and the text of the contract.
    assert_eq!(
        (overlap("shared_bytes_a"), overlap("bytes_total_a")),
        (vec![30_000 + text_bytes], vec![30_000 + text_bytes])
    );
    assert_eq!((&report["sites"][0]["text_documents"], &report["scan"]["view"]), (&json!(1), &json!("auto")));
    let plain = Sites::new(&[("notes.bin", &notes)], &[("copy.bin", &notes)]);
    let [mut by_default, mut raw] = [plain.report(&[]), plain.report(&["--view", "raw"])];
    assert_eq!(by_default["scan"]["view"], "auto");
    for report in [&mut by_default, &mut raw] {
        report["scan"] = Value::Null;
    }
    assert_eq!(by_default, raw);
}

#[test]
fn a_contract_is_found_by_its_words_and_a_second_scan_reads_nothing() {
    let mut federation = Federation::new(35);
    let template: String = (0..33_000).map(|_| char::from(b'a' + federation.dice.bytes(1)[0] % 26)).collect();
    let mut text = paragraphs(&mut federation.dice, 17);
    let other = paragraphs(&mut federation.dice, 17);
    let asked = docx(template.as_bytes(), &text);
    text[4] = words(&mut federation.dice, 60);
    let files = |files: &[(&str, &[String])]| -> Files {
        files.iter().map(|(name, text)| ((*name).to_owned(), docx(template.as_bytes(), text))).collect()
    };
    federation.add_with("a", None, &files(&[("edited.docx", &text)]), "");
    federation.add_with("b", None, &files(&[("other.docx", &other)]), "");
    federation.sandbox.settle();
    federation.start_all();
    let first = federation.scan(&[]).report();
    assert!(run_of(&first, "read_documents").iter().all(|documents| *documents == 2), "{first}");
    let again = federation.scan(&[]).report();
    assert_eq!(run_of(&again, "read_documents"), [0, 0]);
    let file = federation.sandbox.folder("asked", &[("asked.docx", &asked)]).join("asked.docx");
    let found = federation.operate(&["find", file.to_str().unwrap(), "--format", "json"]).expect(0).json();
    let matches = found["documents"][0]["matches"].as_array().unwrap().iter();
    let places: Vec<_> = matches.map(|found| found["holders"][0]["path"].as_str().unwrap()).collect();
    assert_eq!((places, &found["under"]["view"]), (vec!["edited.docx"], &json!("office")), "{found}");
}
