//! Errors of a page, in the words that a person reads.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tonic::{Code, Status};

use cognate_server::Error;
use cognate_storage::ErrorKind;

/// A page that cannot be shown, or an action that failed. `guard.rs` makes a page of it, and `api.rs` JSON.
#[derive(Clone, Debug)]
pub(crate) struct PageError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl PageError {
    fn new(status: StatusCode, message: impl Into<String>) -> PageError {
        PageError { status, message: message.into() }
    }

    /// Nothing exists at this address, or nothing that this person may see.
    pub(crate) fn not_found() -> PageError {
        PageError::new(StatusCode::NOT_FOUND, "this page does not exist, or you may not see it")
    }

    /// The request is invalid.
    pub(crate) fn invalid(message: impl Into<String>) -> PageError {
        PageError::new(StatusCode::BAD_REQUEST, message)
    }

    /// The person lacks the permission.
    pub(crate) fn denied(message: impl Into<String>) -> PageError {
        PageError::new(StatusCode::FORBIDDEN, message)
    }

    /// The request has more bytes than its sender may send.
    pub(crate) fn too_large(bytes_max: usize) -> PageError {
        let most = cognate_export::human::bytes(bytes_max as u64);
        PageError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the request is larger than {most}: send less at a time"))
    }

    /// The request did not arrive in time.
    pub(crate) fn too_slow(within: Duration) -> PageError {
        let within = within.as_secs();
        PageError::new(StatusCode::REQUEST_TIMEOUT, format!("the request took longer than {within} s: send it again"))
    }

    /// Too much is going on.
    pub(crate) fn busy(message: impl Into<String>) -> PageError {
        PageError::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Nobody is signed in.
    pub(crate) fn not_signed_in(message: impl Into<String>) -> PageError {
        PageError::new(StatusCode::UNAUTHORIZED, message)
    }

    /// The coordinator failed.
    pub(crate) fn internal(message: impl Into<String>) -> PageError {
        PageError::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl From<Error> for PageError {
    fn from(error: Error) -> PageError {
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Denied => StatusCode::FORBIDDEN,
            ErrorKind::Conflict | ErrorKind::Exists | ErrorKind::Precondition => StatusCode::CONFLICT,
            ErrorKind::Unavailable | ErrorKind::InUse => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Exhausted => StatusCode::INSUFFICIENT_STORAGE,
            ErrorKind::Corrupt | ErrorKind::InputOutput | ErrorKind::OtherVersion | ErrorKind::Internal => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        PageError::new(status, error.to_string())
    }
}

impl From<cognate_desk::Error> for PageError {
    fn from(error: cognate_desk::Error) -> PageError {
        Error::from(error).into()
    }
}

impl From<Status> for PageError {
    fn from(status: Status) -> PageError {
        let code = match status.code() {
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
            Code::PermissionDenied => StatusCode::FORBIDDEN,
            Code::Unauthenticated => StatusCode::UNAUTHORIZED,
            Code::AlreadyExists | Code::Aborted | Code::FailedPrecondition => StatusCode::CONFLICT,
            Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded => StatusCode::SERVICE_UNAVAILABLE,
            Code::ResourceExhausted => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        PageError::new(code, status.message())
    }
}

impl From<askama::Error> for PageError {
    fn from(error: askama::Error) -> PageError {
        PageError::internal(format!("the page cannot be written: {error}"))
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::warn!(status = self.status.as_u16(), message = self.message, "a page failed");
        }
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
