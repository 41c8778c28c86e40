//! Makes a given number of edits: "a " is inserted before a word, or a word is removed, at random or evenly spread.

use crate::rng::Rng;

/// A kind of edit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edit {
    /// "a " is inserted before a word: the paper's `RC_a`.
    InsertA,
    /// A word is removed with the white space after it: the paper's `RC_w`.
    RemoveWord,
}

/// The distribution of edits over a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spread {
    /// At random words.
    Random,
    /// At words with equal distances.
    Uniform,
}

/// The start and end of each word of a document; a word is a run of bytes without white space.
pub(crate) fn words(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in bytes.iter().enumerate() {
        let space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c);
        match (space, start) {
            (true, Some(from)) => {
                words.push((from, at));
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    words.extend(start.map(|from| (from, bytes.len())));
    words
}

/// The document with `count` edits, or one for each word if it has fewer words.
pub(crate) fn edited(
    bytes: &[u8],
    words: &[(usize, usize)],
    edit: Edit,
    spread: Spread,
    count: usize,
    rng: &mut Rng,
) -> Vec<u8> {
    let chosen = match spread {
        Spread::Random => rng.choose(count, words.len()),
        Spread::Uniform => {
            let count = count.min(words.len());
            (0..count).map(|number| (2 * number + 1) * words.len() / (2 * count)).collect()
        }
    };
    let mut out = Vec::with_capacity(bytes.len() + 2 * count);
    let mut done = 0;
    for (start, end) in chosen.into_iter().map(|word| words[word]) {
        match edit {
            Edit::InsertA => {
                out.extend_from_slice(&bytes[done..start]);
                out.extend_from_slice(b"a ");
                done = start;
            }
            Edit::RemoveWord => {
                out.extend_from_slice(&bytes[done..start.max(done)]);
                done = (end + 1).min(bytes.len());
            }
        }
    }
    out.extend_from_slice(&bytes[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_as_many_words_more_or_less_as_there_were_edits() {
        let text = "one two  three\nfour five six seven eight nine ten".repeat(20);
        let spans = words(text.as_bytes());
        for spread in [Spread::Random, Spread::Uniform] {
            for count in [0, 1, 7, 50] {
                let after = |edit| {
                    let bytes = edited(text.as_bytes(), &spans, edit, spread, count, &mut Rng::new(1));
                    words(&bytes).len()
                };
                assert_eq!(after(Edit::InsertA), spans.len() + count);
                assert_eq!(after(Edit::RemoveWord), spans.len() - count, "{spread:?} {count}");
            }
        }
    }

    #[test]
    fn uniform_edits_are_equally_far_from_each_other() {
        let text = "w ".repeat(100);
        let bytes =
            edited(text.as_bytes(), &words(text.as_bytes()), Edit::InsertA, Spread::Uniform, 4, &mut Rng::new(1));
        let places: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'a').map(|(at, _)| at).collect();
        assert_eq!(places, [24, 76, 128, 180], "before words 12, 37, 62 and 87, each moved on by what came before it");
    }

    #[test]
    fn words_are_runs_without_white_space() {
        for (text, expected) in [
            ("", vec![]),
            (" \n\t", vec![]),
            ("one", vec![(0, 3)]),
            (" one two ", vec![(1, 4), (5, 8)]),
            ("a\r\nb\u{b}c\u{c}d", vec![(0, 1), (3, 4), (5, 6), (7, 8)]),
        ] {
            assert_eq!(words(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn edits_are_at_most_one_for_each_word() {
        let text = b"one two three";
        let spans = words(text);
        for spread in [Spread::Random, Spread::Uniform] {
            let all = |edit| edited(text, &spans, edit, spread, 99, &mut Rng::new(1));
            assert_eq!(all(Edit::InsertA), b"a one a two a three");
            assert!(words(&all(Edit::RemoveWord)).is_empty());
            assert_eq!(edited(b"", &[], Edit::InsertA, spread, 5, &mut Rng::new(1)), b"");
        }
    }
}
