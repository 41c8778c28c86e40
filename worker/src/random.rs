//! Random numbers from the operating system.

/// A new epoch: a random number above 0, which no index has had.
pub(crate) fn fresh_epoch() -> u64 {
    // Without random numbers an epoch could repeat, so there is no safe way to continue.
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u64::from_le_bytes(bytes).max(1)
}

/// A random number from 0 up to 1, to spread waits.
pub(crate) fn fraction() -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a spread in time")]
    let number = fresh_epoch() as f64 / u64::MAX as f64;
    number
}
