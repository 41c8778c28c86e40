//! `similarity-index`: one number for a document.
//!
//! Source: M. S. Roth, "The Similarity Index" (2011). A document as a stream of characters, words or Soundex codes,
//! stripped in one of four ways, gives the Java hash codes of its k-grams; 14 ways to select among these and to add them
//! up give as many numbers, named by their tracking number and variation: `43B` sums the hashes of Soundex k-grams that
//! are 0 modulo 25, stop words left out. Another document is like it when its number lies within 30 % (`is_hit`).
//!
//! Memory: a few hundred hashes; ways that leave out repeated words, count words or build super shingles keep these, and
//! refuse documents of more than 256 MiB.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt;

use crate::java::{RollingHash, array_hash_code, hash_code};
use crate::rabin::{Polynomial, Rabin};
use crate::signature::{Shortage, Unfit};
use crate::signer::{Made, Maker};
use crate::soundex::soundex;
use crate::stop_words::is_stop_word;
use crate::text::{Token, Words};

/// The most that a way reads which keeps what it reads.
const LIMIT_BYTES: u64 = 256 << 20;
/// `x^64 + x^4 + x^3 + x + 1`, the usual polynomial of 64-bit Rabin hashes in Java. An index is not keyed.
const POLYNOMIAL: u64 = 0x1b;
/// Hashes that are 0 modulo this are kept.
const MODULUS: i64 = 25;

/// What a document is a stream of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// The letters and digits of its words, without spaces.
    Characters,
    /// Its words.
    Words,
    /// The Soundex codes of its words.
    Soundex,
}

/// What is left out of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variation {
    /// Nothing.
    A,
    /// Stop words.
    B,
    /// Vowels (of a stream of characters) or words that were there before.
    C,
    /// Both.
    D,
}

/// One of the 14 ways with its stream and variation: `43B`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// 1 to 14.
    pub number: u8,
    /// What it reads.
    pub stream: Stream,
    /// What is left out.
    pub variation: Variation,
}

/// The parameters of the method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimilarityIndex {
    /// How the number is made.
    pub way: Way,
    /// The length of a k-gram.
    pub k: u32,
    /// The window of winnowing, in k-grams.
    pub w: u32,
    /// How many of the lowest or highest hashes are kept.
    pub sample: u32,
    /// How many of the most frequent words are.
    pub words: u32,
    /// Where the random third begins.
    pub seed: u32,
    /// Whether hashes are signed, as Java has them, or taken as unsigned.
    pub signed: bool,
}

/// Which hashes are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selection {
    All,
    Modulus,
    Winnowing,
    Lowest,
    Highest,
    RandomThird,
}

impl Way {
    /// Reads a tracking number and a variation.
    pub fn parse(text: &str) -> Option<Way> {
        let (number, variation) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let variation = match variation {
            "A" | "a" => Variation::A,
            "B" | "b" => Variation::B,
            "C" | "c" => Variation::C,
            "D" | "d" => Variation::D,
            _ => return None,
        };
        let tracking: u8 = number.parse().ok().filter(|_| !number.starts_with(['0', '+']))?;
        let stream = [Stream::Characters, Stream::Words, Stream::Soundex].get(usize::from(tracking / 20))?;
        let way = Way { number: tracking % 20, stream: *stream, variation };
        let exists = (1..=14).contains(&way.number) && !(way.number == 13 && way.stream == Stream::Characters);
        exists.then_some(way)
    }

    /// All 164 that exist.
    pub fn all() -> impl Iterator<Item = Way> {
        (1..=54)
            .flat_map(|number| ["A", "B", "C", "D"].map(|variation| format!("{number}{variation}")))
            .filter_map(|name| Way::parse(&name))
    }

    fn without_stop_words(self) -> bool {
        matches!(self.variation, Variation::B | Variation::D)
    }

    /// Without vowels, or without words that were there before.
    fn thinned(self) -> bool {
        matches!(self.variation, Variation::C | Variation::D)
    }

