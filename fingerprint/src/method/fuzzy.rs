//! `fuzzy`: the coarse deviations of a text's words from the usual shares of first letters.
//!
//! Source: B. Stein, S. Meyer zu Eissen, "Fingerprint-based similarity search and its applications"; B. Stein,
//! "Fuzzy-fingerprints for text-based information retrieval" (2005). The words of a document or passage, less stop words,
//! fall into 18 classes by their first letter. The share of each class is compared with the expected one (`frequencies/`),
//! the relative deviation falls into one of r intervals, and the 18 intervals are one number: a feature. Several schemes of
//! intervals give as many features. Two texts with a feature in common are candidates; [`cosine`](crate::cosine) decides
//! if they are alike. The order of the words does not matter.
//!
//! The papers give neither bounds nor formula. Here scheme j (from 1) has its bounds at ± j times `step` per cent of the
//! expected share (r = 3: less, about as expected, more), or at (j - 1) times `step` per cent above it (r = 2), and the
//! number is the sum of interval · r^class. All of it is exact arithmetic.

use crate::extractor::{Extracted, Extractor};
use crate::signature::{Shortage, Tagger, UnsupportedDocument};
use crate::stop_words::is_stop_word;
use crate::text::{Token, Words};

/// The expected words in a million that begin with each letter; 0 for the letters that are no class.
const EXPECTED: [u32; 26] = [
    62_494, 53_554, 90_594, 49_294, 42_353, 54_677, 46_685, 37_689, 30_214, 0, 0, 56_615, 58_336, 28_604, 26_942,
    78_999, 0, 54_367, 119_145, 65_620, 0, 0, 43_818, 0, 0, 0,
];

/// Documents with fewer words have no features: the papers leave them out.
pub(crate) const WORDS_LEAST: u32 = 50;

/// The parameters of `fuzzy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fuzzy {
    /// The number of intervals of deviations, 2 or 3.
    pub r: u32,
    /// The number of schemes of intervals, 1 to 16; each gives a feature.
    pub rho: u32,
    /// The distance between the bounds of one scheme and the next, 1 to 100 per cent of the expected share.
    pub step: u32,
    /// The length of the passages that are fingerprinted each by itself, 50 to 1,000,000 words; 0 takes the document as
    /// one.
    pub words: u32,
}

impl Fuzzy {
    /// The number of a passage under scheme `scheme`, 1 to `rho`: the sum of interval · r^class over the classes.
    fn number(self, scheme: u32, counts: &[u32; 26]) -> u64 {
        let total: i128 = classes(counts).map(|(count, _)| i128::from(count)).sum();
        classes(counts)
            .fold((0, 1), |(sum, power), (count, expected)| {
                // The deviation of count / total from expected / 10^6 in per cent of the latter, times both denominators.
                let usual = i128::from(expected) * total;
                let deviation = (i128::from(count) * 1_000_000 - usual) * 100;
                let interval = self.interval(scheme, deviation, usual);
                (sum + interval * power, power * u64::from(self.r))
            })
            .0
    }

    fn interval(self, scheme: u32, deviation: i128, usual: i128) -> u64 {
        let bound = |times: u32| i128::from(times * self.step) * usual;
        match self.r {
            2 => u64::from(deviation > bound(scheme - 1)),
            _ => u64::from(deviation >= -bound(scheme)) + u64::from(deviation > bound(scheme)),
        }
    }
}

/// The counts and expected shares of the letters that are classes.
fn classes(counts: &[u32; 26]) -> impl Iterator<Item = (u32, u32)> {
    counts.iter().copied().zip(EXPECTED).filter(|(_, expected)| *expected > 0)
}

/// Counts the first letters of a text's words.
pub(crate) struct FuzzyExtractor {
    fuzzy: Fuzzy,
    words: Words,
    passages: Passages,
    tagger: Tagger,
}

impl FuzzyExtractor {
    pub(crate) fn new(fuzzy: Fuzzy, tagger: Tagger) -> FuzzyExtractor {
        FuzzyExtractor { fuzzy, words: Words::default(), passages: Passages::new(fuzzy), tagger }
    }
}

/// The passage so far, and the numbers of the earlier ones.
struct Passages {
    fuzzy: Fuzzy,
    counts: [u32; 26],
    /// Words of the passage so far, stop words too.
    words: u32,
    words_in_all: u64,
    /// The numbers of the passages that have ended, with their schemes.
    numbers: Vec<(u32, u64)>,
}

impl Passages {
    fn new(fuzzy: Fuzzy) -> Passages {
        Passages { fuzzy, counts: [0; 26], words: 0, words_in_all: 0, numbers: Vec::new() }
    }

    fn take(&mut self, token: Token<'_>) {
        let Token::Word(word) = token else { return };
        self.words_in_all += 1;
        self.words = self.words.saturating_add(1);
        let letter = word[0].wrapping_sub(b'a');
        if letter < 26 && !is_stop_word(word) {
            self.counts[usize::from(letter)] = self.counts[usize::from(letter)].saturating_add(1);
        }
        if self.fuzzy.words > 0 && self.words == self.fuzzy.words {
            self.end();
        }
    }

    /// Ends the passage. It has no number if it is too short, or if it has no word of any class.
    fn end(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        if std::mem::take(&mut self.words) >= WORDS_LEAST && classes(&counts).any(|(count, _)| count > 0) {
            self.numbers.extend((1..=self.fuzzy.rho).map(|scheme| (scheme, self.fuzzy.number(scheme, &counts))));
        }
    }
}

