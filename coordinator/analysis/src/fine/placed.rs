//! Candidates by the places and names of their documents: contents of different repositories whose documents are at the same path, or
//! at one place by the alignment that copies and coarse links give, or have the same name, which at most
//! [`NAME_DOCUMENTS_MAX`] documents of each repository have.

use foldhash::{HashMap, HashMapExt as _};

use super::pair::{Pair, ascending, crosses, is_compared};
use crate::alignment::{Alignment, counterparts};
use crate::subject::Subject;

/// The most documents of a repository with a name that proposes pairs.
pub(super) const NAME_DOCUMENTS_MAX: usize = 4;
/// The most documents with one path, or with one name; of more with one path, the first ones count.
pub(super) const PLACE_DOCUMENTS_MAX: usize = 16;

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
    let mut of_path: HashMap<&[u8], Vec<(u16, u32)>> = HashMap::new();
    let mut of_name: HashMap<&[u8], Vec<(u16, u32)>> = HashMap::new();
    for document in &subject.frozen.documents {
        if !is_compared(subject, document.content.0) {
            continue;
        }
        let path = document.path.as_bytes();
        let place = (document.root, document.content.0);
        of_path.entry(path).or_default().push(place);
        of_name.entry(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)).or_default().push(place);
    }
    let is_rare = |places: &[(u16, u32)]| {
        let of_one_root = places.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max();
        of_one_root.is_some_and(|most| most <= NAME_DOCUMENTS_MAX) && places.len() <= PLACE_DOCUMENTS_MAX
    };
    let paths = of_path.into_values();
    let names = of_name.into_values().filter(|places| is_rare(places));
    for places in paths.chain(names) {
        let places = &places[..places.len().min(PLACE_DOCUMENTS_MAX)];
        for (number, (root, content)) in places.iter().enumerate() {
            let others = places[number + 1..].iter().filter(|(other, _)| other != root);
            for (_, other) in others.filter(|(_, other)| other != content) {
                let pair = (*content.min(other), *content.max(other));
                pairs.extend(crosses(subject, pair).then_some(pair));
            }
        }
    }
    pairs
}
