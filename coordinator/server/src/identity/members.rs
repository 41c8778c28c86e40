//! The registry in use: invitations become certificates, certificates become identities, and both can be revoked.
//!
//! The registry at the time of the call decides, never a certificate alone. Every change of it is written to the
//! journal before it takes effect.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use cognate_proto::identity::{CertificateInfo, Credential, Membership, key_words};
use cognate_proto::invitation::Invitation;
use cognate_proto::name::{PartyName, SiteName, one_line};
use cognate_proto::v1::{self, MemberKind, MemberStatus, Role};
use rcgen::PublicKeyData as _;
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::authority::{random, unix};
use super::{Authority, Identity, Operator, PeerInfo, Refusal, Refusals, signing_request_key};
use crate::error::Error;
use cognate_storage::journal::{Certified, Event, Invited, MemberName, PartyNamed, What};
use cognate_storage::store::{MemberRow, Store};

/// The validity of an invitation unless set otherwise, and at most.
const INVITATION_VALID: Duration = Duration::from_secs(24 * 60 * 60);
const INVITATION_VALID_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The longest full name of a party.
const FULL_NAME_CHARS_MAX: usize = 100;
/// After so many wrong secrets an invitation is locked, for so many seconds.
const ATTEMPTS: u32 = 5;
const LOCKED_SECONDS: i64 = 15 * 60;

/// The members of the federation.
pub struct Members {
    store: Arc<Store>,
    authority: Option<Arc<Authority>>,
    clock: fn() -> SystemTime,
    refusals: Arc<Refusals>,
    /// Held during each change, so that an earlier check still holds when the change is written. Contains the wrong
    /// secrets by invitation.
    attempts: Mutex<HashMap<[u8; 16], Attempts>>,
    /// Counts changes that may have ended an identity, so that open streams are checked again.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Attempts {
    wrong: u32,
    /// Seconds since 1970.
    locked_until: i64,
}

