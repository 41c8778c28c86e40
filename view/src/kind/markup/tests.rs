use proptest::prelude::*;

use super::*;

#[test]
fn prologs_are_skipped() {
    for (text, rest) in [
        ("<p>", "<p>"),
        (" \r\n\t<p>", "<p>"),
        ("<?xml version='1.0'?> <!-- a --> <p>", "<p>"),
        ("<!-- <html> --><!-- > --><p>", "<p>"),
        ("<?a?><?b?>text", "text"),
        ("<!-- without an end <html>", ""),
        ("<?xml", ""),
        ("", ""),
    ] {
        assert_eq!(skip_prolog(text.as_bytes()), rest.as_bytes(), "{text}");
    }
}

#[test]
fn the_first_tag_or_a_tag_of_complete_pages_decides() {
    for (text, expected) in [
        ("<html", Some(Kind::Html)),
        ("<html>", Some(Kind::Html)),
        ("<html\tlang=en>", Some(Kind::Html)),
        ("<meta/>", Some(Kind::Html)),
        ("<!doctype html>", Some(Kind::Html)),
        ("<!DOCTYPE\n html>", Some(Kind::Html)),
        ("<!doctype book><html>", None),
        ("<htmlx>", None),
        ("< html>", None),
        ("</html>", None),
        ("<div>text</div>", Some(Kind::Html)),
        ("<p>one\nand more\n\n<p>two", Some(Kind::Html)),
        ("<p align=center>\n<img>\n</p>\n\n# Title", None),
        ("<p>\n```\ncode", None),
        ("<span>text</span>", None),
        ("<div>text</div></body>", Some(Kind::Html)),
        ("<svg></body>", None),
        ("text <html>", None),
        ("<office:document>", Some(Kind::OpenDocument)),
        ("<office:document-content>", None),
        ("<", None),
        ("", None),
    ] {
        assert_eq!(kind(text.as_bytes()), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn case_and_blanks_before_a_page_do_not_matter(
        page in prop::sample::select(vec!["<html>", "<!doctype html>", "<h1>x</body>", "<p>", "<a href=x>", "<office:document>"]),
        upper in prop::collection::vec(any::<bool>(), 24),
        blanks in "[ \t\r\n]{0,9}",
    ) {
        let letter = |(letter, upper): (char, bool)| if upper { letter.to_ascii_uppercase() } else { letter };
        let mixed: String = page.chars().zip(upper).map(letter).collect();
        prop_assert_eq!(kind(format!("{blanks}{mixed}").as_bytes()), kind(page.as_bytes()));
    }

    #[test]
    fn no_text_with_angle_brackets_panics(text in "[<>!?/a-hA-H \"=-]{0,80}") {
        let _ = kind(text.as_bytes());
    }
}
