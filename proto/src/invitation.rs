//! Invitations: everything that a site or a person needs to join, as one line of text that survives mail.
//!
//! `cog1_`, the encoded message in base64url, `_`, and eight hexadecimal digits as a checksum of the line.
//! Parsing checks everything: an [`Invitation`] is complete and within bounds.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;
use prost::Message as _;
use zeroize::Zeroizing;

use crate::identity::{KeyHash, Membership, MembershipError};
use crate::limits::{ADDRESS_BYTES_MAX, ADDRESSES_MAX, INVITATION_BYTES_MAX};
use crate::v1;

const PREFIX: &str = "cog1_";
const CHECKSUM_DIGITS: usize = 8;

/// The right to join a federation: its coordinator, the membership, and the secret that proves it.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// `host:port`, to be tried in this order.
    pub addresses: Vec<String>,
    /// SHA-256 of the public key of the coordinator's CA: the secret is sent only to a server of this CA.
    pub ca_key: KeyHash,
    /// The id of the invitation.
    pub token_id: [u8; 16],
    /// The secret that proves it. Never logged, and shown only in the line itself.
    pub secret: Zeroizing<[u8; 32]>,
    /// The membership that it offers.
    pub membership: Membership,
    /// End of its validity; seconds since 1970.
    pub expires: i64,
}

/// The error of a text that is no invitation.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvitationError {
    /// It is another text.
    #[error("this is not an invitation: an invitation begins with `{PREFIX}`")]
    Foreign,
    /// A newer version made it.
    #[error("this invitation is of a kind that this version does not know (`{0}`): upgrade cognate at this site")]
    Newer(String),
    /// Its end is missing.
    #[error("the invitation is cut off: copy the complete line, to its last character")]
    Truncated,
    /// Something in it has changed.
    #[error("the invitation is damaged: a character of it was changed or lost; copy it again")]
    Damaged,
    /// It is too long.
    #[error("the invitation is longer than {INVITATION_BYTES_MAX} bytes: copy the line alone")]
    TooLong,
    /// It is complete but has an impossible value.
    #[error("the invitation makes no sense: {0}; ask for another")]
    Content(String),
}

impl From<MembershipError> for InvitationError {
    fn from(error: MembershipError) -> InvitationError {
        InvitationError::Content(error.to_string())
    }
}

impl FromStr for Invitation {
    type Err = InvitationError;

    fn from_str(text: &str) -> Result<Invitation, InvitationError> {
        if text.len() > 2 * INVITATION_BYTES_MAX {
            return Err(InvitationError::TooLong);
        }
        // Mail programs break lines.
        let line: Zeroizing<String> = Zeroizing::new(text.split_whitespace().collect());
        if line.len() > INVITATION_BYTES_MAX {
            return Err(InvitationError::TooLong);
        }
        let Some(rest) = line.strip_prefix(PREFIX) else { return Err(not_ours(&line)) };
        let Some((payload, checksum)) = rest.rsplit_once('_') else { return Err(InvitationError::Truncated) };
        if checksum.len() < CHECKSUM_DIGITS || !checksum.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            // base64url has underscores of its own: the last of them may not be the one before the checksum.
            return Err(InvitationError::Truncated);
        }
        if checksum != checksum_of(payload) {
            return Err(InvitationError::Damaged);
        }
        let payload = BASE64URL_NOPAD.decode(payload.as_bytes()).map_err(|_| InvitationError::Damaged)?;
        let message = v1::Invitation::decode(Zeroizing::new(payload).as_slice());
        Invitation::check(message.map_err(|_| InvitationError::Damaged)?)
    }
}

fn not_ours(line: &str) -> InvitationError {
    match line.split_once('_') {
        Some((kind, _)) if kind.strip_prefix("cog").is_some_and(|number| number.parse::<u32>().is_ok()) => {
            InvitationError::Newer(kind.to_owned())
        }
        None if PREFIX.starts_with(line) && !line.is_empty() => InvitationError::Truncated,
        _ => InvitationError::Foreign,
    }
}

impl Invitation {
    fn check(message: v1::Invitation) -> Result<Invitation, InvitationError> {
        let content = |what: &str| InvitationError::Content(what.to_owned());
        if message.addresses.is_empty() || message.addresses.len() > ADDRESSES_MAX {
            return Err(InvitationError::Content(format!("it has {} addresses", message.addresses.len())));
        }
        for address in &message.addresses {
            check_address(address).map_err(InvitationError::Content)?;
        }
        let membership = message.membership.as_ref().ok_or_else(|| content("it has no membership"))?;
        Ok(Invitation {
            membership: Membership::try_from(membership)?,
            addresses: message.addresses,
            ca_key: KeyHash(message.ca_key_sha256.try_into().map_err(|_| content("its key hash is not of 32 bytes"))?),
            token_id: message.token_id.try_into().map_err(|_| content("its number is not of 16 bytes"))?,
            secret: Zeroizing::new(message.secret.try_into().map_err(|_| content("its secret is not of 32 bytes"))?),
            expires: message.expires,
        })
    }

