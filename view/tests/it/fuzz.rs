//! Damaged documents of every kind: parts, each with its outcome, and never a crash.

use std::path::Path;
use std::time::Duration;

use cognate_view::{Limits, Parts};

use crate::make;
use crate::reader::walked;

/// Runs a reader of documents over an input that `wrap` puts into its container.
fn run(name: &str, file: &str, valid: &[Vec<u8>], wrap: impl Fn(&[u8]) -> Vec<u8>) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let limits = Limits { expanded_bytes_max: 16 << 20, time_max: Duration::from_secs(5), ..Limits::default() };
    cognate_fuzzing::run(name, &corpus, valid, |input| {
        let parts = walked(file, &wrap(input), &limits);
        let outcomes: Vec<String> =
            parts.iter().take(8).map(|part| format!("{:?} {:?}", part.kind, part.outcome)).collect();
        outcomes.join(" ")
    });
}

/// A document as it is.
fn plain(name: &str, file: &str, valid: &[&[u8]]) {
    let valid: Vec<Vec<u8>> = valid.iter().map(|input| input.to_vec()).collect();
    run(name, file, &valid, <[u8]>::to_vec);
}

const TYPES: &[u8] =
    b"<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
    <Default Extension=\"xml\" ContentType=\"application/xml\"/></Types>";

fn relation(target: &str) -> Vec<u8> {
    format!(
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
         Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"{target}\"/>\
         </Relationships>"
    )
    .into_bytes()
}

#[test]
fn any_office_document_is_read_or_refused() {
    let docx = "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body><w:p><w:r>\
        <w:t xml:space=\"preserve\">one &amp; two</w:t><w:tab/></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p>\
        </w:tc></w:tr></w:tbl></w:body></w:document>";
    run("docx", "a.docx", &[docx.as_bytes().to_vec()], |input| {
        make::zip(&[
            ("[Content_Types].xml", TYPES),
            ("_rels/.rels", &relation("word/document.xml")),
            ("word/document.xml", input),
            ("word/footnotes.xml", input),
        ])
    });
    let sheet = "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData><row r=\"1\"><c r=\"A1\" \
        t=\"inlineStr\"><is><t>text</t></is></c><c r=\"B1\"><v>1.5</v></c><c r=\"C1\" t=\"s\"><v>0</v></c></row></sheetData>\
        </worksheet>";
    let workbook = b"<workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
        xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets>\
        <sheet name=\"S\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";
    let strings =
        b"<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>shared</t></si></sst>";
    run("xlsx", "a.xlsx", &[sheet.as_bytes().to_vec(), strings.to_vec()], |input| {
        make::zip(&[
            ("[Content_Types].xml", TYPES),
            ("_rels/.rels", &relation("xl/workbook.xml")),
            ("xl/workbook.xml", workbook),
            ("xl/_rels/workbook.xml.rels", &relation("worksheets/sheet1.xml")),
            ("xl/worksheets/sheet1.xml", input),
            ("xl/sharedStrings.xml", if input.starts_with(b"<sst") { input } else { strings }),
        ])
    });
    let odt = "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
        xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><office:body><office:text><text:h>head</text:h>\
        <text:p>one<text:s text:c=\"3\"/>two<text:tab/></text:p></office:text></office:body></office:document-content>";
    run("odt", "a.odt", &[odt.as_bytes().to_vec()], |input| {
        make::zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", input)])
    });
}

#[test]
fn any_archive_is_read_or_refused() {
    let members: [(&str, &[u8]); 3] =
        [("a.txt", b"first"), ("b/c.txt", b"second second second"), ("d.html", b"<p>third</p>")];
    let (zip, tar, seven) = (make::zip(&members), make::tar(&members), make::seven_zip(&members));
    plain("zip", "a.zip", &[&zip]);
    plain("tar", "a.tar", &[&tar]);
    plain("7z", "a.7z", &[&seven]);
    plain("compressed", "a.tgz", &[&make::gzip(&tar), &make::bzip2(&tar), &make::xz(&tar), &make::zstd(&tar)]);
    // Damage inside of what was unpacked without an error.
    run("tar-inside", "a.tar.gz", &[tar], make::gzip);
}

