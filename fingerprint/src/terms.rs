//! The words of a text with their counts: the likeness of texts that the candidates of `fuzzy` are verified by.
//!
//! Source: the vector space model, as in B. Stein, S. Meyer zu Eissen, "Near similarity search and plagiarism analysis" (2006):
//! words except stop words, each with its count; the narrower the angle between two vectors, the more alike the texts. Words
//! are not stemmed, so that `run` and `runs` are two words. Each word has the form of its keyed hash: without the key one
//! learns the number of common words, not the words.

use std::collections::BTreeMap;
use std::io::{self, Read};

use crate::chunk::Tag;
use crate::key::Key;
use crate::signature::Tagger;
use crate::stop_words::is_stop_word;
use crate::text::{Token, Words};

/// The words of a text under their keyed hashes, each with its count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    counts: BTreeMap<Tag, u32>,
}

impl Terms {
    /// Reads a text to its end. Memory grows with the number of different words.
    ///
    /// # Errors
    /// If the reader fails; with an [`UnsupportedDocument`](crate::UnsupportedDocument) inside `InvalidData` if it is no text.
    pub fn read(text: &mut impl Read, key: &Key) -> io::Result<Terms> {
        let tagger = Tagger::new(key);
        let mut counts: BTreeMap<Box<[u8]>, u32> = BTreeMap::new();
        let mut count = |token: Token<'_>| {
            if let Token::Word(word) = token
                && !is_stop_word(word)
            {
                match counts.get_mut(word) {
                    Some(count) => *count = count.saturating_add(1),
                    None => _ = counts.insert(word.into(), 1),
                }
            }
        };
        let (mut words, mut buffer) = (Words::default(), vec![0; 64 * 1024]);
        loop {
            match text.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => words.take(&buffer[..length], &mut count)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        words.finish(&mut count);
        Ok(Terms { counts: counts.into_iter().map(|(word, count)| (tagger.tag(&word), count)).collect() })
    }

    /// The number of different words.
    pub fn different(&self) -> usize {
        self.counts.len()
    }

    fn square(&self) -> f64 {
        self.counts.values().map(|count| f64::from(*count) * f64::from(*count)).sum()
    }
}

/// The cosine of the angle between two texts, 0 to 1; `None` if one of them has no words.
pub fn cosine(a: &Terms, b: &Terms) -> Option<f64> {
    let common = a.counts.iter().filter_map(|(word, count)| Some((*count, *b.counts.get(word)?)));
    let product: f64 = common.map(|(in_a, in_b)| f64::from(in_a) * f64::from(in_b)).sum();
    let length = (a.square() * b.square()).sqrt();
    (length > 0.0).then(|| product / length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{ShortReads, texts};

    fn terms(text: &str) -> Terms {
        Terms::read(&mut text.as_bytes(), &Key::none()).unwrap()
    }

    #[test]
    fn the_cosine_counts_words_in_common_in_any_order() {
        let check = |a: &str, b: &str, expected: Option<f64>| {
            let found = cosine(&terms(a), &terms(b));
            assert_eq!(
                found.map(|cosine| (cosine * 1e6).round()),
                expected.map(|cosine| (cosine * 1e6).round()),
                "{a}|{b}"
            );
        };
        check("rose tulip", "Tulip, the ROSE", Some(1.0));
        check("rose tulip", "oak elm", Some(0.0));
        check("rose tulip", "rose oak", Some(0.5));
        // (2, 1) and (1, 2): 4 of 5.
        check("rose rose tulip", "rose tulip tulip", Some(0.8));
        check("rose", "the of", None);
        assert_eq!(terms("the rose is a rose").different(), 1);
        assert!(Terms::read(&mut &b"\0"[..], &Key::none()).is_err());
    }

    proptest! {
        #[test]
        fn the_sizes_of_the_reads_change_no_count_and_letters_of_several_bytes_stay_whole(text in texts(), step in 1..9_usize) {
            let in_parts = Terms::read(&mut ShortReads { rest: text.as_bytes(), step }, &Key::none()).unwrap();
            prop_assert_eq!(&in_parts, &terms(&text));
            prop_assert!(cosine(&in_parts, &in_parts).is_none_or(|cosine| (cosine - 1.0).abs() < 1e-9));
        }

        #[test]
        fn the_order_of_the_words_does_not_matter_and_the_key_does(words in prop::collection::vec("[b-z]{3,9}", 1..30)) {
            let reversed: Vec<String> = words.iter().rev().cloned().collect();
            prop_assert_eq!(terms(&words.join(" ")), terms(&reversed.join("\n")));
            let key = Key::parse(&[7; 32]).unwrap();
            let keyed = Terms::read(&mut words.join(" ").as_bytes(), &key).unwrap();
            prop_assert_eq!(keyed.different(), terms(&words.join(" ")).different());
            prop_assert!(cosine(&keyed, &terms(&words.join(" "))).is_none_or(|cosine| cosine == 0.0));
        }
    }
}
