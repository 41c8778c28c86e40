//! A component beyond the memory budget, cut into slices that are joined two by two.
//!
//! Members are cut in their order, by ascending payload, so that a slice's lists take half of what a partition may. The
//! smaller content of a pair is in one slice and the larger in the same or a later one; each two slices are in memory
//! together once, and only pairs with a member in each count then. So every pair is measured once, whatever the cut.

use crate::error::Error;
use crate::lists::JoinRow;
use crate::spill::{Buckets, BucketsOptions, SpillFolder};

/// The rows of an oversized partition by slices.
pub(crate) struct Slices<'s> {
    rows: Buckets<'s, JoinRow>,
    /// The first member of each slice, and the end.
    starts: Vec<u32>,
    /// Rows of each member.
    row_counts: Vec<u32>,
}

/// Two slices on their way into memory, or one with itself.
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
        (rows_max, memory_bytes_max): (u64, u64),
    ) -> Result<Slices<'s>, Error> {
        let mut row_counts = vec![0u32; members];
        parts.scan(partition, |rows| {
            rows.iter().for_each(|row| row_counts[row.member as usize] += 1);
            Ok(())
        })?;
        let (mut starts, mut slice_of, mut rows) = (vec![0], Vec::with_capacity(members), 0);
        for (member, &count) in (0u32..).zip(&row_counts) {
            let count = u64::from(count);
            if rows > 0 && rows + count > rows_max {
                starts.push(member);
                rows = 0;
            }
            rows += count;
            slice_of.push(starts.len() - 1);
        }
        starts.push(u32::try_from(members).expect("contents have 31-bit numbers"));
        let options = BucketsOptions { name: "slices", count: starts.len() - 1, memory_bytes_max, writers: 1 };
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

    /// Visits all rows, whose members are numbered as in the partition, and forgets them.
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
    pub(crate) fn read(&self, (first, second): (usize, usize)) -> Result<Block, Error> {
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
