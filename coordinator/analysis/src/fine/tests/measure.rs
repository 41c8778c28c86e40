//! The definition of what a candidate shares by fine chunks, and of the links that follow.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cognate_fingerprint::{FineChunk, FineCutter, Tag};

use super::Outcome;
use super::candidates::{ProposedPairs, counts, payload};
use super::trees::{Facts, Tree};
use crate::fine::wanted::LEFT_BYTES_MAX;

pub(super) fn outcome(tree: &Tree, contents: &[Facts], proposed: &ProposedPairs) -> Outcome {
    let cutter = FineCutter::new(&tree.key);
    let mut candidates = proposed.candidates();
    let proposed_pairs = candidates.len();
    candidates.retain(|(a, b)| !is_too_long(&contents[*a as usize], &contents[*b as usize]));
    let too_long = proposed_pairs - candidates.len();
    let mut links = BTreeMap::new();
    for (pair, coarse) in &proposed.coarse {
        let (a, b) = (&contents[pair.0 as usize], &contents[pair.1 as usize]);
        let smaller = payload(a).min(payload(b));
        let shared = |row| if candidates.contains(pair) { coarse + fine_bytes(&cutter, a, b, row) } else { *coarse };
        // A pair that misses the threshold, but reaches it with four times the bytes, is measured with runs of two fine chunks.
        let shared = match shared(3) {
            bytes if !tree.is_link(bytes, smaller) && tree.is_link(4 * bytes, smaller) => shared(2),
            bytes => bytes,
        };
        if tree.is_link(shared, smaller) {
            links.insert(*pair, shared);
        }
    }
    let omitted = proposed.cut_sharing.len() + proposed.cut_sampled + too_long;
    let [too_long, omitted] = [too_long, omitted].map(|count| count as u64);
    Outcome { links, candidates: candidates.len() as u64, omitted, too_long }
}

/// True if both have something left, and one of them too much.
fn is_too_long(a: &Facts, b: &Facts) -> bool {
    let left = |facts: &Facts, other: &Facts| -> u64 {
        let theirs = counts(other);
        let left = |(chunk, count): ((Tag, u32), u64)| {
            u64::from(chunk.1) * count.saturating_sub(theirs.get(&chunk).copied().unwrap_or(0))
        };
        counts(facts).into_iter().map(left).sum()
    };
    let [x, y] = [left(a, b), left(b, a)];
    x > 0 && y > 0 && x.max(y) > LEFT_BYTES_MAX
}

/// The bytes that the chunks left of both have in common, in runs of so many fine chunks and more.
fn fine_bytes(cutter: &FineCutter, a: &Facts, b: &Facts, row: usize) -> u64 {
    let (x, y) = (left(cutter, a, b), left(cutter, b, a));
    if x.is_empty() || y.is_empty() { 0 } else { counted(&x, &y, row).min(counted(&y, &x, row)) }
}

/// The fine chunks of the chunks that a content has more often than another one, by their tags; `None` ends a chunk.
fn left(cutter: &FineCutter, facts: &Facts, other: &Facts) -> Vec<Option<FineChunk>> {
    let theirs = counts(other);
    let mut fine = Vec::new();
    for (chunk, count) in counts(facts) {
        let place = facts.chunks.iter().find(|own| (own.tag, own.length_bytes) == chunk).unwrap();
        let start = usize::try_from(place.offset).unwrap();
        let bytes = &facts.bytes[start..start + place.length_bytes as usize];
        for _ in theirs.get(&chunk).copied().unwrap_or(0)..count {
            cutter.cut(bytes, |piece| fine.push(Some(piece)));
            fine.push(None);
        }
    }
    fine
}

/// The bytes of a content in runs that count, with their borders.
fn counted(own: &[Option<FineChunk>], other: &[Option<FineChunk>], row: usize) -> u64 {
    let length = |fine: FineChunk| u64::from(fine.length_bytes);
    // The fine chunks that agree from two places on.
    let agree = |x: usize, y: usize| {
        own[x..].iter().zip(&other[y..]).take_while(|(own, other)| own.is_some() && own == other).count()
    };
    let (mut bytes, mut place) = (vec![0; own.len()], 0);
    while place < own.len() {
        let partners = (0..other.len()).filter(|partner| agree(place, *partner) >= row).take(8);
        // The first of the longest, as far as 64 rows show.
        let Some(partner) = partners.min_by_key(|partner| Reverse(agree(place, *partner).min(63 + row))) else {
            place += 1;
            continue;
        };
        let end = place + agree(place, partner);
        let both = |x: Option<usize>, y: Option<usize>| own[x?].zip(other[y?]);
        let shorter = |(own, other): (FineChunk, FineChunk)| length(own).min(length(other));
        let before = both(place.checked_sub(1), partner.checked_sub(1)).filter(|(own, other)| own.ends_like(*other));
        let after = both(Some(end), Some(partner + end - place)).filter(|(own, other)| own.begins_like(*other));
        let run: u64 = own[place..end].iter().flatten().map(|fine| length(*fine)).sum();
        if run + before.map_or(0, shorter) + after.map_or(0, shorter) < 32 {
            place += 1;
            continue;
        }
        (place..end).for_each(|place| bytes[place] = own[place].map_or(0, length));
        for (border, both) in [(place.wrapping_sub(1), before), (end, after)] {
            // A border of two runs, or one that is in another run, counts once.
            if let Some(both) = both.filter(|_| bytes[border] == 0) {
                bytes[border] = shorter(both) - 1;
            }
        }
        place = end;
    }
    bytes.iter().sum()
}
