//! Every method against its definition, which is carried out literally: nothing is rolled, skipped or cached.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;

use crate::mix::Mix;
use crate::rabin::{Polynomial, Rabin};
use crate::signature::{Feature, Signature, Tagger, rank};
use crate::test_support::{ShortReads, documents, texts};
use crate::{Chunk, Key, Method, View};

fn key() -> Key {
    Key::parse(&[5; 32]).unwrap()
}

fn signature(name: &str, param: &str, document: &[u8]) -> Signature {
    let method = Method::parse(name, View::Raw, None, param).unwrap();
    method.signer(&key()).read(&mut &document[..]).unwrap()
}

/// The values of all windows, each from its own bytes.
fn values(document: &[u8], w: usize) -> Vec<u64> {
    let (rabin, mix) = (Rabin::new(Polynomial::of(&key())), Mix::of(&key()));
    document.windows(w).map(|window| mix.value(rabin.extend(0, window))).collect()
}

fn features(values: impl IntoIterator<Item = u64>) -> Vec<Feature> {
    let tagger = Tagger::new(&key());
    let features: BTreeSet<Feature> = values.into_iter().map(|value| tagger.sampled(value)).collect();
    features.into_iter().collect()
}

proptest! {
    #[test]
    fn mod_keeps_the_values_below_one_in_n(document in documents(), w in 2..40_u32, n in 1..50_u32) {
        let below = |value: &u64| u128::from(*value) < (1_u128 << 64) / u128::from(n);
        let expected = features(values(&document, w as usize).into_iter().filter(below));
        let found = signature("mod", &format!("w={w},n={n}"), &document);
        prop_assert_eq!(found.windows, (document.len() as u64 + 1).saturating_sub(u64::from(w)));
        prop_assert_eq!(found.features, expected);
    }

    #[test]
    fn min_keeps_the_n_smallest_by_rank_and_hash(document in documents(), w in 2..40_u32, n in 1..200_u32) {
        let mut expected = features(values(&document, w as usize));
        expected.sort_by_key(Feature::order);
        expected.truncate(n as usize);
        expected.sort();
        prop_assert_eq!(signature("min", &format!("w={w},n={n}"), &document).features, expected);
    }

    #[test]
    fn sketch_keeps_the_smallest_pair_of_every_place(document in documents(), n in 1..60_u32) {
        let word = |value: u64, round: u64| {
            let mut word = value.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            if round == 0 {
                return value;
            }
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        };
        let mut smallest: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
        for value in values(&document, 20) {
            let mut places: HashSet<u32> = (0..n).collect();
            for round in 0_u64.. {
                let product = u128::from(word(value, round)) * u128::from(n);
                let place = u32::try_from(product >> 64).unwrap();
                if places.remove(&place) {
                    let pair = (round, u64::try_from(product & u128::from(u64::MAX)).unwrap(), value);
                    smallest.entry(place).and_modify(|least| *least = pair.min(*least)).or_insert(pair);
                }
                if places.is_empty() {
                    break;
                }
            }
        }
        let tagger = Tagger::new(&key());
        let mut expected: Vec<Feature> = smallest
            .into_iter()
            .map(|(place, (_, _, value))| tagger.feature(&[&place.to_le_bytes()[..], &value.to_le_bytes()].concat()))
            .collect();
        expected.sort();
        prop_assert_eq!(signature("sketch", &format!("w=20,n={n}"), &document).features, expected);
    }

    #[test]
    fn bsw_keeps_the_smallest_value_of_each_run(document in documents(), w in 2..40_u32, n in 1..50_u32) {
        let is_boundary = |value: &u64| *value % (1 << 32) < (1 << 32) / u64::from(n);
        let values = values(&document, w as usize);
        let runs = values.split_inclusive(is_boundary).filter_map(|run| run.iter().min().copied());
        prop_assert_eq!(signature("bsw", &format!("w={w},n={n}"), &document).features, features(runs));
    }

    #[test]
    fn bsw_chunk_cuts_at_boundaries_and_tiles_the_document(document in documents(), w in 2..40_u32) {
        let (n, w_usize) = (16_u32, w as usize);
        let values = values(&document, w_usize);
        let mut ends = vec![];
        let mut start = 0;
        for end in 1..=document.len() {
            let is_boundary = end >= w_usize && {
                let place = end - w_usize;
                values[place] % (1 << 32) < (1 << 32) / u64::from(n) && (place == 0 || values[place] != values[place - 1])
            };
            if is_boundary || end - start == 64 * n as usize || end == document.len() {
                ends.push(end);
                start = end;
            }
        }
        let method = Method::parse("bsw-chunk", View::Raw, None, &format!("w={w},n={n}")).unwrap();
        let mut chunks: Vec<Chunk> = vec![];
        let content = method
            .fingerprinter(&key())
            .read(&mut document.as_slice(), |chunk| {
                chunks.push(chunk);
                Ok(())
            })
            .unwrap();
        let found: Vec<usize> =
            chunks.iter().map(|chunk| usize::try_from(chunk.offset).unwrap() + chunk.length_bytes as usize).collect();
        prop_assert_eq!(found, ends);
        prop_assert_eq!(content.size_bytes, document.len() as u64);
        let expected: Vec<Feature> =
            chunks.iter().map(|chunk| Feature { tag: chunk.tag, weight: chunk.length_bytes }).collect();
        prop_assert_eq!(signature("bsw-chunk", &format!("w={w},n={n}"), &document).features, expected);
    }

    #[test]
    fn shingles_are_the_runs_of_w_tokens(
        text in texts(),
        w in 1..6_usize,
        kind in prop_oneof![Just("letters"), Just("words"), Just("lines")],
        labelled: bool,
    ) {
        let (rabin, mix, tagger) = (Rabin::new(Polynomial::of(&key())), Mix::of(&key()), Tagger::new(&key()));
        let line = |line: &str| -> String {
            line.split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(|word| word.to_lowercase() + " ")
                .collect()
        };
        let tokens: Vec<String> = match kind {
            "lines" => text.lines().map(line).filter(|line| !line.is_empty()).collect(),
            "words" => line(&text).split_whitespace().map(str::to_owned).collect(),
            _ => line(&text).chars().filter(|letter| *letter != ' ').map(String::from).collect(),
        };
        let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
        let mut expected = BTreeSet::new();
        for shingle in tokens.windows(w) {
            let bytes: Vec<u8> =
                shingle.iter().flat_map(|token| rabin.extend(1, token.as_bytes()).to_be_bytes()).collect();
            let value = mix.value(rabin.extend(0, &bytes));
            let label = seen.entry(value).and_modify(|label| *label += 1).or_insert(1);
            let is_first = *label == 1 || !labelled;
            expected.insert(tagger.sampled(if is_first { value } else { mix.value(value.wrapping_add(*label)) }));
        }
        let option = if labelled { 'a' } else { 'b' };
        let param = format!("tokens={kind},w={w},option={option},sample=all");
        let found = signature("shingle", &param, text.as_bytes());
        prop_assert_eq!(found.windows, (tokens.len() + 1).saturating_sub(w) as u64);
        prop_assert_eq!(&found.features, &expected.iter().copied().collect::<Vec<_>>());

        // The samples are samples of these.
        let of = |sample: &str| signature("shingle", &param.replace("sample=all", sample), text.as_bytes()).features;
        let mut by_order = found.features.clone();
        by_order.sort_by_key(Feature::order);
        let mut smallest = by_order[..by_order.len().min(10)].to_vec();
        smallest.sort();
        prop_assert_eq!(of("sample=min,s=10"), smallest);
        let modulus: Vec<Feature> = found.features.iter().filter(|feature| feature.rank() >= 2).copied().collect();
        prop_assert_eq!(of("sample=mod,m=4"), modulus.clone());
        let mut smallest_of_mod = modulus;
        smallest_of_mod.sort_by_key(Feature::order);
        smallest_of_mod.truncate(5);
        smallest_of_mod.sort();
        prop_assert_eq!(of("sample=min-of-mod,m=4,s=5"), smallest_of_mod);
        // Level i holds the values that are 0 modulo 2^i, for documents of s 2^i to s 2^(i+1) different shingles.
        let (s, different) = (5, found.features.len());
        let level = (0..64_u8).rfind(|level| different >= s << level).unwrap_or(0);
        let at_level: Vec<Feature> = found.features.iter().filter(|feature| feature.rank() >= level).copied().collect();
        prop_assert_eq!(of("sample=levels,s=5"), at_level);
    }

    #[test]
    fn a_higher_level_is_made_from_a_lower_one(text in texts(), level in 0..6_u8) {
        // The shingles that a longer document would keep, from all of them and from the level below.
        let all = signature("shingle", "w=2,sample=all", text.as_bytes()).features;
        let directly = super::levels::at_level(&all, level + 1);
        prop_assert_eq!(&super::levels::at_level(&super::levels::at_level(&all, level), level + 1), &directly);
        let by_mod = signature("shingle", &format!("w=2,sample=mod,m={}", 1_u32 << (level + 1)), text.as_bytes());
        prop_assert_eq!(by_mod.features, directly);
    }

}

