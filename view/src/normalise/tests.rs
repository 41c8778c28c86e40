use proptest::prelude::*;

use super::*;

/// Paragraphs, each in pieces.
fn normalised(paragraphs: &[Vec<&str>]) -> String {
    let (mut normaliser, mut out) = (Normaliser::new(), String::new());
    for pieces in paragraphs {
        pieces.iter().for_each(|piece| normaliser.push(piece, &mut out));
        normaliser.end_paragraph(&mut out);
    }
    normaliser.finish(&mut out);
    out
}

fn one_push(text: &str) -> String {
    normalised(&[vec![text]])
}

/// The definition, over all of the text at once.
fn defined(text: &str) -> String {
    let seen: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|&c| !c.is_control() && !is_invisible(c))
        .nfkc()
        .collect();
    let mut words = seen.split(' ').filter(|word| !word.is_empty());
    let mut all = words.next().unwrap_or_default().to_owned();
    for word in words {
        let before = all.trim_end_matches(|mark: char| mark.is_ascii_punctuation());
        let is_apart = !(before.ends_with(is_east) && word.starts_with(is_east));
        all.extend(is_apart.then_some(' '));
        all.push_str(word);
    }
    all
}

#[test]
fn text_is_folded_as_the_definition_says() {
    for (text, wanted) in [
        ("", ""),
        ("  a \t\r\n b\u{A0}\u{2003}c  ", "a b c"),
        ("e\u{301}te\u{301}", "été"),
        ("\u{FB01}n \u{FF21}\u{FF22} \u{2460} \u{BD}", "fin AB 1 1⁄2"),
        ("in\u{AD}ter\u{200B}na\u{200D}tion\u{FEFF}al", "international"),
        ("a\u{0}b\u{7}c\u{85}d", "abc d"),
        ("Stra\u{DF}e ÄÖ", "Straße ÄÖ"),
        ("a \u{A8} b", "a \u{308} b"),
        ("\u{1100}\u{1161}\u{11A8}", "각"),
        ("e\u{200D}\u{301}", "é"),
        ("吾輩は 猫である。 名前は\n まだ無い", "吾輩は猫である。名前はまだ無い"),
        ("\u{5929}\u{5730}\u{FF0C} 宇宙, 洪荒 (日 月)", "天地,宇宙,洪荒 (日月)"),
        ("Word 97 の 文書, Excel ファイル a, 文", "Word 97 の文書, Excel ファイル a, 文"),
        ("\u{D55C}\u{AD6D} \u{C5B4}", "한국 어"),
    ] {
        assert_eq!(one_push(text), wanted, "{text:?}");
    }
}

#[test]
fn paragraphs_are_set_apart_by_one_line_feed() {
    let paragraphs = [vec!["  "], vec!["one", " ", "two "], vec![], vec!["\u{200B}"], vec![" three"], vec![""]];
    assert_eq!(normalised(&paragraphs), "one two\nthree");
}

#[test]
fn endless_marks_are_cut_and_take_no_memory() {
    let text = format!("a{}b", "\u{301}".repeat(1_000_000));
    let (mut normaliser, mut out) = (Normaliser::new(), String::new());
    normaliser.push(&text, &mut out);
    assert!(normaliser.waiting.capacity() < 4096);
    normaliser.finish(&mut out);
    assert_eq!(out.chars().count(), 1 + MARKS_MAX + 1);
    assert_eq!(one_push(&out), out);
}

#[test]
fn every_character_alone_is_normalised_as_defined_and_once_for_all() {
    // The letters of the two large scripts are all alike.
    let alike = |c: &char| ('\u{3500}'..'\u{A000}').contains(c) || ('\u{AD00}'..'\u{D700}').contains(c);
    let planes = ('\0'..'\u{20000}').chain('\u{2F800}'..'\u{2FA20}').chain('\u{E0000}'..'\u{E1001}');
    for character in planes.filter(|c| !alike(c)) {
        for text in [format!("{character}"), format!("a{character}\u{301}b {character}")] {
            let once = one_push(&text);
            assert_eq!(once, defined(&text), "{text:?}");
            assert_eq!(one_push(&once), once, "{text:?}");
        }
    }
}

