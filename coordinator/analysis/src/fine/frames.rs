//! The frames of a layer: rows of fine chunks, and whole chunks, that contents of many kinds have.
//!
//! ```text
//! letter 1   [ head of the firm │ own text │ footer ]      kind 1 ┐
//! letter 2   [ head of the firm │ own text │ footer ]      kind 1 ┘ a version of letter 1
//! invoice    [ head of the firm │ table            ]       kind 2
//! form       [ head of the firm                    ]       kind 3, not light: the head is most of it
//! ```
//!
//! Contents of which each has four fifths of the other are one *kind*, so that versions count once. A content is *light* if frames are less
//! than four fifths of it: what is most of a document is what it is about. A row is part of a frame if light contents of [`kinds_min`] kinds
//! have it, and at least half of all kinds that have it do. Only rows count that a content shares by a loose link (`loose`). They are counted
//! in two passes: the first bounds each count from above in a fixed amount of memory, the second is exact for rows that may reach the least.

use std::collections::{HashMap, HashSet};

use cognate_fingerprint::Tag;
use cognate_similarity::frame::{DistinctRows, FrameRow, ROW_FINE_CHUNKS, RowFilter, rows};
use cognate_similarity::{Link, Posting};
use foldhash::HashMapExt as _;

use super::bits::Bits;
use super::expansions::{Expansions, Reading};
use super::links::MeasuredPairs;
use super::loose::LooseMarks;
use super::parts::{PartBytes, Parts};
use super::tag_list::TagList;
use super::wanted::WantedChunk;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;
use crate::kinds::{Kinds, NumberSet, is_most};

/// The least number of kinds that have a part of a frame.
const KINDS_MIN: u32 = 8;
/// Rows that are counted exactly, some 64 MB of them. If more may occur often enough, only the more frequent ones are counted.
const COUNTED_ROWS_MAX: usize = 1 << 21;

/// The number of kinds that must have a part of a frame, by the number of compared contents: its bits, at least [`KINDS_MIN`]. What otherwise
/// unlike documents quote from each other grows with a collection, if slowly.
pub(super) fn kinds_min(contents: usize) -> u32 {
    (usize::BITS - contents.leading_zeros()).max(KINDS_MIN)
}

/// The compared contents, and the fine chunks that they have.
pub(super) struct FrameContents<'a> {
    /// Ascending.
    pub(super) contents: &'a [u32],
    /// Those of their chunks that the sites were asked for, ascending.
    pub(super) chunks: &'a [Tag],
    /// The chunks that the sites were asked for.
    pub(super) asked: &'a TagList,
    /// The fine chunks that they have in common with others.
    pub(super) marks: &'a LooseMarks,
    pub(super) expansions: &'a Expansions,
}

/// Number of kinds that have each row.
type RowCounts = foldhash::HashMap<FrameRow, u32>;

