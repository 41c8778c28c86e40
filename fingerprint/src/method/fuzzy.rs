//! `fuzzy`: the coarse deviations of a text's words from the usual shares of first letters.
//!
//! Source: B. Stein, S. Meyer zu Eissen, "Fingerprint-based similarity search and its applications"; B. Stein,
//! "Fuzzy-fingerprints for text-based information retrieval" (2005). The words of a document or passage, less stop words,
//! fall into k classes by their first letter: the k letters that are most frequent, the paper's 18 by default. Above 26, the
//! k - 26 most frequent letters are two classes each, by the second letter of the word. The share of each class is compared
//! with the expected one (`frequencies/`), the relative deviation falls into one of r intervals, and the k intervals are one
//! number: a feature. Several schemes of
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

/// The expected words that begin with each letter, those whose second letter comes before m first, then all others; in a
/// million of the words that begin with one of the paper's 18 letters.
const EXPECTED: [[u32; 2]; 26] = [
    [27_795, 34_699],
    [31_997, 21_557],
    [42_382, 48_212],
    [36_527, 12_767],
    [10_668, 31_685],
    [32_345, 22_332],
    [19_566, 27_119],
    [23_264, 14_425],
    [3_489, 26_725],
    [4_259, 6_914],
    [8_214, 6_082],
    [39_706, 16_909],
    [42_366, 15_970],
    [20_287, 8_317],
    [8_986, 17_956],
    [39_947, 39_052],
    [95, 3_436],
    [44_028, 10_339],
    [58_830, 60_315],
    [38_278, 27_342],
    [1_074, 14_095],
    [9_386, 2_511],
    [30_137, 13_681],
    [206, 507],
    [6_608, 2_286],
    [607, 454],
];

/// The words that begin with each letter: those whose second letter comes before m, and all others.
type Counts = [[u32; 2]; 26];

/// Documents with fewer words have no features: the papers leave them out.
pub(crate) const WORDS_LEAST: u32 = 50;

/// The parameters of `fuzzy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fuzzy {
    /// The number of classes of words, 10 to 30.
    pub k: u32,
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
    fn number(self, scheme: u32, counts: &Counts) -> u64 {
        let classes = self.classes(counts);
        let total: i128 = classes.iter().map(|(count, _)| i128::from(*count)).sum();
        let expected_total: i128 = classes.iter().map(|(_, expected)| i128::from(*expected)).sum();
        classes
            .into_iter()
            .fold((0, 1), |(sum, power), (count, expected)| {
                // The deviation of count / total from expected / expected_total in per cent of the latter, times both denominators.
                let usual = i128::from(expected) * total;
                let deviation = (i128::from(count) * expected_total - usual) * 100;
                let interval = self.interval(scheme, deviation, usual);
                (sum + interval * power, power * u64::from(self.r))
            })
            .0
    }

    /// The counts and the expected words of the classes, in the order of the alphabet.
    fn classes(self, counts: &Counts) -> Vec<(u32, u32)> {
        let mut letters: Vec<usize> = (0..26).collect();
        letters.sort_by_key(|letter| std::cmp::Reverse(EXPECTED[*letter].iter().sum::<u32>()));
        let whole = self.k.min(26) as usize;
        let divided = self.k as usize - whole;
        let mut classes: Vec<(usize, bool)> = letters.into_iter().zip((0..whole).map(|rank| rank < divided)).collect();
        classes.sort_unstable();
        let of = |(letter, is_divided): (usize, bool)| {
            let halves = [0, 1].map(|half| (counts[letter][half], EXPECTED[letter][half]));
            let both = (halves[0].0.saturating_add(halves[1].0), halves[0].1 + halves[1].1);
            if is_divided { halves.to_vec() } else { vec![both] }
        };
        classes.into_iter().flat_map(of).collect()
    }

    fn interval(self, scheme: u32, deviation: i128, usual: i128) -> u64 {
        let bound = |times: u32| i128::from(times * self.step) * usual;
        match self.r {
            2 => u64::from(deviation > bound(scheme - 1)),
            _ => u64::from(deviation >= -bound(scheme)) + u64::from(deviation > bound(scheme)),
        }
    }
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
    counts: Counts,
    /// Words of the passage so far, stop words too.
    words: u32,
    words_in_all: u64,
    /// The numbers of the passages that have ended, with their schemes.
    numbers: Vec<(u32, u64)>,
}

