//! What spreadsheets of all ages have in common.

/// A number with the fifteen digits that a spreadsheet shows at most: programs store the same one with more, and differently.
pub(super) fn number_text(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    f64::to_string(&rounded)
}

/// The words of a header of pages, which has codes for fonts, places and numbers: `&L`, `&"Arial,Bold"`, `&12`.
pub(super) fn header_text(text: &str) -> String {
    let mut parts = text.split('&');
    let mut words = parts.next().unwrap_or_default().to_owned();
    let mut is_sign = false;
    for part in parts {
        let rest = match part.chars().next() {
            // Two of the sign are the sign.
            None if !is_sign => {
                is_sign = true;
                words.push('&');
                continue;
            }
            _ if is_sign => part,
            Some('"') => part[1..].split_once('"').map_or("", |(_, rest)| rest),
            Some('L' | 'C' | 'R') => {
                words.push('\n');
                &part[1..]
            }
            Some('0'..='9') => part.trim_start_matches(|digit: char| digit.is_ascii_digit()),
            Some('K') => part.get(7..).unwrap_or_default(),
            Some(letter) => &part[letter.len_utf8()..],
            None => part,
        };
        is_sign = false;
        words.push_str(rest);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_a_header_are_no_words() {
        let cases = [
            ("&L&\"Arial,Bold\"&12Secret&CPage &P of &N&R&D", "\nSecret\nPage  of \n"),
            ("A && B", "A & B"),
            ("&K00FF00green", "green"),
            ("plain", "plain"),
            ("&", "&"),
        ];
        for (text, wanted) in cases {
            assert_eq!(header_text(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_number_has_the_digits_that_are_shown() {
        for (number, wanted) in
            [(0.1, "0.1"), (0.300_000_000_000_000_04, "0.3"), (45_000.0, "45000"), (f64::NAN, "NaN")]
        {
            assert_eq!(number_text(number), wanted);
        }
    }
}
