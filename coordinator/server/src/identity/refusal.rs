//! Reasons for refusing a peer: the words for the peer, and a count for the operator.
//!
//! Every refusal is counted, and a few of each reason are logged: a flood of them fills no disk.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The most refusals for one reason that are logged within this time.
const LOGGED_MAX: u32 = 10;
const LOGGED_WITHIN: Duration = Duration::from_secs(10);

/// A reason for refusing a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The handshake took too long.
    #[error("the handshake was not finished in time")]
    HandshakeTimeout,
    /// The connection was not TLS 1.3 with HTTP/2 inside.
    #[error("the handshake failed")]
    Handshake,
    /// There are too many connections.
    #[error("there are too many connections")]
    Connections,
    /// The certificate has ended, or not begun.
    #[error("the certificate does not hold now: it has expired, or a clock is wrong; ask for a new invitation")]
    CertificateExpired,
    /// Another CA signed it, or it is not signed.
    #[error("the certificate is not of this federation")]
    CertificateForeign,
    /// It is not for this use, or cannot be read.
    #[error("the certificate is not one that a member shows")]
    CertificateUnfit,
    /// A call that needs a certificate came without one.
    #[error("this call needs a certificate: enrol with an invitation first")]
    NoCertificate,
    /// The registry does not know the member, or knows it by another key.
    #[error(
        "the registry does not know this certificate: the member was forgotten or enrolled again; ask for a new invitation"
    )]
    NotMember,
    /// The member was shut out.
    #[error("this member was revoked: ask the administrator of the federation for a new invitation")]
    Revoked,
    /// A member that was shut out and invited again asks with a key that it had before.
    #[error("this key was revoked with the certificate for it: ask for a new invitation, with which a new key is made")]
    RevokedKey,
    /// The member may not do this.
    #[error("the role of this member does not allow it: ask an administrator of the federation")]
    Role,
    /// There is no such method.
    #[error("there is no such method")]
    Method,
    /// There is no such invitation, or its secret is another.
    #[error(
        "the invitation is not known here: it was replaced by a newer one or belongs to another federation; ask for a new one"
    )]
    Token,
    /// The invitation was used, with another key.
    #[error("the invitation was used already: each is for one enrolment; ask for a new one")]
    TokenUsed,
    /// The invitation has expired.
    #[error("the invitation has expired: ask for a new one")]
    TokenExpired,
    /// Too many wrong secrets.
    #[error("the invitation is locked for 15 minutes after 5 wrong attempts")]
    TokenLocked,
    /// The code of a sign-in address is not valid.
    #[error(
        "this address cannot be used to sign in: it was used, has expired or is not known; `cognate operator login` prints a new one"
    )]
    SignIn,
    /// The session or credential is not valid (any more).
    #[error("this needs a credential: `cognate operator login --token` prints one")]
    Session,
}

impl Refusal {
    /// Every reason there is.
    pub const ALL: [Refusal; 18] = [
        Refusal::HandshakeTimeout,
        Refusal::Handshake,
        Refusal::Connections,
        Refusal::CertificateExpired,
        Refusal::CertificateForeign,
        Refusal::CertificateUnfit,
        Refusal::NoCertificate,
        Refusal::NotMember,
        Refusal::Revoked,
        Refusal::RevokedKey,
        Refusal::Role,
        Refusal::Method,
        Refusal::Token,
        Refusal::TokenUsed,
        Refusal::TokenExpired,
        Refusal::TokenLocked,
        Refusal::SignIn,
        Refusal::Session,
    ];

