//! Documents with runs of zeros that need not be read, as the holes of sparse files.

use std::io::{self, Read};

/// A reader that may know of zeros ahead.
pub trait ReadSparse: Read {
    /// Number of bytes from the next one on that are certainly zero; 0 where nothing is known about them.
    ///
    /// # Errors
    /// If the document cannot be read.
    fn zeros_ahead(&mut self) -> io::Result<u64>;

    /// Goes on after so many of these bytes, at most as many as [`ReadSparse::zeros_ahead`] has just returned.
    ///
    /// # Errors
    /// If the document cannot be read.
    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()>;
}

/// A document of which every byte is read.
pub struct Dense<R>(pub R);

impl<R: Read> Read for Dense<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read> ReadSparse for Dense<R> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        Ok(0)
    }

    fn skip_zeros(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}
