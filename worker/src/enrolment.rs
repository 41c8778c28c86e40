//! Enrolment: the certificate of a site. A site gets its first certificate with an invitation, and every further one with its
//! current certificate.

mod error;
mod files;
pub(crate) mod identity;
mod join;

pub use self::error::EnrolmentError;
pub use self::identity::Identity;
pub use self::join::enroll;
