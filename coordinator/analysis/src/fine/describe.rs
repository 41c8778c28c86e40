//! Frames for people: which documents have each, what rests on it, and the rows and chunks that would be marked.
//!
//! A frame has the rows and chunks of which most holders that rest on frames are in one cluster, and those of other clusters that the same
//! documents have. The first pass, over the contents of links that rest on frames, finds the cluster of each row (Boyer and Moore, "A fast
//! majority vote algorithm", 1981). The second, over the chunks of frames, finds what every content has of each.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cognate_fingerprint::{Feature, Tag};
use cognate_similarity::fine::RUN_BYTES_MIN;
use cognate_similarity::frame::{FrameRow, ROW_FINE_CHUNKS, rows};
use cognate_similarity::{Cluster, ContentIndex};
use cognate_storage::template::{Chunk, ROWS_MAX, TAGS_MAX};
use foldhash::HashMapExt as _;

use super::parts::Parts;
use super::{FineFindings, OutsideLink};
use crate::compare::Task;
use crate::error::Error;
use crate::kinds::{Kinds, NOWHERE, cluster_of_each};

/// Frames of a content of which it is counted which occur together.
const TOGETHER_MAX: usize = 64;
/// Documents that a frame names.
const EXAMPLES: usize = 3;

/// A frame: what many otherwise unlike contents have, and links rest on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Frame {
    /// The cluster in which most contents are that rest on it, by its place in the analysis.
    pub(crate) cluster: u32,
    /// Chunks that are frame from end to end, ascending.
    pub(crate) chunks: Vec<Chunk>,
    /// Rows of fine chunks, ascending.
    pub(crate) rows: Vec<FrameRow>,
    /// Documents that have any of them, every copy counted, and the bytes of these in them.
    pub(crate) documents: u64,
    pub(crate) document_bytes: u64,
    /// Documents that consist of nothing else, but for less than a run that would count.
    pub(crate) emptied: u64,
    /// Links that rest on frames, of which this one is part on both ends.
    pub(crate) links: u64,
    /// Clusters of which all links do, and others of which some do.
    pub(crate) clusters_gone: u64,
    pub(crate) clusters_changed: u64,
    /// All these clusters, ascending.
    pub(crate) clusters: Vec<u32>,
    /// A few of the documents.
    pub(crate) examples: Vec<u32>,
}

/// A vote for a cluster.
#[derive(Clone, Copy, Default)]
struct Vote {
    cluster: u32,
    lead: u32,
    holders: u32,
}

impl Vote {
    fn cast(&mut self, cluster: u32) {
        self.holders += 1;
        match (self.cluster == cluster, self.lead) {
            (_, 0) => (self.cluster, self.lead) = (cluster, 1),
            (true, _) => self.lead += 1,
            (false, _) => self.lead -= 1,
        }
    }
}

/// The rows and chunks of frames, each with its frame.
struct FrameGroups {
    frames: Vec<Frame>,
    of_row: foldhash::HashMap<FrameRow, u32>,
    of_chunk: HashMap<Tag, u32>,
}

/// Frames, ascending by their numbers, and the bytes of a chunk or content that are part of each.
type OfFrames = Vec<(u32, u64)>;

/// Contents, ascending, with their bytes in frames.
type HeldBytes = Vec<(u32, OfFrames)>;

/// Bytes of contents in frames, while they are added up.
#[derive(Default)]
struct Holdings {
    /// Contents, frames and bytes; what was added last may be of a content and frame that are there already.
    rows: Vec<(u32, u32, u64)>,
    /// The rows when they were last added up.
    added_up: usize,
}

/// Rows that wait at least until they are added up.
const HELD_ROWS_MIN: usize = 1 << 16;

impl Holdings {
    fn add(&mut self, content: u32, of_frames: &[(u32, u64)]) {
        self.rows.extend(of_frames.iter().map(|(frame, bytes)| (content, *frame, *bytes)));
        if self.rows.len() >= 2 * self.added_up + HELD_ROWS_MIN {
            self.add_up();
        }
    }

