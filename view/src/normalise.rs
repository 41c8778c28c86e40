//! The normaliser: removes from a text the differences that depend only on the program that wrote it.
//!
//! - Characters are in Unicode NFKC: composed, ligatures and wide forms as plain letters. Case stays.
//! - Every run of white space, whatever its characters, is one space; a paragraph neither begins nor ends with one.
//! - Between letters of Chinese and Japanese, which are written without spaces, there is none: lines end anywhere in their words.
//! - One line feed separates two paragraphs and occurs nowhere else. Empty paragraphs are left out.
//! - Control characters are left out, and so are invisible characters (the Unicode property
//!   `Default_Ignorable_Code_Point`): soft hyphens, zero-width spaces and joiners, marks of direction, variation selectors.
//! - Of combining marks in a row the first [`MARKS_MAX`] remain: no language needs more, and the bound limits memory.
//!
//! **Invariant**: the result is the same whatever the sizes of the pushes, and normalising it again changes nothing.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, is_nfkc_quick};

/// Characters in a row that may join the one before.
const MARKS_MAX: usize = 64;
/// Such characters that are held at most: several may compose to one.
const MARKS_WAITING_MAX: usize = 4 * MARKS_MAX;

/// Takes text in pieces and appends the normalised text.
#[derive(Default, Debug)]
pub struct Normaliser {
    /// The last character, which later ones may join, and those that have joined it so far.
    waiting: String,
    /// Number of characters that have joined.
    marks: usize,
    /// True if white space followed the last character.
    space: bool,
    /// True after a letter of Chinese or Japanese, and after points and marks that follow it.
    east: bool,
    /// True if the paragraph has a character already.
    within: bool,
    /// True if a paragraph with text has ended.
    line: bool,
}

impl Normaliser {
    /// A normaliser at the beginning of a text.
    #[must_use]
    pub fn new() -> Normaliser {
        Normaliser::default()
    }

    /// Adds text to the present paragraph. The part that later text cannot change is appended to `out`.
    pub fn push(&mut self, mut text: &str, out: &mut String) {
        while let Some(first) = text.chars().next() {
            let plain = plain(text);
            if plain > 0 {
                let (run, rest) = text.split_at(plain);
                self.flush(out);
                // The next character may join its last one.
                let last = run.char_indices().next_back().map_or(0, |(at, _)| at);
                self.run(&run[..last], out);
                self.waiting.push_str(&run[last..]);
                text = rest;
                continue;
            }
            text = &text[first.len_utf8()..];
            self.character(first, out);
        }
    }

    /// Ends the present paragraph.
    pub fn end_paragraph(&mut self, out: &mut String) {
        self.flush(out);
        self.line |= self.within;
        self.within = false;
        self.space = false;
        self.east = false;
    }

    /// Ends the text. The next push begins another.
    pub fn finish(&mut self, out: &mut String) {
        self.flush(out);
        *self = Normaliser::default();
    }

    fn character(&mut self, character: char, out: &mut String) {
        if character.is_whitespace() {
            self.flush(out);
            self.space = true;
        } else if character.is_control() || is_invisible(character) {
        } else if begins(character) {
            self.flush(out);
            self.waiting.push(character);
        } else if self.marks < MARKS_WAITING_MAX {
            self.waiting.push(character);
            self.marks += 1;
        }
    }

