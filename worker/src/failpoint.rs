//! Points at which a test can end the process: `crate::failpoint!("area.point")`. Without the feature they do nothing.

/// Ends the process at this point if a test has enabled it by its name.
macro_rules! failpoint {
    ($name:expr) => {{
        #[cfg(feature = "failpoints")]
        (|| {
            fail::fail_point!($name, |_| std::process::abort());
        })();
    }};
}

pub(crate) use failpoint;