    /// The line to send to the invited. It contains the secret.
    pub fn line(&self) -> Zeroizing<String> {
        let message = v1::Invitation {
            addresses: self.addresses.clone(),
            ca_key_sha256: self.ca_key.0.to_vec(),
            token_id: self.token_id.to_vec(),
            secret: self.secret.to_vec(),
            membership: Some((&self.membership).into()),
            expires: self.expires,
        };
        let payload = BASE64URL_NOPAD.encode(&Zeroizing::new(message.encode_to_vec()));
        Zeroizing::new(format!("{PREFIX}{payload}_{}", checksum_of(&payload)))
    }
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation")
            .field("addresses", &self.addresses)
            .field("membership", &self.membership)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// Checks that a text is `host:port` as it can be dialled: a name, an IPv4 address, or an IPv6 address in brackets.
///
/// # Errors
/// The problem of the text.
pub fn check_address(address: &str) -> Result<(), String> {
    let shown = crate::name::one_line(address);
    if address.len() > ADDRESS_BYTES_MAX {
        return Err(format!("an address is longer than {ADDRESS_BYTES_MAX} bytes"));
    }
    let Some((host, port)) = address.rsplit_once(':') else {
        return Err(format!("`{shown}` is not host:port"));
    };
    if port.starts_with('+') || port.parse::<u16>().is_err() {
        return Err(format!("`{shown}` has no port from 0 to 65535"));
    }
    host_name(host).map(drop).ok_or_else(|| format!("`{shown}` has no name or address before the port"))
}

/// The host of an address as certificates name it.
pub(crate) fn host_name(host: &str) -> Option<rustls::pki_types::ServerName<'static>> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    rustls::pki_types::ServerName::try_from(bare.to_owned()).ok()
}

