use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

/// A document with one page for each content.
fn pdf(contents: &[&str]) -> Vec<u8> {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
    let kids: String = (0..contents.len()).map(|at| format!("{} 0 R ", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", contents.len()),
        font.to_owned(),
    ];
    for (at, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {} 0 R/Resources<</Font<</F 3 0 R>>>>>>",
            5 + 2 * at
        ));
        objects.push(stream("", content));
    }
    file(&objects)
}

/// A document with one page: its content, what more its resources and its dictionary have, and more objects, from
/// number 6 on. Number 3 is Helvetica.
fn page(content: &str, resources: &str, more: &str, objects: &[String]) -> Vec<u8> {
    let mut all = vec![
        "<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[6 0 R]/D<</OFF[6 0 R]>>>>>>".to_owned(),
        "<</Type/Pages/Count 1/Kids[4 0 R]>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<<{resources}>>{more}>>"),
        stream("", content),
    ];
    all.extend_from_slice(objects);
    file(&all)
}

fn stream(dictionary: &str, content: &str) -> String {
    format!("<<{dictionary}/Length {}>>stream\n{content}\nendstream", content.len())
}

fn file(objects: &[String]) -> Vec<u8> {
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

fn check(contents: &[&str], wanted: &str) {
    let document = pdf(contents);
    assert_eq!(Kind::detect(&mut std::io::Cursor::new(&*document)).ok(), Some(Kind::Pdf));
    assert_eq!(text_of(Kind::Pdf, &document).as_deref(), Ok(wanted), "{contents:?}");
}

#[test]
fn words_lines_and_paragraphs_are_put_together() {
    check(
        &["BT /F 12 Tf 50 700 Td (Hello you) Tj 0 -14 Td (and me.) Tj 0 -40 Td (Next) Tj ET"],
        "Hello you and me.\nNext",
    );
    check(&["BT /F 12 Tf 50 700 Td [(Wo) 20 (rd) -500 (gap)] TJ ET"], "Word gap");
    check(&["BT /F 12 Tf 50 700 Td (E = mc) Tj 5 Ts /F 7 Tf (2) Tj ET"], "E = mc2");
}

#[test]
fn a_word_that_is_hyphenated_at_the_end_of_a_line_is_one_word() {
    check(
        &["BT /F 12 Tf 50 700 Td (docu-) Tj 0 -14 Td (ments of UTF-) Tj 0 -14 Td (8 are) Tj ET"],
        "documents of UTF- 8 are",
    );
    check(&["BT /F 12 Tf 50 700 Td (docu\\255) Tj 0 -14 Td (Ments) Tj ET"], "docuMents");
}

#[test]
fn pages_end_paragraphs_and_columns_are_read_one_after_the_other() {
    check(&["BT /F 12 Tf 50 700 Td (one) Tj ET", "BT /F 12 Tf 50 700 Td (two) Tj ET"], "one\ntwo");
    let columns = "BT /F 12 Tf 50 700 Td (a1) Tj 0 -14 Td (a2) Tj 300 14 Td (b1) Tj 0 -14 Td (b2) Tj ET";
    check(&[columns], "a1 a2\nb1 b2");
}

#[test]
fn characters_drawn_twice_to_look_bold_are_read_once() {
    check(&["BT /F 12 Tf 2 Tr 50 700 Td (bold) Tj ET"], "bold");
    check(&["BT /F 12 Tf 1 0 0 1 50 700 Tm (b) Tj 1 0 0 1 50.3 700 Tm (b) Tj ET"], "b");
}

#[test]
fn text_that_is_turned_is_read_in_its_own_direction() {
    check(&["BT /F 12 Tf 0 1 -1 0 100 100 Tm (up we) Tj ( go) Tj ET"], "up we go");
}

#[test]
fn pages_without_text_have_none_and_what_is_no_pdf_is_damaged() {
    check(&["0 0 m 10 10 l S"], "");
    assert_eq!(text_of(Kind::Pdf, b"%PDF-1.4\nnothing"), Err(Reason::Damaged));
}

#[test]
fn text_in_forms_and_annotations_is_read_where_it_is_shown() {
    let form = |text: &str, more: &str| {
        let content = format!("BT /F 12 Tf 0 0 Td ({text}) Tj ET");
        let own = "/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</F 3 0 R>>>>";
        stream(&format!("{own}{more}"), &content)
    };
    let hidden = "<</Type/OCG/Name(x)>>".to_owned();
    let objects = [
        hidden,
        form("form", ""),
        form("layer", "/OC 6 0 R"),
        "<</Subtype/Stamp/Rect[50 100 150 120]/AP<</N 10 0 R>>>>".to_owned(),
        form("note", ""),
        "<</Subtype/Stamp/Rect[50 50 150 70]/F 2/AP<</N 12 0 R>>>>".to_owned(),
        form("away", ""),
    ];
    let content = "q 1 0 0 1 50 700 cm /X Do Q q 1 0 0 1 50 600 cm /Y Do Q /OC /L BDC BT /F 12 Tf (hidden) Tj ET EMC";
    let resources = "/Font<</F 3 0 R>>/XObject<</X 7 0 R/Y 8 0 R>>/Properties<</L 6 0 R>>";
    let document = page(content, resources, "/Annots[9 0 R 11 0 R]", &objects);
    assert_eq!(text_of(Kind::Pdf, &document).as_deref(), Ok("form\nnote"));
}

#[test]
fn forms_in_forms_are_read_to_a_depth_and_one_that_draws_itself_ends() {
    let form = |next: usize| {
        let own = "/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F 3 0 R>>/XObject<</X ";
        stream(&format!("{own}{next} 0 R>>>>"), "BT /F 12 Tf (x) Tj ET q 1 0 0 1 100 0 cm /X Do Q")
    };
    let count = |objects: &[String]| {
        let document = page("/X Do", "/XObject<</X 7 0 R>>", "", objects);
        text_of(Kind::Pdf, &document).expect("text").matches('x').count()
    };
    let chain: Vec<String> = std::iter::once("<<>>".to_owned()).chain((8..70).map(form)).collect();
    assert_eq!(count(&chain), 50);
    assert_eq!(count(&["<<>>".to_owned(), form(7)]), 1);
}

#[test]
fn fonts_give_letters_by_maps_by_names_and_by_collections() {
    let map = "begincmap 1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfchar <01> <0058> <02> <00660069> \
               endbfchar endcmap";
    let wide = "begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <0003> <0061> \
                endbfrange endcmap";
    let of = |more: &str| format!("<</Type/Font/BaseFont/X{more}>>");
    let below = "/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/X/DW 500/W[1[600 700]]\
                 /CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>>>]";
    let composite = |more: &str| of(&format!("/Subtype/Type0{below}{more}"));
    let simple = |more: &str| of(&format!("/Subtype/TrueType/FirstChar 0/LastChar 3/Widths[500 500 500 500]{more}"));
    let drawn = "/Subtype/Type3/FontMatrix[0.01 0 0 0.01 0 0]/FirstChar 1/LastChar 1/Widths[50]/CharProcs<<>>";
    let cases = [
        (simple("/ToUnicode 7 0 R"), "<0102>", Ok("Xfi")),
        (simple("/Encoding<</Differences[1/alpha/f_i.x/u1040C]>>"), "<010203>", Ok("αfi𐐌")),
        (simple("/Encoding/MacRomanEncoding"), "<8E>", Ok("é")),
        (of(&format!("{drawn}/Encoding<</Differences[1/eacute]>>")), "<0101>", Ok("éé")),
        (composite("/Encoding/Identity-H/ToUnicode 8 0 R"), "<000100020003>", Ok("abc")),
        (composite("/Encoding/90ms-RKSJ-H"), "<82A0>", Ok("あ")),
        (composite("/Encoding/UniJIS-UTF16-H"), "<3042 65E5>", Ok("あ日")),
        (composite("/Encoding/Identity-H").replace("Japan1", "Identity"), "<0001>", Err(Reason::Unsupported)),
        ("<</Type/Font/Subtype/Type1/BaseFont/Symbol>>".to_owned(), "<61>", Ok("α")),
        (of("/Subtype/Unknown"), "(a substitute)", Ok("a substitute")),
        (of("/Subtype/Unknown"), "<FE>", Ok("")),
    ];
    for (font, text, wanted) in cases {
        let objects = [font.clone(), stream("", map), stream("", wide)];
        let document = page(&format!("BT /G 12 Tf 50 700 Td {text} Tj ET"), "/Font<</G 6 0 R>>", "", &objects);
        assert_eq!(text_of(Kind::Pdf, &document).as_deref(), wanted.as_deref(), "{font} {text}");
    }
}

#[test]
fn the_spaces_of_a_text_part_its_words() {
    check(&["BT /F 12 Tf 50 700 Td 6 Tc (ab) Tj ET"], "a b");
    check(&["BT /F 12 Tf 50 700 Td 95 Tz (ab) Tj ET"], "ab");
    check(&["BT /F 12 Tf 14 TL 50 700 Td (one) Tj (two) ' 0 0 (three) \" T* (four) Tj ET"], "one two three four");
    check(&["BT /F 12 Tf 50 700 Td (one) Tj 0 -14 TD (two) Tj T* (three) Tj ET"], "one two three");
}
