//! Who somebody is: what a member of a federation may be, the key pair it is known by, and what its certificate says.

use std::fmt;
use std::str::FromStr;

use rcgen::{CertificateParams, DistinguishedName, PublicKeyData as _};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};
use zeroize::Zeroizing;

use crate::limits::CERTIFICATE_BYTES_MAX;
use crate::name::{NameError, OperatorName, PartyName, SiteName};
use crate::v1::{self, MemberKind, Role};

mod credential;
mod signature;

pub use credential::{Credential, CredentialError, pem, read_private, write_private};
pub use signature::signer_of;

/// What a certificate stands for, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Membership {
    /// A site of a party.
    Site {
        /// Its name.
        name: SiteName,
        /// Its party.
        party: PartyName,
    },
    /// A person.
    Operator {
        /// Its name.
        name: OperatorName,
        /// What it may do.
        role: Role,
        /// The one site that it may see, or all.
        site: Option<SiteName>,
        /// The one party that it may see, or all.
        party: Option<PartyName>,
    },
}

/// Why a membership is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MembershipError {
    /// Neither a site nor a person.
    #[error("it is for neither a site nor a person")]
    Kind,
    /// A name that cannot be.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A person without a role.
    #[error("a person needs a role: viewer, analyst or administrator")]
    NoRole,
    /// A site with what only a person has.
    #[error("a site has no role and is bound to no site")]
    SiteWithRole,
}

impl TryFrom<&v1::Membership> for Membership {
    type Error = MembershipError;

    fn try_from(message: &v1::Membership) -> Result<Membership, MembershipError> {
        match message.kind() {
            MemberKind::Site if message.role() != Role::Unspecified || !message.site.is_empty() => {
                Err(MembershipError::SiteWithRole)
            }
            MemberKind::Site => Ok(Membership::Site { name: message.name.parse()?, party: message.party.parse()? }),
            MemberKind::Operator if message.role() == Role::Unspecified => Err(MembershipError::NoRole),
            MemberKind::Operator => Ok(Membership::Operator {
                name: message.name.parse()?,
                role: message.role(),
                site: optional(&message.site)?,
                party: optional(&message.party)?,
            }),
            MemberKind::Unspecified => Err(MembershipError::Kind),
        }
    }
}

fn optional<T: FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

impl From<&Membership> for v1::Membership {
    fn from(membership: &Membership) -> v1::Membership {
        let shown = |name: &Option<SiteName>| name.as_ref().map(ToString::to_string).unwrap_or_default();
        match membership {
            Membership::Site { name, party } => v1::Membership {
                kind: MemberKind::Site.into(),
                name: name.to_string(),
                party: party.to_string(),
                ..v1::Membership::default()
            },
            Membership::Operator { name, role, site, party } => v1::Membership {
                kind: MemberKind::Operator.into(),
                name: name.to_string(),
                party: party.as_ref().map(ToString::to_string).unwrap_or_default(),
                role: (*role).into(),
                site: shown(site),
            },
        }
    }
}

impl Membership {
    /// A site or a person.
    pub fn kind(&self) -> MemberKind {
        match self {
            Membership::Site { .. } => MemberKind::Site,
            Membership::Operator { .. } => MemberKind::Operator,
        }
    }

    /// The name, unique among its kind.
    pub fn name(&self) -> &str {
        match self {
            Membership::Site { name, .. } => name.as_str(),
            Membership::Operator { name, .. } => name.as_str(),
        }
    }
}

/// SHA-256 of a public key (`SubjectPublicKeyInfo`, DER): by this a key is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// The hash of a public key, given as `SubjectPublicKeyInfo`.
    pub fn of(public_key_info: &[u8]) -> KeyHash {
        let digest = ring::digest::digest(&ring::digest::SHA256, public_key_info);
        KeyHash(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Six words that can be read out over the telephone: 96 bits of the hash.
    pub fn words(&self) -> String {
        key_words(&self.0)
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

/// Sixteen bits as a word of five letters, consonants and vowels in turn: every word can be spoken, and no two sound the
/// same.
pub fn key_words(hash: &[u8; 32]) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let word = |pair: &[u8]| -> String {
        let bits = usize::from(u16::from_be_bytes([pair[0], pair[1]]));
        let letter = |consonant: bool, shift: usize| match consonant {
            true => CONSONANTS[bits >> shift & 15],
            false => VOWELS[bits >> shift & 3],
        };
        [letter(true, 12), letter(false, 10), letter(true, 6), letter(false, 4), letter(true, 0)]
            .map(char::from)
            .iter()
            .collect()
    };
    hash[..12].chunks(2).map(word).collect::<Vec<_>>().join("-")
}

/// What goes wrong with keys and certificates.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// The random source or the key itself fails.
    #[error("the private key cannot be made or used: {0}")]
    Key(String),
    /// It is not a certificate that can be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// It is a certificate, but of another system.
    #[error("the certificate names no member of a federation")]
    NoMember,
    /// A document is not what was signed, or not by this key.
    #[error("the signature does not hold: the document was changed, or another key signed it")]
    Signature,
}

/// A private key (ECDSA P-256). It is wiped from memory when it is dropped, and never shown.
pub struct PrivateKey {
    pair: rcgen::KeyPair,
    pkcs8: Zeroizing<Vec<u8>>,
}

impl PrivateKey {
    /// A new key from the system's random source.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn generate() -> Result<PrivateKey, IdentityError> {
        let pair = rcgen::KeyPair::generate().map_err(|error| IdentityError::Key(error.to_string()))?;
        Ok(PrivateKey { pkcs8: Zeroizing::new(pair.serialize_der()), pair })
    }

    /// The key in PKCS #8.
    ///
    /// # Errors
    /// When it is not one.
    pub fn from_pkcs8(der: &[u8]) -> Result<PrivateKey, IdentityError> {
        let pair = rcgen::KeyPair::try_from(&PrivatePkcs8KeyDer::from(der));
        let pair = pair.map_err(|error| IdentityError::Key(error.to_string()))?;
        Ok(PrivateKey { pkcs8: Zeroizing::new(der.to_vec()), pair })
    }

    /// The key in PKCS #8: as secret as the key.
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// What signs.
    pub fn pair(&self) -> &rcgen::KeyPair {
        &self.pair
    }

    /// By what the key is known.
    pub fn key_hash(&self) -> KeyHash {
        KeyHash::of(&self.pair.subject_public_key_info())
    }

    /// A certificate signing request, DER. It says nothing but the public key: what the certificate says is the
    /// coordinator's to decide.
    ///
    /// # Errors
    /// When signing fails.
    pub fn signing_request(&self) -> Result<Vec<u8>, IdentityError> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        let request = parameters.serialize_request(&self.pair);
        request.map(|request| request.der().to_vec()).map_err(|error| IdentityError::Key(error.to_string()))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.key_hash().words())
    }
}

