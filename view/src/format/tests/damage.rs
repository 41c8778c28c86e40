//! Documents of every kind, damaged in any way: each is read or refused with a reason, and always alike.

use proptest::prelude::*;

use super::{members_of, zip_of};
use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

/// A document, or its text before it is packed.
struct Sample {
    kind: Kind,
    /// Bytes that are damaged: those of the document, or of one part of it.
    bytes: &'static [u8],
    /// The document around the bytes.
    around: fn(&[u8]) -> Vec<u8>,
}

const RELATIONS: &[u8] = b"<Relationships><Relationship Id='a' Type='x/worksheet' Target='worksheets/s.xml'/>\
    <Relationship Id='s' Type='x/sharedStrings' Target='s.xml'/></Relationships>";
const SLIDES: &[u8] = b"<Relationships><Relationship Id='a' Type='x/slide' Target='s.xml'/></Relationships>";

fn itself(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

fn samples() -> [Sample; 11] {
    let sample = |kind, bytes: &'static [u8], around| Sample { kind, bytes, around };
    [
        sample(Kind::Text, b"plain text\n\nGr\xC3\xBC\xC3\x9Fe \xEF\xBB\xBF\n", itself),
        sample(Kind::Html, b"<html><head><meta charset=utf-8></head><body><p hidden>x<p>a&amp;b<br><b>c</b></body>", itself),
        sample(Kind::Rtf, b"{\\rtf1{\\fonttbl{\\f0\\fcharset204 A;}}\\f0\\uc2 a\\'cf\\u-10179??\\u-8704??\\par{\\*\\x b}\\bin3 abc d}", itself),
        sample(
            Kind::Mail,
            b"From: a@b\r\nTo: c@d\r\nSubject: =?utf-8?Q?x=C3=BC?=\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n\
              --q\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n--q\r\nContent-Disposition: attachment; \
              filename=f.txt\r\n\r\nfile\r\n--q--\r\n",
            itself,
        ),
        sample(Kind::Mbox, b"From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\nHello\n>From me\n\nFrom c@d Tue Jan  2 00:00:00 2024\n\nBye\n", itself),
        sample(
            Kind::Docx,
            b"<w:document><w:body><w:p><w:r><w:t>a</w:t><w:tab/><w:sym w:char='2022'/></w:r><w:del><w:r><w:t>x</w:t></w:r></w:del>\
              </w:p><mc:AlternateContent><mc:Choice><w:txbxContent><w:p/></w:txbxContent></mc:Choice><mc:Fallback/>\
              </mc:AlternateContent></w:body></w:document>",
            |xml| zip_of(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", xml)]),
        ),
        sample(Kind::Xlsx, b"<worksheet><row><c t='s'><v>0</v></c><c t='b'><v>1</v></c></row></worksheet>", |xml| {
            let book = b"<workbook><sheet name='n' r:id='a'/></workbook>";
            let shared = b"<sst><si><t>zero</t></si></sst>";
            let relations = ("xl/_rels/workbook.xml.rels", RELATIONS);
            zip_of(&[("xl/workbook.xml", book), relations, ("xl/s.xml", shared), ("xl/worksheets/s.xml", xml)])
        }),
        sample(Kind::Xlsx, b"<sst><si><t>zero</t><rPh><t>x</t></rPh></si><si><r><t>one</t></r></si></sst>", |xml| {
            let book = b"<workbook><sheet name='n' r:id='a'/></workbook>";
            let sheet = b"<worksheet><row><c t='s'><v>1</v></c><c t='s'><v>0</v></c></row></worksheet>";
            let relations = ("xl/_rels/workbook.xml.rels", RELATIONS);
            zip_of(&[("xl/workbook.xml", book), relations, ("xl/s.xml", xml), ("xl/worksheets/s.xml", sheet)])
        }),
        sample(Kind::Pptx, b"<p:presentation><p:sldId id='256' r:id='a'/></p:presentation>", |xml| {
            let slide = b"<p:sld><a:p><a:r><a:t>words</a:t></a:r></a:p></p:sld>";
            zip_of(&[("ppt/presentation.xml", xml), ("ppt/_rels/presentation.xml.rels", SLIDES), ("ppt/s.xml", slide)])
        }),
        sample(
            Kind::OpenDocument,
            b"<office:document-content><office:body><text:h>H</text:h><text:p>a<text:s/><text:note><text:p>n</text:p>\
              </text:note></text:p></office:body></office:document-content>",
            |xml| zip_of(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", xml)]),
        ),
        sample(
            Kind::Pdf,
            b"BT /F 12 Tf 14 TL 50 700 Td (one) Tj T* [(tw) -20 (o)] TJ ET q 2 0 0 2 0 0 cm /X Do Q /OC /L BDC EMC",
            |content| {
                let head = "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Count 1/Kids[3 0 R]>>\n\
                            endobj\n3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<<>>>>\nendobj\n";
                let length = format!("4 0 obj\n<</Length {}>>stream\n", content.len());
                [head.as_bytes(), length.as_bytes(), content, b"\nendstream\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"].concat()
            },
        ),
    ]
}

/// A change of bytes.
#[derive(Clone, Debug)]
enum Damage {
    Overwrite(Vec<u8>),
    Insert(Vec<u8>),
    Remove(usize),
    Repeat(usize, usize),
    Cut,
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>, at: &prop::sample::Index) {
        let at = at.index(bytes.len() + 1);
        let until = |length: usize| (at + length).min(bytes.len());
        match self {
            Damage::Overwrite(with) => drop(bytes.splice(at..until(with.len()), with.iter().copied())),
            Damage::Insert(more) => drop(bytes.splice(at..at, more.iter().copied())),
            Damage::Remove(length) => drop(bytes.drain(at..until(*length))),
            Damage::Repeat(length, times) => {
                let piece = bytes[at..until(*length)].repeat(*times);
                bytes.splice(at..at, piece);
            }
            Damage::Cut => bytes.truncate(at),
        }
    }
}

/// Marks that mean something in one of the formats.
const MARKS: [&str; 18] = [
    "<", ">", "</", "/>", "&#x0;", "&", "\\", "{", "}", "\\u-1", "\\uc9", "\r\n\r\n", "--q", "=", " 0 R", "(", ")",
    "\0",
];

/// Marks, numbers, and bytes that mean nothing.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(&MARKS[..]).prop_map(|mark| mark.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..5),
        "-?[0-9]{1,20}".prop_map(String::into_bytes),
    ]
}

