//! The paper's own algorithm in memory: steps 3 and 4 of 2.3 over the file-chunk graph, with and without the partitioning of
//! 2.5, and with both ways of comparing that its footnote 2 names.
//!
//! The engine of the product finds the same links in another way; its number is the check.

use std::collections::HashMap;

use cognate_fingerprint::Tag;

use crate::machine::Stopwatch;

/// The shares of a document: the tags of its chunks with their lengths, ascending, repeats included.
pub(super) type Chunks = Vec<(Tag, u32)>;

/// The content of a repository: its different contents, each with its chunks and its payload.
pub(super) struct Graph {
    pub(super) chunks: Vec<Chunks>,
    pub(super) payload_bytes: Vec<u64>,
}

/// The way in which two lists of chunks are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compare {
    /// Both lists side by side, as in a merge sort.
    Merge,
    /// A hash table of the first list, in which those of the second are looked up.
    Hash,
}

/// The result of steps 3 and 4.
pub(super) struct Found {
    pub(super) pairs: usize,
    pub(super) links: u64,
    /// The time of the comparisons alone.
    pub(super) comparing_seconds: f64,
    pub(super) seconds: f64,
}

/// The result of partitioning.
pub(super) struct Partitioned {
    /// The documents in components of two or more.
    pub(super) kept: Vec<u32>,
    pub(super) components: usize,
    pub(super) seconds: f64,
}

impl Graph {
    pub(super) fn all(&self) -> Vec<u32> {
        (0..u32::try_from(self.chunks.len()).expect("fewer documents than 2^32")).collect()
    }

    /// Steps 3 and 4 over some documents: which of them share enough.
    pub(super) fn similar(&self, documents: &[u32], least_bytes: u64, compare: Compare) -> Found {
        let watch = Stopwatch::start();
        let mut holders: HashMap<Tag, Vec<u32>> = HashMap::new();
        for &document in documents {
            let chunks = &self.chunks[document as usize];
            for (tag, _) in chunks.chunk_by(|a, b| a.0 == b.0).map(|run| run[0]) {
                holders.entry(tag).or_default().push(document);
            }
        }
        let mut met = vec![u32::MAX; self.chunks.len()];
        // What a document is compared with; timing every single comparison would cost more than the comparison.
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for &a in documents {
            for (tag, _) in self.chunks[a as usize].chunk_by(|a, b| a.0 == b.0).map(|run| run[0]) {
                for &b in holders.get(&tag).into_iter().flatten().filter(|b| **b > a) {
                    if std::mem::replace(&mut met[b as usize], a) != a {
                        pairs.push((a, b));
                    }
                }
            }
        }
        drop(holders);
        let comparing = Stopwatch::start();
        let mut links = 0;
        for of_a in pairs.chunk_by(|x, y| x.0 == y.0) {
            let a = &self.chunks[of_a[0].0 as usize];
            let mut table: HashMap<Tag, (u32, u32)> = HashMap::new();
            if compare == Compare::Hash {
                a.iter().for_each(|(tag, length)| table.entry(*tag).or_insert((*length, 0)).1 += 1);
            }
            for &(a_number, b_number) in of_a {
                let b = &self.chunks[b_number as usize];
                let shared = match compare {
                    Compare::Merge => by_merge(a, b),
                    Compare::Hash => by_hash(&table, b),
                };
                let smaller = self.payload_bytes[a_number as usize].min(self.payload_bytes[b_number as usize]);
                links += u64::from(shared > 0 && (shared >= least_bytes || 2 * shared >= smaller));
            }
        }
        Found { pairs: pairs.len(), links, comparing_seconds: comparing.seconds(), seconds: watch.seconds() }
    }

    /// 2.5: sorts rows of chunk and document, unites documents that share a chunk, and drops components of one. Chunks of more
    /// than half of all documents unite none.
    pub(super) fn partition(&self) -> Partitioned {
        let watch = Stopwatch::start();
        let mut rows: Vec<(Tag, u32)> = Vec::with_capacity(self.chunks.iter().map(Vec::len).sum());
        for (document, chunks) in (0_u32..).zip(&self.chunks) {
            rows.extend(chunks.iter().map(|(tag, _)| (*tag, document)));
        }
        rows.sort_unstable();
        rows.dedup();
        let mut parents = self.all();
        for holders in rows.chunk_by(|a, b| a.0 == b.0).filter(|holders| 2 * holders.len() <= self.chunks.len()) {
            let first = root(&mut parents, holders[0].1);
            for (_, other) in &holders[1..] {
                let other = root(&mut parents, *other);
                parents[other as usize] = first;
            }
        }
        let mut sizes = vec![0_u32; self.chunks.len()];
        for document in self.all() {
            sizes[root(&mut parents, document) as usize] += 1;
        }
        let kept =
            self.all().into_iter().filter(|document| sizes[root(&mut parents, *document) as usize] > 1).collect();
        let components = sizes.iter().filter(|size| **size > 1).count();
        Partitioned { kept, components, seconds: watch.seconds() }
    }
}

