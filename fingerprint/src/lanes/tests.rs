use proptest::prelude::*;

use super::*;
use crate::test_support::noise;

/// Every set of lanes that this processor has, and the portable one.
fn all_lanes() -> impl Iterator<Item = Lanes> {
    Lanes::all().chain([Lanes::Portable])
}

fn expected(key: Option<[u8; 32]>, content: &[u8]) -> Value {
    key.map_or_else(|| blake3::hash(content), |key| blake3::keyed_hash(&key, content)).into()
}

/// Compares the hashes of contents in all lanes, with a key and without, with those of the crate.
fn check(contents: &[&[u8]]) {
    for key in
        [None, Some(*b"a key of thirty-two bytes, no more")].map(|key| key.map(|key| *key.first_chunk().unwrap()))
    {
        let expected: Vec<Value> = contents.iter().map(|content| expected(key, content)).collect();
        for lanes in all_lanes() {
            let hasher = ManyHasher { key, lanes };
            assert_eq!(hasher.hash_each(contents), expected, "{lanes:?}");
            if lanes != Lanes::One {
                assert_eq!(hasher.hash_side_by_side(contents), expected, "all in {lanes:?}");
            }
        }
    }
}

const EDGES: [usize; 24] = [
    0, 1, 3, 4, 31, 32, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 1087, 1088, 1089, 2047, 2048, 2049, 3072, 3073,
    5000,
];

#[test]
fn contents_of_edge_lengths_have_the_hashes_of_the_crate() {
    let bytes = noise("lanes", 5000);
    let contents: Vec<&[u8]> = EDGES.iter().map(|length| &bytes[..*length]).collect();
    check(&contents);
    for length in EDGES {
        for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100] {
            check(&vec![&bytes[..length]; count]);
        }
    }
}

#[test]
fn every_length_up_to_three_pieces_has_the_hash_of_the_crate() {
    let bytes = noise("lengths", 3100);
    let contents: Vec<&[u8]> = (0..=3100).map(|length| &bytes[3100 - length..]).collect();
    check(&contents);
}

#[test]
fn trees_of_every_shape_have_the_hash_of_the_crate() {
    let bytes = noise("trees", 70 * PIECE_BYTES);
    let contents: Vec<&[u8]> = (1..=70).map(|pieces| &bytes[..pieces * PIECE_BYTES - pieces % 3]).collect();
    check(&contents);
    contents.iter().for_each(|content| check(&[content]));
}

#[test]
fn few_contents_are_left_to_the_crate_and_many_are_hashed_side_by_side() {
    let content = noise("few", 40 * PIECE_BYTES);
    for (length, gains) in [(1000, 5), (100, 5), (4000, 3), (16 * PIECE_BYTES, 1)] {
        for count in [0, 1, 2, 3, 4, 5, 16, 100] {
            assert_eq!(gain_in_lanes(&vec![&content[..length]; count]), count >= gains, "{count} of {length} bytes");
        }
    }
}

proptest! {
    #[test]
    fn random_contents_have_the_hashes_of_the_crate(seed: u64, lengths in proptest::collection::vec(0..5000_usize, 0..60)) {
        let bytes = noise(&seed.to_string(), 5000);
        let contents: Vec<&[u8]> = lengths.iter().map(|length| &bytes[5000 - length..]).collect();
        check(&contents);
    }

    #[test]
    fn short_contents_of_unlike_lengths_have_the_hashes_of_the_crate(seed: u64, lengths in proptest::collection::vec(0..200_usize, 0..300)) {
        let bytes = noise(&seed.to_string(), 300);
        let contents: Vec<&[u8]> = lengths.iter().map(|length| &bytes[length / 2..][..*length / 2]).collect();
        check(&contents);
    }
}
