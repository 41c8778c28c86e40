//! Overlap of places beyond whole chunks: the bytes of fine chunks that a place shares with any candidate at another place, of
//! chunks that do not occur there as a whole. Each byte counts once, whichever candidates share it. Bytes that rows of templates
//! cover are template bytes, in chunks that occur there as a whole as well.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use cognate_fingerprint::{FineChunk, Tag};
use cognate_similarity::fine::{FineMeasure, Part};
use cognate_similarity::{Level, OverlapLevel};
use foldhash::HashMap;

use super::bits::{Bits, BitsPool, PooledBits};
use super::expansions::{Expansions, Reading};
use super::loose::AddedChunk;
use super::parts::Parts;
use super::tag_list::TagList;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// A chunk of a content, as far as contents under a root share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ChunkUnderRoot {
    content: u32,
    /// The place of the chunk among those that the sites were asked for.
    place: u32,
    root: u16,
}

/// The fine chunks of a chunk that are in common.
#[derive(Clone, Copy)]
struct Marks {
    counts: MarkCounts,
    common: PooledBits,
}

/// Counts that belong to the marks of a chunk.
#[derive(Clone, Copy)]
struct MarkCounts {
    /// The occurrences of the chunk in its content.
    occurrences: u32,
    /// Bytes of the fine chunks in common that are not in common, in borders of runs: the least number of any pair.
    lost_bytes: u32,
}

impl MarkCounts {
    fn add(&mut self, other: MarkCounts) {
        self.occurrences = self.occurrences.max(other.occurrences);
        self.lost_bytes = self.lost_bytes.min(other.lost_bytes);
    }

    /// The bytes in common of all occurrences of the chunk: of its contents' own, and of templates.
    fn bytes(self, common: &Bits, fine: &[FineChunk], parts: &[Part]) -> [u64; 2] {
        let (mut own, mut template) = (0, 0);
        for place in common.places() {
            let bytes = if parts.get(place) == Some(&Part::Template) { &mut template } else { &mut own };
            *bytes += u64::from(fine[place].length_bytes);
        }
        [own.saturating_sub(u64::from(self.lost_bytes)), template].map(|bytes| bytes * u64::from(self.occurrences))
    }
}

/// A chunk of one content, of which others share fine chunks.
struct SharedChunk<'a> {
    /// The fine chunks of it that other contents have, for each root of those.
    of_chunk: &'a [(ChunkUnderRoot, Marks)],
    bits: &'a BitsPool,
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
pub(super) struct SharedFineChunks {
    marks: HashMap<ChunkUnderRoot, Marks>,
    bits: BitsPool,
}

/// The roots under which each of some chunks occurs as a whole.
#[derive(Default)]
struct ChunkRoots {
    /// The places of the chunks, each with where its roots begin and end.
    chunks: Vec<(u32, usize, usize)>,
    roots: Vec<u16>,
}

impl ChunkRoots {
    fn push(&mut self, place: u32, roots: impl Iterator<Item = u16>) {
        let start = self.roots.len();
        self.roots.extend(roots);
        self.roots[start..].sort_unstable();
        let mut kept = start;
        for at in start..self.roots.len() {
            if kept == start || self.roots[kept - 1] != self.roots[at] {
                self.roots[kept] = self.roots[at];
                kept += 1;
            }
        }
        self.roots.truncate(kept);
        self.chunks.push((place, start, kept));
    }

    /// Those of all threads: each has looked at chunks of shards of its own, in the order of these.
    fn merge(all: Vec<ChunkRoots>) -> ChunkRoots {
        let mut merged = ChunkRoots::default();
        for ChunkRoots { chunks, roots } in all {
            let start = merged.roots.len();
            merged.roots.extend(roots);
            merged.chunks.extend(chunks.into_iter().map(|(place, first, last)| (place, start + first, start + last)));
        }
        merged.chunks.sort_unstable();
        merged
    }

