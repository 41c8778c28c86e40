//! Kinds of calls to the disk.

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// A file is created, or opened by a call that would create it.
    Create,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file or a folder is synced.
    Sync,
    /// A file or a folder gets another name.
    Rename,
    /// A file is removed.
    Remove,
    /// A file gets another length.
    Resize,
}

/// All kinds.
pub(crate) const OPERATIONS: [Operation; 7] = [
    Operation::Create,
    Operation::Read,
    Operation::Write,
    Operation::Sync,
    Operation::Rename,
    Operation::Remove,
    Operation::Resize,
];

impl Operation {
    /// Its name in a description of a fault.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Sync => "sync",
            Operation::Rename => "rename",
            Operation::Remove => "remove",
            Operation::Resize => "resize",
        }
    }
}
