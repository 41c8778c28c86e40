//! Disk space: use by kind and site, and the free space that is left.

use cognate_proto::name::SiteName;

use super::{Indexes, SiteQuotas};
use crate::error::Error;
use crate::store::{IndexId, SlotKey};

/// Files of one kind.
#[derive(Clone, Copy, Default, Debug)]
pub struct Space {
    pub(crate) files: u64,
    /// The size of the files in bytes.
    pub bytes: u64,
    /// Bytes that something refers to.
    pub(crate) live_bytes: u64,
}

/// Space that the folder of indexes takes.
#[derive(Clone, Copy, Default, Debug)]
pub struct IndexSpace {
    pub segments: Space,
    pub runs: Space,
    pub damaged: Space,
}

/// The amounts that a site has at the coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Held {
    /// Of segments.
    pub(super) bytes: u64,
    pub(super) documents: u64,
    pub(super) contents: u64,
    pub(super) name_bytes: u64,
}

impl Held {
    pub(super) fn and(&self, other: &Held) -> Held {
        Held {
            bytes: self.bytes.saturating_add(other.bytes),
            documents: self.documents.saturating_add(other.documents),
            contents: self.contents.saturating_add(other.contents),
            name_bytes: self.name_bytes.saturating_add(other.name_bytes),
        }
    }
}

impl Indexes {
    /// Space that the folder takes, by kind.
    pub fn space(&self) -> Result<IndexSpace, Error> {
        let mut space = IndexSpace::default();
        for entry in std::fs::read_dir(&self.folder).map_err(Error::state(&self.folder))? {
            let entry = entry.map_err(Error::state(&self.folder))?;
            // A file that is removed at this moment takes no space any more.
            let Ok(bytes) = entry.metadata().map(|metadata| metadata.len()) else { continue };
            let name = entry.file_name();
            let parts: Vec<_> = name.to_str().unwrap_or_default().split('.').collect();
            let id = parts[0].parse().ok().map(IndexId);
            let row = id.map(|id| self.store.index(id)).transpose()?.flatten();
            let (kind, live_bytes) = match (&parts[..], row) {
                ([_, "seg"], row) => (&mut space.segments, row.map_or(0, |row| row.live_bytes.min(bytes))),
                ([_, number, "run"], row) => {
                    let runs = row.map(|row| row.runs).unwrap_or_default();
                    let live = runs.iter().any(|run| run.number.to_string() == *number);
                    (&mut space.runs, if live { bytes } else { 0 })
                }
                _ => (&mut space.damaged, 0),
            };
            kind.files += 1;
            kind.bytes += bytes;
            kind.live_bytes += live_bytes;
        }
        Ok(space)
    }

    pub(super) fn folder_bytes(&self) -> Result<u64, Error> {
        let space = self.space()?;
        Ok(space.segments.bytes + space.runs.bytes + space.damaged.bytes)
    }

    /// The amounts of a site beside the indexes of a key: one that is begun again replaces the one before it.
    pub(super) fn held_beside(&self, own: &SlotKey) -> Result<Held, Error> {
        let all = self.all()?;
        let others = all.iter().filter(|(key, ..)| key.site == own.site && key != own);
        Ok(others.fold(Held::default(), |held, (.., row)| {
            held.and(&Held {
                bytes: row.segment_bytes,
                documents: row.documents,
                contents: row.ordinals.into(),
                name_bytes: row.name_bytes,
            })
        }))
    }

    /// Refuses what a site may not have here as well.
    pub(super) fn check_quotas(&self, site: &SiteName, held: &Held) -> Result<(), Error> {
        let SiteQuotas { bytes, documents, contents, name_bytes } = self.config.quotas;
        for (held, quota, what, setting) in [
            (held.bytes, bytes, "bytes of manifests", "site_quota"),
            (held.documents, documents, "documents", "site_documents"),
            (held.contents, contents, "contents", "site_contents"),
            (held.name_bytes, name_bytes, "bytes of names", "site_names"),
        ] {
            if let Some(quota) = quota.filter(|quota| held > *quota) {
                return Err(Error::Quota(format!(
                    "the quota of `{site}` at the coordinator is exhausted: it may have {quota} {what} there, and this would be {held}; raise \
                     `{setting}` in the coordinator's configuration, or forget repositories that are not needed"
                )));
            }
        }
        Ok(())
    }

    /// Refuses bytes for which there is no space.
    pub(super) fn check_space(&self, more_bytes: u64) -> Result<(), Error> {
        let reserve = self.config.disk_reserve_bytes;
        if reserve > 0 {
            let free = self.free_bytes()?;
            if free < reserve.saturating_add(more_bytes) {
                return Err(Error::Full(format!(
                    "the coordinator's disk has {free} bytes free and keeps {reserve} in reserve: free space there"
                )));
            }
        }
        Ok(())
    }

    /// Free bytes on the disk of the state.
    pub fn free_bytes(&self) -> Result<u64, Error> {
        let stat = rustix::fs::statvfs(&self.folder).map_err(|error| Error::state(&self.folder)(error.into()))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}
