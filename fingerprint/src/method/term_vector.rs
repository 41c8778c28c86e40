//! `terms`: the words of a text under their keyed hashes, each with how often it occurs. What verifies the candidates of
//! `fuzzy`; no scan is made with it alone.
//!
//! A feature's tag is twelve bytes of the word's keyed hash and its count in four, so that it goes the way of all features.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::chunk::Tag;
use crate::signature::{Feature, Shortage, Tagger, Unfit};
use crate::signer::{Made, Maker};
use crate::stop_words::is_stop_word;
use crate::text::{Token, Words};

/// How much of a tag is the hash of the word.
const HASH_BYTES: usize = 12;

/// Counts the words of a text, less stop words. Memory grows with the number of different ones.
pub(crate) struct TermsMaker {
    tagger: Tagger,
    words: Words,
    counts: BTreeMap<Box<[u8]>, u32>,
}

impl TermsMaker {
    pub(crate) fn new(tagger: Tagger) -> TermsMaker {
        TermsMaker { tagger, words: Words::default(), counts: BTreeMap::new() }
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

impl Maker for TermsMaker {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        let counts = &mut self.counts;
        self.words.take(bytes, |token| count(counts, &token))
    }

    fn finish(&mut self) -> Made {
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
        Made { windows, features, index: None, shortage }
    }
}

fn split(feature: &Feature) -> (&[u8], u32) {
    let (hash, count) = feature.tag.0.split_at(HASH_BYTES);
    (hash, u32::from_be_bytes(count.try_into().expect("four bytes are left of sixteen")))
}

/// The cosine of the angle between two term vectors, each ascending, 0 to 1; `None` where one of them has no words.
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
    use crate::method::{Method, View};
    use crate::terms::{Terms, cosine};

    use super::*;

    #[test]
    fn the_cosine_of_features_is_that_of_the_terms() {
        let method = Method::parse("terms", View::Text, None, "").unwrap();
        assert!(method.has_fixed_size() && !method.has_chunks() && method.param().is_empty());
        let texts = [
            "rose tulip",
            "Tulip, the ROSE",
            "oak elm",
            "rose rose tulip oak oak oak elm",
            "rose",
            "the of",
            "",
            "many words stand here, and many of them stand here twice: rose",
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
}