impl Task<'_> {
    /// The chunks that contents of many kinds have, each with the first of them. Sites cut them again as well, so that frames are known
    /// where chunks begin and end elsewhere.
    pub(super) fn spread_chunks(&self, coarse: &Links, contents: &[u32]) -> Result<Vec<WantedChunk>, Error> {
        let least = kinds_min(contents.len());
        if contents.len() < least as usize {
            return Ok(Vec::new());
        }
        let mut kinds = Kinds::apart(self.subject.frozen.contents.len());
        coarse.for_each(|link| self.join_near(&mut kinds, link, &[]))?;
        let counter = KindCounter::new(kinds.finish(), contents);
        let found = self.on_each_tag(&Vec::new, &|spread: &mut Vec<WantedChunk>, postings| {
            let holders = || postings.iter().map(|posting| posting.content.0);
            if !postings[0].template && postings.len() >= least as usize && counter.reaches(least, holders()) {
                let content = holders().filter(|content| counter.is_counted[*content as usize]).min();
                let (tag, length_bytes) = (postings[0].tag, postings[0].length_bytes);
                spread.extend(content.map(|content| WantedChunk { tag, content, length_bytes }));
            }
        })?;
        let mut spread = found.concat();
        spread.sort_unstable_by_key(|chunk| chunk.tag);
        Ok(spread)
    }

    /// The contents that have a link to one of another kind, ascending: no other link rests on a frame.
    pub(super) fn contents_with_loose_links(
        &self,
        coarse: &Links,
        measured: &MeasuredPairs,
        kinds: &[u32],
    ) -> Result<Vec<u32>, Error> {
        let mut is_loose = vec![false; kinds.len()];
        let mut add = |a: u32, b: u32| {
            if kinds[a as usize] != kinds[b as usize] {
                is_loose[a as usize] = true;
                is_loose[b as usize] = true;
            }
        };
        coarse.for_each(|link| add(link.a.0, link.b.0))?;
        let links = measured.pairs.iter().filter_map(|pair| self.link_of(pair, &measured.of_templates));
        links.for_each(|link| add(link.a.0, link.b.0));
        Ok((0..).zip(is_loose).filter_map(|(content, is_loose)| is_loose.then_some(content)).collect())
    }

    /// Those of the chunks that any of the contents has, ascending.
    pub(super) fn chunks_of(&self, contents: &[u32], chunks: &TagList) -> Result<Vec<Tag>, Error> {
        let has_it = |posting: &Posting| contents.binary_search(&posting.content.0).is_ok();
        let found = self.on_each_tag(&Vec::new, &|found: &mut Vec<Tag>, postings| {
            if chunks.contains(&postings[0].tag) && postings.iter().any(has_it) {
                found.push(postings[0].tag);
            }
        })?;
        let mut found = found.concat();
        found.sort_unstable();
        Ok(found)
    }

    /// Finds the frames of the compared contents, outside of templates, into `parts`: first what enough kinds have, then of that what enough
    /// kinds still have once contents are left out of which frames are most.
    pub(super) fn find_frames(
        &self,
        compared: &FrameContents<'_>,
        kinds: &[u32],
        spread: &[WantedChunk],
        parts: &mut Parts,
    ) -> Result<(), Error> {
        let least = kinds_min(compared.contents.len());
        if compared.contents.len() < least as usize {
            return Ok(());
        }
        let mut contents = compared.contents.to_vec();
        contents.sort_unstable_by_key(|content| (kinds[*content as usize], *content));
        let by_kind = ByKind { contents: &contents, kinds };
        let mut rows = self.frequent_rows(compared, by_kind, parts, least)?;
        rows.retain(|_, count| *count >= least);
        let tags: Vec<Tag> = spread.iter().map(|chunk| chunk.tag).collect();
        let chunks = self.chunk_counts(&tags, by_kind)?;
        let is_spread = |chunk: &&WantedChunk| chunks.get(&chunk.tag).is_some_and(|count| *count >= least);
        parts.frame_rows = rows.keys().copied().collect();
        parts.frame_chunks = spread.iter().filter(is_spread).map(|chunk| (chunk.tag, chunk.length_bytes)).collect();
        self.measure_parts(parts, compared.chunks, compared.expansions)?;
        let light = self.light(&contents, &self.part_bytes(parts)?);
        if light.len() < contents.len() {
            let stays = |light: u32, all: u32| light >= least && 2 * light >= all;
            let lost = self.lost_counts(compared, by_kind, &light, parts)?;
            let of_light = |row: &FrameRow| rows[row] - lost.get(row).copied().unwrap_or_default();
            parts.frame_rows = parts.frame_rows.iter().filter(|row| stays(of_light(row), rows[row])).collect();
            let of_light = self.chunk_counts(&tags, ByKind { contents: &light, kinds })?;
            parts.frame_chunks.retain(|tag, _| of_light.get(tag).is_some_and(|count| stays(*count, chunks[tag])));
            // The rows that stay cover no chunk that all of them did not cover.
            let mut with_frame = parts.tags();
            with_frame.retain(|tag| parts.of_tag(tag).frame > 0 && compared.chunks.binary_search(tag).is_ok());
            self.measure_parts(parts, &with_frame, compared.expansions)?;
        }
        tracing::info!(
            contents = contents.len(),
            light = light.len(),
            least,
            rows = parts.frame_rows.len(),
            chunks = parts.frame_chunks.len(),
            "searched for frames"
        );
        Ok(())
    }

    /// The number of kinds that have each row, for the rows that `least` kinds may have: those that pass a filter of fixed size.
    fn frequent_rows(
        &self,
        compared: &FrameContents<'_>,
        contents: ByKind<'_>,
        parts: &Parts,
        least: u32,
    ) -> Result<RowCounts, Error> {
        let filter = self.row_filter(compared, contents, parts)?;
        let counted_from = filter.least_for(u16::try_from(least).unwrap_or(u16::MAX), COUNTED_ROWS_MAX);
        let frequent = filter.reaching(counted_from);
        drop(filter);
        self.row_counts(compared, contents, parts, &|row| frequent.may_have(row))
    }

    /// The kind of every content.
    pub(super) fn kinds(&self, coarse: &Links, measured: &MeasuredPairs) -> Result<Vec<u32>, Error> {
        let mut kinds = Kinds::apart(self.subject.frozen.contents.len());
        coarse.for_each(|link| self.join_near(&mut kinds, link, &[]))?;
        measured.pairs.iter().for_each(|pair| self.join_near(&mut kinds, &pair.link(), &measured.of_templates));
        Ok(kinds.finish())
    }

    /// Puts two contents together if each has most of the other.
    fn join_near(&self, kinds: &mut Kinds, link: &Link, of_templates: &[PartBytes]) {
        let most_of = |content: &u32| is_most(link.shared_bytes, self.own_bytes(*content, of_templates));
        if [link.a.0, link.b.0].iter().all(most_of) {
            kinds.join(link.a.0, link.b.0);
        }
    }

    /// The contents of which frames are the lesser part, in their order.
    fn light(&self, contents: &[u32], of_contents: &[PartBytes]) -> Vec<u32> {
        let is_light = |content: &&u32| {
            let PartBytes { frame, .. } = of_contents[**content as usize];
            frame == 0 || !is_most(frame, self.own_bytes(**content, of_contents))
        };
        contents.iter().filter(is_light).copied().collect()
    }

    /// Bounds the number of kinds that have each row.
    fn row_filter(
        &self,
        compared: &FrameContents<'_>,
        contents: ByKind<'_>,
        parts: &Parts,
    ) -> Result<RowFilter, Error> {
        let filter = RowFilter::new(compared.marks.count());
        self.on_threads(&contents.kind_by_kind(), &RowsOfKind::default, &|found: &mut RowsOfKind, kind: &&[u32]| {
            compared.rows_of_kind(kind, parts, &|_| true, found)?;
            filter.add(found.rows.rows());
            Ok(())
        })?;
        Ok(filter)
    }

    /// The number of kinds of contents that have each of the rows which may count.
    fn row_counts(
        &self,
        compared: &FrameContents<'_>,
        contents: ByKind<'_>,
        parts: &Parts,
        may_count: &(dyn Fn(FrameRow) -> bool + Sync),
    ) -> Result<RowCounts, Error> {
        let begin = <(RowsOfKind, RowCounts)>::default;
        let of_threads = self.on_threads(&contents.kind_by_kind(), &begin, &|(found, counts), kind: &&[u32]| {
            compared.rows_of_kind(kind, parts, may_count, found)?;
            found.rows.rows().iter().for_each(|row| *counts.entry(*row).or_default() += 1);
            Ok(())
        })?;
        let mut all = RowCounts::new();
        for (row, count) in of_threads.into_iter().flat_map(|(_, counts)| counts) {
            *all.entry(row).or_default() += count;
        }
        Ok(all)
    }

    /// Of the rows of frames, the number of kinds that have each in none of their light contents. `light` are some of the contents.
    fn lost_counts(
        &self,
        compared: &FrameContents<'_>,
        contents: ByKind<'_>,
        light: &[u32],
        parts: &Parts,
    ) -> Result<RowCounts, Error> {
        let ByKind { contents, kinds } = contents;
        let kind = |content: &u32| kinds[*content as usize];
        let is_light: HashSet<u32> = light.iter().copied().collect();
        let of_heavy: HashSet<u32> = contents.iter().filter(|content| !is_light.contains(content)).map(kind).collect();
        // The other kinds have what they had.
        let [all, light] = [contents, light].map(|contents| {
            let changed = contents.iter().filter(|content| of_heavy.contains(&kind(content)));
            let changed: Vec<u32> = changed.copied().collect();
            self.row_counts(compared, ByKind { contents: &changed, kinds }, parts, &|row| {
                parts.frame_rows.contains(row)
            })
        });
        let (mut lost, light) = (all?, light?);
        lost.iter_mut().for_each(|(row, count)| *count -= light.get(row).copied().unwrap_or_default());
        Ok(lost)
    }

    /// The number of kinds of contents that have each chunk.
    fn chunk_counts(&self, tags: &[Tag], contents: ByKind<'_>) -> Result<HashMap<Tag, u32>, Error> {
        let mut counter = KindCounter::new(contents.kinds.to_vec(), contents.contents);
        let mut counts = HashMap::new();
        self.subject.frozen.shards.visit_tags(tags, &mut |tag, postings| {
            counts.insert(tag, counter.count(postings.iter().map(|posting| posting.content.0)));
            Ok(())
        })?;
        Ok(counts)
    }
}