    /// The reason as a label of a metric.
    pub fn label(self) -> &'static str {
        match self {
            Refusal::HandshakeTimeout => "handshake_timeout",
            Refusal::Handshake => "handshake",
            Refusal::Connections => "connections",
            Refusal::CertificateExpired => "certificate_expired",
            Refusal::CertificateForeign => "certificate_foreign",
            Refusal::CertificateUnfit => "certificate_unfit",
            Refusal::NoCertificate => "no_certificate",
            Refusal::NotMember => "not_member",
            Refusal::Revoked => "revoked",
            Refusal::RevokedKey => "revoked_key",
            Refusal::Role => "role",
            Refusal::Method => "method",
            Refusal::Token => "token",
            Refusal::TokenUsed => "token_used",
            Refusal::TokenExpired => "token_expired",
            Refusal::TokenLocked => "token_locked",
            Refusal::SignIn => "sign_in",
            Refusal::Session => "session",
        }
    }

    fn code(self) -> tonic::Code {
        match self {
            Refusal::NotMember | Refusal::Revoked | Refusal::RevokedKey | Refusal::Role => {
                tonic::Code::PermissionDenied
            }
            Refusal::Method => tonic::Code::Unimplemented,
            Refusal::Connections => tonic::Code::ResourceExhausted,
            _ => tonic::Code::Unauthenticated,
        }
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> tonic::Status {
        tonic::Status::new(refusal.code(), refusal.to_string())
    }
}

/// The number of refusals for each reason since the start.
#[derive(Default)]
pub struct Refusals {
    counts: [AtomicU64; Refusal::ALL.len()],
    logged: [Mutex<Logged>; Refusal::ALL.len()],
    hear: Option<Box<dyn Fn(Refusal) + Send + Sync>>,
}

impl Refusals {
    /// A counter that is also passed to somebody else.
    pub fn heard_by(hear: impl Fn(Refusal) + Send + Sync + 'static) -> Refusals {
        Refusals { hear: Some(Box::new(hear)), ..Refusals::default() }
    }

    /// Counts one.
    pub fn count(&self, refusal: Refusal) {
        self.counts[refusal as usize].fetch_add(1, Ordering::Relaxed);
        if let Some(hear) = &self.hear {
            hear(refusal);
        }
    }

    /// Counts one. If it is to be logged, answers the number of those for the same reason that were not logged since
    /// the last one that was.
    pub fn counted(&self, refusal: Refusal) -> Option<u64> {
        self.count(refusal);
        self.logged[refusal as usize].lock().expect("nothing panics while it is held").one_at(Instant::now())
    }

    /// All reasons with their counts.
    pub fn all(&self) -> impl Iterator<Item = (Refusal, u64)> {
        Refusal::ALL.into_iter().map(|refusal| (refusal, self.counts[refusal as usize].load(Ordering::Relaxed)))
    }
}

/// The logged refusals for one reason.
#[derive(Default)]
struct Logged {
    /// The beginning of the present stretch of time, and the number of those logged within it.
    stretch: Option<(Instant, u32)>,
    unlogged: u64,
}

impl Logged {
    fn one_at(&mut self, now: Instant) -> Option<u64> {
        match &mut self.stretch {
            Some((began, logged)) if now.duration_since(*began) < LOGGED_WITHIN => {
                if *logged == LOGGED_MAX {
                    self.unlogged += 1;
                    return None;
                }
                *logged += 1;
            }
            stretch => *stretch = Some((now, 1)),
        }
        Some(std::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_logged_at_a_bounded_rate_with_the_number_of_the_others() {
        let (mut logged, began) = (Logged::default(), Instant::now());
        let lines = (0..10_000).filter_map(|_| logged.one_at(began)).count();
        assert_eq!(lines, LOGGED_MAX as usize);
        assert_eq!(logged.one_at(began + LOGGED_WITHIN), Some(10_000 - u64::from(LOGGED_MAX)));
        assert_eq!(logged.one_at(began + LOGGED_WITHIN), Some(0));
    }

    #[test]
    fn every_reason_has_a_place_and_a_label_of_its_own() {
        let mut labels: Vec<_> = Refusal::ALL.iter().map(|refusal| refusal.label()).collect();
        assert!(Refusal::ALL.iter().enumerate().all(|(place, refusal)| place == *refusal as usize));
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), Refusal::ALL.len());
        let refusals = Refusals::default();
        refusals.count(Refusal::Revoked);
        assert!(refusals.all().all(|(refusal, count)| count == u64::from(refusal == Refusal::Revoked)));
    }
}
