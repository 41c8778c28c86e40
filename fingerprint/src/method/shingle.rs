//! `shingle`: w tokens in a row, of a text as a canonical sequence of tokens.
//!
//! Source: A. Broder, "On the resemblance and containment of documents" (1997). Tokens are letters, words or lines of the
//! canonical text (`docs/fingerprint.md`). Option A labels each shingle with how often it has occurred before, so that a
//! document is a bag; option B, the default, takes the set. Of the shingles' values a sample is kept: `MOD_m`, `MIN_s`, `MIN_s`
//! of `MOD_m`, `L_i`, or all of them.
//!
//! A token is fingerprinted by itself and goes as eight bytes into the fingerprint of its shingle, which is rolled on
//! from token to token: "the tokens padded to eight bytes" of the paper, with no word too long.
//!
//! Memory: the sample; with option A also a count for every distinct shingle.

use std::fmt;

use super::labels::Labels;
use super::levels::{Levels, at_level, level};
use super::min_n::MinN;
use super::mod_n::ModN;
use crate::estimate::{self, Likeness};
use crate::mix::Mix;
use crate::rabin::{Rabin, Shift};
use crate::sampler::{AnySampler, one_in};
use crate::signature::{Shortage, Signature, Tagger, Unfit};
use crate::signer::{Made, Maker};
use crate::text::{Token, Words};

/// What a text is a sequence of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// The letters and digits of its words.
    Letters,
    /// Its words.
    Words,
    /// The words of each line.
    Lines,
}

/// Which of the shingles are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sample {
    /// All.
    All,
    /// One in m.
    Mod {
        /// The modulus.
        m: u32,
    },
    /// The s smallest.
    Min {
        /// How many.
        s: u32,
    },
    /// The s smallest of one in m.
    MinOfMod {
        /// The modulus.
        m: u32,
        /// How many.
        s: u32,
    },
    /// One in `2^i`, i growing with the document, so that s to 2 s are kept.
    Levels {
        /// How many are expected at least.
        s: u32,
    },
}

/// The parameters of the method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shingle {
    /// What the text is a sequence of.
    pub tokens: TokenKind,
    /// How many tokens make a shingle.
    pub w: u32,
    /// Option A: repeated shingles count.
    pub labelled: bool,
    /// Which are kept.
    pub sample: Sample,
}

impl TokenKind {
    /// About how many bytes of English a token stands for: what a sampling by bytes is converted with.
    pub(crate) fn mean_bytes(self) -> u64 {
        match self {
            TokenKind::Letters => 1,
            TokenKind::Words => 6,
            TokenKind::Lines => 40,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TokenKind::Letters => "letters",
            TokenKind::Words => "words",
            TokenKind::Lines => "lines",
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::All => write!(f, "sample=all"),
            Sample::Mod { m } => write!(f, "sample=mod\nm={m}"),
            Sample::Min { s } => write!(f, "sample=min\ns={s}"),
            Sample::MinOfMod { m, s } => write!(f, "sample=min-of-mod\nm={m}\ns={s}"),
            Sample::Levels { s } => write!(f, "sample=levels\ns={s}"),
        }
    }
}

impl Shingle {
    pub(crate) fn maker(self, rabin: Rabin, mix: Mix, tagger: Tagger) -> ShingleMaker {
        let sampler: Box<dyn AnySampler> = match self.sample {
            Sample::All => Box::new(ModN::new(1)),
            Sample::Mod { m } => Box::new(ModN::new(m)),
            Sample::Min { s } => Box::new(MinN::new(s, u64::MAX, tagger.clone())),
            Sample::MinOfMod { m, s } => Box::new(MinN::new(s, one_in(m), tagger.clone())),
            Sample::Levels { s } => Box::new(Levels::new(s)),
        };
        ShingleMaker {
            words: Words::default(),
            kind: self.tokens,
            shingles: Shingles {
                entering: Shift::new(&rabin, 64),
                leaving: Shift::new(&rabin, 64 * self.w as usize),
                rabin,
                mix,
                last: vec![0; self.w as usize],
                next: 0,
                tokens: 0,
                fingerprint: 0,
                labels: self.labelled.then(Labels::new),
                line: EMPTY_TOKEN,
                values: Vec::with_capacity(BLOCK_VALUES),
                sampler,
            },
            tagger,
        }
    }
}

