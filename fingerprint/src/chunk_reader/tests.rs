use std::io::Read;

use proptest::prelude::*;

use super::*;
use crate::sparse::Dense;
use crate::test_support::{ShortReads, documents, noise};
use crate::tttd::Parameters;
use crate::{Method, View};

fn chunks_of(document: &[u8], chunk_bytes: u64, step: usize) -> (Vec<Chunk>, Content) {
    let mut fingerprinter = Method::tttd(View::Raw, chunk_bytes).unwrap().fingerprinter(&Key::none());
    let mut chunks = Vec::new();
    let content = fingerprinter
        .read(&mut ShortReads { rest: document, step }, |chunk| {
            chunks.push(chunk);
            Ok(())
        })
        .unwrap();
    (chunks, content)
}

/// The definition, position by position.
fn ends_by_definition(document: &[u8], chunk_bytes: u32) -> Vec<usize> {
    let mut ends = vec![0];
    while ends[ends.len() - 1] < document.len() {
        ends.push(next_end_by_definition(document, ends[ends.len() - 1], chunk_bytes));
    }
    ends.split_off(1)
}

fn next_end_by_definition(document: &[u8], start: usize, chunk_bytes: u32) -> usize {
    let parameters = Parameters::for_mean(chunk_bytes);
    let mut words = [0; 2048];
    blake3::Hasher::new_derive_key("cognate chunker v1").finalize_xof().fill(&mut words);
    let table: Vec<u64> = words.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let mut backup = None;
    for length in parameters.chunk_bytes_min as usize..=parameters.chunk_bytes_max as usize {
        let end = start + length;
        if end > document.len() {
            return document.len();
        }
        let window = &document[end.saturating_sub(64)..end];
        let value =
            window.iter().fold(0_u64, |value, byte| value.wrapping_mul(2).wrapping_add(table[usize::from(*byte)]));
        let below = |divisor: u32| u128::from(value) < (1_u128 << 64) / u128::from(divisor);
        if below(parameters.divisor_main) {
            return end;
        }
        if below(parameters.divisor_backup) {
            backup = Some(end);
        }
    }
    backup.unwrap_or(start + parameters.chunk_bytes_max as usize)
}

