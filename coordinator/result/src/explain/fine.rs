//! The bytes that two documents share beyond common chunks: the runs of fine chunks that a scan counts, with their places.

use std::sync::Arc;

use cognate_fingerprint::{FineChunk, Tag};
use cognate_similarity::PairMeasure;
use cognate_similarity::fine::{FineMeasure, FinePlace};

use super::{Map, Placed, Run};

/// The fine chunks of a chunk, if they are known.
pub type FineChunks = Option<Arc<[FineChunk]>>;

/// Two documents measured by chunks and fine chunks.
#[derive(Clone, Debug)]
pub struct FineMap {
    /// The common parts, and the measure that follows from them.
    pub map: Map,
    /// The same measured closely, as a scan does with pairs that are not far from a link; nothing if that shows no more.
    pub closely: Option<Map>,
    /// The distinct chunks that are left of either and whose fine chunks are not known: nothing of them counts.
    pub unknown_chunks: u64,
}

impl Map {
    /// Adds the common parts of the chunks that the two do not share, as a scan counts them (`similarity::fine`). `fine` has
    /// the fine chunks of a chunk.
    ///
    /// # Errors
    /// The error of `fine`.
    pub fn finely<E>(&self, fine: &mut dyn FnMut(&Tag) -> Result<FineChunks, E>) -> Result<FineMap, E> {
        let mut found = FineMap { map: self.clone(), closely: None, unknown_chunks: 0 };
        // If nothing is left of one of the two, they have nothing more in common.
        if self.left.iter().any(Vec::is_empty) {
            return Ok(found);
        }
        let mut measure = FineMeasure::default();
        measure.begin();
        let mut starts = [Vec::new(), Vec::new()];
        for (side, left) in self.left.iter().enumerate() {
            let mut left: Vec<&Placed> = left.iter().collect();
            // The order of scans: where a row occurs more often in one of the two, the first ones count.
            left.sort_unstable_by_key(|chunk| (chunk.tag, chunk.length_bytes, chunk.offset));
            for same in left.chunk_by(|a, b| a.tag == b.tag) {
                let Some(fine) = fine(&same[0].tag)? else {
                    found.unknown_chunks += 1;
                    continue;
                };
                for chunk in same {
                    measure.add(side, &fine, &[]);
                    starts[side].push(chunk.offset);
                }
            }
        }
        let fine_bytes = measure.shared_bytes().all;
        found.map = self.with_fine(fine_bytes, &measure.places([&starts[0], &starts[1]]));
        let closely_bytes = measure.shared_bytes_closely().all;
        found.closely = (closely_bytes > fine_bytes)
            .then(|| self.with_fine(closely_bytes, &measure.places([&starts[0], &starts[1]])));
        Ok(found)
    }

    /// The map with common parts of so many bytes more.
    fn with_fine(&self, fine_bytes: u64, places: &[FinePlace]) -> Map {
        let places = places.iter().map(|place| {
            // A border may be longer than what is opposite to it at the end of a document.
            let within = |at: u64, end: u64| at.min(end.saturating_sub(place.length_bytes));
            Run { a: within(place.a, self.ends[0]), b: within(place.b, self.ends[1]), length_bytes: place.length_bytes }
        });
        let runs = joined(self.runs.iter().copied().chain(places).collect());
        let measure = PairMeasure { shared_bytes: self.measure.shared_bytes + fine_bytes, ..self.measure };
        Map { runs, measure, ..self.clone() }
    }
}

