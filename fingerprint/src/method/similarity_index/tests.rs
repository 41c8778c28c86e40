use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::selector::super_shingle;
use super::*;
use crate::java::array_hash_code;
use crate::soundex::soundex;
use crate::stop_words::is_stop_word;
use crate::{Key, Method, Signature, View};

/// The words of a text as the method sees them.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The elements of the stream, by what the paper's tables 3 and 4 leave out.
fn elements(formula: Formula, text: &str) -> Vec<String> {
    let mut words = words(text);
    if formula.without_stop_words() {
        words.retain(|word| !is_stop_word(word.as_bytes()));
    }
    if formula.is_thinned() && formula.stream != Stream::Characters {
        let mut seen = HashSet::new();
        words.retain(|word| seen.insert(word.clone()));
    }
    match formula.stream {
        Stream::Words => words,
        Stream::Soundex => {
            let code = |word: &String| soundex(word.as_bytes()).map(|code| String::from_utf8(code.to_vec()).unwrap());
            words.iter().filter_map(code).collect()
        }
        Stream::Characters => {
            let letters: String = words.concat();
            letters
                .chars()
                .filter(|letter| !formula.is_thinned() || !"aeiou".contains(*letter))
                .map(String::from)
                .collect()
        }
    }
}

fn hash_of(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

/// The index by the paper's list of ways, each hash from its own text. Without characters beyond the basic plane.
fn by_definition(index: &SimilarityIndex, text: &str) -> Option<i128> {
    let elements = elements(index.formula, text);
    let value = |hash: i32| if index.signed { i64::from(hash) } else { i64::from(hash.cast_unsigned()) };
    if index.formula.number == 13 {
        let mut counts: BTreeMap<&String, i64> = BTreeMap::new();
        elements.iter().for_each(|word| *counts.entry(word).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(word, count)| (-count, *word));
        let words = counts.iter().take(index.words as usize);
        return (!elements.is_empty()).then(|| words.map(|(word, _)| i128::from(value(hash_of(word)))).sum());
    }
    let separator = if index.formula.stream == Stream::Characters { "" } else { " " };
    let hashes: Vec<i32> = elements.windows(index.k as usize).map(|gram| hash_of(&gram.join(separator))).collect();
    let values: Vec<i64> = hashes.iter().copied().map(value).collect();
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let sample = index.sample as usize;
    let chosen: Vec<i64> = match index.formula.number {
        1 | 2 => values,
        3 | 4 => values.into_iter().filter(|value| value % 25 == 0).collect(),
        5 | 6 => winnowed(&values, index.w as usize),
        7 | 8 => sorted.into_iter().take(sample).collect(),
        9 | 10 => sorted.into_iter().rev().take(sample).collect(),
        _ => return None,
    };
    if hashes.is_empty() {
        return None;
    }
    if index.formula.number % 2 == 1 {
        return Some(chosen.into_iter().map(i128::from).sum());
    }
    let bytes: Vec<u8> = chosen.iter().flat_map(|value| value.to_be_bytes()[4..].to_vec()).collect();
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let remainder = bits.fold(0_u64, |rest, bit| (rest << 1 | u64::from(bit)) ^ if rest >> 63 == 1 { 0x1b } else { 0 });
    Some(if index.signed { remainder.cast_signed().into() } else { remainder.into() })
}

/// Window by window: the rightmost smallest, each place once.
fn winnowed(values: &[i64], w: usize) -> Vec<i64> {
    let mut chosen: Vec<usize> = vec![];
    for window in (0..values.len()).collect::<Vec<usize>>().windows(w.min(values.len()).max(1)) {
        let place = *window.iter().min_by_key(|place| (values[**place], Reverse(**place))).unwrap();
        if chosen.last() != Some(&place) {
            chosen.push(place);
        }
    }
    chosen.into_iter().map(|place| values[place]).collect()
}

fn index_of(param: &str, text: &str) -> Signature {
    let method = Method::parse("similarity-index", View::Raw, None, param).unwrap();
    method.signer(&Key::none()).read(&mut text.as_bytes()).unwrap()
}

const ADDRESS: &str = "Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived \
    in Liberty, and dedicated to the proposition that all men are created equal.";

#[test]
fn the_k_grams_of_the_address_are_those_of_the_papers_first_figure() {
    let way = |name| Formula::parse(name).unwrap();
    let grams = |name, k: usize, separator| -> Vec<String> {
        elements(way(name), ADDRESS).windows(k).map(|gram| gram.join(separator)).collect()
    };
    // (The figure prints `rsc` for the fourth.)
    let expected = ["four", "ours", "ursc", "rsco", "scor", "core", "orea", "rean", "eand"];
    assert_eq!(grams("1A", 4, "")[..9], expected);
    let expected = ["four score and seven", "score and seven years", "and seven years ago", "seven years ago our"];
    assert_eq!(grams("21A", 4, " ")[..4], expected);
    let sum: i128 = grams("1A", 4, "").iter().map(|gram| i128::from(hash_of(gram))).sum();
    assert_eq!(index_of("way=1A,k=4", ADDRESS).index, Some(sum));
}

#[test]
fn a_hit_is_strictly_within_30_per_cent_of_the_query() {
    for (query, other, expected) in [
        (100, 100, true),
        (100, 129, true),
        (100, 130, false),
        (100, 71, true),
        (100, 70, false),
        (-100, -129, true),
        (-100, -130, false),
        (100, -100, false),
        (0, 0, false),
        // Not symmetric: 30 % of the larger reaches the smaller, not the other way round.
        (100, 75, true),
        (75, 100, false),
    ] {
        assert_eq!(is_hit(query, other), expected, "{query} {other}");
    }
}

#[test]
fn ways_are_named_by_their_tracking_numbers() {
    let check = |name: &str, number, stream, variation| {
        let way = Formula { number, stream, variation };
        assert_eq!(Formula::parse(name), Some(way));
        assert_eq!(way.to_string(), name);
    };
    check("1A", 1, Stream::Characters, Variation::A);
    check("14D", 14, Stream::Characters, Variation::D);
    check("33C", 13, Stream::Words, Variation::C);
    check("43B", 3, Stream::Soundex, Variation::B);
    for nonsense in ["", "A", "0A", "15A", "20A", "43", "43E", "13A", "55A", "043B", "+3B", "é"] {
        assert_eq!(Formula::parse(nonsense), None, "{nonsense}");
    }
    // 14 ways, three streams, four variations, less the four that do not exist: 656 runs with four pairs of k and w.
    assert_eq!(Formula::all().count() * 4, 656);
}

#[test]
fn a_document_that_is_too_short_has_no_number() {
    for (param, text, needed) in [("way=43B,k=40", "one word", 40), ("way=1A,k=4", "abc", 4), ("way=33A", "", 1)] {
        let signature = index_of(param, text);
        assert_eq!(signature.index, None, "{param}");
        assert_eq!(signature.shortage.unwrap().needed, needed, "{param}");
    }
    // A sum of nothing is a number, and no hit for anything.
    assert_eq!(index_of("way=3A,k=1", "b").index, Some(0));
}

#[test]
fn super_shingles_end_in_one_number() {
    let hashes = [5, 6, 7, 8, 9];
    let level = [array_hash_code(&hashes[..2]), array_hash_code(&hashes[2..4]), array_hash_code(&hashes[4..])];
    let next = [array_hash_code(&level[..2]), array_hash_code(&level[2..])];
    assert_eq!(super_shingle(hashes.to_vec(), 2), array_hash_code(&next));
    assert_eq!(super_shingle(vec![5], 2), 5);
}

#[test]
fn the_seed_chooses_the_random_third() {
    let text: String = (0..3000).map(|place| format!("word{place} ")).collect();
    let index = |seed: u32| index_of(&format!("way=31A,k=2,seed={seed}"), &text).index;
    assert_eq!(index(1), index(1));
    assert_ne!(index(1), index(2));
}

proptest! {
    // Each case goes through all ways.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_formula_equals_its_definition(
        words in proptest::collection::vec(
            prop_oneof!["[a-d]{1,2}", "[A-Z][a-z]{2,7}", Just("the".to_owned()), Just("Füße".to_owned()), "[0-9]{1,4}"],
            0..80,
        ),
        k in 1..6_u32,
        w in 1..9_u32,
        sample in 1..30_u32,
        signed: bool,
    ) {
        let text = words.join(" ");
        for formula in Formula::all().filter(|formula| !matches!(formula.number, 11 | 12 | 14)) {
            let index = SimilarityIndex { formula, k, w, sample, words: sample, seed: 1, signed };
            let hash = if signed { "signed" } else { "unsigned" };
            let param = format!("way={formula},k={k},w={w},sample={sample},words={sample},hash={hash}");
            prop_assert_eq!(index_of(&param, &text).index, by_definition(&index, &text), "{}", param);
        }
    }
}
