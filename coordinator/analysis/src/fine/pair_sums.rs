//! Pairs that several threads find part by part, put in order through spill files, with the sum of what was found for each.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cognate_similarity::{Error as EngineError, Link, LinksOptions, SortedLinks, SpillFolder};

use super::pair::crosses;
use crate::compare::Task;
use crate::error::Error;

/// Pairs that are handed over to be sorted at a time.
const LINKS_PER_GROUP: usize = 4096;

/// Finds the pairs of one part, and hands them over one by one.
pub(super) type FindPairs<'a> =
    dyn Fn(u32, &mut dyn FnMut(Link) -> Result<(), EngineError>) -> Result<(), EngineError> + Sync + 'a;

impl Task<'_> {
    /// The pairs of all parts that would count as links.
    pub(super) fn pair_sums<'s>(
        &self,
        spill: &'s SpillFolder,
        parts: u32,
        find: &FindPairs<'_>,
    ) -> Result<SortedLinks<'s>, Error> {
        let options = self.options();
        let sorted = SortedLinks::new(
            spill,
            &LinksOptions {
                contents: self.subject.frozen.contents.len(),
                memory_budget_bytes: options.memory_budget_bytes,
                threads: options.threads.get(),
            },
        );
        let next = AtomicU32::new(0);
        let failure: Mutex<Option<EngineError>> = Mutex::default();
        let work = || -> Result<(), EngineError> {
            let mut group = Vec::with_capacity(LINKS_PER_GROUP);
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts || self.scan.cancelled.load(Ordering::Relaxed) {
                    return sorted.add(&group);
                }
                find(part, &mut |link| {
                    if crosses(self.subject, (link.a.0, link.b.0)) {
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
        failure.map_or(Ok(sorted), |error| Err(error.into()))
    }

    /// Has all threads look at every pair once, with the sum of what was found for it, and hands over what they make of the pairs, in no
    /// order.
    pub(super) fn each_pair_sum<T: Send>(
        &self,
        sorted: &SortedLinks<'_>,
        look: &(impl Fn(Link) -> Option<T> + Sync),
        take: impl FnMut(T) + Send,
    ) -> Result<(), Error> {
        let take = Mutex::new(take);
        // All that was found for a pair is in one part.
        sorted.drain(self.options().threads, &|_, part| {
            let same = part.chunk_by(|one, other| (one.a, one.b) == (other.a, other.b));
            let sum = |same: &[Link]| Link { shared_bytes: same.iter().map(|link| link.shared_bytes).sum(), ..same[0] };
            let mut made = same.filter_map(|same| look(sum(same)));
            loop {
                let group: Vec<T> = made.by_ref().take(LINKS_PER_GROUP).collect();
                if group.is_empty() {
                    return Ok(());
                }
                group.into_iter().for_each(&mut *take.lock().expect("nothing panics while it is held"));
            }
        })?;
        Ok(())
    }
}
