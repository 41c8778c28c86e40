//! The stream of characters, words or Soundex codes, and the hashes of its k-grams.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::extractor::Extracted;
use crate::java::{RollingHash, hash_code};
use crate::method::similarity_index::formula::Stream;
use crate::method::similarity_index::parameters::SimilarityIndex;
use crate::method::similarity_index::selector::Selector;
use crate::signature::Shortage;
use crate::soundex::soundex;
use crate::stop_words::is_stop_word;
use crate::text::Token;

/// The stream so far: its last k elements, and the hashes that were selected.
pub(super) struct ElementStream {
    index: SimilarityIndex,
    /// The words so far, if repeated words are left out.
    seen: HashSet<Box<[u8]>>,
    /// The count of each word, if frequent words are selected.
    counts: HashMap<Box<[u8]>, u64>,
    /// The UTF-16 code units of the k-gram.
    units: VecDeque<u16>,
    /// The number of code units in each element of the k-gram.
    lengths: VecDeque<usize>,
    rolling: RollingHash,
    elements: u64,
    selector: Selector,
}

impl ElementStream {
    pub(super) fn new(index: SimilarityIndex) -> ElementStream {
        ElementStream {
            index,
            seen: HashSet::new(),
            counts: HashMap::new(),
            units: VecDeque::new(),
            lengths: VecDeque::new(),
            rolling: RollingHash::EMPTY,
            elements: 0,
            selector: Selector::new(index),
        }
    }

    /// Takes the next token of the text.
    pub(super) fn take(&mut self, token: Token<'_>) {
        let Token::Word(word) = token else { return };
        let formula = self.index.formula;
        if formula.without_stop_words() && is_stop_word(word) {
            return;
        }
        let is_word = formula.stream != Stream::Characters;
        if is_word && formula.is_thinned() && !self.seen.insert(word.into()) {
            return;
        }
        match formula.stream {
            Stream::Soundex => {
                if let Some(code) = soundex(word) {
                    self.add_word(&code);
                }
            }
            Stream::Words => self.add_word(word),
            Stream::Characters => {
                let vowels: &[char] = if formula.is_thinned() { &['a', 'e', 'i', 'o', 'u'] } else { &[] };
                for letter in characters(word).filter(|letter| !vowels.contains(letter)) {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        self.add(std::iter::once(*unit), 0);
                    }
                }
            }
        }
    }

    fn add_word(&mut self, word: &[u8]) {
        if self.index.formula.number == 13 {
            *self.counts.entry(word.into()).or_insert(0) += 1;
            self.elements += 1;
        } else if word.is_ascii() {
            self.add(word.iter().map(|byte| u16::from(*byte)), 1);
        } else {
            let mut units = [0; 2];
            let word: Vec<u16> = characters(word).flat_map(|letter| letter.encode_utf16(&mut units).to_vec()).collect();
            self.add(word.into_iter(), 1);
        }
    }

    /// Appends an element to the k-gram, after a space if `spaces` is 1, removes the first element if there are more than
    /// k, and hands on the hash.
    fn add(&mut self, element: impl Iterator<Item = u16>, spaces: usize) {
        let k = self.index.k as usize;
        if spaces > 0 && !self.lengths.is_empty() {
            self.units.push_back(u16::from(b' '));
            self.rolling.add(u16::from(b' '));
        }
        let start = self.units.len();
        for unit in element {
            self.units.push_back(unit);
            self.rolling.add(unit);
        }
        self.lengths.push_back(self.units.len() - start);
        self.elements += 1;
        if self.lengths.len() > k {
            let first = self.lengths.pop_front().unwrap_or(0) + spaces;
            for unit in self.units.drain(..first) {
                self.rolling.remove(unit);
            }
        }
        if self.lengths.len() == k {
            self.selector.take(self.rolling.hash());
        }
    }

    /// Ends the document and returns its index.
    pub(super) fn finish(&mut self) -> Extracted {
        let done = std::mem::replace(self, ElementStream::new(self.index));
        let index = done.index;
        let unit = match index.formula.stream {
            Stream::Characters => "letters",
            Stream::Words => "words",
            Stream::Soundex => "words with a Soundex code",
        };
        let needed = if index.formula.number == 13 { 1 } else { u64::from(index.k) };
        let found = done.elements;
        let shortage = (found < needed).then_some(Shortage { found, needed, unit });
        let number = match index.formula.number {
            13 => frequent_words(&index, done.counts),
            _ => done.selector.finish(),
        };
        let windows = (found + 1).saturating_sub(needed);
        Extracted { windows, features: Vec::new(), index: shortage.is_none().then_some(number), shortage }
    }
}

/// The sum of the hashes of the most frequent words; among equally frequent words the first in the alphabet are taken.
fn frequent_words(index: &SimilarityIndex, counts: HashMap<Box<[u8]>, u64>) -> i128 {
    let mut counts: Vec<(Reverse<u64>, Box<[u8]>)> =
        counts.into_iter().map(|(word, count)| (Reverse(count), word)).collect();
    counts.sort_unstable();
    let mut units = [0; 2];
    counts
        .iter()
        .take(index.words as usize)
        .map(|(_, word)| hash_code(characters(word).flat_map(|letter| letter.encode_utf16(&mut units).to_vec())))
        .map(|hash| i128::from(index.number(hash)))
        .sum()
}

fn characters(word: &[u8]) -> impl Iterator<Item = char> {
    word.utf8_chunks().flat_map(|chunk| chunk.valid().chars())
}