proptest! {
    // Each case sets up eleven methods.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_sizes_of_the_reads_change_nothing_and_a_signer_forgets(
        document in documents(),
        text in texts(),
        step in 1..50_usize,
    ) {
        for (name, param) in METHODS {
            let method = Method::parse(name, View::Raw, None, param).unwrap();
            let mut signer = method.signer(&key());
            for document in [document.as_slice(), text.as_bytes()] {
                let at_once = method.signer(&key()).read(&mut &document[..]);
                let pieces = signer.read(&mut ShortReads { rest: document, step });
                match (at_once, pieces) {
                    (Ok(at_once), Ok(pieces)) => prop_assert_eq!(at_once, pieces, "{}", name),
                    (Err(at_once), Err(pieces)) => prop_assert_eq!(at_once.to_string(), pieces.to_string()),
                    (at_once, pieces) => prop_assert!(false, "{name}: {at_once:?} {pieces:?}"),
                }
            }
        }
    }
}

const METHODS: [(&str, &str); 11] = [
    ("tttd", ""),
    ("mod", "n=10"),
    ("min", "n=20"),
    ("sketch", "n=20"),
    ("bsw", "n=10"),
    ("bsw-chunk", "n=16"),
    ("shingle", "w=2,sample=mod,m=2,option=a"),
    ("shingle", "w=2,sample=levels,s=5"),
    ("fuzzy", "words=60"),
    ("similarity-index", "k=4,way=43B"),
    ("similarity-index", "k=4,way=5D"),
];

#[test]
fn ranks_are_the_zeros_that_values_begin_with() {
    let tagger = Tagger::new(&key());
    for value in [0, 1, u64::MAX, 1 << 40] {
        assert_eq!(tagger.sampled(value).rank(), rank(value));
    }
    assert_eq!([0, 1, u64::MAX].map(rank), [64, 63, 0]);
}

#[test]
fn long_documents_of_one_byte_cost_no_more_than_others() {
    // Without the guards a sketch would go through hundreds of words for every byte, and a set would grow with the document.
    for byte in [0, b' ', b'x', 0xff] {
        let document = vec![byte; 4 << 20];
        for (name, param) in [("mod", "n=1"), ("min", ""), ("sketch", "n=1000"), ("bsw", "n=1")] {
            let features = signature(name, param, &document).features.len();
            assert_eq!(features, if name == "sketch" { 1000 } else { 1 }, "{name}");
        }
        let chunks = signature("bsw-chunk", "n=1000", &document).features;
        assert!(chunks.len() <= 2 + (4 << 20) / 64_000, "{byte}: {}", chunks.len());
    }
}
