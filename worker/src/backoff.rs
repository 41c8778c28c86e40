//! When to dial again, and whether to.

use std::time::Duration;

use cognate_proto::dial::DialError;
use tonic::{Code, Status};

/// The first wait.
const FIRST: Duration = Duration::from_secs(1);
/// Each wait is this much longer than the one before.
const FACTOR: f64 = 1.6;
/// No wait is longer, except where asking again is of little use.
const LONGEST: Duration = Duration::from_secs(120);
/// By how much a wait may be shorter or longer, so that sites do not come back all at once.
const JITTER: f64 = 0.2;
/// After a drain or a restart of the coordinator: anything up to this.
const RESTART_SPREAD: Duration = Duration::from_secs(30);
/// Where the other side said that it has too much to do.
const OVERLOADED_LEAST: Duration = Duration::from_secs(5);
/// Where only somebody's doing can help, an upgrade for example.
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

    /// A session was had: the next failure is the first again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The wait after a drain or a restart: what was asked for at least, and then spread out.
    pub(crate) fn after_drain(asked: Option<Duration>, random: f64) -> Duration {
        asked.unwrap_or_default().min(SELDOM) + RESTART_SPREAD.mul_f64(random)
    }
}

/// What a failure means for the next attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Try again after a while.
    Again,
    /// The same, but not before this long.
    NotBefore(Duration),
    /// Only somebody's doing can help; look now and then whether it was done.
    Seldom,
    /// Another process works with a copy of this site's state: somebody must hear of it.
    Clone,
    /// This site is not welcome any more.
    Refused,
}

/// The one table from what the coordinator answered to what is done about it. Everything that is sent may be sent again,
/// so that all is tried again but what can never succeed.
pub(crate) fn next(status: &Status) -> Next {
    if let Some(error) = DialError::of(status) {
        return next_dial(&error);
    }
    match status.code() {
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::NotFound
        | Code::Aborted
        | Code::Internal
        | Code::Unavailable => Next::Again,
        Code::ResourceExhausted => Next::NotBefore(OVERLOADED_LEAST),
        Code::AlreadyExists => Next::Clone,
        Code::PermissionDenied | Code::Unauthenticated => Next::Refused,
        Code::InvalidArgument | Code::OutOfRange | Code::FailedPrecondition | Code::Unimplemented | Code::DataLoss => {
            Next::Seldom
        }
    }
}

/// The same for what is said before a call gets through.
pub(crate) fn next_dial(error: &DialError) -> Next {
    match error {
        DialError::Refused { .. } => Next::Refused,
        // Nothing is sent to somebody who pretends; but it may be the line that is wrong, and not for ever.
        DialError::NotTrusted { .. } => Next::NotBefore(LONGEST),
        DialError::Setup(_) => Next::Seldom,
        DialError::Unreachable { .. } => Next::Again,
    }
}

/// The wait that a verdict asks for at least.
pub(crate) fn at_least(next: Next) -> Duration {
    match next {
        Next::Again | Next::Refused => Duration::ZERO,
        Next::NotBefore(least) => least,
        Next::Seldom => SELDOM,
        Next::Clone => RESTART_SPREAD,
    }
}

/// A number from 0 up to 1.
pub(crate) fn random() -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a spread in time")]
    let number = crate::sync::fresh_epoch() as f64 / u64::MAX as f64;
    number
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
    fn after_a_drain_sites_come_back_spread_over_half_a_minute() {
        let asked = Some(Duration::from_secs(7));
        assert_eq!(BackOff::after_drain(None, 0.0), Duration::ZERO);
        assert_eq!(BackOff::after_drain(asked, 0.5), Duration::from_secs(22));
        assert_eq!(BackOff::after_drain(Some(Duration::MAX), 0.0), Duration::from_secs(3600));
    }

    #[test]
    fn all_is_tried_again_but_what_can_never_succeed() {
        let check = |code, expected| assert_eq!(next(&Status::new(code, "")), expected, "{code:?}");
        for code in [
            Code::Unavailable,
            Code::Cancelled,
            Code::Unknown,
            Code::Internal,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::NotFound,
        ] {
            check(code, Next::Again);
        }
        check(Code::ResourceExhausted, Next::NotBefore(Duration::from_secs(5)));
        check(Code::AlreadyExists, Next::Clone);
        check(Code::PermissionDenied, Next::Refused);
        check(Code::Unauthenticated, Next::Refused);
        for code in
            [Code::InvalidArgument, Code::OutOfRange, Code::FailedPrecondition, Code::Unimplemented, Code::DataLoss]
        {
            check(code, Next::Seldom);
        }
    }
}