/// Which member of which federation: as it stands in certificates, `cognate://<deployment>/site/<name>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberUri {
    /// Which federation: a random number in eight hexadecimal digits.
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

/// What a certificate says. Who signed it is not looked at here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateInfo {
    /// The member, where it is one's certificate.
    pub member: Option<MemberUri>,
    /// The key that it is for.
    pub key: KeyHash,
    /// From when it holds; seconds since 1970.
    pub not_before: i64,
    /// Until when it holds; seconds since 1970.
    pub not_after: i64,
}

impl CertificateInfo {
    /// Reads a certificate, DER.
    ///
    /// # Errors
    /// When it is not one.
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

    /// When two thirds of its life are over; `jitter` from -0.1 to 0.1 spreads many certificates of the same age.
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
/// When it is not a certificate.
pub fn certificate_key(der: &CertificateDer<'_>) -> Result<KeyHash, IdentityError> {
    CertificateInfo::read(der).map(|info| info.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_nothing_but_the_key() {
        let key = PrivateKey::generate().unwrap();
        let der = key.signing_request().unwrap();
        assert!(der.len() < crate::limits::SIGNING_REQUEST_BYTES_MAX);
        let request = rcgen::CertificateSigningRequestParams::from_der(&der.into()).unwrap();
        assert_eq!(KeyHash::of(&request.public_key.subject_public_key_info()), key.key_hash());
        assert!(request.params.subject_alt_names.is_empty());
        let again = PrivateKey::from_pkcs8(key.pkcs8()).unwrap();
        assert_eq!(again.key_hash(), key.key_hash());
        assert!(PrivateKey::from_pkcs8(&key.pkcs8()[1..]).is_err());
    }

    #[test]
    fn a_key_is_six_words_that_can_be_spoken() {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&[127, 0, 0, 1]);
        assert_eq!(key_words(&hash), "lusab-babad-babab-babab-babab-babab");
        assert_eq!(key_words(&[0xff; 32]), "zuzuz-zuzuz-zuzuz-zuzuz-zuzuz-zuzuz");
    }

    #[test]
    fn a_member_is_named_by_an_address_that_only_it_has() {
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
    fn a_membership_says_neither_too_little_nor_too_much() {
        let site = v1::Membership {
            kind: MemberKind::Site.into(),
            name: "paris".into(),
            party: "home".into(),
            ..v1::Membership::default()
        };
        let anna = v1::Membership {
            kind: MemberKind::Operator.into(),
            name: "anna".into(),
            role: Role::Viewer.into(),
            site: "paris".into(),
            ..v1::Membership::default()
        };
        for message in [&site, &anna] {
            let membership = Membership::try_from(message).unwrap();
            assert_eq!(v1::Membership::from(&membership), *message);
        }
        let refused = |message: v1::Membership| Membership::try_from(&message).unwrap_err();
        assert_eq!(refused(v1::Membership { kind: 0, ..site.clone() }), MembershipError::Kind);
        assert_eq!(refused(v1::Membership { kind: 9, ..site.clone() }), MembershipError::Kind);
        assert_eq!(refused(v1::Membership { role: 1, ..site.clone() }), MembershipError::SiteWithRole);
        assert_eq!(refused(v1::Membership { role: 9, ..anna.clone() }), MembershipError::NoRole);
        assert!(matches!(refused(v1::Membership { name: "a/b".into(), ..site.clone() }), MembershipError::Name(_)));
        assert!(matches!(refused(v1::Membership { party: String::new(), ..site }), MembershipError::Name(_)));
        assert!(matches!(refused(v1::Membership { site: "..".into(), ..anna }), MembershipError::Name(_)));
    }

    #[test]
    fn a_certificate_is_renewed_at_two_thirds_of_its_life() {
        let info = CertificateInfo { member: None, key: KeyHash([0; 32]), not_before: 1000, not_after: 4000 };
        assert_eq!(info.renew_at(0.0), 3000);
        assert_eq!((info.renew_at(-5.0), info.renew_at(5.0)), (2700, 3300));
    }
}
