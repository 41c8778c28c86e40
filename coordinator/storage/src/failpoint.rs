//! Points at which a test can end the process, as if the power had gone. Without the feature `failpoints` they are
//! nothing.

/// Marks such a point. `FAILPOINTS="name=return"` ends the process there, `name=3*off->return` at the fourth time.
#[cfg(feature = "failpoints")]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {
        $crate::fail::fail_point!($name, |_| ::std::process::abort())
    };
}

/// Marks such a point: nothing in this build.
#[cfg(not(feature = "failpoints"))]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {};
}
