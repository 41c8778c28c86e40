//! `shingle`: runs of w tokens, of a text as a canonical sequence of tokens.
//!
//! Source: A. Broder, "On the resemblance and containment of documents" (1997), sections 2 and 3. Tokens are letters, words or
//! lines of the canonical text (`docs/fingerprint.md`). Option A labels each shingle with the number of its earlier
//! occurrences, so that a document is a bag; option B, the default, takes the set. The signature is a sample of the shingles' values:
//! `MOD_m`, `MIN_s`, `MIN_s` of `MOD_m`, `L_i`, or all of them.
//!
//! A token is fingerprinted by itself and goes as eight bytes into the fingerprint of its shingle, which is rolled from
//! token to token: "the tokens padded to eight bytes" of the paper, but for words of any length.
//!
//! Memory: the sample; with option A also a count for every different shingle.

use crate::extractor::{Extracted, Extractor};
use crate::method::labels::Labels;
use crate::method::levels::Levels;
use crate::method::min_n::MinN;
use crate::method::mod_n::ModN;
use crate::method::shingle::{Sample, Shingle, TokenKind};
use crate::mix::Mix;
use crate::rabin::{Rabin, Shift};
use crate::sampler::{AnySampler, one_in};
use crate::signature::{Shortage, Tagger, UnsupportedDocument};
use crate::text::{Token, Words};

/// The number of values that are handed to the sampler at a time.
const BLOCK_VALUES: usize = 1024;

/// Makes the shingles of a text and takes the sample.
pub(crate) struct ShingleExtractor {
    words: Words,
    kind: TokenKind,
    shingles: Shingles,
    tagger: Tagger,
}

/// The fingerprint of no bytes. It is 1, so that leading zeros change the fingerprint of a token.
const EMPTY_TOKEN: u64 = 1;

struct Shingles {
    rabin: Rabin,
    /// Shifts the fingerprint when a token enters.
    entering: Shift,
    /// Shifts a token to its place in the fingerprint that it leaves.
    leaving: Shift,
    mix: Mix,
    /// The last w tokens in a ring, whose first is at `next`.
    last: Vec<u64>,
    next: usize,
    tokens: u64,
    fingerprint: u64,
    /// The counts of the shingles: option A.
    labels: Option<Labels>,
    /// The fingerprint of the line so far.
    line: u64,
    values: Vec<u64>,
    sampler: Box<dyn AnySampler>,
}

impl ShingleExtractor {
    pub(crate) fn new(shingle: Shingle, rabin: Rabin, mix: Mix, tagger: Tagger) -> ShingleExtractor {
        let w = shingle.w as usize;
        let shingles = Shingles {
            entering: Shift::new(&rabin, 64),
            leaving: Shift::new(&rabin, 64 * w),
            rabin,
            mix,
            last: vec![0; w],
            next: 0,
            tokens: 0,
            fingerprint: 0,
            labels: shingle.labelled.then(Labels::new),
            line: EMPTY_TOKEN,
            values: Vec::with_capacity(BLOCK_VALUES),
            sampler: sampler(shingle.sample, &tagger),
        };
        ShingleExtractor { words: Words::default(), kind: shingle.tokens, shingles, tagger }
    }
}

fn sampler(sample: Sample, tagger: &Tagger) -> Box<dyn AnySampler> {
    match sample {
        Sample::All => Box::new(ModN::new(1)),
        Sample::Mod { m } => Box::new(ModN::new(m)),
        Sample::Min { s } => Box::new(MinN::new(s, u64::MAX, tagger.clone())),
        Sample::MinOfMod { m, s } => Box::new(MinN::new(s, one_in(m), tagger.clone())),
        Sample::Levels { s } => Box::new(Levels::new(s)),
    }
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

    /// Adds the line, unless it has no words.
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

impl Extractor for ShingleExtractor {
    fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument> {
        let (kind, shingles) = (self.kind, &mut self.shingles);
        self.words.take(bytes, |token| shingles.take(kind, token))
    }

    fn finish(&mut self) -> Extracted {
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
        Extracted {
            windows: (found + 1).saturating_sub(needed),
            features: shingles.sampler.finish(&self.tagger),
            index: None,
            shortage: (found < needed).then_some(Shortage { found, needed, unit: kind.name() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::signature::{Shortage, Signature};
    use crate::{Key, Method, View};

    fn signature(param: &str, text: &str) -> Signature {
        let method = Method::parse("shingle", View::Text, None, &format!("sample=all,{param}")).unwrap();
        method.signer(&Key::none()).read(&mut text.as_bytes()).unwrap()
    }

    #[test]
    fn a_text_with_fewer_tokens_than_a_shingle_has_none() {
        for (param, text, found, needed, unit) in [
            ("tokens=words,w=3", "two words", 2, 3, "words"),
            ("tokens=words,w=3", "", 0, 3, "words"),
            ("tokens=letters,w=9", "two, 3!", 4, 9, "letters"),
            ("tokens=lines,w=3", "one\n\n two \n . \n", 2, 3, "lines"),
        ] {
            let signature = signature(param, text);
            assert_eq!(signature.shortage, Some(Shortage { found, needed, unit }), "{param} {text:?}");
            assert!(signature.features.is_empty() && signature.windows == 0, "{param} {text:?}");
        }
        assert_eq!(signature("tokens=lines,w=2", "one\ntwo").windows, 1);
    }

    #[test]
    fn punctuation_case_and_line_breaks_do_not_matter_to_words() {
        let plain = signature("tokens=words,w=2", "a rose is a rose");
        for text in ["A ROSE is a Rose.", "a\nrose\r\nis\ta\n\nrose", "--a-rose!is?a...rose--"] {
            assert_eq!(signature("tokens=words,w=2", text).features, plain.features, "{text:?}");
        }
        // To lines the breaks matter, and so do spaces inside words to letters' neighbours only.
        assert_ne!(signature("tokens=lines,w=1", "a\nrose").features, signature("tokens=lines,w=1", "a rose").features);
        assert_eq!(
            signature("tokens=letters,w=2", "a rose").features,
            signature("tokens=letters,w=2", "ar ose").features
        );
    }

    #[test]
    fn the_order_of_tokens_matters_beyond_one() {
        for (w, equal) in [(1, true), (2, false), (3, false)] {
            let of = |text| signature(&format!("tokens=words,w={w}"), text).features;
            assert_eq!(of("one two three") == of("three two one"), equal, "{w}");
        }
    }
}
