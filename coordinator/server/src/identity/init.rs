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

/// The name of the first administrator.
const FIRST: &str = "admin";

/// Makes the state of a federation that does not exist yet. `keep` receives the name of the first administrator and
/// writes the credential; an interrupted attempt can be repeated. `replace`: the federation may exist, and its first
/// administrator gets a new credential in place of one that was lost or has expired. Returns the words of the CA's key.
///
/// # Errors
/// Fails if the federation exists, or its state cannot be written.
pub fn init(
    state_dir: &Path,
    clock: fn() -> SystemTime,
    replace: bool,
    keep: impl FnOnce(&str, &Credential) -> io::Result<()>,
) -> Result<String, Error> {
    make_folder(state_dir, PRIVATE_FOLDER).map_err(Error::state(state_dir))?;
    let store = Arc::new(Store::open(&state_dir.join("store"), &state_dir.join("journal"), true)?);
    let administrator = store.members(MemberKind::Operator)?.into_iter().find(|row| row.certified.is_some());
    if let Some(membership) = administrator.and_then(|row| row.membership).filter(|_| !replace) {
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
    let name = FIRST.parse().expect("it is a name");
    let membership = Membership::Operator { name, role: Role::Administrator, site: None, party: None };
    members.found(&membership, |credential| keep(FIRST, credential))?;
    Ok(words)
}
