//! The chunks that candidate pairs do not share, and the questions to the sites that hold them: each chunk once, in portions.

use cognate_fingerprint::{Feature, Tag};
use cognate_proto::fine::{Expansion, FineChoice};
use cognate_proto::limits::FINE_CHUNKS_MAX;
use cognate_similarity::fine::{ByChunks, ChunkCount, by_chunks, counted};
use foldhash::HashMap;

use super::expansions::{Expansions, ExpansionsWriter};
use super::pair::{Pair, ascending as ascending_pairs};
use super::{FineAnswer, FineFailure, FineRequest, FineRoot, FineRound};
use crate::compare::Task;
use crate::error::Error;
use crate::subject::index;
use crate::threads::side_by_side;

/// Chunks asked for at a time: their fine chunks take some 4 MB on the way, and two portions of each root are under way or being written.
const PORTION_CHUNKS: usize = FINE_CHUNKS_MAX / 4;

/// A chunk that somebody has to cut, and the first content that has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WantedChunk {
    pub(super) tag: Tag,
    pub(super) content: u32,
    pub(super) length_bytes: u32,
}

/// Bytes that are left of a content at most in a pair that is measured (`docs/decisions/0028-fine-figures.md`). The contents of the oracle are short.
pub(super) const LEFT_BYTES_MAX: u64 = if cfg!(test) { 2600 } else { 1 << 30 };

/// The chunks that are left of pairs, and the pairs that are left out.
pub(super) struct RemainingChunks {
    /// Each chunk once, ascending.
    pub(super) chunks: Vec<WantedChunk>,
    /// Pairs of which too much is left to be measured, ascending.
    pub(super) too_long: Vec<Pair>,
}

/// Chunks of one thread, with repetitions that are removed now and then.
#[derive(Default)]
struct ChunkCollector {
    chunks: Vec<WantedChunk>,
    distinct: usize,
    too_long: Vec<Pair>,
}

/// The chunks of one root that are not asked for yet, in the order in which they are asked for.
struct RootQueue {
    root: u16,
    chunks: std::vec::IntoIter<WantedChunk>,
}

/// One request: the choice, with the length of each chunk.
struct Portion {
    choice: FineChoice,
    lengths: HashMap<Tag, u32>,
}

/// The answer of a root to one request.
struct PortionAnswer {
    root: u16,
    portion: Portion,
    answer: Result<FineAnswer, FineFailure>,
}

/// Compares two contents by their features.
pub(super) fn compared(a: &[Feature], b: &[Feature]) -> ByChunks {
    let chunks = |features: &[Feature]| counted(features.iter().map(|feature| (feature.tag, feature.weight)));
    by_chunks(&chunks(a), &chunks(b))
}

/// Chunks in their order, each once.
pub(super) fn each_once(mut chunks: Vec<WantedChunk>) -> Vec<WantedChunk> {
    // A stable sort merges what is in order already.
    chunks.sort();
    chunks.dedup_by_key(|chunk| chunk.tag);
    chunks
}

/// True if what is left of a content has more bytes.
fn is_too_long(left: &[ChunkCount], bytes_max: u64) -> bool {
    let bytes = left.iter().map(|chunk| u64::from(chunk.count) * u64::from(chunk.length_bytes));
    bytes.fold(0, u64::saturating_add) > bytes_max
}

