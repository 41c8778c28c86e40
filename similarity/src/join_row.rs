//! Rows of pass 5: the shared tags of a partition's members.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes of memory that lists take per row while they are built, rounded up; they keep less.
pub(crate) const JOIN_ROW_BYTES: u64 = 36;

/// A shared tag of a member.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct JoinRow {
    pub(crate) tag: u32,
    /// The member's place in the partition.
    pub(crate) member: u32,
    pub(crate) length_bytes: u32,
    pub(crate) count: u32,
}
