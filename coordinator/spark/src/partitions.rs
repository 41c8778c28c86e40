//! Components of contents that could be linked, and the partitions of these: four bytes a content for the one, eight for the other.

use anyhow::{Result, bail};

/// Rows up to which components share a partition. A task has a partition in memory, or spills.
const ROWS_WANTED: u64 = 1 << 19;

/// Sets of contents; the root of a set is its smallest member, so that the order of unions does not matter.
pub(crate) struct Components {
    parents: Vec<u32>,
}

impl Components {
    pub(crate) fn new(contents: usize) -> Result<Components> {
        Ok(Components { parents: (0..u32::try_from(contents)?).collect() })
    }

    /// Makes one set of the sets of two contents.
    pub(crate) fn unite(&mut self, a: u32, b: u32) -> Result<()> {
        if a.max(b) as usize >= self.parents.len() {
            bail!("the cluster returned the content {}, and there are {}", a.max(b), self.parents.len());
        }
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
        Ok(())
    }

    fn root(&mut self, mut content: u32) -> u32 {
        while self.parents[content as usize] != content {
            let parent = self.parents[content as usize];
            self.parents[content as usize] = self.parents[parent as usize];
            content = self.parents[content as usize];
        }
        content
    }

    /// The partition of each content, [`NONE`] for those that could be linked with nothing, and the number of partitions. Components share
    /// a partition in the order of their smallest members; a large one has its own.
    pub(crate) fn pack(mut self, rows: &[u32]) -> Result<(Vec<u32>, i32)> {
        let contents = u32::try_from(self.parents.len())?;
        let mut sizes = vec![(0u64, 0u32); rows.len()];
        for content in 0..contents {
            let size = &mut sizes[self.root(content) as usize];
            *size = (size.0 + u64::from(rows[content as usize]), size.1 + 1);
        }
        let mut partitions = vec![NONE; rows.len()];
        let (mut last, mut filled, mut open) = (0u32, u64::MAX, NONE);
        for content in 0..contents {
            let root = self.root(content);
            let (size, members) = sizes[root as usize];
            if root == content && members > 1 {
                if filled.saturating_add(size) > ROWS_WANTED {
                    (open, filled) = (last, 0);
                    last += 1;
                }
                filled += size;
                partitions[content as usize] = open;
            } else if root != content {
                partitions[content as usize] = partitions[root as usize];
            }
        }
        Ok((partitions, i32::try_from(last)?))
    }
}

/// In place of a partition.
pub(crate) const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_stay_together_whatever_the_order_and_single_contents_are_left_out() {
        let edges = [(5, 9), (1, 2), (9, 2), (7, 8), (3, 3)];
        for turn in 0..edges.len() {
            let mut components = Components::new(10).unwrap();
            for at in 0..edges.len() {
                let (a, b) = edges[(at + turn) % edges.len()];
                components.unite(b, a).unwrap();
            }
            let (partitions, count) = components.pack(&[300_000; 10]).unwrap();
            assert_eq!(count, 2);
            let of = |partition| (0..10).filter(|content| partitions[*content] == partition).collect::<Vec<_>>();
            assert_eq!((of(0), of(1), of(NONE)), (vec![1, 2, 5, 9], vec![7, 8], vec![0, 3, 4, 6]));
        }
    }

    #[test]
    fn small_components_share_a_partition_up_to_its_rows() {
        let pack = |rows: u32| {
            let mut components = Components::new(8).unwrap();
            (0..8).step_by(2).for_each(|content| components.unite(content, content + 1).unwrap());
            components.pack(&[rows; 8]).unwrap().1
        };
        assert_eq!((pack(1), pack(1 << 17), pack(1 << 18), pack(1 << 30)), (1, 2, 4, 4));
        assert!(Components::new(3).unwrap().unite(1, 3).is_err());
    }
}
