//! Calls that change files, as they are recorded.

use std::ffi::OsString;

/// A file or folder, whatever its name is. The folder of the recording is 0.
pub type Node = usize;

/// A call that was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// A file or folder begins.
    Create {
        /// The folder that it is in.
        folder: Node,
        /// Its name.
        name: OsString,
        /// The new file or folder.
        node: Node,
        /// True if it is a folder.
        is_folder: bool,
    },
    /// A name goes.
    Remove {
        /// The folder that it is in.
        folder: Node,
        /// The name.
        name: OsString,
    },
    /// Something gets another name, in place of what had it.
    Rename {
        /// The folder that it was in.
        from: Node,
        /// Its name there.
        old: OsString,
        /// The folder that it is in now.
        to: Node,
        /// Its name there.
        new: OsString,
    },
    /// Bytes are written.
    Write {
        /// The file.
        node: Node,
        /// The place of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A file gets another length.
    Resize {
        /// The file.
        node: Node,
        /// The length.
        length: u64,
    },
    /// A file or folder is synced: all of it before this is on the disk.
    Sync {
        /// The file or folder.
        node: Node,
    },
    /// The test says that something was acknowledged.
    Mark(u64),
}
