mod unseen;

use crate::kind::Kind;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::tests::{CollectedPages, text_of};

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
/// number 6 on. Number 3 is Helvetica, and 6 is a layer that is off.
fn page(content: &str, resources: &str, more: &str, objects: &[String]) -> Vec<u8> {
    page_with_layers("/OFF[6 0 R]", content, resources, more, objects)
}

/// As [`page`], with another configuration of the layers 6 and 8.
fn page_with_layers(layers: &str, content: &str, resources: &str, more: &str, objects: &[String]) -> Vec<u8> {
    let mut all = vec![
        format!("<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[6 0 R 8 0 R]/D<<{layers}>>>>>>"),
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
    let numbers = "begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0041> <0041> endbfchar \
                   1 begincidrange <4e00> <4eff> 19968 endcidrange endcmap";
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
        // Numbers of characters in the place of letters, and the name of a map instead of one.
        (composite("/Encoding/Identity-H/ToUnicode 9 0 R"), "<00414E2D>", Ok("A中")),
        (composite("/Encoding/Identity-H/ToUnicode/Identity-H"), "<00414E2D>", Ok("A中")),
        (simple("/FontDescriptor<</FontFile2 10 0 R>>"), "<E4E8>", Ok("äè")),
        ("<</Type/Font/Subtype/Type1/BaseFont/Symbol>>".to_owned(), "<61>", Ok("α")),
        (of("/Subtype/Unknown"), "(a substitute)", Ok("a substitute")),
        (of("/Subtype/Unknown"), "<FE>", Ok("")),
    ];
    for (font, text, wanted) in cases {
        let objects = [
            font.clone(),
            stream("", map),
            stream("", wide),
            stream("", numbers),
            stream("", "\0\u{1}\0\0\0\0\0\0\0\0\0\0"),
        ];
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

/// The text of a page whose resources have Helvetica as F, with more objects from number 6 on.
fn drawn(content: &str, resources: &str, more: &str, objects: &[&str]) -> Result<String, Reason> {
    let objects: Vec<String> = objects.iter().map(|object| (*object).to_owned()).collect();
    text_of(Kind::Pdf, &page(content, &format!("/Font<</F 3 0 R/G 7 0 R>>{resources}"), more, &objects))
}

const OFF: &str = "<</Type/OCG/Name(off)>>";
const ON: &str = "<</Type/OCG/Name(on)>>";

#[test]
fn marked_content_is_shown_by_the_layers_that_it_depends_on() {
    // The layer 6 is off, and 8 is on.
    for (layer, is_shown) in [
        (OFF.to_owned(), true),
        ("<</Type/OCMD/OCGs 6 0 R>>".to_owned(), false),
        ("<</Type/OCMD/OCGs 8 0 R>>".to_owned(), true),
        ("<</Type/OCMD/OCGs[]>>".to_owned(), true),
        ("<</Type/OCMD>>".to_owned(), true),
        ("<</Type/OCMD/OCGs[6 0 R 8 0 R]>>".to_owned(), true),
        ("<</Type/OCMD/OCGs[6 0 R 8 0 R]/P/AnyOn>>".to_owned(), true),
        ("<</Type/OCMD/OCGs[6 0 R 8 0 R]/P/AllOn>>".to_owned(), false),
        ("<</Type/OCMD/OCGs[6 0 R 8 0 R]/P/AnyOff>>".to_owned(), true),
        ("<</Type/OCMD/OCGs[6 0 R 8 0 R]/P/AllOff>>".to_owned(), false),
        ("<</Type/OCMD/OCGs[6 0 R]/P/AllOff>>".to_owned(), true),
        ("<</Type/OCMD/OCGs[8 0 R]/P/AnyOff>>".to_owned(), false),
    ] {
        let content = "/OC /L BDC BT /F 12 Tf 50 700 Td (x) Tj ET EMC BT /F 12 Tf 50 600 Td (always) Tj ET";
        let text = drawn(content, "/Properties<</L 9 0 R>>", "", &[OFF, "null", ON, &layer]);
        assert_eq!(text.as_deref(), Ok(if is_shown { "x\nalways" } else { "always" }), "{layer}");
    }
}

#[test]
fn content_within_hidden_content_is_hidden_until_that_ends() {
    let text = |marks: &str| format!("BT /F 12 Tf 50 700 Td {marks} ET");
    for (content, wanted) in [
        ("/OC /L BDC (x) Tj /P BMC (x) Tj EMC (x) Tj EMC (a) Tj", "a"),
        ("/P BMC (a) Tj /OC /L BDC (x) Tj EMC (b) Tj EMC", "a b"),
        ("/OC /L BDC /OC /M BDC (x) Tj EMC EMC (a) Tj", "a"),
        ("EMC EMC (a) Tj", "a"),
        ("/OC /Unknown BDC (a) Tj EMC", "a"),
        ("/P <</MCID 7>> BDC (a) Tj EMC", "a"),
        ("/OC /L BDC (x) Tj", ""),
    ] {
        let found = drawn(&text(content), "/Properties<</L 6 0 R/M 8 0 R>>", "", &[OFF, "null", ON]);
        assert_eq!(found.as_deref(), Ok(wanted), "{content}");
    }
}

#[test]
fn layers_may_be_off_unless_they_are_on() {
    let content = "BT /F 12 Tf 50 700 Td /OC /L BDC (l) Tj EMC /OC /M BDC (m) Tj EMC ET";
    for (configuration, wanted) in [
        ("/BaseState/OFF", ""),
        ("/BaseState/OFF/ON[8 0 R]", "m"),
        ("/BaseState/OFF/ON[6 0 R 8 0 R]/OFF[8 0 R]", "l"),
        ("/BaseState/ON", "lm"),
        ("/OFF[6 0 R 6 0 R 99 0 R 7]", "m"),
        ("", "lm"),
    ] {
        let objects = [OFF, "null", ON].map(str::to_owned);
        let resources = "/Font<</F 3 0 R>>/Properties<</L 6 0 R/M 8 0 R>>";
        let document = page_with_layers(configuration, content, resources, "", &objects);
        assert_eq!(text_of(Kind::Pdf, &document).as_deref(), Ok(wanted), "{configuration}");
    }
}

#[test]
fn an_annotation_is_read_in_its_present_state_and_only_where_it_has_a_place() {
    let form = |text: &str| {
        stream("/Subtype/Form/BBox[0 0 99 20]/Resources<</Font<</F 3 0 R>>>>", &format!("BT /F 9 Tf ({text}) Tj ET"))
    };
    let (yes, off) = (form("yes"), form("off"));
    let flat = yes.replace("0 0 99 20", "0 0 0 0");
    for (annotation, wanted) in [
        ("/Rect[0 0 99 20]/AP<</N 8 0 R>>", "yes"),
        ("/Rect[0 0 99 20]/F 4/AP<</N 8 0 R>>", "yes"),
        ("/Rect[0 0 99 20]/F 2/AP<</N 8 0 R>>", ""),
        ("/Rect[0 0 99 20]/F 32/AP<</N 8 0 R>>", ""),
        ("/Rect[0 0 99 20]/AS/Yes/AP<</N<</Yes 8 0 R/Off 9 0 R>>>>", "yes"),
        ("/Rect[0 0 99 20]/AS/Off/AP<</N<</Yes 8 0 R/Off 9 0 R>>>>", "off"),
        ("/Rect[0 0 99 20]/AS/Other/AP<</N<</Yes 8 0 R/Off 9 0 R>>>>", "off"),
        ("/Rect[0 0 99 20]/AP<</N<</Yes 8 0 R>>>>", ""),
        ("/Rect[0 0 99 20]/AP<</N 7>>", ""),
        ("/Rect[0 0 99 20]/AP<</D 8 0 R>>", ""),
        ("/AP<</N 8 0 R>>", ""),
        ("", ""),
    ] {
        let annotation = format!("<</Subtype/Stamp{annotation}>>");
        let text = drawn("", "", "/Annots[7 0 R 77 0 R 5]", &[OFF, &annotation, &yes, &off]);
        assert_eq!(text.as_deref(), Ok(wanted), "{annotation}");
    }
    // A form without extent has no place to be fitted into.
    let nowhere = [OFF, "<</Subtype/Stamp/Rect[0 0 99 20]/AP<</N 8 0 R>>>>", &flat];
    assert!(drawn("", "", "/Annots[7 0 R]", &nowhere).is_ok());
}

#[test]
fn a_font_and_its_size_come_from_the_operator_or_the_graphics_state_and_go_with_it() {
    for (content, wanted) in [
        ("BT 50 700 Td (no font) Tj ET", "no font"),
        ("BT /Missing 12 Tf 50 700 Td (no such font) Tj ET", "no such font"),
        ("BT /S gs 50 700 Td (by state) Tj ET", "by state"),
        ("BT /T gs /Nothing gs 50 700 Td (of no state) Tj ET", "of no state"),
        ("q /S gs Q Q Q BT 50 700 Td (restored) Tj ET", "restored"),
        ("BT /F 12 Tf 50 700 Td [(a) null [] /N (b)] TJ ET", "ab"),
    ] {
        let text = drawn(content, "/ExtGState<</S<</Font[3 0 R 12]>>/T<</Font[12]>>>>", "", &[]);
        assert_eq!(text.as_deref(), Ok(wanted), "{content}");
    }
}

#[test]
fn text_of_no_size_or_at_no_place_is_no_harm() {
    let far = "9".repeat(40);
    for content in [
        "BT /F 0 Tf 50 700 Td (x) Tj ET".to_owned(),
        "BT /F 12 Tf 0 0 0 0 0 0 Tm (x) Tj (y) Tj ET".to_owned(),
        format!("BT /F {far} Tf {far} 0 0 {far} {far} {far} Tm (x) Tj (y) Tj ET"),
        format!("{far} 0 0 {far} 0 0 cm {} BT /F 12 Tf (x) Tj ET", format!("{far} 0 0 {far} 0 0 cm ").repeat(9)),
        format!("BT /F 12 Tf [(x) -{far} (y) {far} (z)] TJ {far} Tc {far} Tw {far} Tz (x y) Tj ET"),
    ] {
        assert!(drawn(&content, "", "", &[]).is_ok(), "{content}");
    }
}

#[test]
fn widths_that_no_font_can_have_are_no_letters_and_no_harm() {
    let below = |more: &str| {
        format!(
            "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 8 0 R/DescendantFonts[<</Type/Font\
             /Subtype/CIDFontType2/BaseFont/X{more}>>]>>"
        )
    };
    let simple = |more: &str| format!("<</Type/Font/Subtype/TrueType/BaseFont/X/Encoding/WinAnsiEncoding{more}>>");
    let map = "begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0041> <005A> <0041> endbfrange endcmap";
    for (font, text) in [
        (below("/W[4294967295[500]]"), "<00410042>"),
        (below("/W[4294967294[500 600 700]]"), "<00410042>"),
        (below("/W[65[500 600]70 4294967295 500]"), "<00410042>"),
        (below("/W[99 1 500 65]"), "<00410042>"),
        (below("/W[65[]/X(y)]/DW -1000"), "<00410042>"),
        (below("/W2[4294967295[1 2 3 4 5 6]]"), "<00410042>"),
        (below("/W2[65[1 2]]").replace("Identity-H", "Identity-V"), "<00410042>"),
        (below("/W2[65 66 -500 250 800]").replace("Identity-H", "Identity-V"), "<00410042>"),
        (below("/W2[4294967295 4294967295 1 2 3]").replace("Identity-H", "Identity-V"), "<00410042>"),
        (simple("/FirstChar 0/LastChar 99999999999/Widths[1 2]"), "(AB)"),
        (simple("/FirstChar 300/LastChar 301/Widths[1 2]"), "(AB)"),
        (simple("/FirstChar -1/LastChar 255/Widths[1 2]"), "(AB)"),
        (simple("/FirstChar 66/LastChar 65/Widths[1 2]"), "(AB)"),
        (simple("/FirstChar 65/LastChar 66/Widths[/A(b)]"), "(AB)"),
    ] {
        let content = format!("BT /G 12 Tf 50 700 Td {text} Tj ET");
        let found = drawn(&content, "", "", &[OFF, &font, &stream("", map)]).expect("text");
        assert_eq!(found.replace([' ', '\n'], ""), "AB", "{font}");
    }
}

#[test]
fn codes_that_a_font_does_not_know_are_counted_and_too_many_make_the_text_unreadable() {
    let map = "begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <01> <0041> endbfchar endcmap";
    let font = "<</Type/Font/Subtype/Type3/FontMatrix[0.01 0 0 0.01 0 0]/FirstChar 1/LastChar 2/Widths[50 50]/CharProcs<<>>\
                /Encoding<</Differences[2/nonsense]>>/ToUnicode 8 0 R>>";
    for (text, wanted) in [
        ("<01>", Ok("A")),
        ("<0102>", Ok("A")),
        ("<010202>", Err(Reason::Unsupported)),
        ("<02>", Err(Reason::Unsupported)),
        ("<>", Ok("")),
    ] {
        let content = format!("BT /G 12 Tf 50 700 Td {text} Tj ET");
        assert_eq!(drawn(&content, "", "", &[OFF, font, &stream("", map)]).as_deref(), wanted.as_deref(), "{text}");
    }
}

#[test]
fn a_locked_document_is_encrypted_or_of_an_algorithm_that_is_not_read() {
    let locked = |encryption: &str| {
        let document = String::from_utf8(pdf(&["BT /F 12 Tf 50 700 Td (x) Tj ET"])).expect("ASCII");
        let id = "/ID[<00112233445566778899AABBCCDDEEFF><00112233445566778899AABBCCDDEEFF>]";
        let document =
            document.replace("/Root 1 0 R", &format!("/Root 1 0 R{id}/Encrypt<</Filter/Standard{encryption}>>"));
        text_of(Kind::Pdf, document.as_bytes())
    };
    let key = "00".repeat(32);
    let owner = format!("/O<{key}>/U<{key}>/P -4");
    assert_eq!(locked(&format!("/V 2/R 3/Length 128{owner}")), Err(Reason::Encrypted));
    assert_eq!(locked(&format!("/V 99/R 3{owner}")), Err(Reason::Unsupported));
    assert_eq!(locked("/V 2/R 3"), Err(Reason::Damaged));
}

/// Reads a page of 600 by 800 that draws pictures: X has 1200 by 1600 dots, Y twice as many, and Z is of no known kind.
fn pictures(content: &str, pictures_max: u32) -> (Result<(), Reason>, CollectedPages) {
    let image = |width: u32, filter: &str| {
        let bits = "/Subtype/Image/BitsPerComponent 8/ColorSpace/DeviceGray";
        stream(&format!("{bits}/Width {width}/Height 1600/Filter/{filter}"), &width.to_string())
    };
    let objects = [OFF.to_owned(), image(1200, "DCTDecode"), image(2400, "DCTDecode"), image(1200, "JBIG2Decode")];
    let document =
        page(content, "/Font<</F 3 0 R>>/XObject<</X 7 0 R/Y 8 0 R/Z 9 0 R>>/Properties<</L 6 0 R>>", "", &objects);
    let mut pages = CollectedPages { pictures_max, ..CollectedPages::default() };
    let read = super::extract(&mut std::io::Cursor::new(document.as_slice()), &mut pages);
    (read, pages)
}

#[test]
fn a_page_is_a_picture_if_pictures_cover_half_of_it_and_hardly_any_text_is_on_it() {
    let letters =
        |count: usize| format!("q 600 0 0 800 0 0 cm /X Do Q BT /F 1 Tf 50 700 Td ({}) Tj ET", "a".repeat(count));
    for (content, is_picture) in [
        ("q 600 0 0 800 0 0 cm /X Do Q".to_owned(), true),
        ("q 600 0 0 400 0 0 cm /X Do Q".to_owned(), true),
        ("q 600 0 0 399 0 0 cm /X Do Q".to_owned(), false),
        ("q 600 0 0 800 0 400 cm /X Do Q".to_owned(), true),
        ("q 600 0 0 800 0 401 cm /X Do Q".to_owned(), false),
        ("q -600 0 0 -800 600 800 cm /X Do Q".to_owned(), true),
        ("q 0 800 600 0 0 0 cm /X Do Q".to_owned(), true),
        ("q 600 0 0 200 0 0 cm /X Do Q q 600 0 0 200 0 600 cm /Y Do Q".to_owned(), true),
        ("q 600 0 0 200 0 0 cm /X Do /X Do Q".to_owned(), false),
        ("/OC /L BDC q 600 0 0 800 0 0 cm /X Do Q EMC".to_owned(), false),
        ("q 9999999999 0 0 9999999999 0 0 cm /X Do Q".to_owned(), true),
        ("/X Do".to_owned(), false),
        (letters(64), true),
        (letters(65), false),
    ] {
        let (read, pages) = pictures(&content, 0);
        assert_eq!((read, pages.are_pictures), (Ok(()), vec![is_picture]), "{content}");
        assert!(pages.files.is_empty(), "nobody asked for them");
    }
}

#[test]
fn pictures_are_handed_over_from_top_to_bottom_and_of_two_at_one_place_the_finer_one() {
    let files = |content: &str| {
        let (read, pages) = pictures(content, 1);
        read.expect("a page");
        pages.files.into_iter().map(|(file, dots)| (String::from_utf8(file).expect("digits"), dots)).collect::<Vec<_>>()
    };
    let of = |name: &str, dots| (name.to_owned(), dots);
    assert_eq!(files("q 600 0 0 800 0 0 cm /X Do /Y Do Q"), [of("2400", 216)]);
    assert_eq!(files("q 600 0 0 800 0 0 cm /Y Do /X Do Q"), [of("2400", 216)]);
    let halves = "q 600 0 0 400 0 0 cm /Y Do Q q 600 0 0 400 0 400 cm /X Do Q";
    assert_eq!(files(halves), [of("1200", 192), of("2400", 288)]);
    let specks = "q 600 0 0 800 0 0 cm /X Do Q q 9 0 0 9 0 0 cm /Y Do Q";
    assert_eq!(files(specks), [of("1200", 144)], "a speck is no part of a scan");
}

#[test]
fn a_picture_that_cannot_be_handed_over_fails_the_document_only_where_text_is_recognised() {
    let content = "q 600 0 0 800 0 0 cm /Z Do Q";
    assert_eq!(pictures(content, 0).0, Ok(()));
    assert_eq!(pictures(content, 1).0, Err(Reason::NotRecognised));
}

/// A source that only claims to be large.
struct Large(std::io::Cursor<Vec<u8>>);

impl std::io::Read for Large {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl std::io::Seek for Large {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

impl Source for Large {
    fn length_bytes(&self) -> u64 {
        super::DOCUMENT_BYTES_MAX + 1
    }
}

#[test]
fn a_document_that_is_too_large_is_refused_before_it_is_read() {
    let mut source = Large(std::io::Cursor::new(pdf(&["BT /F 12 Tf 50 700 Td (x) Tj ET"])));
    assert_eq!(super::extract(&mut source, &mut CollectedPages::default()), Err(Reason::TooLarge));
    assert_eq!(source.0.position(), 0);
}