impl Shingle {
    /// What two signatures say of their documents.
    pub(crate) fn likeness(self, a: &Signature, b: &Signature) -> Likeness {
        match self.sample {
            Sample::All => estimate::by_sampled_sets(&a.features, &b.features, true),
            Sample::Mod { m } => estimate::by_sampled_sets(&a.features, &b.features, m == 1),
            Sample::Min { s } => estimate::by_smallest(a, b, s.into()),
            Sample::MinOfMod { m: 1, s } => estimate::by_smallest(a, b, s.into()),
            Sample::MinOfMod { s, .. } => estimate::by_smallest_of_mod(a, b, s.into()),
            Sample::Levels { s } => {
                let level = level(a.windows.max(b.windows), s.into());
                let (a, b) = (at_level(&a.features, level), at_level(&b.features, level));
                estimate::by_sampled_sets(&a, &b, level == 0)
            }
        }
    }
}

/// How many values are handed to the sampler at a time.
const BLOCK_VALUES: usize = 1024;

/// Makes the shingles of a text and their sample.
pub(crate) struct ShingleMaker {
    words: Words,
    kind: TokenKind,
    shingles: Shingles,
    tagger: Tagger,
}

/// The fingerprint of no bytes: a 1, so that zeros in front would not go unseen.
const EMPTY_TOKEN: u64 = 1;

struct Shingles {
    rabin: Rabin,
    /// What the fingerprint comes to when a token enters, and a token when it leaves.
    entering: Shift,
    leaving: Shift,
    mix: Mix,
    /// The last w tokens, in a ring, and the place of the first of them.
    last: Vec<u64>,
    next: usize,
    tokens: u64,
    fingerprint: u64,
    /// How often each shingle has occurred: option A.
    labels: Option<Labels>,
    /// The line so far.
    line: u64,
    values: Vec<u64>,
    sampler: Box<dyn AnySampler>,
}

impl Shingles {
    fn take(&mut self, kind: TokenKind, token: Token<'_>) {
        match (kind, token) {
            (TokenKind::Words, Token::Word(word)) => self.add(self.rabin.extend(EMPTY_TOKEN, word)),
            (TokenKind::Letters, Token::Word(word)) => {
                for letter in word.utf8_chunks().flat_map(|chunk| chunk.valid().chars()) {
                    self.add(self.rabin.extend(EMPTY_TOKEN, letter.encode_utf8(&mut [0; 4]).as_bytes()));
                }
            }
            (TokenKind::Lines, Token::Word(word)) => {
                self.line = self.rabin.push(self.rabin.extend(self.line, word), b' ');
            }
            (TokenKind::Lines, Token::LineEnd) => self.end_line(),
            (_, Token::LineEnd) => {}
        }
    }

    /// A line without words is none.
    fn end_line(&mut self) {
        if self.line != EMPTY_TOKEN {
            let line = std::mem::replace(&mut self.line, EMPTY_TOKEN);
            self.add(line);
        }
    }

    fn add(&mut self, token: u64) {
        let out = std::mem::replace(&mut self.last[self.next], token);
        self.next = if self.next + 1 == self.last.len() { 0 } else { self.next + 1 };
        self.fingerprint = self.entering.of(self.fingerprint) ^ token ^ self.leaving.of(out);
        self.tokens += 1;
        if self.tokens >= self.last.len() as u64 {
            self.values.push(self.mix.value(self.fingerprint));
            if self.values.len() == BLOCK_VALUES {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if let Some(labels) = &mut self.labels {
            labels.label(&mut self.values, self.mix);
        }
        self.sampler.take(&self.values);
        self.values.clear();
    }
}

impl Maker for ShingleMaker {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        let (kind, shingles) = (self.kind, &mut self.shingles);
        self.words.take(bytes, |token| shingles.take(kind, token))
    }

    fn finish(&mut self) -> Made {
        let (kind, shingles) = (self.kind, &mut self.shingles);
        self.words.finish(|token| shingles.take(kind, token));
        shingles.end_line();
        shingles.flush();
        let needed = shingles.last.len() as u64;
        let found = std::mem::take(&mut shingles.tokens);
        shingles.fingerprint = 0;
        shingles.last.fill(0);
        shingles.next = 0;
        if let Some(labels) = &mut shingles.labels {
            labels.clear();
        }
        Made {
            windows: (found + 1).saturating_sub(needed),
            features: shingles.sampler.finish(&self.tagger),
            index: None,
            shortage: (found < needed).then_some(Shortage { found, needed, unit: kind.name() }),
        }
    }
}
