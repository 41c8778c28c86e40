//! A reader of decompressed bytes: it stops if the output is too large for its input.

use std::cell::Cell;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::rc::Rc;

use crate::limits::Limits;
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::Stop;

/// Bytes of output before ratios count.
const FREE_BYTES: u64 = 1 << 20;
/// Bytes at most without any mark of XML in them: a tag or a text that is in memory at once.
const TOKEN_BYTES_MAX: usize = 16 << 20;
const BUFFER_BYTES: usize = 16 << 10;

/// A source that counts what is read from it.
pub(super) struct Counted<'s> {
    source: &'s mut dyn Source,
    read: Rc<Cell<u64>>,
}

impl<'s> Counted<'s> {
    pub(super) fn new(source: &'s mut dyn Source) -> (Counted<'s>, Rc<Cell<u64>>) {
        let read = Rc::new(Cell::new(0));
        (Counted { source, read: Rc::clone(&read) }, read)
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.source.seek(to)
    }
}

/// The bytes that all members of a document together may still give.
#[derive(Clone)]
pub(super) struct Allowance {
    left: Rc<Cell<u64>>,
    ratio_max: u64,
}

impl Allowance {
    pub(super) fn new() -> Allowance {
        let limits = Limits::default();
        Allowance { left: Rc::new(Cell::new(limits.expanded_bytes_max)), ratio_max: u64::from(limits.ratio_max) }
    }
}

/// The bytes of a member while they are decompressed.
pub(super) struct Bounded<R> {
    inner: R,
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    allowance: Allowance,
    /// Compressed bytes read so far, and at the beginning.
    read: Rc<Cell<u64>>,
    read_before: u64,
    given: u64,
    /// Bytes since the last mark of XML, if it is XML.
    token: Option<usize>,
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(inner: R, allowance: Allowance, read: Rc<Cell<u64>>, read_before: u64) -> Bounded<R> {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Bounded { inner, buffer, from: 0, to: 0, allowance, read, read_before, given: 0, token: Some(0) }
    }

    /// Bytes of any sort, not XML.
    pub(super) fn any_bytes(self) -> Bounded<R> {
        Bounded { token: None, ..self }
    }

    fn fill(&mut self) -> io::Result<()> {
        let count = self.inner.read(&mut self.buffer)?;
        (self.from, self.to) = (0, count);
        self.given += count as u64;
        let compressed = self.read.get() - self.read_before;
        if self.given > FREE_BYTES + self.allowance.ratio_max * compressed {
            return Err(io::Error::other(Stop(Reason::Ratio)));
        }
        let Some(left) = self.allowance.left.get().checked_sub(count as u64) else {
            return Err(io::Error::other(Stop(Reason::TooLarge)));
        };
        self.allowance.left.set(left);
        if let Some(token) = &mut self.token {
            *token = match memchr::memrchr2(b'<', b'>', &self.buffer[..count]) {
                Some(at) => count - at,
                None => *token + count,
            };
            if *token > TOKEN_BYTES_MAX {
                return Err(io::Error::other(Stop(Reason::TooLarge)));
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = self.fill_buf()?;
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.from == self.to {
            self.fill()?;
        }
        Ok(&self.buffer[self.from..self.to])
    }

    fn consume(&mut self, count: usize) {
        self.from = (self.from + count).min(self.to);
    }
}

#[cfg(test)]
mod tests;