/// Runs in the order of the first document, those that follow each other in both as one.
fn joined(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable_by_key(|run| (run.a, run.b));
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.a + last.length_bytes == run.a && last.b + last.length_bytes == run.b => {
                last.length_bytes += run.length_bytes;
            }
            _ => joined.push(run),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;

    use cognate_fingerprint::{FineCutter, Key, Method, View};

    use super::*;

    /// The chunks of a text, and the fine chunks of each.
    fn chunks(text: &str, known: &mut HashMap<Tag, FineChunks>) -> Vec<Placed> {
        let method = Method::tttd(View::Raw, 200).unwrap();
        let cutter = FineCutter::new(&Key::none());
        let mut chunks = Vec::new();
        method.fingerprinter(&Key::none()).slice(text.as_bytes(), |chunk| {
            let (offset, length_bytes, tag) = (chunk.offset, chunk.length_bytes, chunk.tag);
            let start = usize::try_from(offset).unwrap();
            let mut fine = Vec::new();
            cutter.cut(&text.as_bytes()[start..start + length_bytes as usize], |one| fine.push(one));
            known.insert(tag, Some(fine.into()));
            chunks.push(Placed { offset, length_bytes, tag, template: false });
        });
        chunks
    }

    fn lines(edited: bool) -> String {
        let line = |number: u64| {
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let word = if edited && number % 5 == 4 && number > 20 { "another" } else { "same" };
            format!("{number} {mixed:x} {word} {:x}\n", mixed.rotate_left(23) ^ number)
        };
        (0..200).map(line).collect()
    }

    fn maps(a: &str, b: &str, without: usize) -> (Map, FineMap) {
        let mut known = HashMap::new();
        let (of_a, of_b) = (chunks(a, &mut known), chunks(b, &mut known));
        let map = Map::of(&of_a, &of_b);
        map.left[0].iter().take(without).for_each(|chunk| drop(known.remove(&chunk.tag)));
        let fine = |tag: &Tag| Ok::<_, Infallible>(known.get(tag).cloned().flatten());
        let fine = map.finely(&mut { fine }).unwrap();
        (map, fine)
    }

    #[test]
    fn the_drawn_runs_are_as_long_as_what_is_shared_and_hold_the_same_bytes() {
        let (a, b) = (lines(false), lines(true));
        let (coarse, fine) = maps(&a, &b, 0);
        assert_eq!(fine.unknown_chunks, 0);
        let shared_bytes = fine.map.measure.shared_bytes;
        assert!(
            shared_bytes > 2 * coarse.measure.shared_bytes && shared_bytes * 10 > 6 * a.len() as u64,
            "{shared_bytes}"
        );
        assert_eq!(fine.map.runs.iter().map(|run| run.length_bytes).sum::<u64>(), shared_bytes);
        assert!(fine.map.runs.windows(2).all(|two| two[0].a + two[0].length_bytes <= two[1].a));
        // A chunk and the run next to it are one: no run of a chunk alone is left where the line goes on.
        assert!(fine.map.runs[0].a == 0 && fine.map.runs[0].length_bytes > coarse.runs[0].length_bytes);
        let mut same = 0;
        for run in &fine.map.runs {
            let of = |text: &str, at: u64| text.as_bytes()[usize::try_from(at).unwrap()..].to_vec();
            let (of_a, of_b) = (of(&a, run.a), of(&b, run.b));
            let length = usize::try_from(run.length_bytes).unwrap();
            same += (0..length).filter(|place| of_a[*place] == of_b[*place]).count();
        }
        // Of a border, bytes that differ may be drawn: at most fifteen at either end of a run.
        let drawn = usize::try_from(shared_bytes).unwrap();
        assert!(drawn - same < drawn / 20, "{same} of {drawn}");
    }

    #[test]
    fn of_short_runs_more_is_drawn_closely() {
        // 36 bytes in common and 16 that are not, one after the other.
        let mixed = |number: u64, salt: u64| (number + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let text = |salt| -> String {
            let line = |number: u64| {
                let (same, own) = (mixed(number, 0), mixed(number, salt));
                format!("{same:016x}{:016x}, \n{own:016x}", same.rotate_left(23) ^ number)
            };
            (0..100).map(line).collect()
        };
        let (_, fine) = maps(&text(1000), &text(2000), 0);
        let closely = fine.closely.unwrap();
        let drawn = |map: &Map| map.runs.iter().map(|run| run.length_bytes).sum::<u64>();
        assert_eq!(drawn(&closely), closely.measure.shared_bytes);
        assert!(drawn(&closely) > drawn(&fine.map), "{} and {}", drawn(&closely), drawn(&fine.map));
    }

    #[test]
    fn nothing_of_chunks_without_known_fine_chunks_counts_and_they_are_counted() {
        let (a, b) = (lines(false), lines(true));
        let (coarse, without) = maps(&a, &b, usize::MAX);
        assert_eq!(without.map.runs, coarse.runs);
        assert_eq!(without.map.measure, coarse.measure);
        assert!(without.unknown_chunks > 5);
        let (_, with) = maps(&a, &b, 0);
        let (_, some) = maps(&a, &b, 3);
        assert_eq!(some.unknown_chunks, 3);
        let shared = [&coarse, &some.map, &with.map].map(|map| map.measure.shared_bytes);
        assert!(shared[0] < shared[1] && shared[1] < shared[2], "{shared:?}");
    }

    #[test]
    fn a_document_within_another_has_nothing_more_in_common() {
        let (_, fine) = maps("one line and no more", "one line and no more", 0);
        assert_eq!((fine.unknown_chunks, fine.map.measure.shared_bytes), (0, 20));
    }
}
