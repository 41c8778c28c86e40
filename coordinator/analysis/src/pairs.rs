//! Pairs of contents, looked at one by one: their features are read from the runs, in blocks of contents of which two fit the
//! memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use cognate_fingerprint::Feature;
use cognate_similarity::{Error as EngineError, Shards as _};

use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// Things that a thread takes at a time, at most.
const THINGS_PER_PART_MAX: usize = 64;
/// Parts for each thread, at least: some things take a thousand times as long as others.
const PARTS_PER_THREAD: usize = 16;
/// Shards that a thread reads before what all of them have found is put together: as much is held twice for that long.
const SHARDS_PER_THREAD: usize = 4;
/// Features for which a content gets room at once.
const FEATURES_FORESEEN_MAX: usize = 1 << 10;
/// Size of a feature in memory.
const FEATURE_BYTES: u64 = 20;

/// One step: takes a pair and the features of both, templates apart and ascending by tag, into what a thread has so far.
pub(crate) type Step<'a, S> = dyn Fn(&mut S, (u32, u32), &[Feature], &[Feature]) -> Result<(), Error> + Sync + 'a;

/// The same with one content.
pub(crate) type ContentStep<'a> = dyn FnMut(u32, &[Feature]) -> Result<(), Error> + 'a;

impl Task<'_> {
    /// Looks at every pair once, in no order; returns what each thread made of its pairs, block by block.
    pub(crate) fn each_pair<S: Send>(
        &self,
        pairs: &[(u32, u32)],
        begin: impl Fn() -> S + Sync,
        step: &Step<'_, S>,
    ) -> Result<Vec<S>, Error> {
        let blocks = Blocks::of(self.subject, pairs, self.scan.spec.memory_budget_bytes);
        let mut all = Vec::new();
        for first in 0..blocks.count() {
            for second in first..blocks.count() {
                let is_of_both = |(a, b): &&(u32, u32)| {
                    let (a, b) = (blocks.of_content(*a), blocks.of_content(*b));
                    (a.min(b), a.max(b)) == (first, second)
                };
                let of_both: Vec<(u32, u32)> = pairs.iter().filter(is_of_both).copied().collect();
                if !of_both.is_empty() {
                    let held = Held::read(self, blocks.contents([first, second]))?;
                    let look_at = |made: &mut S, pair: &(u32, u32)| step(made, *pair, held.of(pair.0), held.of(pair.1));
                    all.extend(self.on_threads(&of_both, &begin, &look_at)?);
                }
            }
        }
        Ok(all)
    }

    /// Looks at contents one by one, in this order, with the features of each: templates apart and ascending by tag. They are read from the
    /// runs in blocks of contents that fit the memory.
    pub(crate) fn each_content(&self, contents: &[u32], step: &mut ContentStep<'_>) -> Result<(), Error> {
        let features_max = self.scan.spec.memory_budget_bytes / FEATURE_BYTES;
        let mut rest = contents;
        while !rest.is_empty() {
            let mut features = 0;
            let fits = |content: &&u32| {
                features += self.subject.frozen.contents[**content as usize].chunk_count;
                features <= features_max
            };
            let (block, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let mut ascending = block.to_vec();
            ascending.sort_unstable();
            let held = Held::read(self, ascending)?;
            for content in block {
                if self.scan.cancelled.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                step(*content, held.of(*content))?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Does a step for each of many things, in no order; returns what each thread made.
    pub(crate) fn on_threads<T: Sync, S: Send>(
        &self,
        things: &[T],
        begin: &(impl Fn() -> S + Sync),
        step: &(impl Fn(&mut S, &T) -> Result<(), Error> + Sync),
    ) -> Result<Vec<S>, Error> {
        let cancelled = &self.scan.cancelled;
        let next = AtomicUsize::new(0);
        let threads = self.scan.spec.threads.get();
        let per_part = (things.len() / (threads * PARTS_PER_THREAD)).clamp(1, THINGS_PER_PART_MAX);
        let made: Result<Vec<S>, Error> = std::thread::scope(|scope| {
            let look_at = || {
                let mut made = begin();
                loop {
                    let part = things.chunks(per_part).nth(next.fetch_add(1, Ordering::Relaxed));
                    let Some(part) = part.filter(|_| !cancelled.load(Ordering::Relaxed)) else { return Ok(made) };
                    part.iter().try_for_each(|thing| step(&mut made, thing))?;
                }
            };
            let working: Vec<_> = (0..threads).map(|_| scope.spawn(look_at)).collect();
            working.into_iter().map(|part| part.join().expect("nothing there panics")).collect()
        });
        if cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { made }
    }
}

/// The contents of candidates, in blocks of which two fit the memory.
struct Blocks {
    contents: Numbered,
    /// Start of each block among `contents`, and the end.
    starts: Vec<usize>,
}

/// The features of some contents.
struct Held {
    contents: Numbered,
    features: Vec<Vec<Feature>>,
}

/// Some contents, and the place of each among them: a bit for each content up to the last, and the number of bits before each word.
struct Numbered {
    /// Ascending.
    contents: Vec<u32>,
    words: Vec<u64>,
    before: Vec<u32>,
}

impl Numbered {
    /// The contents ascend.
    fn of(contents: Vec<u32>) -> Numbered {
        let mut words = vec![0_u64; contents.last().map_or(0, |last| *last as usize / 64 + 1)];
        for content in &contents {
            words[*content as usize / 64] |= 1 << (content % 64);
        }
        let mut before = Vec::with_capacity(words.len());
        words.iter().fold(0, |count, word| {
            before.push(count);
            count + word.count_ones()
        });
        Numbered { contents, words, before }
    }

    fn place(&self, content: u32) -> Option<usize> {
        let word = self.words.get(content as usize / 64)?;
        let bit = 1 << (content % 64);
        let place = || (self.before[content as usize / 64] + (word & (bit - 1)).count_ones()) as usize;
        (word & bit != 0).then(place)
    }
}

impl Blocks {
    fn of(subject: &Subject<'_>, candidates: &[(u32, u32)], memory_budget_bytes: u64) -> Blocks {
        let mut contents: Vec<u32> = candidates.iter().flat_map(|(a, b)| [*a, *b]).collect();
        contents.sort_unstable();
        contents.dedup();
        let features_max = memory_budget_bytes / FEATURE_BYTES / 2;
        let (mut starts, mut features) = (vec![0], 0);
        for (place, content) in contents.iter().enumerate() {
            let own = subject.frozen.contents[*content as usize].chunk_count;
            if features > 0 && features + own > features_max {
                starts.push(place);
                features = 0;
            }
            features += own;
        }
        starts.push(contents.len());
        Blocks { contents: Numbered::of(contents), starts }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn of_content(&self, content: u32) -> usize {
        let place = self.contents.place(content).unwrap_or_default();
        self.starts.partition_point(|start| *start <= place) - 1
    }

    /// The contents of two blocks, which may be one.
    fn contents(&self, blocks: [usize; 2]) -> Vec<u32> {
        let of = |block: usize| &self.contents.contents[self.starts[block]..self.starts[block + 1]];
        let mut contents = of(blocks[0]).to_vec();
        if blocks[0] != blocks[1] {
            contents.extend_from_slice(of(blocks[1]));
        }
        contents
    }
}

impl Held {
    /// Reads the features of contents, which ascend, several shards at the same time. The features of a content
    /// ascend by tag in the end.
    fn read(task: &Task<'_>, contents: Vec<u32>) -> Result<Held, Error> {
        let frozen = task.subject.frozen;
        let contents = Numbered::of(contents);
        let mut features: Vec<Vec<Feature>> = vec![Vec::new(); contents.contents.len()];
        let read = |found: &mut Vec<(u32, Vec<(usize, Feature)>)>, shard: &u32| {
            let mut of_shard = Vec::new();
            frozen.shards.visit_runs(*shard, &mut |posting| {
                if let Some(place) = contents.place(posting.content.0).filter(|_| !posting.template) {
                    of_shard.push((place, Feature { tag: posting.tag, weight: posting.length_bytes }));
                }
                Ok::<(), EngineError>(())
            })?;
            found.push((*shard, of_shard));
            Ok(())
        };
        let shards: Vec<u32> = (0..frozen.shards.shard_count()).collect();
        for some in shards.chunks(task.scan.spec.threads.get() * SHARDS_PER_THREAD) {
            let mut found: Vec<_> = task.on_threads(some, &Vec::new, &read)?.into_iter().flatten().collect();
            found.sort_unstable_by_key(|(shard, _)| *shard);
            for (place, feature) in found.into_iter().flat_map(|(_, of_shard)| of_shard) {
                let of_content = &mut features[place];
                if of_content.is_empty() {
                    let chunks = frozen.contents[contents.contents[place] as usize].chunk_count;
                    of_content.reserve_exact(usize::try_from(chunks).unwrap_or_default().min(FEATURES_FORESEEN_MAX));
                }
                of_content.push(feature);
            }
        }
        // They ascend by shard and, in a shard, by run; but a content that came in parts may be in several runs.
        for of_content in features.iter_mut().filter(|features| !features.is_sorted_by_key(|feature| feature.tag)) {
            of_content.sort_by_key(|feature| feature.tag);
        }
        Ok(Held { contents, features })
    }

    /// Those of one of them: templates apart and ascending by tag.
    fn of(&self, content: u32) -> &[Feature] {
        self.contents.place(content).map_or(&[], |place| &self.features[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_content_is_its_place_in_the_list_and_others_have_none() {
        for step in [1, 2, 63, 64, 65, 1000] {
            let contents: Vec<u32> = (3..5000).step_by(step).collect();
            let numbered = Numbered::of(contents.clone());
            for content in 0..5200 {
                assert_eq!(numbered.place(content), contents.binary_search(&content).ok(), "{content}, every {step}th");
            }
        }
        assert_eq!(Numbered::of(Vec::new()).place(0), None);
    }
}
