//! Connecting to the coordinator, with the site's identity or in a test by other means.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};

use cognate_proto::dial::DialError;
use tonic::transport::Channel;

use crate::enrolment::identity::Identity;

/// A future that connects to the coordinator.
pub type DialFuture = Pin<Box<dyn Future<Output = Result<Channel, DialError>> + Send>>;

/// Connects to the coordinator.
pub trait Dialer: Send + 'static {
    /// Connects once. Every session has a connection of its own.
    fn dial(&self) -> DialFuture;
    /// The address of the coordinator, for people and for the ledger.
    fn destination(&self) -> String;
    /// The coordinator has accepted this site.
    fn accepted(&mut self) {}
    /// The coordinator does not accept this site. Returns true if another attempt makes sense.
    fn refused(&mut self) -> bool {
        false
    }
    /// Whether the certificate holds at this time, in seconds since 1970.
    fn holds_at(&self, _now: i64) -> bool {
        false
    }
    /// The identity of the site, if there is one. It is renewed in time.
    fn identity(&mut self) -> Option<&mut Identity> {
        None
    }
}

impl Dialer for Identity {
    fn dial(&self) -> DialFuture {
        let dial = Identity::dial(self);
        Box::pin(async move { dial?.connect().await })
    }

    fn destination(&self) -> String {
        self.addresses().join(",")
    }

    fn accepted(&mut self) {
        self.keep();
    }

    fn refused(&mut self) -> bool {
        self.go_back()
    }

    fn holds_at(&self, now: i64) -> bool {
        self.info().is_ok_and(|info| (info.not_before..=info.not_after).contains(&now))
    }

    fn identity(&mut self) -> Option<&mut Identity> {
        Some(self)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no code panics while it holds this lock")
}

/// The end of a certificate in seconds since 1970, and the words of its key.
pub(super) type CertificateStatus = (i64, String);

pub(super) fn certificate_status(identity: &Identity) -> Option<CertificateStatus> {
    Some((identity.info().ok()?.not_after, identity.key().words()))
}
