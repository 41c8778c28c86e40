//! Links of an analysis in order, however many: gathered by ranges of contents, sorted range by range.
//!
//! The number of links can grow with the square of the contents where all are wanted ([`crate::find_links`]), so they go
//! through spill files and come back a part at a time. An analysis reports only linearly many of them; see
//! [`crate::analyse_with_links`].

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::Error;
use crate::link::Link;
use crate::posting::ContentIndex;
use crate::spill::{Buckets, BucketsOptions, SpillFolder};
use crate::workers::share_out;

/// Ranges of contents.
const RANGES: usize = 256;

/// Options of sorting links.
#[derive(Clone, Copy, Debug)]
pub struct LinksOptions {
    /// Number of contents.
    pub contents: usize,
    /// The memory budget of the analysis that finds the links. They take a quarter of it, up to three eighths while
    /// small ranges pile up, and another quarter when they are read; the analysis leaves as much free while it finds
    /// links.
    pub memory_budget_bytes: u64,
    /// Threads that write at the same time.
    pub threads: usize,
}

/// Callback that receives sorted links, with the number of the first.
pub type VisitLinks<'a> = dyn Fn(u64, &[Link]) -> Result<(), Error> + Sync + 'a;

/// Lets one thread at a time visit its links, in order.
struct Gate<'v> {
    /// The number of the link that is visited next.
    next: u64,
    failure: Option<Error>,
    visit: &'v mut (dyn FnMut(&[Link]) -> Result<(), Error> + Send),
}

/// Links that are being sorted.
pub struct SortedLinks<'s> {
    buckets: Buckets<'s, Link>,
    contents: usize,
    contents_per_range: usize,
    links_per_part: u64,
}

