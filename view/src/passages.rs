//! The forms of text for the text views: all of it on one line, or in passages.

use std::io::{self, BufRead as _, BufReader, Read};

/// A paragraph that is no longer (a heading, a cell of a table) is part of the passage that follows it.
pub const PASSAGE_BYTES_MIN: usize = 80;
/// A longer paragraph is several passages.
pub const PASSAGE_BYTES_MAX: usize = 64 << 10;

/// Text with its paragraphs on one line, because another program may have broken them elsewhere.
#[derive(Debug)]
pub struct JoinedLines<R>(pub R);

impl<R: Read> Read for JoinedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        buffer[..count].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        Ok(count)
    }
}

/// Calls `each` with every passage of a text whose paragraphs are lines.
///
/// # Errors
/// Errors of reading, and those of `each`.
pub fn each_passage<E: From<io::Error>>(
    text: impl Read,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut text = BufReader::new(text);
    let mut passage = Vec::new();
    loop {
        let space = (PASSAGE_BYTES_MAX - passage.len()) as u64;
        let is_last = (&mut text).take(space).read_until(b'\n', &mut passage)? == 0;
        let ended = passage.last() == Some(&b'\n');
        if let Some(last) = passage.last_mut().filter(|_| ended) {
            // A space separates it from the next paragraph, which may join it.
            *last = b' ';
        }
        let is_long = ended && passage.len() > PASSAGE_BYTES_MIN;
        if is_last || is_long || passage.len() >= PASSAGE_BYTES_MAX {
            match passage.trim_ascii() {
                [] => {}
                trimmed => each(trimmed)?,
            }
            passage.clear();
        }
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passages(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        each_passage(text.as_bytes(), |passage| {
            all.push(String::from_utf8(passage.to_vec()).unwrap());
            Ok::<(), io::Error>(())
        })
        .unwrap();
        all
    }

    #[test]
    fn a_heading_belongs_to_the_passage_that_follows_it() {
        let long = "word ".repeat(30);
        let text = format!("Heading\n{long}\nAnother\nheading\n{long}\nThe end");
        let expected =
            [format!("Heading {}", long.trim()), format!("Another heading {}", long.trim()), "The end".into()];
        assert_eq!(passages(&text), expected);
        assert_eq!(passages(""), Vec::<String>::new());
    }

    #[test]
    fn a_paragraph_that_is_too_long_is_cut() {
        let lengths: Vec<usize> = passages(&"x".repeat(3 * PASSAGE_BYTES_MAX - 1)).iter().map(String::len).collect();
        assert_eq!(lengths, [PASSAGE_BYTES_MAX, PASSAGE_BYTES_MAX, PASSAGE_BYTES_MAX - 1]);
    }

    proptest! {
        #[test]
        fn no_word_is_lost_or_repeated(paragraphs in proptest::collection::vec("[a-z]{1,9}( [a-z]{1,9}){0,30}", 0..9)) {
            let text = paragraphs.join("\n");
            prop_assert_eq!(passages(&text).join(" "), text.replace('\n', " "));
        }
    }

    #[test]
    fn joined_lines_have_no_line_feeds() {
        for (text, joined) in [("", ""), ("a\nb\n", "a b "), ("\n\n", "  ")] {
            let mut out = String::new();
            JoinedLines(text.as_bytes()).read_to_string(&mut out).unwrap();
            assert_eq!(out, joined);
        }
    }

    #[test]
    fn a_paragraph_of_80_bytes_is_no_passage_of_its_own() {
        for (length, count) in [(PASSAGE_BYTES_MIN - 1, 1), (PASSAGE_BYTES_MIN, 2), (PASSAGE_BYTES_MIN + 1, 2)] {
            let text = format!("{}\n{}\n", "x".repeat(length), "y".repeat(200));
            assert_eq!(passages(&text).len(), count, "{length}");
        }
    }

    #[test]
    fn an_error_of_a_visitor_ends_the_visit() {
        let text = format!("{}\n", "x".repeat(100)).repeat(3);
        let mut visits = 0;
        let result = each_passage(text.as_bytes(), |_| {
            visits += 1;
            Err(io::Error::other("enough"))
        });
        assert!(result.is_err() && visits == 1);
    }

    proptest! {
        #[test]
        fn passages_are_within_their_limits(
            paragraphs in proptest::collection::vec(("[a-zäé ]{0,90}", 1_usize..2000), 0..5),
        ) {
            let text: String = paragraphs.iter().map(|(text, times)| text.repeat(*times) + "\n").collect();
            let mut lengths = Vec::new();
            each_passage(text.as_bytes(), |passage| {
                assert!(!passage.is_empty() && passage.trim_ascii() == passage);
                lengths.push(passage.len());
                Ok::<(), io::Error>(())
            })
            .unwrap();
            prop_assert!(lengths.iter().all(|&length| length <= PASSAGE_BYTES_MAX));
        }

        #[test]
        fn joined_lines_are_the_text_with_spaces(text in "[a-zä\n]{0,200}", read_bytes in 1_usize..9) {
            let mut joined = JoinedLines(text.as_bytes());
            let mut all = Vec::new();
            let mut buffer = vec![0; read_bytes];
            loop {
                let read = joined.read(&mut buffer).unwrap();
                if read == 0 {
                    break;
                }
                all.extend(&buffer[..read]);
            }
            prop_assert_eq!(String::from_utf8(all).unwrap(), text.replace('\n', " "));
        }
    }
}