proptest! {
    #[test]
    fn chunks_tile_the_document_and_end_where_the_definition_says(document in documents()) {
        let (chunks, content) = chunks_of(&document, 80, usize::MAX);
        let ends: Vec<usize> =
            chunks.iter().map(|chunk| chunk.offset as usize + chunk.length_bytes as usize).collect();
        prop_assert_eq!(&ends, &ends_by_definition(&document, 80));
        let starts: Vec<usize> = chunks.iter().map(|chunk| chunk.offset as usize).collect();
        prop_assert!(ends.iter().zip(starts.iter().skip(1)).all(|(end, start)| end == start));
        prop_assert_eq!(content.size_bytes, document.len() as u64);
        prop_assert_eq!(content.chunk_count, chunks.len() as u64);
    }

    #[test]
    fn the_sizes_of_the_reads_change_nothing(document in documents(), step in 1..300_usize) {
        prop_assert_eq!(chunks_of(&document, 100, step), chunks_of(&document, 100, usize::MAX));
    }

    #[test]
    fn a_document_in_memory_has_the_same_chunks(document in documents()) {
        let mut chunks = vec![];
        let fingerprinter = Method::tttd(View::Raw, 80).unwrap().fingerprinter(&Key::none());
        let content = fingerprinter.slice(&document, |chunk| chunks.push(chunk));
        prop_assert_eq!((chunks, content), chunks_of(&document, 80, 64));
    }

    #[test]
    fn a_chunk_is_a_repeated_byte_when_all_its_bytes_are_equal(document in documents()) {
        for chunk in chunks_of(&document, 80, usize::MAX).0 {
            let start = chunk.offset as usize;
            let bytes = &document[start..start + chunk.length_bytes as usize];
            prop_assert_eq!(chunk.repeated_byte, bytes.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }
}

#[test]
fn chunks_and_samples_are_the_same_whether_candidates_are_found_side_by_side_or_place_by_place() {
    let (key, document) = (Key::none(), noise("ways", 2 * READ_BYTES + 1234));
    for mean in [80, 1000, 16_384] {
        for samples in [false, true] {
            let [chosen, plain] = [false, true].map(|is_plain| {
                let mut reader = ChunkReader::new(Chunker::Tttd(Tttd::new(mean, &key)), &key, samples);
                if is_plain {
                    reader.make_plain();
                }
                let (mut read, mut sliced) = (vec![], vec![]);
                let content = reader.read_with(&mut Dense(ShortReads { rest: &document, step: 70_001 }), |chunk, _| {
                    read.push(chunk);
                    Ok(())
                });
                assert_eq!(reader.slice(&document, |chunk| sliced.push(chunk)), content.unwrap());
                assert_eq!(read, sliced);
                (reader.slice(&document, |_| ()), read)
            });
            assert_eq!(chosen.0.sample.is_empty(), !samples);
            assert_eq!(chosen, plain, "mean {mean}, samples: {samples}");
        }
    }
}

#[test]
fn documents_longer_than_the_buffer_are_cut_by_the_same_definition() {
    let document = noise("long", 3 * READ_BYTES + 17);
    let (chunks, _) = chunks_of(&document, 1000, 100_000);
    let ends: Vec<usize> = chunks.iter().map(|chunk| chunk.offset as usize + chunk.length_bytes as usize).collect();
    assert_eq!(ends, ends_by_definition(&document, 1000));
}

#[test]
fn the_mean_chunk_is_about_the_mean_that_was_asked_for() {
    for chunk_bytes in [80, 1000, 20_000] {
        let length = 2000 * chunk_bytes;
        let (chunks, _) = chunks_of(&noise("mean", length), chunk_bytes as u64, usize::MAX);
        let mean = length / chunks.len();
        assert!((chunk_bytes * 95 / 100..chunk_bytes * 107 / 100).contains(&mean), "{chunk_bytes}: {mean}");
    }
}

#[test]
fn an_insertion_changes_only_the_chunks_around_it() {
    let before = noise("edit", 200_000);
    let after = [&before[..100_000], b"inserted", &before[100_000..]].concat();
    let tags = |document: &[u8]| -> Vec<Tag> {
        chunks_of(document, 1000, usize::MAX).0.iter().map(|chunk| chunk.tag).collect()
    };
    let (before, after) = (tags(&before), tags(&after));
    let lost = before.iter().filter(|tag| !after.contains(tag)).count();
    assert!(lost <= 4, "{lost} of {} chunks changed", before.len());
}

#[test]
fn documents_around_the_thresholds_have_no_empty_chunk() {
    let Parameters { chunk_bytes_min, chunk_bytes_max, .. } = Parameters::for_mean(1000);
    for length in [0, 1, chunk_bytes_min - 1, chunk_bytes_min, chunk_bytes_min + 1, 1000, chunk_bytes_max - 1]
        .into_iter()
        .chain([chunk_bytes_max, chunk_bytes_max + 1])
    {
        let (chunks, content) = chunks_of(&vec![b'z'; length as usize], 1000, 7);
        assert!(chunks.iter().all(|chunk| chunk.length_bytes > 0));
        assert_eq!(chunks.is_empty(), length == 0);
        assert_eq!(content.size_bytes, u64::from(length));
    }
}

#[test]
fn keys_change_cuts_tags_and_digests() {
    let document = noise("keyed", 50_000);
    let with = |key: &Key| {
        let mut tags = vec![];
        let mut fingerprinter = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(key);
        let content = fingerprinter
            .read(&mut document.as_slice(), |chunk| {
                tags.push(chunk);
                Ok(())
            })
            .unwrap();
        (tags, content.digest)
    };
    let (plain, plain_digest) = with(&Key::none());
    let (keyed, keyed_digest) = with(&Key::parse(&[9; 32]).unwrap());
    assert_ne!(plain_digest, keyed_digest);
    assert!(keyed.iter().all(|chunk| plain.iter().all(|other| chunk.tag != other.tag)));
    let ends = |chunks: &[Chunk]| -> Vec<u64> { chunks.iter().map(|chunk| chunk.offset).collect() };
    assert_ne!(ends(&plain), ends(&keyed));
}

#[test]
fn cuts_under_two_keys_agree_no_more_often_than_those_of_two_documents() {
    let cuts = |document: &[u8], key: u8| -> Vec<u64> {
        let mut cuts = vec![];
        let fingerprinter = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::parse(&[key; 32]).unwrap());
        fingerprinter.slice(document, |chunk| cuts.push(chunk.offset));
        // All documents begin with a chunk.
        cuts.split_off(1)
    };
    let common = |a: &[u64], b: &[u64]| a.iter().filter(|cut| b.binary_search(cut).is_ok()).count();
    let (mut other_keys, mut other_documents, mut all) = (0, 0, 0);
    for number in 1..=20 {
        let document = noise(&format!("keyed {number}"), 200_000);
        let one = cuts(&document, number);
        assert_eq!(one, cuts(&document, number));
        other_keys += common(&one, &cuts(&document, number + 100));
        other_documents += common(&one, &cuts(&noise(&format!("other {number}"), 200_000), number));
        all += one.len();
    }
    // Each cut meets one of the others by chance once in a thousand.
    assert!(all > 3000 && other_keys < 15 && other_documents < 15, "{other_keys}, {other_documents} of {all}");
}

#[test]
fn a_reader_that_fails_ends_the_document_with_its_error() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("unplugged"))
        }
    }
    let mut fingerprinter = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::none());
    let error = fingerprinter.read(&mut Fails, |_| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "unplugged");
}

#[test]
fn nothing_of_a_document_is_left_in_the_next_whether_it_was_long_or_broke_off() {
    let key = Key::none();
    let reader = || ChunkReader::new(Chunker::Tttd(Tttd::new(1000, &key)), &key, true);
    let read = |reader: &mut ChunkReader, document: &[u8], chunks_max: usize| {
        let mut chunks = vec![];
        let content = reader.read_with(&mut Dense(document), |chunk, _| {
            chunks.push(chunk);
            if chunks.len() < chunks_max { Ok(()) } else { Err(io::Error::other("no room")) }
        });
        content.ok().map(|content| (content, chunks))
    };
    let mut same = reader();
    // A list of more than `PENDING_BYTES_MAX`, one that broke off, a short one, and none.
    for (length, chunks_max) in
        [(1 << 20, usize::MAX), (50_000, usize::MAX), (400_000, 20), (3000, usize::MAX), (0, usize::MAX), (70_000, 99)]
    {
        let document = noise("next", length);
        assert_eq!(read(&mut same, &document, chunks_max), read(&mut reader(), &document, chunks_max), "{length}");
    }
}
