//! Erasing all that a site sent.

use std::collections::HashSet;
use std::sync::Arc;

use cognate_proto::name::SiteName;

use super::{Indexes, lock, remove_if_there};
use crate::error::Error;
use crate::segment::SegmentReader;
use crate::store::{IndexId, SlotKey};

/// Counts of erased data.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Forgotten {
    pub(crate) indexes: u64,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

impl Indexes {
    /// Erases the segments, runs and rows of a site, also those that were set aside.
    ///
    /// # Errors
    /// Fails if the site is pushing at this moment; the state is then unchanged.
    pub(crate) fn forget(self: &Arc<Indexes>, site: &SiteName) -> Result<Forgotten, Error> {
        let rows = self.store.indexes()?;
        let of_site = |id: IndexId, key: Option<SlotKey>| key.filter(|key| key.site == *site).map(|key| (id, key));
        let mine: Vec<_> = rows.iter().filter_map(|(id, row)| of_site(*id, row.key())).collect();
        let mut keys: HashSet<SlotKey> = mine.iter().map(|(_, key)| key.clone()).collect();
        keys.extend(self.store.slots()?.into_iter().map(|(key, _)| key).filter(|key| key.site == *site));
        let _leases = keys.iter().map(|key| self.lease(key.clone())).collect::<Result<Vec<_>, _>>()?;
        let mut forgotten = Forgotten::default();
        let before_bytes = self.folder_bytes()?;
        for (id, _) in &mine {
            let row = self.store.index(*id)?.unwrap_or_default();
            self.delete(*id)?;
            forgotten.indexes += 1;
            forgotten.documents += row.documents;
        }
        for key in &keys {
            self.store.remove_slot(key)?;
            lock(&self.pending_summaries).remove(key);
        }
        self.forget_quarantined(site)?;
        forgotten.bytes = before_bytes.saturating_sub(self.folder_bytes()?);
        self.store.barrier()?;
        Ok(forgotten)
    }

    /// Removes the indexes of one repository under one method, unless they are being written or a scan over the
    /// repository has not ended. Answers how many there were.
    pub(crate) fn drop_slot(self: &Arc<Indexes>, key: &SlotKey) -> Result<u64, Error> {
        let Some(lease) = self.lease_to_tidy(key) else { return Ok(0) };
        let slot = self.store.slot(key)?;
        let switching = lock(&self.switching);
        self.store.remove_slot(key)?;
        self.store.barrier()?;
        drop((switching, lease));
        self.collect()?;
        Ok([slot.current, slot.pending].iter().filter(|id| **id > 0).count() as u64)
    }

    /// A quarantined file with a damaged header may belong to any site: only files that surely belong to another site
    /// stay.
    fn forget_quarantined(&self, site: &SiteName) -> Result<(), Error> {
        for entry in std::fs::read_dir(&self.folder).map_err(Error::state(&self.folder))? {
            let path = entry.map_err(Error::state(&self.folder))?.path();
            if path.extension().is_some_and(|extension| extension == "damaged") {
                let of_another = SegmentReader::open(&path).is_ok_and(|reader| reader.header().site != site.as_str());
                if !of_another {
                    remove_if_there(&path)?;
                }
            }
        }
        Ok(())
    }
}
