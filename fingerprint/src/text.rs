//! Bytes to words: the canonical sequence that methods of words read, in bounded memory, however the bytes are split up.
//!
//! A word is a longest run of letters and digits, in lower case; everything else separates words and is dropped. Of an
//! invalid UTF-8 sequence every byte separates. A word of more than 256 bytes goes on as another one, and an ideograph
//! or a kana is a word of its own, since such scripts have no spaces. Lines end at line feeds and carriage returns.

use crate::signature::Unfit;

/// Where a word is cut, so that a document without separators takes no more memory than another.
pub(crate) const WORD_BYTES_MAX: usize = 256;

/// What a text consists of.
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
    /// The beginning of a character whose end has not come yet.
    carry: Vec<u8>,
    seen_bytes: u64,
}

const SEPARATOR: u8 = 0;
const LINE_END: u8 = 1;
const ZERO: u8 = 2;
const BEYOND_ASCII: u8 = 3;

/// What each byte is: one of the four above, or a letter or digit, given in lower case.
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
    pub(crate) fn take(&mut self, bytes: &[u8], mut each: impl FnMut(Token<'_>)) -> Result<(), Unfit> {
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
                ZERO => return Err(Unfit::Binary { offset: self.seen_bytes + at as u64 }),
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

    /// The text has ended: hands over its last word. The splitter is as new afterwards.
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

    /// Takes the character that begins at `at`, a byte beyond ASCII, and says where the next one begins.
    fn beyond_ascii(&mut self, bytes: &[u8], at: usize, each: &mut impl FnMut(Token<'_>)) -> usize {
        let needed = sequence_bytes(bytes[at]);
        let there = &bytes[at..bytes.len().min(at + needed)];
        match std::str::from_utf8(there) {
            Ok(character) => {
                self.character(character.chars().next().unwrap_or(' '), each);
                at + needed
            }
            // It may still become one.
            Err(error) if error.error_len().is_none() && there.len() < needed => {
                self.carry.extend_from_slice(there);
                bytes.len()
            }
            Err(_) => {
                self.end_word(each);
                at + 1
            }
        }
    }

    /// Adds the byte at `at` to what was carried over, if it belongs there, and says where to go on.
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
                // Every byte that was carried over separates; this one is looked at by itself.
                self.carry.clear();
                self.end_word(each);
                at
            }
        }
    }

    fn character(&mut self, character: char, each: &mut impl FnMut(Token<'_>)) {
        if !character.is_alphanumeric() {
            // Soft hyphens and joiners stand inside words.
            if !matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}') {
                self.end_word(each);
            }
            return;
        }
        let stands_alone = stands_alone(character);
        if stands_alone || self.word.len() + 12 > WORD_BYTES_MAX {
            self.end_word(each);
        }
        for lower in character.to_lowercase() {
            self.word.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if stands_alone {
            self.end_word(each);
        }
    }
}

/// How many bytes the character has that begins with this byte; 1 where none does.
fn sequence_bytes(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// Ideographs and kana: scripts without spaces.
fn stands_alone(character: char) -> bool {
    matches!(
        u32::from(character),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(parts: &[&[u8]]) -> Result<Vec<String>, Unfit> {
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
        assert_eq!(words(&[b"ab", b"c\0d"]), Err(Unfit::Binary { offset: 3 }));
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
}