#[test]
fn any_pdf_is_read_or_refused() {
    let stream = "BT /F1 12 Tf 72 712 Td (one two) Tj [(th) -20 (ree)] TJ ET";
    let pdf = format!(
        "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n\
         3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>\nendobj\n\
         4 0 obj\n<< /Length {} >>\nstream\n{stream}\nendstream\nendobj\n5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica \
         /Encoding /WinAnsiEncoding >>\nendobj\ntrailer\n<< /Root 1 0 R /Size 6 >>\n%%EOF\n",
        stream.len()
    );
    plain("pdf", "a.pdf", &[pdf.as_bytes()]);
}

#[test]
fn any_mail_page_or_text_is_read_or_refused() {
    let mail: &[u8] = b"From: a@example.com\r\nSubject: =?utf-8?B?w6Q=?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; \
        boundary=x\r\n\r\n--x\r\nContent-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
        <b>h=E9llo</b>=\r\n\r\n--x\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\
        Content-Disposition: attachment; filename=\"a.txt\"\r\n\r\naGVsbG8=\r\n--x\r\nContent-Type: message/rfc822\r\n\r\n\
        Subject: inner\r\n\r\nbody\r\n--x--\r\n";
    let mbox = [
        b"From a@example.com Thu Jan  1 00:00:00 2026\n",
        mail,
        b"\nFrom b@example.com Thu Jan  1 00:00:00 2026\n",
        mail,
    ]
    .concat();
    plain("mail", "a.eml", &[mail]);
    plain("mbox", "a.mbox", &[&mbox]);
    plain(
        "html",
        "a.html",
        &[b"<!doctype html><html><head><title>t</title><style>x</style><meta charset=utf-8></head><body><p>a\
        &amp;&#x41;<table><tr><td>b</table><script>c</script><!-- d --></body>"],
    );
    plain(
        "rtf",
        "a.rtf",
        &[b"{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}\\f0 one\\par two\\'e9\\u228?\\tab{\\*\\x y}\\bin3 abc}"],
    );
    plain("text", "a.txt", &[b"one\ntwo\r\n", &[0xff, 0xfe, b'a', 0, b'\n', 0], "\u{feff}\u{e4}\u{1f600}".as_bytes()]);
    let tiff = [
        b"II*\0\x08\0\0\0\x03\0",
        &[0, 1, 3, 0, 1, 0, 0, 0, 4, 0, 0, 0][..],
        &[1, 1, 3, 0, 1, 0, 0, 0, 4, 0, 0, 0],
        &[17, 1, 4, 0, 1, 0, 0, 0, 8, 0, 0, 0],
        &[0; 4],
    ]
    .concat();
    plain("tiff", "a.tif", &[&tiff]);
    let mut old = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    old.resize(1536, 0);
    plain("old-office", "a.doc", &[&old]);
}

/// Damage inside of the streams of compound files, which hold what programs wrote before 2007 and what Outlook saves.
#[test]
fn any_document_of_before_2007_is_read_or_refused() {
    let [document, table] = make::word_streams(b"one \x13 PAGE \x14two\x15\rthree\x07\x07\r");
    let whole = make::compound(&[("WordDocument", &document), ("0Table", &table)]);
    plain("doc", "a.doc", &[&whole]);
    run("doc-streams", "a.doc", &[[&document[..], &table].concat()], |input| {
        let (document, table) = input.split_at(input.len().min(document.len()));
        make::compound(&[("WordDocument", document), ("0Table", table)])
    });
}