    fn selection(self) -> Selection {
        match self.number {
            3 | 4 => Selection::Modulus,
            5 | 6 => Selection::Winnowing,
            7 | 8 => Selection::Lowest,
            9 | 10 => Selection::Highest,
            11 | 12 => Selection::RandomThird,
            _ => Selection::All,
        }
    }

    /// Whether memory grows with the document.
    fn keeps(self) -> bool {
        self.number >= 13 || (self.thinned() && self.stream != Stream::Characters)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = match self.stream {
            Stream::Characters => 0,
            Stream::Words => 20,
            Stream::Soundex => 40,
        };
        write!(f, "{}{:?}", self.number + offset, self.variation)
    }
}

/// Whether a document of index `other` is a hit for one of index `query`: strictly within 30 % of the latter. A hit the
/// one way is none the other way round by itself.
pub fn is_hit(query: i128, other: i128) -> bool {
    (other - query).abs().saturating_mul(10) < query.abs().saturating_mul(3)
}

impl SimilarityIndex {
    pub(crate) fn maker(self) -> IndexMaker {
        IndexMaker { words: Words::default(), stream: Streaming::new(self), seen_bytes: 0 }
    }
}

/// Makes the index of a document.
pub(crate) struct IndexMaker {
    words: Words,
    stream: Streaming,
    seen_bytes: u64,
}

/// The stream as far as it was read: its last k elements, and what became of the hashes.
struct Streaming {
    index: SimilarityIndex,
    /// Words that were there before, or how often each was.
    before: HashSet<Box<[u8]>>,
    counts: HashMap<Box<[u8]>, u64>,
    /// The code units of the k-gram, and how many each of its elements has.
    units: VecDeque<u16>,
    lengths: VecDeque<usize>,
    rolling: RollingHash,
    elements: u64,
    kept: Kept,
}

impl Streaming {
    fn new(index: SimilarityIndex) -> Streaming {
        Streaming {
            index,
            before: HashSet::new(),
            counts: HashMap::new(),
            units: VecDeque::new(),
            lengths: VecDeque::new(),
            rolling: RollingHash::EMPTY,
            elements: 0,
            kept: Kept::new(index),
        }
    }

