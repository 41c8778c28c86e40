//! The holes of sparse files: their zeros are known without reading them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

use cognate_fingerprint::ReadSparse;

use super::file_calls::{FileCalls, no_answer};

/// A hole is skipped in pieces of this many bytes, so that a cancelled sync ends between two of them.
const SKIPPED_BYTES_MAX: u64 = 1 << 30;

/// The bytes of a file up to the length that it had when it was opened.
pub(crate) struct HoleReader<'f> {
    file: &'f File,
    calls: &'f FileCalls,
    /// The place of the next byte. That of the file is not used: every read would lock it.
    next: u64,
    left_bytes: u64,
    /// False once the file system has said that it knows of no holes.
    has_holes: bool,
}

impl<'f> HoleReader<'f> {
    pub(crate) fn new(file: &'f File, size_bytes: u64, calls: &'f FileCalls) -> HoleReader<'f> {
        HoleReader::from_place(file, 0, size_bytes, calls)
    }

    /// Reads from `place` on.
    pub(crate) fn from_place(file: &'f File, place: u64, size_bytes: u64, calls: &'f FileCalls) -> HoleReader<'f> {
        HoleReader { file, calls, next: place, left_bytes: size_bytes.saturating_sub(place), has_holes: true }
    }

    fn pass(&mut self, bytes: u64) {
        self.next += bytes;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
    }
}

impl Read for HoleReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left_bytes).map_or(buffer.len(), |left| left.min(buffer.len()));
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.calls.make(|| self.file.read_at(&mut buffer[..wanted], self.next))?;
        if self.calls.is_given_up() {
            return Err(no_answer());
        }
        self.pass(count as u64);
        Ok(count)
    }
}

impl ReadSparse for HoleReader<'_> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        if !self.has_holes {
            return Ok(0);
        }
        let data = match self.calls.make(|| rustix::fs::seek(self.file, rustix::fs::SeekFrom::Data(self.next))) {
            Ok(data) => data,
            // No data follow: the file ends with a hole.
            Err(rustix::io::Errno::NXIO) => self.file.metadata()?.len(),
            // The file system has no such question.
            Err(_) => {
                self.has_holes = false;
                self.next
            }
        };
        Ok(data.saturating_sub(self.next).min(self.left_bytes).min(SKIPPED_BYTES_MAX))
    }

    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
        self.pass(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate_fingerprint::{Key, Method, View};

    /// A file with these pieces, each zeros that are written, zeros that are not, or noise.
    fn file(pieces: &[(char, usize)], holes: bool) -> File {
        let file = tempfile::tempfile().unwrap();
        let mut at = 0;
        for (what, length) in pieces {
            let bytes: Vec<u8> = match what {
                'n' => (0..*length)
                    .map(|place| ((place * place) >> 3).to_le_bytes()[0] ^ (place % 251).to_le_bytes()[0])
                    .collect(),
                _ => vec![0; *length],
            };
            if *what != 'h' || !holes {
                file.write_all_at(&bytes, at).unwrap();
            }
            at += *length as u64;
        }
        file.set_len(at).unwrap();
        file
    }

    #[test]
    fn a_sparse_file_has_the_chunks_of_its_dense_copy_and_its_holes_are_not_read() {
        let large = 9_000_000;
        for pieces in [
            &[('h', large)][..],
            &[('n', 5), ('h', large), ('n', 100_000)],
            &[('n', 700_001), ('h', large), ('n', 1), ('h', large + 4097), ('n', 333)],
            &[('z', 400_000), ('h', large), ('z', 400_000), ('n', 4096), ('h', 4096), ('n', 1)],
            &[('h', 65), ('n', 3)],
        ] {
            for method in [Method::tttd(View::Raw, 1000), Method::tttd(View::Raw, 80), Method::tttd(View::Raw, 40_000)]
            {
                let mut fingerprinter = method.unwrap().fingerprinter(&Key::none());
                let mut read = |holes: bool| {
                    let file = file(pieces, holes);
                    let size_bytes = file.metadata().unwrap().len();
                    let mut counted =
                        Counted { inner: HoleReader::new(&file, size_bytes, FileCalls::unwatched()), bytes: 0 };
                    let mut chunks = Vec::new();
                    let content = fingerprinter.read_sparse(&mut counted, |chunk| {
                        chunks.push(chunk);
                        Ok(())
                    });
                    (content.unwrap(), chunks, counted.bytes)
                };
                let (sparse, dense) = (read(true), read(false));
                assert_eq!(sparse.0, dense.0, "{pieces:?}");
                assert!(sparse.1 == dense.1, "{pieces:?}");
                let holes: usize = pieces.iter().filter(|(what, _)| *what == 'h').map(|(_, length)| length).sum();
                // A few stretches at the beginning of each hole are read.
                assert!(holes < large || sparse.2 < dense.2 - holes as u64 + 2_000_000, "{pieces:?}: {}", sparse.2);
            }
        }
    }

    struct Counted<R> {
        inner: R,
        bytes: u64,
    }

    impl<R: Read> Read for Counted<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.inner.read(buffer)?;
            self.bytes += count as u64;
            Ok(count)
        }
    }

    impl<R: ReadSparse> ReadSparse for Counted<R> {
        fn zeros_ahead(&mut self) -> io::Result<u64> {
            self.inner.zeros_ahead()
        }

        fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
            self.inner.skip_zeros(bytes)
        }
    }
}
