//! The shared runs of given documents, by the lengths of their own chunks.

use crate::run_length::lengths::RunLengths;

/// Evenly spread positions at which a shared run may begin.
#[derive(Default)]
pub(super) struct Positions {
    stride: u64,
    /// The distance of the next position from the start of the next document.
    next: u64,
    runs: Vec<Run>,
}

/// A run that begins at one of the positions.
struct Run {
    /// The length from which on it is found.
    needed_bytes: u64,
    /// The length that the document leaves for it.
    possible_bytes: u64,
}

impl Positions {
    /// Positions every `stride` bytes.
    pub(super) fn every(stride: u64) -> Positions {
        Positions { stride, next: stride / 2, runs: Vec::new() }
    }

    /// Adds the positions of a document, given the lengths of its chunks in order. `alignments` are the bytes that two
    /// chunkers needed in the simulation until they agreed on a cut.
    pub(super) fn add(&mut self, lengths: &[u32], alignments: &[u64]) {
        let size: u64 = lengths.iter().copied().map(u64::from).sum();
        let mut begin = 0;
        for (chunk, &length) in lengths.iter().enumerate() {
            let length = u64::from(length);
            let end = begin + length;
            while self.next < end {
                let place = self.next;
                let after = lengths.get(chunk + 1).map(|next| end - place + u64::from(*next));
                let alone = if place == begin { Some(length) } else { after };
                let alignment = alignments[self.runs.len() % alignments.len()];
                let needed_bytes = alone.map_or(u64::MAX, |alone| alone + alignment);
                self.runs.push(Run { needed_bytes, possible_bytes: size - place });
                self.next += self.stride;
            }
            begin = end;
        }
        self.next -= size;
    }

    /// The least lengths at which 50, 95 and 99 % of the runs are found, among runs that fit into the documents.
    pub(super) fn lengths(&self) -> RunLengths {
        let longest = self.runs.iter().map(|run| run.possible_bytes).max().unwrap_or(0);
        RunLengths::each(|share| {
            // Each length is a fiftieth longer than the last one.
            let grown = |length: &u64| Some(length + (length / 50).max(1));
            std::iter::successors(Some(1), grown)
                .take_while(|length| *length <= longest)
                .find(|length| self.are_found(*length, share))
        })
    }

    /// True if at least `share` of the runs of a length are found.
    fn are_found(&self, length: u64, share: f64) -> bool {
        let possible = || self.runs.iter().filter(|run| run.possible_bytes >= length);
        let found = possible().filter(|run| run.needed_bytes <= length).count();
        let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        found > 0 && float(found) >= share * float(possible().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_from_the_end_of_the_first_complete_chunk_after_its_start() {
        // One document of four chunks of 100 bytes, a position every 50 bytes from 25 on, no bytes for agreeing.
        let mut positions = Positions::every(50);
        positions.add(&[100; 4], &[0]);
        let needed: Vec<u64> = positions.runs.iter().map(|run| run.needed_bytes).collect();
        assert_eq!(needed, [175, 125, 175, 125, 175, 125, u64::MAX, u64::MAX]);
        let possible: Vec<u64> = positions.runs.iter().map(|run| run.possible_bytes).collect();
        assert_eq!(possible, [375, 325, 275, 225, 175, 125, 75, 25]);
        // From 126 bytes on two of the five possible runs are found, from 175 on all. (The lengths grow by a fiftieth.)
        assert!(!positions.are_found(124, 0.1) && positions.are_found(126, 0.4) && !positions.are_found(126, 0.41));
        assert_eq!(positions.lengths(), RunLengths { p50: Some(177), p95: Some(177), p99: Some(177) });
    }

    #[test]
    fn a_position_at_the_start_of_a_chunk_needs_only_that_chunk() {
        let mut positions = Positions { stride: 100, next: 0, runs: Vec::new() };
        positions.add(&[100, 40, 60], &[7]);
        let needed: Vec<u64> = positions.runs.iter().map(|run| run.needed_bytes).collect();
        assert_eq!(needed, [107, 47]);
    }

    #[test]
    fn positions_go_on_from_document_to_document() {
        let (mut one, mut two) = (Positions::every(64), Positions::every(64));
        one.add(&[1000], &[0]);
        two.add(&[400], &[0]);
        two.add(&[600], &[0]);
        assert_eq!(one.runs.len(), two.runs.len());
        assert_eq!(Positions::every(64).lengths(), RunLengths::default());
    }
}
