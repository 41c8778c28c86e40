//! The parts of contents: each fine chunk belongs to a template that is in force, to a frame that the scan finds, or to the content's own text.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::{FineChunk, Tag};
use cognate_similarity::fine::{ChunkCount, Part, SharedBytes};
use cognate_similarity::frame::{FrameRow, RowSet, mark};
use foldhash::HashMap;

use super::expansions::{Expansions, Reading};
use crate::compare::Task;
use crate::error::Error;

/// Chunks that are read together.
const PORTION_CHUNKS: usize = 128;

/// Bytes of a chunk or of a content, by what they are part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PartBytes {
    pub(super) template: u64,
    pub(super) frame: u64,
}

/// The templates and frames of a layer, and the chunks that have any of them.
#[derive(Default)]
pub(super) struct Parts {
    /// Rows of the templates in force.
    pub(super) template_rows: RowSet,
    /// Rows of frames.
    pub(super) frame_rows: RowSet,
    /// Chunks that are frame from end to end, with their lengths.
    pub(super) frame_chunks: BTreeMap<Tag, u32>,
    /// Of the chunks that have any, the bytes.
    bytes: HashMap<Tag, PartBytes>,
}

impl Parts {
    /// The rows of the templates in force, and no frames yet.
    pub(super) fn of_templates(rows: &[FrameRow]) -> Parts {
        Parts { template_rows: rows.iter().copied().collect(), ..Parts::default() }
    }

    /// The part to which each fine chunk of a chunk belongs; empty if all are the content's own.
    pub(super) fn of_chunk(&self, tag: &Tag, fine: &[FineChunk]) -> Vec<Part> {
        if self.bytes.contains_key(tag) { self.marked(tag, fine) } else { Vec::new() }
    }

    fn marked(&self, tag: &Tag, fine: &[FineChunk]) -> Vec<Part> {
        let mut parts = vec![Part::Own; fine.len()];
        mark(&mut parts, fine, &self.template_rows, Part::Template);
        match self.frame_chunks.contains_key(tag) {
            true => parts.iter_mut().filter(|part| **part == Part::Own).for_each(|part| *part = Part::Frame),
            false => mark(&mut parts, fine, &self.frame_rows, Part::Frame),
        }
        parts
    }

    /// The bytes of a chunk that are part of templates and frames.
    fn measured(&self, tag: &Tag, fine: &[FineChunk]) -> PartBytes {
        let mut found = PartBytes::default();
        for (part, fine) in self.marked(tag, fine).into_iter().zip(fine) {
            match part {
                Part::Own => {}
                Part::Template => found.template += u64::from(fine.length_bytes),
                Part::Frame => found.frame += u64::from(fine.length_bytes),
            }
        }
        found
    }

    /// The bytes of a chunk.
    pub(super) fn of_tag(&self, tag: &Tag) -> PartBytes {
        self.bytes.get(tag).copied().unwrap_or_default()
    }

    /// The chunks that have any, ascending.
    pub(super) fn tags(&self) -> Vec<Tag> {
        let mut tags: Vec<Tag> = self.bytes.keys().copied().collect();
        tags.sort_unstable();
        tags
    }

    /// Forgets the frames of chunks, but for those that are frame from end to end: all that is not template is frame there.
    fn keep_frame_chunks(&mut self) {
        self.bytes.retain(|_, bytes| {
            bytes.frame = 0;
            bytes.template > 0
        });
        for (tag, length_bytes) in &self.frame_chunks {
            let bytes = self.bytes.entry(*tag).or_default();
            bytes.frame = u64::from(*length_bytes).saturating_sub(bytes.template);
        }
    }

    /// What is left of the bytes of common chunks, `all`, without templates and frames.
    pub(super) fn of_common(&self, all: u64, common: &[ChunkCount]) -> SharedBytes {
        if self.bytes.is_empty() {
            return SharedBytes::whole(all);
        }
        let mut sum = PartBytes::default();
        for chunk in common {
            let PartBytes { template, frame } = self.of_tag(&chunk.tag);
            sum.template += u64::from(chunk.count) * template;
            sum.frame += u64::from(chunk.count) * frame;
        }
        let outside_templates = all.saturating_sub(sum.template);
        let outside_frames = outside_templates.saturating_sub(sum.frame);
        SharedBytes { all, outside_templates, outside_frames, of_each: [all; 2] }
    }
}

