//! `terms`: the words of a text under their keyed hashes, each with its count. It verifies the candidates of `fuzzy`; no scan
//! uses it alone.
//!
//! Source: the vector space model, as in B. Stein, S. Meyer zu Eissen, "Near similarity search and plagiarism analysis" (2006).
//! A feature's tag is twelve bytes of the word's keyed hash and four of its count, so that it travels as all features do.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::chunk::Tag;
use crate::extractor::{Extracted, Extractor};
use crate::signature::{Feature, Shortage, Tagger, UnsupportedDocument};
use crate::stop_words::is_stop_word;
use crate::text::{Token, Words};

/// The bytes of a tag that are the hash of the word.
const HASH_BYTES: usize = 12;

/// Counts the words of a text except stop words. Memory grows with the number of different words.
pub(crate) struct TermExtractor {
    tagger: Tagger,
    words: Words,
    counts: BTreeMap<Box<[u8]>, u32>,
}

impl TermExtractor {
    pub(crate) fn new(tagger: Tagger) -> TermExtractor {
        TermExtractor { tagger, words: Words::default(), counts: BTreeMap::new() }
    }
}

fn count(counts: &mut BTreeMap<Box<[u8]>, u32>, token: &Token<'_>) {
    if let Token::Word(word) = token
        && !is_stop_word(word)
    {
        match counts.get_mut(*word) {
            Some(count) => *count = count.saturating_add(1),
            None => _ = counts.insert((*word).into(), 1),
        }
    }
}

impl Extractor for TermExtractor {
    fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument> {
        let counts = &mut self.counts;
        self.words.take(bytes, |token| count(counts, &token))
    }

    fn finish(&mut self) -> Extracted {
        let counts = &mut self.counts;
        self.words.finish(|token| count(counts, &token));
        let counts = std::mem::take(counts);
        let windows = counts.values().copied().map(u64::from).sum();
        let feature = |(word, count): (&[u8], u32)| {
            let Tag(mut tag) = self.tagger.tag(word);
            tag[HASH_BYTES..].copy_from_slice(&count.to_be_bytes());
            Feature { tag: Tag(tag), weight: 1 }
        };
        let mut features: Vec<Feature> = counts.iter().map(|(word, count)| feature((word, *count))).collect();
        features.sort_unstable();
        let shortage = features.is_empty().then_some(Shortage { found: 0, needed: 1, unit: "words" });
        Extracted { windows, features, index: None, shortage }
    }
}

fn split(feature: &Feature) -> (&[u8], u32) {
    let (hash, count) = feature.tag.0.split_at(HASH_BYTES);
    (hash, u32::from_be_bytes(count.try_into().expect("four bytes are left of sixteen")))
}

/// The cosine of the angle between two term vectors, 0 to 1, from the features of the two texts, each list ascending;
/// `None` if one of them has no words.
pub fn cosine_of_features(a: &[Feature], b: &[Feature]) -> Option<f64> {
    let square = |features: &[Feature]| features.iter().map(|one| f64::from(split(one).1).powi(2)).sum::<f64>();
    let (mut at, mut bt, mut product) = (0, 0, 0.0);
    while at < a.len() && bt < b.len() {
        let ((hash_a, in_a), (hash_b, in_b)) = (split(&a[at]), split(&b[bt]));
        match hash_a.cmp(hash_b) {
            Ordering::Less => at += 1,
            Ordering::Greater => bt += 1,
            Ordering::Equal => {
                product += f64::from(in_a) * f64::from(in_b);
                (at, bt) = (at + 1, bt + 1);
            }
        }
    }
    let length = (square(a) * square(b)).sqrt();
    (length > 0.0).then(|| (product / length).min(1.0))
}

#[cfg(test)]
mod tests {
    use crate::key::Key;
    use crate::method::Method;
    use crate::terms::{Terms, cosine};
    use crate::view::View;

    use super::*;

    #[test]
    fn the_cosine_of_features_is_that_of_the_terms() {
        let method = Method::parse("terms", View::Text, None, "").unwrap();
        let can = method.capabilities();
        assert!(can.fixed_size && !can.has_chunks() && method.param().is_empty());
        let texts = [
            "rose tulip",
            "Tulip, the ROSE",
            "oak elm",
            "rose rose tulip oak oak oak elm",
            "rose",
            "the of",
            "",
            "many words are here, and many of them are here twice: rose",
        ];
        let key = Key::none();
        let mut signer = method.signer(&key);
        let features: Vec<Vec<Feature>> =
            texts.iter().map(|text| signer.read(&mut text.as_bytes()).unwrap().features).collect();
        let terms: Vec<Terms> = texts.iter().map(|text| Terms::read(&mut text.as_bytes(), &key).unwrap()).collect();
        for a in 0..texts.len() {
            for b in 0..texts.len() {
                let (found, expected) = (cosine_of_features(&features[a], &features[b]), cosine(&terms[a], &terms[b]));
                let rounded = |cosine: f64| (cosine * 1e9).round();
                assert_eq!(found.map(rounded), expected.map(rounded), "{} | {}", texts[a], texts[b]);
            }
        }
        assert!(signer.read(&mut &b"\0"[..]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn the_cosine_is_symmetric_between_0_and_1_and_1_of_the_same_words(
            a in crate::test_support::texts(),
            b in crate::test_support::texts(),
        ) {
            let method = Method::parse("terms", View::Text, None, "").unwrap();
            let mut signer = method.signer(&Key::none());
            let (of_a, of_b) =
                (signer.read(&mut a.as_bytes()).unwrap().features, signer.read(&mut b.as_bytes()).unwrap().features);
            let found = cosine_of_features(&of_a, &of_b);
            proptest::prop_assert_eq!(found, cosine_of_features(&of_b, &of_a));
            proptest::prop_assert_eq!(found.is_some(), !of_a.is_empty() && !of_b.is_empty());
            proptest::prop_assert!(found.is_none_or(|cosine| (0.0..=1.0).contains(&cosine)));
            let itself = cosine_of_features(&of_a, &signer.read(&mut [a.as_str(), &a].join(" ").as_bytes()).unwrap().features);
            proptest::prop_assert!(itself.is_none_or(|cosine| cosine > 1.0 - 1e-9), "twice the same words: {itself:?}");
        }
    }
}
