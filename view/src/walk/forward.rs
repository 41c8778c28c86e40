//! A member that is too large for memory, as a source that goes forward.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use crate::budget::{HeldMemory, reason};
use crate::outcome::Reason;
use crate::source::Source;

/// Bytes of which the first are in memory: it can be rewound within them, until more was read.
pub(super) struct ForwardSource<'s> {
    head: Vec<u8>,
    held: Option<HeldMemory>,
    stream: &'s mut dyn Read,
    size: Option<u64>,
    at: u64,
    failed: Rc<Cell<Option<Reason>>>,
}

impl<'s> ForwardSource<'s> {
    pub(super) fn new(
        head: Vec<u8>,
        held: HeldMemory,
        stream: &'s mut dyn Read,
        size: Option<u64>,
    ) -> ForwardSource<'s> {
        ForwardSource { head, held: Some(held), stream, size, at: 0, failed: Rc::default() }
    }

    /// The cell that receives the reason why the stream broke off.
    pub(super) fn failed(&self) -> Rc<Cell<Option<Reason>>> {
        Rc::clone(&self.failed)
    }
}

impl Read for ForwardSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let read = match self.head.get(at..).filter(|rest| !rest.is_empty() && self.held.is_some()) {
            Some(rest) => {
                let read = rest.len().min(buffer.len());
                buffer[..read].copy_from_slice(&rest[..read]);
                read
            }
            None => {
                if buffer.is_empty() {
                    return Ok(0);
                }
                self.head = Vec::new();
                self.held = None;
                self.stream.read(buffer).inspect_err(|error| self.failed.set(Some(reason(error))))?
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for ForwardSource<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let wanted = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.size.and_then(|size| size.checked_add_signed(by)),
        };
        match wanted {
            Some(at) if at == self.at || (self.held.is_some() && at <= self.head.len() as u64) => {
                self.at = at;
                Ok(at)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl Source for ForwardSource<'_> {
    /// The size that the archive states; a stream without one has no known end.
    fn length_bytes(&self) -> u64 {
        self.size.unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