    fn of(&self, place: u32) -> &[u16] {
        let found = self.chunks.binary_search_by_key(&place, |(place, ..)| *place);
        found.map_or(&[], |found| &self.roots[self.chunks[found].1..self.chunks[found].2])
    }
}

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
        chunks: &[AddedChunk],
        roots: &[u16],
    ) {
        for (number, (fine, counted)) in measure.counted(side) {
            let AddedChunk { place, count } = chunks[number];
            let in_common = fine.iter().zip(counted).filter(|(_, bytes)| **bytes > 0);
            let counts = MarkCounts {
                occurrences: count,
                lost_bytes: in_common.map(|(fine, bytes)| u32::from(fine.length_bytes - bytes)).sum(),
            };
            let common = Bits::of(counted);
            for root in roots {
                match self.marks.entry(ChunkUnderRoot { content, place, root: *root }) {
                    Entry::Occupied(mut marks) => {
                        marks.get_mut().counts.add(counts);
                        self.bits.add(marks.get().common, &common);
                    }
                    Entry::Vacant(marks) => drop(marks.insert(Marks { counts, common: self.bits.put(&common) })),
                }
            }
        }
    }

    /// Those of all threads, by contents and chunks.
    fn merge(all: Vec<SharedFineChunks>) -> (Vec<(ChunkUnderRoot, Marks)>, BitsPool) {
        let (mut chunks, mut bits) = (Vec::new(), BitsPool::default());
        for covered in all {
            let start = bits.absorb(covered.bits);
            let moved = |marks: Marks| Marks { common: marks.common.moved_by(start), ..marks };
            chunks.extend(covered.marks.into_iter().map(|(chunk, marks)| (chunk, moved(marks))));
        }
        chunks.sort_unstable_by_key(|(chunk, _)| *chunk);
        chunks.dedup_by(|(later, of_later), (chunk, marks)| {
            let same = later == chunk;
            if same {
                marks.counts.add(of_later.counts);
                bits.add_from(marks.common, of_later.common);
            }
            same
        });
        (chunks, bits)
    }
}

