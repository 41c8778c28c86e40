//! Rows of pass 5: the shared tags of a partition's members.

use crate::spill::Row;

/// Bytes of memory that lists take per row while they are built, rounded up; they keep less.
pub(crate) const JOIN_ROW_BYTES: u64 = 36;

/// A shared tag of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinRow {
    pub(crate) tag: u32,
    /// The member's place in the partition.
    pub(crate) member: u32,
    pub(crate) length_bytes: u32,
    pub(crate) count: u32,
}

impl Row for JoinRow {
    const BYTES: usize = <[u32; 4]>::BYTES;

    fn encode(&self, out: &mut [u8]) {
        [self.tag, self.member, self.length_bytes, self.count].encode(out);
    }

    fn decode(bytes: &[u8]) -> JoinRow {
        let [tag, member, length_bytes, count] = Row::decode(bytes);
        JoinRow { tag, member, length_bytes, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_its_bytes() {
        for row in [[0, 0, 0, 0], [1, 2, 3, 4], [u32::MAX; 4]] {
            let [tag, member, length_bytes, count] = row;
            let mut bytes = [0; JoinRow::BYTES];
            JoinRow { tag, member, length_bytes, count }.encode(&mut bytes);
            let read = JoinRow::decode(&bytes);
            assert_eq!([read.tag, read.member, read.length_bytes, read.count], row);
        }
    }
}