fn texts() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        'a',
        'e',
        ' ',
        '\n',
        '\u{A0}',
        '\u{AD}',
        '\u{301}',
        '\u{308}',
        '\u{323}',
        '\u{345}',
        '\u{344}',
        '\u{FB01}',
        '\u{1100}',
        '\u{1161}',
        '\u{11A8}',
        '\u{AC00}',
        '\u{9BE}',
        '\u{9C7}',
        '\u{200D}',
        '\u{A8}',
        '\u{FDFA}',
        '\u{1D160}',
        '\u{E9}',
        '\u{FF76}',
        '\u{FF9E}',
        '\u{212B}',
        '\u{3000}',
        '\u{3099}',
        '\u{304B}',
        '\0',
        '\u{4E2D}',
    ]);
    prop::collection::vec(prop_oneof![3 => odd, 1 => any::<char>()], 0..60).prop_map(|all| all.into_iter().collect())
}

proptest! {
    #[test]
    fn the_sizes_of_the_pushes_do_not_matter(text in texts(), sizes in prop::collection::vec(1usize..5, 60)) {
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        for size in sizes {
            let cut = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
            let (piece, behind) = rest.split_at(cut);
            pieces.push(piece);
            rest = behind;
        }
        prop_assert_eq!(normalised(&[pieces]), one_push(&text));
    }

    #[test]
    fn the_result_equals_the_definition(text in texts()) {
        prop_assert_eq!(one_push(&text), defined(&text));
    }

    #[test]
    fn normalised_text_stays_as_it_is(texts in prop::collection::vec(texts(), 0..5)) {
        let once = normalised(&texts.iter().map(|text| vec![text.as_str()]).collect::<Vec<_>>());
        let again = normalised(&once.split('\n').map(|line| vec![line]).collect::<Vec<_>>());
        prop_assert_eq!(again, once);
    }
}

/// Characters that a reader cannot see, of every range of the definition.
const INVISIBLE: [char; 12] = [
    '\u{AD}',
    '\u{34F}',
    '\u{61C}',
    '\u{17B4}',
    '\u{180B}',
    '\u{200B}',
    '\u{202E}',
    '\u{2060}',
    '\u{FE0F}',
    '\u{FEFF}',
    '\u{1D173}',
    '\u{E0001}',
];

proptest! {
    #[test]
    fn invisible_and_control_characters_change_nothing(text in texts(), places in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let mut characters: Vec<char> = text.chars().collect();
        for (number, place) in places.iter().enumerate() {
            let added = INVISIBLE.get(number).copied().unwrap_or('\u{7}');
            characters.insert(place.index(characters.len() + 1), added);
        }
        let changed: String = characters.into_iter().collect();
        prop_assert_eq!(one_push(&changed), one_push(&text));
    }

    #[test]
    fn all_white_space_is_alike(words in prop::collection::vec("[a-zé]{1,5}", 1..8), blanks in prop::collection::vec("[ \t\r\n\u{A0}\u{2003}\u{2028}\u{3000}]{1,4}", 9)) {
        let spread: String = blanks.iter().zip(words.iter().map(String::as_str).chain([""])).map(|(blank, word)| format!("{blank}{word}")).collect();
        prop_assert_eq!(one_push(&spread), words.join(" "));
    }

    #[test]
    fn paragraphs_are_normalised_apart_and_joined_by_line_feeds(paragraphs in prop::collection::vec(texts(), 0..6)) {
        let apart: Vec<String> = paragraphs.iter().map(|text| one_push(text)).filter(|text| !text.is_empty()).collect();
        let together = normalised(&paragraphs.iter().map(|text| vec![text.as_str()]).collect::<Vec<_>>());
        prop_assert_eq!(together, apart.join("\n"));
    }

    #[test]
    fn a_normaliser_starts_again_after_a_text(first in texts(), second in texts()) {
        let (mut normaliser, mut out) = (Normaliser::new(), String::new());
        normaliser.push(&first, &mut out);
        normaliser.finish(&mut out);
        out.clear();
        normaliser.push(&second, &mut out);
        normaliser.finish(&mut out);
        prop_assert_eq!(out, one_push(&second));
    }
}
