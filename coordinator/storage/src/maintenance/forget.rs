//! Removal: the data of a forgotten site, and results and indexes that were not used for long.

use std::path::Path;
use std::sync::Arc;

use cognate_proto::name::{ScanId, SiteName};
use cognate_proto::v1;

use crate::error::Error;
use crate::indexes::Indexes;
use crate::journal::{Event, MemberName, What};
use crate::store::{FrozenRow, ScanRow, SlotKey, Store};

/// Parts of the coordinator's state, and the rules for their retention.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    /// The store.
    pub store: &'a Store,
    /// The indexes of that store.
    pub indexes: &'a Arc<Indexes>,
    /// The folder of the results.
    pub scans: &'a Path,
}

/// Retention times; `None`: for ever.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Seconds since a scan ended.
    pub scans_seconds: Option<i64>,
    /// Seconds since an index was last sealed or analysed.
    pub methods_seconds: Option<i64>,
}

/// Counts of expired data.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Expired {
    /// The scans whose results were deleted, in the order of their ids.
    pub scans: Vec<ScanId>,
    /// The number of indexes that were deleted.
    pub indexes: u64,
}

impl Keeping<'_> {
    /// Erases all that a site sent and every result that names a document of it, and the site itself. `by` asked for
    /// it.
    ///
    /// # Errors
    /// Fails if a scan over the site has not ended, or the site is pushing: end that first.
    pub fn forget(&self, site: &SiteName, by: &str, now: i64) -> Result<v1::ForgetSiteResponse, Error> {
        let scans = self.store.scans()?;
        let mine: Vec<_> = scans.iter().filter(|(_, row)| names(row, site)).collect();
        if let Some((id, _)) = mine.iter().find(|(_, row)| !has_ended(row)) {
            return Err(Error::Busy(format!("scan {id} is about {site} and has not ended: cancel it first")));
        }
        let forgotten = self.indexes.forget(site)?;
        let mut response = v1::ForgetSiteResponse {
            indexes: forgotten.indexes,
            documents: forgotten.documents,
            bytes: forgotten.bytes,
            scans: Vec::new(),
        };
        for (id, _) in mine {
            response.bytes += self.delete_scan(*id, by, now)?;
            response.scans.push(id.0);
        }
        let name = MemberName { kind: v1::MemberKind::Site.into(), name: site.to_string() };
        self.record(What::Forgotten(name), by, now)?;
        Ok(response)
    }

    /// Deletes a scan that has ended, with its result, and answers how many bytes that gave back.
    pub fn delete_scan(&self, id: ScanId, by: &str, now: i64) -> Result<u64, Error> {
        let folder = self.scans.join(id.to_string());
        let bytes = super::space::files_below(&folder)?.bytes;
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::state(&folder)(error)),
            _ => {}
        }
        self.record(What::ScanDeleted(id.0), by, now)?;
        self.drop_refined()?;
        Ok(bytes)
    }

    /// The scan that refines another and has not ended, if there is one: until then it needs the other's result.
    pub fn refined_by(&self, id: ScanId) -> Result<Option<ScanId>, Error> {
        let scans = self.store.scans()?;
        let refines = |row: &ScanRow| {
            let refine = row.options.as_ref().and_then(|options| options.refine.as_ref());
            !has_ended(row) && refine.is_some_and(|refine| refine.scan == id.0)
        };
        Ok(scans.into_iter().find(|(_, row)| refines(row)).map(|(id, _)| id))
    }

    /// Removes indexes that refinements made and that no scan refers to any more: nothing else can ever use them.
    /// Answers how many there were.
    fn drop_refined(&self) -> Result<u64, Error> {
        let mut refined: Vec<SlotKey> = self.store.slots()?.into_iter().map(|(key, _)| key).collect();
        refined.retain(|key| key.scope.is_some());
        if refined.is_empty() {
            return Ok(0);
        }
        let scans = self.store.scans()?;
        refined.retain(|key| !scans.iter().any(|(_, row)| refers_to(row, key)));
        refined.iter().try_fold(0, |dropped, key| Ok(dropped + self.indexes.drop_slot(key)?))
    }

    /// Removes data whose retention time is over.
    pub fn expire(&self, retention: Retention, now: i64) -> Result<Expired, Error> {
        let mut expired = Expired::default();
        if let Some(seconds) = retention.scans_seconds {
            for (id, row) in self.store.scans()? {
                let ended = if row.finished > 0 { row.finished } else { row.started };
                let old = has_ended(&row) && ended < now.saturating_sub(seconds);
                if old && self.refined_by(id)?.is_none() {
                    self.delete_scan(id, "", now)?;
                    expired.scans.push(id);
                }
            }
        }
        if let Some(seconds) = retention.methods_seconds {
            let mut unused = Vec::new();
            for (key, _, row) in self.indexes.all()? {
                let sealed = row.seal.as_ref().map_or(0, |seal| seal.time);
                let used = self.store.used(&key)?.max(sealed);
                // One that was never sealed is being pushed, or was begun next to one that is in use.
                if row.sealed && used < now.saturating_sub(seconds) {
                    unused.push(key);
                }
            }
            for key in unused {
                expired.indexes += self.indexes.drop_slot(&key)?;
            }
        }
        expired.indexes += self.drop_refined()?;
        Ok(expired)
    }

    fn record(&self, what: What, by: &str, now: i64) -> Result<(), Error> {
        self.store.record(&Event { time: now, by: by.to_owned(), what: Some(what) })
    }
}

/// Removes the index of a part of a repository, unless a scan refers to it. Answers how many there were.
///
/// # Errors
/// Fails if the state cannot be read or written.
pub fn drop_part(store: &Store, indexes: &Arc<Indexes>, key: &SlotKey) -> Result<u64, Error> {
    let scans = store.scans()?;
    let is_referred_to = scans.iter().any(|(_, row)| refers_to(row, key));
    if key.scope.is_none() || is_referred_to { Ok(0) } else { indexes.drop_slot(key) }
}

/// True if a scan is about the index of a part of a repository, or may yet be.
fn refers_to(row: &ScanRow, key: &SlotKey) -> bool {
    // Pairs that a method only proposes are read again through an index of a part as well.
    let options = row.options();
    let layers = options.layers().unwrap_or_default();
    let refines = options.refine.is_some() || layers.iter().any(|layer| layer.method.capabilities().only_proposes());
    let named = |site: &str, repository: &str| (site, repository) == (key.site.as_str(), key.repository.as_str());
    let asked = options.repositories.iter().any(|(site, repository)| named(site.as_str(), repository.as_str()));
    let holds = |frozen: &FrozenRow| {
        named(&frozen.site, &frozen.repository)
            && frozen.method_id == key.method_id.0
            && key.scope.is_some_and(|scope| frozen.scope == scope.0)
    };
    (!has_ended(row) && refines && asked) || row.frozen.iter().any(holds)
}

fn has_ended(row: &ScanRow) -> bool {
    !row.step().is_under_way()
}

/// True if a scan is about a site.
fn names(row: &ScanRow, site: &SiteName) -> bool {
    let asked = row.options.iter().flat_map(|options| &options.repositories).map(|reference| &reference.site);
    let frozen = row.frozen.iter().map(|frozen| &frozen.site);
    let missing = row.missing.iter().map(|missing| &missing.site);
    asked.chain(frozen).chain(missing).any(|name| name == site.as_str())
}
