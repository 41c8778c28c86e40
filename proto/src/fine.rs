//! Fine chunks on the wire: the choice of chunks that a site is asked to cut again, and its answer, both checked on arrival.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::io::{Read as _, Write as _};

use cognate_fingerprint::{ContentDigest, FineChunk, Tag};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::limits::{FINE_CHOICE_PIECE, FINE_CHUNKS_MAX, FINE_TABLE_CHUNKS_MAX, FINE_TABLE_MAX, FINE_TABLE_TARGET};
use crate::v1;

/// The length of a digest or tag.
const ID_BYTES: usize = 16;
/// Packing for a line, and within one process, where bytes cost nothing.
const LEVELS: [Compression; 2] = [Compression::new(3), Compression::none()];

/// The contents that a site reads again, and the chunks of theirs that it cuts into fine chunks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FineChoice {
    /// Contents that the site sent, each with chunks of its own.
    pub contents: Vec<(ContentDigest, Vec<Tag>)>,
}

/// A chunk that was cut again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expansion {
    /// The tag of the chunk.
    pub tag: Tag,
    /// Its fine chunks, in order.
    pub fine: Vec<FineChunk>,
}

/// The error of a message about fine chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FineError {
    /// A digest, tag or fine tag has another length.
    #[error("a tag of another length")]
    Length,
    /// There are more contents or chunks than a query may have, or than were announced.
    #[error("more contents or chunks than were announced, or fewer")]
    Count,
    /// A table has too many fine chunks, or columns that contradict each other.
    #[error("a table whose columns do not agree")]
    Columns,
}

impl FineChoice {
    /// The chunks of all contents.
    pub fn tags(&self) -> impl Iterator<Item = Tag> + '_ {
        self.contents.iter().flat_map(|(_, tags)| tags.iter().copied())
    }

    /// Keeps the chunks of `left` alone, and the contents that have any.
    pub fn retain(&mut self, left: &HashSet<Tag, impl BuildHasher>) {
        self.contents.iter_mut().for_each(|(_, tags)| tags.retain(|tag| left.contains(tag)));
        self.contents.retain(|(_, tags)| !tags.is_empty());
    }

    /// The pieces in which the choice is sent.
    pub fn pieces(&self) -> Vec<v1::FineChoice> {
        let mut pieces = vec![v1::FineChoice::default()];
        for (digest, tags) in &self.contents {
            for part in tags.chunks(FINE_CHOICE_PIECE) {
                if pieces
                    .last()
                    .is_some_and(|last| last.tags.len() + part.len() * ID_BYTES > FINE_CHOICE_PIECE * ID_BYTES)
                {
                    pieces.push(v1::FineChoice::default());
                }
                let piece = pieces.last_mut().expect("there is one");
                piece.contents.extend_from_slice(&digest.0);
                piece.counts.push(u32::try_from(part.len()).expect("a piece is short"));
                part.iter().for_each(|tag| piece.tags.extend_from_slice(&tag.0));
            }
        }
        pieces
    }

    /// Adds a received piece.
    ///
    /// # Errors
    /// If its columns do not agree, or there are too many chunks.
    pub fn take(&mut self, piece: &v1::FineChoice) -> Result<(), FineError> {
        let mut tags = ids(&piece.tags)?.map(Tag);
        let total: u64 = piece.counts.iter().map(|count| u64::from(*count)).sum();
        let agrees = piece.contents.len() == piece.counts.len() * ID_BYTES
            && total * ID_BYTES as u64 == piece.tags.len() as u64
            && !piece.counts.contains(&0);
        if !agrees {
            return Err(FineError::Columns);
        }
        for (digest, count) in ids(&piece.contents)?.map(ContentDigest).zip(&piece.counts) {
            let tags = tags.by_ref().take(*count as usize);
            match self.contents.last_mut() {
                Some((last, of_last)) if *last == digest => of_last.extend(tags),
                _ => self.contents.push((digest, tags.collect())),
            }
        }
        if self.tags().count() > FINE_CHUNKS_MAX { Err(FineError::Count) } else { Ok(()) }
    }

    /// Checks that as many contents and chunks arrived as were announced.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn check(&self, contents: u64, chunks: u64) -> Result<(), FineError> {
        let agrees = self.contents.len() as u64 == contents && self.tags().count() as u64 == chunks;
        if agrees { Ok(()) } else { Err(FineError::Count) }
    }
}

