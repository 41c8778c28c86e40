//! The calls of a reader to the file system, and those that are never answered.
//!
//! A server that is gone, or a file system of another process that hangs, holds whoever reads a file of it, and no signal frees a thread from
//! such a call. So a reader says when a call begins and ends, and whoever watches it may give it up: its work goes to another thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// The calls of one reader.
#[derive(Default, Debug)]
pub(crate) struct FileCalls {
    /// The number of beginnings and ends; odd while a call is under way.
    turns: AtomicU64,
    given_up: AtomicBool,
}

/// A call that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallUnderWay(u64);

impl FileCalls {
    /// Those of a reader that nobody watches.
    pub(crate) fn unwatched() -> &'static Arc<FileCalls> {
        static UNWATCHED: LazyLock<Arc<FileCalls>> = LazyLock::new(Arc::default);
        &UNWATCHED
    }

    /// Makes a call.
    pub(crate) fn make<T>(&self, call: impl FnOnce() -> T) -> T {
        self.turns.fetch_add(1, Ordering::Relaxed);
        let answer = call();
        self.turns.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// The call that is under way; the same as before if it has not ended since.
    pub(crate) fn under_way(&self) -> Option<CallUnderWay> {
        let turns = self.turns.load(Ordering::Relaxed);
        (turns % 2 == 1).then_some(CallUnderWay(turns))
    }

    /// Nothing waits for this reader any more.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

/// The error of a file that does not answer.
pub(crate) fn no_answer() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the file system does not answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_under_way_until_it_ends_and_the_next_is_another() {
        let calls = FileCalls::default();
        assert_eq!(calls.under_way(), None);
        let first = calls.make(|| (calls.under_way(), calls.under_way()));
        assert!(first.0.is_some() && first.0 == first.1);
        assert_eq!(calls.under_way(), None);
        assert!(calls.make(|| calls.under_way()) != first.0);
    }
}
