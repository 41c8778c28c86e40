//! The pace of reading: no reading while the site is paused or outside of its hours, a limit of bytes per second, and a part
//! of the time without reading. All readers share one pace.

use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use cognate_fingerprint::ReadSparse;
use tokio::sync::watch;

use crate::policy::{Hours, Policy};

/// Interval in which a waiting reader checks for the end of the wait and for a cancellation.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval in which the hours are checked.
const HOURS_INTERVAL: Duration = Duration::from_secs(5);
/// Shorter rests are added up first.
const REST_LEAST: Duration = Duration::from_millis(20);

/// The pace of a site.
pub(crate) struct Pace {
    paused: watch::Sender<bool>,
    hours: Option<Hours>,
    clock: fn() -> SystemTime,
    bucket: Option<Mutex<Bucket>>,
    share_of_time: f64,
    /// The rest that is due, in nanoseconds.
    rest_ns: AtomicU64,
    /// The last check of the hours, and its answer.
    within_hours: Mutex<Option<(Instant, bool)>>,
}

/// Bytes that may be read now. A negative number is a debt that readers wait for.
struct Bucket {
    bytes_per_second: f64,
    bytes: f64,
    filled: Instant,
}

impl Pace {
    pub(crate) fn new(policy: &Policy, clock: fn() -> SystemTime) -> Pace {
        #[expect(clippy::cast_precision_loss, reason = "a speed")]
        let bucket = policy
            .read_bytes_per_second
            .map(|rate| Mutex::new(Bucket { bytes_per_second: rate.get() as f64, bytes: 0.0, filled: Instant::now() }));
        Pace {
            paused: watch::Sender::new(false),
            hours: policy.hours,
            clock,
            bucket,
            share_of_time: policy.share_of_time.clamp(0.001, 1.0),
            rest_ns: AtomicU64::new(0),
            within_hours: Mutex::new(None),
        }
    }

    /// Pauses or resumes the site.
    pub(crate) fn set_paused(&self, paused: bool) {
        self.paused.send_if_modified(|now| std::mem::replace(now, paused) != paused);
    }

    pub(crate) fn is_paused(&self) -> bool {
        *self.paused.borrow()
    }

    /// Receives pauses and their ends.
    pub(crate) fn pauses(&self) -> watch::Receiver<bool> {
        self.paused.subscribe()
    }

    /// True if documents may be read at this time of day.
    pub(crate) fn is_within_hours(&self) -> bool {
        let Some(hours) = self.hours else { return true };
        let mut checked = self.within_hours.lock().expect("no code panics while it holds this lock");
        if let Some((when, allowed)) = *checked
            && when.elapsed() < HOURS_INTERVAL
        {
            return allowed;
        }
        let allowed = hours.allow((self.clock)());
        *checked = Some((Instant::now(), allowed));
        allowed
    }

    /// True if nothing holds readers back: no pause, no hours, no limit of speed or time.
    pub(crate) fn is_free(&self) -> bool {
        !self.is_paused() && self.hours.is_none() && self.bucket.is_none() && !self.has_rests()
    }

    /// Waits until documents may be read.
    pub(crate) async fn open(&self) {
        let mut pauses = self.pauses();
        loop {
            // The sender lives as long as this does.
            let _ = pauses.wait_for(|paused| !paused).await;
            if self.is_within_hours() {
                return;
            }
            tokio::time::sleep(HOURS_INTERVAL).await;
        }
    }

    /// Waits within a read until reading is allowed; `false` after a cancellation.
    fn wait(&self, cancelled: &AtomicBool) -> bool {
        while self.is_paused() || !self.is_within_hours() {
            if !rest(CHECK_INTERVAL, cancelled) {
                return false;
            }
        }
        !cancelled.load(Ordering::Relaxed)
    }

    /// True if a part of the time is without reading.
    fn has_rests(&self) -> bool {
        self.share_of_time < 1.0
    }

    /// Rests after a read of so many bytes that took the time `busy`.
    fn pay(&self, bytes: usize, busy: Duration, cancelled: &AtomicBool) {
        if let Some(bucket) = &self.bucket {
            let debt = bucket.lock().expect("no code panics while it holds this lock").take(bytes, Instant::now());
            rest(debt, cancelled);
        }
        if self.has_rests() {
            let due = busy.mul_f64((1.0 - self.share_of_time) / self.share_of_time);
            let due = u64::try_from(due.as_nanos()).unwrap_or(u64::MAX);
            let saved = self.rest_ns.fetch_add(due, Ordering::Relaxed).saturating_add(due);
            if u128::from(saved) >= REST_LEAST.as_nanos() {
                rest(Duration::from_nanos(self.rest_ns.swap(0, Ordering::Relaxed)), cancelled);
            }
        }
    }
}

impl Bucket {
    /// Takes bytes, and returns the time to wait for them.
    fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let filled = now.duration_since(self.filled).as_secs_f64() * self.bytes_per_second;
        self.filled = now;
        #[expect(clippy::cast_precision_loss, reason = "a piece of a file")]
        let bytes = bytes as f64;
        // Unused bytes are saved for a quarter of a second only.
        self.bytes = (self.bytes + filled).min(self.bytes_per_second / 4.0) - bytes;
        Duration::try_from_secs_f64(-self.bytes / self.bytes_per_second).unwrap_or_default()
    }
}

/// Rests; `false` after a cancellation.
fn rest(mut time: Duration, cancelled: &AtomicBool) -> bool {
    while !time.is_zero() && !cancelled.load(Ordering::Relaxed) {
        let piece = time.min(CHECK_INTERVAL);
        std::thread::sleep(piece);
        time -= piece;
    }
    !cancelled.load(Ordering::Relaxed)
}

