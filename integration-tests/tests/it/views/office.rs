//! Contracts written with one template: what a program packs around the words relates none of them.

use std::collections::BTreeSet;

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
fn docx(template: &[u8], paragraphs: &[String]) -> Vec<u8> {
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
    let report = sites.report(&["--view", "both"]);
    let clusters = paths(&report, "clusters");
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
    let report = sites.report_with(3, &["--view", "both"]);
    assert_eq!(paths(&report, "identical"), [["a/same.pdf", "b/again.pdf"]]);
    assert_eq!(report["clusters"], json!([]));
    let reasons: BTreeSet<_> = report["unread"].as_array().unwrap().iter().map(|row| row["reason"].as_str()).collect();
    assert_eq!(reasons, [Some("not compared by text: no text was found in it")].into());
}