impl Extractor for FuzzyExtractor {
    fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument> {
        let passages = &mut self.passages;
        self.words.take(bytes, |token| passages.take(token))
    }

    fn finish(&mut self) -> Extracted {
        let passages = &mut self.passages;
        self.words.finish(|token| passages.take(token));
        passages.end();
        let passages = std::mem::replace(&mut self.passages, Passages::new(self.fuzzy));
        let (windows, mut numbers) = (passages.words_in_all, passages.numbers);
        let shortage =
            numbers.is_empty().then_some(Shortage { found: windows, needed: WORDS_LEAST.into(), unit: "words" });
        numbers.sort_unstable();
        numbers.dedup();
        let feature = |(scheme, number): (u32, u64)| {
            let mut bytes = [0; 12];
            bytes[..4].copy_from_slice(&scheme.to_le_bytes());
            bytes[4..].copy_from_slice(&number.to_le_bytes());
            self.tagger.feature(&bytes)
        };
        let mut features: Vec<_> = numbers.into_iter().map(feature).collect();
        features.sort_unstable();
        Extracted { windows, features, index: None, shortage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_shares_are_those_of_the_table() {
        let table = include_str!("../../frequencies/prefix18.tsv");
        let mut shares = [0; 26];
        for line in table.lines() {
            let (letter, share) = line.split_once('\t').unwrap();
            shares[usize::from(letter.as_bytes()[0] - b'a')] = share.parse().unwrap();
        }
        assert_eq!(shares, EXPECTED);
        assert_eq!(classes(&[0; 26]).count(), 18);
        assert_eq!(EXPECTED.iter().sum::<u32>(), 1_000_000);
    }

    #[test]
    fn deviations_fall_into_the_intervals_of_their_scheme() {
        let fuzzy = Fuzzy { r: 3, rho: 3, step: 20, words: 0 };
        // Usual 100: -20 to 20 per cent is about as expected under the first scheme, -40 to 40 under the second.
        let check = |scheme, per_cent: i128, expected| {
            assert_eq!(fuzzy.interval(scheme, per_cent * 100, 100), expected, "{scheme} {per_cent}");
        };
        check(1, -21, 0);
        check(1, -20, 1);
        check(1, 20, 1);
        check(1, 21, 2);
        check(2, -21, 1);
        check(2, 40, 1);
        check(2, 41, 2);
        let two = Fuzzy { r: 2, ..fuzzy };
        assert_eq!([-1, 0, 1].map(|deviation| two.interval(1, deviation, 100)), [0, 0, 1]);
        assert_eq!([2000, 2001].map(|deviation| two.interval(2, deviation, 100)), [0, 1]);
    }

    #[test]
    fn a_text_as_expected_is_in_the_middle_of_every_class() {
        let fuzzy = Fuzzy { r: 3, rho: 3, step: 20, words: 0 };
        let middle = (0..18).map(|class| 3_u64.pow(class)).sum::<u64>();
        assert_eq!(fuzzy.number(1, &EXPECTED), middle);
        assert_eq!(fuzzy.number(3, &EXPECTED), middle);
        let mut only_a = [0; 26];
        only_a[0] = 50;
        assert_eq!(fuzzy.number(1, &only_a), 2, "more of a, less of all others");
    }

    fn features(param: &str, text: &str) -> (Vec<crate::Feature>, Option<Shortage>) {
        let method = crate::Method::parse("fuzzy", crate::View::Text, None, param).unwrap();
        let signature = method.signer(&crate::Key::none()).read(&mut text.as_bytes()).unwrap();
        (signature.features, signature.shortage)
    }

    /// Words that begin with different letters, none of them a stop word.
    fn text(words: usize) -> String {
        (0..words).map(|place| ["apple ", "birch ", "cedar ", "storm ", "willow "][place % 5]).collect()
    }

    #[test]
    fn a_passage_has_a_feature_for_each_scheme() {
        for (param, words, expected) in [
            ("rho=1", 60, 1),
            ("rho=3", 50, 3),
            ("rho=3", 49, 0),
            ("rho=16,step=1", 200, 16),
            ("rho=2,words=50", 49, 0),
            // Passages of the same words have the same features, and the rest of 30 words is too short.
            ("rho=2,words=50", 180, 2),
        ] {
            let (features, shortage) = features(param, &text(words));
            assert_eq!(features.len(), expected, "{param} {words}");
            let needed = Shortage { found: words as u64, needed: 50, unit: "words" };
            assert_eq!(shortage, (expected == 0).then_some(needed), "{param} {words}");
        }
        // Fifty words without any class: the classes are the only evidence.
        assert!(features("", &"1787 ".repeat(60)).0.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn the_order_and_case_of_words_do_not_matter(turn in 0..60_usize) {
            let words = text(60);
            let mut turned: Vec<String> = words.split_whitespace().map(str::to_uppercase).collect();
            turned.rotate_left(turn);
            proptest::prop_assert_eq!(features("", &turned.join("\n")), features("", &words));
        }

        #[test]
        fn a_number_has_a_digit_below_r_for_each_class(counts: [u8; 26], r in 2..4_u32, scheme in 1..4_u32) {
            let fuzzy = Fuzzy { r, rho: 3, step: 30, words: 0 };
            let counts = counts.map(u32::from);
            let number = fuzzy.number(scheme, &counts);
            proptest::prop_assert!(number < u64::from(r).pow(18));
            // Twice the words in the same shares are the same number.
            proptest::prop_assert_eq!(fuzzy.number(scheme, &counts.map(|count| 2 * count)), number);
        }
    }
}
