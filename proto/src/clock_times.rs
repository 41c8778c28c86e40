//! Days of the week with a time of day, at which a schedule launches scans. All in UTC, which has no hour twice.

use std::fmt;
use std::str::FromStr;

const DAY_SECONDS: i64 = 86_400;
/// From Monday on, as bits of [`ClockTimes::days`] from the lowest on.
const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// 1970-01-01 was a Thursday.
const FIRST_WEEKDAY: i64 = 3;

/// A time of day on some days of the week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockTimes {
    /// A bit for each day, at least one.
    days: u8,
    /// Minutes since midnight.
    minute: u16,
}

/// The text is no time of this kind.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no time: write `02:30` for every day, or days before it: `mon,thu 02:30` (UTC)")]
pub struct ClockTimesError(String);

impl FromStr for ClockTimes {
    type Err = ClockTimesError;

    fn from_str(text: &str) -> Result<ClockTimes, ClockTimesError> {
        let wrong = || ClockTimesError(crate::name::one_line(text));
        let (days, time) = text.trim().rsplit_once(' ').unwrap_or(("", text.trim()));
        let (hour, minute) = time.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str, end: u16| {
            let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u16>().ok().filter(|number| is_number && *number < end).ok_or_else(wrong)
        };
        let minute = number(hour, 24)? * 60 + number(minute, 60)?;
        let mut bits = 0;
        for day in days.split([',', ' ']).filter(|day| !day.is_empty()) {
            let place = NAMES.iter().position(|name| day.eq_ignore_ascii_case(name)).ok_or_else(wrong)?;
            bits |= 1 << place;
        }
        Ok(ClockTimes { days: if bits == 0 { 0x7f } else { bits }, minute })
    }
}

impl fmt::Display for ClockTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.days != 0x7f {
            let names: Vec<&str> = (0..7).filter(|day| self.days >> day & 1 == 1).map(|day| NAMES[day]).collect();
            write!(f, "{} ", names.join(","))?;
        }
        write!(f, "{:02}:{:02}", self.minute / 60, self.minute % 60)
    }
}

impl ClockTimes {
    /// The next of these times after a moment, both in seconds since 1970.
    pub fn next_after(&self, now: i64) -> i64 {
        let today = now.div_euclid(DAY_SECONDS);
        // In eight days, each day of the week has begun.
        let times = (0..=7).map(|ahead| today.saturating_add(ahead)).filter(|day| {
            let weekday = (day + FIRST_WEEKDAY).rem_euclid(7);
            self.days >> weekday & 1 == 1
        });
        let mut times = times.map(|day| day.saturating_mul(DAY_SECONDS).saturating_add(i64::from(self.minute) * 60));
        times.find(|time| *time > now).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        for text in ["02:30", "mon,thu 02:30", "sun 23:59"] {
            assert_eq!(text.parse::<ClockTimes>().unwrap().to_string(), text);
        }
        assert_eq!("Thu Mon 00:00".parse::<ClockTimes>().unwrap().to_string(), "mon,thu 00:00");
        for nonsense in ["", "2:30", "24:00", "12:60", "mon", "moon 02:30", "02:30:00", "+1:00", "mon 02:3\u{1b}0"] {
            assert!(nonsense.parse::<ClockTimes>().is_err(), "{nonsense}");
        }
    }

    #[test]
    fn the_next_time_is_on_a_named_day_and_never_now() {
        // Wednesday, 2026-11-25, 00:00.
        let wednesday = 1795564800;
        let [hour, day] = [3600, DAY_SECONDS];
        let at = wednesday + 2 * hour + 1800;
        let check = |text: &str, now: i64, expected: i64| {
            assert_eq!(text.parse::<ClockTimes>().unwrap().next_after(now), expected, "{text} after {now}");
        };
        check("02:30", at - 1, at);
        check("02:30", at, at + day);
        check("mon,thu 02:30", wednesday + 12 * hour, at + day);
        // From one Monday to the next.
        check("mon 02:30", at + 5 * day, at + 12 * day);
        // 1969-12-31 was a Wednesday.
        check("wed 12:00", -13 * hour, -12 * hour);
    }
}