fn damage() -> impl Strategy<Value = (prop::sample::Index, Damage)> {
    let damage = prop_oneof![
        4 => pieces().prop_map(Damage::Overwrite),
        4 => pieces().prop_map(Damage::Insert),
        2 => (1..30_usize).prop_map(Damage::Remove),
        2 => (1..30_usize, 1..300_usize).prop_map(|(length, times)| Damage::Repeat(length, times)),
        1 => Just(Damage::Cut),
    ];
    (any::<prop::sample::Index>(), damage)
}

#[test]
fn every_sample_is_read() {
    for Sample { kind, bytes, around } in samples() {
        let text = text_of(kind, &around(bytes)).expect("a readable document");
        assert_eq!(text.is_empty(), kind == Kind::Mbox, "{kind:?}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_document_is_read_or_refused_and_always_alike(damages in prop::collection::vec(damage(), 1..4)) {
        for Sample { kind, bytes, around } in samples() {
            let mut bytes = bytes.to_vec();
            for (at, damage) in &damages {
                damage.apply(&mut bytes, at);
            }
            let document = around(&bytes);
            let text = text_of(kind, &document);
            prop_assert_eq!(&text_of(kind, &document), &text, "{:?}", kind);
            if let Ok(text) = text {
                prop_assert!(text.lines().all(|line| !line.trim().is_empty()), "{kind:?}: an empty paragraph in {text:?}");
            }
            let _ = members_of(kind, &document);
        }
    }

    #[test]
    fn bytes_of_one_kind_are_refused_or_read_as_any_other(damages in prop::collection::vec(damage(), 0..2)) {
        for Sample { bytes, around, .. } in samples() {
            let mut bytes = bytes.to_vec();
            damages.iter().for_each(|(at, damage)| damage.apply(&mut bytes, at));
            let document = around(&bytes);
            for kind in samples().map(|sample| sample.kind).into_iter().chain([Kind::Tiff, Kind::Png, Kind::Jpeg, Kind::OldOffice]) {
                match text_of(kind, &document) {
                    Ok(_) | Err(Reason::Damaged | Reason::Unsupported | Reason::Encrypted) => {}
                    Err(reason) => prop_assert!(reason == Reason::TooDeep, "{:?}: {reason}", kind),
                }
            }
        }
    }
}
