//! The window of a push: the batches that are under way, and how many bytes of them may be.
//!
//! The credit comes from the session, in a thread of its own. `interleavings` compiles this file a second time, with an atomic number
//! that tries every order of the two.

use std::collections::VecDeque;

use cognate_proto::limits::{WINDOW_BATCHES, WINDOW_BYTES};

use super::sync::{Arc, AtomicU64, Ordering};

/// The window of one push.
pub(super) struct Window {
    /// Number of bytes that may be under way, by the coordinator's last credit.
    credit: Arc<AtomicU64>,
    /// The same, by the opening of this push.
    window_bytes: u64,
    /// The batches under way: number and size in bytes.
    under_way: VecDeque<(u64, u64)>,
    under_way_bytes: u64,
    /// The last batch that is durable at the coordinator.
    committed: u64,
    last_sent: u64,
}

impl Window {
    pub(super) fn new(credit: Arc<AtomicU64>) -> Window {
        Window {
            credit,
            window_bytes: WINDOW_BYTES,
            under_way: VecDeque::new(),
            under_way_bytes: 0,
            committed: 0,
            last_sent: 0,
        }
    }

    /// The coordinator has opened the index, and holds so many batches of it. It may request a smaller window, but not a larger one than
    /// this site has memory for.
    pub(super) fn open(&mut self, window_bytes: u64, committed: u64) {
        self.window_bytes = window_bytes.clamp(1, WINDOW_BYTES);
        (self.committed, self.last_sent) = (committed, committed);
    }

    /// True if a batch of this size has to wait. One that is alone never does, however small the window is.
    pub(super) fn is_full(&self, body_bytes: u64) -> bool {
        let window_bytes = self.window_bytes.min(self.credit.load(Ordering::Relaxed));
        !self.under_way.is_empty()
            && (self.under_way_bytes + body_bytes > window_bytes || self.under_way.len() >= WINDOW_BATCHES)
    }

    /// A batch is sent.
    pub(super) fn send(&mut self, sequence: u64, body_bytes: u64) {
        self.under_way.push_back((sequence, body_bytes));
        self.under_way_bytes += body_bytes;
        self.last_sent = sequence;
    }

    /// All batches up to this one are durable.
    ///
    /// # Errors
    /// Says what the coordinator acknowledges that it cannot.
    pub(super) fn acknowledge(&mut self, committed: u64) -> Result<(), &'static str> {
        if committed > self.last_sent {
            return Err("an acknowledgement of what was not sent");
        }
        if committed < self.committed {
            return Err("an acknowledgement that takes an earlier one back");
        }
        self.committed = committed;
        while self.under_way.front().is_some_and(|(sequence, _)| *sequence <= committed) {
            let (_, body_bytes) = self.under_way.pop_front().expect("looked at above");
            self.under_way_bytes -= body_bytes;
        }
        Ok(())
    }

    /// Number of bytes under way.
    #[cfg(test)]
    pub(super) fn under_way_bytes(&self) -> u64 {
        self.under_way_bytes
    }
}
