use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::shards::MemoryShards;

fn tag(number: u8) -> Tag {
    Tag([number; 16])
}

fn content(chunks: &[u8]) -> Vec<ChunkCount> {
    counted(chunks.iter().map(|number| (tag(*number), 100 + u32::from(*number))))
}

#[test]
fn a_chunk_is_shared_as_often_as_both_have_it_and_left_as_often_as_one_has_it_more() {
    let found = by_chunks(&content(&[1, 1, 1, 2, 4]), &content(&[1, 3, 4]));
    assert_eq!(found.shared_bytes, 101 + 104);
    let one = |number, count| ChunkCount { tag: tag(number), length_bytes: 100 + u32::from(number), count };
    assert_eq!(found.left, [vec![one(1, 2), one(2, 1)], vec![one(3, 1)]]);
}

#[test]
fn a_tag_with_two_lengths_counts_as_two_chunks() {
    let short = counted([(tag(1), 5)].into_iter());
    let found = by_chunks(&content(&[1]), &short);
    assert_eq!((found.shared_bytes, found.left[0].len(), found.left[1].len()), (0, 1, 1));
}

#[test]
fn only_chunks_of_few_contents_make_pairs() {
    let posting = |number, content| Posting {
        tag: tag(number),
        length_bytes: 10,
        template: number == 9,
        content: ContentIndex(content),
    };
    let postings = [(1, 0), (1, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (3, 2), (9, 0), (9, 2)];
    let shards =
        MemoryShards::new(postings.map(|(number, content)| posting(number, content)).to_vec(), NonZeroU32::MIN);
    let found = |holders_max| {
        let mut found = Vec::new();
        pairs_of_rare_chunks(&shards, 0, holders_max, &mut |link| {
            found.push((link.a.0, link.b.0, link.shared_bytes));
            Ok(())
        })
        .unwrap();
        found.sort_unstable();
        found
    };
    assert_eq!(found(2), [(0, 1, 20)]);
    assert_eq!(found(3), [(0, 1, 10), (0, 1, 20), (0, 2, 10), (1, 2, 10)]);
}

/// Fine chunks of which some begin or end alike.
const NUMBERS: [u8; 9] = [10, 11, 19, 27, 16, 24, 0, 2, 8];

proptest! {
    #[test]
    fn a_pair_by_chunks_equals_the_count_of_each_chunk(
        a in proptest::collection::vec(0_u8..12, 0..40),
        b in proptest::collection::vec(0_u8..12, 0..40),
    ) {
        let found = by_chunks(&content(&a), &content(&b));
        let times = |list: &[u8], number: u8| list.iter().filter(|one| **one == number).count() as u64;
        let shared: u64 =
            (0..12).map(|number| times(&a, number).min(times(&b, number)) * (100 + u64::from(number))).sum();
        prop_assert_eq!(found.shared_bytes, shared);
        for (side, list) in [(0, &a), (1, &b)] {
            let left: u64 = found.left[side].iter().map(|one| u64::from(one.count) * u64::from(one.length_bytes)).sum();
            let all: u64 = list.iter().map(|number| 100 + u64::from(*number)).sum();
            prop_assert_eq!(left + shared, all);
        }
    }

    #[test]
    fn fine_chunks_are_shared_as_their_definition_says(
        a in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&NUMBERS), 1..90), 0..5),
        b in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&NUMBERS), 1..90), 0..5),
    ) {
        let mut measure = FineMeasure::default();
        for _ in 0..2 {
            measure.begin();
            a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk), &[]));
            b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk), &[]));
            for (found, row) in [(measure.shared_bytes(), 3), (measure.shared_bytes_closely(), 2)] {
                let of_each = [counted_bytes(&a, &b, row), counted_bytes(&b, &a, row)];
                let all = of_each[0].min(of_each[1]);
                prop_assert_eq!((found.all, found.of_each), (all, if all > 0 { of_each } else { [0; 2] }));
            }
        }
    }
}

fn of_numbers(numbers: &[u8]) -> Vec<FineChunk> {
    numbers.iter().map(|number| FineChunk { tag: *number, length_bytes: length(*number).to_le_bytes()[0] }).collect()
}

fn length(number: u8) -> u64 {
    4 + u64::from(number % 12)
}

/// What counts of a towards b by the definition, with every list of fine chunks ended by none. A row has two or three fine chunks.
fn counted_bytes(a: &[Vec<u8>], b: &[Vec<u8>], row: usize) -> u64 {
    let listed = |chunks: &[Vec<u8>]| -> Vec<Option<u8>> {
        chunks.iter().flat_map(|chunk| chunk.iter().copied().map(Some).chain([None])).collect()
    };
    let (a, b) = (listed(a), listed(b));
    // The fine chunks that agree from two places on.
    let agree = |x: usize, y: usize| a[x..].iter().zip(&b[y..]).take_while(|(x, y)| x == y && x.is_some()).count();
    let (mut counted, mut place) = (vec![0; a.len()], 0);
    while place < a.len() {
        let partners = (0..b.len()).filter(|partner| agree(place, *partner) >= row).take(8);
        // The first of the longest, as far as 64 rows show.
        let longest = partners.min_by_key(|partner| std::cmp::Reverse(agree(place, *partner).min(63 + row)));
        let Some(partner) = longest else {
            place += 1;
            continue;
        };
        let end = place + agree(place, partner);
        let border = |x: Option<usize>, y: Option<usize>, mask: u8| {
            let (own, opposite) = (a[x?]?, b[y?]?);
            ((own ^ opposite) & mask == 0).then(|| length(own).min(length(opposite)))
        };
        let before = border(place.checked_sub(1), partner.checked_sub(1), 7 << 3);
        let after = border(Some(end), Some(partner + end - place), 7);
        let sum: u64 = a[place..end].iter().flatten().map(|number| length(*number)).sum();
        if sum + before.unwrap_or(0) + after.unwrap_or(0) < 32 {
            place += 1;
            continue;
        }
        (place..end).for_each(|own| counted[own] = length(a[own].unwrap()));
        for (own, bytes) in [(place.wrapping_sub(1), before), (end, after)] {
            match bytes {
                Some(bytes) if counted[own] == 0 => counted[own] = bytes - 1,
                _ => {}
            }
        }
        place = end;
    }
    counted.iter().sum()
}