    /// Leaves a row for each content and frame, ascending.
    fn add_up(&mut self) {
        self.rows.sort_unstable();
        self.rows.dedup_by(|later, first| {
            let is_same = (later.0, later.1) == (first.0, first.1);
            first.2 += if is_same { later.2 } else { 0 };
            is_same
        });
        self.added_up = self.rows.len();
    }

    /// The sums of several threads.
    fn together(of_threads: Vec<Holdings>) -> HeldBytes {
        let rows = of_threads.into_iter().flat_map(|held| held.rows).collect();
        let mut all = Holdings { rows, added_up: 0 };
        all.add_up();
        let of_content =
            |rows: &[(u32, u32, u64)]| (rows[0].0, rows.iter().map(|(_, frame, bytes)| (*frame, *bytes)).collect());
        all.rows.chunk_by(|a, b| a.0 == b.0).map(of_content).collect()
    }
}

impl Task<'_> {
    /// The frames on which links rest, those first that most documents have.
    pub(crate) fn described_frames(&self, found: &FineFindings, clusters: &[Cluster]) -> Result<Vec<Frame>, Error> {
        let cluster_of = cluster_of_each(self.subject.frozen.contents.len(), clusters);
        // Greedy clusters leave out some contents that have links.
        let is_clustered =
            |link: &&OutsideLink| [link.a, link.b].iter().all(|one| cluster_of[*one as usize] != NOWHERE);
        let resting = found.figures.outside.iter().filter(|link| link.rests_on_frame);
        let resting: Vec<&OutsideLink> = resting.filter(is_clustered).collect();
        let voters: HashSet<u32> = resting.iter().flat_map(|link| [link.a, link.b]).collect();
        if voters.is_empty() {
            return Ok(Vec::new());
        }
        let grouped = self.grouped(found, &voters, &cluster_of)?;
        let held = self.held_bytes(found, &grouped)?;
        let near = near(&held, grouped.frames.len());
        let (mut grouped, numbers) = grouped.joined(near.into_iter());
        let of_voters = self.count_documents(&held, &numbers, &voters, &mut grouped);
        grouped.count_links(&resting, &of_voters, clusters, &cluster_of);
        grouped.frames.retain(|frame| frame.links > 0);
        grouped.frames.sort_by_key(|frame| (std::cmp::Reverse(frame.documents), frame.cluster));
        Ok(grouped.frames)
    }

    /// Puts rows and chunks into frames.
    fn grouped(&self, found: &FineFindings, voters: &HashSet<u32>, cluster_of: &[u32]) -> Result<FrameGroups, Error> {
        let parts = &found.parts;
        let mut of_row: foldhash::HashMap<FrameRow, Vote> = foldhash::HashMap::new();
        let mut of_tag: HashMap<Tag, Vote> = HashMap::new();
        let mut rows_of_content = Vec::new();
        let voting: Vec<u32> = found.contents.iter().copied().filter(|content| voters.contains(content)).collect();
        self.each_content(&voting, &mut |content, features| {
            let cluster = cluster_of[content as usize];
            rows_of_content.clear();
            for tag in tags_of(features).filter(|tag| parts.of_tag(tag).frame > 0) {
                if parts.frame_chunks.contains_key(&tag) {
                    of_tag.entry(tag).or_default().cast(cluster);
                }
                let fine = found.expansions.get(&tag)?.unwrap_or_default();
                rows_of_content.extend(rows(&fine).map(|(_, row)| row).filter(|row| parts.frame_rows.contains(*row)));
            }
            rows_of_content.sort_unstable();
            rows_of_content.dedup();
            rows_of_content.iter().for_each(|row| of_row.entry(*row).or_default().cast(cluster));
            Ok(())
        })?;
        Ok(FrameGroups::of(parts, of_row, of_tag))
    }

    /// The bytes that each compared content has of each frame.
    fn held_bytes(&self, found: &FineFindings, grouped: &FrameGroups) -> Result<HeldBytes, Error> {
        let mut tags = found.parts.tags();
        tags.retain(|tag| found.parts.of_tag(tag).frame > 0);
        let of_threads = self.on_threads(&tags, &Vec::new, &|all: &mut Vec<(Tag, OfFrames)>, tag: &Tag| {
            let of_chunk = grouped.held_of_chunk(found, tag)?;
            all.extend((!of_chunk.is_empty()).then_some((*tag, of_chunk)));
            Ok(())
        })?;
        let of_tag: HashMap<Tag, OfFrames> = of_threads.into_iter().flatten().collect();
        tags.retain(|tag| of_tag.contains_key(tag));
        let of_threads = self.on_tags(&tags, &Holdings::default, &|held: &mut Holdings, tag, postings| {
            let is_compared = |content: &u32| found.contents.binary_search(content).is_ok();
            let own = postings.iter().filter(|posting| !posting.template).map(|posting| posting.content.0);
            own.filter(is_compared).for_each(|content| held.add(content, &of_tag[&tag]));
        })?;
        Ok(Holdings::together(of_threads))
    }

    /// Counts documents and bytes of each frame; returns the frames of each voter, ascending. `numbers` has the frame into which each
    /// one was put.
    fn count_documents(
        &self,
        held: &[(u32, OfFrames)],
        numbers: &[u32],
        voters: &HashSet<u32>,
        grouped: &mut FrameGroups,
    ) -> HashMap<u32, Vec<u32>> {
        let mut of_voter: HashMap<u32, Vec<u32>> = HashMap::new();
        for (content, of_content) in held {
            let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
            for (frame, of_frame) in of_content {
                *bytes.entry(numbers[*frame as usize]).or_default() += of_frame;
            }
            let copies = self.subject.copies.of_content(ContentIndex(*content));
            let weight = self.subject.frozen.contents[*content as usize].weight;
            for (frame, bytes) in &bytes {
                let frame = &mut grouped.frames[*frame as usize];
                let documents = copies.len() as u64;
                frame.documents += documents;
                frame.document_bytes = frame.document_bytes.saturating_add(bytes.saturating_mul(documents));
                frame.emptied += if bytes + RUN_BYTES_MIN > weight { documents } else { 0 };
                if frame.examples.len() < EXAMPLES {
                    frame.examples.extend(copies.first());
                }
            }
            if voters.contains(content) {
                of_voter.insert(*content, bytes.into_keys().collect());
            }
        }
        of_voter
    }
}

