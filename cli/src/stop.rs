//! Stopping on a signal: the first one ends the work in order, so that no half-written and no temporary file is left;
//! the second ends the process at once.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::Notify;

const INTERRUPT: u8 = 2;
const TERMINATE: u8 = 15;

/// Signal handling of this process.
#[derive(Clone)]
pub(crate) struct Stop {
    shared: Arc<Shared>,
}

struct Shared {
    /// Number of the first signal, or 0.
    signal: AtomicU8,
    notify: Notify,
}

impl Stop {
    /// Listens for signals, on the current runtime.
    pub(crate) fn on_signals() -> anyhow::Result<Stop> {
        let stop = Stop { shared: Arc::new(Shared { signal: AtomicU8::new(0), notify: Notify::new() }) };
        for (kind, number) in [(SignalKind::interrupt(), INTERRUPT), (SignalKind::terminate(), TERMINATE)] {
            let signal = tokio::signal::unix::signal(kind).context("signals cannot be listened for")?;
            tokio::spawn(stop.clone().listen(signal, number));
        }
        Ok(stop)
    }

    async fn listen(self, mut signal: Signal, number: u8) {
        while signal.recv().await.is_some() {
            let earlier = self.shared.signal.swap(number, Ordering::Relaxed);
            if earlier != 0 {
                std::process::exit(i32::from(128 + number));
            }
            self.shared.notify.notify_waiters();
        }
    }

    /// Number of the signal, if one came.
    pub(crate) fn signal(&self) -> Option<u8> {
        Some(self.shared.signal.load(Ordering::Relaxed)).filter(|number| *number > 0)
    }

    /// Returns once a signal has come.
    pub(crate) async fn stopped(&self) {
        let notified = self.shared.notify.notified();
        if self.signal().is_none() {
            notified.await;
        }
    }
}

/// A writer that fails after a signal.
pub(crate) struct Stoppable<'a, W> {
    pub(crate) inner: W,
    pub(crate) stop: &'a Stop,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.stop.signal() {
            Some(_) => Err(io::Error::other("stopped")),
            None => self.inner.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
