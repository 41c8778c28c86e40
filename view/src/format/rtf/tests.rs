use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

fn check(rtf: &str, wanted: &str) {
    let document = format!("{{\\rtf1\\ansi\\ansicpg1252 {rtf}}}");
    assert_eq!(text_of(Kind::Rtf, document.as_bytes()).as_deref(), Ok(wanted), "{rtf}");
}

#[test]
fn paragraphs_cells_and_characters_are_read() {
    check("one\\par two\\tab{\\b th}ree\\line four\\par", "one\ntwo three four");
    check("\\trowd a\\cell b\\cell\\row c", "a\nb\nc");
    check(
        "Gr\\'fc\\'dfe \\{x\\} \\\\ a\\~b c\\_d e\\-f \\endash \\ldblquote q\\rdblquote",
        "Grüße {x} \\ a b c-d ef –“q”",
    );
    check("line\r\nend", "lineend");
}

#[test]
fn characters_by_number_have_stand_ins_that_are_skipped() {
    check("\\u233?t\\u233\\'e9 \\u-10179?\\u-8704? \\uc0\\u8364 x\\uc2\\u228 ??y", "été 😀 €xäy");
    check("{\\uc0 \\u228}\\u228?", "ää");
}

#[test]
fn the_font_decides_on_the_encoding() {
    let fonts = "{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset204 Arial Cyr;}{\\f2\\fcharset128 Mincho;}}";
    check(&format!("{fonts}\\f0 \\'e9 {{\\f1 \\'cf\\'f0}} \\f2 \\'93\\'fa\\'96\\'7b \\f0\\'e9"), "é Пр 日本 é");
}

#[test]
fn groups_that_are_no_text_are_skipped() {
    for skipped in [
        "{\\stylesheet{\\s1 x;}}",
        "{\\info{\\title x}}",
        "{\\pict\\pngblip 0102}",
        "{\\*\\unknown x{x}}",
        "{\\field{\\*\\fldinst HYPERLINK x}{\\fldrslt b}}",
        "{\\v x}",
        "{\\deleted x}",
        "{\\listtext 1.\\tab}",
        "{\\bin5 }}{{\\}",
    ] {
        let wanted = if skipped.contains("fldrslt") { "abc" } else { "ac" };
        check(&format!("a{skipped}c"), wanted);
    }
    check("a{\\upr{x}{\\*\\ud{b}}}c", "abc");
    check("a{\\shp{\\*\\shpinst{\\sp{\\sn x}{\\sv x}}{\\shptxt box\\par}}}c\\par d", "ac\nbox\nd");
    check("{\\header head\\par}a{\\footnote note}b\\par c", "head\nab\nnote\nc");
}

#[test]
fn a_truncated_document_is_damaged_and_depth_is_bounded() {
    assert_eq!(text_of(Kind::Rtf, b"{\\rtf1 a"), Err(Reason::Damaged));
    assert_eq!(text_of(Kind::Rtf, b"{\\rtf1 a\\"), Err(Reason::Damaged));
    let deep = [b"{\\rtf1 ".as_slice(), &b"{".repeat(20_000)].concat();
    assert_eq!(text_of(Kind::Rtf, &deep), Err(Reason::TooDeep));
}
