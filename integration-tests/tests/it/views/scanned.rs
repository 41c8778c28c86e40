//! Scanned pages: named as not compared by text, or compared by the text that `tesseract` recognises in them.
//!
//! `scanned/contract.g4` is a page with the words of `scanned/contract.txt`, rendered in a serif font at 150 dots per inch
//! and compressed as a fax machine does (group 4).

use std::process::Command;

use cognate_integration_tests::sandbox::compare_args;
use cognate_integration_tests::{Run, not_checked};

use super::office::docx;
use super::*;

const PAGE: &[u8] = include_bytes!("scanned/contract.g4");
const WORDS: &str = include_str!("scanned/contract.txt");
const WIDTH: u32 = 1240;
const HEIGHT: u32 = 1754;

/// The page as a TIFF.
fn tiff() -> Vec<u8> {
    let length = u32::try_from(PAGE.len()).unwrap();
    let fields = [
        (256, WIDTH),
        (257, HEIGHT),
        (258, 1),
        (259, 4),
        (262, 1),
        (273, 8),
        (277, 1),
        (278, HEIGHT),
        (279, length),
        (293, 0),
    ];
    let mut file = b"II*\0".to_vec();
    file.extend((8 + length).to_le_bytes());
    file.extend(PAGE);
    file.extend(u16::try_from(fields.len()).unwrap().to_le_bytes());
    for (tag, value) in fields {
        file.extend(u16::to_le_bytes(tag));
        file.extend([4, 0, 1, 0, 0, 0]);
        file.extend(u32::to_le_bytes(value));
    }
    file.extend([0; 4]);
    file
}

/// The page as a scanner puts it into a PDF.
fn pdf() -> Vec<u8> {
    let content = "q 595 0 0 842 0 0 cm /P Do Q";
    let picture = format!(
        "<</Type/XObject/Subtype/Image/Width {WIDTH}/Height {HEIGHT}/BitsPerComponent 1/ColorSpace/DeviceGray\
         /Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns {WIDTH}/Rows {HEIGHT}/BlackIs1 true>>/Length {}>>stream\n",
        PAGE.len()
    );
    let objects = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</XObject<</P 5 0 R>>>>>>".to_vec(),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()).into_bytes(),
        [picture.as_bytes(), PAGE, b"\nendstream"].concat(),
    ];
    let (mut file, mut offsets) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend([format!("{} 0 obj\n", at + 1).as_bytes(), object, b"\nendobj\n"].concat());
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1).bytes());
    offsets.iter().for_each(|offset| file.extend(format!("{offset:010} 00000 n \n").bytes()));
    file.extend(format!("trailer<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1).bytes());
    file
}

/// A contract as it was written at one site; at the other its scans, and a picture that is none.
fn sites() -> Sites {
    let paragraphs: Vec<String> = WORDS.lines().map(str::to_owned).collect();
    let written = docx(b"", &paragraphs);
    let logo = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40\x08\0\0\0\0";
    Sites::new(&[("contract.docx", &written)], &[("fax.tif", &tiff()), ("logo.png", logo), ("scan.pdf", &pdf())])
}

impl Sites {
    fn run(&self, format: &str, args: &[&str]) -> Run {
        let args = compare_args(&[("a", &self.a), ("b", &self.b)], &[args, &["--format", format]].concat());
        self.sandbox.cognate(args)
    }
}

/// True if the program that recognises text is there. A test without it says that it checked nothing.
fn has_tesseract(what: &str) -> bool {
    let is_there = Command::new("tesseract").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        not_checked(&format!("{what}, since `tesseract` is not installed"));
    }
    is_there
}

#[test]
fn scanned_pages_are_counted_and_named_as_not_compared_by_text_and_an_icon_is_not() {
    let sites = sites();
    let reason = "its pages are pictures";
    for view in ["auto", "both", "text"] {
        let report = sites.report_with(3, &["--view", view]);
        let unread: Vec<&Value> = report["unread"].as_array().unwrap().iter().map(|row| &row["path"]).collect();
        assert_eq!(unread, ["fax.tif", "scan.pdf"], "{view}");
        for row in report["unread"].as_array().unwrap() {
            assert_eq!(row["reason"], format!("not compared by text: {reason}"));
        }
        let site = &report["sites"][1];
        assert_eq!((&site["unreadable"], &site["not_compared_by_text"]), (&json!(2), &json!({reason: 2})), "{view}");
        assert!(paths(&report, "identical").is_empty() && site.get("recognised").is_none(), "{view}");
    }
    let text = sites.run("text", &[]).expect(3);
    assert!(text.text().contains("b/main: 2 not compared by text: 2 × its pages are pictures"), "{}", text.text());
}

