//! Enrolment: turns an invitation into a certificate.

use std::path::Path;
use std::sync::Arc;

use cognate_proto::dial::{Dial, DialError, Trust};
use cognate_proto::identity::{CertificateInfo, Credential, Membership};
use cognate_proto::invitation::Invitation;
use cognate_proto::v1::EnrollRequest;

use super::error::EnrolmentError;
use super::files::{current, enrolling_key, next_key, previous, remove, store_addresses, store_credential, stored_key};
use super::identity::Identity;
use crate::ledger::Ledger;
use crate::sending::connection;

/// Enrols the site of a state folder with an invitation. After an interruption, it can be repeated with the same
/// invitation, because the key is made only once.
///
/// # Errors
/// If the invitation is not valid, the coordinator cannot be reached or is another one, or files cannot be written. The
/// secret is sent only to a coordinator that has proved the CA's key.
pub async fn enroll(
    folder: &Path,
    invitation: &Invitation,
    ledger: &Arc<Ledger>,
    now: i64,
) -> Result<Identity, EnrolmentError> {
    let Membership::Site { name, .. } = &invitation.membership else {
        return Err(EnrolmentError::NotForSites(invitation.membership.name().to_owned()));
    };
    if let Ok(identity) = Identity::open(folder)
        && let Some(own) = identity.site()
        && own != name.as_str()
    {
        return Err(EnrolmentError::OtherSite { own, invited: name.to_string() });
    }
    let pending = enrolling_key(folder, &invitation.token_id);
    let key = stored_key(&pending)?;
    let dial = Dial::new(&invitation.addresses, &Trust::CaKey(invitation.ca_key), None)?;
    let channel = dial.connect().await?;
    let request = EnrollRequest {
        token_id: invitation.token_id.to_vec(),
        secret: invitation.secret.to_vec(),
        signing_request: key.signing_request()?,
        software: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let destination = invitation.addresses.join(",");
    let answer = connection::enroll(channel, ledger, &destination, request).await?.map_err(|status| {
        // Some transports report a handshake that was not trusted only here.
        match DialError::of(&status) {
            Some(error) => EnrolmentError::Dial(error),
            // The coordinator's clock decides on the expiry; this machine's clock only explains the refusal.
            None if invitation.expires < now => EnrolmentError::Expired(Box::new(status)),
            None => EnrolmentError::Refused(Box::new(status)),
        }
    })?;
    let membership = answer.membership.as_ref().map(Membership::try_from);
    if !matches!(membership, Some(Ok(membership)) if membership == invitation.membership) {
        return Err(EnrolmentError::Answer("it is for another member".to_owned()));
    }
    let ca = CertificateInfo::read(&answer.ca_certificate)?;
    if ca.key != invitation.ca_key {
        return Err(EnrolmentError::Answer("its CA is not the one of the invitation".to_owned()));
    }
    let credential = Credential::new(answer.ca_certificate, answer.certificate, key)?;
    // The addresses first: a certificate without addresses is of no use.
    store_addresses(folder, &invitation.addresses)?;
    store_credential(&credential, &current(folder))?;
    remove(&pending)?;
    remove(&previous(folder))?;
    remove(&next_key(folder))?;
    Ok(Identity::new(folder, credential, invitation.addresses.clone()))
}
