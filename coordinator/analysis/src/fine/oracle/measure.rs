//! The definition of what a candidate shares by fine chunks, and of the links that follow.

use std::collections::BTreeMap;

use cognate_fingerprint::{FineChunk, FineCutter};

use super::Outcome;
use super::candidates::{Proposed, counts, payload};
use super::trees::{Facts, Tree};

/// What each fine chunk of a content is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Nothing,
    Border,
    InRun,
}

pub(super) fn outcome(tree: &Tree, contents: &[Facts], proposed: &Proposed) -> Outcome {
    let cutter = FineCutter::new(&tree.key);
    let candidates = proposed.candidates();
    let mut links = BTreeMap::new();
    for (pair, coarse) in &proposed.coarse {
        let (a, b) = (&contents[pair.0 as usize], &contents[pair.1 as usize]);
        let fine = if candidates.contains(pair) { fine_bytes(&cutter, a, b) } else { 0 };
        if tree.is_link(*coarse, coarse + fine, payload(a).min(payload(b))) {
            links.insert(*pair, coarse + fine);
        }
    }
    let omitted = proposed.cut_sharing.len() + proposed.cut_agreeing.len();
    Outcome { links, candidates: candidates.len() as u64, omitted: omitted as u64 }
}

/// The bytes that the chunks left of both have in common by their fine chunks.
fn fine_bytes(cutter: &FineCutter, a: &Facts, b: &Facts) -> u64 {
    let (x, y) = (left(cutter, a, b), left(cutter, b, a));
    if x.is_empty() || y.is_empty() {
        return 0;
    }
    // A row is two fine chunks, and three where a content has very many; no instance is so large.
    assert!(x.len().max(y.len()) <= 1 << 14);
    let (rows_x, rows_y) = (rows(&x), rows(&y));
    let mut partners = [BTreeMap::new(), BTreeMap::new()];
    for (row, places) in &rows_x {
        // The first occurrences of a row, as many as the content has that has it less often, are partners in their order.
        for (in_x, in_y) in places.iter().zip(rows_y.get(row).into_iter().flatten()) {
            partners[0].insert(*in_x, *in_y);
            partners[1].insert(*in_y, *in_x);
        }
    }
    counted(&x, &y, &partners[0]).min(counted(&y, &x, &partners[1]))
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

type Row = (FineChunk, FineChunk);

/// The places of each row, ascending.
fn rows(fine: &[Option<FineChunk>]) -> BTreeMap<Row, Vec<usize>> {
    let mut rows: BTreeMap<Row, Vec<usize>> = BTreeMap::new();
    for (place, two) in fine.windows(2).enumerate() {
        if let [Some(first), Some(second)] = two {
            rows.entry((*first, *second)).or_default().push(place);
        }
    }
    rows
}

/// The bytes of a content in runs that count, with their borders.
fn counted(own: &[Option<FineChunk>], other: &[Option<FineChunk>], partners: &BTreeMap<usize, usize>) -> u64 {
    let length = |place: usize| own[place].map_or(0, |fine| u64::from(fine.length_bytes));
    let in_row = |place: usize| {
        partners.contains_key(&place) || place.checked_sub(1).is_some_and(|before| partners.contains_key(&before))
    };
    let mut is = vec![Is::Nothing; own.len()];
    let (mut sum, mut start) = (0, 0);
    while start < own.len() {
        if !in_row(start) {
            start += 1;
            continue;
        }
        let end = (start..own.len()).find(|place| !in_row(*place)).unwrap_or(own.len());
        let before = start.checked_sub(1).filter(|place| {
            let opposite = partners[&start].checked_sub(1).and_then(|opposite| other[opposite]);
            own[*place].zip(opposite).is_some_and(|(own, other)| own.ends_like(other))
        });
        let after = Some(end).filter(|place| {
            let opposite = other.get(partners[&(end - 2)] + 2).copied().flatten();
            own.get(*place).copied().flatten().zip(opposite).is_some_and(|(own, other)| own.begins_like(other))
        });
        let borders: Vec<usize> = before.into_iter().chain(after).collect();
        let run: u64 = (start..end).map(length).sum();
        if run + borders.iter().map(|place| length(*place)).sum::<u64>() >= 32 {
            is[start..end].fill(Is::InRun);
            sum += run;
            for place in borders {
                // Two runs may have a border in common.
                sum += if is[place] == Is::Nothing { length(place) - 1 } else { 0 };
                is[place] = Is::Border;
            }
        }
        start = end;
    }
    sum
}