impl FrameContents<'_> {
    /// Those rows that may count of what the contents of a kind have in common with others, each once.
    fn rows_of_kind(
        &self,
        kind: &[u32],
        parts: &Parts,
        may_count: &dyn Fn(FrameRow) -> bool,
        found: &mut RowsOfKind,
    ) -> Result<(), Error> {
        let RowsOfKind { rows: found, reading } = found;
        found.begin();
        let mut marks: Vec<(u32, &[u64])> = Vec::new();
        let is_counted = |row: FrameRow| !parts.template_rows.contains(row) && may_count(row);
        for content in kind {
            marks.clear();
            marks.extend(self.marks.of(*content));
            let tags = marks.iter().map(|(place, _)| self.asked.tags()[*place as usize]);
            self.expansions.each(tags, reading, |number, fine| {
                let begins = Bits::in_a_row(marks[number].1, ROW_FINE_CHUNKS);
                let marked = rows(fine).filter(|(place, _)| begins.holds(*place)).map(|(_, row)| row);
                marked.filter(|row| is_counted(*row)).for_each(|row| found.add(row));
            })?;
        }
        Ok(())
    }
}

/// The rows of a kind, in memory that a thread uses again.
#[derive(Default)]
struct RowsOfKind {
    rows: DistinctRows,
    reading: Reading,
}

