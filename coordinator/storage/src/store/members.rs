//! The members, sites and operators, and when sites were last heard of.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use cognate_proto::name::{PartyName, SiteName};
use cognate_proto::v1;

use super::key::Lifetime;
use super::{Key, MEMORY_BYTES, MemberRow, Prefix, SeenRow, Store, Tree, corrupt};
use crate::error::Error;
use crate::journal::PartyNamed;

impl Store {
    /// The row of a member.
    pub fn member(&self, kind: v1::MemberKind, name: &str) -> Result<Option<MemberRow>, Error> {
        self.get(&Key::Member(kind, name.to_owned()))
    }

    /// All members of a kind, in the order of their names.
    pub fn members(&self, kind: v1::MemberKind) -> Result<Vec<MemberRow>, Error> {
        self.values(Prefix::members(kind))
    }

    /// Makes every invitation void that no certificate was issued for.
    pub(super) fn void_invitations(&self) -> Result<(), Error> {
        for kind in [v1::MemberKind::Site, v1::MemberKind::Operator] {
            for mut row in self.members(kind)? {
                let used = row.certified.as_ref().map(|certified| &certified.token_id);
                if row.invited.as_ref().is_some_and(|invited| Some(&invited.token_id) != used) {
                    row.invited = None;
                    let name = row.membership.as_ref().map(|membership| membership.name.clone()).unwrap_or_default();
                    self.put(&Key::Member(kind, name), &row)?;
                }
            }
        }
        Ok(())
    }

    /// The party of a site that may attach.
    pub fn party_of(&self, site: &SiteName) -> Result<Option<PartyName>, Error> {
        let row = self.member(v1::MemberKind::Site, site.as_str())?;
        self.party_in(row.filter(|row| row.status() == v1::MemberStatus::Active))
    }

    /// The party of a site, also of one that was revoked: what it sent is still that party's.
    pub fn party_of_data(&self, site: &SiteName) -> Result<Option<PartyName>, Error> {
        self.party_in(self.member(v1::MemberKind::Site, site.as_str())?)
    }

    /// The name of a party in full, if it has one.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn full_name_of_party(&self, party: &str) -> Result<Option<String>, Error> {
        Ok(self.get::<PartyNamed>(&Key::Party(party.to_owned()))?.map(|named| named.full_name))
    }

    /// The full names of all parties that have one, by their names.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn full_names_of_parties(&self) -> Result<BTreeMap<String, String>, Error> {
        let named = self.values::<PartyNamed>(Prefix::all(Tree::Parties))?;
        Ok(named.into_iter().map(|named| (named.party, named.full_name)).collect())
    }

    fn party_in(&self, row: Option<MemberRow>) -> Result<Option<PartyName>, Error> {
        let party = row.and_then(|row| row.membership).map(|membership| membership.party.parse());
        party.transpose().map_err(|_| corrupt(&self.folder, "a party has no valid name".to_owned()))
    }

    /// The last contact with a site; zeros before the first.
    pub fn seen(&self, site: &SiteName) -> Result<SeenRow, Error> {
        Ok(self.get(&Key::Seen(site.clone()))?.unwrap_or_default())
    }

    /// Stores the last contact with a site.
    pub fn put_seen(&self, site: &SiteName, row: &SeenRow) -> Result<(), Error> {
        self.put(&Key::Seen(site.clone()), row)
    }

    /// Forgets the last contact with a site.
    pub(super) fn remove_seen(&self, site: &SiteName) -> Result<(), Error> {
        self.remove(&Key::Seen(site.clone()))
    }

    /// Number of members, of either kind.
    pub(crate) fn member_count(&self) -> usize {
        self.tree(Tree::Members).len()
    }

    /// Takes over the temporary rows, which no record has, from a store that was set aside, if it can be read.
    pub(crate) fn take_temporary(&self, folder: &Path) {
        let taken = std::panic::catch_unwind(AssertUnwindSafe(|| -> sled::Result<()> {
            let before = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).open()?;
            for tree in Tree::ALL.into_iter().filter(|tree| tree.lifetime() == Lifetime::Temporary) {
                self.take_rows(tree, &before.open_tree(tree.name())?)?;
            }
            Ok(())
        }));
        if !matches!(taken, Ok(Ok(()))) {
            tracing::warn!(path = %folder.display(), "when sites were last heard of could not be taken over");
        }
    }

    /// Copies the rows of a tree that can be read.
    fn take_rows(&self, tree: Tree, before: &sled::Tree) -> sled::Result<()> {
        for entry in before.iter() {
            let (key, value) = entry?;
            if Key::from_bytes(tree, &key).is_some_and(|key| key.value_type().reads(&value)) {
                self.tree(tree).insert(key, value)?;
            }
        }
        Ok(())
    }
}
