//! Identities: the members of a federation, the keys by which they are known, and their certificates.

mod certificate;
mod credential;
mod error;
mod key;
mod membership;
mod signature;

pub use certificate::{CertificateInfo, MemberUri, certificate_key};
pub use credential::{Credential, pem};
pub use error::IdentityError;
pub use key::{KeyHash, PrivateKey, federation_key_words, key_words};
pub use membership::{Membership, MembershipError};
pub use signature::signer_of;