    fn take(&mut self, token: Token<'_>) {
        let Token::Word(word) = token else { return };
        let way = self.index.way;
        if way.without_stop_words() && is_stop_word(word) {
            return;
        }
        let is_word = way.stream != Stream::Characters;
        if is_word && way.thinned() && !self.before.insert(word.into()) {
            return;
        }
        match way.stream {
            Stream::Soundex => {
                if let Some(code) = soundex(word) {
                    self.add_word(&code);
                }
            }
            Stream::Words => self.add_word(word),
            Stream::Characters => {
                let vowels: &[char] = if way.thinned() { &['a', 'e', 'i', 'o', 'u'] } else { &[] };
                for letter in characters(word).filter(|letter| !vowels.contains(letter)) {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        self.add(std::iter::once(*unit), 0);
                    }
                }
            }
        }
    }

    fn add_word(&mut self, word: &[u8]) {
        if self.index.way.number == 13 {
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

    /// Adds an element to the k-gram, behind a space where `spaces` is 1, lets go of the one that is one too many, and
    /// takes note of the hash.
    fn add(&mut self, element: impl Iterator<Item = u16>, spaces: usize) {
        let k = self.index.k as usize;
        if spaces > 0 && !self.lengths.is_empty() {
            self.units.push_back(u16::from(b' '));
            self.rolling.add(u16::from(b' '));
        }
        let before = self.units.len();
        for unit in element {
            self.units.push_back(unit);
            self.rolling.add(unit);
        }
        self.lengths.push_back(self.units.len() - before);
        self.elements += 1;
        if self.lengths.len() > k {
            let first = self.lengths.pop_front().unwrap_or(0) + spaces;
            for unit in self.units.drain(..first) {
                self.rolling.remove(unit);
            }
        }
        if self.lengths.len() == k {
            self.kept.take(self.rolling.hash());
        }
    }

    fn finish(&mut self) -> Made {
        let done = std::mem::replace(self, Streaming::new(self.index));
        let index = done.index;
        let unit = match index.way.stream {
            Stream::Characters => "letters",
            Stream::Words => "words",
            Stream::Soundex => "words with a Soundex code",
        };
        let needed = if index.way.number == 13 { 1 } else { u64::from(index.k) };
        let found = done.elements;
        let shortage = (found < needed).then_some(Shortage { found, needed, unit });
        let number = match index.way.number {
            13 => frequent_words(&index, done.counts),
            _ => done.kept.finish(),
        };
        let windows = (found + 1).saturating_sub(needed);
        Made { windows, features: Vec::new(), index: shortage.is_none().then_some(number), shortage }
    }
}

/// The sum of the hashes of the most frequent words; among equally frequent ones the first in the alphabet.
fn frequent_words(index: &SimilarityIndex, counts: HashMap<Box<[u8]>, u64>) -> i128 {
    let mut counts: Vec<(Reverse<u64>, Box<[u8]>)> =
        counts.into_iter().map(|(word, count)| (Reverse(count), word)).collect();
    counts.sort_unstable();
    let mut units = [0; 2];
    counts
        .iter()
        .take(index.words as usize)
        .map(|(_, word)| hash_code(characters(word).flat_map(|letter| letter.encode_utf16(&mut units).to_vec())))
        .map(|hash| i128::from(number(hash, index.signed)))
        .sum()
}

fn characters(word: &[u8]) -> impl Iterator<Item = char> {
    word.utf8_chunks().flat_map(|chunk| chunk.valid().chars())
}

/// A hash as a number.
fn number(hash: i32, signed: bool) -> i64 {
    if signed { hash.into() } else { hash.cast_unsigned().into() }
}

/// The hashes that were kept, as far as they must be.
struct Kept {
    selection: Selection,
    signed: bool,
    sum: Sum,
    /// The lowest, or the highest with their signs turned.
    extreme: BinaryHeap<i64>,
    sample: usize,
    winnowing: Winnowing,
    random: u64,
    /// All of them, for super shingles.
    list: Option<Vec<i32>>,
    k: usize,
}

/// Adds up what is kept, one way or the other.
enum Sum {
    Plain(i128),
    Rabin { rabin: Box<Rabin>, fingerprint: u64, signed: bool },
}

impl Kept {
    fn new(index: SimilarityIndex) -> Kept {
        let number = index.way.number;
        let is_rabin = number.is_multiple_of(2) && number < 13;
        let polynomial = is_rabin.then(|| Polynomial::new(POLYNOMIAL)).flatten();
        let sum = match polynomial {
            Some(polynomial) => {
                Sum::Rabin { rabin: Box::new(Rabin::new(polynomial)), fingerprint: 0, signed: index.signed }
            }
            None => Sum::Plain(0),
        };
        Kept {
            selection: index.way.selection(),
            signed: index.signed,
            sum,
            extreme: BinaryHeap::new(),
            sample: index.sample as usize,
            winnowing: Winnowing::new(index.w as usize),
            random: index.seed.into(),
            list: (number == 14).then(Vec::new),
            k: index.k as usize,
        }
    }

    fn take(&mut self, hash: i32) {
        let value = number(hash, self.signed);
        match self.selection {
            Selection::All => match &mut self.list {
                Some(list) => list.push(hash),
                None => self.sum.add(value),
            },
            Selection::Modulus if value % MODULUS == 0 => self.sum.add(value),
            Selection::Modulus => {}
            Selection::Winnowing => {
                if let Some(value) = self.winnowing.take(value) {
                    self.sum.add(value);
                }
            }
            Selection::Lowest => self.extreme(value),
            Selection::Highest => self.extreme(-value),
            Selection::RandomThird => {
                if self.third() {
                    self.sum.add(value);
                }
            }
        }
    }

    fn extreme(&mut self, value: i64) {
        if self.extreme.len() < self.sample {
            self.extreme.push(value);
        } else if self.extreme.peek().is_some_and(|worst| value < *worst) {
            self.extreme.pop();
            self.extreme.push(value);
        }
    }

    /// One in three, by the generator `SplitMix64` from the seed on.
    fn third(&mut self) -> bool {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31).is_multiple_of(3)
    }

    fn finish(mut self) -> i128 {
        if let Some(list) = self.list {
            return i128::from(number(super_shingle(list, self.k), self.signed));
        }
        if let Some(value) = self.winnowing.finish() {
            self.sum.add(value);
        }
        let sign = if self.selection == Selection::Highest { -1 } else { 1 };
        for value in self.extreme.into_sorted_vec() {
            self.sum.add(sign * value);
        }
        self.sum.finish()
    }
}