impl Passages {
    fn new(fuzzy: Fuzzy) -> Passages {
        Passages { fuzzy, counts: Counts::default(), words: 0, words_in_all: 0, numbers: Vec::new() }
    }

    fn take(&mut self, token: Token<'_>) {
        let Token::Word(word) = token else { return };
        self.words_in_all += 1;
        self.words = self.words.saturating_add(1);
        let letter = word[0].wrapping_sub(b'a');
        if letter < 26 && !is_stop_word(word) {
            let half = usize::from(!word.get(1).is_some_and(|second| (b'a'..b'm').contains(second)));
            let count = &mut self.counts[usize::from(letter)][half];
            *count = count.saturating_add(1);
        }
        if self.fuzzy.words > 0 && self.words == self.fuzzy.words {
            self.end();
        }
    }

    /// Ends the passage. It has no number if it is too short, or if it has no word of any class.
    fn end(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        if std::mem::take(&mut self.words) >= WORDS_LEAST
            && self.fuzzy.classes(&counts).iter().any(|(count, _)| *count > 0)
        {
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

    const FUZZY: Fuzzy = Fuzzy { k: 18, r: 3, rho: 3, step: 20, words: 0 };

    #[test]
    fn the_expected_shares_are_those_of_the_table() {
        let table = include_str!("../../frequencies/prefixes.tsv");
        let numbers = |line: &str| [1, 2].map(|place| line.split('\t').nth(place).unwrap().parse::<u32>().unwrap());
        assert_eq!(table.lines().map(numbers).collect::<Vec<_>>(), EXPECTED);
        let sum = |k| Fuzzy { k, ..FUZZY }.classes(&EXPECTED).iter().map(|(_, expected)| expected).sum::<u32>();
        assert_eq!(sum(18), 1_000_000);
        assert!(sum(10) < sum(18) && sum(18) < sum(26) && sum(26) == sum(30));
    }

    #[test]
    fn there_are_as_many_classes_as_asked_for_and_eighteen_are_the_letters_of_the_paper() {
        for k in 10..=30 {
            assert_eq!(Fuzzy { k, ..FUZZY }.classes(&EXPECTED).len(), k as usize);
        }
        let counted: Vec<u32> = FUZZY.classes(&EXPECTED).into_iter().map(|(count, _)| count).collect();
        let paper = b"abcdefghilmnoprstw".map(|letter| EXPECTED[usize::from(letter - b'a')].iter().sum::<u32>());
        assert_eq!(counted, paper);
    }

    #[test]
    fn deviations_fall_into_the_intervals_of_their_scheme() {
        let fuzzy = FUZZY;
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
        let fuzzy = FUZZY;
        let middle = (0..18).map(|class| 3_u64.pow(class)).sum::<u64>();
        assert_eq!(fuzzy.number(1, &EXPECTED), middle);
        assert_eq!(fuzzy.number(3, &EXPECTED), middle);
        let mut only_a = Counts::default();
        only_a[0] = [20, 30];
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
        fn a_number_has_a_digit_below_r_for_each_class(
            counts: [[u8; 2]; 26],
            k in 10..31_u32,
            r in 2..4_u32,
            scheme in 1..4_u32,
        ) {
            let fuzzy = Fuzzy { k, r, rho: 3, step: 30, words: 0 };
            let counts = counts.map(|halves| halves.map(u32::from));
            let number = fuzzy.number(scheme, &counts);
            proptest::prop_assert!(number < u64::from(r).pow(k));
            // Twice the words in the same shares are the same number.
            let twice = counts.map(|halves| halves.map(|count| 2 * count));
            proptest::prop_assert_eq!(fuzzy.number(scheme, &twice), number);
        }
    }
}