/// A reader that keeps the site's pace. It fails after a cancellation, so that no result is made of an incomplete read.
pub(crate) struct Paced<'a, R> {
    inner: R,
    pace: &'a Pace,
    cancelled: &'a AtomicBool,
    /// The time of the last rest, if the site rests.
    since: Option<Instant>,
}

impl<'a, R: Read> Paced<'a, R> {
    pub(crate) fn new(inner: R, pace: &'a Pace, cancelled: &'a AtomicBool) -> Paced<'a, R> {
        Paced { inner, pace, cancelled, since: pace.has_rests().then(Instant::now) }
    }
}

impl<R: Read> Read for Paced<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.pace.wait(self.cancelled) {
            return Err(io::Error::other("stopped"));
        }
        let read = self.inner.read(buffer)?;
        if read > 0 {
            crate::failpoint!("worker.mid_file");
        }
        self.pace.pay(read, self.since.map_or(Duration::ZERO, |since| since.elapsed()), self.cancelled);
        self.since = self.since.map(|_| Instant::now());
        Ok(read)
    }
}

impl<R: ReadSparse> ReadSparse for Paced<'_, R> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        self.inner.zeros_ahead()
    }

    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
        self.inner.skip_zeros(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn pace(policy: &Policy) -> Pace {
        Pace::new(policy, || UNIX_EPOCH)
    }

    fn time_to_read(pace: &Pace, bytes: usize) -> Duration {
        let began = Instant::now();
        let cancelled = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let content = vec![0; bytes / 2];
                    io::copy(&mut Paced::new(content.as_slice(), pace, &cancelled), &mut io::sink()).unwrap();
                });
            }
        });
        began.elapsed()
    }

    #[test]
    fn readers_share_the_bytes_per_second() {
        let rate = NonZeroU64::new(1_000_000);
        let slow = pace(&Policy { read_bytes_per_second: rate, ..Policy::everything() });
        let took = time_to_read(&slow, 300_000);
        assert!(took >= Duration::from_millis(250), "{took:?}");
        assert!(time_to_read(&pace(&Policy::everything()), 300_000) < took);
    }

    #[test]
    fn only_a_pace_without_any_limit_is_free() {
        let everything = pace(&Policy::everything());
        assert!(everything.is_free());
        everything.set_paused(true);
        assert!(!everything.is_free());
        let hours = "22:00-06:00".parse().ok();
        assert!(hours.is_some());
        let limited = [
            Policy { read_bytes_per_second: NonZeroU64::new(1), ..Policy::everything() },
            Policy { share_of_time: 0.5, ..Policy::everything() },
            Policy { hours, ..Policy::everything() },
        ];
        assert!(limited.iter().all(|policy| !pace(policy).is_free()));
    }

    #[test]
    fn a_reader_rests_for_its_part_of_the_time() {
        let half = pace(&Policy { share_of_time: 0.25, ..Policy::everything() });
        let cancelled = AtomicBool::new(false);
        let began = Instant::now();
        half.pay(1, Duration::from_millis(40), &cancelled);
        assert!(began.elapsed() >= Duration::from_millis(120));
    }

    #[test]
    fn a_paused_reader_waits_and_a_cancelled_reader_fails() {
        let pace = pace(&Policy::everything());
        let cancelled = AtomicBool::new(false);
        pace.set_paused(true);
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| io::copy(&mut Paced::new(&b"abc"[..], &pace, &cancelled), &mut io::sink()));
            assert!(!reading.is_finished());
            pace.set_paused(false);
            assert_eq!(reading.join().unwrap().unwrap(), 3);
            pace.set_paused(true);
            let reading = scope.spawn(|| io::copy(&mut Paced::new(&b"abc"[..], &pace, &cancelled), &mut io::sink()));
            cancelled.store(true, Ordering::Relaxed);
            assert!(reading.join().unwrap().is_err());
        });
    }

    #[test]
    fn a_bucket_gives_its_rate_and_saves_a_quarter_of_a_second() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut bucket = Bucket { bytes_per_second: 1000.0, bytes: 0.0, filled: began };
        let mut check = |ms, bytes, wait_ms| {
            let wait = bucket.take(bytes, at(ms)).as_secs_f64() * 1000.0;
            assert!((wait - f64::from(wait_ms)).abs() < 0.01, "{bytes} bytes after {ms} ms: {wait} ms");
        };
        check(0, 100, 100);
        // After 100 ms the debt is paid.
        check(100, 50, 50);
        check(150, 0, 0);
        // However long nothing is read, 250 bytes are saved at most.
        check(100_000, 250, 0);
        check(100_000, 10, 10);
        check(100_005, 10, 15);
    }

    #[test]
    fn without_a_policy_nothing_waits() {
        let pace = pace(&Policy::everything());
        let began = Instant::now();
        pace.pay(1 << 30, Duration::from_secs(3600), &AtomicBool::new(false));
        assert!(pace.is_within_hours() && !pace.is_paused() && began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn outside_of_its_hours_a_site_does_not_read() {
        let now = || UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let within = |hours: &str| {
            let hours = Some(hours.parse().unwrap());
            Pace::new(&Policy { hours, ..Policy::everything() }, now).is_within_hours()
        };
        // The zone of this machine is unknown: exactly one half of the day contains the time.
        assert_ne!(within("00:00-12:00"), within("12:00-00:00"));
    }
}
