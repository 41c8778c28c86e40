//! Overlap of places beyond whole chunks: the bytes of fine chunks that a place shares with any candidate at another place, of
//! chunks that do not occur there as a whole. Each byte counts once, whichever candidates share it. Bytes that rows of templates
//! cover are template bytes, in chunks that occur there as a whole as well.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use cognate_fingerprint::{FineChunk, Tag};
use cognate_similarity::fine::{FineMeasure, Part};
use cognate_similarity::{Level, OverlapLevel};
use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::bits::Bits;
use super::expansions::{Expansions, Reading};
use super::parts::Parts;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// A chunk of a content, as far as contents under a root share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ChunkUnderRoot {
    content: u32,
    tag: Tag,
    root: u16,
}

/// The fine chunks of a chunk that are in common, and the number of the chunk's occurrences in its content.
#[derive(Clone)]
struct Marks {
    count: u32,
    /// Bytes of these that are not in common, in borders of runs: the least number of any pair.
    lost_bytes: u32,
    common: Bits,
}

impl Marks {
    fn add(&mut self, other: &Marks) {
        self.count = self.count.max(other.count);
        self.lost_bytes = self.lost_bytes.min(other.lost_bytes);
        self.common.add(&other.common);
    }

    /// The bytes in common of all occurrences of the chunk: of its contents' own, and of templates.
    fn bytes(&self, fine: &[FineChunk], parts: &[Part]) -> [u64; 2] {
        let mut bytes = [0; 2];
        for (place, fine) in fine.iter().enumerate().filter(|(place, _)| self.common.holds(*place)) {
            bytes[usize::from(parts.get(place) == Some(&Part::Template))] += u64::from(fine.length_bytes);
        }
        let [own, template] = bytes;
        [own.saturating_sub(u64::from(self.lost_bytes)), template].map(|bytes| bytes * u64::from(self.count))
    }
}

/// A chunk of one content, of which others share fine chunks.
struct SharedChunk<'a> {
    /// The fine chunks of it that other contents have, for each root of those.
    of_chunk: &'a [(ChunkUnderRoot, Marks)],
    /// The roots under which the chunk occurs as a whole.
    whole: &'a [u16],
    fine: &'a [FineChunk],
    parts: &'a [Part],
}

/// The bytes in common that one thread has found, by sites and by parties.
struct ThreadCoverage {
    added: Vec<OverlapLevel>,
    reading: Reading,
}

/// The fine chunks that contents share with others, by the roots of the others.
#[derive(Default)]
pub(super) struct SharedFineChunks(HashMap<ChunkUnderRoot, Marks>);

/// The roots under which a content has a document that is no control, each once.
pub(super) fn roots_of(subject: &Subject<'_>, content: u32) -> Vec<u16> {
    let mut roots: Vec<u16> = subject.roots_of(content).collect();
    roots.dedup();
    roots
}

impl SharedFineChunks {
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
        for (number, (fine, counted)) in measure.counted(side) {
            let (tag, count) = chunks[number];
            let counts = fine.iter().zip(counted).filter(|(_, bytes)| **bytes > 0);
            let found = Marks {
                count,
                lost_bytes: counts.map(|(fine, bytes)| u32::from(fine.length_bytes - bytes)).sum(),
                common: Bits::of(counted),
            };
            for root in roots {
                let place = ChunkUnderRoot { content, tag, root: *root };
                match self.0.entry(place) {
                    Entry::Occupied(mut marks) => marks.get_mut().add(&found),
                    Entry::Vacant(marks) => drop(marks.insert(found.clone())),
                }
            }
        }
    }

    fn merge(all: Vec<SharedFineChunks>) -> Vec<(ChunkUnderRoot, Marks)> {
        let mut places: Vec<(ChunkUnderRoot, Marks)> = all.into_iter().flat_map(|covered| covered.0).collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        places.dedup_by(|(later, of_later), (place, marks)| {
            let same = later == place;
            if same {
                marks.add(of_later);
            }
            same
        });
        places
    }
}