fn shared(a: &[&[u8]], b: &[&[u8]]) -> u64 {
    let mut measure = FineMeasure::default();
    measure.begin();
    a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk), &[]));
    b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk), &[]));
    measure.shared_bytes().all
}

#[test]
fn runs_do_not_cross_chunks_and_count_from_their_least_length_on() {
    // A fine chunk of number n has 4 + n bytes.
    assert_eq!(shared(&[&[10, 11, 8, 3]], &[&[10, 11, 4, 8]]), 0, "no row");
    assert_eq!(shared(&[&[10, 11, 8]], &[&[10, 11, 8]]), 14 + 15 + 12);
    assert_eq!(shared(&[&[6, 7, 6]], &[&[6, 7, 6]]), 0, "31 bytes");
    assert_eq!(shared(&[&[10, 11], &[8]], &[&[10, 11, 8]]), 0, "in two chunks");
    assert_eq!(shared(&[], &[&[1, 2, 3]]), 0);
}

#[test]
fn rows_that_follow_each_other_in_one_content_alone_are_no_run() {
    // Both rows of three are in the other content, in the other order, and too short.
    let (one, other): (&[u8], &[u8]) = (&[6, 7, 5, 4, 3, 2], &[4, 3, 2, 6, 7, 5]);
    assert_eq!(shared(&[one], &[other]), 0);
    let both = &[4, 3, 2, 0, 6, 7, 5, 4, 3, 2];
    assert_eq!(shared(&[one], &[both]), 10 + 11 + 9 + 8 + 7 + 6, "the longest of two places");
}

#[test]
fn bytes_that_one_has_twice_and_the_other_once_are_shared_once() {
    assert_eq!(shared(&[&[8, 9, 10, 3, 8, 9, 10]], &[&[8, 9, 10]]), 12 + 13 + 14);
    assert_eq!(shared(&[&[8, 9, 10, 3, 8, 9, 10]], &[&[8, 9, 10, 4, 8, 9, 10]]), 2 * (12 + 13 + 14));
}

#[test]
fn of_a_border_that_agrees_towards_the_run_all_bytes_but_one_of_the_shorter_one_count() {
    // The lowest three bits are of the beginning, the next three of the end: 19 begins like 43, and 16 ends like 17.
    assert_eq!(shared(&[&[2, 10, 11, 19]], &[&[2, 10, 11, 43]]), 6 + 14 + 15 + 10, "the end begins alike");
    assert_eq!(shared(&[&[1, 1, 8, 19]], &[&[1, 1, 8, 18]]), 0, "nothing agrees");
    assert_eq!(shared(&[&[16, 2, 10, 11]], &[&[17, 2, 10, 11]]), 7 + 6 + 14 + 15, "the beginning ends alike");
    assert_eq!(shared(&[&[24, 1, 1, 8]], &[&[17, 1, 1, 8]]), 0, "it begins alike alone");
}

#[test]
fn bytes_in_common_are_counted_by_the_part_that_has_them() {
    use Part::{Frame, Own, Template};
    let mut measure = FineMeasure::default();
    measure.begin();
    let chunk = of_numbers(&[8, 9, 10, 11]);
    measure.add(0, &chunk, &[Template, Frame, Own, Own]);
    measure.add(1, &chunk, &[Template, Frame, Own, Frame]);
    let found = measure.shared_bytes();
    // The run is one, of 54 bytes, though its own text alone has fewer than count.
    assert_eq!((found.all, found.outside_templates, found.outside_frames), (54, 42, 14));
}

#[test]
fn a_close_look_counts_runs_of_two_fine_chunks() {
    let mut measure = FineMeasure::default();
    measure.begin();
    // 0 ends like 2, and 19 begins like 43.
    [[0, 11, 11, 19], [2, 11, 11, 43]]
        .iter()
        .enumerate()
        .for_each(|(side, chunk)| measure.add(side, &of_numbers(chunk), &[]));
    assert_eq!((measure.shared_bytes().all, measure.shared_bytes_closely().all), (0, 3 + 15 + 15 + 10));
}

#[test]
fn a_run_is_tried_at_the_first_eight_places_of_the_other_content() {
    // The row alone has 30 bytes, and 2 begins unlike 9.
    let own: &[u8] = &[6, 7, 5, 9, 9];
    let with_before = |short: usize| {
        let mut other: Vec<&[u8]> = vec![&[6, 7, 5, 2]; short];
        other.push(own);
        other
    };
    // Beyond them the run is found one fine chunk later, and the first fine chunk is its border.
    assert_eq!([6, 7, 8].map(|short| shared(&[own], &with_before(short))), [56, 56, 55]);
}