impl Task<'_> {
    /// Adds the covered bytes to the overlap of whole chunks, and returns them. `asked` are the chunks that the sites were asked for.
    pub(super) fn add_coverage(
        &self,
        covered: Vec<SharedFineChunks>,
        asked: &TagList,
        expansions: &Expansions,
        parts: &Parts,
        overlap: &mut [OverlapLevel],
    ) -> Result<Vec<OverlapLevel>, Error> {
        self.move_templates(parts, overlap)?;
        let (chunks, bits) = SharedFineChunks::merge(covered);
        let holders = self.roots_with(&chunks, asked)?;
        let of_contents: Vec<&[(ChunkUnderRoot, Marks)]> =
            chunks.chunk_by(|(a, _), (b, _)| a.content == b.content).collect();
        let none: Vec<OverlapLevel> = overlap.iter().map(|level| OverlapLevel::new(level.label_count())).collect();
        let begin = || ThreadCoverage { added: none.clone(), reading: Reading::default() };
        let found = self.on_threads(&of_contents, &begin, &|covered: &mut ThreadCoverage, of_content| {
            let ThreadCoverage { added, reading } = covered;
            let of_chunks: Vec<&[(ChunkUnderRoot, Marks)]> =
                of_content.chunk_by(|(a, _), (b, _)| a.place == b.place).collect();
            let tags = of_chunks.iter().map(|of_chunk| asked.tags()[of_chunk[0].0.place as usize]);
            expansions.each(tags, reading, |number, fine| {
                let of_chunk = of_chunks[number];
                let place = of_chunk[0].0.place;
                let (whole, parts) = (holders.of(place), parts.of_chunk(&asked.tags()[place as usize], fine));
                let chunk = SharedChunk { of_chunk, bits: &bits, whole, fine, parts: &parts };
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
        let SharedChunk { of_chunk, bits, whole, fine, parts } = *chunk;
        let label_of = |root: u16| level.labels[usize::from(root)];
        let mut others: Vec<u16> = of_chunk.iter().map(|(place, _)| label_of(place.root)).collect();
        others.sort_unstable();
        others.dedup();
        // Where the chunk occurs as a whole, all of it counts already.
        others.retain(|label| !whole.iter().any(|root| label_of(*root) == *label));
        let mut own: Vec<u16> = self.subject.roots_of(of_chunk[0].0.content).map(label_of).collect();
        own.sort_unstable();
        for other in others {
            let mut counts = MarkCounts { occurrences: 0, lost_bytes: u32::MAX };
            let mut common = Bits::none(fine.len());
            for (_, marks) in of_chunk.iter().filter(|(chunk, _)| label_of(chunk.root) == other) {
                counts.add(marks.counts);
                common.add(bits.words(marks.common));
            }
            let [bytes, template] = counts.bytes(&common, fine, parts);
            for copies in own.chunk_by(|a, b| a == b).filter(|copies| copies[0] != other) {
                overlap.add_shared(copies[0], other, bytes * copies.len() as u64, bytes);
                overlap.add_template(copies[0], other, template * copies.len() as u64);
            }
        }
    }

    /// The roots under which each of these chunks occurs as a whole, ascending by the chunks.
    fn roots_with(&self, chunks: &[(ChunkUnderRoot, Marks)], asked: &TagList) -> Result<ChunkRoots, Error> {
        let mut places: Vec<u32> = chunks.iter().map(|(chunk, _)| chunk.place).collect();
        places.sort_unstable();
        places.dedup();
        let tags: Vec<Tag> = places.iter().map(|place| asked.tags()[*place as usize]).collect();
        let found = self.on_tags(&tags, &ChunkRoots::default, &|found: &mut ChunkRoots, tag, postings| {
            let place = asked.place(&tag).expect("its tag was asked for");
            found.push(place, postings.iter().flat_map(|posting| self.subject.roots_of(posting.content.0)));
        })?;
        Ok(ChunkRoots::merge(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_several_pairs_count_each_byte_once() {
        let marks = |step: usize, lost_bytes: u32| {
            let counted: Vec<u8> = (0..150).map(|place| if place % step == 0 { 7 } else { 0 }).collect();
            (MarkCounts { occurrences: 2, lost_bytes }, Bits::of(&counted))
        };
        let (mut counts, mut common) = marks(7, 3);
        let (other_counts, other) = marks(5, 1);
        counts.add(other_counts);
        common.add(other.words());
        for place in 0..200 {
            let expected = place < 150 && (place % 7 == 0 || place % 5 == 0);
            assert_eq!(common.holds(place), expected, "{place}");
        }
        // 22 are multiples of 7, 30 of 5, 5 of both.
        let fine = [FineChunk { tag: 0, length_bytes: 7 }; 150];
        assert_eq!(counts.bytes(&common, &fine, &[]), [2 * ((22 + 30 - 5) * 7 - 1), 0]);
        // The first 15: 0, 5, 7, 10 and 14 are in common.
        let parts: Vec<Part> = (0..150).map(|place| if place < 15 { Part::Template } else { Part::Own }).collect();
        assert_eq!(counts.bytes(&common, &fine, &parts), [2 * ((22 + 30 - 5 - 5) * 7 - 1), 2 * 5 * 7]);
    }

    #[test]
    fn roots_of_chunks_are_found_whichever_thread_has_them() {
        let of_thread = |chunks: &[(u32, &[u16])]| {
            let mut found = ChunkRoots::default();
            chunks.iter().for_each(|(place, roots)| found.push(*place, roots.iter().copied()));
            found
        };
        let threads = [of_thread(&[(5, &[2, 1, 2]), (6, &[])]), of_thread(&[(1, &[7, 7]), (9, &[3, 0, 3, 1, 0])])];
        let merged = ChunkRoots::merge(threads.into());
        let found: Vec<&[u16]> = [1, 5, 6, 8, 9].map(|place| merged.of(place)).into();
        assert_eq!(found, [&[7][..], &[1, 2], &[], &[], &[0, 1, 3]]);
    }
}
