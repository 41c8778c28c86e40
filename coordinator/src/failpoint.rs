//! Points at which a test can end the process, as if the power had gone. Without the feature `failpoints` they are nothing.

/// A point with this name. `FAILPOINTS="name=return"` ends the process there, `name=3*off->return` at the fourth time.
#[cfg(feature = "failpoints")]
macro_rules! failpoint {
    ($name:literal) => {
        fail::fail_point!($name, |_| std::process::abort())
    };
}

#[cfg(not(feature = "failpoints"))]
macro_rules! failpoint {
    ($name:literal) => {};
}

pub(crate) use failpoint;
