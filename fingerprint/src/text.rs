//! Splits a text into words: the canonical sequence that some methods read. It takes bounded memory, and the result does not
//! depend on how the bytes are split up.
//!
//! A word is a longest run of letters and digits, in lower case; everything else separates words and is dropped. Of an
//! invalid UTF-8 sequence every byte separates. A word of more than 256 bytes goes on as another one, and an ideograph
//! or a kana is a word of its own, since such scripts have no spaces. Lines end at line feeds and carriage returns.

use crate::signature::UnsupportedDocument;

/// The length at which a word is cut, so that a document without separators takes no more memory than another.
pub(crate) const WORD_BYTES_MAX: usize = 256;

/// A part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token<'a> {
    /// A word in lower case.
    Word(&'a [u8]),
    /// The end of a line.
    LineEnd,
}

/// Splits a text into words.
#[derive(Default)]
pub(crate) struct Words {
    word: Vec<u8>,
    /// The first bytes of a character that is not complete.
    carry: Vec<u8>,
    seen_bytes: u64,
}

const SEPARATOR: u8 = 0;
const LINE_END: u8 = 1;
const ZERO: u8 = 2;
const BEYOND_ASCII: u8 = 3;

/// The class of each byte: one of the four above, or a letter or digit in lower case.
const CLASS: [u8; 256] = {
    let mut class = [SEPARATOR; 256];
    let mut byte = 0_u8;
    loop {
        class[byte as usize] = match byte {
            0 => ZERO,
            b'\n' | b'\r' => LINE_END,
            letter @ (b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => letter.to_ascii_lowercase(),
            0x80.. => BEYOND_ASCII,
            _ => SEPARATOR,
        };
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    class
};

impl Words {
    /// Hands the words that `bytes` complete to `each`.
    pub(crate) fn take(&mut self, bytes: &[u8], mut each: impl FnMut(Token<'_>)) -> Result<(), UnsupportedDocument> {
        let mut at = 0;
        while !self.carry.is_empty() && at < bytes.len() {
            at = self.complete(bytes, at, &mut each);
        }
        while let Some(&byte) = bytes.get(at) {
            match CLASS[usize::from(byte)] {
                SEPARATOR => self.end_word(&mut each),
                LINE_END => {
                    self.end_word(&mut each);
                    each(Token::LineEnd);
                }
                ZERO => return Err(UnsupportedDocument::Binary { offset: self.seen_bytes + at as u64 }),
                BEYOND_ASCII => {
                    at = self.beyond_ascii(bytes, at, &mut each);
                    continue;
                }
                letter => self.letter(letter, &mut each),
            }
            at += 1;
        }
        self.seen_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Ends the text and hands its last word to `each`. The splitter is ready for another text.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Token<'_>)) {
        self.end_word(&mut each);
        self.carry.clear();
        self.seen_bytes = 0;
    }

    #[inline(always)]
    fn letter(&mut self, letter: u8, each: &mut impl FnMut(Token<'_>)) {
        if self.word.len() >= WORD_BYTES_MAX {
            self.end_word(each);
        }
        self.word.push(letter);
    }

    #[inline(always)]
    fn end_word(&mut self, each: &mut impl FnMut(Token<'_>)) {
        if !self.word.is_empty() {
            each(Token::Word(&self.word));
            self.word.clear();
        }
    }

    /// Takes the character that begins at `at`, a byte beyond ASCII, and returns the start of the next one.
    fn beyond_ascii(&mut self, bytes: &[u8], at: usize, each: &mut impl FnMut(Token<'_>)) -> usize {
        let needed = sequence_bytes(bytes[at]);
        let sequence = &bytes[at..bytes.len().min(at + needed)];
        match std::str::from_utf8(sequence) {
            Ok(character) => {
                self.character(character.chars().next().unwrap_or(' '), each);
                at + needed
            }
            // The next bytes may complete it.
            Err(error) if error.error_len().is_none() && sequence.len() < needed => {
                self.carry.extend_from_slice(sequence);
                bytes.len()
            }
            Err(_) => {
                self.end_word(each);
                at + 1
            }
        }
    }

    /// Adds the byte at `at` to the carried bytes if it continues them, and returns the position to go on from.
    fn complete(&mut self, bytes: &[u8], at: usize, each: &mut impl FnMut(Token<'_>)) -> usize {
        self.carry.push(bytes[at]);
        match std::str::from_utf8(&self.carry) {
            Ok(character) => {
                let character = character.chars().next().unwrap_or(' ');
                self.carry.clear();
                self.character(character, each);
                at + 1
            }
            Err(error) if error.error_len().is_none() => at + 1,
            Err(_) => {
                // Every carried byte separates; this one starts again.
                self.carry.clear();
                self.end_word(each);
                at
            }
        }
    }

    fn character(&mut self, character: char, each: &mut impl FnMut(Token<'_>)) {
        if !character.is_alphanumeric() {
            // Soft hyphens and joiners are inside words.
            if !matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}') {
                self.end_word(each);
            }
            return;
        }
        let is_word = is_word_alone(character);
        if is_word || self.word.len() + 12 > WORD_BYTES_MAX {
            self.end_word(each);
        }
        for lower in character.to_lowercase() {
            self.word.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if is_word {
            self.end_word(each);
        }
    }
}

/// The length of the character that begins with this byte; 1 if no character does.
fn sequence_bytes(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// True for ideographs and kana: their scripts have no spaces.
fn is_word_alone(character: char) -> bool {
    matches!(
        u32::from(character),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(parts: &[&[u8]]) -> Result<Vec<String>, UnsupportedDocument> {
        let mut found = vec![];
        let mut add = |token: Token<'_>| {
            found.push(match token {
                Token::Word(word) => String::from_utf8(word.to_vec()).unwrap(),
                Token::LineEnd => "\n".to_owned(),
            });
        };
        let mut splitter = Words::default();
        for part in parts {
            splitter.take(part, &mut add)?;
        }
        splitter.finish(&mut add);
        Ok(found)
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(&[text.as_bytes()]).unwrap(), expected, "{text}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        check("", &[]);
        check(" .,; ", &[]);
        check("Word", &["word"]);
        check("A rose, is (a) ROSE!", &["a", "rose", "is", "a", "rose"]);
        check("don't 3.14", &["don", "t", "3", "14"]);
        check("Füße ŒUVRE", &["füße", "œuvre"]);
        check("co\u{ad}operate", &["cooperate"]);
        check("日本語 text", &["日", "本", "語", "text"]);
        check("one\ntwo\r\n", &["one", "\n", "two", "\n", "\n"]);
    }

    #[test]
    fn bytes_that_are_no_text_separate_and_a_zero_is_refused() {
        assert_eq!(words(&[b"caf\xe9 noir"]).unwrap(), ["caf", "noir"]);
        assert_eq!(words(&[b"a\xf0\x9f", b"b"]).unwrap(), ["a", "b"]);
        assert_eq!(words(&[b"ab", b"c\0d"]), Err(UnsupportedDocument::Binary { offset: 3 }));
    }

    #[test]
    fn a_word_without_end_is_cut() {
        let found = words(&["x".repeat(600).as_bytes()]).unwrap();
        assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [256, 256, 88]);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_split_changes_nothing(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "[a-zA-Z0-9 ,.\\n]{0,8}".prop_map(String::into_bytes),
                    "\\PC{0,4}".prop_map(String::into_bytes),
                    proptest::collection::vec(1..=255_u8, 0..5),
                ],
                0..12,
            ),
            step in 1..9_usize,
        ) {
            let text = pieces.concat();
            let parts: Vec<&[u8]> = text.chunks(step).collect();
            prop_assert_eq!(words(&parts), words(&[&text]));
        }
    }

    #[test]
    fn every_byte_of_an_invalid_sequence_separates_and_a_zero_is_refused_anywhere() {
        for (text, expected) in [
            (&b"a\x80b"[..], &["a", "b"][..]),
            (b"a\xc3", &["a"]),
            (b"a\xe2\x82b", &["a", "b"]),
            (b"\xf0\x9f\x98", &[]),
            (b"\xed\xa0\x80x", &["x"]),
            (b"\xc3\xa9t\xc3\xa9", &["\u{e9}t\u{e9}"]),
        ] {
            assert_eq!(words(&[text]).unwrap(), expected, "{text:?}");
        }
        for offset in [0, 1, 255, 256, 5000] {
            let text = [vec![b'x'; offset], vec![0]].concat();
            let refused = Err(UnsupportedDocument::Binary { offset: offset as u64 });
            assert_eq!(words(&[&text]), refused, "{offset}");
            assert_eq!(words(&text.chunks(7).collect::<Vec<_>>()), refused, "{offset}");
        }
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_standard_library(text in "[a-zA-Z0-9 ,.;\\-ÄÖÜäöüßéÉñÇøØАБвгΣσλ\u{1F600}]{0,80}") {
            let expected: Vec<String> = text
                .split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| !word.is_empty())
                // (Not `str::to_lowercase`, which looks at the end of a word for a final sigma.)
                .map(|word| word.chars().flat_map(char::to_lowercase).collect())
                .collect();
            prop_assert_eq!(words(&[text.as_bytes()]).unwrap(), expected);
        }

        #[test]
        fn no_word_is_longer_than_the_limit(text in "[a-zé\u{10400}]{0,700}") {
            let found = words(&[text.as_bytes()]).unwrap();
            prop_assert!(found.iter().all(|word| word.len() <= WORD_BYTES_MAX));
            let letters: String = text.chars().flat_map(char::to_lowercase).collect();
            prop_assert_eq!(found.concat(), letters, "a word that is cut loses nothing");
        }
    }
}
