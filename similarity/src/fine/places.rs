//! The places of the bytes that fine chunks of two contents have in common: as many as were counted, in either content.
//!
//! The two contents may count differently, and the lesser sum is what they share. So the places are those of the content that
//! counts less, each with the place opposite to it. Fine chunks of a run have the same length in both contents. A border is
//! drawn without the byte that is farthest from its run, as long as it is in the content that counts; of these bytes some
//! differ, and only the four next to the run are known to agree.

use super::{Common, FineMeasure, NOWHERE, Side, are_chunks};

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
    /// The places of the bytes in common, after [`shared_bytes`](FineMeasure::shared_bytes): their lengths add up to it.
    /// `starts` has, for each side, the offset of every chunk in the order in which they were added.
    ///
    /// Next to an end of the second content, a border may be longer than the bytes that are opposite to it.
    ///
    /// # Panics
    /// If `starts` has another number of offsets than there are chunks.
    pub fn places(&self, starts: [&[u64]; 2]) -> Vec<FinePlace> {
        let own = usize::from(self.counted_bytes[1] < self.counted_bytes[0]);
        let offsets = [0, 1].map(|side| self.sides[side].offsets(starts[side]));
        let sides = Opposite { own: &self.sides[own], other: &self.sides[1 - own], row: self.row };
        let mut places = Vec::new();
        let mut expected = None;
        for place in 0..sides.own.fine.len() {
            let length_bytes = u64::from(sides.own.fine[place].length_bytes);
            let own_at = offsets[own][place];
            let other_at = |place: usize| offsets[1 - own][place];
            let (own_at, other_at, length_bytes) = match sides.own.common[place] {
                Common::Not => {
                    expected = None;
                    continue;
                }
                Common::Run => {
                    let partner = sides.partner(place, expected);
                    expected = Some(partner + 1);
                    (own_at, other_at(partner), length_bytes)
                }
                Common::Border => {
                    expected = None;
                    let counted = length_bytes - 1;
                    match sides.after_run(place) {
                        Some(opposite) => (own_at, other_at(opposite), counted),
                        None => (own_at + 1, other_at(sides.run_after(place)).saturating_sub(counted), counted),
                    }
                }
            };
            let (a, b) = if own == 0 { (own_at, other_at) } else { (other_at, own_at) };
            if length_bytes > 0 {
                places.push(FinePlace { a, b, length_bytes });
            }
        }
        places
    }
}

/// The content that counts, and the other one.
struct Opposite<'a> {
    own: &'a Side,
    other: &'a Side,
    /// Fine chunks of a row.
    row: usize,
}

impl Opposite<'_> {
    /// The fine chunk opposite to one in a run: `expected`, if a row leads there, so that as much as possible follows each
    /// other in both.
    fn partner(&self, place: usize, expected: Option<usize>) -> usize {
        let through = |back: usize| {
            let partner = self.own.partners[place.checked_sub(back)?];
            (partner != NOWHERE).then_some(partner as usize + back)
        };
        let mut all = (0..self.row).filter_map(through).peekable();
        let first = *all.peek().expect("a fine chunk in a run is in a row");
        all.find(|partner| Some(*partner) == expected).unwrap_or(first)
    }

    /// The fine chunk opposite to a border, if the border follows a run.
    fn after_run(&self, place: usize) -> Option<usize> {
        let last_row = place.checked_sub(self.row).filter(|_| self.own.common[place - 1] == Common::Run)?;
        let opposite = self.own.partners[last_row] as usize + self.row;
        let (own, other) = (self.own.fine[place], self.other.fine[opposite]);
        (are_chunks(own, other) && own.begins_like(other)).then_some(opposite)
    }

    /// Where the run that follows a border begins in the other content.
    fn run_after(&self, place: usize) -> usize {
        self.own.partners[place + 1] as usize
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
                measure.add(side, &fine);
                starts[side].push(offset);
                offset += 50 + fine.iter().map(|fine| u64::from(fine.length_bytes)).sum::<u64>();
            }
        }
        let shared_bytes = measure.shared_bytes();
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
        assert_eq!(
            places(&[&[3, 7, 6, 7, 6]], &[&[7, 6, 7, 6]]),
            [(1007, 2000, 11), (1018, 2011, 10), (1028, 2021, 11), (1039, 2032, 10),]
        );
        assert_eq!(places(&[&[1, 2], &[7, 6, 7]], &[&[7, 6, 7]])[0], (1061, 2000, 11));
        assert_eq!(places(&[&[7, 6]], &[&[7, 6]]), []);
    }

    #[test]
    fn a_border_is_next_to_its_run_and_lacks_the_byte_that_is_farthest() {
        // 17 begins like 41 and ends unlike it; 7 and 6 have eleven and ten bytes.
        assert_eq!(places(&[&[7, 6, 7, 17]], &[&[7, 6, 7, 41]]).last(), Some(&(1032, 2032, 4)));
        // 16 ends like 17.
        assert_eq!(places(&[&[16, 7, 6, 7]], &[&[17, 7, 6, 7]]).first(), Some(&(1001, 2002, 3)));
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
            let own = usize::from(measure.counted_bytes[1] < measure.counted_bytes[0]);
            let mut ends: Vec<(u64, u64)> = places
                .iter()
                .map(|place| [place.a, place.b][own])
                .zip(places.iter().map(|place| place.length_bytes))
                .map(|(at, length_bytes)| (at, at + length_bytes))
                .collect();
            ends.sort_unstable();
            prop_assert!(ends.windows(2).all(|two| two[0].1 <= two[1].0), "no byte is counted twice");
            // A fine chunk of a run is opposite to one with its tag and length.
            let at = |side: usize, offset: u64| {
                let offsets = measure.sides[side].offsets(&starts[side]);
                offsets.iter().position(|one| *one == offset).map(|place| measure.sides[side].fine[place])
            };
            for place in &places {
                let (of_a, of_b) = (at(0, place.a), at(1, place.b));
                if let Some((of_a, of_b)) = of_a.zip(of_b)
                    && u64::from(of_a.length_bytes) == place.length_bytes
                    && of_a.length_bytes == of_b.length_bytes
                {
                    let is_border = of_a.begins_like(of_b) || of_a.ends_like(of_b);
                    prop_assert!(of_a == of_b || is_border);
                }
            }
        }
    }
}