#[test]
fn any_workbook_or_presentation_of_before_2007_is_read_or_refused() {
    let workbook = make::workbook_stream();
    run("xls", "a.xls", &[workbook], |input| make::compound(&[("Workbook", input)]));
    let record = |first: u16, kind: u16, body: &[u8]| {
        let length = u32::try_from(body.len()).unwrap().to_le_bytes();
        [&first.to_le_bytes()[..], &kind.to_le_bytes(), &length, body].concat()
    };
    let numbers = |all: &[u32]| all.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let words = [record(0, 0x0F9F, &[0; 4]), record(0, 0x0FA8, b"words*"), record(0, 0x0FD8, &numbers(&[5]))].concat();
    let drawing = record(0xF, 0x040C, &record(0xF, 0xF002, &record(0xF, 0xF00D, &words)));
    let slide = record(0xF, 0x03EE, &drawing);
    let listed = [record(0, 0x03F3, &numbers(&[2, 0, 0, 256, 0])), words].concat();
    let document = record(0xF, 0x03E8, &record(0xF, 0x0FF0, &listed));
    let directory_at = u32::try_from(slide.len() + document.len()).unwrap();
    let directory = record(0, 0x1772, &numbers(&[1 | 2 << 20, u32::try_from(slide.len()).unwrap(), 0]));
    let edit_at = directory_at + u32::try_from(directory.len()).unwrap();
    let edit = record(0, 0x0FF5, &numbers(&[0, 0, 0, directory_at, 1]));
    let user = record(0, 0x0FF6, &numbers(&[20, 0xE391_C05F, edit_at]));
    run("ppt", "a.ppt", &[[slide, document, directory, edit].concat()], |input| {
        make::compound(&[("PowerPoint Document", input), ("Current User", &user)])
    });
}

#[test]
fn any_message_of_outlook_is_read_or_refused() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let rtf = [
        &[0, 0, 0, 0, 13, 0, 0, 0][..],
        b"LZFu\0\0\0\0\x03\0\x0A\0rcpg125B2\x0A\xF3 hel\x09\0 bw\x05\xB0ld}\x0A\x80\x0F\xA0",
    ]
    .concat();
    run("msg", "a.msg", &[rtf], |input| {
        make::compound(&[
            ("__properties_version1.0", input),
            ("__substg1.0_0037001F", &wide("subject")),
            ("__substg1.0_007D001F", input),
            ("__substg1.0_10090102", input),
            ("__recip_version1.0_#00000000/__substg1.0_3001001E", input),
            ("__attach_version1.0_#00000000/__substg1.0_37010102", input),
            ("__attach_version1.0_#00000001/__substg1.0_3701000D/__properties_version1.0", input),
        ])
    });
    let attribute = |id: u32, value: &[u8]| {
        let length = u32::try_from(value.len()).unwrap().to_le_bytes();
        [&[1][..], &id.to_le_bytes(), &length, value, &[0, 0]].concat()
    };
    let properties = b"\x02\0\0\0\x1E\0\x00\x10\x01\0\0\0\x04\0\0\0body\x03\0\xFD\x3F\xE4\x04\0\0";
    let tnef = [
        b"\x78\x9F\x3E\x22\0\0".to_vec(),
        attribute(0x0001_8004, b"subject\0"),
        attribute(0x0006_9003, properties),
        attribute(0x0006_9004, &[&[1, 0, 0, 0][..], properties].concat()),
        attribute(0x0006_9002, &[0; 14]),
        attribute(0x0006_800F, b"attached"),
        attribute(0x0006_9005, properties),
    ]
    .concat();
    plain("tnef", "winmail.dat", &[&tnef]);
    plain("pst", "a.pst", &[&[b"!BDN\0\0\0\0SM\x17\0\x13\0\x01\x01".as_slice(), &[0; 600]].concat()]);
}

/// What a child answers is read like what a stranger sends.
#[test]
fn any_stream_of_parts_is_read_or_refused() {
    let mut valid = Vec::new();
    let bytes = make::zip(&[("a.txt", b"first"), ("b.txt", b"second")]);
    cognate_view::walk(crate::reader::file(&bytes), Some("a.zip"), &Limits::default(), &mut valid).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/parts");
    cognate_fuzzing::run("parts", &corpus, &[valid], |input| {
        let mut parts = Parts::new(input);
        let mut answer = String::new();
        loop {
            match parts.next_part() {
                Ok(Some(head)) => {
                    answer.push_str(&format!("{:?} ", head.kind));
                    let read = std::io::copy(&mut parts, &mut std::io::sink()).and_then(|_| parts.outcome());
                    match read {
                        Ok(end) => answer.push_str(&format!("{:?} ", end.outcome)),
                        Err(error) => return answer + &error.to_string(),
                    }
                }
                Ok(None) => return answer + "the end",
                Err(error) => return answer + &error.to_string(),
            }
        }
    });
}