fn checksum_of(payload: &str) -> String {
    let hash = blake3::Hasher::new().update(PREFIX.as_bytes()).update(payload.as_bytes()).finalize();
    hash.to_hex()[..CHECKSUM_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::name::PartyName;
    use crate::v1::Role;

    fn invitation() -> Invitation {
        Invitation {
            addresses: vec!["hub.example.com:7443".into(), "[::1]:7443".into(), "10.1.2.3:0".into()],
            ca_key: KeyHash([7; 32]),
            token_id: [1; 16],
            secret: Zeroizing::new([0xff; 32]),
            membership: Membership::Site { name: "münchen".parse().unwrap(), party: PartyName::home() },
            expires: 1_800_000_000,
        }
    }

    #[test]
    fn an_invitation_comes_back_from_its_line() {
        let line = invitation().line();
        assert!(line.starts_with("cog1_") && !line.contains(char::is_whitespace));
        assert_eq!(line.parse::<Invitation>(), Ok(invitation()));
        // As a mail program would hand it on.
        let (a, b) = line.split_at(50);
        assert_eq!(format!("  {a}\r\n{b}\n").parse::<Invitation>(), Ok(invitation()));
    }

    #[test]
    fn a_line_cut_off_anywhere_is_refused() {
        let line = invitation().line();
        for end in 1..line.len() {
            let error = line[..end].parse::<Invitation>().unwrap_err();
            // An underscore of base64url in the right place makes it look damaged instead.
            assert!(matches!(error, InvitationError::Truncated | InvitationError::Damaged), "{end}: {error}");
        }
        assert_eq!(line[..line.len() - 3].parse::<Invitation>(), Err(InvitationError::Truncated));
        assert_eq!("cog".parse::<Invitation>(), Err(InvitationError::Truncated));
    }

    #[test]
    fn every_changed_character_is_noticed() {
        let line = invitation().line();
        for at in PREFIX.len()..line.len() {
            for other in ['A', 'z', '0', '-', '_'] {
                let mut changed: Vec<char> = line.chars().collect();
                if std::mem::replace(&mut changed[at], other) != other {
                    assert!(changed.into_iter().collect::<String>().parse::<Invitation>().is_err(), "{at} {other}");
                }
            }
        }
    }

    #[test]
    fn other_texts_are_refused_as_foreign() {
        for text in ["", "hello", "SWMTKN-1-abc", "K10abc::node:secret", "cogx_abc", "_", "cog_a"] {
            assert_eq!(text.parse::<Invitation>(), Err(InvitationError::Foreign), "{text}");
        }
        assert_eq!("cog2_abc_00000000".parse::<Invitation>(), Err(InvitationError::Newer("cog2".into())));
        assert_eq!("cog1_".repeat(9000).parse::<Invitation>(), Err(InvitationError::TooLong));
    }

    #[test]
    fn a_complete_line_with_a_value_out_of_bounds_is_refused() {
        let refused = |change: fn(&mut v1::Invitation)| {
            let mut message = v1::Invitation {
                addresses: vec!["a:1".into()],
                ca_key_sha256: vec![0; 32],
                token_id: vec![0; 16],
                secret: vec![0; 32],
                membership: Some((&invitation().membership).into()),
                expires: 0,
            };
            assert!(Invitation::check(message.clone()).is_ok());
            change(&mut message);
            let payload = BASE64URL_NOPAD.encode(&message.encode_to_vec());
            let line = format!("{PREFIX}{payload}_{}", checksum_of(&payload));
            assert!(matches!(line.parse::<Invitation>(), Err(InvitationError::Content(_))), "{message:?}");
        };
        refused(|message| message.addresses.clear());
        refused(|message| message.addresses = vec!["a:1".into(); 17]);
        refused(|message| message.addresses = vec!["a".into()]);
        refused(|message| message.addresses = vec![":1".into()]);
        refused(|message| message.addresses = vec!["a b:1".into()]);
        refused(|message| message.addresses = vec!["a:65536".into()]);
        refused(|message| message.addresses = vec![format!("{}:1", "a.".repeat(200))]);
        refused(|message| message.ca_key_sha256.truncate(31));
        refused(|message| message.token_id.push(0));
        refused(|message| message.secret.clear());
        refused(|message| message.membership = None);
        refused(|message| message.membership.as_mut().unwrap().name = "../x".into());
        refused(|message| message.membership.as_mut().unwrap().role = Role::Viewer.into());
    }

    #[test]
    fn the_secret_is_not_in_the_debug_form() {
        let shown = format!("{:?}", invitation());
        assert!(!shown.contains("255") && !shown.contains("ff"), "{shown}");
    }

    proptest! {
        #[test]
        fn every_invitation_survives_its_line(
            host in "[a-z][a-z0-9]{0,20}(\\.[a-z]{2,5})?", port: u16, ca_key: [u8; 32], token_id: [u8; 16],
            secret: [u8; 32], name in "[a-zA-Z0-9._-]{1,60}x", party in "[a-z]{1,9}", expires: i64,
            site in proptest::option::of("[a-z]{1,9}"), role in 1..=3_i32, operator: bool,
        ) {
            let membership = if operator {
                Membership::Operator {
                    name: name.parse().unwrap(),
                    role: Role::try_from(role).unwrap(),
                    site: site.map(|site| site.parse().unwrap()),
                    party: None,
                }
            } else {
                Membership::Site { name: name.parse().unwrap(), party: party.parse().unwrap() }
            };
            let invitation = Invitation {
                addresses: vec![format!("{host}:{port}")],
                ca_key: KeyHash(ca_key),
                token_id,
                secret: Zeroizing::new(secret),
                membership,
                expires,
            };
            prop_assert_eq!(invitation.line().parse::<Invitation>(), Ok(invitation));
        }

        #[test]
        fn no_text_brings_the_parser_down(text in "(cog1_)?.{0,200}") {
            let _ = text.parse::<Invitation>();
        }
    }

    #[test]
    fn addresses_are_host_and_port() {
        for (address, accepted) in [
            ("a:1", true),
            ("hub.example.com:65535", true),
            ("10.0.0.1:0", true),
            ("[::1]:7443", true),
            ("", false),
            ("a", false),
            ("a:", false),
            (":1", false),
            ("a:-1", false),
            ("a:+1", false),
            ("a:65536", false),
            ("a:1:2", false),
            ("a b:1", false),
            ("[::1:7443", false),
            ("[]:1", false),
        ] {
            assert_eq!(check_address(address).is_ok(), accepted, "{address}");
        }
    }

    #[test]
    fn an_error_shows_a_foreign_address_on_one_line() {
        let error = check_address("a\nb\u{1b}[31m").unwrap_err();
        assert!(!error.contains('\n') && !error.contains('\u{1b}'), "{error:?}");
    }
}