/// Contents, those of a kind next to each other.
#[derive(Clone, Copy)]
struct ByKind<'a> {
    contents: &'a [u32],
    /// The kind of every content of the layer.
    kinds: &'a [u32],
}

impl<'a> ByKind<'a> {
    fn kind_by_kind(self) -> Vec<&'a [u32]> {
        self.contents.chunk_by(|a, b| self.kinds[*a as usize] == self.kinds[*b as usize]).collect()
    }
}

/// Counts the kinds among contents that count.
struct KindCounter {
    kinds: Vec<u32>,
    is_counted: Vec<bool>,
    seen: NumberSet,
}

impl KindCounter {
    fn new(kinds: Vec<u32>, contents: &[u32]) -> KindCounter {
        let mut is_counted = vec![false; kinds.len()];
        contents.iter().for_each(|content| is_counted[*content as usize] = true);
        KindCounter { seen: NumberSet::new(kinds.len()), kinds, is_counted }
    }

    /// True if the contents have at least `kinds` kinds, which are few. Several threads can ask, and it ends as soon as that is known.
    fn reaches(&self, kinds: u32, contents: impl Iterator<Item = u32>) -> bool {
        let mut found: Vec<u32> = Vec::new();
        let mut counted = contents.filter(|content| self.is_counted[*content as usize]);
        counted.any(|content| {
            let kind = self.kinds[content as usize];
            if !found.contains(&kind) {
                found.push(kind);
            }
            found.len() >= kinds as usize
        })
    }

    fn count(&mut self, contents: impl Iterator<Item = u32>) -> u32 {
        self.seen.begin();
        let counted = contents.filter(|content| self.is_counted[*content as usize]);
        let new = counted.filter(|content| self.seen.show(self.kinds[*content as usize]));
        u32::try_from(new.count()).expect("contents have 32-bit numbers")
    }
}

/// The contents of pairs, ascending.
pub(super) fn contents_of(pairs: &[(u32, u32)]) -> Vec<u32> {
    let contents: HashSet<u32> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let mut contents: Vec<u32> = contents.into_iter().collect();
    contents.sort_unstable();
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_a_frame_needs_grow_slowly_with_the_collection() {
        let counts = [0, 7, 255, 256, 1000, 10_000, 1_000_000].map(kinds_min);
        assert_eq!(counts, [8, 8, 8, 9, 10, 14, 20]);
    }

    #[test]
    fn contents_of_one_kind_count_once_and_others_not_at_all() {
        let mut kinds = Kinds::apart(6);
        kinds.join(4, 1);
        kinds.join(5, 4);
        let mut counter = KindCounter::new(kinds.finish(), &[0, 1, 4, 5]);
        assert_eq!(counter.count([0, 1, 4, 5, 2, 3, 0].into_iter()), 2);
        assert_eq!(counter.count([4, 5, 5].into_iter()), 1);
        for (contents, kinds) in [(&[0, 1, 4, 5, 2, 3, 0][..], 2), (&[4, 5, 5], 1), (&[2, 3], 0)] {
            for wanted in 1..4 {
                assert_eq!(counter.reaches(wanted, contents.iter().copied()), wanted <= kinds, "{contents:?}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn contents_come_kind_by_kind_each_once(kinds in proptest::collection::vec(0..9_u32, 0..50)) {
            let mut contents: Vec<u32> = (0..).zip(&kinds).map(|(content, _)| content).collect();
            contents.sort_unstable_by_key(|content| kinds[*content as usize]);
            let groups = ByKind { contents: &contents, kinds: &kinds }.kind_by_kind();
            proptest::prop_assert_eq!(&groups.concat(), &contents);
            let of_groups: Vec<u32> = groups.iter().map(|group| kinds[group[0] as usize]).collect();
            proptest::prop_assert!(of_groups.is_sorted_by(|a, b| a < b), "{of_groups:?}");
        }
    }
}
