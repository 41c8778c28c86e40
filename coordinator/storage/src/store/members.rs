//! The members, sites and operators, and when sites were last heard of.

use std::panic::AssertUnwindSafe;
use std::path::Path;

use cognate_proto::name::{PartyName, SiteName};
use cognate_proto::v1;

use super::{MEMORY_BYTES, MemberRow, SeenRow, Store, corrupt, put};
use crate::error::Error;

impl Store {
    /// The row of a member.
    pub fn member(&self, kind: v1::MemberKind, name: &str) -> Result<Option<MemberRow>, Error> {
        self.get(&self.members, &member_key(kind, name))
    }

    /// All members of a kind, in the order of their names.
    pub fn members(&self, kind: v1::MemberKind) -> Result<Vec<MemberRow>, Error> {
        let rows = self.members.scan_prefix(member_key(kind, ""));
        rows.map(|entry| self.decode(&entry?.1)).collect()
    }

    /// The party of a site that may attach.
    pub fn party_of(&self, site: &SiteName) -> Result<Option<PartyName>, Error> {
        let row = self.member(v1::MemberKind::Site, site.as_str())?;
        let active = row.filter(|row| row.status() == v1::MemberStatus::Active);
        let party = active.and_then(|row| row.membership).map(|membership| membership.party.parse());
        party.transpose().map_err(|_| corrupt(&self.folder, "a party has no valid name".to_owned()))
    }

    /// The last contact with a site; zeros before the first.
    pub fn seen(&self, site: &SiteName) -> Result<SeenRow, Error> {
        Ok(self.get(&self.seen, site.as_str().as_bytes())?.unwrap_or_default())
    }

    /// Stores the last contact with a site.
    pub fn put_seen(&self, site: &SiteName, row: &SeenRow) -> Result<(), Error> {
        put(&self.seen, site.as_str().as_bytes(), row)
    }

    /// Forgets the last contact with a site.
    pub(super) fn remove_seen(&self, site: &SiteName) -> Result<(), Error> {
        self.seen.remove(site.as_str().as_bytes())?;
        Ok(())
    }

    /// How many members there are, of either kind.
    pub(crate) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Takes over from a store that was set aside what is in neither the journal nor the segments, if it can be read:
    /// when sites were last heard of, and when indexes were last analysed.
    pub(crate) fn take_seen(&self, folder: &Path) {
        let taken = std::panic::catch_unwind(AssertUnwindSafe(|| -> sled::Result<()> {
            let before = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).open()?;
            for (name, tree) in [("seen", &self.seen), ("used", &self.used), ("watched", &self.watched)] {
                for entry in before.open_tree(name)?.iter() {
                    let (key, value) = entry?;
                    tree.insert(key, value)?;
                }
            }
            Ok(())
        }));
        if !matches!(taken, Ok(Ok(()))) {
            tracing::warn!(path = %folder.display(), "when sites were last heard of could not be taken over");
        }
    }
}

pub(super) fn member_key(kind: v1::MemberKind, name: &str) -> Vec<u8> {
    let kind = u8::try_from(i32::from(kind)).expect("there are few kinds");
    [&[kind], name.as_bytes()].concat()
}
