//! Pairs of contents, looked at one by one: their features are read from the runs, of as many contents at a time as fit the memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use cognate_fingerprint::Feature;
use cognate_similarity::{Error as EngineError, Shards as _};

use crate::compare::Task;
use crate::content_numbers::ContentNumbers;
use crate::error::Error;
use crate::readings::{Reading, readings};

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
    /// Looks at every pair once, in no order; returns what each thread made of its pairs, reading by reading.
    pub(crate) fn each_pair<S: Send>(
        &self,
        pairs: &[(u32, u32)],
        begin: impl Fn() -> S + Sync,
        step: &Step<'_, S>,
    ) -> Result<Vec<S>, Error> {
        let features_max = self.scan.spec.memory_budget_bytes / FEATURE_BYTES;
        let features_of = |content: u32| self.subject.frozen.contents[content as usize].chunk_count;
        let mut all = Vec::new();
        for Reading { contents, pairs } in readings(pairs, features_max, features_of) {
            let held = FeatureBlock::read(self, contents)?;
            let look_at = |made: &mut S, pair: &(u32, u32)| step(made, *pair, held.of(pair.0), held.of(pair.1));
            all.extend(self.on_threads(&pairs, &begin, &look_at)?);
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
            let held = FeatureBlock::read(self, ascending)?;
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

/// The features of some contents.
struct FeatureBlock {
    contents: ContentNumbers,
    features: Vec<Vec<Feature>>,
}

impl FeatureBlock {
    /// Reads the features of contents, which ascend, several shards at the same time. The features of a content
    /// ascend by tag in the end.
    fn read(task: &Task<'_>, contents: Vec<u32>) -> Result<FeatureBlock, Error> {
        let frozen = task.subject.frozen;
        let contents = ContentNumbers::of(contents);
        let mut features: Vec<Vec<Feature>> = vec![Vec::new(); contents.all.len()];
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
                    let chunks = frozen.contents[contents.all[place] as usize].chunk_count;
                    of_content.reserve_exact(usize::try_from(chunks).unwrap_or_default().min(FEATURES_FORESEEN_MAX));
                }
                of_content.push(feature);
            }
        }
        // They ascend by shard and, in a shard, by run; but a content that came in parts may be in several runs.
        for of_content in features.iter_mut().filter(|features| !features.is_sorted_by_key(|feature| feature.tag)) {
            of_content.sort_by_key(|feature| feature.tag);
        }
        Ok(FeatureBlock { contents, features })
    }

    /// Those of one of them: templates apart and ascending by tag.
    fn of(&self, content: u32) -> &[Feature] {
        self.contents.place(content).map_or(&[], |place| &self.features[place])
    }
}