/// The frames of which nearly all documents that have one have the other, in pairs.
fn near(held: &[(u32, OfFrames)], frames: usize) -> Vec<(u32, u32)> {
    let mut holders = vec![0_u64; frames];
    let mut together: foldhash::HashMap<(u32, u32), u64> = foldhash::HashMap::new();
    for (_, of_content) in held {
        of_content.iter().for_each(|(frame, _)| holders[*frame as usize] += 1);
        for (place, (a, _)) in of_content.iter().take(TOGETHER_MAX).enumerate() {
            of_content[..place].iter().for_each(|(b, _)| *together.entry((*b, *a)).or_default() += 1);
        }
    }
    let is_near =
        |a: u32, b: u32, both: u64| both.saturating_mul(5) >= 4 * holders[a as usize].max(holders[b as usize]);
    let near = together.into_iter().filter(|((a, b), both)| is_near(*a, *b, *both));
    let mut near: Vec<(u32, u32)> = near.map(|(pair, _)| pair).collect();
    near.sort_unstable();
    near
}

impl FrameGroups {
    fn of(parts: &Parts, of_row: foldhash::HashMap<FrameRow, Vote>, of_tag: HashMap<Tag, Vote>) -> FrameGroups {
        let mut rows: BTreeMap<u32, Vec<(u32, FrameRow)>> = BTreeMap::new();
        for (row, vote) in of_row {
            rows.entry(vote.cluster).or_default().push((vote.holders, row));
        }
        let mut chunks: BTreeMap<u32, Vec<(u32, Chunk)>> = BTreeMap::new();
        for (tag, vote) in of_tag {
            let length_bytes = parts.frame_chunks[&tag];
            chunks.entry(vote.cluster).or_default().push((vote.holders, (tag, length_bytes)));
        }
        let mut clusters: Vec<u32> = rows.keys().chain(chunks.keys()).copied().collect();
        clusters.sort_unstable();
        clusters.dedup();
        let mut grouped =
            FrameGroups { frames: Vec::new(), of_row: foldhash::HashMap::new(), of_chunk: HashMap::new() };
        for (cluster, number) in clusters.into_iter().zip(0..) {
            let rows = most_common(rows.remove(&cluster).unwrap_or_default(), ROWS_MAX);
            let chunks = most_common(chunks.remove(&cluster).unwrap_or_default(), TAGS_MAX);
            grouped.of_row.extend(rows.iter().map(|row| (*row, number)));
            grouped.of_chunk.extend(chunks.iter().map(|chunk| (chunk.0, number)));
            grouped.frames.push(Frame { cluster, chunks, rows, ..Frame::default() });
        }
        grouped
    }

