//! Disk space: use by kind and site, and the free space that is left.

use cognate_proto::name::SiteName;

use super::Indexes;
use crate::error::Error;
use crate::store::IndexId;

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

    /// Bytes of the segments of a site.
    pub(super) fn stored_bytes(&self, site: &SiteName) -> Result<u64, Error> {
        let all = self.all()?;
        Ok(all.iter().filter(|(key, ..)| key.site == *site).map(|(_, _, row)| row.segment_bytes).sum())
    }

    /// Refuses bytes for which there is no space.
    pub(super) fn check_space(&self, site: &SiteName, stored_bytes: u64, more_bytes: u64) -> Result<(), Error> {
        if let Some(quota) = self.config.site_quota_bytes
            && stored_bytes.saturating_add(more_bytes) > quota
        {
            return Err(Error::Full(format!(
                "{site} holds {stored_bytes} bytes here and may hold {quota}: raise `site_quota`, or forget repositories that are not needed"
            )));
        }
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
