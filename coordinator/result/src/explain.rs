//! What two documents share, and where: their chunks side by side, in order.
//!
//! [`DocumentName`] finds the two in a result, [`Pair::of`](record::Pair::of) compares them by its rows, and a [`Map`] has the places. The
//! types of [`record`] are the answer for people and for programs.
//!
//! A map is of chunks alone at first; [`Map::finely`] adds the runs of fine chunks that a scan counts, and [`Measured`] is the
//! one of the two that has the figures of the report.

mod fine;
mod measured;
mod name;
mod pair;
pub mod record;

use std::collections::HashMap;

use cognate_fingerprint::Tag;
use cognate_similarity::PairMeasure;

pub use self::fine::{FineChunks, FineMap};
pub use self::measured::{Asked, Measured};
pub use self::name::DocumentName;
pub use self::pair::{common_views, request};

/// A chunk in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length_bytes: u32,
    /// What it is.
    pub tag: Tag,
    /// Whether it is a template, and carries no evidence.
    pub template: bool,
}

/// Bytes that stand in both, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Where they begin in the first.
    pub a: u64,
    /// Where they begin in the second.
    pub b: u64,
    /// How many there are.
    pub length_bytes: u64,
}

/// Bytes of one document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub length_bytes: u64,
}

/// What two documents share, and where.
#[derive(Clone, Debug)]
pub struct Map {
    /// In the order of the first. Together they are as long as `measure` says that the two share.
    pub runs: Vec<Run>,
    /// How much it is.
    pub measure: PairMeasure,
    /// Templates in the first.
    pub templates_a: Vec<Stretch>,
    /// Templates in the second.
    pub templates_b: Vec<Stretch>,
    /// The chunks of either that the other does not have, or has less often, in their order; templates apart.
    left: [Vec<Placed>; 2],
    /// The sizes of the two.
    ends: [u64; 2],
}

impl Map {
    /// Lays two documents side by side. A chunk that stands several times meets as many of the other's as there are; where
    /// there is a choice, it goes on where the chunk before it stood.
    pub fn of(a: &[Placed], b: &[Placed]) -> Map {
        let mut free: HashMap<(Tag, u32), Vec<usize>> = HashMap::new();
        for (place, chunk) in b.iter().enumerate().filter(|(_, chunk)| !chunk.template).rev() {
            free.entry((chunk.tag, chunk.length_bytes)).or_default().push(place);
        }
        let mut taken = vec![false; b.len()];
        let (mut runs, mut shared_bytes): (Vec<Run>, u64) = (Vec::new(), 0);
        let mut left_of_a = Vec::new();
        let mut before: Option<usize> = None;
        for chunk in a.iter().filter(|chunk| !chunk.template) {
            let same = |other: &Placed| (other.tag, other.length_bytes) == (chunk.tag, chunk.length_bytes);
            let next = before.map(|place| place + 1);
            let follows =
                next.filter(|next| b.get(*next).is_some_and(|other| !other.template && same(other)) && !taken[*next]);
            let found = follows.or_else(|| {
                let places = free.get_mut(&(chunk.tag, chunk.length_bytes))?;
                // Those that were gone on with are taken already.
                std::iter::from_fn(|| places.pop()).find(|place| !taken[*place])
            });
            before = found;
            let Some(place) = found else {
                left_of_a.push(*chunk);
                continue;
            };
            taken[place] = true;
            shared_bytes += u64::from(chunk.length_bytes);
            let other = b[place];
            match runs.last_mut() {
                Some(run) if run.a + run.length_bytes == chunk.offset && run.b + run.length_bytes == other.offset => {
                    run.length_bytes += u64::from(chunk.length_bytes);
                }
                _ => {
                    runs.push(Run { a: chunk.offset, b: other.offset, length_bytes: chunk.length_bytes.into() });
                }
            }
        }
        let payload = |chunks: &[Placed]| {
            chunks.iter().filter(|chunk| !chunk.template).map(|one| u64::from(one.length_bytes)).sum()
        };
        let measure = PairMeasure { shared_bytes, a_payload_bytes: payload(a), b_payload_bytes: payload(b) };
        let left_of_b = b.iter().zip(taken).filter(|(chunk, taken)| !chunk.template && !taken).map(|(chunk, _)| *chunk);
        let end = |chunks: &[Placed]| chunks.last().map_or(0, |last| last.offset + u64::from(last.length_bytes));
        Map {
            runs,
            measure,
            templates_a: templates(a),
            templates_b: templates(b),
            left: [left_of_a, left_of_b.collect()],
            ends: [end(a), end(b)],
        }
    }
}

