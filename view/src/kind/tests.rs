use std::io::Cursor;

use cognate_fuzzing::Dice;

use super::*;

fn kind_of(bytes: &[u8]) -> Kind {
    Kind::detect(&mut Cursor::new(bytes)).expect("memory can be read")
}

fn check(cases: &[(&[u8], Kind)]) {
    for (bytes, kind) in cases {
        assert_eq!(kind_of(bytes), *kind, "{:?}", String::from_utf8_lossy(bytes));
    }
}

fn utf16(text: &str, unit: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[test]
fn marks_of_archives_and_documents_are_known() {
    check(&[
        (b"\x1F\x8B\x08\0\0\0\0\0", Kind::Gzip),
        (b"\xFD7zXZ\0\0\x04", Kind::Xz),
        (b"\x28\xB5\x2F\xFD\x04", Kind::Zstd),
        (b"BZh91AY&SY\0\0", Kind::Bzip2),
        (b"7z\xBC\xAF\x27\x1C\0\x04", Kind::SevenZip),
        (b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", Kind::Zip),
        (b"{\\rtf1\\ansi x}", Kind::Rtf),
        (b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", Kind::Pdf),
        (b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR", Kind::Png),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF\0", Kind::Jpeg),
        (b"II*\0\x08\0\0\0\0\0", Kind::Tiff),
        (b"MM\0*\0\0\0\x08\0\0", Kind::Tiff),
        (b"II*\0\x10\0\0\0CR\x02\0", Kind::Other),
        (b"\x7FELF\x02\x01\x01\0", Kind::Other),
        (b"BZh9 is how such files begin", Kind::Text),
        (b"PK is a unit", Kind::Text),
        (b"", Kind::Text),
    ]);
}

#[test]
fn a_pdf_may_begin_within_its_first_kilobyte_and_source_code_that_mentions_one_is_text() {
    let late = [b"MIME junk\r\n\r\n".as_slice(), b"%PDF-1.4\n1 0 obj\n", b"startxref\n9\n%%EOF\n"].concat();
    assert_eq!(kind_of(&late), Kind::Pdf);
    check(&[(b"HEADER = b'%PDF-1.4'\n", Kind::Text), (b"\n\n%PDF-1.4\n", Kind::Pdf)]);
}

#[test]
fn text_is_known_in_any_encoding() {
    let text = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.\nUnd noch einmal von vorn.\n";
    let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю.\n".repeat(4);
    for text in [text, &russian, &format!("\u{FEFF}{text}")] {
        assert_eq!(kind_of(text.as_bytes()), Kind::Text);
        assert_eq!(kind_of(&utf16(text, u16::to_le_bytes)), Kind::Text);
        assert_eq!(kind_of(&utf16(text, u16::to_be_bytes)), Kind::Text);
        assert_eq!(kind_of(&text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<_>>()), Kind::Text);
        assert_eq!(kind_of(&text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect::<Vec<_>>()), Kind::Text);
    }
    check(&[
        (b"Caf\xE9 cr\xE8me\n", Kind::Text),
        (b"with a page\x0Cbreak\n", Kind::Text),
        (b"a zero \0 in it\n", Kind::Other),
        (b"a control \x01 in it\n", Kind::Other),
    ]);
}

#[test]
fn random_bytes_are_no_text() {
    let mut dice = Dice::new(1);
    for length in [16, 100, 1000, 20_000] {
        assert_eq!(kind_of(&dice.bytes(length)), Kind::Other, "{length}");
    }
}

#[test]
fn pages_are_html_and_other_markup_is_text() {
    check(&[
        (b"<!DOCTYPE html><p>x", Kind::Html),
        (b"\xEF\xBB\xBF  <!-- note -->\n<HTML lang=en>", Kind::Html),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x'><html/>", Kind::Html),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", Kind::Html),
        (b"<h1>x</h1></body>", Kind::Html),
        (b"<?xml version='1.0'?><feed><html/></feed>", Kind::Text),
        (b"<!DOCTYPE svg PUBLIC 'x' 'y'><svg/>", Kind::Text),
        (b"<p align=\"center\">logo</p>\n\n# A project\n", Kind::Text),
        (b"<htmlish/>", Kind::Text),
        (b"< less", Kind::Text),
        (b"<", Kind::Text),
        (b"{% extends 'base.html' %}<html>", Kind::Text),
        (b"<?xml version='1.0'?><office:document xmlns:office='x'>", Kind::OpenDocument),
    ]);
    assert_eq!(kind_of(&utf16("\u{FEFF}<html><body>Hello, you there</body></html>", u16::to_le_bytes)), Kind::Html);
}

#[test]
fn mail_is_known_by_its_header() {
    check(&[
        (b"From: a@example.org\r\nTo: b@example.org\r\nSubject: x\r\n\r\nHello\r\n", Kind::Mail),
        (b"Received: from x\n\tby y; Mon, 1 Jan 2024\nMessage-ID: <a@b>\n\nHello\n", Kind::Mail),
        (b"From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: x\n\nHello\n", Kind::Mbox),
        (b"From the beginning it was 10:30 in 1999\nwe knew\n", Kind::Text),
        (b"Subject: a note\nDate: today\n\ntext\n", Kind::Text),
        (b"Package: x\nVersion: 1\nTo: you\nFrom: me\nfree text follows\n\n", Kind::Text),
        (b" From: x\nTo: y\n\n", Kind::Text),
        (b"Note: one line\n", Kind::Text),
    ]);
}

/// A zip archive with these names, each with a byte or so.
fn zip_of(names: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in names {
        let offset = u32::try_from(file.len()).expect("small");
        let length = u32::try_from(content.len()).expect("small").to_le_bytes();
        let name_length = u16::try_from(name.len()).expect("short").to_le_bytes();
        let common =
            [[10, 0, 0, 0, 0, 0, 0, 0, 0, 0].as_slice(), &[0; 4], &length, &length, &name_length, &[0, 0]].concat();
        file.extend([b"PK\x03\x04".as_slice(), &common, name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02\x0A\0".as_slice(), &common, &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let size = u32::try_from(directory.len()).expect("small").to_le_bytes();
    let offset = u32::try_from(file.len()).expect("small").to_le_bytes();
    let count = u16::try_from(names.len()).expect("few").to_le_bytes();
    file.extend(directory);
    file.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size, &offset, &[0, 0]].concat());
    file
}

#[test]
fn zips_are_known_by_their_members() {
    let zip = |names: &[&str]| zip_of(&names.iter().map(|&name| (name, b"x".as_slice())).collect::<Vec<_>>());
    assert_eq!(kind_of(&zip(&["_rels/.rels", "word/document.xml", "[Content_Types].xml"])), Kind::Docx);
    assert_eq!(kind_of(&zip(&["[Content_Types].xml", "xl/workbook.xml"])), Kind::Xlsx);
    assert_eq!(kind_of(&zip(&["[Content_Types].xml", "ppt/presentation.xml"])), Kind::Pptx);
    assert_eq!(kind_of(&zip(&["workbook.xml", "sheet1.xml", "[Content_Types].xml"])), Kind::Xlsx, "without folders");
    assert_eq!(kind_of(&zip(&["document.xml", "a.txt"])), Kind::Zip, "no package");
    assert_eq!(kind_of(&zip(&["word/document.xml", "letters/[Content_Types].xml"])), Kind::Zip);
    assert_eq!(kind_of(&zip(&["content.xml", "mimetype", "META-INF/manifest.xml"])), Kind::OpenDocument);
    let epub = zip_of(&[("mimetype", b"application/epub+zip"), ("a.xhtml", b"<html/>")]);
    assert_eq!(kind_of(&epub), Kind::Zip);
    let odt = zip_of(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"")]);
    assert_eq!(kind_of(&odt), Kind::OpenDocument);
    assert_eq!(kind_of(&odt[..100]), Kind::OpenDocument, "cut short");
    assert_eq!(kind_of(&zip(&["[Content_Types].xml", "word/document.xml"])[..90]), Kind::Zip, "cut short");
}

/// A compound file with one sector of directory.
fn compound_of(names: &[&str]) -> Vec<u8> {
    let mut file = vec![0; 512];
    file[..8].copy_from_slice(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
    file[30] = 9;
    for name in names {
        let mut entry = utf16(name, u16::to_le_bytes);
        entry.resize(128, 0);
        entry[64] = u8::try_from(2 * name.len() + 2).expect("short");
        file.extend(entry);
    }
    // Behind the directory is the table of sectors: the directory is one sector, and it ends.
    file.resize(1024, 0);
    file[76..80].copy_from_slice(&1_u32.to_le_bytes());
    file.extend(0xFFFF_FFFE_u32.to_le_bytes());
    file.resize(1536, 0xFF);
    file
}

#[test]
fn compound_files_are_known_by_their_streams() {
    assert_eq!(kind_of(&compound_of(&["Root Entry", "__nameid_version1.0", "__properties_version1.0"])), Kind::Msg);
    assert_eq!(kind_of(&compound_of(&["Root Entry", "1Table", "WordDocument"])), Kind::Doc);
    assert_eq!(kind_of(&compound_of(&["Root Entry", "EncryptionInfo", "EncryptedPackage"])), Kind::OldOffice);
    assert_eq!(kind_of(&compound_of(&["Root Entry", "Catalog"])), Kind::Other);
    assert_eq!(kind_of(&compound_of(&[])[..300]), Kind::OldOffice, "cut short: it may have been any document");
}

#[test]
fn tar_archives_are_known_by_the_sum_of_their_first_header() {
    let mut block = [0u8; 512];
    block[..5].copy_from_slice(b"a.txt");
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    assert_eq!(kind_of(&block), Kind::Tar);
    block[0] = b'b';
    assert_eq!(kind_of(&block), Kind::Other);
}

/// Every kind with a document of it that is recognised by its first bytes.
const SIGNATURES: [(&[u8], Kind); 8] = [
    (b"\x1F\x8B\x08\0\0\0\0\0", Kind::Gzip),
    (b"\xFD7zXZ\0\0\x04", Kind::Xz),
    (b"\x28\xB5\x2F\xFD\x04", Kind::Zstd),
    (b"\x50\x2A\x4D\x18\0\0\0\0", Kind::Zstd),
    (b"BZh91AY&SY\0\0", Kind::Bzip2),
    (b"7z\xBC\xAF\x27\x1C\0\x04", Kind::SevenZip),
    (b"{\\rtf1\\ansi x}", Kind::Rtf),
    (b"%PDF-1.7\n", Kind::Pdf),
];

#[test]
fn reserved_flags_and_other_levels_are_no_signature() {
    check(&[
        (b"\x1F\x8B\x08\xE0\0\0\0\0", Kind::Other),
        (b"\x1F\x8B\x07\0\0\0\0\0", Kind::Other),
        (b"\x4F\x2A\x4D\x18", Kind::Other),
        (b"BZh01AY&SY\0\0", Kind::Other),
        (b"%PDF-x.7\n", Kind::Text),
    ]);
}

proptest::proptest! {
    #[test]
    fn the_bytes_after_a_signature_do_not_matter(rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..2000)) {
        for (signature, kind) in SIGNATURES {
            proptest::prop_assert_eq!(kind_of(&[signature, &rest].concat()), kind);
        }
    }

    #[test]
    fn detection_ends_at_the_start_of_any_bytes(
        signature in 0..6_usize,
        rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3000),
        at in 0_u64..3000,
    ) {
        use std::io::{Seek as _, SeekFrom};
        let zip = zip_of(&[("word/document.xml", b"x"), ("[Content_Types].xml", b"y")]);
        let compound = compound_of(&["Root Entry", "WordDocument"]);
        let start: &[u8] = [&zip[..], &zip[..60], &compound, &compound[..100], b"%!\n%PDF-1.4", b""][signature];
        let bytes = [start, &rest].concat();
        let mut source = Cursor::new(bytes.as_slice());
        source.seek(SeekFrom::Start(at)).unwrap();
        let first = Kind::detect(&mut source).unwrap();
        proptest::prop_assert_eq!(source.position(), 0);
        proptest::prop_assert_eq!(Kind::detect(&mut source).unwrap(), first);
    }
}

#[test]
fn office_files_and_pages_are_candidates_and_other_large_pictures_need_recognition() {
    let check = |head: &[u8], candidate| assert_eq!(Candidate::of(head), candidate, "{head:x?}");
    let png = |width: u32, height: u32| {
        let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        [&head[..], &width.to_be_bytes(), &height.to_be_bytes()].concat()
    };
    check(&png(1654, 2339), Candidate::Document);
    check(&png(4032, 3024), Candidate::Picture);
    check(&png(64, 64), Candidate::No);
    check(b"MM\0*\0\0\0\x08", Candidate::Document);
    check(b"%PDF-1.4\n", Candidate::Document);
    check(b"{\\rtf1 x}", Candidate::Document);
    check(b"int main(void) { return 0; }\n", Candidate::No);
    // A JPEG whose size is beyond its head.
    check(b"\xFF\xD8\xFF\xE1\xFF\xFF", Candidate::Picture);
    assert!(Candidate::head_bytes(b"\xFF\xD8\xFF\xE1") > Candidate::head_bytes(b"%PDF"));
}

/// An archive whose directory has another length, place or end than it has.
fn with_end(names: &[&str], change: impl FnOnce(&mut Vec<u8>, usize)) -> Vec<u8> {
    let mut archive = zip_of(&names.iter().map(|&name| (name, b"x".as_slice())).collect::<Vec<_>>());
    let end = archive.len() - 22;
    change(&mut archive, end);
    archive
}

#[test]
fn a_directory_is_found_behind_other_bytes_and_before_a_comment() {
    let names = ["[Content_Types].xml", "word/document.xml"];
    let plain = with_end(&names, |_, _| {});
    assert_eq!(kind_of(&plain), Kind::Docx);
    let before = [b"PK\x03\x04".as_slice(), &[0; 3000], &plain].concat();
    assert_eq!(kind_of(&before), Kind::Docx, "other bytes come before the archive");
    for comment_bytes in [1, 65_535, 65_536, 200_000] {
        let commented = [plain.as_slice(), &vec![b'x'; comment_bytes]].concat();
        assert_eq!(kind_of(&commented), Kind::Docx, "a comment of {comment_bytes} bytes");
    }
}

#[test]
fn where_a_directory_is_missing_or_wrong_the_names_before_the_members_decide() {
    let names = ["[Content_Types].xml", "word/document.xml"];
    type Change = fn(&mut Vec<u8>, usize);
    let changes: [(&str, Change); 6] = [
        ("no end record", |archive, end| archive.truncate(end)),
        ("half an end record", |archive, end| archive.truncate(end + 12)),
        ("no directory", |archive, end| archive[end + 12..end + 16].fill(0)),
        ("a directory longer than the file", |archive, end| archive[end + 12..end + 16].fill(0xFF)),
        ("a directory that begins elsewhere", |archive, end| archive[end + 12] -= 1),
        ("a name beyond its end", |archive, end| {
            let first = archive[..end].windows(4).position(|mark| mark == b"PK\x01\x02").expect("a directory");
            archive[first + 28..first + 30].fill(0xFF);
        }),
    ];
    for (what, change) in changes {
        assert_eq!(kind_of(&with_end(&names, change)), Kind::Docx, "{what}");
        let holding = ["a letter.docx", "[Content_Types].xml", "word/document.xml"];
        assert_eq!(kind_of(&with_end(&holding, change)), Kind::Zip, "{what}");
    }
}

#[test]
fn only_the_first_megabyte_of_a_directory_is_looked_at() {
    let filler: Vec<String> = (0..20_000).map(|number| format!("{number:010}")).collect();
    let archive = |at: usize| {
        let mut names: Vec<&str> = filler.iter().map(String::as_str).collect();
        names.splice(at..at, ["[Content_Types].xml", "word/document.xml"]);
        with_end(&names, |_, _| {})
    };
    assert_eq!(kind_of(&archive(0)), Kind::Docx);
    assert_eq!(kind_of(&archive(filler.len())), Kind::Zip);
}
