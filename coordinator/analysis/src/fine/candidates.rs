//! The pairs that are measured by fine chunks.
//!
//! A pair is a candidate if it is a link by whole chunks; if it shares chunks which at most [`NEAR_HOLDERS_MAX`] contents
//! have, and these come to a tenth of the containment threshold; or if its documents are at the same place in two
//! repositories (by their paths, or by the alignment that copies and coarse links give), or have the same name, which at most [`NAME_DOCUMENTS_MAX`] documents of each repository have. Links and near
//! pairs are taken by the bytes that they share, falling, as long as one of the two contents has fewer than
//! [`CANDIDATES_MAX`] of them; those beyond keep the figures of whole chunks.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cognate_similarity::fine::pairs_of_rare_chunks;
use cognate_similarity::{Error as EngineError, Link, LinkFile, LinksOptions, Shards as _, SortedLinks, SpillFolder};

use super::sample::Sampling;
use crate::alignment::{Alignment, counterparts};
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// The most candidates of a content by the bytes that they share. Those by name come on top.
const CANDIDATES_MAX: u32 = 8;
/// The most contents of a chunk that proposes pairs: a chunk that more contents have is boilerplate.
const NEAR_HOLDERS_MAX: usize = 16;
/// The most documents of a repository with a name that proposes pairs.
const NAME_DOCUMENTS_MAX: usize = 4;
/// The most documents with one path.
const PATH_DOCUMENTS_MAX: usize = 16;
/// The share of the threshold that near pairs reach: one in so many.
const NEAR_SHARE: u64 = 10;
/// Pairs that are handed over to be sorted at a time.
const LINKS_PER_GROUP: usize = 4096;

/// The candidates of a layer.
pub(super) struct Candidates {
    /// By (a, b), each once.
    pub(super) pairs: Vec<(u32, u32)>,
    /// Pairs that are left out, because their contents have too many.
    pub(super) omitted: u64,
}

impl Task<'_> {
    /// Finds the candidates, and shows the pairs of which a sample is drawn.
    pub(super) fn fine_candidates(
        &self,
        coarse: &LinkFile,
        alignment: &Alignment,
        sampling: &mut Sampling<'_>,
    ) -> Result<Candidates, Error> {
        let weight = |content: u32| self.subject.frozen.contents[content as usize].weight;
        let mut all: Vec<Link> = Vec::new();
        coarse.for_each(|link| all.push(*link))?;
        let links = all.len();
        self.each_near_pair(&mut |link| all.push(link))?;
        all.iter().for_each(|link| sampling.add(link.a.0, link.b.0));
        // Links come first among equals: they are the pairs that people read.
        all[..links].sort_unstable_by_key(strongest_first);
        all[links..].sort_unstable_by_key(strongest_first);
        let mut taken = vec![0_u32; self.subject.frozen.contents.len()];
        let (mut pairs, mut omitted) = (Vec::new(), 0);
        for link in &all {
            let (a, b) = (link.a.0, link.b.0);
            // Nothing is left of either.
            if link.shared_bytes >= weight(a) && link.shared_bytes >= weight(b) {
                continue;
            }
            if taken[a as usize].min(taken[b as usize]) >= CANDIDATES_MAX {
                omitted += 1;
                continue;
            }
            taken[a as usize] += 1;
            taken[b as usize] += 1;
            pairs.push((a, b));
        }
        drop(all);
        let at_places = self.pairs_at_places(alignment);
        if sampling.takes_places() {
            at_places.iter().for_each(|(a, b)| sampling.add(*a, *b));
        }
        pairs.extend(at_places);
        pairs.sort_unstable();
        pairs.dedup();
        Ok(Candidates { pairs, omitted })
    }

    /// Pairs whose documents are at one place, or have one rare name.
    pub(super) fn pairs_at_places(&self, alignment: &Alignment) -> Vec<(u32, u32)> {
        let mut pairs = named_pairs(self.subject);
        pairs.extend(aligned_pairs(self.subject, alignment));
        pairs
    }

    /// Hands over the pairs that share enough in chunks of few contents, whether they are links or not.
    pub(super) fn each_near_pair(&self, each: &mut (dyn FnMut(Link) + Send)) -> Result<(), Error> {
        let spill = SpillFolder::new(self.spill_dir);
        let options = self.options();
        let sorted = SortedLinks::new(
            &spill,
            &LinksOptions {
                contents: self.subject.frozen.contents.len(),
                memory_budget_bytes: options.memory_budget_bytes,
                threads: options.threads.get(),
            },
        );
        self.collect_rare(&sorted)?;
        let mut last: Option<Link> = None;
        sorted.drain_in_order(options.threads, &mut |part| {
            for link in part {
                match &mut last {
                    Some(last) if (last.a, last.b) == (link.a, link.b) => last.shared_bytes += link.shared_bytes,
                    _ => {
                        last.take().filter(|last| self.is_near(last)).into_iter().for_each(&mut *each);
                        last = Some(*link);
                    }
                }
            }
            Ok(())
        })?;
        last.filter(|last| self.is_near(last)).into_iter().for_each(each);
        Ok(())
    }

    fn collect_rare(&self, sorted: &SortedLinks<'_>) -> Result<(), Error> {
        let shards = &self.subject.frozen.shards;
        let next = AtomicU32::new(0);
        let failure: Mutex<Option<EngineError>> = Mutex::default();
        let work = || -> Result<(), EngineError> {
            let mut group = Vec::with_capacity(LINKS_PER_GROUP);
            loop {
                let shard = next.fetch_add(1, Ordering::Relaxed);
                if shard >= shards.shard_count() || self.scan.cancelled.load(Ordering::Relaxed) {
                    return sorted.add(&group);
                }
                pairs_of_rare_chunks(shards, shard, NEAR_HOLDERS_MAX, &mut |link| {
                    if crosses(self.subject, link.a.0, link.b.0) {
                        group.push(link);
                    }
                    if group.len() < LINKS_PER_GROUP {
                        return Ok(());
                    }
                    sorted.add(&group)?;
                    group.clear();
                    Ok(())
                })?;
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.scan.spec.threads.get() {
                scope.spawn(|| {
                    if let Err(error) = work() {
                        failure.lock().expect("nothing panics while it is held").get_or_insert(error);
                    }
                });
            }
        });
        if self.scan.cancelled.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let failure = failure.into_inner().expect("nothing panicked while it was held");
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    /// True if a pair shares a tenth of what would make it a link by containment.
    fn is_near(&self, link: &Link) -> bool {
        let contents = &self.subject.frozen.contents;
        let smaller = contents[link.a.0 as usize].weight.min(contents[link.b.0 as usize].weight);
        let containment = self.scan.spec.layers[self.layer].thresholds.min_containment;
        containment.is_reached_by(link.shared_bytes.saturating_mul(NEAR_SHARE), smaller)
    }
}

