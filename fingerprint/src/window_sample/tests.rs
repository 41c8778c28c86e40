use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::test_support::{documents, noise};
use crate::{Method, View};

fn sample(document: &[u8], key: &Key) -> WindowSample {
    Method::tttd(View::Raw, 1000).unwrap().fingerprinter(key).slice(document, |_| {}).sample
}

/// The values of all windows with a level: `docs/fingerprint.md`.
fn all_values(document: &[u8], key: &Key) -> BTreeSet<u64> {
    let mut words = [0; 2048];
    key.derive_into("cognate chunker v1", &mut words);
    let table: Vec<u64> = words.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let mut sip_key = [0; 16];
    key.derive_into("cognate sample v1", &mut sip_key);
    let value = |window: &[u8]| {
        let function =
            window.iter().rev().zip(0..).fold(0_u64, |sum, (byte, doublings)| {
                sum.wrapping_add(table[usize::from(*byte)].wrapping_shl(doublings))
            }) % (1 << 32);
        let level = u64::from(Mix::of(key).value(function).leading_zeros()).min(15);
        let hash = hashed(&SipHash::new(sip_key), window.try_into().unwrap());
        (function * 32 < 1 << 32).then_some(level << 36 | hash >> 28)
    };
    document.windows(32).filter(|window| window.iter().any(|byte| *byte != window[0])).filter_map(value).collect()
}

/// The definition, window by window.
fn by_definition(document: &[u8], key: &Key) -> WindowSample {
    let all = all_values(document, key);
    let from = |level: u64| all.iter().copied().filter(|value| value >> 36 >= level).collect::<Vec<_>>();
    let most = [16, 64, 512];
    let most = most.into_iter().chain(std::iter::repeat(8192));
    let (level, _) = (0..16).zip(most).find(|(level, most)| from(*level).len() <= *most).unwrap();
    WindowSample::new(&from(level)).unwrap()
}

proptest! {
    #[test]
    fn a_sample_is_what_its_definition_says(document in documents()) {
        for key in [Key::none(), Key::parse(&[7; 32]).unwrap()] {
            prop_assert_eq!(sample(&document, &key), by_definition(&document, &key));
        }
    }

    #[test]
    fn a_sample_is_made_again_from_its_bytes(document in documents()) {
        let sample = sample(&document, &Key::none());
        prop_assert_eq!(WindowSample::from_bytes(sample.as_bytes().to_vec()), Some(sample.clone()));
        prop_assert_eq!(sample.is_empty(), sample.digest() == 0);
        let (level, [own, same]) = sample.counts().at_common_level(&sample.counts());
        prop_assert_eq!((usize::from(own), usize::from(same)), (sample.len(), sample.len()));
        prop_assert!(sample.values().next().is_none_or(|first| sample_level(first) == level));
    }

    #[test]
    fn parts_of_a_content_give_its_sample_in_any_order_and_twice(
        values in proptest::collection::vec((0..16_u64, 0..2000_u64), 0..900), parts in proptest::collection::vec(0..3_usize, 900),
    ) {
        let values: Vec<u64> = values.into_iter().map(|(level, hash)| level << 36 | hash).collect();
        let add = |sample: &mut OpenSample, part: Option<usize>| {
            let own = values.iter().zip(&parts).filter(|(_, own)| part.is_none_or(|part| part == **own));
            own.filter(|(value, _)| sample_level(**value) >= sample.level).map(|(value, _)| *value).collect::<Vec<_>>()
                .into_iter().for_each(|value| if sample_level(value) >= sample.level { sample.add_value(value); });
        };
        let mut whole = OpenSample::new();
        add(&mut whole, None);
        let mut merged = OpenSample::new();
        for part in [2, 0, 1, 2] {
            let mut open = OpenSample::new();
            add(&mut open, Some(part));
            merged.merge(&open);
        }
        prop_assert_eq!(merged.finish(), whole.finish());
    }
}