impl Task<'_> {
    pub(super) fn weight(&self, content: u32) -> u64 {
        self.subject.frozen.contents[content as usize].weight
    }

    /// The weight of a content without its templates. If `of_contents` is empty, there are none.
    pub(super) fn own_bytes(&self, content: u32, of_contents: &[PartBytes]) -> u64 {
        self.weight(content).saturating_sub(of_contents.get(content as usize).map_or(0, |bytes| bytes.template))
    }

    /// Finds the bytes of these chunks that are part of templates and frames. Of others, those of templates stay as they are known.
    pub(super) fn measure_parts(
        &self,
        parts: &mut Parts,
        chunks: &[Tag],
        expansions: &Expansions,
    ) -> Result<(), Error> {
        parts.keep_frame_chunks();
        if parts.template_rows.is_empty() && parts.frame_rows.is_empty() {
            return Ok(());
        }
        let known: &Parts = parts;
        let ordered = expansions.in_order(chunks);
        let portions: Vec<&[Tag]> = ordered.chunks(PORTION_CHUNKS).collect();
        let begin = <(Vec<(Tag, PartBytes)>, Reading)>::default;
        let found = self.on_threads(&portions, &begin, &|(found, reading), portion: &&[Tag]| {
            expansions.each(portion.iter().copied(), reading, |number, fine| {
                found.push((portion[number], known.measured(&portion[number], fine)));
            })
        })?;
        for (tag, bytes) in found.into_iter().flat_map(|(found, _)| found) {
            match bytes == PartBytes::default() {
                true => drop(parts.bytes.remove(&tag)),
                false => drop(parts.bytes.insert(tag, bytes)),
            }
        }
        Ok(())
    }

    /// The bytes of every content that are part of templates and frames.
    pub(super) fn part_bytes(&self, parts: &Parts) -> Result<Vec<PartBytes>, Error> {
        // One list for all threads: sums do not depend on the order of what is added.
        let mut of_contents: Vec<[AtomicU64; 2]> = Vec::new();
        of_contents.resize_with(self.subject.frozen.contents.len(), Default::default);
        self.on_tags(&parts.tags(), &|| (), &|(), tag, postings| {
            let PartBytes { template, frame } = parts.of_tag(&tag);
            for posting in postings.iter().filter(|posting| !posting.template) {
                let [of_template, of_frame] = &of_contents[posting.content.0 as usize];
                of_template.fetch_add(template, Ordering::Relaxed);
                of_frame.fetch_add(frame, Ordering::Relaxed);
            }
        })?;
        let bytes = |[template, frame]: [AtomicU64; 2]| PartBytes {
            template: template.into_inner(),
            frame: frame.into_inner(),
        };
        Ok(of_contents.into_iter().map(bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_chunks_count_less_what_is_template_and_frame_in_each_occurrence() {
        let chunk = |number: u8, count| ChunkCount { tag: Tag([number; 16]), length_bytes: 100, count };
        let bytes = [(1, 30, 20), (2, 0, 100)]
            .map(|(number, template, frame)| (Tag([number; 16]), PartBytes { template, frame }));
        let parts = Parts { bytes: bytes.into_iter().collect(), ..Parts::default() };
        let common = [chunk(1, 2), chunk(2, 1), chunk(3, 1)];
        let SharedBytes { all, outside_templates, outside_frames, .. } = parts.of_common(400, &common);
        assert_eq!((all, outside_templates, outside_frames), (400, 340, 200));
    }

    #[test]
    fn what_is_template_in_a_chunk_of_a_frame_stays_template_when_frames_are_searched_for_again() {
        let of = |bytes: &[(u8, u64, u64)]| -> HashMap<Tag, PartBytes> {
            let of_tag = |(number, template, frame)| (Tag([number; 16]), PartBytes { template, frame });
            bytes.iter().copied().map(of_tag).collect()
        };
        let frame_chunks = [1, 2, 4].map(|number| (Tag([number; 16]), 100)).into_iter().collect();
        let bytes = of(&[(1, 30, 70), (2, 100, 0), (3, 20, 50), (5, 0, 60)]);
        let mut parts = Parts { bytes, frame_chunks, ..Parts::default() };
        parts.keep_frame_chunks();
        assert_eq!(parts.bytes, of(&[(1, 30, 70), (2, 100, 0), (3, 20, 0), (4, 0, 100)]));
    }
}