    /// Appends the waiting text, which is final.
    fn flush(&mut self, out: &mut String) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        if self.marks == 0 && waiting.chars().all(is_settled) {
            self.run(&waiting, out);
        } else {
            self.composed(&waiting, out);
        }
        self.waiting = waiting;
        self.waiting.clear();
        self.marks = 0;
    }

    /// Appends a character with its marks. Some become a space with marks, or several words.
    fn composed(&mut self, text: &str, out: &mut String) {
        let mut marks = 0;
        for character in text.nfkc() {
            if character == ' ' {
                marks = 0;
                self.space = true;
                continue;
            }
            marks = if begins(character) { 0 } else { marks + 1 };
            if marks <= MARKS_MAX {
                self.run(character.encode_utf8(&mut [0; 4]), out);
            }
        }
    }

    /// Appends final text, with the space or line feed before it.
    fn run(&mut self, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        if self.within {
            if self.space && !(self.east && text.starts_with(is_east)) {
                out.push(' ');
            }
        } else if self.line {
            out.push('\n');
            self.line = false;
        }
        self.within = true;
        self.space = false;
        let letter = text.trim_end_matches(|mark: char| mark.is_ascii_punctuation()).chars().next_back();
        self.east = letter.map_or(self.east, is_east);
        out.push_str(text);
    }
}

/// Bytes that are looked at together.
const BLOCK_BYTES: usize = 16;

/// Length of the beginning of a text that needs no work: final letters, with single spaces inside.
fn plain(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut end, mut next_block) = (0, 1);
    while let Some(&byte) = bytes.get(end) {
        if end >= next_block {
            if let Some(block) = bytes.get(end - 1..end + BLOCK_BYTES)
                && is_plain_ascii(block)
            {
                end += BLOCK_BYTES;
                continue;
            }
            next_block = end + BLOCK_BYTES / 2;
        }
        if byte.is_ascii_graphic() || (byte == b' ' && end > 0 && bytes[end - 1] != b' ') {
            end += 1;
            continue;
        }
        match text[end..].chars().next() {
            // The space before it may have to go.
            Some(character) if is_east(character) && end > 0 && bytes[end - 1] == b' ' => break,
            Some(character) if !character.is_ascii() && is_settled(character) => end += character.len_utf8(),
            _ => break,
        }
    }
    end - usize::from(end > 0 && bytes[end - 1] == b' ')
}

/// True if all bytes but the first are printable ASCII, and no two of all are spaces in a row.
fn is_plain_ascii(block: &[u8]) -> bool {
    block.iter().zip(&block[1..]).fold(true, |fine, (&before, &byte)| {
        fine & (byte.wrapping_sub(b' ') < 0x5F) & !((byte == b' ') & (before == b' '))
    })
}

/// True for letters and points of Chinese and Japanese.
fn is_east(character: char) -> bool {
    matches!(character,
        '\u{3001}'..='\u{3011}' | '\u{3014}'..='\u{301B}' | '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// True if a character is known to stay unchanged unless another joins it, and to join none: most letters of most
/// texts. Others are looked up.
fn is_settled(character: char) -> bool {
    matches!(character,
        ' '..='~' | '\u{C0}'..='\u{131}' | '\u{134}'..='\u{13E}' | '\u{141}'..='\u{148}' | '\u{14A}'..='\u{17E}'
        | '\u{391}'..='\u{3A1}' | '\u{3A3}'..='\u{3CE}' | '\u{400}'..='\u{482}' | '\u{48A}'..='\u{52F}'
        | '\u{5D0}'..='\u{5EA}' | '\u{621}'..='\u{64A}' | '\u{2010}' | '\u{2012}'..='\u{2016}' | '\u{2018}'..='\u{2023}'
        | '\u{20AC}' | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FE}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// True if a character never joins the text before it, so that text may be cut before it.
fn begins(character: char) -> bool {
    if is_settled(character) || character.is_ascii() {
        return true;
    }
    let mut first = None;
    decompose_compatible(character, |part| {
        first.get_or_insert(part);
    });
    let first = first.unwrap_or(character);
    canonical_combining_class(first) == 0 && is_nfkc_quick(std::iter::once(first)) == IsNormalized::Yes
}

/// `Default_Ignorable_Code_Point` of Unicode: characters that are invisible in every font.
fn is_invisible(character: char) -> bool {
    matches!(u32::from(character),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E
        | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFF8 | 0x1BCA0..=0x1BCA3
        | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests;
