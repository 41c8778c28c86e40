//! Points at which a test can end the process: `crate::failpoint!("area.point")`, nothing at all without the feature.

/// Ends the process here when a test asked for it by this name.
macro_rules! failpoint {
    ($name:expr) => {{
        #[cfg(feature = "failpoints")]
        (|| {
            fail::fail_point!($name, |_| std::process::abort());
        })();
    }};
}

pub(crate) use failpoint;