/// The templates of a document, those that follow each other as one.
fn templates(chunks: &[Placed]) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for chunk in chunks.iter().filter(|chunk| chunk.template) {
        let length_bytes = u64::from(chunk.length_bytes);
        match found.last_mut() {
            Some(last) if last.offset + last.length_bytes == chunk.offset => last.length_bytes += length_bytes,
            _ => found.push(Stretch { offset: chunk.offset, length_bytes }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use cognate_similarity::{ContentIndex, Posting};
    use proptest::prelude::*;

    use super::*;

    /// A document of chunks that are 10 bytes each; capitals are templates.
    fn document(chunks: &str) -> Vec<Placed> {
        let chunk = |(place, letter): (usize, u8)| Placed {
            offset: place as u64 * 10,
            length_bytes: 10,
            tag: Tag([letter; 16]),
            template: letter.is_ascii_uppercase(),
        };
        chunks.bytes().enumerate().map(chunk).collect()
    }

    fn runs(a: &str, b: &str) -> Vec<(u64, u64, u64)> {
        let map = Map::of(&document(a), &document(b));
        map.runs.iter().map(|run| (run.a / 10, run.b / 10, run.length_bytes / 10)).collect()
    }

    #[test]
    fn what_follows_in_both_is_one_run() {
        assert_eq!(runs("abcxdef", "abcydef"), [(0, 0, 3), (4, 4, 3)]);
        assert_eq!(runs("abc", "xxabc"), [(0, 2, 3)]);
        assert_eq!(runs("defabc", "abcdef"), [(0, 3, 3), (3, 0, 3)]);
        assert_eq!(runs("abc", "xyz"), []);
    }

    #[test]
    fn a_chunk_goes_on_where_the_one_before_it_stood() {
        // `a` stands twice in the second; the second time it is followed by `b`.
        assert_eq!(runs("xab", "ayxab"), [(0, 2, 3)]);
        assert_eq!(runs("aaa", "aa"), [(0, 0, 2)]);
    }

    #[test]
    fn templates_are_told_apart_and_end_no_payload() {
        let map = Map::of(&document("aTTb"), &document("aTb"));
        assert_eq!(map.templates_a, [Stretch { offset: 10, length_bytes: 20 }]);
        assert_eq!((map.measure.shared_bytes, map.measure.a_payload_bytes), (20, 20));
        assert_eq!(map.runs.len(), 2);
    }

    proptest! {
        #[test]
        fn runs_are_as_long_as_the_measure_says_and_lie_in_both(a in "[a-fT]{0,40}", b in "[a-fT]{0,40}") {
            let (left, right) = (document(&a), document(&b));
            let map = Map::of(&left, &right);
            let postings = |chunks: &[Placed]| -> Vec<Posting> {
                let posting = |chunk: &Placed| Posting {
                    tag: chunk.tag, length_bytes: chunk.length_bytes, content: ContentIndex(0), template: chunk.template,
                };
                chunks.iter().map(posting).collect()
            };
            prop_assert_eq!(map.measure, PairMeasure::of(&postings(&left), &postings(&right)));
            let total: u64 = map.runs.iter().map(|run| run.length_bytes).sum();
            prop_assert_eq!(total, map.measure.shared_bytes);
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let mut used = vec![false; b.len()];
            for run in &map.runs {
                for step in 0..run.length_bytes / 10 {
                    let at = |begin: u64| usize::try_from(begin / 10 + step).unwrap();
                    prop_assert_eq!(a[at(run.a)], b[at(run.b)]);
                    prop_assert!(!std::mem::replace(&mut used[at(run.b)], true), "a chunk is used once");
                }
            }
        }
    }
}