fn ids(bytes: &[u8]) -> Result<impl Iterator<Item = [u8; ID_BYTES]>, FineError> {
    let (ids, rest) = bytes.as_chunks::<ID_BYTES>();
    if rest.is_empty() { Ok(ids.iter().copied()) } else { Err(FineError::Length) }
}

/// Adds fine chunks to their two columns; returns their number.
fn push_fine(tags: &mut Vec<u8>, lengths: &mut Vec<u8>, fine: impl Iterator<Item = FineChunk>) -> u32 {
    let before = tags.len();
    for FineChunk { tag, length_bytes } in fine {
        let half = (length_bytes - 1) & 0xf;
        match tags.len().is_multiple_of(2) {
            true => lengths.push(half),
            false => *lengths.last_mut().expect("it has the first half") |= half << 4,
        }
        tags.push(tag);
    }
    u32::try_from(tags.len() - before).expect("a chunk has a few thousand fine chunks")
}

/// A fine chunk of the two columns.
fn fine_at(tags: &[u8], lengths: &[u8], place: usize) -> FineChunk {
    FineChunk { tag: tags[place], length_bytes: 1 + ((lengths[place / 2] >> (4 * (place % 2))) & 0xf) }
}

/// Packs expansions into tables.
#[derive(Default)]
pub struct FineTables {
    full: Vec<v1::FineTable>,
    table: v1::FineTable,
}

impl FineTables {
    /// Adds a chunk with its fine chunks.
    pub fn push(&mut self, tag: Tag, fine: impl Iterator<Item = FineChunk>) {
        let count = push_fine(&mut self.table.fine_tags, &mut self.table.lengths, fine);
        self.table.tags.extend_from_slice(&tag.0);
        self.table.counts.push(count);
        if self.table.fine_tags.len() >= FINE_TABLE_TARGET || self.table.counts.len() >= FINE_TABLE_CHUNKS_MAX {
            self.full.push(std::mem::take(&mut self.table));
        }
    }

    /// All tables, none of them empty.
    pub fn finish(mut self) -> Vec<v1::FineTable> {
        if !self.table.counts.is_empty() {
            self.full.push(self.table);
        }
        self.full
    }
}

/// Packs the answer to a question into tables: chunks by their numbers, and their fine chunks compressed.
pub struct AnswerTables {
    level: Compression,
    full: Vec<v1::FineAnswerTable>,
    numbers: Vec<u32>,
    counts: Vec<u32>,
    tags: Vec<u8>,
    lengths: Vec<u8>,
}

impl AnswerTables {
    /// Tables that are compressed where they go over a line.
    pub fn new(is_remote: bool) -> AnswerTables {
        let [over_line, in_process] = LEVELS;
        AnswerTables {
            level: if is_remote { over_line } else { in_process },
            full: Vec::new(),
            numbers: Vec::new(),
            counts: Vec::new(),
            tags: Vec::new(),
            lengths: Vec::new(),
        }
    }

    /// Adds the chunk with this number in the question.
    pub fn push(&mut self, number: u32, fine: impl Iterator<Item = FineChunk>) {
        self.counts.push(push_fine(&mut self.tags, &mut self.lengths, fine));
        self.numbers.push(number);
        if self.tags.len() >= FINE_TABLE_TARGET || self.counts.len() >= FINE_TABLE_CHUNKS_MAX {
            self.end_table();
        }
    }

