//! A component beyond the memory budget, cut into slices that are joined two by two.
//!
//! Members are cut in their order, by ascending payload, so that a slice's lists take half of what a partition may. The
//! smaller content of a pair is in one slice and the larger in the same or a later one; each two slices are in memory
//! together once, and only pairs with a member in each count then. So every pair is measured once, whatever the cut.

use crate::budget::SliceLimits;
use crate::error::Error;
use crate::join_row::JoinRow;
use crate::spill::{Buckets, BucketsOptions, SpillFolder};

/// The rows of an oversized partition by slices.
pub(crate) struct Slices<'s> {
    rows: Buckets<'s, JoinRow>,
    /// The first member of each slice, and the end.
    starts: Vec<u32>,
    /// Rows of each member.
    row_counts: Vec<u32>,
}

/// Two slices that are joined, or one with itself.
pub(crate) struct Block {
    /// Rows whose members are numbered within the block, those of the first slice before those of the second.
    pub(crate) rows: Vec<JoinRow>,
    /// The members of the slices, by their places in the partition.
    pub(crate) members: Vec<u32>,
    /// Members of the first slice where there are two.
    pub(crate) first_members: Option<u32>,
}

impl<'s> Slices<'s> {
    /// Moves the rows of a partition of `members` members to slices of `rows_max` rows, one member at least.
    pub(crate) fn cut(
        folder: &'s SpillFolder,
        parts: &Buckets<'_, JoinRow>,
        partition: usize,
        members: usize,
        limits: SliceLimits,
    ) -> Result<Slices<'s>, Error> {
        let mut row_counts = vec![0u32; members];
        parts.scan(partition, |rows| {
            rows.iter().for_each(|row| row_counts[row.member as usize] += 1);
            Ok(())
        })?;
        let (mut starts, mut slice_of, mut rows) = (vec![0], Vec::with_capacity(members), 0);
        for (member, &count) in (0u32..).zip(&row_counts) {
            let count = u64::from(count);
            if rows > 0 && rows + count > limits.rows_max {
                starts.push(member);
                rows = 0;
            }
            rows += count;
            slice_of.push(starts.len() - 1);
        }
        starts.push(u32::try_from(members).expect("contents have 31-bit numbers"));
        let options = BucketsOptions {
            name: "slices",
            count: starts.len() - 1,
            memory_bytes_max: limits.memory_bytes_max,
            writers: 1,
        };
        let slices = Slices { rows: Buckets::new(folder, &options), starts, row_counts };
        let mut writer = slices.rows.writer();
        parts
            .scan(partition, |rows| rows.iter().try_for_each(|row| writer.push(slice_of[row.member as usize], *row)))?;
        writer.finish()?;
        parts.clear(partition)?;
        Ok(slices)
    }

    /// Rows of each member of the partition.
    pub(crate) fn row_counts(&self) -> &[u32] {
        &self.row_counts
    }

    /// Visits all rows, whose members are numbered as in the partition, and removes them.
    pub(crate) fn drain(&self, mut visit: impl FnMut(&JoinRow) -> Result<(), Error>) -> Result<(), Error> {
        (0..self.rows.count()).try_for_each(|slice| {
            self.rows.scan(slice, |rows| rows.iter().try_for_each(&mut visit))?;
            self.rows.clear(slice)
        })
    }

    /// All blocks, by their slices.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let count = self.rows.count();
        (0..count).flat_map(move |first| (first..count).map(move |second| (first, second)))
    }

    /// Reads a block.
    pub(crate) fn read(&self, first: usize, second: usize) -> Result<Block, Error> {
        let slices = if first == second { vec![first] } else { vec![first, second] };
        let count: u64 = slices.iter().map(|&slice| self.rows.rows(slice)).sum();
        let mut rows = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        let mut members = Vec::new();
        for &slice in &slices {
            let (start, end) = (self.starts[slice], self.starts[slice + 1]);
            let base = u32::try_from(members.len()).expect("contents have 31-bit numbers");
            self.rows.scan(slice, |slice| {
                rows.extend(slice.iter().map(|row| JoinRow { member: row.member - start + base, ..*row }));
                Ok(())
            })?;
            members.extend(start..end);
        }
        let first_members = (first != second).then(|| self.starts[first + 1] - self.starts[first]);
        Ok(Block { rows, members, first_members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of members; `counts` has the number of each.
    fn parts<'s>(folder: &'s SpillFolder, counts: &[u32]) -> Buckets<'s, JoinRow> {
        let options = BucketsOptions { name: "parts", count: 1, memory_bytes_max: 1 << 20, writers: 1 };
        let parts = Buckets::new(folder, &options);
        let mut writer = parts.writer();
        for (member, &count) in (0u32..).zip(counts) {
            for tag in 0..count {
                writer.push(0, JoinRow { tag, member, length_bytes: member, count: 1 }).unwrap();
            }
        }
        writer.finish().unwrap();
        parts
    }

    #[test]
    fn every_pair_of_members_counts_in_exactly_one_block() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        for (counts, rows_max) in [
            (vec![1, 1], 1),
            (vec![3, 3, 3, 3, 3], 6),
            (vec![9, 1, 1, 9, 2], 4),
            (vec![2, 2, 2, 2, 2, 2, 2], 100),
            (vec![1, 0, 5, 0, 1], 2),
        ] {
            let parts = parts(&folder, &counts);
            let slices =
                Slices::cut(&folder, &parts, 0, counts.len(), SliceLimits { rows_max, memory_bytes_max: 1 << 20 })
                    .unwrap();
            assert_eq!(slices.row_counts(), counts);
            assert_eq!(parts.rows(0), 0, "the rows have moved");
            let mut pairs = Vec::new();
            for numbers in slices.blocks() {
                let block = slices.read(numbers.0, numbers.1).unwrap();
                assert!(block.members.is_sorted());
                // Each row still belongs to its member.
                let of = |row: &JoinRow| block.members[row.member as usize];
                assert!(block.rows.iter().all(|row| of(row) == row.length_bytes));
                let expected: u32 = block.members.iter().map(|&member| counts[member as usize]).sum();
                assert_eq!(block.rows.len(), expected as usize);
                for (a, &x) in (0u32..).zip(&block.members) {
                    for (b, &y) in (0u32..).zip(&block.members).skip(a as usize + 1) {
                        if block.first_members.is_none_or(|first| a < first && b >= first) {
                            pairs.push((x, y));
                        }
                    }
                }
            }
            pairs.sort_unstable();
            let members = u32::try_from(counts.len()).unwrap();
            let expected: Vec<_> = (0..members).flat_map(|a| (a + 1..members).map(move |b| (a, b))).collect();
            assert_eq!(pairs, expected, "{counts:?} {rows_max}");
        }
    }

    #[test]
    fn a_slice_has_at_most_the_rows_allowed_unless_one_member_has_more() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        let parts = parts(&folder, &[4, 4, 4, 20, 1, 1]);
        let slices =
            Slices::cut(&folder, &parts, 0, 6, SliceLimits { rows_max: 8, memory_bytes_max: 1 << 20 }).unwrap();
        let sizes: Vec<usize> = (0..4).map(|slice| slices.read(slice, slice).unwrap().rows.len()).collect();
        assert_eq!(sizes, [8, 4, 20, 2]);
        assert_eq!(slices.blocks().count(), 10);
    }

    #[test]
    fn draining_visits_every_row_once_and_forgets_it() {
        let folder = SpillFolder::new(std::path::Path::new("/nonexistent"));
        let parts = parts(&folder, &[2, 3, 1]);
        let slices =
            Slices::cut(&folder, &parts, 0, 3, SliceLimits { rows_max: 2, memory_bytes_max: 1 << 20 }).unwrap();
        for expected in [vec![0, 0, 1, 1, 1, 2], vec![]] {
            let mut members = Vec::new();
            slices
                .drain(|row| {
                    members.push(row.member);
                    Ok(())
                })
                .unwrap();
            members.sort_unstable();
            assert_eq!(members, expected);
        }
    }
}