#[test]
fn values_that_do_not_ascend_or_are_too_large_or_too_many_are_refused() {
    assert_eq!(WindowSample::new(&[7, 7]), None);
    assert_eq!(WindowSample::new(&[8, 7]), None);
    assert_eq!(WindowSample::new(&[1 << 40]), None);
    assert_eq!(WindowSample::new(&(0..8193).collect::<Vec<_>>()), None);
    assert_eq!(WindowSample::from_bytes(vec![0; 9]), None);
    let sample = WindowSample::new(&[7, 8, 3 << 36]).unwrap();
    assert_eq!((sample.counts().0[..5].to_vec(), sample.counts().lowest()), (vec![3, 1, 1, 1, 0], 0));
    let sparse = WindowSample::new(&[2 << 36, 3 << 36]).unwrap();
    assert_eq!(sample.counts().at_common_level(&sparse.counts()), (2, [1, 2]));
    assert_eq!([0, 1].map(|common| sample.counts().in_common_bytes(&sparse.counts(), common)), [None, Some(128)]);
    assert_ne!(sample.digest(), WindowSample::new(&[7, 8]).unwrap().digest());
}

#[test]
fn a_sample_grows_with_its_document_and_a_run_of_one_byte_has_none() {
    let count = |bytes: usize| sample(&noise("sample", bytes), &Key::none()).len();
    assert_eq!(count(SAMPLE_WINDOW_BYTES - 1), 0);
    // One in 32 as long as there are 16, in 64 as long as there are 64, in 128 as long as there are 512, then in 256.
    for (bytes, expected) in [(256, 7), (1_000, 16), (3_000, 47), (12_000, 94), (30_000, 234), (1_000_000, 3_906)] {
        let found = count(bytes);
        assert!((expected / 2..=2 * expected).contains(&found), "{found} of {bytes} bytes");
    }
    let long = count(6_000_000);
    assert!((4096..=8192).contains(&long), "{long}");
    for byte in 0..=255 {
        assert!(sample(&vec![byte; 10_000], &Key::none()).is_empty(), "{byte}");
    }
}

/// An edit every 60 bytes leaves windows of 32 bytes in 28 of 60 places.
#[test]
fn an_edited_document_and_an_excerpt_have_their_share_of_values_in_common_and_others_none() {
    let common =
        |a: &WindowSample, b: &WindowSample| a.values().filter(|value| b.values().any(|other| other == *value)).count();
    let (mut edited, mut excerpts, mut by_chance, mut all) = (0, 0, 0, 0);
    for number in 0..50 {
        let before = noise(&format!("sample {number}"), 14_000);
        let mut after = before.clone();
        after.iter_mut().step_by(60).for_each(|byte| *byte ^= 1);
        let [whole, after, part] = [&before[..], &after, &before[4000..7000]].map(|bytes| sample(bytes, &Key::none()));
        edited += common(&whole, &after);
        excerpts += usize::from(common(&whole, &part) > 0);
        all += whole.len();
        by_chance += common(&whole, &sample(&noise(&format!("another {number}"), 14_000), &Key::none()));
    }
    assert!((36..=58).contains(&(100 * edited / all)), "{edited} of {all}");
    assert_eq!((excerpts, by_chance), (50, 0));
}

#[test]
fn no_value_of_a_sample_is_the_same_under_another_key() {
    let document = noise("sample", 20_000);
    let (plain, keyed) = (sample(&document, &Key::none()), sample(&document, &Key::parse(&[7; 32]).unwrap()));
    assert!(plain.values().all(|value| keyed.values().all(|other| other != value)));
}

#[test]
fn only_methods_with_fine_chunks_take_samples() {
    let document = noise("sample", 20_000);
    let of = |name: &str, chunk_bytes, param: &str| {
        let method = Method::parse(name, View::Raw, chunk_bytes, param).unwrap();
        let sample = method.fingerprinter(&Key::none()).slice(&document, |_| {}).sample;
        assert_eq!(sample.is_empty(), !method.capabilities().fine, "{method}");
        sample
    };
    // The windows do not depend on the mean.
    assert_eq!(of("tttd", Some(80), ""), of("tttd", Some(16_384), ""));
    assert!(of("tttd", Some(16_385), "").is_empty());
    assert!(of("bsw-chunk", None, "w=20,n=1000").is_empty() && of("min", None, "").is_empty());
}
