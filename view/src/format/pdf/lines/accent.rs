//! Accents that are drawn over or under a letter: fonts of TeX and of old printers have no letters with accents.

/// Accents that stand alone, and those that combine with the letter before them.
const ACCENTS: [(char, char); 17] = [
    ('`', '\u{300}'),
    ('´', '\u{301}'),
    ('^', '\u{302}'),
    ('ˆ', '\u{302}'),
    ('~', '\u{303}'),
    ('˜', '\u{303}'),
    ('¯', '\u{304}'),
    ('ˉ', '\u{304}'),
    ('˘', '\u{306}'),
    ('˙', '\u{307}'),
    ('¨', '\u{308}'),
    ('˚', '\u{30A}'),
    ('°', '\u{30A}'),
    ('˝', '\u{30B}'),
    ('ˇ', '\u{30C}'),
    ('¸', '\u{327}'),
    ('˛', '\u{328}'),
];

/// The combining accent for one that stands alone.
pub(super) fn combining(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let accent = letters.next().filter(|_| letters.next().is_none())?;
    ACCENTS.iter().find(|(alone, _)| *alone == accent).map(|&(_, combining)| combining)
}

/// The letter that an accent is put on: one with a dot of its own is drawn without it.
pub(super) fn base(text: &str) -> Option<char> {
    let mut letters = text.chars();
    match letters.next().filter(|letter| letter.is_alphabetic() && letters.next().is_none())? {
        'ı' => Some('i'),
        'ȷ' => Some('j'),
        letter => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accent_combines_and_a_letter_under_it_has_its_dot() {
        assert_eq!(
            (combining("¨"), combining("a"), combining("¨¨"), combining("")),
            (Some('\u{308}'), None, None, None)
        );
        assert_eq!((base("ı"), base("u"), base("1"), base("ab")), (Some('i'), Some('u'), None, None));
    }
}
