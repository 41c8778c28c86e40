//! The limits, kept for a whole document: what all of its parts together have cost so far.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::format::Stop;
use crate::limits::Limits;
use crate::outcome::Reason;

/// A stream may become this large whatever its compressed size.
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// All streams of a document together may.
const RATIO_FREE_BYTES_ALTOGETHER: u64 = 64 << 20;
/// After so many streams that became too large for what they were, the document is what they are.
const RATIO_HITS_MAX: u32 = 16;
/// So much of a member may always be held: the beginning of a text decides on its encoding.
const HELD_BYTES_LEAST: u64 = 2 << 20;
/// How much is done between two looks at the clock.
const CLOCK_BYTES: u64 = 1 << 18;

/// What may not be passed, and how far along it is.
///
/// A limit that one member passes is that member's own; those of the whole document stop everything, and every container
/// that is open ends with them.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// The size of the document itself.
    document_bytes: u64,
    expanded_bytes: Cell<u64>,
    held_bytes: Cell<u64>,
    members: Cell<u32>,
    ratio_hits: Cell<u32>,
    started: Duration,
    until_clock: Cell<u64>,
    stopped: Cell<Option<Reason>>,
}

impl Budget {
    pub(crate) fn new(limits: &Limits, document_bytes: u64) -> Rc<Budget> {
        Rc::new(Budget {
            limits: *limits,
            document_bytes,
            expanded_bytes: Cell::new(0),
            held_bytes: Cell::new(0),
            members: Cell::new(0),
            ratio_hits: Cell::new(0),
            started: processor_time(),
            until_clock: Cell::new(CLOCK_BYTES),
            stopped: Cell::new(None),
        })
    }

    /// The limit of the whole document that was passed.
    pub(crate) fn stopped(&self) -> Option<Reason> {
        self.stopped.get()
    }

    /// Stops everything, unless it is already.
    pub(crate) fn stop(&self, reason: Reason) -> Reason {
        let first = self.stopped.get().unwrap_or(reason);
        self.stopped.set(Some(first));
        first
    }

    /// One more member.
    pub(crate) fn member(&self) -> Result<(), Reason> {
        self.go_on()?;
        if self.members.get() == self.limits.members_max {
            return Err(self.stop(Reason::TooMany));
        }
        self.members.set(self.members.get() + 1);
        // Each costs something, however small it is.
        self.work(1024)
    }

    /// How many more members there may be.
    pub(crate) fn members_left(&self) -> u32 {
        self.limits.members_max - self.members.get()
    }

    /// Whether what lies at this depth may be opened.
    pub(crate) fn may_open(&self, depth: u32) -> Result<(), Reason> {
        if depth < self.limits.depth_max { Ok(()) } else { Err(Reason::TooDeep) }
    }

    /// That many bytes came out of something.
    pub(crate) fn expand(&self, bytes: u64) -> Result<(), Reason> {
        let expanded = self.expanded_bytes.get().saturating_add(bytes);
        self.expanded_bytes.set(expanded);
        if expanded > self.limits.expanded_bytes_max {
            return Err(self.stop(Reason::TooLarge));
        }
        if exceeds(expanded, self.document_bytes, self.limits.ratio_max, RATIO_FREE_BYTES_ALTOGETHER) {
            return Err(self.stop(Reason::Ratio));
        }
        self.work(bytes)
    }

    /// Whether one stream became too large for what it was.
    pub(crate) fn ratio(&self, expanded: u64, compressed: u64) -> Result<(), Reason> {
        if !exceeds(expanded, compressed, self.limits.ratio_max, RATIO_FREE_BYTES) {
            return Ok(());
        }
        self.ratio_hits.set(self.ratio_hits.get() + 1);
        if self.ratio_hits.get() >= RATIO_HITS_MAX {
            self.stop(Reason::Ratio);
        }
        Err(Reason::Ratio)
    }

    /// That much text was made of one part.
    pub(crate) fn text(&self, part_bytes: u64, more: u64) -> Result<(), Reason> {
        if part_bytes.saturating_add(more) > self.limits.text_bytes_max {
            return Err(Reason::TooLarge);
        }
        self.work(more)
    }

