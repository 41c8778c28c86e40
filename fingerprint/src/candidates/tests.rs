use proptest::prelude::*;

use super::*;
use crate::key::Key;
use crate::test_support::{documents, noise};
use crate::window_sample::WindowSample;

/// The bits of D and of D', one after the other.
type Found = [Vec<bool>; 2];

fn finder(tttd: &Tttd, key: &Key, samples: bool, way: Way) -> Finder {
    Finder { way, ..Finder::new(tttd.clone(), samples.then(|| WindowSampler::new(key))) }
}

/// The candidates and the sample of a document that is looked at in runs, each up to one of `ends`.
fn found(finder: &Finder, document: &[u8], ends: &[usize]) -> (Found, WindowSample) {
    let (mut main, mut backup) = (vec![], vec![]);
    let (mut from, mut sample) = (0, finder.sampler().map(|_| OpenSample::new()));
    for end in ends.iter().copied().chain([document.len()]) {
        if from == end {
            continue;
        }
        let words = (end - from).div_ceil(WORD_PLACES);
        let mut bits = [vec![0; words], vec![0; words]];
        let [first, second] = &mut bits;
        let run = Run { data: &document[..end], from };
        finder.find(run, Bits { main: first, backup: second }, sample.as_mut());
        for (all, words) in [&mut main, &mut backup].into_iter().zip(bits) {
            let set = |place: usize| words[place / 64] >> (63 - place % 64) & 1 == 1;
            all.extend((0..end - from).map(set));
            assert!((end - from..words.len() * 64).all(|place| !set(place)), "a bit after the end");
        }
        from = end;
    }
    ([main, backup], sample.map_or(WindowSample::NONE, OpenSample::finish))
}

/// The definition, window by window.
fn by_definition(tttd: &Tttd, document: &[u8]) -> Found {
    let value = |end: usize| {
        let window = &document[end.saturating_sub(64)..end];
        window.iter().fold(0_u64, |value, byte| value.wrapping_mul(2).wrapping_add(tttd.table()[usize::from(*byte)]))
    };
    let values: Vec<u64> = (1..=document.len()).map(value).collect();
    [tttd.bound_main(), tttd.bound_backup()].map(|bound| values.iter().map(|value| *value < bound).collect())
}

#[track_caller]
fn check(tttd: &Tttd, key: &Key, document: &[u8], ends: &[usize]) {
    let expected = by_definition(tttd, document);
    // The sample by the plain way in one run, which `window_sample` holds against its definition.
    let (_, sample) = found(&finder(tttd, key, true, Way::Plain), document, &[]);
    for way in Way::all() {
        let with = found(&finder(tttd, key, true, way), document, ends);
        assert!(with == (expected.clone(), sample.clone()), "{way:?}, {} bytes in runs up to {ends:?}", document.len());
        let (without, _) = found(&finder(tttd, key, false, way), document, ends);
        assert!(without == expected, "{way:?} without a sample, {} bytes in runs up to {ends:?}", document.len());
    }
}

#[test]
fn candidates_of_edge_lengths_are_those_of_the_definition() {
    let key = Key::none();
    let (bytes, tttd) = (noise("candidates", 9000), Tttd::new(80, &key));
    let ascii: Vec<u8> = bytes.iter().map(|byte| byte & 0x7f).collect();
    for length in [1, 31, 32, 33, 63, 64, 65, 639, 640, 641, 703, 704, 705, 1023, 1024, 1025, 1087, 1088, 1089, 2048]
        .into_iter()
        .chain([2049, 7167, 7168, 7169, 8191, 8192, 8193, 9000])
    {
        check(&tttd, &key, &bytes[..length], &[]);
        check(&tttd, &key, &ascii[..length], &[]);
    }
}

#[test]
fn a_document_has_the_same_candidates_in_one_run_and_in_many() {
    let key = Key::parse(&[7; 32]).unwrap();
    let (bytes, tttd) = (noise("runs", 20_000), Tttd::new(1000, &key));
    for ends in [&[64][..], &[1024], &[640, 1280], &[64, 128, 4096, 4160], &[12_800], &[19_968], &[8192, 16_384]] {
        check(&tttd, &key, &bytes, ends);
    }
}

#[test]
fn a_fingerprint_that_is_as_high_as_a_bound_is_decided_by_its_low_half() {
    let key = Key::none();
    let (bytes, tttd) = (noise("equal", 5000), Tttd::new(1000, &key));
    let mut values: Vec<u64> = (1..=bytes.len()).map(|end| tttd.before(&bytes, end)).collect();
    values.sort_unstable();
    // A place is not below its own fingerprint, and it is below the next number.
    let (main, backup) = (values[20], values[40]);
    for (main, backup) in [(main, backup), (main + 1, backup), (main, backup + 1), (main - 1, backup - 1)] {
        check(&tttd.clone().with_bounds(main, backup), &key, &bytes, &[]);
    }
}

#[test]
fn set_bits_are_found_between_any_two_places() {
    let words = [0, 1 << 63 | 1, 0, 1 << 5, 0, u64::MAX];
    let set = |place: &usize| words[*place / 64] >> (63 - *place % 64) & 1 == 1;
    for first in 0..384 {
        for last in first..384 {
            assert_eq!(first_set(&words, first, last), (first..=last).find(set), "{first} to {last}");
            assert_eq!(last_set(&words, first, last), (first..=last).rfind(set), "{first} to {last}");
        }
    }
}

proptest! {
    #[test]
    fn candidates_are_those_of_the_definition(document in documents(), ends in proptest::collection::vec(0..90_usize, 0..4)) {
        let key = Key::none();
        let mut ends: Vec<usize> = ends.into_iter().map(|words| words * 64).filter(|end| *end < document.len()).collect();
        ends.sort_unstable();
        check(&Tttd::new(80, &key), &key, &document, &ends);
    }

    #[test]
    fn long_noise_has_the_same_sample_in_every_way(seed: u64, length in 0..60_000_usize) {
        let (key, document) = (Key::none(), noise(&seed.to_string(), length));
        let tttd = Tttd::new(1000, &key);
        let [plain, fastest] = [Way::Plain, Way::all().next().unwrap()].map(|way| found(&finder(&tttd, &key, true, way), &document, &[]));
        prop_assert!(plain == fastest);
    }

    #[test]
    fn chunks_end_where_place_by_place_they_end(document in documents(), mean in 80..400_u32) {
        let tttd = Tttd::new(mean, &Key::none());
        let finder = Finder::new(tttd.clone(), None);
        let (mut candidates, mut start) = (Candidates::default(), 0);
        candidates.look(&finder, &document, 0, document.len(), true, None);
        while start < document.len() {
            let length = candidates.cut(&tttd, start, true);
            prop_assert_eq!(length, tttd.cut(&document, start, true));
            start += length.unwrap();
        }
    }
}