impl Task<'_> {
    /// The chunks that are left of any pair.
    pub(super) fn remaining_chunks(&self, pairs: &[Pair]) -> Result<RemainingChunks, Error> {
        let mut gathered =
            self.each_pair(pairs, ChunkCollector::default, &|gathered: &mut ChunkCollector, (a, b), of_a, of_b| {
                let left = compared(of_a, of_b).left;
                // If nothing is left of one of the two, they have nothing more in common.
                if left.iter().any(Vec::is_empty) {
                    return Ok(());
                }
                if left.iter().any(|left| is_too_long(left, LEFT_BYTES_MAX)) {
                    gathered.too_long.push((a, b));
                } else {
                    for (content, left) in [a, b].into_iter().zip(left) {
                        gathered.add(left.iter().map(|chunk| WantedChunk {
                            tag: chunk.tag,
                            content,
                            length_bytes: chunk.length_bytes,
                        }));
                    }
                }
                Ok(())
            })?;
        let too_long = gathered.iter_mut().flat_map(|gathered| std::mem::take(&mut gathered.too_long)).collect();
        let ascending: Vec<Vec<WantedChunk>> = std::thread::scope(|scope| {
            let sorting = gathered.into_iter().map(|gathered| scope.spawn(|| gathered.finish()));
            let sorting: Vec<_> = sorting.collect();
            sorting.into_iter().map(|sorted| sorted.join().expect("nothing there panics")).collect()
        });
        Ok(RemainingChunks { chunks: each_once(ascending.concat()), too_long: ascending_pairs(too_long) })
    }

    /// Has the chunks cut that no earlier scan has, and writes all of them down.
    pub(super) fn ask(
        &self,
        wanted: Vec<WantedChunk>,
        round: &FineRound<'_>,
        earlier: &[Expansions],
        writer: &mut ExpansionsWriter,
    ) -> Result<Vec<FineRoot>, Error> {
        let mut roots = vec![FineRoot::default(); self.subject.frozen.roots.len()];
        let mut queues = self.queues(wanted, earlier, writer, &mut roots)?;
        let mut answered = Vec::new();
        loop {
            let open = queues.iter_mut().filter(|queue| roots[usize::from(queue.root)].failure.is_none());
            let next = open.filter_map(|queue| Some((queue.root, self.next_portion(&mut queue.chunks)?))).collect();
            let threads = self.scan.spec.threads;
            // The sites cut the next portions while the last answers are checked and written.
            let (taken, answers) =
                side_by_side(threads, || take(answered, &mut roots, writer), || self.ask_once(next, round));
            taken?;
            answered = answers?;
            if answered.is_empty() {
                return Ok(roots);
            }
        }
    }

    /// Takes over the chunks that earlier scans have; the others are in the queue of the root of their first document.
    fn queues(
        &self,
        wanted: Vec<WantedChunk>,
        earlier: &[Expansions],
        writer: &mut ExpansionsWriter,
        roots: &mut [FineRoot],
    ) -> Result<Vec<RootQueue>, Error> {
        let mut of_root: Vec<Vec<WantedChunk>> = vec![Vec::new(); roots.len()];
        let mut of_earlier: Vec<Vec<Tag>> = vec![Vec::new(); earlier.len()];
        for chunk in wanted {
            let root = self.root_of(chunk.content);
            roots[usize::from(root)].chunks += 1;
            match earlier.iter().position(|earlier| earlier.contains(&chunk.tag)) {
                Some(place) => {
                    of_earlier[place].push(chunk.tag);
                    roots[usize::from(root)].expanded_chunks += 1;
                }
                None => of_root[usize::from(root)].push(chunk),
            }
        }
        earlier.iter().zip(of_earlier).try_for_each(|(earlier, tags)| writer.take_over(earlier, tags))?;
        let queue = |(root, chunks)| RootQueue { root, chunks: self.by_documents(chunks).into_iter() };
        Ok((0..).zip(of_root).map(queue).collect())
    }

    /// Asks for one portion of each root at the same time. Returns the portions with the answers.
    fn ask_once(&self, portions: Vec<(u16, Portion)>, round: &FineRound<'_>) -> Result<Vec<PortionAnswer>, Error> {
        if self.scan.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if portions.is_empty() {
            return Ok(Vec::new());
        }
        let method = &self.scan.spec.layers[self.layer].method;
        let request = |(root, portion): &(u16, Portion)| {
            let place = &self.subject.frozen.roots[usize::from(*root)];
            FineRequest {
                site: place.site.clone(),
                repository: place.repository.clone(),
                method: *method,
                method_id: round.method_id,
                choice: portion.choice.clone(),
            }
        };
        let answers = round.source.ask(portions.iter().map(request).collect());
        let answered = portions.into_iter().zip(answers);
        Ok(answered.map(|((root, portion), answer)| PortionAnswer { root, portion, answer }).collect())
    }

    /// The root of the first document with a content.
    fn root_of(&self, content: u32) -> u16 {
        let copies = self.subject.copies.of_content(index(content as usize));
        self.subject.frozen.root_of(copies[0])
    }

    /// The chunks by the first documents of their contents: what is inside of one file, which is read as a whole, comes together.
    fn by_documents(&self, mut chunks: Vec<WantedChunk>) -> Vec<WantedChunk> {
        let first_document = |content: u32| self.subject.copies.of_content(index(content as usize))[0];
        chunks.sort_by_cached_key(|chunk| (first_document(chunk.content), chunk.content, chunk.tag));
        chunks
    }

    /// The next request, of bounded size. A content with very many chunks is in several of them.
    fn next_portion(&self, chunks: &mut std::vec::IntoIter<WantedChunk>) -> Option<Portion> {
        let part: Vec<WantedChunk> = chunks.take(PORTION_CHUNKS).collect();
        (!part.is_empty()).then(|| self.portion(&part))
    }

    fn portion(&self, chunks: &[WantedChunk]) -> Portion {
        let frozen = self.subject.frozen;
        let of_content = |chunks: &[WantedChunk]| {
            (
                frozen.digest_at_site(&frozen.contents[chunks[0].content as usize]),
                chunks.iter().map(|chunk| chunk.tag).collect(),
            )
        };
        let choice = FineChoice { contents: chunks.chunk_by(|a, b| a.content == b.content).map(of_content).collect() };
        Portion { choice, lengths: chunks.iter().map(|chunk| (chunk.tag, chunk.length_bytes)).collect() }
    }
}

