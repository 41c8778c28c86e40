//! The budget of a document: the cost of all its parts so far, against the limits.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::time::Duration;

use crate::limits::Limits;
use crate::outcome::Reason;
use crate::stop::Stop;

/// Bytes that one stream may expand to whatever its compressed size.
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Bytes that all streams of a document together may expand to whatever their size.
const RATIO_FREE_BYTES_ALTOGETHER: u64 = 64 << 20;
/// After this many streams that exceeded the ratio, the document itself is refused for the same reason.
const RATIO_HITS_MAX: u32 = 16;
/// Bytes of a member that always fit in memory: the beginning of a text decides on its encoding.
const HELD_BYTES_LEAST: u64 = 2 << 20;
/// Bytes of work between two checks of the clock.
const CLOCK_BYTES: u64 = 1 << 18;

/// The limits of a document, and the cost so far.
///
/// A limit of one member ends only that member; a limit of the document stops everything, and every open container ends
/// with its reason.
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

    /// The limit of the document that was passed.
    pub(crate) fn stopped(&self) -> Option<Reason> {
        self.stopped.get()
    }

    /// Stops the reading of the document; the first reason to stop remains.
    pub(crate) fn stop(&self, reason: Reason) -> Reason {
        let first = self.stopped.get().unwrap_or(reason);
        self.stopped.set(Some(first));
        first
    }

    /// Counts one more member.
    pub(crate) fn member(&self) -> Result<(), Reason> {
        self.go_on()?;
        if self.members.get() == self.limits.members_max {
            return Err(self.stop(Reason::TooMany));
        }
        self.members.set(self.members.get() + 1);
        // Each costs something, however small it is.
        self.work(1024)
    }

    /// Number of members that may still come.
    pub(crate) fn members_left(&self) -> u32 {
        self.limits.members_max - self.members.get()
    }

    /// Fails if a document at this depth must not be opened.
    pub(crate) fn may_open(&self, depth: u32) -> Result<(), Reason> {
        if depth < self.limits.depth_max { Ok(()) } else { Err(Reason::TooDeep) }
    }

    /// Counts bytes that a decoder gave.
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

    /// Fails if one stream became too large for its compressed size.
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

    /// Counts text of one part: its bytes so far, and those that are added.
    pub(crate) fn text(&self, part_bytes: u64, more: u64) -> Result<(), Reason> {
        if part_bytes.saturating_add(more) > self.limits.text_bytes_max {
            return Err(Reason::TooLarge);
        }
        self.work(more)
    }

    /// Counts work that takes as long as this many bytes do. The clock is read only after enough work.
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

    /// Pictures of pages that may be handed over; 0: none.
    pub(crate) fn picture_pages_max(&self) -> u32 {
        self.limits.picture_pages_max
    }

    /// Memory that members may use at the same time.
    fn held_bytes_max(&self) -> u64 {
        self.limits.memory_bytes_max / 4
    }

    /// Size at most of a member that is unpacked into memory now. A small member always fits.
    pub(crate) fn may_hold(&self) -> u64 {
        let left = self.held_bytes_max().saturating_sub(self.held_bytes.get());
        left.min(self.held_bytes_max() / 2).max(HELD_BYTES_LEAST)
    }

    /// Counts bytes as memory in use until the returned value is dropped.
    pub(crate) fn hold(self: &Rc<Budget>, bytes: u64) -> HeldMemory {
        self.held_bytes.set(self.held_bytes.get() + bytes);
        HeldMemory { budget: Rc::clone(self), bytes }
    }

    /// Memory of a decoder at most, in KiB.
    pub(crate) fn dictionary_kib_max(&self) -> u32 {
        u32::try_from(self.limits.memory_bytes_max / 4 / 1024).unwrap_or(u32::MAX)
    }
}

fn exceeds(expanded: u64, compressed: u64, ratio_max: u32, free: u64) -> bool {
    expanded > compressed.saturating_mul(ratio_max.into()).saturating_add(free)
}

/// Without such a clock (in a browser) whoever started the reading ends it.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    Duration::ZERO
}

/// Processor time of this process; waiting for the reader of the text does not count.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Memory that a member takes.
#[derive(Debug)]
pub(crate) struct HeldMemory {
    budget: Rc<Budget>,
    bytes: u64,
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.budget.held_bytes.set(self.budget.held_bytes.get() - self.bytes);
    }
}

/// An error of reading that has the reason why a stream broke off.
pub(crate) fn fault(reason: Reason) -> io::Error {
    io::Error::other(Stop(reason))
}

/// The reason that an error of reading has.
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

