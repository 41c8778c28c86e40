//! The beginning of a federation: its CA and its first administrator.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use cognate_durable::whole::{PRIVATE_FOLDER, make_folder};
use cognate_proto::identity::{Credential, Membership};
use cognate_proto::v1::{MemberKind, Role};

use super::authority::{Authority, KEY_FILE};
use super::members::Members;
use crate::error::Error;
use cognate_storage::store::Store;

/// The name of the first administrator, if none is given.
const FIRST: &str = "admin";

/// The first administrator.
#[derive(Clone, Copy, Default, Debug)]
pub struct First<'a> {
    /// The name, as the audit log and signed reports have it; nothing: `admin`.
    pub name: Option<&'a str>,
    /// True if the federation may exist, and its first administrator gets a new credential in place of one that was lost or has
    /// expired.
    pub replace: bool,
}

/// Makes the state of a federation that does not exist yet. `keep` receives the name of the first administrator and
/// writes the credential; an interrupted attempt can be repeated. Returns the words of the CA's key.
///
/// # Errors
/// Fails if the federation exists, the name is none, or the state cannot be written.
pub fn init(
    state_dir: &Path,
    clock: fn() -> SystemTime,
    first: First<'_>,
    keep: impl FnOnce(&str, &Credential) -> io::Result<()>,
) -> Result<String, Error> {
    let name = first.name.unwrap_or(FIRST);
    let operator = name.parse().map_err(|error| Error::Invalid(format!("--administrator: {error}")))?;
    make_folder(state_dir, PRIVATE_FOLDER).map_err(Error::state(state_dir))?;
    let store = Arc::new(Store::open(&state_dir.join("store"), &state_dir.join("journal"), true)?);
    let administrator = store.members(MemberKind::Operator)?.into_iter().find(|row| row.certified.is_some());
    if let Some(membership) = administrator.and_then(|row| row.membership).filter(|_| !first.replace) {
        return Err(Error::Refused(format!(
            "`{}` holds a federation already, with the administrator `{}`: use its operator.toml, or another state_dir; \
             --new-administrator replaces a credential that is lost",
            state_dir.display(),
            membership.name
        )));
    }
    // A CA that was made by an interrupted attempt is as good as a new one.
    let authority = match Authority::create(state_dir, clock) {
        Err(Error::Refused(_)) if state_dir.join(KEY_FILE).is_file() => Authority::open(state_dir, clock)?,
        created => created?,
    };
    let words = authority.key_hash().words();
    let members = Members::new(store, Some(Arc::new(authority)), clock, Arc::default());
    let membership = Membership::Operator { name: operator, role: Role::Administrator, site: None, party: None };
    members.found(&membership, |credential| keep(name, credential))?;
    Ok(words)
}
