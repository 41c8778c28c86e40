use proptest::prelude::*;

use super::*;
use crate::test_support::{documents, noise};
use crate::{Method, View};

fn sketch(document: &[u8], key: &Key) -> ContentSketch {
    Method::tttd(View::Raw, 1000).unwrap().fingerprinter(key).slice(document, |_| {}).sketch
}

/// The definition, window by window: `docs/fingerprint.md`.
fn by_definition(document: &[u8], key: &Key) -> ContentSketch {
    let mut words = [0; 2048];
    key.derive_into("cognate chunker v1", &mut words);
    let table: Vec<u64> = words.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let mut sip_key = [0; 16];
    key.derive_into("cognate sketch v1", &mut sip_key);
    let mut best: [Option<(u64, &[u8])>; 16] = [None; 16];
    for window in document.windows(32).filter(|window| window.iter().any(|byte| *byte != window[0])) {
        let function =
            window.iter().rev().zip(0..).fold(0_u64, |sum, (byte, doublings)| {
                sum.wrapping_add(table[usize::from(*byte)].wrapping_shl(doublings))
            }) % (1 << 32);
        if function * 32 >= 1 << 32 {
            continue;
        }
        let mixed = Mix::of(key).value(function);
        let best = &mut best[usize::try_from(mixed / (1 << 60)).unwrap()];
        if best.is_none_or(|(least, _)| mixed < least) {
            *best = Some((mixed, window));
        }
    }
    let value = |(_, window): (u64, &[u8])| {
        u32::try_from(hashed(&SipHash::new(sip_key), window.try_into().unwrap()) % (1 << 32)).unwrap().max(1)
    };
    let filled = (0..16).filter(|slot| best[*slot].is_some()).fold(0, |filled, slot| filled | 1 << slot);
    ContentSketch::new(filled, best.into_iter().flatten().map(value)).unwrap()
}

proptest! {
    #[test]
    fn a_sketch_is_what_its_definition_says(document in documents()) {
        for key in [Key::none(), Key::parse(&[7; 32]).unwrap()] {
            prop_assert_eq!(sketch(&document, &key), by_definition(&document, &key));
        }
    }

    #[test]
    fn a_sketch_is_made_again_from_its_slots(document in documents()) {
        let sketch = sketch(&document, &Key::none());
        let values: Vec<u32> = sketch.slots().map(|(_, value)| value).collect();
        prop_assert_eq!(ContentSketch::new(sketch.filled(), values.iter().copied()), Some(sketch));
        prop_assert_eq!(sketch.agreement(&sketch), values.len());
        prop_assert_eq!(sketch.is_empty(), sketch.digest() == 0);
        // One value too many.
        prop_assert_eq!(ContentSketch::new(sketch.filled(), values.into_iter().chain([5])), None);
    }
}

#[test]
fn a_value_of_zero_or_a_missing_one_is_refused() {
    assert_eq!(ContentSketch::new(0b101, [7]), None);
    assert_eq!(ContentSketch::new(0b101, [7, 0]), None);
    let sketch = ContentSketch::new(0b101, [7, 8]).unwrap();
    assert_eq!(sketch.slots().collect::<Vec<_>>(), [(0, 7), (2, 8)]);
    assert_ne!(sketch.digest(), ContentSketch::new(0b11, [7, 8]).unwrap().digest());
}

#[test]
fn a_short_document_fills_few_slots_and_a_run_of_one_byte_none() {
    assert!(sketch(&noise("sketch", SKETCH_WINDOW_BYTES - 1), &Key::none()).is_empty());
    for byte in 0..=255 {
        assert!(sketch(&vec![byte; 10_000], &Key::none()).is_empty(), "{byte}");
    }
    // About seven windows are sampled.
    let few = sketch(&noise("sketch", 256), &Key::none()).slots().count();
    assert!((1..=12).contains(&few), "{few}");
    assert_eq!(sketch(&noise("sketch", 20_000), &Key::none()).slots().count(), SKETCH_SLOTS);
}

/// An edit every 400 bytes leaves hardly a chunk of 1,000, and 32-byte windows in 92 of 100 places.
#[test]
fn documents_with_an_edit_in_every_chunk_agree_in_most_slots_and_others_in_none() {
    let (mut agreeing, mut by_chance) = (0, 0);
    for number in 0..50 {
        let before = noise(&format!("sketch {number}"), 20_000);
        let mut after = before.clone();
        after.iter_mut().step_by(400).for_each(|byte| *byte ^= 1);
        agreeing += sketch(&before, &Key::none()).agreement(&sketch(&after, &Key::none()));
        let other = noise(&format!("another {number}"), 20_000);
        by_chance += sketch(&before, &Key::none()).agreement(&sketch(&other, &Key::none()));
    }
    // The resemblance of the windows is 0.92 / 1.08: of 800 slots, 680 are to agree, with a standard deviation of 10.
    assert!((640..=720).contains(&agreeing), "{agreeing}");
    assert_eq!(by_chance, 0);
}

#[test]
fn no_value_of_a_sketch_is_the_same_under_another_key() {
    let document = noise("sketch", 20_000);
    let (plain, keyed) = (sketch(&document, &Key::none()), sketch(&document, &Key::parse(&[7; 32]).unwrap()));
    assert!(plain.slots().all(|(_, value)| keyed.slots().all(|(_, other)| other != value)));
}

#[test]
fn only_methods_with_fine_chunks_make_sketches() {
    let document = noise("sketch", 20_000);
    let of = |name: &str, chunk_bytes, param: &str| {
        let method = Method::parse(name, View::Raw, chunk_bytes, param).unwrap();
        let sketch = method.fingerprinter(&Key::none()).slice(&document, |_| {}).sketch;
        assert_eq!(sketch.is_empty(), !method.capabilities().fine, "{method}");
        sketch
    };
    // The windows do not depend on the mean.
    assert_eq!(of("tttd", Some(80), ""), of("tttd", Some(16_384), ""));
    assert!(of("tttd", Some(16_385), "").is_empty());
    assert!(of("bsw-chunk", None, "w=20,n=1000").is_empty() && of("min", None, "").is_empty());
}

#[test]
fn of_windows_with_one_function_the_first_of_the_content_wins_whichever_part_of_it_is_read_first() {
    let (sketcher, document) = (Sketcher::new(&Key::none()), noise("parts", 3000));
    let offer = |sketching: &mut Sketching, begin: usize, place: usize| {
        sketching.begin_at(begin as u64);
        sketcher.offer(sketching, 1234, &document[begin..], 0, place - begin);
    };
    let mut first = sketcher.begin();
    offer(&mut first, 1000, 2000);
    let expected = sketcher.finish(&first);
    let mut later = sketcher.begin();
    offer(&mut later, 2000, 2500);
    assert_ne!(sketcher.finish(&later), expected);
    for (mut one, other) in [(first.clone(), later.clone()), (later, first)] {
        one.merge(&other);
        assert_eq!(sketcher.finish(&one), expected);
    }
}
