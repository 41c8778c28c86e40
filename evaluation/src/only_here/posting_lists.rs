//! Posting lists of sampled windows: by them the partners of a content are found.
//!
//! One window in [`SAMPLED_ONE_IN`] is sampled, by its hash. Windows next to each other often occur in the same contents: a
//! licence, the frame of a page. So equal lists are stored once, and a stretch of windows with one list is counted in one step:
//! the work does not grow with the length of what very many contents share.

use std::collections::HashMap;

use cognate_fingerprint::EXACT_WINDOW_BYTES;

use crate::only_here::content::{Content, Window};

/// One window in so many is sampled.
const SAMPLED_ONE_IN: u64 = 16;

/// The contents in which each sampled window occurs.
pub(super) struct PostingLists {
    hashes: Vec<u64>,
    /// For each hash the number of its list.
    list_of: Vec<u32>,
    lists: Vec<Box<[u32]>>,
}

/// A content that may share bytes with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PossiblePartner {
    /// The bytes that the two share at most, as far as the sample shows it.
    pub(super) bytes_max: usize,
    pub(super) content: usize,
}

/// Counters for all contents, all zero between two uses.
pub(super) struct Counters {
    counters: Vec<Counter>,
    touched: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Counter {
    bytes: usize,
    /// Where the bytes that are counted so far end.
    end: usize,
}

impl Counters {
    /// Counters for so many contents.
    pub(super) fn new(count: usize) -> Counters {
        Counters { counters: vec![Counter::default(); count], touched: Vec::new() }
    }
}

fn sampled(content: &Content) -> impl Iterator<Item = Window> + '_ {
    content.windows().filter(|window| window.hash < u64::MAX / SAMPLED_ONE_IN)
}

impl PostingLists {
    /// The lists of these contents, each with its number.
    pub(super) fn of<'c>(contents: impl Iterator<Item = (usize, &'c Content)>) -> PostingLists {
        let mut postings: Vec<(u64, u32)> = Vec::new();
        for (number, content) in contents {
            let number = u32::try_from(number).expect("a corpus has few documents");
            let from = postings.len();
            postings.extend(sampled(content).map(|window| (window.hash, number)));
            postings[from..].sort_unstable();
            let mut kept = from;
            for place in from..postings.len() {
                if kept == from || postings[kept - 1] != postings[place] {
                    postings[kept] = postings[place];
                    kept += 1;
                }
            }
            postings.truncate(kept);
        }
        postings.sort_unstable();
        let (mut hashes, mut list_of) = (Vec::new(), Vec::new());
        let mut numbers: HashMap<Box<[u32]>, u32> = HashMap::new();
        for group in postings.chunk_by(|a, b| a.0 == b.0) {
            let list: Box<[u32]> = group.iter().map(|(_, content)| *content).collect();
            let next = u32::try_from(numbers.len()).expect("there are fewer lists than windows");
            hashes.push(group[0].0);
            list_of.push(*numbers.entry(list).or_insert(next));
        }
        let mut lists: Vec<(Box<[u32]>, u32)> = numbers.into_iter().collect();
        lists.sort_unstable_by_key(|(_, number)| *number);
        PostingLists { hashes, list_of, lists: lists.into_iter().map(|(list, _)| list).collect() }
    }

    fn list(&self, hash: u64) -> Option<u32> {
        self.hashes.binary_search(&hash).ok().map(|place| self.list_of[place])
    }

    /// The contents that share at least `bytes_min` bytes of this one, as far as the sample shows it, those that share most first.
    ///
    /// A stretch of windows between two sampled ones that the other lacks is no longer than from behind the one up to the other.
    /// So the count is an upper bound for all stretches of which a window is sampled.
    pub(super) fn possible_partners(
        &self,
        content: &Content,
        bytes_min: usize,
        counters: &mut Counters,
    ) -> Vec<PossiblePartner> {
        let windows: Vec<(usize, Option<u32>)> =
            sampled(content).map(|window| (window.start, self.list(window.hash))).collect();
        let mut place = 0;
        for stretch in windows.chunk_by(|a, b| a.1 == b.1) {
            let (from, next) = (place, place + stretch.len());
            place = next;
            let Some(list) = stretch[0].1 else { continue };
            let start = from.checked_sub(1).map_or(0, |before| windows[before].0 + 1);
            let end = windows.get(next).map_or(content.bytes.len(), |after| after.0 + EXACT_WINDOW_BYTES - 1);
            for &other in &self.lists[list as usize] {
                let counter = &mut counters.counters[other as usize];
                if counter.bytes == 0 {
                    counters.touched.push(other);
                }
                counter.bytes += end - start.max(counter.end).min(end);
                counter.end = end;
            }
        }
        let mut found = Vec::new();
        for other in counters.touched.drain(..) {
            let counter = std::mem::take(&mut counters.counters[other as usize]);
            if counter.bytes >= bytes_min.max(1) {
                found.push(PossiblePartner { bytes_max: counter.bytes, content: other as usize });
            }
        }
        found.sort_unstable_by_key(|possible| (std::cmp::Reverse(possible.bytes_max), possible.content));
        found
    }
}
