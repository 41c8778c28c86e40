//! Times and numbers as they are stored.

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the present time; composition roots choose it.
pub type Clock = fn() -> SystemTime;

/// Seconds since 1970; 0 for a time before that.
pub fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// A random number from 1 on; it cannot be guessed and does not repeat.
///
/// # Panics
/// Panics if the operating system gives no random numbers.
pub fn random_number() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u64::from_le_bytes(bytes).max(1)
}