#[test]
fn a_scan_is_found_as_the_text_of_its_contract_and_every_format_marks_it() {
    if !has_tesseract("scans that are found by their text") {
        return;
    }
    let sites = sites();
    for view in ["auto", "text"] {
        let report = sites.report(&["--view", view, "--ocr"]);
        assert_eq!(paths(&report, "identical"), [["a/contract.docx", "b/fax.tif", "b/scan.pdf"]], "{view}");
        let documents = report["identical"][0]["documents"].as_array().unwrap();
        let marks: Vec<Option<bool>> = documents.iter().map(|document| document["recognised"].as_bool()).collect();
        assert_eq!(marks, [None, Some(true), Some(true)], "{view}");
        assert!(report["unread"].as_array().unwrap().is_empty());
        let site = &report["sites"][1];
        assert_eq!(site["recognised"], 2);
        assert!(site["recognition"].as_str().unwrap().ends_with(", eng"), "{site}");
    }
    // The pages are recognised once, and reported in every format.
    let result = sites.sandbox.path("result.sqlite");
    sites.run("sqlite", &["--ocr=eng", "-o", result.to_str().unwrap()]).expect(0);
    let report = |format: &str| {
        let words = ["report", result.to_str().unwrap(), "--format", format];
        sites.sandbox.cognate(words).expect(0)
    };
    let text = report("text");
    assert!(text.text().contains("b: fax.tif (recognised text)"), "{}", text.text());
    assert!(text.text().contains("b/main: 2 compared by recognised text (tesseract "), "{}", text.text());
    assert!(text.text().contains("a program recognised the text"), "{}", text.text());
    for (format, column) in [("csv", "recognised"), ("loadfile", "RecognisedText")] {
        let listed = report(format);
        let column = listed.text().lines().next().unwrap().split(',').position(|name| name == column).unwrap();
        let marked = |name: &str| {
            listed.text().lines().any(|line| line.contains(name) && line.split(',').nth(column) == Some("yes"))
        };
        assert!(marked("fax.tif") && marked("scan.pdf"), "{}", listed.text());
    }
    assert!(report("html").text().contains("scan.pdf (recognised text)"));
    let words = ["report", result.to_str().unwrap(), "--documents", "--format", "json"];
    let documents = sites.sandbox.cognate(words).expect(0).json();
    let marks: Vec<bool> = documents.as_array().unwrap().iter().map(|row| row["recognised"].is_boolean()).collect();
    // The contract, the fax, the icon, the scan.
    assert_eq!(marks, [false, true, false, true]);
}

#[test]
fn recognised_text_is_remembered_until_the_languages_are_others() {
    if !has_tesseract("recognised texts that are remembered") {
        return;
    }
    let (sites, state) = (sites(), Sandbox::new());
    let state = state.path("state");
    let state = state.to_str().unwrap();
    let read = |code: i32, more: &[&str]| {
        let report = sites.report_with(code, &[&["--state", state], more].concat());
        run_of(&report, "read_documents")[1]
    };
    // Scans and the icon as bytes, scans as text.
    assert_eq!(read(3, &[]), 5);
    assert_eq!(read(3, &[]), 0);
    assert_eq!(read(0, &["--ocr"]), 2);
    assert_eq!(read(0, &["--ocr"]), 0);
    assert_eq!(read(0, &["--ocr=eng+eng"]), 2);
    assert_eq!(read(3, &[]), 2);
}

#[test]
fn the_text_of_a_scan_is_printed_and_a_language_that_is_missing_is_named() {
    let sites = sites();
    let scan = sites.b.join("scan.pdf");
    let without = sites.sandbox.cognate([std::ffi::OsStr::new("text"), scan.as_os_str()]).expect(3);
    assert_eq!(without.text(), "");
    if !has_tesseract("the text of a scan") {
        return;
    }
    let with = |option: &str| {
        let words = [std::ffi::OsStr::new("text"), option.as_ref(), scan.as_os_str()];
        sites.sandbox.cognate(words)
    };
    assert_eq!(with("--ocr").expect(0).text(), WORDS);
    let refusal = with("--ocr=nowhere").refusal(2);
    assert!(refusal.contains("has no language `nowhere`"), "{refusal}");
}

#[test]
fn a_worker_whose_configuration_names_a_program_that_is_missing_does_not_start() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("documents", &[("a.txt", b"words")]);
    let config = sandbox.path("worker.toml");
    let check = |ocr: &str, problem: &str| {
        let text = format!(
            "state_dir = {:?}\n[policy.ocr]\n{ocr}\n[[repository]]\nname = \"kb\"\npath = {folder:?}\n",
            sandbox.path("state")
        );
        std::fs::write(&config, text).unwrap();
        let words = ["worker", "run", "--config", config.to_str().unwrap()];
        let refusal = sandbox.cognate(words).refusal(2);
        assert!(refusal.contains(problem), "{refusal}");
    };
    check("languages = [\"eng\"]\nprogram = \"/nowhere/tesseract\"", "policy.ocr: the program `/nowhere/tesseract`");
    check("languages = [\"-x\"]", "`-x` is not the name of a language");
    check("pages_max = 0", "policy.ocr.pages_max");
    check("page_time_max = \"soon\"", "policy.ocr.page_time_max");
    check("pages = 3", "pages");
}
