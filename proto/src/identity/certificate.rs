//! The facts that a certificate states: member, key and validity.

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::error::IdentityError;
use super::key::KeyHash;
use crate::limits::CERTIFICATE_BYTES_MAX;
use crate::name::SiteName;
use crate::v1::MemberKind;

/// A member of a federation, as certificates name it: `cognate://<deployment>/site/<name>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberUri {
    /// The federation: a random number in eight hexadecimal digits.
    pub deployment: String,
    /// A site or a person.
    pub kind: MemberKind,
    /// The name.
    pub name: String,
}

impl fmt::Display for MemberUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind == MemberKind::Operator { "operator" } else { "site" };
        write!(f, "cognate://{}/{kind}/", self.deployment)?;
        for byte in self.name.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => write!(f, "{}", char::from(byte))?,
                // Names may hold letters of every language, addresses may not.
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for MemberUri {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<MemberUri, IdentityError> {
        let parse = || {
            let mut parts = text.strip_prefix("cognate://")?.split('/');
            let (deployment, kind, name) = (parts.next()?, parts.next()?, parts.next()?);
            let kind = match kind {
                "site" => MemberKind::Site,
                "operator" => MemberKind::Operator,
                _ => return None,
            };
            let name = percent_decoded(name)?;
            name.parse::<SiteName>().ok()?;
            let well_formed = deployment.len() == 8 && deployment.bytes().all(|digit| digit.is_ascii_hexdigit());
            (well_formed && parts.next().is_none()).then(|| MemberUri { deployment: deployment.to_owned(), kind, name })
        };
        parse().ok_or(IdentityError::NoMember)
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The facts of a certificate. Its signature is not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateInfo {
    /// The member, if it is the certificate of one.
    pub member: Option<MemberUri>,
    /// Its key.
    pub key: KeyHash,
    /// Start of its validity; seconds since 1970.
    pub not_before: i64,
    /// End of its validity; seconds since 1970.
    pub not_after: i64,
}

impl CertificateInfo {
    /// Reads a certificate, DER.
    ///
    /// # Errors
    /// If it is not one.
    pub fn read(der: &[u8]) -> Result<CertificateInfo, IdentityError> {
        let unreadable = |error: String| IdentityError::Certificate(error);
        if der.len() > CERTIFICATE_BYTES_MAX {
            return Err(unreadable(format!("it is larger than {CERTIFICATE_BYTES_MAX} bytes")));
        }
        let (rest, certificate) = X509Certificate::from_der(der).map_err(|error| unreadable(error.to_string()))?;
        if !rest.is_empty() {
            return Err(unreadable("something follows it".to_owned()));
        }
        let names = certificate.subject_alternative_name().map_err(|error| unreadable(error.to_string()))?;
        let mut members = names.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
            GeneralName::URI(uri) => uri.parse().ok(),
            _ => None,
        });
        let member = members.next();
        if members.next().is_some() {
            return Err(unreadable("it names more than one member".to_owned()));
        }
        Ok(CertificateInfo {
            member,
            key: KeyHash::of(certificate.public_key().raw),
            not_before: certificate.validity().not_before.timestamp(),
            not_after: certificate.validity().not_after.timestamp(),
        })
    }

    /// The time at which two thirds of its life are over; `jitter` from -0.1 to 0.1 spreads many certificates of the
    /// same age.
    pub fn renew_at(&self, jitter: f64) -> i64 {
        let life = u32::try_from(self.not_after.saturating_sub(self.not_before)).unwrap_or(u32::MAX);
        let share = (2.0 / 3.0 + jitter.clamp(-0.1, 0.1)) * f64::from(life);
        #[expect(clippy::cast_possible_truncation, reason = "a share of 32 bits")]
        self.not_before.saturating_add(share as i64)
    }
}

/// The hash of the key of a certificate, DER.
///
/// # Errors
/// If it is not a certificate.
pub fn certificate_key(der: &CertificateDer<'_>) -> Result<KeyHash, IdentityError> {
    CertificateInfo::read(der).map(|info| info.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_by_an_address_of_its_own() {
        let uri = |kind, name: &str| MemberUri { deployment: "0123abcd".into(), kind, name: name.into() };
        for (member, shown) in [
            (uri(MemberKind::Site, "paris"), "cognate://0123abcd/site/paris"),
            (uri(MemberKind::Operator, "anna.b"), "cognate://0123abcd/operator/anna.b"),
            (uri(MemberKind::Site, "münchen"), "cognate://0123abcd/site/m%C3%BCnchen"),
        ] {
            assert_eq!(member.to_string(), shown);
            assert_eq!(shown.parse(), Ok(member));
        }
        for text in [
            "",
            "https://0123abcd/site/paris",
            "cognate://0123abcd/site/",
            "cognate://0123abcd/site/a/b",
            "cognate://0123abcd/site/a%2Fb",
            "cognate://0123abcd/site/..",
            "cognate://0123abcd/site/a%zz",
            "cognate://0123abcd/site/%FF",
            "cognate://0123abc/site/a",
            "cognate://0123abcd/admin/a",
        ] {
            assert_eq!(text.parse::<MemberUri>(), Err(IdentityError::NoMember), "{text}");
        }
    }

    #[test]
    fn a_certificate_is_renewed_at_two_thirds_of_its_life() {
        let info = CertificateInfo { member: None, key: KeyHash([0; 32]), not_before: 1000, not_after: 4000 };
        assert_eq!(info.renew_at(0.0), 3000);
        assert_eq!((info.renew_at(-5.0), info.renew_at(5.0)), (2700, 3300));
    }
}
