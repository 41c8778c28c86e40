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
        let life = self.not_after.saturating_sub(self.not_before).max(0);
        let life = u32::try_from(life).unwrap_or(u32::MAX);
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
    use proptest::prelude::*;
    use rcgen::{CertificateParams, PublicKeyData as _, SanType, date_time_ymd};

    use super::*;
    use crate::identity::PrivateKey;

    const PARIS: &str = "cognate://0123abcd/site/paris";

    /// A certificate of the year 2024 that names these addresses.
    fn certificate(key: &PrivateKey, uris: &[&str]) -> Vec<u8> {
        let mut parameters = CertificateParams::default();
        parameters.subject_alt_names = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect();
        (parameters.not_before, parameters.not_after) = (date_time_ymd(2024, 1, 1), date_time_ymd(2025, 1, 1));
        parameters.self_signed(key.pair()).unwrap().der().to_vec()
    }

    /// The reason why a certificate is refused.
    fn refusal(der: &[u8]) -> String {
        match CertificateInfo::read(der) {
            Err(IdentityError::Certificate(reason)) => reason,
            other => panic!("{} bytes: {other:?}", der.len()),
        }
    }

    #[test]
    fn a_certificate_states_its_member_its_key_and_its_validity() {
        let key = PrivateKey::generate().unwrap();
        for (uris, member) in [
            (&[PARIS][..], Some(PARIS)),
            (&["https://example.org/", PARIS], Some(PARIS)),
            (&["https://example.org/"], None),
            (&["cognate://0123abcd/site/.."], None),
            (&[], None),
        ] {
            let info = CertificateInfo::read(&certificate(&key, uris)).unwrap();
            assert_eq!(info.member.map(|member| member.to_string()).as_deref(), member, "{uris:?}");
            assert_eq!((info.key, info.not_before, info.not_after), (key.key_hash(), 1_704_067_200, 1_735_689_600));
        }
    }

    #[test]
    fn a_certificate_of_two_members_is_of_none() {
        let key = PrivateKey::generate().unwrap();
        for second in [PARIS, "cognate://0123abcd/operator/paris"] {
            assert!(refusal(&certificate(&key, &[PARIS, second])).contains("more than one member"), "{second}");
        }
    }

    #[test]
    fn bytes_before_the_end_or_behind_it_are_no_certificate() {
        let der = certificate(&PrivateKey::generate().unwrap(), &[PARIS]);
        (0..der.len()).for_each(|end| drop(refusal(&der[..end])));
        assert_eq!(refusal(&[&der[..], &[0]].concat()), "something follows it");
        assert!(refusal(&[&der[..], &der].concat()).contains("follows"));
        assert!(!refusal(&[0; CERTIFICATE_BYTES_MAX]).contains("larger"));
        assert!(refusal(&[0; CERTIFICATE_BYTES_MAX + 1]).contains("larger than 4096 bytes"));
    }

    #[test]
    fn every_changed_bit_of_a_key_makes_another_key() {
        let key = PrivateKey::generate().unwrap();
        let (der, public) = (certificate(&key, &[PARIS]), key.pair().subject_public_key_info());
        let at = der.windows(public.len()).position(|window| window == public).unwrap();
        for bit in 0..8 * public.len() {
            let mut changed = der.clone();
            changed[at + bit / 8] ^= 1 << (bit % 8);
            assert!(!CertificateInfo::read(&changed).is_ok_and(|info| info.key == key.key_hash()), "{bit}");
        }
    }

    proptest! {
        #[test]
        fn a_member_comes_back_from_its_address(name in "[\\pL\\pN._-]{1,15}", is_person: bool) {
            let kind = if is_person { MemberKind::Operator } else { MemberKind::Site };
            let member = MemberUri { deployment: "0123abcd".into(), kind, name };
            let text = member.to_string();
            prop_assert!(text.is_ascii());
            let plain = member.name.parse::<SiteName>().is_ok();
            prop_assert_eq!(text.parse(), if plain { Ok(member) } else { Err(IdentityError::NoMember) });
        }

        #[test]
        fn bytes_of_strangers_are_refused_or_are_a_certificate(at: prop::sample::Index, bytes: [u8; 3], more: Vec<u8>) {
            let der = certificate(&PrivateKey::generate().unwrap(), &[PARIS]);
            let mut changed = der.clone();
            let at = at.index(der.len() - bytes.len());
            changed[at..at + bytes.len()].copy_from_slice(&bytes);
            for der in [changed, more] {
                match CertificateInfo::read(&der) {
                    Ok(info) => drop(info.renew_at(0.1)),
                    Err(error) => prop_assert!(matches!(error, IdentityError::Certificate(_))),
                }
            }
        }
    }

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
        let over = CertificateInfo { not_before: 4000, not_after: 1000, ..info.clone() };
        assert_eq!(over.renew_at(0.0), 4000, "one that ends before it begins is renewed at once");
        let endless = CertificateInfo { not_before: i64::MAX - 1, not_after: i64::MAX, ..info.clone() };
        assert_eq!(endless.renew_at(0.1), i64::MAX - 1);
        assert!(CertificateInfo { not_before: i64::MIN, not_after: i64::MAX, ..info }.renew_at(0.0) < 0);
    }
}
