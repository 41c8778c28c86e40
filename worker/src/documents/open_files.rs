//! How much of the open files is read, for people who wait for a large one.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::ReadSparse;

/// The files that are open now, all together.
#[derive(Default, Debug)]
pub struct OpenFiles {
    /// Bytes of them that were read.
    pub read_bytes: AtomicU64,
    /// Bytes of them that are still to be read.
    pub left_bytes: AtomicU64,
}

/// A reader of a file that counts as open until it is dropped.
pub(crate) struct Open<'a, R> {
    inner: R,
    files: Option<&'a OpenFiles>,
    read_bytes: u64,
    left_bytes: u64,
}

impl<'a, R: Read> Open<'a, R> {
    /// `size_bytes` are expected of it.
    pub(crate) fn new(inner: R, size_bytes: u64, files: Option<&'a OpenFiles>) -> Open<'a, R> {
        if let Some(files) = files {
            files.left_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        }
        Open { inner, files, read_bytes: 0, left_bytes: size_bytes }
    }
}

impl<R: Read> Read for Open<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.pass(length as u64);
        Ok(length)
    }
}

impl<R> Open<'_, R> {
    /// So many bytes were read, or need not be.
    pub(super) fn pass(&mut self, bytes: u64) {
        let Some(files) = self.files else { return };
        let expected_bytes = bytes.min(self.left_bytes);
        self.read_bytes += bytes;
        self.left_bytes -= expected_bytes;
        files.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        files.left_bytes.fetch_sub(expected_bytes, Ordering::Relaxed);
    }
}

impl<R: ReadSparse> ReadSparse for Open<'_, R> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        self.inner.zeros_ahead()
    }

    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
        self.pass(bytes);
        self.inner.skip_zeros(bytes)
    }
}

impl<R> Drop for Open<'_, R> {
    fn drop(&mut self) {
        if let Some(files) = self.files {
            files.read_bytes.fetch_sub(self.read_bytes, Ordering::Relaxed);
            files.left_bytes.fetch_sub(self.left_bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_while_it_is_open_whatever_length_it_turns_out_to_have() {
        let files = OpenFiles::default();
        let counted = |read: u64, left: u64| {
            assert_eq!(files.read_bytes.load(Ordering::Relaxed), read);
            assert_eq!(files.left_bytes.load(Ordering::Relaxed), left);
        };
        let (mut shorter, mut longer) =
            (Open::new(&[0; 5][..], 8, Some(&files)), Open::new(&[0; 30][..], 20, Some(&files)));
        counted(0, 28);
        let mut buffer = [0; 5];
        shorter.read_exact(&mut buffer).unwrap();
        counted(5, 23);
        io::copy(&mut longer, &mut io::sink()).unwrap();
        counted(35, 3);
        drop(longer);
        counted(5, 3);
        drop(shorter);
        counted(0, 0);
    }
}
