//! Overlap of places beyond whole chunks: the bytes of fine chunks that a place shares with any candidate at another place, of
//! chunks that do not occur there as a whole. Each byte counts once, whichever candidates share it.

use std::collections::HashMap;

use cognate_fingerprint::Tag;
use cognate_similarity::fine::FineMeasure;
use cognate_similarity::{Error as EngineError, Level, OverlapLevel, Shards as _};

use super::expansions::Expansions;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::{Subject, index};

/// A chunk of a content, as far as contents under a root share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    content: u32,
    tag: Tag,
    root: u16,
}

/// The fine chunks of a chunk that are in common, and the number of the chunk's occurrences in its content.
struct Marks {
    count: u32,
    common: Bits,
}

/// A bit for each fine chunk of a chunk.
struct Bits(Box<[u64]>);

impl Bits {
    fn of(marks: &[bool]) -> Bits {
        let word = |marks: &[bool]| marks.iter().rev().fold(0, |word, mark| word << 1 | u64::from(*mark));
        Bits(marks.chunks(64).map(word).collect())
    }

    fn add(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn holds(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

/// The fine chunks that contents share with others, by the roots of the others.
#[derive(Default)]
pub(super) struct Covered(HashMap<Place, Marks>);

/// The roots under which a content has a document that is no control, each once.
pub(super) fn roots_of(subject: &Subject<'_>, content: u32) -> Vec<u16> {
    let documents = subject.copies.of_content(index(content as usize)).iter();
    let documents = documents.map(|place| &subject.frozen.documents[*place as usize]);
    let mut roots: Vec<u16> = documents.filter(|document| !document.control).map(|document| document.root).collect();
    roots.dedup();
    roots
}

impl Covered {
    /// Adds what a measured pair has in common on one side: `chunks` are those that were added to the measure, in order, each with the
    /// number of times that it was added.
    pub(super) fn add(
        &mut self,
        measure: &FineMeasure,
        side: usize,
        content: u32,
        chunks: &[(Tag, u32)],
        roots: &[u16],
    ) {
        for ((tag, count), common) in chunks.iter().zip(measure.common(side)) {
            if !common.contains(&true) {
                continue;
            }
            let common = Bits::of(common);
            for root in roots {
                let place = Place { content, tag: *tag, root: *root };
                let marks =
                    self.0.entry(place).or_insert_with(|| Marks { count: *count, common: Bits(common.0.clone()) });
                marks.count = marks.count.max(*count);
                marks.common.add(&common);
            }
        }
    }

    fn merge(all: Vec<Covered>) -> Vec<(Place, Marks)> {
        let mut places: Vec<(Place, Marks)> = all.into_iter().flat_map(|covered| covered.0).collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        places.dedup_by(|(later, of_later), (place, marks)| {
            let same = later == place;
            if same {
                marks.count = marks.count.max(of_later.count);
                marks.common.add(&of_later.common);
            }
            same
        });
        places
    }
}

impl Task<'_> {
    /// Adds the covered bytes to the overlap of whole chunks.
    pub(super) fn add_coverage(
        &self,
        covered: Vec<Covered>,
        expansions: &Expansions,
        overlap: &mut [OverlapLevel],
    ) -> Result<(), Error> {
        let places = Covered::merge(covered);
        let holders = self.roots_with(&places)?;
        for of_chunk in places.chunk_by(|(a, _), (b, _)| (a.content, a.tag) == (b.content, b.tag)) {
            let (Place { content, tag, .. }, _) = of_chunk[0];
            let Some(fine) = expansions.get(&tag)? else { continue };
            let lengths: Vec<u64> = fine.iter().map(|fine| u64::from(fine.length_bytes)).collect();
            let empty = Vec::new();
            let whole = holders.get(&tag).unwrap_or(&empty);
            for (level, overlap) in self.subject.levels.iter().zip(overlap.iter_mut()) {
                self.add_chunk(level, overlap, content, of_chunk, (whole, &lengths));
            }
        }
        Ok(())
    }

    /// Adds one chunk of one content under one level.
    fn add_chunk(
        &self,
        level: &Level,
        overlap: &mut OverlapLevel,
        content: u32,
        of_chunk: &[(Place, Marks)],
        (whole, lengths): (&[u16], &[u64]),
    ) {
        let label_of = |root: u16| level.labels[usize::from(root)];
        let mut others: Vec<u16> = of_chunk.iter().map(|(place, _)| label_of(place.root)).collect();
        others.sort_unstable();
        others.dedup();
        // Where the chunk occurs as a whole, all of it counts already.
        others.retain(|label| !whole.iter().any(|root| label_of(*root) == *label));
        let documents = self.subject.copies.of_content(index(content as usize)).iter();
        let documents = documents.map(|place| &self.subject.frozen.documents[*place as usize]);
        let mut own: Vec<u16> =
            documents.filter(|document| !document.control).map(|document| label_of(document.root)).collect();
        own.sort_unstable();
        for other in others {
            let marks = of_chunk.iter().filter(|(place, _)| label_of(place.root) == other).map(|(_, marks)| marks);
            let (mut common, mut count) = (Bits::of(&vec![false; lengths.len()]), 0);
            for marks in marks {
                count = count.max(marks.count);
                common.add(&marks.common);
            }
            let shared = lengths.iter().enumerate().filter(|(place, _)| common.holds(*place));
            let bytes: u64 = shared.map(|(_, length)| length).sum();
            let bytes = bytes * u64::from(count);
            for copies in own.chunk_by(|a, b| a == b).filter(|copies| copies[0] != other) {
                overlap.add_shared(copies[0], other, bytes * copies.len() as u64, bytes);
            }
        }
    }

    /// The roots under which each of these chunks occurs as a whole.
    fn roots_with(&self, places: &[(Place, Marks)]) -> Result<HashMap<Tag, Vec<u16>>, Error> {
        let mut holders: HashMap<Tag, Vec<u16>> = places.iter().map(|(place, _)| (place.tag, Vec::new())).collect();
        let shards = &self.subject.frozen.shards;
        for shard in 0..shards.shard_count() {
            shards.visit(shard, &mut |postings| {
                for posting in postings {
                    if let Some(roots) = holders.get_mut(&posting.tag) {
                        roots.extend(roots_of(self.subject, posting.content.0));
                        roots.sort_unstable();
                        roots.dedup();
                    }
                }
                Ok::<(), EngineError>(())
            })?;
        }
        Ok(holders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_that_were_marked_in_either() {
        let marks = |step: usize| -> Vec<bool> { (0..150).map(|place| place % step == 0).collect() };
        let mut bits = Bits::of(&marks(7));
        bits.add(&Bits::of(&marks(5)));
        for place in 0..200 {
            let expected = place < 150 && (place % 7 == 0 || place % 5 == 0);
            assert_eq!(bits.holds(place), expected, "{place}");
        }
    }
}
