//! Candidates by the places and names of their documents: contents of different repositories whose documents are at the same path, or
//! at one place by the alignment that copies and coarse links give, or have the same name, which at most
//! [`NAME_DOCUMENTS_MAX`] documents of each repository have.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;

use super::pair::{Pair, ascending, crosses, is_compared};
use crate::alignment::{Alignment, counterparts};
use crate::freeze::FrozenDocument;
use crate::subject::Subject;

/// The most documents of a repository with a name that proposes pairs.
pub(super) const NAME_DOCUMENTS_MAX: usize = 4;
/// The most documents with one path, or with one name; of more with one path, the first ones count.
pub(super) const PLACE_DOCUMENTS_MAX: usize = 16;

/// A document that has a path or a name: its repository, and its content.
type NamedContent = (u16, u32);

/// The pairs, ascending.
pub(super) fn placed_pairs(subject: &Subject<'_>, alignment: &Alignment) -> Vec<Pair> {
    let mut pairs = named_pairs(subject);
    pairs.extend(aligned_pairs(subject, alignment));
    ascending(pairs)
}

/// Pairs of contents whose documents are at one place by an alignment of two repositories, as far as their paths differ.
fn aligned_pairs(subject: &Subject<'_>, alignment: &Alignment) -> Vec<Pair> {
    let found = if alignment.is_empty() { None } else { counterparts(subject.frozen, alignment) };
    let content = |place: usize| subject.frozen.documents[place].content.0;
    let places = found.into_iter().flatten().enumerate();
    let pairs = places.filter_map(|(place, other)| Some((content(place), content(other? as usize))));
    let compared = |content: u32| is_compared(subject, content);
    pairs.filter(|(a, b)| a < b && compared(*a) && compared(*b) && crosses(subject, (*a, *b))).collect()
}

/// Pairs of contents whose documents have one path, or one rare name, in two repositories.
fn named_pairs(subject: &Subject<'_>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    if subject.frozen.roots.len() < 2 {
        return pairs;
    }
    let compared = subject.frozen.documents.iter().filter(|document| is_compared(subject, document.content.0));
    let named = |document: &FrozenDocument| (document.root, document.content.0);
    let mut paths: Vec<(&[u8], NamedContent)> =
        compared.clone().map(|document| (subject.frozen.path(document), named(document))).collect();
    // Those of each repository are in order already, and a stable sort merges them.
    paths.sort_by_key(|(path, _)| *path);
    // Hashes are compared faster than names.
    let hasher = RandomState::default();
    let mut names: Vec<(u64, &[u8], NamedContent)> = compared
        .map(|document| {
            let path = subject.frozen.path(document);
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            (hasher.hash_one(name), name, named(document))
        })
        .collect();
    names.sort_by_key(|(hash, name, _)| (*hash, *name));
    let mut found = Vec::new();
    for of_path in paths.chunk_by(|a, b| a.0 == b.0).filter(|of_path| of_path.len() > 1) {
        found.clear();
        found.extend(of_path.iter().map(|(_, named)| *named));
        add_pairs(subject, &found, &mut pairs);
    }
    for of_name in names.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|of_name| of_name.len() > 1) {
        found.clear();
        found.extend(of_name.iter().map(|(_, _, named)| *named));
        if is_rare(&found) {
            add_pairs(subject, &found, &mut pairs);
        }
    }
    pairs
}

/// True if few documents have a name.
fn is_rare(of_name: &[NamedContent]) -> bool {
    let of_one_root = of_name.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max();
    of_one_root.is_some_and(|most| most <= NAME_DOCUMENTS_MAX) && of_name.len() <= PLACE_DOCUMENTS_MAX
}

/// Adds the pairs across repositories of documents with one path or one name.
fn add_pairs(subject: &Subject<'_>, named: &[NamedContent], pairs: &mut Vec<Pair>) {
    let named = &named[..named.len().min(PLACE_DOCUMENTS_MAX)];
    for (number, (root, content)) in named.iter().enumerate() {
        let others = named[number + 1..].iter().filter(|(other, _)| other != root);
        for (_, other) in others.filter(|(_, other)| other != content) {
            let pair = (*content.min(other), *content.max(other));
            pairs.extend(crosses(subject, pair).then_some(pair));
        }
    }
}
