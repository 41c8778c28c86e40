//! The sessions of a daemon, one after the other, with the waits between them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::dial::DialError;
use tokio::sync::{mpsc, watch};
use tonic::Code;

use super::dialer::{Dialer, lock};
use super::handle::Daemon;
use crate::error::SiteError;
use crate::random::fraction;
use crate::sending::backoff::{BackOff, NextAttempt, after_dial, after_status, wait_min};
use crate::sending::connection::Connection;
use crate::session::attach::{SessionEnd, session};
use crate::session::history::AssignmentHistory;
use crate::session::own_sync::OwnSyncRequest;

/// The shortest wait while a clock is wrong.
const CLOCK_WAIT: Duration = Duration::from_secs(20);

/// Serves sessions until the daemon stops, or until another attempt is of no use.
pub(super) async fn serve<D: Dialer>(
    daemon: &Arc<Daemon>,
    dialer: &Mutex<D>,
    requests: &mut mpsc::Receiver<OwnSyncRequest>,
    stopped: watch::Receiver<bool>,
) -> Result<(), SiteError> {
    let status = &daemon.site.status;
    let history = AssignmentHistory::default();
    let mut back_off = BackOff::default();
    loop {
        let accepted = AtomicBool::new(false);
        let ended = one_session(daemon, dialer, &history, requests, &stopped, &accepted).await;
        daemon.connection.send_replace(None);
        // These requests were for the session that ended, and not for the next one.
        while requests.try_recv().is_ok() {}
        // A coordinator that accepts the site and then violates the protocol does not reset the waits.
        if accepted.into_inner() && !matches!(ended, Err(SiteError::Violation(_))) {
            back_off.reset();
        }
        let (wait, why) = match ended {
            Ok(SessionEnd::Shutdown) => return Ok(()),
            Ok(SessionEnd::Drained(requested)) => {
                (BackOff::after_drain(requested, fraction()), "the coordinator asked to come back later".to_owned())
            }
            Ok(SessionEnd::Closed) => (back_off.next(fraction()), "the coordinator ended the session".to_owned()),
            Err(error) => {
                let why = error.to_string();
                let Some(wait_min) = wait_after(&error, dialer, status.now()) else {
                    status.detached(&why, None);
                    return Err(error);
                };
                (back_off.next(fraction()).max(wait_min), why)
            }
        };
        let next_attempt = status.now().saturating_add(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX));
        status.detached(&why, Some(next_attempt));
        tracing::warn!(why, wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), "not attached");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = until_stopped(stopped.clone()) => return Ok(()),
        }
    }
}

/// The shortest wait after a failure; `None` if another attempt is of no use.
fn wait_after<D: Dialer>(error: &SiteError, dialer: &Mutex<D>, now: i64) -> Option<Duration> {
    let next = match error {
        SiteError::Session(status) => after_status(status),
        SiteError::Dial(error) => after_dial(error),
        SiteError::Violation(_) | SiteError::Silent { .. } => NextAttempt::Usual,
        _ => return None,
    };
    match next {
        NextAttempt::Refused if !lock(dialer).refused() => {
            // A certificate that holds by this clock and not by the coordinator's: one of the two is wrong, and will be set right.
            let is_a_clock = is_about_the_certificate(error) && lock(dialer).holds_at(now);
            return is_a_clock.then_some(CLOCK_WAIT);
        }
        NextAttempt::Clone => {
            tracing::error!("another worker runs with a copy of this site's state: stop one of them");
        }
        _ => {}
    }
    Some(wait_min(next))
}

/// True if the certificate itself was refused, and not the member: a member that was revoked or forgotten is not permitted.
fn is_about_the_certificate(error: &SiteError) -> bool {
    match error {
        SiteError::Session(status) => DialError::of(status).is_some() || status.code() == Code::Unauthenticated,
        SiteError::Dial(_) => true,
        _ => false,
    }
}

async fn one_session<D: Dialer>(
    daemon: &Daemon,
    dialer: &Mutex<D>,
    history: &AssignmentHistory,
    requests: &mut mpsc::Receiver<OwnSyncRequest>,
    stopped: &watch::Receiver<bool>,
    accepted: &AtomicBool,
) -> Result<SessionEnd, SiteError> {
    let (dialling, destination) = {
        let dialer = lock(dialer);
        (dialer.dial(), dialer.destination())
    };
    daemon.site.status.connecting(&destination);
    let channel = tokio::select! {
        dialled = dialling => dialled?,
        () = until_stopped(stopped.clone()) => return Ok(SessionEnd::Shutdown),
    };
    let connection = Connection::new(channel, Arc::clone(&daemon.ledger), &destination);
    let on_welcome = || {
        accepted.store(true, Ordering::Relaxed);
        lock(dialer).accepted();
        daemon.connection.send_replace(Some(connection.clone()));
    };
    session(&daemon.site, &connection, history, requests, &on_welcome, until_stopped(stopped.clone())).await
}

/// Resolves when the daemon stops.
async fn until_stopped(mut stopped: watch::Receiver<bool>) {
    // If the sender is gone, the daemon has stopped as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

#[cfg(test)]
mod tests {
    use tonic::Status;

    use super::*;
    use crate::daemon::dialer::DialFuture;

    /// A dialer that can go back to an earlier certificate once.
    struct GoesBackOnce(bool);

    /// The present time of these tests, at which its certificate holds; a second later it does not.
    const NOW: i64 = 1_800_000_000;

    impl Dialer for GoesBackOnce {
        fn dial(&self) -> DialFuture {
            unreachable!("these tests do not connect")
        }

        fn destination(&self) -> String {
            String::new()
        }

        fn refused(&mut self) -> bool {
            std::mem::take(&mut self.0)
        }

        fn holds_at(&self, now: i64) -> bool {
            now == NOW
        }
    }

    #[test]
    fn only_a_refusal_without_an_earlier_certificate_and_own_failures_end_the_daemon() {
        let dialer = Mutex::new(GoesBackOnce(true));
        let wait = |error: SiteError| wait_after(&error, &dialer, NOW).map(|wait| wait.as_secs());
        let session = |status: Status| SiteError::Session(Box::new(status));
        assert_eq!(wait(session(Status::unavailable(""))), Some(0));
        assert_eq!(wait(session(Status::resource_exhausted(""))), Some(5));
        assert_eq!(wait(session(Status::already_exists(""))), Some(30));
        assert_eq!(wait(SiteError::Violation("x".into())), Some(0));
        assert_eq!(wait(SiteError::Silent { seconds: 60 }), Some(0));
        assert_eq!(wait(session(Status::permission_denied(""))), Some(0));
        assert_eq!(wait(session(Status::permission_denied(""))), None);
        assert_eq!(wait(SiteError::Locked { path: "/".into(), pid: None }), None);
    }

    #[test]
    fn a_certificate_that_holds_by_the_clock_of_the_site_is_tried_again_and_one_that_has_expired_is_not() {
        let dialer = Mutex::new(GoesBackOnce(false));
        let refused = || SiteError::Dial(DialError::Refused { detail: "CertificateExpired".into() });
        let expired = || SiteError::Session(Box::new(Status::unauthenticated("")));
        for error in [refused(), expired()] {
            assert_eq!(wait_after(&error, &dialer, NOW), Some(CLOCK_WAIT));
            assert_eq!(wait_after(&error, &dialer, NOW + 1), None);
        }
        // Who was revoked is refused whatever the time.
        assert_eq!(wait_after(&SiteError::Session(Box::new(Status::permission_denied(""))), &dialer, NOW), None);
    }
}
