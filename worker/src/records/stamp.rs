//! The stamp of a file: length, times and inode. It shows that a document is unchanged without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Facts;
use rustix::fs::Stat;

/// Length, times and inode of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Stamp {
    pub(crate) length_bytes: u64,
    pub(crate) modified_ns: i64,
    pub(crate) changed_ns: i64,
    pub(crate) inode: u64,
}

/// The step of times with a fraction of a second: the kernel's clock tick, rounded up.
const TICK: Duration = Duration::from_millis(10);
/// The largest step of a file system that keeps no fractions: FAT has one of two seconds.
const TICK_WHOLE_SECONDS: Duration = Duration::from_secs(2);

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Stamp {
        #[expect(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ between systems")]
        Stamp {
            length_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino.into(),
        }
    }

    /// The facts by which a scan selects a file with this stamp.
    pub(crate) fn facts<'a>(&self, path: &'a DocumentPath) -> Facts<'a> {
        Facts { path: path.as_bytes(), size_bytes: Some(self.length_bytes) }
    }

    /// The same length and times with an inode that no file has: the stamp of a document whose result is never used again.
    pub(crate) fn of_no_file(self) -> Stamp {
        Stamp { inode: 0, ..self }
    }

    /// The time of the last modification in seconds since 1970.
    pub(crate) fn modified_seconds(&self) -> i64 {
        self.modified_ns.div_euclid(1_000_000_000)
    }

    /// The racy-clean rule: a file that was changed in the clock tick in which its read began may change again within that
    /// tick, and its stamp stays the same. Such a file is not remembered.
    ///
    /// No call tells the step in which a file system keeps times. A time without a fraction of a second counts as one of a
    /// file system that keeps none: elsewhere it is rare, or was set on purpose and is long past.
    pub(crate) fn is_settled_before(&self, read_began: SystemTime) -> bool {
        let began = read_began.duration_since(UNIX_EPOCH).unwrap_or_default();
        [self.modified_ns, self.changed_ns].into_iter().all(|time_ns| {
            let tick = if time_ns % 1_000_000_000 == 0 { TICK_WHOLE_SECONDS } else { TICK };
            let settled_ns = i64::try_from(began.saturating_sub(tick).as_nanos()).unwrap_or(i64::MAX);
            time_ns <= settled_ns
        })
    }
}

/// Times outside of the range (before 1678, after 2262) become its limits and can still be compared.
fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(modified_ms: i64, changed_ms: i64, read_ms: u64, settled: bool) {
        let [modified_ns, changed_ns] = [modified_ms, changed_ms].map(|ms| ms * 1_000_000);
        let stamp = Stamp { length_bytes: 1, modified_ns, changed_ns, inode: 1 };
        let read = UNIX_EPOCH + Duration::from_millis(read_ms);
        assert_eq!(stamp.is_settled_before(read), settled, "{modified_ms} {changed_ms} {read_ms}");
    }

    #[test]
    fn a_file_changed_in_the_tick_of_its_read_is_not_remembered() {
        check(1001, 1001, 1011, true);
        check(1001, 1001, 1010, false);
        check(1001, 1006, 1011, false);
        check(1006, 1001, 1011, false);
        check(-5_000_000, 1001, 2000, true);
        check(9_000_001, 1001, 2000, false);
    }

    #[test]
    fn a_time_in_whole_seconds_may_stand_for_two_of_them() {
        check(1000, 1000, 1900, false);
        check(1000, 1000, 2999, false);
        check(1000, 1000, 3000, true);
        // A time that was set on purpose is long past; the one that the system keeps has a fraction.
        check(1000, 5001, 5011, true);
        check(1000, 5001, 5010, false);
    }

    #[test]
    fn seconds_are_rounded_down_before_1970_too() {
        let stamp = Stamp { length_bytes: 0, modified_ns: -1, changed_ns: 0, inode: 0 };
        assert_eq!(stamp.modified_seconds(), -1);
    }
}
