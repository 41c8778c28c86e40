//! Finds documents of a corpus that have much in common, without any chunker or method: by a sample of their windows.

use std::collections::{HashMap, HashSet};

use cognate_fingerprint::{EXACT_WINDOW_BYTES, window_hashes};

use crate::document::Document;

/// One window in this number is in the sample.
const SAMPLED: u64 = 16;
/// Windows in more documents than this are ignored: page frames and licences.
const DOCUMENTS_MAX: usize = 40;
/// The least number of sampled windows that relatives have in common.
const COMMON_LEAST: usize = 4;

/// Pairs each document with the one that it has most windows in common with, except those of equal bytes. Each pair is in the
/// list once, the smaller number first; the list is ascending.
pub(crate) fn closest_pairs(documents: &[Document]) -> Vec<(usize, usize)> {
    let sampled: Vec<Vec<u64>> = documents.iter().map(|document| sample(&document.bytes)).collect();
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, windows) in sampled.iter().enumerate() {
        for window in windows {
            holders.entry(*window).or_default().push(number);
        }
    }
    let mut pairs = HashSet::new();
    for (number, windows) in sampled.iter().enumerate() {
        let mut common: HashMap<usize, usize> = HashMap::new();
        for others in windows.iter().filter_map(|window| holders.get(window)) {
            if others.len() <= DOCUMENTS_MAX {
                others.iter().for_each(|&other| *common.entry(other).or_insert(0) += 1);
            }
        }
        let candidates = common.into_iter().filter(|&(other, count)| {
            count >= COMMON_LEAST && other != number && documents[other].bytes != documents[number].bytes
        });
        if let Some((other, _)) = candidates.max_by_key(|&(other, count)| (count, std::cmp::Reverse(other))) {
            pairs.insert((number.min(other), number.max(other)));
        }
    }
    let mut pairs: Vec<(usize, usize)> = pairs.into_iter().collect();
    pairs.sort_unstable();
    pairs
}

fn sample(bytes: &[u8]) -> Vec<u64> {
    let mut windows: Vec<u64> =
        window_hashes(bytes, EXACT_WINDOW_BYTES).filter(|hash| hash.is_multiple_of(SAMPLED)).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Generator;

    #[test]
    fn a_version_is_paired_with_its_original_and_a_copy_is_not() {
        let mut generator = Generator::new(5);
        let mut text = || generator.paragraph(600).into_bytes();
        let (base, other) = (text(), text());
        let version = [&base[..2000], b"something new", &base[2000..]].concat();
        let documents: Vec<Document> =
            [&base, &other, &base, &version].map(|bytes| Document { path: String::new(), bytes: bytes.clone() }).into();
        assert_eq!(closest_pairs(&documents), [(0, 3), (2, 3)]);
    }

    #[test]
    fn frames_that_all_documents_have_make_no_relatives() {
        let mut generator = Generator::new(6);
        let frame = generator.paragraph(300);
        let documents: Vec<Document> = (0..DOCUMENTS_MAX + 1)
            .map(|_| Document {
                path: String::new(),
                bytes: format!("{frame} {}", generator.paragraph(100)).into_bytes(),
            })
            .collect();
        assert!(closest_pairs(&documents).is_empty());
        // Fewer documents with the same frame are relatives by it.
        assert!(!closest_pairs(&documents[..4]).is_empty());
        assert!(closest_pairs(&[]).is_empty() && closest_pairs(&documents[..1]).is_empty());
    }
}
