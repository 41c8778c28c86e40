//! The renewal of the site's certificate.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::dialer::{CertificateStatus, Dialer, certificate_status, lock};
use super::handle::Daemon;
use crate::enrolment::identity::RenewalError;
use crate::random::fraction;
use crate::sending::connection::Connection;

/// The wait after a failed renewal.
const RETRY_AFTER: Duration = Duration::from_secs(600);

/// Renews one certificate after the other.
#[derive(Default)]
pub(super) struct Renewal {
    /// The end of the current certificate and the time of its renewal, in seconds since 1970.
    planned: Option<(i64, i64)>,
    last_failure: Option<Instant>,
}

impl Renewal {
    /// Renews the certificate if it is time.
    pub(super) async fn check<D: Dialer>(&mut self, daemon: &Daemon, dialer: &Mutex<D>, connection: &Connection) {
        self.planned = lock(dialer).identity().and_then(|identity| {
            let not_after = identity.info().ok()?.not_after;
            let earlier = self.planned.filter(|(planned_for, _)| *planned_for == not_after);
            Some(earlier.unwrap_or_else(|| (not_after, identity.renew_at(fraction()))))
        });
        let Some((_, renew_at)) = self.planned else { return };
        let waits = self.last_failure.is_some_and(|failure| failure.elapsed() < RETRY_AFTER);
        if waits || daemon.site.status.now() < renew_at {
            return;
        }
        match renew(dialer, connection).await {
            Ok(certificate) => {
                tracing::info!("the certificate was renewed");
                daemon.certificate.send_replace(certificate);
                self.last_failure = None;
            }
            Err(error) => {
                tracing::warn!(%error, "the certificate could not be renewed; it is tried again");
                self.last_failure = Some(Instant::now());
            }
        }
    }
}

/// Requests a certificate for a new key. The current session continues with the old certificate, the next one uses the new.
async fn renew<D: Dialer>(
    dialer: &Mutex<D>,
    connection: &Connection,
) -> Result<Option<CertificateStatus>, RenewalError> {
    let begun = lock(dialer).identity().map(|identity| identity.begin_renewal()).transpose()?;
    let Some((key, request)) = begun else { return Ok(None) };
    let answer = connection.renew(request).await?;
    let mut dialer = lock(dialer);
    let Some(identity) = dialer.identity() else { return Ok(None) };
    identity.finish_renewal(key, answer)?;
    Ok(certificate_status(identity))
}
