//! Errors of dialling, and how they are found in the errors of a call.

use std::error::Error;
use std::io;

/// An error of reaching the coordinator.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The addresses, the CA or the credential are unusable.
    #[error("{0}")]
    Setup(String),
    /// No server answers, or the server is no coordinator.
    #[error("`{address}` cannot be reached: {source}")]
    Unreachable {
        /// The address that was tried last.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// A server answers, but not the right one. Nothing was sent.
    #[error("`{address}` is not the coordinator: {detail}; nothing was sent")]
    NotTrusted {
        /// The address.
        address: String,
        /// The problem of its certificate.
        detail: String,
    },
    /// The coordinator does not accept this certificate.
    #[error(
        "the coordinator does not accept this certificate ({detail}): it has expired, or is of another federation; ask for a new invitation"
    )]
    Refused {
        /// The alert of the coordinator.
        detail: String,
    },
}

impl DialError {
    /// The error behind the status of a failed call, if it is about reaching the coordinator.
    pub fn of(status: &tonic::Status) -> Option<DialError> {
        DialError::in_chain(status)
    }

    /// True if another attempt cannot help, because one of the two certificates is wrong.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, DialError::Unreachable { .. })
    }

    pub(super) fn in_chain(error: &(dyn Error + 'static)) -> Option<DialError> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<DialError>() {
                return Some(found.repeated());
            }
            if let Some(detail) = refusing_alert(error) {
                return Some(DialError::Refused { detail });
            }
            // An I/O error does not count what it wraps as its source.
            let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            next = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped as &(dyn Error + 'static)));
        }
        None
    }

    fn repeated(&self) -> DialError {
        match self {
            DialError::Setup(detail) => DialError::Setup(detail.clone()),
            DialError::Unreachable { address, source } => DialError::Unreachable {
                address: address.clone(),
                source: io::Error::new(source.kind(), source.to_string()),
            },
            DialError::NotTrusted { address, detail } => {
                DialError::NotTrusted { address: address.clone(), detail: detail.clone() }
            }
            DialError::Refused { detail } => DialError::Refused { detail: detail.clone() },
        }
    }
}

/// The alert by which the server refused our certificate, if it sent one. HTTP/2 keeps only its text.
fn refusing_alert(error: &(dyn Error + 'static)) -> Option<String> {
    let text = error.to_string();
    let alert = text.strip_prefix("received fatal alert: ")?;
    (alert.contains("Certificate") || matches!(alert, "UnknownCA" | "AccessDenied" | "DecryptError"))
        .then(|| alert.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_trusted() -> DialError {
        DialError::NotTrusted { address: "a:1".into(), detail: "it is another".into() }
    }

    #[derive(Debug)]
    struct Outer(Box<dyn Error + Send + Sync>);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    #[test]
    fn an_error_of_dialling_is_found_below_others() {
        let errors: [Box<dyn Error + Send + Sync>; 3] = [
            Box::new(not_trusted()),
            Box::new(Outer(Box::new(not_trusted()))),
            Box::new(Outer(Box::new(io::Error::other(Outer(Box::new(io::Error::other(not_trusted()))))))),
        ];
        for error in errors {
            assert_eq!(DialError::in_chain(&*error).map(|found| found.to_string()), Some(not_trusted().to_string()));
        }
        assert!(DialError::in_chain(&io::Error::other("a broken pipe")).is_none());
    }

    #[test]
    fn alerts_about_certificates_are_refusals_and_others_are_not() {
        for (alert, is_refusal) in [
            ("CertificateExpired", true),
            ("BadCertificate", true),
            ("CertificateRequired", true),
            ("UnknownCA", true),
            ("AccessDenied", true),
            ("DecryptError", true),
            ("HandshakeFailure", false),
            ("InternalError", false),
        ] {
            let error = io::Error::other(format!("received fatal alert: {alert}"));
            assert_eq!(refusing_alert(&error).is_some(), is_refusal, "{alert}");
        }
        assert!(refusing_alert(&io::Error::other("BadCertificate")).is_none());
    }

    #[test]
    fn only_an_unreachable_coordinator_is_worth_another_attempt() {
        let unreachable = DialError::Unreachable { address: "a:1".into(), source: io::ErrorKind::TimedOut.into() };
        assert!(!unreachable.is_lasting());
        for error in [not_trusted(), DialError::Setup("no".into()), DialError::Refused { detail: "no".into() }] {
            assert!(error.is_lasting(), "{error}");
            assert_eq!(error.repeated().to_string(), error.to_string());
        }
        assert_eq!(unreachable.repeated().to_string(), unreachable.to_string());
    }
}