/// The root of a component; the way to it is shortened.
fn root(parents: &mut [u32], mut document: u32) -> u32 {
    while parents[document as usize] != document {
        let above = parents[parents[document as usize] as usize];
        parents[document as usize] = above;
        document = above;
    }
    document
}

/// The bytes in common: of every chunk as often as both have it.
fn by_merge(a: &[(Tag, u32)], b: &[(Tag, u32)]) -> u64 {
    let (mut at_a, mut at_b, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(at_a), b.get(at_b)) {
        if x.0 == y.0 {
            shared += u64::from(x.1);
        }
        at_a += usize::from(x.0 <= y.0);
        at_b += usize::from(y.0 <= x.0);
    }
    shared
}

fn by_hash(table: &HashMap<Tag, (u32, u32)>, b: &[(Tag, u32)]) -> u64 {
    let mut shared = 0;
    for of_b in b.chunk_by(|x, y| x.0 == y.0) {
        if let Some((length, count)) = table.get(&of_b[0].0) {
            shared += u64::from(*length) * u64::from(*count).min(of_b.len() as u64);
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunks(numbers: &[u8]) -> Chunks {
        let mut chunks: Chunks = numbers.iter().map(|number| (Tag([*number; 16]), u32::from(*number) * 10)).collect();
        chunks.sort_unstable();
        chunks
    }

    fn graph(documents: &[&[u8]]) -> Graph {
        let chunks: Vec<Chunks> = documents.iter().map(|numbers| chunks(numbers)).collect();
        let payload_bytes = chunks.iter().map(|chunks| chunks.iter().map(|chunk| u64::from(chunk.1)).sum()).collect();
        Graph { chunks, payload_bytes }
    }

    #[test]
    fn documents_that_share_half_of_the_smaller_or_the_bytes_are_linked() {
        let graph = graph(&[&[1, 2, 3], &[2, 3, 9], &[7], &[7, 8, 9], &[100]]);
        for compare in [Compare::Merge, Compare::Hash] {
            let found = graph.similar(&graph.all(), 1000, compare);
            // 0 and 1 share 50 of 60 bytes, 2 and 3 all 70 of 70, 1 and 3 the 90 of 140.
            assert_eq!((found.pairs, found.links), (3, 3), "{compare:?}");
            assert_eq!(graph.similar(&[0, 1, 2], 1000, compare).links, 1);
        }
        let parts = graph.partition();
        assert_eq!((parts.kept, parts.components), (vec![0, 1, 2, 3], 1));
    }

    #[test]
    fn chunks_of_more_than_half_of_the_documents_unite_none() {
        let graph = graph(&[&[1, 50], &[2, 50], &[3, 50], &[4], &[4]]);
        assert_eq!(graph.partition().kept, [3, 4]);
    }

    proptest! {
        #[test]
        fn both_ways_count_every_chunk_as_often_as_both_have_it(
            a in proptest::collection::vec(1..9_u8, 0..12),
            b in proptest::collection::vec(1..9_u8, 0..12),
        ) {
            let count = |list: &[u8], number| list.iter().filter(|other| **other == number).count() as u64;
            let expected: u64 = (1..9).map(|number| count(&a, number).min(count(&b, number)) * u64::from(number) * 10).sum();
            let (a, b) = (chunks(&a), chunks(&b));
            let mut table = HashMap::new();
            a.iter().for_each(|(tag, length)| table.entry(*tag).or_insert((*length, 0)).1 += 1);
            prop_assert_eq!(by_merge(&a, &b), expected);
            prop_assert_eq!(by_hash(&table, &b), expected);
        }

        #[test]
        fn partitioning_loses_no_link(documents in proptest::collection::vec(proptest::collection::vec(1..200_u8, 1..6), 2..40)) {
            let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
            let graph = graph(&documents);
            // With chunks in more than half of the documents, partitioning may lose some, as the paper's does.
            prop_assume!(graph.chunks.iter().flatten().all(|(tag, _)| {
                2 * graph.chunks.iter().filter(|chunks| chunks.iter().any(|other| other.0 == *tag)).count() <= documents.len()
            }));
            let parts = graph.partition();
            let all = graph.similar(&graph.all(), 100, Compare::Merge);
            prop_assert_eq!(graph.similar(&parts.kept, 100, Compare::Merge).links, all.links);
        }
    }
}
