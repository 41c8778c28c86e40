//! What a page does not draw by itself, or draws as something else: fields, texts of marked content, attached files, and
//! letters that are not known.

use std::io::Cursor;

use super::*;
use crate::format::members;

/// A document with a form: an entry of the form, a content, and annotations from number 6 on.
fn form(entry: &str, content: &str, fields: &[String]) -> Vec<u8> {
    let references: String = (0..fields.len()).map(|at| format!("{} 0 R ", 6 + at)).collect();
    let document = page(content, "/Font<</F 3 0 R>>", &format!("/Annots[{references}]"), fields);
    let document = String::from_utf8(document).unwrap();
    document.replacen("/Pages 2 0 R", &format!("/Pages 2 0 R/AcroForm<<{entry}>>"), 1).into_bytes()
}

#[test]
fn the_values_of_fields_are_read_where_the_document_does_not_draw_them() {
    let drawing = "/Subtype/Form/BBox[0 0 99 20]/Resources<</Font<</F 3 0 R>>>>";
    let field = |more: &str| format!("<</Subtype/Widget/Rect[50 500 150 520]{more}>>");
    let with = |drawn: &str| stream(drawing, &format!("BT /F 9 Tf ({drawn}) Tj ET"));
    let cases = [
        ("", field("/FT/Tx/V(Anna)"), "Anna"),
        ("", field("/FT/Tx/V<FEFF00C400E9>"), "Äé"),
        ("", field("/FT/Tx/V(two\\rlines)"), "two lines"),
        ("", field("/Parent<</FT/Tx/V(above)>>"), "above"),
        ("", field("/FT/Ch/V(nl)/Opt[[(de)(Germany)][(nl)(Netherlands)]]"), "Netherlands"),
        ("", field("/FT/Ch/V[(a)(b)]/Opt[(a)(b)(c)]"), "a b"),
        ("", field("/FT/Btn/V/Yes"), ""),
        ("", field("/FT/Tx/V(hidden)/F 2"), ""),
        ("", field("/FT/Tx/V(new)/AP<</N 7 0 R>>"), "old"),
        ("/NeedAppearances true", field("/FT/Tx/V(new)/AP<</N 7 0 R>>"), "new"),
        ("", field("/FT/Tx/V(new)/AP<</N 8 0 R>>"), "new"),
        ("", "<</Subtype/Widget/FT/Tx/V(nowhere)>>".to_owned(), ""),
    ];
    for (entry, field, wanted) in cases {
        let document = form(entry, "", &[field.clone(), with("old"), with("")]);
        assert_eq!(text_of(Kind::Pdf, &document).as_deref(), Ok(wanted), "{entry} {field}");
    }
}

#[test]
fn a_field_that_is_above_itself_ends() {
    let document = form("", "", &["<</Subtype/Widget/Rect[1 1 2 2]/Parent 6 0 R>>".to_owned()]);
    assert_eq!(text_of(Kind::Pdf, &document).as_deref(), Ok(""));
}

#[test]
fn the_text_that_marked_content_stands_for_is_read_instead_of_it() {
    let text = |marks: &str| format!("BT /F 12 Tf 50 700 Td {marks} ET");
    for (content, wanted) in [
        ("(plain ) Tj /Span <</ActualText(final)>> BDC (XXXXX) Tj EMC ( tail) Tj", "plain final tail"),
        ("/Span <</ActualText<FEFF00E9>>> BDC (e) Tj EMC", "é"),
        ("/Span /P BDC (x) Tj EMC", "named"),
        ("/Span <</ActualText(out)>> BDC (a) Tj /Span <</ActualText(in)>> BDC (b) Tj EMC (c) Tj EMC", "out"),
        ("/Span <</ActualText(nothing is drawn)>> BDC EMC (a) Tj", "a"),
        ("EMC (a) Tj", "a"),
    ] {
        let found = drawn(&text(content), "/Properties<</P<</ActualText(named)>>>>", "", &[OFF, "null"]);
        assert_eq!(found.as_deref(), Ok(wanted), "{content}");
    }
}

#[test]
fn files_that_are_attached_are_visited_once_each_by_their_names() {
    let file = |more: &str| format!("<</Type/Filespec{more}>>");
    let objects = [
        "null".to_owned(),
        file("/F(old)/UF<FEFF00E9002E007400780074>/EF<</F 9 0 R>>"),
        file("/F(C:\\\\folder\\\\b.txt)/EF<</F 10 0 R>>"),
        stream("", "first"),
        stream("", "second"),
        "<</Subtype/FileAttachment/FS 8 0 R>>".to_owned(),
        "<</Subtype/FileAttachment/FS<</EF<</F 13 0 R>>>>>>".to_owned(),
        stream("", "third"),
        "<</Subtype/FileAttachment/FS(elsewhere.txt)>>".to_owned(),
    ];
    let document = page("", "", "/Annots[11 0 R 12 0 R 14 0 R]", &objects);
    let document = String::from_utf8(document).unwrap();
    let names = "/Pages 2 0 R/Names<</EmbeddedFiles<</Kids[<</Names[(a)7 0 R(b)8 0 R]>>]>>>>";
    let document = document.replacen("/Pages 2 0 R", names, 1).into_bytes();
    let mut found = Vec::new();
    members(Kind::Pdf, &mut Cursor::new(document), &mut |name, content| {
        let mut text = String::new();
        std::io::Read::read_to_string(content, &mut text).unwrap();
        found.push(format!("{name}: {text}"));
        Ok(())
    })
    .unwrap();
    assert_eq!(found, ["é.txt: first", "b.txt: second", "3: third"]);
}

#[test]
fn letters_of_a_collection_are_known_whether_the_font_is_in_the_document_or_not() {
    for (collection, wanted) in [("Japan1", "一壱"), ("GB1", "查碴"), ("CNS1", "扯折"), ("Korea1", "굘굡")] {
        for program in ["", "/FontDescriptor<</FontFile3 8 0 R>>"] {
            let font = format!(
                "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype\
                 /CIDFontType0/BaseFont/X{program}/CIDSystemInfo<</Registry(Adobe)/Ordering({collection})>>>>]>>"
            );
            let content = "BT /G 12 Tf 50 700 Td <04B004B1> Tj ET";
            let found = drawn(content, "", "", &[OFF, &font, &stream("/Subtype/CIDFontType0C", "\u{1}\0\u{4}\u{1}")]);
            assert_eq!(found.as_deref(), Ok(wanted), "{collection} {program}");
        }
    }
}

#[test]
fn a_page_of_unknown_letters_is_lost_and_a_few_unknown_signs_are_not() {
    let unknown = "<</Type/Font/Subtype/Type3/FontMatrix[0.01 0 0 0.01 0 0]/FirstChar 1/LastChar 1/Widths[50]/CharProcs\
                   <<>>/Encoding<</Differences[1/shape]>>>>";
    for (known, signs, wanted) in [
        ("words and more words", 1, Ok(())),
        ("words and more words", 8, Ok(())),
        ("words and more words", 9, Err(Reason::Unsupported)),
        ("few", 4, Err(Reason::Unsupported)),
        ("few", 3, Ok(())),
    ] {
        let content = format!("BT /F 12 Tf 50 700 Td ({known}) Tj /G 12 Tf <{}> Tj ET", "01".repeat(signs));
        let found = drawn(&content, "", "", &[OFF, unknown]).map(drop);
        assert_eq!(found, wanted, "{known} {signs}");
    }
}
