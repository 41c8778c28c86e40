//! How long a site has been silent.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The time between two looks, at each of which an idle stream is kept alive.
const LOOK: Duration = Duration::from_secs(20);
/// So many looks in a row at which nothing had come: a minute, and up to a look more.
const QUIET_LOOKS_MAX: u32 = 4;

/// Counts looks at which nothing had come since the one before. Time in which this process stood still is one look, however
/// long: what a site sent meanwhile is only read after it.
pub(crate) struct Silence {
    looks: Interval,
    quiet: u32,
}

impl Silence {
    /// Begins now, as if the site had just been heard.
    pub(crate) fn begin() -> Silence {
        let mut looks = interval_at(Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Silence { looks, quiet: 0 }
    }

    /// The site was heard.
    pub(crate) fn heard(&mut self) {
        self.quiet = 0;
    }

    /// Waits for the next look; true if the site has been silent for too long.
    pub(crate) async fn is_over(&mut self) -> bool {
        self.looks.tick().await;
        self.quiet += 1;
        self.quiet >= QUIET_LOOKS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_site_that_says_nothing_for_a_minute_is_given_up() {
        let begun = Instant::now();
        let mut silence = Silence::begin();
        while !silence.is_over().await {}
        let took = begun.elapsed();
        assert!((Duration::from_secs(60)..=Duration::from_secs(80)).contains(&took), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_that_speaks_once_a_minute_is_kept() {
        let mut silence = Silence::begin();
        for _ in 0..100 {
            for _ in 0..3 {
                assert!(!silence.is_over().await);
            }
            silence.heard();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_in_which_the_coordinator_itself_stood_still_is_no_silence() {
        let mut silence = Silence::begin();
        tokio::time::advance(Duration::from_secs(3600)).await;
        // The messages of that hour are read between the looks.
        for _ in 0..3 {
            assert!(!silence.is_over().await);
        }
        assert!(silence.is_over().await);
    }
}
