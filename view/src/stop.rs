//! Reasons that pass through readers that only know errors of reading.

use crate::outcome::Reason;

/// The reason that a failure to read or to parse has: the one of a reader of ours, or that the document is damaged.
pub(crate) fn broken<E: std::error::Error + 'static>(error: E) -> Reason {
    reason(&error)
}

/// The reason that an error or one of its causes has; else that the document is damaged.
pub(crate) fn reason(error: &(dyn std::error::Error + 'static)) -> Reason {
    let mut error = Some(error);
    while let Some(cause) = error {
        if let Some(&Stop(reason)) = cause.downcast_ref() {
            return reason;
        }
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        error = inner.map(|inner| inner as _).or_else(|| cause.source());
    }
    Reason::Damaged
}

/// A reason inside an error of reading.
#[derive(Debug)]
pub(crate) struct Stop(pub(crate) Reason);

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stop {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::io::Error);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_reason_is_found_at_any_depth_of_causes() {
        let stop = || std::io::Error::other(Stop(Reason::TooDeep));
        assert_eq!(broken(stop()), Reason::TooDeep);
        assert_eq!(broken(Outer(stop())), Reason::TooDeep);
        assert_eq!(broken(std::io::Error::other(Outer(stop()))), Reason::TooDeep);
        assert_eq!(broken(Outer(std::io::Error::other("odd"))), Reason::Damaged);
        assert_eq!(Stop(Reason::TooDeep).to_string(), Reason::TooDeep.to_string());
    }
}