    /// Counts for each frame the links of which both ends have it, and the clusters that these links leave.
    fn count_links(
        &mut self,
        resting: &[&OutsideLink],
        of_voters: &HashMap<u32, Vec<u32>>,
        clusters: &[Cluster],
        cluster_of: &[u32],
    ) {
        let mut resting_links: BTreeMap<u32, u64> = BTreeMap::new();
        resting.iter().for_each(|link| *resting_links.entry(cluster_of[link.a as usize]).or_default() += 1);
        let mut clusters_of_frame: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); self.frames.len()];
        for link in resting {
            let [a, b] = [link.a, link.b].map(|content| of_voters.get(&content).map_or(&[][..], Vec::as_slice));
            for frame in a.iter().filter(|frame| b.contains(frame)) {
                self.frames[*frame as usize].links += 1;
                clusters_of_frame[*frame as usize].insert(cluster_of[link.a as usize]);
            }
        }
        for (frame, of_frame) in self.frames.iter_mut().zip(clusters_of_frame) {
            let all_rest = |cluster: &&u32| resting_links[*cluster] >= clusters[**cluster as usize].link_count;
            frame.clusters_gone = of_frame.iter().filter(all_rest).count() as u64;
            frame.clusters_changed = of_frame.len() as u64 - frame.clusters_gone;
            frame.clusters = of_frame.into_iter().collect();
        }
    }

    /// Puts frames together, pair by pair, as long as one template can have both. Returns the number of the frame into which each was put.
    fn joined(self, pairs: impl Iterator<Item = (u32, u32)>) -> (FrameGroups, Vec<u32>) {
        let mut sizes: Vec<[usize; 2]> =
            self.frames.iter().map(|frame| [frame.rows.len(), frame.chunks.len()]).collect();
        let mut kinds = Kinds::apart(self.frames.len());
        for (a, b) in pairs {
            let (a, b) = (kinds.find(a), kinds.find(b));
            let sum = [0, 1].map(|part| sizes[a as usize][part] + sizes[b as usize][part]);
            if a != b && sum[0] <= ROWS_MAX && sum[1] <= TAGS_MAX {
                kinds.join(a, b);
                sizes[a.min(b) as usize] = sum;
            }
        }
        let mut joined = FrameGroups { frames: Vec::new(), of_row: foldhash::HashMap::new(), of_chunk: HashMap::new() };
        let mut of_kinds: BTreeMap<u32, (u32, usize)> = BTreeMap::new();
        let mut numbers = Vec::new();
        for (frame, kind) in self.frames.into_iter().zip(kinds.finish()) {
            let next = u32::try_from(joined.frames.len()).expect("frames are no more than clusters");
            let (number, most_rows) = of_kinds.entry(kind).or_insert((next, 0));
            numbers.push(*number);
            if *number == next {
                joined.frames.push(Frame::default());
            }
            joined.of_row.extend(frame.rows.iter().map(|row| (*row, *number)));
            joined.of_chunk.extend(frame.chunks.iter().map(|chunk| (chunk.0, *number)));
            let of_kind = &mut joined.frames[*number as usize];
            // The cluster of most rows.
            if frame.rows.len() >= *most_rows {
                (of_kind.cluster, *most_rows) = (frame.cluster, frame.rows.len());
            }
            of_kind.rows.extend(frame.rows);
            of_kind.chunks.extend(frame.chunks);
        }
        for frame in &mut joined.frames {
            frame.rows.sort_unstable();
            frame.chunks.sort_unstable();
        }
        (joined, numbers)
    }

    /// The bytes of a chunk that each frame has; of several, a fine chunk counts for the one that ends there first.
    fn held_of_chunk(&self, found: &FineFindings, tag: &Tag) -> Result<OfFrames, Error> {
        if let Some(frame) = self.of_chunk.get(tag) {
            return Ok(vec![(*frame, found.parts.of_tag(tag).frame)]);
        }
        let fine = found.expansions.get(tag)?.unwrap_or_default();
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        let mut next = 0;
        for (place, row) in rows(&fine) {
            let Some(frame) = self.of_row.get(&row) else { continue };
            let end = place + ROW_FINE_CHUNKS;
            let new = &fine[next.max(place)..end];
            *bytes.entry(*frame).or_default() += new.iter().map(|fine| u64::from(fine.length_bytes)).sum::<u64>();
            next = end;
        }
        Ok(bytes.into_iter().collect())
    }
}

