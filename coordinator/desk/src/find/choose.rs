//! The method of a search for which nobody requested one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cognate_fingerprint::{Method, View};

/// The best of the methods of all indexes that could be searched: `tttd` before others, bytes before text if that is preferred, then the
/// most widely indexed, then the finest.
pub fn finest(methods: impl Iterator<Item = Method>, prefers_bytes: bool) -> Option<Method> {
    let mut counts: BTreeMap<String, (usize, Method)> = BTreeMap::new();
    for method in methods {
        counts.entry(method.to_string()).or_insert((0, method)).0 += 1;
    }
    let rank = |(count, method): &(usize, Method)| {
        let is_text = prefers_bytes && method.view() != View::Raw;
        (method.name() != "tttd", is_text, Reverse(*count), method.chunk_bytes())
    };
    counts.into_values().min_by_key(rank).map(|(_, method)| method)
}
