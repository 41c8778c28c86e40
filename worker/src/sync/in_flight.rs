//! A bound on the documents inside of other documents that are between the readers and the collector: an archive of two megabytes
//! may have a hundred thousand of them, and each takes some hundred bytes of memory.

use std::sync::{Condvar, Mutex, MutexGuard};

/// The documents that may be on their way. One file with more of them goes alone.
const DOCUMENTS_MAX: usize = 16_384;

/// The documents on their way.
#[derive(Default)]
pub(super) struct InsideInFlight {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    documents: usize,
    has_ended: bool,
}

impl InsideInFlight {
    /// Waits until documents may be on their way; returns at once if nothing takes them any more.
    pub(super) fn enter(&self, documents: usize) {
        let is_full = |state: &mut State| {
            !state.has_ended && documents > 0 && state.documents > 0 && state.documents + documents > DOCUMENTS_MAX
        };
        let mut state = self.changed.wait_while(self.lock(), is_full).expect("nothing panics while it is held");
        state.documents += documents;
    }

    /// Documents have arrived.
    pub(super) fn leave(&self, documents: usize) {
        if documents > 0 {
            self.lock().documents -= documents;
            self.changed.notify_all();
        }
    }

    /// The end at which documents arrive; nothing waits once it is dropped.
    pub(super) fn arrival(&self) -> Arrival<'_> {
        Arrival(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it is held")
    }
}

/// The end at which documents arrive.
pub(super) struct Arrival<'a>(&'a InsideInFlight);

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_with_more_than_fit_goes_alone_and_nothing_waits_for_an_end_that_is_gone() {
        let in_flight = InsideInFlight::default();
        in_flight.enter(10 * DOCUMENTS_MAX);
        let (entered, seen) = channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                in_flight.enter(1);
                entered.send(()).unwrap();
                in_flight.enter(DOCUMENTS_MAX);
            });
            // A little time shows a wait that is not there; it cannot make this fail.
            assert_eq!(seen.recv_timeout(Duration::from_millis(20)), Err(RecvTimeoutError::Timeout));
            in_flight.leave(10 * DOCUMENTS_MAX);
            seen.recv().unwrap();
            assert!(!second.is_finished());
            drop(in_flight.arrival());
        });
        assert_eq!(in_flight.lock().documents, 1 + DOCUMENTS_MAX);
    }
}
