//! Where the bytes of a document come from.

use std::io::{Cursor, Read, Seek};

/// The bytes of one document: a file, or a member that was unpacked into memory.
pub trait Source: Read + Seek {
    /// How many there are.
    fn length_bytes(&self) -> u64;
}

impl Source for Cursor<&[u8]> {
    fn length_bytes(&self) -> u64 {
        self.get_ref().len() as u64
    }
}

impl Source for Cursor<Vec<u8>> {
    fn length_bytes(&self) -> u64 {
        self.get_ref().len() as u64
    }
}