impl<'s> SortedLinks<'s> {
    /// Makes an empty set.
    pub fn new(folder: &'s SpillFolder, options: &LinksOptions) -> SortedLinks<'s> {
        let count = RANGES.min(options.contents.max(1));
        SortedLinks {
            buckets: Buckets::new(
                folder,
                &BucketsOptions {
                    name: "links",
                    count,
                    memory_bytes_max: options.memory_budget_bytes / 4,
                    writers: options.threads,
                },
            ),
            contents: options.contents,
            contents_per_range: options.contents.div_ceil(count).max(1),
            links_per_part: (options.memory_budget_bytes / 4 / Link::BYTES as u64).max(1),
        }
    }

    /// Adds links; several threads may do so at once, each with some thousand links at a time.
    ///
    /// # Errors
    ///
    /// If the spill folder fails.
    pub fn add(&self, links: &[Link]) -> Result<(), Error> {
        // A counting sort by ranges.
        let range = |link: &Link| link.a.at() / self.contents_per_range;
        let mut starts = vec![0usize; self.buckets.count() + 1];
        links.iter().for_each(|link| starts[range(link) + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let (mut ends, mut sorted) = (starts.clone(), links.to_vec());
        for link in links {
            let end = &mut ends[range(link)];
            sorted[*end] = *link;
            *end += 1;
        }
        let ranges = starts.windows(2).enumerate();
        ranges.into_iter().try_for_each(|(range, ends)| self.buckets.append(range, &sorted[ends[0]..ends[1]]))
    }

    /// Visits all links, a part of them at a time, and removes them.
    ///
    /// Parts are sorted by (a, b), and so are the links of all parts by the number of the first link of each, which
    /// comes with it. As many threads visit parts at the same time, in no order.
    ///
    /// # Errors
    ///
    /// If a spill file is damaged or cannot be read, and whatever `visit` returns.
    pub fn drain(&self, threads: NonZeroUsize, visit: &VisitLinks<'_>) -> Result<(), Error> {
        let firsts = self.firsts();
        share_out(threads, self.buckets.count(), Vec::new, |part, range| {
            self.drain_range(range, firsts[range], threads, part, visit)
        })?;
        Ok(())
    }

    fn drain_range(
        &self,
        range: usize,
        mut number: u64,
        threads: NonZeroUsize,
        part: &mut Vec<Link>,
        visit: &VisitLinks<'_>,
    ) -> Result<(), Error> {
        let from = (range * self.contents_per_range).min(self.contents);
        let end = (from + self.contents_per_range).min(self.contents);
        for (from, to) in self.parts(range, from, end, threads)? {
            self.sort_part(range, from, to, part)?;
            if !part.is_empty() {
                visit(number, part)?;
            }
            number += part.len() as u64;
        }
        self.buckets.clear(range)
    }

    fn firsts(&self) -> Vec<u64> {
        let mut firsts = vec![0];
        for range in 0..self.buckets.count() {
            firsts.push(firsts[range] + self.buckets.rows(range));
        }
        firsts
    }

    /// Visits all links by (a, b), a part of them at a time, and removes them; threads sort parts while others wait for
    /// their turn.
    ///
    /// # Errors
    ///
    /// As [`drain`](SortedLinks::drain).
    pub fn drain_in_order(
        &self,
        threads: NonZeroUsize,
        visit: &mut (dyn FnMut(&[Link]) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let gate = Mutex::new(Gate { next: 0, failure: None, visit });
        let turned = Condvar::new();
        let lock = || gate.lock().unwrap_or_else(PoisonError::into_inner);
        // Ranges are handed out in order, so that the thread with the first of them never waits.
        let in_turn = |number: u64, part: &[Link]| {
            let turn = turned.wait_while(lock(), |gate| gate.next != number && gate.failure.is_none());
            let mut gate = turn.unwrap_or_else(PoisonError::into_inner);
            if gate.failure.is_some() {
                return Err(Error::Cancelled);
            }
            (gate.visit)(part)?;
            gate.next += part.len() as u64;
            turned.notify_all();
            Ok(())
        };
        let firsts = self.firsts();
        let drained = share_out(threads, self.buckets.count(), Vec::new, |part, range| {
            let drained = self.drain_range(range, firsts[range], threads, part, &in_turn);
            drained.map_err(|error| {
                // Threads that wait for the next turn must wake up and end.
                lock().failure.get_or_insert(error);
                turned.notify_all();
                Error::Cancelled
            })
        });
        match lock().failure.take() {
            Some(error) => Err(error),
            None => drained.map(drop),
        }
    }

    /// Sorts the links of some contents of a range: counted into place by the first content, then by the second.
    fn sort_part(&self, range: usize, from: usize, to: usize, part: &mut Vec<Link>) -> Result<(), Error> {
        let mut ends = vec![0usize; to - from + 1];
        let is_in = |link: &&Link| (from..to).contains(&link.a.at());
        self.buckets.scan(range, |links| {
            links.iter().filter(is_in).for_each(|link| ends[link.a.at() - from + 1] += 1);
            Ok(())
        })?;
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        part.clear();
        part.resize(ends[to - from], Link { a: ContentIndex(0), b: ContentIndex(0), shared_bytes: 0 });
        self.buckets.scan(range, |links| {
            for link in links.iter().filter(is_in) {
                let end = &mut ends[link.a.at() - from];
                part[*end] = *link;
                *end += 1;
            }
            Ok(())
        })?;
        let mut start = 0;
        for &end in &ends[..to - from] {
            part[start..end].sort_unstable_by_key(|link| link.b);
            start = end;
        }
        Ok(())
    }

    /// Cuts a range of contents into parts whose links fit in memory, one content at least.
    fn parts(
        &self,
        range: usize,
        first: usize,
        end: usize,
        threads: NonZeroUsize,
    ) -> Result<Vec<(usize, usize)>, Error> {
        let links_max = self.links_per_part / threads.get() as u64;
        if self.buckets.rows(range) <= links_max {
            return Ok(vec![(first, end)]);
        }
        let mut counts = vec![0u64; end - first];
        self.buckets.scan(range, |links| {
            links.iter().for_each(|link| counts[link.a.at() - first] += 1);
            Ok(())
        })?;
        let (mut parts, mut from, mut links) = (Vec::new(), first, 0);
        for (content, count) in (first..end).zip(counts) {
            if links > 0 && links + count > links_max {
                parts.push((from, content));
                (from, links) = (content, 0);
            }
            links += count;
        }
        parts.push((from, end));
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn links_come_back_in_order_under_any_budget() {
        for memory_budget_bytes in [0, 20_000, 1 << 24] {
            let parent = tempfile::tempdir().unwrap();
            let folder = SpillFolder::new(parent.path());
            let options = LinksOptions { contents: 1000, memory_budget_bytes, threads: 1 };
            let sorted = SortedLinks::new(&folder, &options);
            let mut expected = Vec::new();
            for n in 0..5000u32 {
                let a = n * 7919 % if n % 2 == 0 { 3 } else { 990 };
                let link = Link { a: ContentIndex(a), b: ContentIndex(a + 1 + n), shared_bytes: u64::from(n) << 20 };
                expected.push(link);
            }
            expected.chunks(700).for_each(|links| sorted.add(links).unwrap());
            let found = Mutex::new(Vec::new());
            let keep = |first: u64, links: &[Link]| {
                found.lock().unwrap().push((first, links.to_vec()));
                Ok(())
            };
            sorted.drain(NonZeroUsize::new(2).unwrap(), &keep).unwrap();
            let mut found = found.into_inner().unwrap();
            found.sort_unstable();
            let mut next = 0;
            for (first, links) in &found {
                assert_eq!(*first, next);
                next += links.len() as u64;
            }
            let found: Vec<Link> = found.into_iter().flat_map(|(_, links)| links).collect();
            expected.sort_unstable();
            assert_eq!(found, expected);
            assert_eq!(folder.written_bytes() > 0, memory_budget_bytes < 1 << 24);
        }
    }

    #[test]
    fn links_are_visited_in_order_by_any_number_of_threads_and_an_error_ends_all() {
        let folder = tempfile::tempdir().unwrap();
        for threads in 1..5 {
            let threads = NonZeroUsize::new(threads).unwrap();
            let spill = SpillFolder::new(folder.path());
            let options = LinksOptions { contents: 500, memory_budget_bytes: 20_000, threads: 1 };
            let fill = || {
                let sorted = SortedLinks::new(&spill, &options);
                let link = |n: u32| Link { a: ContentIndex(n * 7919 % 499), b: ContentIndex(n + 500), shared_bytes: 1 };
                let links: Vec<Link> = (0..5000).map(link).collect();
                sorted.add(&links).unwrap();
                (sorted, links)
            };
            let (sorted, mut expected) = fill();
            expected.sort_unstable();
            let mut found = Vec::new();
            let keep = &mut |links: &[Link]| {
                found.extend_from_slice(links);
                Ok(())
            };
            sorted.drain_in_order(threads, keep).unwrap();
            assert_eq!(found, expected);
            let mut left = 10;
            let fail = &mut |_: &[Link]| {
                left -= 1;
                if left == 0 { Err(Error::LengthTooLarge { length_bytes: 7 }) } else { Ok(()) }
            };
            let error = fill().0.drain_in_order(threads, fail).unwrap_err();
            assert!(matches!(error, Error::LengthTooLarge { .. }), "{error}");
        }
    }
}
