use proptest::prelude::*;

use super::*;
use crate::text::tests::CollectedText;

/// Characters to draw: text, place, and size of the font; each letter is half a size wide.
type Drawing<'t> = (&'t str, f64, f64, f64);

fn mark(origin: Point, along: Point, size: f64) -> Mark {
    Mark { origin, along, size, advance: 0.5, upright: false }
}

fn text_of(marks: impl IntoIterator<Item = (String, Mark)>) -> String {
    let mut lines = Lines::default();
    marks.into_iter().for_each(|(text, mark)| lines.draw(&text, mark));
    let mut text = CollectedText::default();
    lines.give(&mut text).unwrap();
    text.finish()
}

/// The marks of runs of letters that are written to the right.
fn marks(drawings: &[Drawing<'_>]) -> Vec<(String, Mark)> {
    let letters = |&(text, x, y, size): &Drawing<'_>| {
        let place = move |(at, letter): (usize, char)| {
            #[expect(clippy::cast_precision_loss, reason = "lines are short")]
            let x = x + at as f64 * 0.5 * size;
            (letter.to_string(), mark(Point::new(x, y), Point::new(1.0, 0.0), size))
        };
        text.chars().enumerate().map(place).collect::<Vec<_>>()
    };
    drawings.iter().flat_map(letters).collect()
}

