//! Fine chunks on the wire: the choice of chunks that a site is asked to cut again, and its answer, both checked on arrival.

use std::collections::HashSet;
use std::hash::BuildHasher;

use cognate_fingerprint::{ContentDigest, FineChunk, Tag};

use crate::limits::{FINE_CHOICE_PIECE, FINE_CHUNKS_MAX, FINE_TABLE_CHUNKS_MAX, FINE_TABLE_MAX, FINE_TABLE_TARGET};
use crate::v1;

/// The length of a digest or tag.
const ID_BYTES: usize = 16;

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

/// Packs expansions into tables.
#[derive(Default)]
pub struct FineTables {
    full: Vec<v1::FineTable>,
    table: v1::FineTable,
}

impl FineTables {
    /// Adds a chunk with its fine chunks.
    pub fn push(&mut self, tag: Tag, fine: impl Iterator<Item = FineChunk>) {
        let before = self.table.fine_tags.len();
        for FineChunk { tag, length_bytes } in fine {
            let half = (length_bytes - 1) & 0xf;
            match self.table.fine_tags.len().is_multiple_of(2) {
                true => self.table.lengths.push(half),
                false => *self.table.lengths.last_mut().expect("it has the first half") |= half << 4,
            }
            self.table.fine_tags.push(tag);
        }
        self.table.tags.extend_from_slice(&tag.0);
        let count = self.table.fine_tags.len() - before;
        self.table.counts.push(u32::try_from(count).expect("a chunk has a few thousand fine chunks"));
        if self.table.fine_tags.len() >= FINE_TABLE_TARGET || self.table.counts.len() >= FINE_TABLE_CHUNKS_MAX {
            self.full.push(std::mem::take(&mut self.table));
        }
    }

    /// The tables that are full, which it keeps no longer.
    pub fn take_full(&mut self) -> Vec<v1::FineTable> {
        std::mem::take(&mut self.full)
    }

    /// All tables that are left, none of them empty.
    pub fn finish(mut self) -> Vec<v1::FineTable> {
        if !self.table.counts.is_empty() {
            self.full.push(self.table);
        }
        self.full
    }
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
    let length = |place: usize| 1 + ((table.lengths[place / 2] >> (4 * (place % 2))) & 0xf);
    let fine = |place: usize| FineChunk { tag: table.fine_tags[place], length_bytes: length(place) };
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
