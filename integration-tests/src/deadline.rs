//! Deadlines that a standstill does not use up.
//!
//! A machine may sleep, and somebody may stop all processes of a test for minutes to measure something else. A process that is waited
//! for had none of that time.

use std::time::{Duration, Instant};

/// A longer stretch between two looks at a deadline was a standstill, and counts as this long.
const STRETCH_MAX: Duration = Duration::from_secs(15);

/// The time that is left for something.
#[derive(Debug)]
pub struct Deadline {
    left: Duration,
    looked: Instant,
}

impl Deadline {
    /// A deadline that is over after a time.
    pub fn after(time: Duration) -> Deadline {
        Deadline { left: time, looked: Instant::now() }
    }

    /// The time that is left. Look more often than every few seconds.
    pub fn left(&mut self) -> Duration {
        self.left_at(Instant::now())
    }

    fn left_at(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.looked).min(STRETCH_MAX);
        self.looked = now;
        self.left = self.left.saturating_sub(passed);
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_passes_by_the_clock_and_a_standstill_does_not_use_it_up() {
        let mut deadline = Deadline::after(Duration::from_secs(60));
        let mut now = deadline.looked;
        let mut after = |seconds| {
            now += Duration::from_secs(seconds);
            deadline.left_at(now).as_secs()
        };
        assert_eq!((after(0), after(10), after(10)), (60, 50, 40));
        assert_eq!(after(300), 25, "five minutes in which nothing ran");
        assert_eq!((after(10), after(10), after(10), after(1)), (15, 5, 0, 0));
    }
}
