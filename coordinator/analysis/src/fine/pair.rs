//! A pair of contents, and the conditions that every candidate fulfils.

use crate::subject::Subject;

/// A pair of contents, the smaller number first.
pub(super) type Pair = (u32, u32);

/// Pairs in their order, each once.
pub(super) fn ascending(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// True if a link between the two would count.
pub(super) fn crosses(subject: &Subject<'_>, pair: Pair) -> bool {
    if !subject.across_only {
        return true;
    }
    let home = |content: u32| subject.home(content as usize);
    match (home(pair.0), home(pair.1)) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    }
}

/// True if a content has something that others may share, and the layer of bytes is about it.
pub(super) fn is_compared(subject: &Subject<'_>, content: u32) -> bool {
    let content = &subject.frozen.contents[content as usize];
    content.weight > 0 && !content.spoken_for
}