impl Sum {
    fn add(&mut self, value: i64) {
        match self {
            Sum::Plain(sum) => *sum += i128::from(value),
            Sum::Rabin { rabin, fingerprint, .. } => {
                // The four bytes that signed and unsigned values have in common.
                *fingerprint = rabin.extend(*fingerprint, &value.to_be_bytes()[4..]);
            }
        }
    }

    fn finish(self) -> i128 {
        match self {
            Sum::Plain(sum) => sum,
            Sum::Rabin { fingerprint, signed: true, .. } => fingerprint.cast_signed().into(),
            Sum::Rabin { fingerprint, signed: false, .. } => fingerprint.into(),
        }
    }
}

/// k-grams of k-grams, side by side, until one number is left. (Overlapping ones, which the paper may mean, would take time
/// that grows with the square of the length; either way an edit anywhere changes the number.)
fn super_shingle(mut hashes: Vec<i32>, k: usize) -> i32 {
    while hashes.len() > 1 {
        hashes = hashes.chunks(k.max(2)).map(array_hash_code).collect();
    }
    hashes.first().copied().unwrap_or(0)
}

/// Winnowing (Schleimer, Wilkerson, Aiken, 2003): of every w hashes in a row the smallest, the last of several equal ones;
/// one that is the smallest of several windows counts once. Where there are fewer than w hashes, the smallest of them.
struct Winnowing {
    w: usize,
    seen: u64,
    /// Hashes that can still become a smallest one, rising, with their places.
    rising: VecDeque<(u64, i64)>,
    last: Option<u64>,
}

impl Winnowing {
    fn new(w: usize) -> Winnowing {
        Winnowing { w, seen: 0, rising: VecDeque::new(), last: None }
    }

    /// The hash that the window which ends here selects, unless it has been selected before.
    fn take(&mut self, value: i64) -> Option<i64> {
        while self.rising.back().is_some_and(|(_, other)| *other >= value) {
            self.rising.pop_back();
        }
        self.rising.push_back((self.seen, value));
        self.seen += 1;
        let first = self.seen.checked_sub(self.w as u64)?;
        while self.rising.front().is_some_and(|(place, _)| *place < first) {
            self.rising.pop_front();
        }
        self.select()
    }

    fn select(&mut self) -> Option<i64> {
        let (place, value) = *self.rising.front()?;
        (self.last.replace(place) != Some(place)).then_some(value)
    }

    fn finish(&mut self) -> Option<i64> {
        if self.last.is_none() { self.select() } else { None }
    }
}

impl Maker for IndexMaker {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        self.seen_bytes += bytes.len() as u64;
        if self.stream.index.way.keeps() && self.seen_bytes > LIMIT_BYTES {
            return Err(Unfit::TooLarge { limit_bytes: LIMIT_BYTES });
        }
        let stream = &mut self.stream;
        self.words.take(bytes, |token| stream.take(token))
    }

    fn finish(&mut self) -> Made {
        self.seen_bytes = 0;
        let stream = &mut self.stream;
        self.words.finish(|token| stream.take(token));
        self.stream.finish()
    }
}

#[cfg(test)]
mod tests;
