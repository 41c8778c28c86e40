//! The waits between attempts, and the decision if there is another attempt.

use std::time::Duration;

use cognate_proto::dial::DialError;
use tonic::{Code, Status};

/// The first wait.
const FIRST: Duration = Duration::from_secs(1);
/// Factor from one wait to the next.
const FACTOR: f64 = 1.6;
/// The longest wait, except where another attempt is of little use.
const LONGEST: Duration = Duration::from_secs(120);
/// Part by which a wait is shorter or longer at random, so that sites do not come back all at once.
const JITTER: f64 = 0.2;
/// Longest random wait after a drain or a restart of the coordinator.
const RESTART_SPREAD: Duration = Duration::from_secs(30);
/// Shortest wait for an overloaded coordinator.
const OVERLOADED_LEAST: Duration = Duration::from_secs(5);
/// The wait where only a change by a person helps, for example an upgrade.
const SELDOM: Duration = Duration::from_secs(3600);

/// The waits between attempts.
#[derive(Default, Debug)]
pub(crate) struct BackOff {
    failures: i32,
}

impl BackOff {
    /// The next wait; `random` is from 0 up to 1.
    pub(crate) fn next(&mut self, random: f64) -> Duration {
        let mean = FIRST.as_secs_f64() * FACTOR.powi(self.failures);
        self.failures = (self.failures + 1).min(20);
        Duration::from_secs_f64(mean.min(LONGEST.as_secs_f64()) * (1.0 + JITTER * (2.0 * random - 1.0)))
    }

    /// Starts again with the first wait, after a success.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The wait after a drain or a restart: the requested time and a random part.
    pub(crate) fn after_drain(requested: Option<Duration>, random: f64) -> Duration {
        requested.unwrap_or_default().min(SELDOM) + RESTART_SPREAD.mul_f64(random)
    }
}

/// The consequence of a failure for the next attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextAttempt {
    /// Try again after the usual wait.
    Usual,
    /// Try again after at least this time.
    NotBefore(Duration),
    /// Only a change by a person helps; try again rarely.
    Seldom,
    /// Another process works with a copy of this site's state: a person must stop one of them.
    Clone,
    /// The coordinator does not accept this site any more.
    Refused,
}

/// The table from statuses to consequences. Every message may be sent again, so everything is tried again except what can
/// never succeed.
pub(crate) fn after_status(status: &Status) -> NextAttempt {
    if let Some(error) = DialError::of(status) {
        return after_dial(&error);
    }
    match status.code() {
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::NotFound
        | Code::Aborted
        | Code::Internal
        | Code::Unavailable => NextAttempt::Usual,
        Code::ResourceExhausted => NextAttempt::NotBefore(OVERLOADED_LEAST),
        Code::AlreadyExists => NextAttempt::Clone,
        Code::PermissionDenied | Code::Unauthenticated => NextAttempt::Refused,
        Code::InvalidArgument | Code::OutOfRange | Code::FailedPrecondition | Code::Unimplemented | Code::DataLoss => {
            NextAttempt::Seldom
        }
    }
}

/// The same for failures to connect.
pub(crate) fn after_dial(error: &DialError) -> NextAttempt {
    match error {
        DialError::Refused { .. } => NextAttempt::Refused,
        // Nothing is sent to an impostor. But the network may be the cause, and only for a while.
        DialError::NotTrusted { .. } => NextAttempt::NotBefore(LONGEST),
        DialError::Setup(_) => NextAttempt::Seldom,
        DialError::Unreachable { .. } => NextAttempt::Usual,
    }
}

/// The shortest wait before the next attempt.
pub(crate) fn wait_min(next: NextAttempt) -> Duration {
    match next {
        NextAttempt::Usual | NextAttempt::Refused => Duration::ZERO,
        NextAttempt::NotBefore(least) => least,
        NextAttempt::Seldom => SELDOM,
        NextAttempt::Clone => RESTART_SPREAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_two_minutes_and_no_further() {
        for (random, factor) in [(0.0, 0.8), (0.5, 1.0), (0.999_999, 1.2)] {
            let mut back_off = BackOff::default();
            let waits: Vec<f64> = (0..40).map(|_| back_off.next(random).as_secs_f64() / factor).collect();
            let near = |a: f64, b: f64| (a - b).abs() < 0.01 * b;
            assert!(near(waits[0], 1.0) && near(waits[1], 1.6) && near(waits[2], 2.56), "{waits:?}");
            assert!(waits.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9), "{waits:?}");
            assert!(near(waits[39], 120.0), "{waits:?}");
            back_off.reset();
            assert!(near(back_off.next(random).as_secs_f64() / factor, 1.0));
        }
    }

    #[test]
    fn after_a_drain_sites_come_back_within_half_a_minute() {
        let requested = Some(Duration::from_secs(7));
        assert_eq!(BackOff::after_drain(None, 0.0), Duration::ZERO);
        assert_eq!(BackOff::after_drain(requested, 0.5), Duration::from_secs(22));
        assert_eq!(BackOff::after_drain(Some(Duration::MAX), 0.0), Duration::from_secs(3600));
    }

    #[test]
    fn everything_is_tried_again_except_what_can_never_succeed() {
        let check = |code, expected| assert_eq!(after_status(&Status::new(code, "")), expected, "{code:?}");
        for code in [
            Code::Unavailable,
            Code::Cancelled,
            Code::Unknown,
            Code::Internal,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::NotFound,
        ] {
            check(code, NextAttempt::Usual);
        }
        check(Code::ResourceExhausted, NextAttempt::NotBefore(Duration::from_secs(5)));
        check(Code::AlreadyExists, NextAttempt::Clone);
        check(Code::PermissionDenied, NextAttempt::Refused);
        check(Code::Unauthenticated, NextAttempt::Refused);
        for code in
            [Code::InvalidArgument, Code::OutOfRange, Code::FailedPrecondition, Code::Unimplemented, Code::DataLoss]
        {
            check(code, NextAttempt::Seldom);
        }
    }

    #[test]
    fn failures_to_connect_have_their_own_table() {
        let check = |error: DialError, expected| assert_eq!(after_dial(&error), expected, "{error}");
        let address = || "hub:7443".to_owned();
        let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        check(DialError::Unreachable { address: address(), source }, NextAttempt::Usual);
        check(DialError::Refused { detail: "expired".into() }, NextAttempt::Refused);
        check(DialError::Setup("no address".into()), NextAttempt::Seldom);
        let impostor = DialError::NotTrusted { address: address(), detail: "another key".into() };
        check(impostor, NextAttempt::NotBefore(LONGEST));
    }

    #[test]
    fn the_shortest_wait_follows_the_consequence() {
        let check = |next, seconds| assert_eq!(wait_min(next), Duration::from_secs(seconds), "{next:?}");
        check(NextAttempt::Usual, 0);
        check(NextAttempt::Refused, 0);
        check(NextAttempt::NotBefore(Duration::from_secs(7)), 7);
        check(NextAttempt::Clone, 30);
        check(NextAttempt::Seldom, 3600);
    }
}
