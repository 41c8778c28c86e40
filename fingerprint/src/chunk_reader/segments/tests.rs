use proptest::prelude::*;

use super::*;
use crate::Key;
use crate::chunk_reader::Chunker;
use crate::method::bsw_chunk::BswChunk;
use crate::mix::Mix;
use crate::rabin::{Polynomial, Rabin};
use crate::rolling::Rolling;
use crate::test_support::{documents, noise};
use crate::tttd::Tttd;

fn tttd(mean: u32) -> ChunkReader {
    let key = Key::none();
    ChunkReader::new(Chunker::Tttd(Tttd::new(mean, &key)), &key, true)
}

fn bsw() -> ChunkReader {
    let key = Key::none();
    let rolling = Rolling::new(Rabin::new(Polynomial::of(&key)), 20);
    ChunkReader::new(Chunker::Bsw(Box::new(BswChunk::new(rolling, Mix::of(&key), 100))), &key, false)
}

/// The chunks and the content of a document that is cut at these places, and the number of times that it was read again.
fn joined(reader: &mut ChunkReader, document: &[u8], ends: &[usize]) -> (Vec<Chunk>, Content, usize) {
    let open = |place: u64| &document[usize::try_from(place).unwrap()..];
    let begins = [0].into_iter().chain(ends.iter().copied());
    let places = begins.zip(ends).map(|(begin, end)| begin as u64..*end as u64);
    let segments: Vec<Segment> = places.map(|places| reader.segment(places, open).unwrap()).collect();
    let (mut join, mut chunks, mut again) = (reader.join(), Vec::new(), 0);
    for segment in &segments {
        let open = |place| {
            again += 1;
            open(place)
        };
        let each = |chunk| {
            chunks.push(chunk);
            Ok(())
        };
        reader.join_segment(&mut join, segment, open, each).unwrap();
    }
    (chunks, reader.finish(join), again)
}

fn whole(reader: &mut ChunkReader, document: &[u8]) -> (Vec<Chunk>, Content) {
    let mut chunks = Vec::new();
    let content = reader.slice(document, |chunk| chunks.push(chunk));
    (chunks, content)
}

proptest! {
    #[test]
    fn joined_segments_are_the_document_however_short_and_repetitive_they_are(
        document in documents(),
        cuts in proptest::collection::btree_set(1..4000_usize, 0..6),
    ) {
        let ends: Vec<usize> = cuts.into_iter().filter(|cut| *cut < document.len()).chain([document.len()]).collect();
        for mut reader in [tttd(80), tttd(1000), bsw()] {
            let (chunks, content, _) = joined(&mut reader, &document, &ends);
            prop_assert_eq!((chunks, content), whole(&mut reader, &document));
        }
    }
}

#[test]
fn segments_of_noise_agree_where_they_meet_and_nothing_is_read_again() {
    let document = noise("segments", 3_000_000);
    for mut reader in [tttd(80), tttd(1000), bsw()] {
        let (chunks, content, again) = joined(&mut reader, &document, &[1_000_000, 1_700_001, 2_999_999, 3_000_000]);
        assert!((chunks, content) == whole(&mut reader, &document));
        assert_eq!(again, 0);
    }
}

#[test]
fn segments_of_one_repeated_byte_never_agree_and_are_read_again() {
    let document = [noise("begin", 12_345), vec![7; 400_000], noise("end", 100_000)].concat();
    let mut reader = tttd(1000);
    let (chunks, content, again) = joined(&mut reader, &document, &[150_000, 300_000, document.len()]);
    assert!((chunks, content) == whole(&mut reader, &document));
    assert!(again > 0);
}

#[test]
fn a_document_that_became_shorter_meanwhile_has_the_chunks_up_to_where_it_ends() {
    let (document, mut reader) = (noise("shorter", 400_000), tttd(1000));
    let segments = [0..200_000, 200_000..400_000].map(|places| {
        let left = &document[..150_000];
        reader.segment(places, |place| left.get(usize::try_from(place).unwrap()..).unwrap_or_default()).unwrap()
    });
    let (mut join, mut chunks) = (reader.join(), Vec::new());
    for segment in &segments {
        let each = |chunk| {
            chunks.push(chunk);
            Ok(())
        };
        reader.join_segment(&mut join, segment, |_| io::empty(), each).unwrap();
    }
    assert!((chunks, reader.finish(join)) == whole(&mut reader, &document[..150_000]));
}

#[test]
fn a_failure_of_the_document_is_one_of_its_segment() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("unplugged"))
        }
    }
    assert_eq!(tttd(80).segment(0..10, |_| Fails).err().unwrap().to_string(), "unplugged");
}