fn strongest_first(link: &Link) -> (std::cmp::Reverse<u64>, u32, u32) {
    (std::cmp::Reverse(link.shared_bytes), link.a.0, link.b.0)
}

/// True if a link between the two would count.
fn crosses(subject: &Subject<'_>, a: u32, b: u32) -> bool {
    if !subject.across_only {
        return true;
    }
    let home = |content: u32| subject.home(content as usize);
    match (home(a), home(b)) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    }
}

/// Pairs of contents whose documents are at one place by an alignment of two repositories, as far as their paths differ.
fn aligned_pairs(subject: &Subject<'_>, alignment: &Alignment) -> Vec<(u32, u32)> {
    let found = if alignment.is_empty() { None } else { counterparts(subject.frozen, alignment) };
    let is_compared = |content: u32| {
        let content = &subject.frozen.contents[content as usize];
        content.weight > 0 && !content.spoken_for
    };
    let content = |place: usize| subject.frozen.documents[place].content.0;
    let places = found.into_iter().flatten().enumerate();
    let pairs = places.filter_map(|(place, other)| Some((content(place), content(other? as usize))));
    pairs.filter(|(a, b)| a < b && is_compared(*a) && is_compared(*b) && crosses(subject, *a, *b)).collect()
}

/// Pairs of contents whose documents have one path, or one rare name, in two repositories.
fn named_pairs(subject: &Subject<'_>) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    if subject.frozen.roots.len() < 2 {
        return pairs;
    }
    let mut of_path: HashMap<&[u8], Vec<(u16, u32)>> = HashMap::new();
    let mut of_name: HashMap<&[u8], Vec<(u16, u32)>> = HashMap::new();
    for document in &subject.frozen.documents {
        let content = &subject.frozen.contents[document.content.0 as usize];
        if content.weight == 0 || content.spoken_for {
            continue;
        }
        let path = document.path.as_bytes();
        let place = (document.root, document.content.0);
        of_path.entry(path).or_default().push(place);
        of_name.entry(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)).or_default().push(place);
    }
    let is_rare = |places: &[(u16, u32)]| {
        let of_one_root = places.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max();
        of_one_root.is_some_and(|most| most <= NAME_DOCUMENTS_MAX) && places.len() <= PATH_DOCUMENTS_MAX
    };
    let paths = of_path.into_values();
    let names = of_name.into_values().filter(|places| is_rare(places));
    for places in paths.chain(names) {
        let places = &places[..places.len().min(PATH_DOCUMENTS_MAX)];
        for (number, (root, content)) in places.iter().enumerate() {
            let others = places[number + 1..].iter().filter(|(other, _)| other != root);
            for (_, other) in others.filter(|(_, other)| other != content) {
                let pair = (*content.min(other), *content.max(other));
                pairs.extend(crosses(subject, pair.0, pair.1).then_some(pair));
            }
        }
    }
    pairs
}