    /// Something was done that took about as long as so many bytes take. Now and then the clock is looked at.
    pub(crate) fn work(&self, bytes: u64) -> Result<(), Reason> {
        match self.until_clock.get().checked_sub(bytes) {
            Some(left) => self.until_clock.set(left),
            None => {
                self.until_clock.set(CLOCK_BYTES);
                if processor_time().saturating_sub(self.started) > self.limits.time_max {
                    self.stop(Reason::TimedOut);
                }
            }
        }
        self.go_on()
    }

    fn go_on(&self) -> Result<(), Reason> {
        self.stopped.get().map_or(Ok(()), Err)
    }

    /// How much memory members may take at once.
    fn held_bytes_max(&self) -> u64 {
        self.limits.memory_bytes_max / 4
    }

    /// How large a member may be that is unpacked into memory now. A little is always there.
    pub(crate) fn may_hold(&self) -> u64 {
        let left = self.held_bytes_max().saturating_sub(self.held_bytes.get());
        left.min(self.held_bytes_max() / 2).max(HELD_BYTES_LEAST)
    }

    /// Counts what is held in memory, for as long as it is.
    pub(crate) fn hold(self: &Rc<Budget>, bytes: u64) -> Held {
        self.held_bytes.set(self.held_bytes.get() + bytes);
        Held { budget: Rc::clone(self), bytes }
    }

    /// How large the memory of a decoder may be, in KiB.
    pub(crate) fn dictionary_kib_max(&self) -> u32 {
        u32::try_from(self.limits.memory_bytes_max / 4 / 1024).unwrap_or(u32::MAX)
    }
}

fn exceeds(expanded: u64, compressed: u64, ratio_max: u32, free: u64) -> bool {
    expanded > compressed.saturating_mul(ratio_max.into()).saturating_add(free)
}

/// How long this process has worked; time in which it waits for whoever takes the text does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Memory that a member takes.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Rc<Budget>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held_bytes.set(self.budget.held_bytes.get() - self.bytes);
    }
}

/// The error of reading that says why a stream broke off.
pub(crate) fn fault(reason: Reason) -> io::Error {
    io::Error::other(Stop(reason))
}

/// What an error of reading says.
pub(crate) fn reason(error: &io::Error) -> Reason {
    let stop = error.get_ref().and_then(|inner| inner.downcast_ref::<Stop>());
    match (stop, error.kind()) {
        (Some(&Stop(reason)), _) => reason,
        (None, io::ErrorKind::OutOfMemory) => Reason::OutOfMemory,
        (None, io::ErrorKind::Unsupported) => Reason::Unsupported,
        (None, _) => Reason::Damaged,
    }
}

/// Counts what is read, for the ratio.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R> Counted<R> {
    pub(crate) fn new(inner: R) -> (Counted<R>, Rc<Cell<u64>>) {
        let count = Rc::new(Cell::new(0));
        (Counted { inner, count: Rc::clone(&count) }, count)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// What a decoder gives, within the limits.
#[derive(Debug)]
pub(crate) struct Metered<R> {
    inner: R,
    budget: Rc<Budget>,
    compressed: Rc<Cell<u64>>,
    expanded: u64,
    failed: Option<Reason>,
}

impl<R: Read> Metered<R> {
    pub(crate) fn new(inner: R, budget: &Rc<Budget>, compressed: Rc<Cell<u64>>) -> Metered<R> {
        Metered { inner, budget: Rc::clone(budget), compressed, expanded: 0, failed: None }
    }

    fn step(&mut self, buffer: &mut [u8]) -> Result<usize, Reason> {
        let read = self.inner.read(buffer).map_err(|error| reason(&error))?;
        self.expanded += read as u64;
        self.budget.expand(read as u64)?;
        self.budget.ratio(self.expanded, self.compressed.get())?;
        Ok(read)
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A decoder that failed is not asked again.
        let result = self.failed.map_or_else(|| self.step(buffer), Err);
        result.map_err(|reason| fault(*self.failed.insert(reason)))
    }
}