fn check(drawings: &[Drawing<'_>], expected: &str) {
    assert_eq!(text_of(marks(drawings)), expected, "{drawings:?}");
}

#[test]
fn gaps_part_words() {
    check(&[("ab", 0.0, 0.0, 10.0), ("cd", 10.0, 0.0, 10.0)], "abcd");
    check(&[("ab", 0.0, 0.0, 10.0), ("cd", 10.9, 0.0, 10.0)], "abcd");
    check(&[("ab", 0.0, 0.0, 10.0), ("cd", 11.1, 0.0, 10.0)], "ab cd");
    // Letters that overlap are of one word, as in the name of TeX; those that are drawn to the left are another.
    check(&[("ab", 0.0, 0.0, 10.0), ("cd", 8.0, 0.0, 10.0)], "abcd");
    check(&[("ab", 0.0, 0.0, 10.0), ("cd", 3.0, 0.0, 10.0)], "ab cd");
    // The smaller of two fonts decides on the gap.
    check(&[("ab", 0.0, 0.0, 10.0), ("cd", 11.0, 0.0, 5.0)], "ab cd");
}

#[test]
fn raised_and_lowered_letters_are_in_the_line() {
    check(&[("x", 0.0, 0.0, 10.0), ("2", 5.0, 4.0, 6.0), ("y", 8.0, 0.0, 10.0)], "x2y");
    check(&[("H", 0.0, 0.0, 10.0), ("2", 5.0, -3.0, 6.0), ("O", 8.0, 0.0, 10.0)], "H2O");
    check(&[("x", 0.0, 0.0, 10.0), ("2", 5.0, 5.0, 10.0)], "x\n2");
}

#[test]
fn distances_part_lines_and_paragraphs() {
    // The usual distance is 12; up to a quarter more is within a paragraph.
    let lines =
        |last| [("a", 0.0, 100.0, 10.0), ("b", 0.0, 88.0, 10.0), ("c", 0.0, 76.0, 10.0), ("d", 0.0, last, 10.0)];
    check(&lines(64.0), "a b c d");
    check(&lines(61.1), "a b c d");
    check(&lines(60.9), "a b c\nd");
    // A line above the last one begins another column.
    check(&lines(120.0), "a b c\nd");
    // Two lines alone have their own distance as the usual one, up to three sizes of the font.
    check(&[("a", 0.0, 100.0, 10.0), ("b", 0.0, 70.0, 10.0)], "a b");
    check(&[("a", 0.0, 100.0, 10.0), ("b", 0.0, 69.0, 10.0)], "a\nb");
}

#[test]
fn another_size_begins_another_paragraph() {
    check(&[("a", 0.0, 100.0, 10.0), ("b", 0.0, 88.0, 10.9)], "a b");
    check(&[("a", 0.0, 100.0, 10.0), ("b", 0.0, 88.0, 11.1)], "a\nb");
}

#[test]
fn hyphens_at_the_end_of_a_line_join_small_letters() {
    for (first, second, expected) in [
        ("ab-", "cd", "abcd"),
        ("ab\u{2010}", "cd", "abcd"),
        ("ab\u{AD}", "CD", "abCD"),
        ("AB-", "cd", "AB- cd"),
        ("ab-", "Cd", "ab- Cd"),
        ("1-", "2", "1- 2"),
        ("-", "cd", "- cd"),
        ("ab -", "cd", "ab - cd"),
    ] {
        check(&[(first, 0.0, 100.0, 10.0), (second, 0.0, 88.0, 10.0)], expected);
    }
    check(&[("ab-", 0.0, 100.0, 10.0), ("cd", 0.0, 50.0, 10.0)], "ab-\ncd");
}

#[test]
fn a_letter_over_itself_is_read_once() {
    check(&[("a", 0.0, 0.0, 10.0), ("a", 0.9, 0.0, 10.0)], "a");
    check(&[("a", 0.0, 0.0, 10.0), ("b", 0.9, 0.0, 10.0)], "ab");
    check(&[("a", 0.0, 0.0, 10.0), ("a", 5.0, 0.0, 10.0)], "aa");
}

#[test]
fn impossible_places_are_not_drawn() {
    check(
        &[("a", f64::NAN, 0.0, 10.0), ("b", 0.0, f64::INFINITY, 10.0), ("c", 0.0, 0.0, 0.0), ("d", 0.0, 0.0, -1.0)],
        "",
    );
    check(&[("a", 0.0, 0.0, f64::NAN), ("b", 0.0, 0.0, 10.0)], "b");
}

#[test]
fn letters_below_each_other_are_a_line_where_the_font_is_vertical() {
    let column = |x: f64, letters: &str| {
        let place = |(at, letter): (u32, char)| {
            let origin = Point::new(x, 100.0 - 10.0 * f64::from(at));
            (letter.to_string(), Mark { upright: true, ..mark(origin, Point::new(1.0, 0.0), 10.0) })
        };
        (0..).zip(letters.chars()).map(place).collect::<Vec<_>>()
    };
    assert_eq!(text_of(column(100.0, "縦書")), "縦書");
    assert_eq!(text_of([column(100.0, "縦書"), column(80.0, "次")].concat()), "縦書\n次");
}

#[test]
fn lines_without_letters_are_left_out() {
    check(&[("   ", 0.0, 100.0, 10.0), ("a", 0.0, 88.0, 10.0)], "a");
    check(&[("a", 0.0, 100.0, 10.0), ("   ", 0.0, 88.0, 10.0), ("b", 0.0, 76.0, 10.0)], "a b");
}

#[test]
fn an_accent_is_put_on_the_letter_that_it_is_drawn_over() {
    // The accent first, as TeX draws it, then the letter first, as old printers do.
    check(&[("f", 0.0, 0.0, 10.0), ("¨", 5.2, 0.5, 10.0), ("u", 5.0, 0.0, 10.0), ("r", 10.0, 0.0, 10.0)], "für");
    check(&[("f", 0.0, 0.0, 10.0), ("u", 5.0, 0.0, 10.0), ("¨", 5.2, 0.5, 10.0), ("r", 10.0, 0.0, 10.0)], "für");
    check(&[("a", 0.0, 0.0, 10.0), ("´", 7.2, 0.5, 10.0), ("ı", 7.0, 0.0, 10.0)], "a í");
    // An accent beside a letter is a sign.
    check(&[("a", 0.0, 0.0, 10.0), ("^", 5.0, 0.0, 10.0), ("b", 10.0, 0.0, 10.0)], "a^b");
}

#[test]
fn letters_that_are_spaced_out_are_a_word() {
    let spaced = |letters: &[(&'static str, f64)]| -> Vec<Drawing<'static>> {
        letters.iter().map(|&(letter, x)| (letter, x, 0.0, 10.0)).collect()
    };
    check(
        &spaced(&[("T", 0.0), ("i", 8.0), ("t", 16.0), ("e", 24.0), ("l", 36.0), ("s", 44.0), ("a", 52.0)]),
        "Tite lsa",
    );
    check(&spaced(&[("1", 0.0), ("2", 8.0), ("3", 16.0), ("4", 24.0), ("5", 32.0)]), "1 2 3 4 5");
    check(&spaced(&[("a", 0.0), ("b", 8.0), ("c", 16.0)]), "a b c");
    check(&spaced(&[("a", 0.0), ("b", 15.0), ("c", 30.0), ("d", 45.0), ("e", 60.0)]), "a b c d e");
}

#[test]
fn where_a_font_gives_no_widths_no_letter_is_lost() {
    let letters = ["l", "l", "a"]
        .map(|letter| (letter.to_owned(), Mark { advance: 0.0, ..mark(Point::ZERO, Point::new(1.0, 0.0), 10.0) }));
    assert_eq!(text_of(letters), "lla");
}

#[test]
fn slanting_text_is_a_line() {
    let along = Point::new(0.5_f64.sqrt(), 0.5_f64.sqrt());
    let letters = (0..6).zip("slants".chars()).map(|(at, letter)| {
        let far = 5.0 * f64::from(at);
        (letter.to_string(), mark(Point::new(far * along.x, far * along.y), along, 10.0))
    });
    assert_eq!(text_of(letters), "slants");
}

#[test]
fn lines_of_thai_end_between_words_that_have_no_spaces() {
    check(&[("กขคงจ", 0.0, 0.0, 10.0), ("ฉชซ", 0.0, -12.0, 10.0)], "กขคงจฉชซ");
    check(&[("กขคงจ ", 0.0, 0.0, 10.0), ("ฉชซ", 0.0, -12.0, 10.0)], "กขคงจ ฉชซ");
}

#[test]
fn hebrew_comes_in_the_order_of_reading_in_whichever_it_is_drawn() {
    let seen = [("םולש", 0.0, 0.0, 10.0), ("ןמזו", 23.0, 0.0, 10.0)];
    check(&seen, "וזמן שלום");
    // Words from the right to the left, each from left to right.
    check(&[seen[1], seen[0]], "וזמן שלום");
    // Letters from the right to the left.
    let letters: Vec<Drawing<'_>> =
        [("ו", 38.0), ("ז", 33.0), ("מ", 28.0), ("ן", 23.0), ("ש", 15.0), ("ל", 10.0), ("ו", 5.0), ("ם", 0.0)]
            .map(|(letter, x)| (letter, x, 0.0, 10.0))
            .to_vec();
    check(&letters, "וזמן שלום");
    // The points and spaces of the line first, and its words between them.
    check(&[(".     ,      ", 0.0, 0.0, 10.0), ("םולש", 5.0, 0.0, 10.0), ("ןמזו", 35.0, 0.0, 10.0)], "וזמן, שלום.");
    // A page whose letters are in the order of reading already, as programs that recognise text write it.
    check(&[("שלום", 0.0, 0.0, 10.0), ("וזמן", 23.0, 0.0, 10.0)], "שלום וזמן");
}

proptest! {
    /// A page may be turned by a quarter, moved and enlarged without a change of its text.
    #[test]
    fn the_text_of_a_page_does_not_depend_on_its_direction_place_and_size(
        lines in prop::collection::vec(("[a-z]{1,8}", 0_u32..4, 8_u32..40), 1..8),
        quarters in 0..4,
        scale in 1_u32..5,
        moved in (-500_i32..500, -500_i32..500),
    ) {
        let mut y = 0.0;
        let drawings: Vec<Drawing<'_>> = lines
            .iter()
            .map(|(text, x, down)| {
                y -= f64::from(*down);
                (text.as_str(), f64::from(*x) * 16.0, y, 10.0)
            })
            .collect();
        let plain = marks(&drawings);
        let turn = |point: Point| (0..quarters).fold(point, |Point { x, y }, _| Point::new(-y, x));
        let change = |mark: &Mark| {
            let at = turn(mark.origin);
            let scale = f64::from(1_u32 << scale);
            let origin = Point::new(at.x * scale + f64::from(moved.0), at.y * scale + f64::from(moved.1));
            Mark { origin, along: turn(mark.along), size: mark.size * scale, ..*mark }
        };
        let changed = plain.iter().map(|(text, mark)| (text.clone(), change(mark)));
        prop_assert_eq!(text_of(changed), text_of(plain.clone()));
    }

    #[test]
    fn no_letter_is_lost(words in prop::collection::vec(("[a-z]{1,6}", -50_i32..50, -50_i32..50, 4_u32..30), 0..12)) {
        let drawings: Vec<Drawing<'_>> = words
            .iter()
            .map(|(text, x, y, size)| (text.as_str(), 7.0 * f64::from(*x), 7.0 * f64::from(*y), f64::from(*size)))
            .collect();
        let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
        let all: String = marks(&drawings).into_iter().map(|(text, _)| text).collect();
        let found = letters(&text_of(marks(&drawings)));
        // A letter on the same letter is read once; all others come in the order of drawing.
        let mut rest = all.chars();
        prop_assert!(found.chars().all(|letter| rest.any(|drawn| drawn == letter)), "{} {}", found, all);
        let doubles = marks(&drawings).windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
        prop_assert!(found.len() + doubles >= all.len());
    }
}
