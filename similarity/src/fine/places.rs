//! The places of the bytes that fine chunks of two contents have in common: as many as were counted, in either content.
//!
//! The two contents may count differently, and the lesser sum is what they share. So the places are those of the content that
//! counts less, each with the place opposite to it. A run has the same length in both contents, and so have its borders: of a border
//! the bytes next to the run are drawn, of which some may differ.

use super::{CountedRun, FineMeasure, Side};

/// Bytes in common, with their places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FinePlace {
    /// The place in the first content.
    pub a: u64,
    /// The place in the second content.
    pub b: u64,
    /// The number of bytes.
    pub length_bytes: u64,
}

impl FineMeasure {
    /// The places of the bytes in common, after [`shared_bytes`](FineMeasure::shared_bytes), a run with its borders each: their lengths
    /// add up to it. `starts` has, for each side, the offset of every chunk in the order in which they were added.
    ///
    /// # Panics
    /// If `starts` has another number of offsets than there are chunks.
    pub fn places(&self, starts: [&[u64]; 2]) -> Vec<FinePlace> {
        let own = self.lesser();
        let offsets = [0, 1].map(|side| self.sides[side].offsets(starts[side]));
        let place = |counted: &CountedRun| {
            let CountedRun { run, before, skipped, after } = counted;
            let [before, skipped, after] = [*before, *skipped, *after].map(u64::from);
            let fine = &self.sides[own].fine[run.fine.clone()];
            let length_bytes: u64 = fine.iter().map(|fine| u64::from(fine.length_bytes)).sum();
            let start = |offset: u64| offset + skipped - before;
            let (own_at, other_at) = (start(offsets[own][run.fine.start]), start(offsets[1 - own][run.partner]));
            let (a, b) = if own == 0 { (own_at, other_at) } else { (other_at, own_at) };
            FinePlace { a, b, length_bytes: before + length_bytes - skipped + after }
        };
        self.sides[own].runs.iter().map(place).collect()
    }

    /// The side that counts less.
    fn lesser(&self) -> usize {
        let [a, b] =
            [0, 1].map(|side: usize| self.sides[side].counted.iter().map(|bytes| u64::from(*bytes)).sum::<u64>());
        usize::from(b < a)
    }
}

impl Side {
    /// The offset of each fine chunk, and of each end of a chunk.
    fn offsets(&self, starts: &[u64]) -> Vec<u64> {
        let mut starts = starts.iter().copied();
        let mut next = starts.next().unwrap_or(0);
        let offset = |fine: &super::FineChunk| {
            let offset = next;
            next = match fine.length_bytes {
                0 => starts.next().unwrap_or(0),
                length_bytes => next + u64::from(length_bytes),
            };
            offset
        };
        let offsets = self.fine.iter().map(offset).collect();
        assert!(starts.next().is_none(), "each chunk has an offset");
        offsets
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::FineChunk;
    use proptest::prelude::*;

    use super::*;

    /// Fine chunks of 4 to 11 bytes.
    fn of_numbers(numbers: &[u8]) -> Vec<FineChunk> {
        numbers.iter().map(|number| FineChunk { tag: *number, length_bytes: 4 + number % 8 }).collect()
    }

    fn measured(contents: [&[Vec<u8>]; 2]) -> (FineMeasure, u64, [Vec<u64>; 2]) {
        let mut measure = FineMeasure::default();
        measure.begin();
        let mut starts = [Vec::new(), Vec::new()];
        for (side, chunks) in contents.into_iter().enumerate() {
            // Between two chunks are bytes that are in common as a chunk.
            let mut offset = 1000 * (side as u64 + 1);
            for chunk in chunks {
                let fine = of_numbers(chunk);
                measure.add(side, &fine, &[]);
                starts[side].push(offset);
                offset += 50 + fine.iter().map(|fine| u64::from(fine.length_bytes)).sum::<u64>();
            }
        }
        let shared_bytes = measure.shared_bytes().all;
        (measure, shared_bytes, starts)
    }

    fn places(a: &[&[u8]], b: &[&[u8]]) -> Vec<(u64, u64, u64)> {
        let own = |chunks: &[&[u8]]| chunks.iter().map(|chunk| chunk.to_vec()).collect::<Vec<_>>();
        let (measure, _, starts) = measured([&own(a), &own(b)]);
        let found = measure.places([&starts[0], &starts[1]]);
        found.iter().map(|place| (place.a, place.b, place.length_bytes)).collect()
    }

    #[test]
    fn a_run_is_at_its_place_in_both_contents() {
        assert_eq!(places(&[&[3, 7, 6, 7, 6]], &[&[7, 6, 7, 6]]), [(1007, 2000, 42)]);
        assert_eq!(places(&[&[1, 2], &[7, 6, 7]], &[&[7, 6, 7]]), [(1061, 2000, 32)]);
        assert_eq!(places(&[&[7, 6]], &[&[7, 6]]), []);
    }

    #[test]
    fn a_border_is_next_to_its_run_and_lacks_a_byte_of_the_shorter_one() {
        // 17 begins like 41 and ends unlike it, both have five bytes; 7 and 6 have eleven and ten bytes.
        assert_eq!(places(&[&[7, 6, 7, 17]], &[&[7, 6, 7, 41]]), [(1000, 2000, 36)]);
        // 16 ends like 17, and has four bytes.
        assert_eq!(places(&[&[16, 7, 6, 7]], &[&[17, 7, 6, 7]]), [(1001, 2002, 35)]);
    }

    proptest! {
        #[test]
        fn the_places_are_as_many_bytes_as_were_counted_and_runs_agree(
            a in prop::collection::vec(prop::collection::vec(0_u8..40, 1..12), 0..5),
            b in prop::collection::vec(prop::collection::vec(0_u8..40, 1..12), 0..5),
            common in prop::collection::vec(0_u8..40, 3..8),
        ) {
            let with_common = |mut content: Vec<Vec<u8>>| {
                content.iter_mut().for_each(|chunk| chunk.extend(&common));
                content
            };
            let (a, b) = (with_common(a), with_common(b));
            let (measure, shared_bytes, starts) = measured([&a, &b]);
            let places = measure.places([&starts[0], &starts[1]]);
            prop_assert_eq!(places.iter().map(|place| place.length_bytes).sum::<u64>(), shared_bytes);
            let own = measure.lesser();
            let mut ends: Vec<(u64, u64)> = places
                .iter()
                .map(|place| [place.a, place.b][own])
                .zip(places.iter().map(|place| place.length_bytes))
                .map(|(at, length_bytes)| (at, at + length_bytes))
                .collect();
            ends.sort_unstable();
            prop_assert!(ends.windows(2).all(|two| two[0].1 <= two[1].0), "no byte is counted twice");
        }
    }
}
