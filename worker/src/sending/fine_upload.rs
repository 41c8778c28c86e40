//! The upload of an answer of fine chunks: as many tables are under way as the line carries in a few seconds, whatever its delay and
//! rate. More would only wait in queues, and signs of life behind them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Tables under way at first, and at most: 4 and 6 MB.
const TABLES_FIRST: usize = 4;
const TABLES_MOST: usize = 64;
/// An acknowledgement that takes less time allows one table more, and one that takes longer half as many.
const ANSWER_SHORT: Duration = Duration::from_secs(2);
const ANSWER_LONG: Duration = Duration::from_secs(8);
/// The longest time without an acknowledgement: less than a table of 100 kB in that time, 800 bytes a second, counts as silence.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The tables of an answer that may be under way, as the answers before it on the same line have shown.
#[derive(Clone, Debug)]
pub(super) struct LineWindow(Arc<AtomicUsize>);

impl Default for LineWindow {
    fn default() -> LineWindow {
        LineWindow(Arc::new(AtomicUsize::new(TABLES_FIRST)))
    }
}

impl LineWindow {
    fn tables(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A table was acknowledged in this time.
    fn adapt(&self, took: Duration) {
        // Answers at the same time may overwrite each other's step: they measure the same line.
        let tables = self.tables();
        self.0.store(
            match took {
                took if took < ANSWER_SHORT => (tables + 1).min(TABLES_MOST),
                took if took > ANSWER_LONG => (tables / 2).max(1),
                _ => tables,
            },
            Ordering::Relaxed,
        );
    }
}

/// The tables of one answer that are under way.
pub(super) struct TablesUnderWay {
    /// When each was sent.
    sent: VecDeque<Instant>,
    window: LineWindow,
    /// Tables that the coordinator has.
    acknowledged: u64,
}

impl TablesUnderWay {
    pub(super) fn new(window: LineWindow) -> TablesUnderWay {
        TablesUnderWay { sent: VecDeque::new(), window, acknowledged: 0 }
    }

    /// True if the coordinator has everything that was sent.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// True if the next table has to wait.
    pub(super) fn is_full(&self) -> bool {
        self.sent.len() >= self.window.tables()
    }

    /// A table is sent.
    pub(super) fn send(&mut self, now: Instant) {
        self.sent.push_back(now);
    }

    /// The coordinator has so many tables.
    ///
    /// # Errors
    /// Says what it acknowledges that it cannot.
    pub(super) fn acknowledge(&mut self, tables: u64, now: Instant) -> Result<(), &'static str> {
        if tables < self.acknowledged {
            return Err("an acknowledgement that takes an earlier one back");
        }
        for _ in self.acknowledged..tables {
            let sent = self.sent.pop_front().ok_or("an acknowledgement of what was not sent")?;
            self.window.adapt(now.duration_since(sent));
        }
        self.acknowledged = tables;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends tables for a while over a line that carries one in `each`, after `delay`; returns the most that may be under way at the end.
    fn under_way(each: Duration, delay: Duration) -> usize {
        let mut tables = TablesUnderWay::new(LineWindow::default());
        let (mut now, mut arrivals) = (Instant::now(), VecDeque::new());
        let mut free = now;
        for acknowledged in 1..2000 {
            while !tables.is_full() {
                tables.send(now);
                free = free.max(now) + each;
                arrivals.push_back(free + delay);
            }
            now = arrivals.pop_front().unwrap();
            tables.acknowledge(acknowledged, now).unwrap();
        }
        tables.window.tables()
    }

    #[test]
    fn a_fast_line_far_away_is_filled_and_a_slow_one_has_little_under_way() {
        let ms = Duration::from_millis;
        // 100 Mbit/s and 300 ms: 38 tables are on the line.
        assert!(under_way(ms(8), ms(300)) >= 38);
        // 256 kbit/s: a table takes three seconds.
        let slow = under_way(ms(3000), ms(50));
        assert!((1..=3).contains(&slow), "{slow}");
        // A table takes a minute.
        assert_eq!(under_way(ms(60_000), ms(50)), 1);
    }

    #[test]
    fn what_was_not_sent_cannot_be_acknowledged() {
        let (mut tables, now) = (TablesUnderWay::new(LineWindow::default()), Instant::now());
        tables.send(now);
        tables.send(now);
        tables.acknowledge(1, now).unwrap();
        assert!(tables.acknowledge(0, now).is_err());
        assert!(tables.acknowledge(3, now).is_err());
    }
}