    fn end_table(&mut self) {
        let mut compressor = DeflateEncoder::new(Vec::new(), self.level);
        for column in [&mut self.tags, &mut self.lengths] {
            compressor.write_all(column).expect("memory takes all bytes");
            column.clear();
        }
        self.full.push(v1::FineAnswerTable {
            numbers: std::mem::take(&mut self.numbers),
            counts: std::mem::take(&mut self.counts),
            fine: compressor.finish().expect("memory takes all bytes"),
        });
    }

    /// The tables that are full, which it keeps no longer.
    pub fn take_full(&mut self) -> Vec<v1::FineAnswerTable> {
        std::mem::take(&mut self.full)
    }

    /// All tables that are left, none of them empty.
    pub fn finish(&mut self) -> Vec<v1::FineAnswerTable> {
        if !self.counts.is_empty() {
            self.end_table();
        }
        self.take_full()
    }
}

/// Unpacks a table of an answer about the chunks `asked`, all of them in `left`, and removes them there. It takes no more memory than a
/// table may have, whatever the compressed bytes say.
///
/// # Errors
/// If the columns do not agree, or a chunk was not asked for.
pub fn answered(
    table: &v1::FineAnswerTable,
    asked: &[Tag],
    left: &mut HashSet<Tag, impl BuildHasher>,
) -> Result<Vec<Expansion>, FineError> {
    let total: u64 = table.counts.iter().map(|count| u64::from(*count)).sum();
    if total > FINE_TABLE_MAX as u64 || table.numbers.len() != table.counts.len() || table.counts.contains(&0) {
        return Err(FineError::Columns);
    }
    let bytes = total + total.div_ceil(2);
    let mut columns = Vec::new();
    // One byte more shows that there are more.
    let unpacked = DeflateDecoder::new(&*table.fine).take(bytes + 1).read_to_end(&mut columns);
    if unpacked.is_err() || columns.len() as u64 != bytes {
        return Err(FineError::Columns);
    }
    let (tags, lengths) = columns.split_at(usize::try_from(total).expect("a table is short"));
    let (mut found, mut start) = (Vec::with_capacity(table.counts.len()), 0);
    for (number, count) in table.numbers.iter().zip(&table.counts) {
        let tag = *asked.get(*number as usize).ok_or(FineError::Count)?;
        if !left.remove(&tag) {
            return Err(FineError::Count);
        }
        let end = start + *count as usize;
        found.push(Expansion { tag, fine: (start..end).map(|place| fine_at(tags, lengths, place)).collect() });
        start = end;
    }
    Ok(found)
}