impl Task<'_> {
    /// Adds the covered bytes to the overlap of whole chunks, and returns them.
    pub(super) fn add_coverage(
        &self,
        covered: Vec<SharedFineChunks>,
        expansions: &Expansions,
        parts: &Parts,
        overlap: &mut [OverlapLevel],
    ) -> Result<Vec<OverlapLevel>, Error> {
        self.move_templates(parts, overlap)?;
        let places = SharedFineChunks::merge(covered);
        let holders = self.roots_with(&places)?;
        let of_contents: Vec<&[(ChunkUnderRoot, Marks)]> =
            places.chunk_by(|(a, _), (b, _)| a.content == b.content).collect();
        let none: Vec<OverlapLevel> = overlap.iter().map(|level| OverlapLevel::new(level.label_count())).collect();
        let begin = || ThreadCoverage { added: none.clone(), reading: Reading::default() };
        let found = self.on_threads(&of_contents, &begin, &|covered: &mut ThreadCoverage, of_content| {
            let ThreadCoverage { added, reading } = covered;
            let of_chunks: Vec<&[(ChunkUnderRoot, Marks)]> =
                of_content.chunk_by(|(a, _), (b, _)| a.tag == b.tag).collect();
            expansions.each(of_chunks.iter().map(|of_chunk| of_chunk[0].0.tag), reading, |tag, fine| {
                let place = of_chunks.binary_search_by_key(&tag, |of_chunk| of_chunk[0].0.tag);
                let of_chunk = of_chunks[place.expect("its tag was asked for")];
                let whole = holders.get(&tag).map_or(&[][..], Vec::as_slice);
                let chunk = SharedChunk { of_chunk, whole, fine, parts: &parts.of_chunk(&tag, fine) };
                for (level, added) in self.subject.levels.iter().zip(added.iter_mut()) {
                    self.add_chunk(level, added, &chunk);
                }
            })
        })?;
        let mut all = none;
        for ThreadCoverage { added, .. } in &found {
            all.iter_mut().zip(added).for_each(|(all, added)| all.absorb(added));
        }
        overlap.iter_mut().zip(&all).for_each(|(level, added)| level.absorb(added));
        Ok(all)
    }

    /// Of chunks that occur at several places as a whole, counts the bytes as template that are part of one.
    fn move_templates(&self, parts: &Parts, overlap: &mut [OverlapLevel]) -> Result<(), Error> {
        let mut tags = parts.tags();
        tags.retain(|tag| parts.of_tag(tag).template > 0);
        let subject = self.subject;
        subject.frozen.shards.visit_tags(&tags, &mut |tag, postings| {
            let template = parts.of_tag(&tag).template;
            for (level, overlap) in subject.levels.iter().zip(overlap.iter_mut()) {
                // Occurrences by place: in all copies, and in each content once.
                let mut counts: BTreeMap<u16, [u64; 2]> = BTreeMap::new();
                for posting in postings.iter().filter(|posting| !posting.template) {
                    let roots = subject.roots_of(posting.content.0);
                    let mut labels: Vec<u16> = roots.map(|root| level.labels[usize::from(root)]).collect();
                    labels.sort_unstable();
                    for copies in labels.chunk_by(|a, b| a == b) {
                        let [all, once] = counts.entry(copies[0]).or_default();
                        *all += copies.len() as u64;
                        *once += 1;
                    }
                }
                for a in &counts {
                    for b in counts.keys().filter(|b| *b != a.0) {
                        overlap.move_to_template(*a.0, *b, template * a.1[0], template * a.1[1]);
                    }
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Adds one chunk of one content under one level.
    fn add_chunk(&self, level: &Level, overlap: &mut OverlapLevel, chunk: &SharedChunk<'_>) {
        let SharedChunk { of_chunk, whole, fine, parts } = *chunk;
        let label_of = |root: u16| level.labels[usize::from(root)];
        let mut others: Vec<u16> = of_chunk.iter().map(|(place, _)| label_of(place.root)).collect();
        others.sort_unstable();
        others.dedup();
        // Where the chunk occurs as a whole, all of it counts already.
        others.retain(|label| !whole.iter().any(|root| label_of(*root) == *label));
        let mut own: Vec<u16> = self.subject.roots_of(of_chunk[0].0.content).map(label_of).collect();
        own.sort_unstable();
        for other in others {
            let mut all = Marks { count: 0, lost_bytes: u32::MAX, common: Bits::none(fine.len()) };
            let of_other = of_chunk.iter().filter(|(place, _)| label_of(place.root) == other);
            of_other.for_each(|(_, marks)| all.add(marks));
            let [bytes, template] = all.bytes(fine, parts);
            for copies in own.chunk_by(|a, b| a == b).filter(|copies| copies[0] != other) {
                overlap.add_shared(copies[0], other, bytes * copies.len() as u64, bytes);
                overlap.add_template(copies[0], other, template * copies.len() as u64);
            }
        }
    }

    /// The roots under which each of these chunks occurs as a whole.
    fn roots_with(&self, places: &[(ChunkUnderRoot, Marks)]) -> Result<HashMap<Tag, Vec<u16>>, Error> {
        let tags: HashSet<Tag> = places.iter().map(|(place, _)| place.tag).collect();
        let found = self.on_each_tag(&HashMap::new, &|holders: &mut HashMap<Tag, Vec<u16>>, postings| {
            let tag = postings[0].tag;
            if tags.contains(&tag) {
                let mut roots: Vec<u16> =
                    postings.iter().flat_map(|posting| roots_of(self.subject, posting.content.0)).collect();
                roots.sort_unstable();
                roots.dedup();
                holders.insert(tag, roots);
            }
        })?;
        // Every chunk is in one shard.
        Ok(found.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_several_pairs_count_each_byte_once() {
        let marks = |step: usize, lost_bytes: u32| {
            let counted: Vec<u8> = (0..150).map(|place| if place % step == 0 { 7 } else { 0 }).collect();
            Marks { count: 2, lost_bytes, common: Bits::of(&counted) }
        };
        let mut all = marks(7, 3);
        all.add(&marks(5, 1));
        for place in 0..200 {
            let expected = place < 150 && (place % 7 == 0 || place % 5 == 0);
            assert_eq!(all.common.holds(place), expected, "{place}");
        }
        // 22 are multiples of 7, 30 of 5, 5 of both.
        let fine = [FineChunk { tag: 0, length_bytes: 7 }; 150];
        assert_eq!(all.bytes(&fine, &[]), [2 * ((22 + 30 - 5) * 7 - 1), 0]);
        // The first 15: 0, 5, 7, 10 and 14 are in common.
        let parts: Vec<Part> = (0..150).map(|place| if place < 15 { Part::Template } else { Part::Own }).collect();
        assert_eq!(all.bytes(&fine, &parts), [2 * ((22 + 30 - 5 - 5) * 7 - 1), 2 * 5 * 7]);
    }
}