/// The output of a decoder, within the limits.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            expanded_bytes_max: 100 << 20,
            ratio_max: 10,
            members_max: 3,
            depth_max: 2,
            text_bytes_max: 1000,
            time_max: Duration::from_secs(600),
            memory_bytes_max: 64 << 20,
            picture_pages_max: 0,
        }
    }

    #[test]
    fn members_are_counted_and_one_too_many_stops_the_document() {
        let budget = Budget::new(&limits(), 1);
        for left in [3, 2, 1] {
            assert_eq!(budget.members_left(), left);
            budget.member().unwrap();
        }
        assert_eq!(budget.member(), Err(Reason::TooMany));
        assert_eq!(budget.stopped(), Some(Reason::TooMany));
        assert_eq!(budget.work(1), Err(Reason::TooMany), "everything ends");
    }

    #[test]
    fn depth_and_text_are_limits_of_one_member() {
        let budget = Budget::new(&limits(), 1);
        for (depth, result) in [(0, Ok(())), (1, Ok(())), (2, Err(Reason::TooDeep)), (u32::MAX, Err(Reason::TooDeep))] {
            assert_eq!(budget.may_open(depth), result, "{depth}");
        }
        for (part, more, result) in [
            (0, 1000, Ok(())),
            (999, 1, Ok(())),
            (1000, 0, Ok(())),
            (1000, 1, Err(Reason::TooLarge)),
            (u64::MAX, u64::MAX, Err(Reason::TooLarge)),
        ] {
            assert_eq!(budget.text(part, more), result, "{part} {more}");
        }
        assert_eq!(budget.stopped(), None);
    }

    #[test]
    fn all_decompression_together_has_two_limits() {
        // A document of 8 MiB may become ten times as large, and 64 MiB more.
        let budget = Budget::new(&limits(), 8 << 20);
        budget.expand(100 << 20).unwrap();
        assert_eq!(budget.expand(1), Err(Reason::TooLarge));
        let budget = Budget::new(&limits(), 1 << 20);
        budget.expand(74 << 20).unwrap();
        assert_eq!(budget.expand(1), Err(Reason::Ratio));
        assert_eq!(budget.stopped(), Some(Reason::Ratio));
    }

    #[test]
    fn one_stream_may_exceed_the_ratio_and_many_stop_the_document() {
        let budget = Budget::new(&limits(), 1 << 30);
        for (expanded, compressed, result) in [
            (RATIO_FREE_BYTES, 0, Ok(())),
            (RATIO_FREE_BYTES + 10, 1, Ok(())),
            (RATIO_FREE_BYTES + 11, 1, Err(Reason::Ratio)),
            (u64::MAX, u64::MAX, Ok(())),
        ] {
            assert_eq!(budget.ratio(expanded, compressed), result, "{expanded} {compressed}");
        }
        assert_eq!(budget.stopped(), None);
        for _ in 0..RATIO_HITS_MAX {
            assert_eq!(budget.ratio(u64::MAX, 0), Err(Reason::Ratio));
        }
        assert_eq!(budget.stopped(), Some(Reason::Ratio));
    }

    #[test]
    fn memory_is_given_back_when_a_member_is_dropped() {
        let budget = Budget::new(&limits(), 1);
        // A quarter of the memory for all members, an eighth for one, and a little always.
        assert_eq!(budget.may_hold(), 8 << 20);
        let first = budget.hold(12 << 20);
        assert_eq!(budget.may_hold(), 4 << 20);
        let second = budget.hold(100 << 20);
        assert_eq!(budget.may_hold(), HELD_BYTES_LEAST);
        drop(second);
        assert_eq!(budget.may_hold(), 4 << 20);
        drop(first);
        assert_eq!(budget.may_hold(), 8 << 20);
        assert_eq!(budget.dictionary_kib_max(), 16 << 10);
    }

    #[test]
    fn time_is_checked_after_some_work() {
        let budget = Budget::new(&Limits { time_max: Duration::ZERO, ..limits() }, 1);
        assert_eq!(budget.work(CLOCK_BYTES), Ok(()), "not before");
        assert_eq!(budget.work(1), Err(Reason::TimedOut));
    }

    #[test]
    fn the_first_reason_to_stop_remains() {
        let budget = Budget::new(&limits(), 1);
        assert_eq!(budget.stop(Reason::TooLarge), Reason::TooLarge);
        assert_eq!(budget.stop(Reason::TimedOut), Reason::TooLarge);
    }

    #[test]
    fn an_error_of_reading_has_a_reason() {
        for (error, expected) in [
            (fault(Reason::TooDeep), Reason::TooDeep),
            (io::ErrorKind::OutOfMemory.into(), Reason::OutOfMemory),
            (io::ErrorKind::Unsupported.into(), Reason::Unsupported),
            (io::ErrorKind::UnexpectedEof.into(), Reason::Damaged),
            (io::Error::other("odd"), Reason::Damaged),
        ] {
            assert_eq!(reason(&error), expected, "{error}");
        }
    }

    #[test]
    fn a_metered_stream_fails_once_and_for_all() {
        let budget = Budget::new(&Limits { expanded_bytes_max: 10, ..limits() }, 1);
        let (counted, compressed) = Counted::new(io::repeat(7));
        let mut metered = Metered::new(counted, &budget, compressed);
        let mut buffer = [0; 8];
        assert_eq!(metered.read(&mut buffer).unwrap(), 8);
        for _ in 0..2 {
            assert_eq!(reason(&metered.read(&mut buffer).unwrap_err()), Reason::TooLarge);
        }
    }
}