/// Checks answers and writes down what they have. A root that has failed already, by an answer that came before, gives no more.
fn take(answered: Vec<PortionAnswer>, roots: &mut [FineRoot], writer: &mut ExpansionsWriter) -> Result<(), Error> {
    for PortionAnswer { root, portion, answer } in answered {
        let root = &mut roots[usize::from(root)];
        if root.failure.is_some() {
            continue;
        }
        match answer {
            Err(failure) => root.failure = Some(failure),
            Ok(answer) if !portion.fits(&answer.expansions) => {
                root.failure = Some(FineFailure::passing("its fine chunks do not add up to its chunks"));
            }
            Ok(answer) => {
                root.expanded_chunks += answer.expansions.len() as u64;
                root.changed_contents = root.changed_contents.saturating_add(answer.changed_contents);
                root.read_bytes = root.read_bytes.saturating_add(answer.read_bytes);
                root.sent_bytes = root.sent_bytes.saturating_add(answer.sent_bytes);
                answer.expansions.iter().try_for_each(|expansion| writer.push(expansion))?;
            }
        }
    }
    Ok(())
}

impl Portion {
    /// True if every expansion is of a chunk of this portion and as long as the chunk.
    fn fits(&self, expansions: &[Expansion]) -> bool {
        expansions.iter().all(|expansion| {
            let length: u32 = expansion.fine.iter().map(|fine| u32::from(fine.length_bytes)).sum();
            self.lengths.get(&expansion.tag) == Some(&length)
        })
    }
}

impl ChunkCollector {
    fn add(&mut self, chunks: impl Iterator<Item = WantedChunk>) {
        self.chunks.extend(chunks);
        if self.chunks.len() > 1 << 16 && self.chunks.len() > 2 * self.distinct {
            self.sort();
        }
    }

    /// The chunks, ascending, each once.
    fn finish(mut self) -> Vec<WantedChunk> {
        self.sort();
        self.chunks
    }

    fn sort(&mut self) {
        self.chunks.sort_unstable();
        self.chunks.dedup_by_key(|chunk| chunk.tag);
        self.distinct = self.chunks.len();
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::FineChunk;

    use super::*;

    /// The answer of a root about one chunk of 21 bytes: the lengths of its fine chunks.
    fn answered(root: u16, number: u8, lengths: &[u8]) -> PortionAnswer {
        let tag = Tag([number; 16]);
        let fine = lengths.iter().map(|length| FineChunk { tag: number, length_bytes: *length }).collect();
        let answer = FineAnswer { expansions: vec![Expansion { tag, fine }], read_bytes: 100, ..FineAnswer::default() };
        let portion =
            Portion { choice: FineChoice { contents: Vec::new() }, lengths: [(tag, 21)].into_iter().collect() };
        PortionAnswer { root, portion, answer: Ok(answer) }
    }

    #[test]
    fn a_pair_is_left_out_if_the_rest_of_one_of_the_two_is_too_long() {
        let left = |counts: &[(u32, u32)]| -> Vec<ChunkCount> {
            let chunk = |&(length_bytes, count): &(u32, u32)| ChunkCount { tag: Tag([1; 16]), length_bytes, count };
            counts.iter().map(chunk).collect()
        };
        assert!(!is_too_long(&left(&[(1000, 3), (500, 1)]), 3500));
        assert!(is_too_long(&left(&[(1000, 3), (501, 1)]), 3500));
        assert!(is_too_long(&left(&[(u32::MAX, u32::MAX); 3]), LEFT_BYTES_MAX));
    }

    #[test]
    fn a_root_that_has_failed_gives_no_more_though_it_was_asked_already_and_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ExpansionsWriter::create(&folder.path().join("fine")).unwrap();
        let mut roots = vec![FineRoot::default(); 2];
        take(vec![answered(0, 1, &[7, 7, 7]), answered(1, 2, &[7, 7, 7])], &mut roots, &mut writer).unwrap();
        take(vec![answered(0, 3, &[7, 7]), answered(1, 4, &[16, 5])], &mut roots, &mut writer).unwrap();
        take(vec![answered(0, 5, &[7, 7, 7]), answered(1, 6, &[7, 14])], &mut roots, &mut writer).unwrap();
        let expansions = writer.finish(false).unwrap();
        let there: Vec<u8> = (1..=6).filter(|number| expansions.contains(&Tag([*number; 16]))).collect();
        assert_eq!(there, [1, 2, 4, 6]);
        assert!(roots[0].failure.is_some() && roots[1].failure.is_none());
        assert_eq!(
            roots.iter().map(|root| (root.expanded_chunks, root.read_bytes)).collect::<Vec<_>>(),
            [(1, 100), (3, 300)]
        );
    }
}
