//! Points at which a test can end the process, as if the power had gone.
//!
//! A build with debug assertions has them, and so has one with the feature `failpoints`: at each of them it calls the function that
//! the program has given to [`call`]. In all other builds they are nothing. They do not hang on the feature alone, because then the
//! program with failpoints would need a second build of nearly all crates; so it shares them with the program that tests run.

#[cfg(any(debug_assertions, feature = "failpoints"))]
mod points {
    use std::sync::OnceLock;

    static ACTION: OnceLock<fn(&str)> = OnceLock::new();

    /// Has every point call this function with its name, from now on. The first function stays.
    pub fn call(action: fn(&str)) {
        let _ = ACTION.set(action);
    }

    /// Calls that function.
    #[doc(hidden)]
    pub fn reached(name: &str) {
        if let Some(action) = ACTION.get() {
            action(name);
        }
    }
}

#[cfg(any(debug_assertions, feature = "failpoints"))]
pub use points::{call, reached};

/// Marks such a point. `FAILPOINTS="name=return"` ends `cognate-failpoints` there, `name=3*off->return` at the fourth time.
#[cfg(any(debug_assertions, feature = "failpoints"))]
#[macro_export]
macro_rules! failpoint {
    ($name:expr) => {
        $crate::failpoint::reached($name)
    };
}

/// Marks such a point: nothing in this build.
#[cfg(not(any(debug_assertions, feature = "failpoints")))]
#[macro_export]
macro_rules! failpoint {
    ($name:expr) => {};
}
