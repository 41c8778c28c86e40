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
fn a_mark_of_what_may_be_ignored_counts_at_the_beginning_of_a_group_alone() {
    check("a{\\loch\\f2\\b0\\*\\cs7\\cf0 inside} b", "ainside b");
    check("a{word\\*\\unknown inside}b", "awordinsideb");
    check("a{\r\n\\*\\unknown x}b", "ab");
    check("a{\\b b{\\*\\unknown x}\\*\\unknown c}", "abc");
}

#[test]
fn a_document_may_begin_with_a_mark_and_blank_lines() {
    for before in ["\u{FEFF}", "\r\n ", "\u{FEFF}\n"] {
        let document = format!("{before}{{\\rtf1 a}}");
        assert_eq!(Kind::detect(&mut std::io::Cursor::new(document.as_bytes())).ok(), Some(Kind::Rtf));
        assert_eq!(text_of(Kind::Rtf, document.as_bytes()).as_deref(), Ok("a"));
    }
}

#[test]
fn what_comes_before_a_cut_is_read() {
    let mut text = crate::text::tests::CollectedText::default();
    let cut_off = b"{\\rtf1 first words {\\footnote a note {\\b bold";
    let read = crate::format::extract(Kind::Rtf, &mut std::io::Cursor::new(&cut_off[..]), &mut text);
    assert_eq!(read, Err(Reason::Damaged));
    assert_eq!(text.finish(), "first words\na note bold");
}

#[test]
fn a_truncated_document_is_damaged_and_depth_is_bounded() {
    assert_eq!(text_of(Kind::Rtf, b"{\\rtf1 a"), Err(Reason::Damaged));
    assert_eq!(text_of(Kind::Rtf, b"{\\rtf1 a\\"), Err(Reason::Damaged));
    let deep = [b"{\\rtf1 ".as_slice(), &b"{".repeat(20_000)].concat();
    assert_eq!(text_of(Kind::Rtf, &deep), Err(Reason::TooDeep));
}

#[test]
fn stand_ins_end_with_their_group_and_count_control_words() {
    check("a\\uc3\\u228 {x}b", "aäxb");
    check("{\\uc2\\u228 ?}?c", "ä?c");
    check("\\uc1\\u228\\emdash b", "äb");
    check("\\uc2\\u228\\'e4\\'e4b", "äb");
    check("\\uc-5\\u228 b", "äb");
    check("\\uc\\u228 ?b", "äb");
}

#[test]
fn halves_of_characters_that_stay_alone_are_left_out() {
    check("a\\u-10179?b", "ab");
    check("a\\u-8704?b", "ab");
    check("a\\u-10179?\\u-10179?\\u-8704?b", "a😀b");
    check("a\\u-10179?\\u98?c", "abc");
}

#[test]
fn numbers_and_digits_that_are_none_are_no_text() {
    check("a\\'zzb", "azzb");
    check("a\\'", "a");
    check("a\\'fzb", "azb");
    check("a\\bin-3 b", "ab");
    check("a\\bin b", "ab");
    check("a\\ansicpg0\\'e4", "aä");
    check("a\\f77\\'e4", "aä");
    check("a\\verylongcontrolwordthatnoprogramwouldeverwrite77 b", "ab");
}

#[test]
fn hidden_text_ends_with_its_group_or_by_a_word() {
    check("a{\\v x{x}x}b", "ab");
    check("a\\v x\\v0 b", "ab");
    check("a\\v x\\plain b", "ab");
    check("a\\deleted x\\deleted0 b", "ab");
    check("{\\v x\\par x}b", "b");
}

#[test]
fn what_follows_the_document_is_no_part_of_it() {
    let after = |more: &str| format!("{{\\rtf1 a}}{more}");
    for more in ["", "b", "}", "{", "\\par b", "\0"] {
        assert_eq!(text_of(Kind::Rtf, after(more).as_bytes()).as_deref(), Ok("a"), "{more:?}");
    }
    for cut in ["", "a", "{", "{\\rtf1 a\\bin9999999999 b}", "}", "\\par", "{\\rtf1 {a}"] {
        assert_eq!(text_of(Kind::Rtf, cut.as_bytes()), Err(Reason::Damaged), "{cut:?}");
    }
}

#[test]
fn no_more_fonts_are_known_than_a_document_may_have() {
    let font = |number: usize| format!("{{\\f{number}\\fcharset204 A;}}");
    let fonts: String = (0..=super::FONTS_MAX).map(font).collect();
    let last = super::FONTS_MAX - 1;
    check(&format!("{{\\fonttbl{fonts}}}\\f{last}\\'cf\\f{}\\'cf", last + 1), "ПÏ");
}