/// Those that most contents have, ascending, and no more than a template can have.
fn most_common<T: Ord + Copy>(mut all: Vec<(u32, T)>, most: usize) -> Vec<T> {
    all.sort_unstable_by_key(|(holders, one)| (std::cmp::Reverse(*holders), *one));
    all.truncate(most);
    let mut all: Vec<T> = all.into_iter().map(|(_, one)| one).collect();
    all.sort_unstable();
    all
}

/// The tags of features, which ascend, each once.
fn tags_of(features: &[Feature]) -> impl Iterator<Item = Tag> {
    features.chunk_by(|a, b| a.tag == b.tag).map(|same| same[0].tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_finds_the_cluster_of_most_holders() {
        let mut vote = Vote::default();
        [3, 1, 3, 2, 3, 3, 2].into_iter().for_each(|cluster| vote.cast(cluster));
        assert_eq!((vote.cluster, vote.holders), (3, 7));
    }

    #[test]
    fn frames_are_put_together_as_long_as_a_template_can_have_both() {
        let row = |number: u8| FrameRow::from_bytes([number; 6]);
        let frame = |cluster, rows: Vec<FrameRow>| Frame { cluster, rows, ..Frame::default() };
        let frames = vec![
            frame(4, vec![row(7)]),
            frame(5, vec![row(1), row(9)]),
            frame(6, vec![row(3)]),
            frame(8, vec![row(200); ROWS_MAX - 2]),
        ];
        let of_row = [(row(7), 0), (row(1), 1), (row(9), 1), (row(3), 2), (row(200), 3)];
        let grouped = FrameGroups { frames, of_row: of_row.into_iter().collect(), of_chunk: HashMap::new() };
        let (joined, numbers) = grouped.joined([(0, 1), (0, 3), (1, 3)].into_iter());
        assert_eq!(numbers, [0, 0, 1, 2]);
        let found: Vec<_> = joined.frames.iter().map(|frame| (frame.cluster, frame.rows.len())).collect();
        assert_eq!(found, [(5, 3), (6, 1), (8, ROWS_MAX - 2)]);
        assert_eq!(joined.frames[0].rows, [row(1), row(7), row(9)]);
        assert_eq!([7, 1, 3, 200].map(|number| joined.of_row[&row(number)]), [0, 0, 1, 2]);
    }

    #[test]
    fn bytes_of_contents_in_frames_add_up_whoever_found_them() {
        let mut of_threads: Vec<Holdings> = (0..3).map(|_| Holdings::default()).collect();
        for number in 0..300_000_u32 {
            of_threads[number as usize % 3].add(number % 5, &[(number % 2, 1), (7, 10)]);
        }
        assert!(of_threads.iter().all(|held| held.rows.len() < 2 * HELD_ROWS_MIN));
        let expected: HeldBytes =
            (0..5).map(|content| (content, vec![(0, 30_000), (1, 30_000), (7, 600_000)])).collect();
        assert_eq!(Holdings::together(of_threads), expected);
    }

    #[test]
    fn a_frame_that_is_too_large_keeps_what_most_have() {
        assert_eq!(most_common(vec![(2, 9), (7, 4), (2, 1), (5, 6)], 3), [1, 4, 6]);
    }
}
