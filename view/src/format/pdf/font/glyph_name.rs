//! The letters of glyphs by the names of the glyphs, from the Adobe Glyph List.

use std::collections::HashMap;
use std::sync::LazyLock;

use hayro_cmap::BfString;

type Names = HashMap<&'static str, &'static str>;

static NAMES: LazyLock<Names> = LazyLock::new(|| pairs(include_str!("../data/glyph-names.txt")));
static DINGBATS: LazyLock<Names> = LazyLock::new(|| pairs(include_str!("../data/dingbats-names.txt")));

fn pairs(lines: &'static str) -> Names {
    lines.lines().filter_map(|line| line.split_once(' ')).collect()
}

/// The letters of a glyph with this name.
pub(super) fn text(name: &str, is_dingbats: bool) -> Option<BfString> {
    let mut text = String::new();
    let base = name.split('.').next().unwrap_or_default();
    for component in base.split('_') {
        let dingbat = is_dingbats.then(|| DINGBATS.get(component)).flatten();
        if let Some(codes) = dingbat.or_else(|| NAMES.get(component)) {
            text.extend(codes.split(' ').filter_map(character));
        } else if let Some(letters) = of_units(component) {
            text.push_str(&letters);
        } else if let Some(letter) = of_number(component) {
            text.push(letter);
        }
    }
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => Some(BfString::Char(letter)),
        (Some(_), Some(_)) => Some(BfString::String(text)),
        (None, _) => None,
    }
}

/// `uni20AC0308`: four digits for each letter.
fn of_units(component: &str) -> Option<String> {
    let digits = component.strip_prefix("uni")?.as_bytes();
    let (groups, rest) = digits.as_chunks::<4>();
    if groups.is_empty() || !rest.is_empty() {
        return None;
    }
    groups.iter().map(|group| upper_case(group)).collect()
}

/// `u1040C`: four to six digits of one letter.
fn of_number(component: &str) -> Option<char> {
    let digits = component.strip_prefix('u')?.as_bytes();
    (4..=6).contains(&digits.len()).then(|| upper_case(digits)).flatten()
}

fn upper_case(digits: &[u8]) -> Option<char> {
    let is_upper = |digit: &u8| matches!(digit, b'0'..=b'9' | b'A'..=b'F');
    digits.iter().all(is_upper).then(|| character(std::str::from_utf8(digits).ok()?)).flatten()
}

fn character(hexadecimal: &str) -> Option<char> {
    u32::from_str_radix(hexadecimal, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_glyphs_become_letters() {
        let cases = [
            ("Lcommaaccent", Some("\u{13B}")),
            ("uni20AC0308", Some("\u{20AC}\u{308}")),
            ("u1040C", Some("\u{1040C}")),
            ("uniD801DC0C", None),
            ("uni20ac", None),
            ("Lcommaaccent_uni20AC0308_u1040C.alternate", Some("\u{13B}\u{20AC}\u{308}\u{1040C}")),
            ("foo", None),
            (".notdef", None),
            ("hyphen.case", Some("-")),
            ("f_f_l", Some("ffl")),
            ("f_g102", Some("f")),
            ("uni000A0020", Some("\n ")),
            ("u41", None),
            ("u110000", None),
        ];
        for (name, wanted) in cases {
            let text = text(name, false).map(|text| match text {
                BfString::Char(letter) => letter.to_string(),
                BfString::String(text) => text,
            });
            assert_eq!(text.as_deref(), wanted, "{name}");
        }
        assert_eq!((text("a9", true), text("a9", false)), (Some(BfString::Char('\u{2720}')), None));
    }
}