/// Unpacks a received table of chunks that are all in `chosen`, each once, and removes them there.
///
/// # Errors
/// If the columns do not agree, or a chunk was not chosen.
pub fn expansions(
    table: &v1::FineTable,
    chosen: &mut HashSet<Tag, impl BuildHasher>,
) -> Result<Vec<Expansion>, FineError> {
    let total: u64 = table.counts.iter().map(|count| u64::from(*count)).sum();
    let fine_count = table.fine_tags.len();
    let agrees = total == fine_count as u64
        && table.lengths.len() == fine_count.div_ceil(2)
        && table.tags.len() == table.counts.len() * ID_BYTES
        && !table.counts.contains(&0);
    if !agrees || fine_count > FINE_TABLE_MAX {
        return Err(FineError::Columns);
    }
    let fine = |place| fine_at(&table.fine_tags, &table.lengths, place);
    let (mut found, mut start) = (Vec::with_capacity(table.counts.len()), 0);
    for (tag, count) in ids(&table.tags)?.map(Tag).zip(&table.counts) {
        if !chosen.remove(&tag) {
            return Err(FineError::Count);
        }
        let end = start + *count as usize;
        found.push(Expansion { tag, fine: (start..end).map(fine).collect() });
        start = end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tag(number: u32) -> Tag {
        let mut bytes = [0; ID_BYTES];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        Tag(bytes)
    }

    fn fine(number: u32, count: u32) -> Vec<FineChunk> {
        let one = |place: u32| FineChunk {
            tag: (number ^ place).to_le_bytes()[0],
            length_bytes: 1 + u8::try_from(place % 16).unwrap(),
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_choice_arrives_as_it_was_sent() {
        let piece = u32::try_from(FINE_CHOICE_PIECE).unwrap();
        for counts in [vec![], vec![1, 3], vec![piece, 1], vec![5, piece + 1, 2], vec![3 * piece, 7]] {
            let content = |(number, count): (u32, &u32)| (ContentDigest(tag(number).0), (0..*count).map(tag).collect());
            let sent = FineChoice { contents: (0..).zip(&counts).map(content).collect() };
            let mut arrived = FineChoice::default();
            sent.pieces().iter().for_each(|piece| arrived.take(piece).unwrap());
            assert_eq!(arrived, sent);
            let (contents, chunks) = (counts.len() as u64, counts.iter().map(|count| u64::from(*count)).sum());
            assert_eq!(arrived.check(contents, chunks), Ok(()));
            assert_eq!(arrived.check(contents, chunks + 1), Err(FineError::Count));
        }
    }

    #[test]
    fn a_choice_that_is_too_long_or_contradicts_itself_is_refused() {
        let piece = |contents: usize, counts: Vec<u32>, tags: usize| v1::FineChoice {
            contents: vec![1; contents],
            counts,
            tags: vec![1; tags],
        };
        let full = piece(16, vec![1 << 14], 16 << 14);
        let mut arriving = FineChoice::default();
        (0..4).for_each(|_| arriving.take(&full).unwrap());
        assert_eq!(arriving.take(&full), Err(FineError::Count));
        for (piece, error) in [
            (piece(17, vec![1], 16), FineError::Columns),
            (piece(16, vec![1], 17), FineError::Length),
            (piece(16, vec![2], 16), FineError::Columns),
            (piece(32, vec![0, 1], 16), FineError::Columns),
            (piece(16, vec![1, 1], 32), FineError::Columns),
        ] {
            assert_eq!(FineChoice::default().take(&piece), Err(error), "{piece:?}");
        }
    }

    #[test]
    fn fine_chunks_arrive_as_they_were_sent_in_tables_within_their_limit() {
        let sent: Vec<(Tag, Vec<FineChunk>)> =
            (0..60).map(|number| (tag(number), fine(number, 1 + number * 151))).collect();
        let mut tables = FineTables::default();
        sent.iter().for_each(|(tag, fine)| tables.push(*tag, fine.iter().copied()));
        let tables = tables.finish();
        assert!(tables.len() > 2 && tables.iter().all(|table| table.fine_tags.len() <= FINE_TABLE_MAX));
        let mut chosen: HashSet<Tag> = sent.iter().map(|(tag, _)| *tag).collect();
        let arrived: Vec<(Tag, Vec<FineChunk>)> = tables
            .iter()
            .flat_map(|table| expansions(table, &mut chosen).unwrap())
            .map(|Expansion { tag, fine }| (tag, fine))
            .collect();
        assert!(chosen.is_empty());
        assert_eq!(arrived, sent);
        assert!(FineTables::default().finish().is_empty());
    }

    fn packed(is_remote: bool, chunks: impl Iterator<Item = (u32, Vec<FineChunk>)>) -> Vec<v1::FineAnswerTable> {
        let mut tables = AnswerTables::new(is_remote);
        chunks.for_each(|(number, fine)| tables.push(number, fine.into_iter()));
        tables.finish()
    }

    #[test]
    fn an_answer_arrives_as_it_was_sent_in_tables_within_their_limit() {
        let asked: Vec<Tag> = (0..60).map(tag).collect();
        let chunk = |number: u32| (number, fine(number, 1 + number * 151));
        // In any order.
        let [tables, plain] = [true, false].map(|is_remote| packed(is_remote, (0..60).rev().map(chunk)));
        for tables in [&tables, &plain] {
            assert!(tables.len() > 2);
            let mut left: HashSet<Tag> = asked.iter().copied().collect();
            let mut arrived: Vec<Expansion> =
                tables.iter().flat_map(|table| answered(table, &asked, &mut left).unwrap()).collect();
            arrived.reverse();
            assert!(left.is_empty());
            let sent = (0..60).map(chunk).map(|(number, fine)| Expansion { tag: tag(number), fine });
            assert_eq!(arrived, sent.collect::<Vec<_>>());
        }
        let bytes = |tables: &[v1::FineAnswerTable]| tables.iter().map(|table| table.fine.len()).sum::<usize>();
        assert!(2 * bytes(&tables) < bytes(&plain));
        let mut early = AnswerTables::new(true);
        (0..60).map(chunk).for_each(|(number, fine)| early.push(number, fine.into_iter()));
        let full = early.take_full().len();
        assert_eq!((full, early.finish().len()), (tables.len() - 1, 1), "what was taken is not there twice");
        assert!(AnswerTables::new(true).finish().is_empty());
    }

    #[test]
    fn an_answer_that_contradicts_itself_or_unpacks_to_more_than_it_says_is_refused() {
        let asked = [tag(1), tag(2)];
        let intact = packed(true, [(0, fine(1, 5)), (1, fine(2, 3))].into_iter()).remove(0);
        let check = |change: &dyn Fn(&mut v1::FineAnswerTable), error| {
            let mut table = intact.clone();
            change(&mut table);
            let mut left = HashSet::from(asked);
            assert_eq!(answered(&table, &asked, &mut left), Err(error), "{table:?}");
        };
        let compressed = |bytes: &[u8]| {
            let mut compressor = DeflateEncoder::new(Vec::new(), Compression::new(9));
            compressor.write_all(bytes).unwrap();
            compressor.finish().unwrap()
        };
        check(&|table| table.counts[0] = 6, FineError::Columns);
        check(&|table| table.counts[0] = 4, FineError::Columns);
        check(&|table| table.counts = vec![0, 8], FineError::Columns);
        check(&|table| table.counts = vec![u32::MAX, 9], FineError::Columns);
        check(&|table| table.numbers = vec![0], FineError::Columns);
        check(&|table| table.numbers = vec![0, 2], FineError::Count);
        check(&|table| table.numbers = vec![1, 1], FineError::Count);
        check(&|table| table.fine.truncate(3), FineError::Columns);
        check(&|table| table.fine.clear(), FineError::Columns);
        // 100 MB in 100 kB.
        check(&|table| table.fine = compressed(&vec![1; 100 << 20]), FineError::Columns);
        for bytes in [11, 13] {
            check(&|table| table.fine = compressed(&[7; 13][..bytes]), FineError::Columns);
        }
    }

    #[test]
    fn a_table_that_contradicts_itself_is_refused() {
        let mut tables = FineTables::default();
        tables.push(tag(1), fine(1, 5).into_iter());
        tables.push(tag(2), fine(2, 3).into_iter());
        let intact = tables.finish().pop().unwrap();
        let check = |change: &dyn Fn(&mut v1::FineTable), error| {
            let mut table = intact.clone();
            change(&mut table);
            let mut chosen = HashSet::from([tag(1), tag(2)]);
            assert_eq!(expansions(&table, &mut chosen), Err(error), "{table:?}");
        };
        check(&|table| table.counts[0] = 6, FineError::Columns);
        check(&|table| table.counts = vec![u32::MAX, 9], FineError::Columns);
        check(&|table| table.fine_tags.push(1), FineError::Columns);
        check(&|table| table.lengths.push(1), FineError::Columns);
        check(&|table| table.counts = vec![0, 8], FineError::Columns);
        check(&|table| table.tags[0] = 9, FineError::Count);
        check(&|table| table.tags.copy_within(16.., 0), FineError::Count);
    }

    proptest! {
        #[test]
        fn a_table_of_a_stranger_is_refused_or_gives_each_chosen_chunk_its_fine_chunks(
            numbers in prop::collection::vec(0..5_u32, 0..5),
            counts in prop::collection::vec(prop_oneof![0..4_u32, Just(u32::MAX)], 0..5),
            fine_tags in prop::collection::vec(any::<u8>(), 0..9),
            lengths in prop::collection::vec(any::<u8>(), 0..6),
        ) {
            let tags = numbers.iter().flat_map(|number| tag(*number).0).collect();
            let table = v1::FineTable { tags, counts, fine_tags, lengths };
            let mut chosen: HashSet<Tag> = (0..4).map(tag).collect();
            if let Ok(found) = expansions(&table, &mut chosen) {
                prop_assert_eq!(found.len() + chosen.len(), 4);
                let fine: Vec<FineChunk> = found.iter().flat_map(|expansion| expansion.fine.clone()).collect();
                prop_assert_eq!(fine.iter().map(|fine| fine.tag).collect::<Vec<_>>(), table.fine_tags);
                prop_assert!(fine.iter().all(|fine| (1..=16).contains(&fine.length_bytes)));
                for (expansion, count) in found.iter().zip(&table.counts) {
                    prop_assert!(expansion.fine.len() == *count as usize && !chosen.contains(&expansion.tag));
                }
            }
        }

        #[test]
        fn an_answer_of_a_stranger_is_refused_or_gives_each_chunk_that_was_asked_for_its_fine_chunks(
            numbers in prop::collection::vec(0..5_u32, 0..5),
            counts in prop::collection::vec(prop_oneof![0..4_u32, Just(u32::MAX)], 0..5),
            fine in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..20),
                prop::collection::vec((1..17_u8, any::<u8>()), 0..9).prop_map(|pairs| {
                    let fine = pairs.iter().map(|(length_bytes, tag)| FineChunk { tag: *tag, length_bytes: *length_bytes });
                    let mut tables = AnswerTables::new(true);
                    tables.push(0, fine);
                    tables.finish().remove(0).fine
                }),
            ],
        ) {
            let table = v1::FineAnswerTable { numbers, counts, fine };
            let asked: Vec<Tag> = (0..4).map(tag).collect();
            let mut left: HashSet<Tag> = asked.iter().copied().collect();
            if let Ok(found) = answered(&table, &asked, &mut left) {
                prop_assert_eq!(found.len() + left.len(), 4);
                for ((expansion, number), count) in found.iter().zip(&table.numbers).zip(&table.counts) {
                    prop_assert!(expansion.tag == tag(*number) && expansion.fine.len() == *count as usize);
                    prop_assert!(expansion.fine.iter().all(|fine| (1..=16).contains(&fine.length_bytes)));
                }
            }
        }

        #[test]
        fn a_choice_of_a_stranger_is_refused_or_has_all_of_its_chunks(
            contents in prop::collection::vec(0..3_u8, 0..4),
            counts in prop::collection::vec(prop_oneof![0..4_u32, Just(u32::MAX)], 0..4),
            tags in 0..9_usize,
            cut in 0..2_usize,
        ) {
            let contents: Vec<u8> = contents.iter().flat_map(|number| [*number; ID_BYTES]).collect();
            let piece = v1::FineChoice { contents, counts: counts.clone(), tags: vec![7; tags * ID_BYTES + cut] };
            let mut choice = FineChoice::default();
            if choice.take(&piece).is_ok() {
                prop_assert_eq!((choice.tags().count(), cut), (tags, 0));
                prop_assert!(choice.contents.iter().all(|(_, tags)| !tags.is_empty()));
                prop_assert!(choice.contents.windows(2).all(|two| two[0].0 != two[1].0));
            }
        }
    }
}
