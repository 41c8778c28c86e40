//! Errors of keys, certificates and signatures.

/// An error of a key, a certificate or a signature.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// The random source or the key itself fails.
    #[error("the private key cannot be made or used: {0}")]
    Key(String),
    /// The certificate cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The certificate is of another system.
    #[error("the certificate names no member of a federation")]
    NoMember,
    /// A document was changed after it was signed, or another key signed it.
    #[error("the signature does not hold: the document was changed, or another key signed it")]
    Signature,
}
