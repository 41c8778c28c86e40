//! The one escape for text from outside that is shown to people: on terminals, in spreadsheets and on pages.
//!
//! A *marked* character has no glyph of its own, or acts on the text around it or on the program that shows it: control
//! characters, directions of writing, zero-width marks, private use. It is shown by its number.

use std::borrow::Cow;

/// True if a character is shown by its number.
pub fn is_marked(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{10ffff}')
}

/// The text with its marked characters as numbers, such as `\u{1b}`; line feeds as `\n`.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_marked) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_marked(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// The lines of a text for a terminal, each [`harmless`]: the breaks between lines stay.
pub fn harmless_lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|character| character != '\n' && is_marked(character)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(harmless).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn harmless_text_has_no_marked_character_and_stays_as_it_is(text in "(?s:.{0,60})") {
            let shown = harmless(&text);
            prop_assert!(!shown.chars().any(is_marked));
            prop_assert_eq!(harmless(&shown), &*shown);
            prop_assert!(!harmless_lines(&text).chars().any(|character| character != '\n' && is_marked(character)));
        }
    }

    #[test]
    fn numbers_stand_for_characters_that_act() {
        assert_eq!(harmless("a\u{1b}[2Jb\n\u{202e}c\u{200b}é"), "a\\u{1b}[2Jb\\n\\u{202e}c\\u{200b}é");
        assert_eq!(harmless_lines("a\nb\u{9b}c\r"), "a\nb\\u{9b}c\\r");
    }
}