impl Members {
    pub(crate) fn new(
        store: Arc<Store>,
        authority: Option<Arc<Authority>>,
        clock: fn() -> SystemTime,
        refusals: Arc<Refusals>,
    ) -> Members {
        Members { store, authority, clock, refusals, attempts: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// True if the federation has a CA: a coordinator for tests within one process has none.
    pub(crate) fn has_authority(&self) -> bool {
        self.authority.is_some()
    }

    /// The end of the CA's certificate, if there is a CA; seconds since 1970.
    pub(crate) fn authority_expires(&self) -> Option<i64> {
        let authority = self.authority.as_ref()?;
        CertificateInfo::read(authority.certificate()).ok().map(|info| info.not_after)
    }

    /// The counts of refused calls and connections.
    pub fn refusals(&self) -> &Arc<Refusals> {
        &self.refusals
    }

    /// Receives a notification when an identity may have ended.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The number of those that wait for such a notification.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.changes.receiver_count()
    }

    /// The longest validity of the peer's identity; nothing: for ever.
    pub(crate) fn holds_for(&self, peer: &PeerInfo) -> Option<Duration> {
        match peer {
            PeerInfo::Certificate(info) => {
                let left = info.not_after.saturating_sub(self.now()).saturating_add(1);
                Some(Duration::from_secs(u64::try_from(left).unwrap_or_default()))
            }
            PeerInfo::Vouched(_) | PeerInfo::Anonymous => None,
        }
    }

    /// The identity of the peer, by the registry as it is now.
    ///
    /// # Errors
    /// Fails if the identity of the connection is not (or no longer) valid, or the store fails.
    pub fn identify(&self, peer: &PeerInfo) -> Result<Identity, Error> {
        match peer {
            PeerInfo::Anonymous => Ok(Identity::Anyone),
            PeerInfo::Vouched(site) => {
                let party = self.store.party_of(site)?.ok_or(Refusal::NotMember)?;
                Ok(Identity::Site { name: site.clone(), party })
            }
            PeerInfo::Certificate(info) => self.authenticate(info),
        }
    }

    /// The member to which the CA gave a certificate.
    fn authenticate(&self, info: &CertificateInfo) -> Result<Identity, Error> {
        let member = info.member.as_ref().ok_or(Refusal::CertificateUnfit)?;
        if Some(member.deployment.as_str()) != self.authority.as_ref().map(|authority| authority.deployment()) {
            return Err(Refusal::CertificateForeign.into());
        }
        if !(info.not_before..=info.not_after).contains(&self.now()) {
            return Err(Refusal::CertificateExpired.into());
        }
        let row = self.store.member(member.kind, &member.name)?.ok_or(Refusal::NotMember)?;
        match row.status() {
            MemberStatus::Active => {}
            MemberStatus::Revoked => return Err(Refusal::Revoked.into()),
            MemberStatus::Invited | MemberStatus::Unspecified => return Err(Refusal::NotMember.into()),
        }
        let current = row.certified.as_ref().map(|certified| certified.key_sha256.as_slice());
        if current != Some(&info.key.0) && row.previous_key_sha256 != info.key.0 {
            return Err(Refusal::NotMember.into());
        }
        Ok(membership_of(&row)?.into())
    }

    /// A person by name, as long as it is a member, with the invitation that its membership goes back to: a person who
    /// was shut out and invited again is another one.
    ///
    /// # Errors
    /// Fails if there is no such person (any more), or the store fails.
    pub fn operator(&self, name: &str) -> Result<(Operator, Vec<u8>), Error> {
        let row = self.store.member(MemberKind::Operator, name)?.ok_or(Refusal::NotMember)?;
        match (row.status(), &row.certified) {
            (MemberStatus::Active, Some(certified)) if certified.not_after >= self.now() => {
                match membership_of(&row)?.into() {
                    Identity::Operator(operator) => Ok((operator, certified.token_id.clone())),
                    _ => Err(Refusal::NotMember.into()),
                }
            }
            (MemberStatus::Revoked, _) => Err(Refusal::Revoked.into()),
            _ => Err(Refusal::NotMember.into()),
        }
    }

    /// The id of the federation: a random number in eight hexadecimal digits, or nothing within one process.
    pub fn deployment(&self) -> &str {
        self.authority.as_ref().map_or("", |authority| authority.deployment())
    }

    /// Invites a new member, or an existing one to enrol again; an earlier invitation becomes invalid. Returns the line
    /// to hand over and the end of its validity.
    ///
    /// # Errors
    /// Fails if it is invalid, or the journal cannot be written.
    pub(crate) fn invite(
        &self,
        membership: &v1::Membership,
        valid: Option<Duration>,
        addresses: Vec<String>,
        by: &str,
    ) -> Result<(Zeroizing<String>, i64), Error> {
        let authority = self.authority()?;
        let mut membership = membership.clone();
        if membership.kind() == MemberKind::Site && membership.party.is_empty() {
            membership.party = PartyName::home().to_string();
        }
        let membership = Membership::try_from(&membership).map_err(|error| Error::Invalid(error.to_string()))?;
        if let Membership::Operator { role: Role::Administrator, site, party, .. } = &membership
            && (site.is_some() || party.is_some())
        {
            return Err(Error::Invalid(
                "an administrator sees everything and cannot be bound to a site or party".into(),
            ));
        }
        let valid = valid.unwrap_or(INVITATION_VALID);
        if valid.is_zero() || valid > INVITATION_VALID_MAX {
            return Err(Error::Invalid("an invitation holds for at least a second and at most 30 days".to_owned()));
        }
        let expires = self.now().saturating_add(i64::try_from(valid.as_secs()).unwrap_or(i64::MAX));
        let invitation = Invitation {
            addresses,
            ca_key: authority.key_hash(),
            token_id: random(),
            secret: Zeroizing::new(random()),
            membership,
            expires,
        };
        let line = invitation.line();
        // An invitation that could not be parsed is not issued: it has too many addresses, or an invalid one.
        line.parse::<Invitation>().map_err(|error| Error::Invalid(error.to_string()))?;
        let invited = Invited {
            membership: (&invitation.membership).into(),
            token_id: invitation.token_id.to_vec(),
            secret_hash: blake3::hash(invitation.secret.as_slice()).as_bytes().to_vec(),
            expires,
        };
        let _changing = self.lock();
        self.record(by, What::Invited(invited))?;
        Ok((line, expires))
    }

    /// Exchanges an invitation for a certificate. A repeated request with the same key, as after a lost answer, gets
    /// the same certificate.
    ///
    /// # Errors
    /// Fails if the invitation or the request is invalid, or the journal cannot be written.
    pub(crate) fn enroll(&self, request: &v1::EnrollRequest) -> Result<v1::EnrollResponse, Error> {
        let authority = self.authority()?;
        let token_id: [u8; 16] = request.token_id.as_slice().try_into().map_err(|_| Refusal::Token)?;
        let secret: [u8; 32] = request.secret.as_slice().try_into().map_err(|_| Refusal::Token)?;
        let mut attempts = self.lock();
        let row = self.invited(&token_id)?.ok_or(Refusal::Token)?;
        let invited = row.invited.as_ref().ok_or(Refusal::Token)?;
        self.check_secret(&mut attempts, token_id, secret, invited)?;
        if row.status() == MemberStatus::Revoked {
            return Err(Refusal::Revoked.into());
        }
        let key = signing_request_key(&request.signing_request)?;
        let key_hash = cognate_proto::identity::KeyHash::of(&key.subject_public_key_info());
        let membership =
            Membership::try_from(&invited.membership).map_err(|error| Error::Invalid(error.to_string()))?;
        let answer = |certificate: Vec<u8>| v1::EnrollResponse {
            certificate,
            ca_certificate: authority.certificate().to_vec(),
            membership: Some((&membership).into()),
        };
        if let Some(certified) = row.certified.as_ref().filter(|certified| certified.token_id == token_id) {
            if certified.key_sha256 == key_hash.0 {
                return Ok(answer(certified.certificate.clone()));
            }
            return Err(Refusal::TokenUsed.into());
        }
        if invited.expires < self.now() {
            return Err(Refusal::TokenExpired.into());
        }
        // With a certificate that was revoked, whoever has its key would be the member again.
        if row.revoked_keys_sha256.iter().any(|revoked| *revoked == key_hash.0) {
            return Err(Refusal::RevokedKey.into());
        }
        let certificate = authority.issue(&membership, &key)?;
        let certified = self.certified(&membership, &certificate, &token_id, &[])?;
        self.record(membership.name(), What::Certified(certified))?;
        cognate_storage::failpoint!("enroll.after_record");
        attempts.remove(&token_id);
        // The previous key, if there was one, is no longer valid.
        self.changed();
        Ok(answer(certificate))
    }

    fn check_secret(
        &self,
        attempts: &mut HashMap<[u8; 16], Attempts>,
        token_id: [u8; 16],
        secret: [u8; 32],
        invited: &Invited,
    ) -> Result<(), Error> {
        let now = self.now();
        let made = attempts.entry(token_id).or_default();
        if made.locked_until > now {
            return Err(Refusal::TokenLocked.into());
        }
        let expected: [u8; 32] = invited.secret_hash.as_slice().try_into().map_err(|_| Refusal::Token)?;
        // Comparing BLAKE3 hashes takes the same time for all values.
        if blake3::hash(&secret) == blake3::Hash::from_bytes(expected) {
            return Ok(());
        }
        made.wrong += 1;
        if made.wrong >= ATTEMPTS {
            *made = Attempts { wrong: 0, locked_until: now + LOCKED_SECONDS };
        }
        Err(Refusal::Token.into())
    }

    /// A certificate for a new key, for the member of the connection. The key of the connection stays valid until the
    /// next renewal, because the answer may be lost.
    ///
    /// # Errors
    /// Fails if the member is not valid, the request is invalid or for the same key, or the journal cannot be written.
    pub(crate) fn renew(&self, peer: &PeerInfo, request: &v1::RenewRequest) -> Result<v1::RenewResponse, Error> {
        let authority = self.authority()?;
        let PeerInfo::Certificate(info) = peer else { return Err(Refusal::NoCertificate.into()) };
        let _changing = self.lock();
        self.authenticate(info)?;
        let member = info.member.as_ref().ok_or(Refusal::CertificateUnfit)?;
        let row = self.store.member(member.kind, &member.name)?.ok_or(Refusal::NotMember)?;
        let before = row.certified.as_ref().ok_or(Refusal::NotMember)?;
        let key = signing_request_key(&request.signing_request)?;
        let key_hash = cognate_proto::identity::KeyHash::of(&key.subject_public_key_info());
        let answer =
            |certificate: Vec<u8>| v1::RenewResponse { certificate, ca_certificate: authority.certificate().to_vec() };
        if key_hash == info.key {
            return Err(Error::Invalid("a renewal needs a new key: the request is for the one in use".to_owned()));
        }
        if before.key_sha256 == key_hash.0 {
            return Ok(answer(before.certificate.clone()));
        }
        let membership = membership_of(&row)?;
        let certificate = authority.issue(&membership, &key)?;
        let certified = self.certified(&membership, &certificate, &before.token_id, &info.key.0)?;
        self.record(membership.name(), What::Renewed(certified))?;
        self.changed();
        Ok(answer(certificate))
    }

    /// Makes the first administrator. `keep` is called before the registry knows the member, because a lost credential
    /// could not be replaced.
    pub(super) fn found(
        &self,
        membership: &Membership,
        keep: impl FnOnce(&Credential) -> io::Result<()>,
    ) -> Result<(), Error> {
        let credential = self.authority()?.credential(membership)?;
        keep(&credential).map_err(Error::state("operator.toml"))?;
        let certified = self.certified(membership, &credential.certificate, &[], &[])?;
        let _changing = self.lock();
        self.record("", What::Admitted(membership.into()))?;
        self.record("", What::Certified(certified))
    }

    /// Gives a party a full name for people, or with an empty one takes it away.
    ///
    /// # Errors
    /// Fails if no site has the party, the name is too long, or the journal cannot be written.
    pub fn name_party(&self, party: &str, full_name: &str, by: &str) -> Result<(), Error> {
        let full_name = one_line(full_name.trim());
        if full_name.chars().count() > FULL_NAME_CHARS_MAX {
            return Err(Error::Invalid(format!("`full_name`: at most {FULL_NAME_CHARS_MAX} characters")));
        }
        let _changing = self.lock();
        let is_its = |row: &MemberRow| row.membership.as_ref().is_some_and(|membership| membership.party == party);
        if !self.store.members(MemberKind::Site)?.iter().any(is_its) {
            return Err(Error::UnknownMember(format!("no site of party `{}` was invited", one_line(party))));
        }
        self.record(by, What::PartyNamed(PartyNamed { party: party.to_owned(), full_name }))
    }

    /// Shuts a member out: its calls are refused and its streams end from now on. Its open invitation ends as well.
    ///
    /// # Errors
    /// Fails if there is no such member, no administrator would be left, or the journal cannot be written.
    pub fn revoke(&self, kind: MemberKind, name: &str, by: &str) -> Result<(), Error> {
        let _changing = self.lock();
        let row = self.store.member(kind, name)?.ok_or_else(|| unknown(kind, name))?;
        if row.status() == MemberStatus::Revoked {
            return Ok(());
        }
        self.check_somebody_is_left(kind, name)?;
        self.record(by, What::Revoked(MemberName { kind: kind.into(), name: name.to_owned() }))?;
        self.changed();
        Ok(())
    }

    fn check_somebody_is_left(&self, kind: MemberKind, name: &str) -> Result<(), Error> {
        if kind != MemberKind::Operator {
            return Ok(());
        }
        let administers = |row: &MemberRow| {
            row.status() == MemberStatus::Active
                && row.membership.as_ref().is_some_and(|membership| membership.role() == Role::Administrator)
        };
        let named = |row: &MemberRow| row.membership.as_ref().is_some_and(|membership| membership.name == name);
        let rows = self.store.members(kind)?;
        let (mut these, mut others) = (rows.iter().filter(|row| named(row)), rows.iter().filter(|row| !named(row)));
        if these.any(administers) && !others.any(administers) {
            return Err(Error::Refused(format!("`{name}` is the last administrator: invite another first")));
        }
        Ok(())
    }

    /// True if a site may attach.
    ///
    /// # Errors
    /// Fails if the store does.
    pub(crate) fn has_site(&self, site: &SiteName) -> Result<bool, Error> {
        Ok(self.store.party_of(site)?.is_some())
    }

    /// The members of a kind, as far as the registry knows them.
    pub(crate) fn list(&self, kind: MemberKind) -> Result<Vec<v1::Member>, Error> {
        let member = |row: MemberRow| {
            let key = row.certified.as_ref().and_then(|certified| certified.key_sha256.as_slice().try_into().ok());
            let expires = match row.status() {
                MemberStatus::Invited => row.invited.as_ref().map(|invited| invited.expires),
                _ => row.certified.as_ref().map(|certified| certified.not_after),
            };
            v1::Member {
                membership: row.membership.clone(),
                status: row.status,
                expires: expires.unwrap_or_default(),
                key_words: key.as_ref().map(key_words).unwrap_or_default(),
                ..v1::Member::default()
            }
        };
        Ok(self.store.members(kind)?.into_iter().map(member).collect())
    }

    /// The CA of the federation.
    ///
    /// # Errors
    /// Fails for a coordinator for tests within one process, which has none.
    pub(crate) fn authority(&self) -> Result<&Authority, Error> {
        let none = || Error::Refused("this federation lives in one process and has no invitations".to_owned());
        self.authority.as_deref().ok_or_else(none)
    }

    fn invited(&self, token_id: &[u8; 16]) -> Result<Option<MemberRow>, Error> {
        for kind in [MemberKind::Site, MemberKind::Operator] {
            let found = self
                .store
                .members(kind)?
                .into_iter()
                .find(|row| row.invited.as_ref().is_some_and(|invited| invited.token_id == token_id));
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn certified(
        &self,
        membership: &Membership,
        certificate: &[u8],
        token_id: &[u8],
        asked_with: &[u8],
    ) -> Result<Certified, Error> {
        let info = CertificateInfo::read(certificate).map_err(|error| Error::Identity(error.to_string()))?;
        Ok(Certified {
            name: MemberName { kind: membership.kind().into(), name: membership.name().to_owned() },
            certificate: certificate.to_vec(),
            key_sha256: info.key.0.to_vec(),
            not_after: info.not_after,
            token_id: token_id.to_vec(),
            asked_with_key_sha256: asked_with.to_vec(),
        })
    }

    fn record(&self, by: &str, what: What) -> Result<(), Error> {
        Ok(self.store.record(&Event { time: self.now(), by: by.to_owned(), what: Some(what) })?)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn now(&self) -> i64 {
        unix((self.clock)())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 16], Attempts>> {
        self.attempts.lock().expect("nothing panics while it is held")
    }
}

fn membership_of(row: &MemberRow) -> Result<Membership, Error> {
    let membership = row.membership.as_ref().ok_or(Refusal::NotMember)?;
    Membership::try_from(membership).map_err(|error| Error::Identity(format!("the registry: {error}")))
}

fn unknown(kind: MemberKind, name: &str) -> Error {
    let kind = if kind == MemberKind::Operator { "operator" } else { "site" };
    Error::UnknownMember(format!("no {kind} `{}`", cognate_proto::name::one_line(name)))
}

#[cfg(test)]
mod tests;
