//! Removing what nothing refers to: indexes that another has taken the place of, and runs that were put together.
//!
//! A scan reads the indexes that were current when it froze them, and reads their runs by name as long as it lasts. So
//! nothing of a repository goes while a scan over it has not ended; after a crash, the scans that go on are known from
//! the journal.

use std::collections::HashSet;
use std::path::PathBuf;

use cognate_durable::whole::TEMPORARY_EXTENSION;

use super::{Indexes, lock, remove_if_there};
use crate::error::Error;
use crate::store::{IndexId, IndexRow, SlotKey};

impl Indexes {
    /// Removes what nothing refers to any more.
    pub fn collect(&self) -> Result<(), Error> {
        let in_use = self.in_use()?;
        let _switching = lock(&self.switching);
        let referred = self.referred()?;
        for (id, row) in self.store.indexes()? {
            if !referred.contains(&id) && !in_use.holds(&row) {
                self.delete(id)?;
            }
        }
        for (id, number, path) in self.run_files()? {
            // Under this lock no write begins: a run that is being written has no row that says so.
            let busy = lock(&self.busy);
            let removable = match self.store.index(id)? {
                None => true,
                Some(row) => {
                    let written = row.key().is_some_and(|key| busy.contains_key(&key));
                    !written && row.runs.iter().all(|run| run.number != number) && !in_use.holds(&row)
                }
            };
            if removable {
                remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    /// At the start, before any write: also removes files that a crash left incomplete.
    pub(super) fn sweep(&self) -> Result<(), Error> {
        for entry in std::fs::read_dir(&self.folder).map_err(Error::state(&self.folder))? {
            let path = entry.map_err(Error::state(&self.folder))?.path();
            if path.extension().is_some_and(|extension| extension == TEMPORARY_EXTENSION) {
                remove_if_there(&path)?;
            }
        }
        self.collect()
    }

    /// Removes an index with its files. The row goes last: an index without files is nothing, files without a row would
    /// be taken over at the next start.
    pub(super) fn delete(&self, id: IndexId) -> Result<(), Error> {
        self.unload(id);
        remove_if_there(&self.segment_path(id))?;
        for (other, _, path) in self.run_files()? {
            if other == id {
                remove_if_there(&path)?;
            }
        }
        self.store.remove_index(id)
    }

    /// The indexes that a slot refers to.
    fn referred(&self) -> Result<HashSet<IndexId>, Error> {
        let slots = self.store.slots()?;
        Ok(slots.iter().flat_map(|(_, slot)| [IndexId(slot.current), IndexId(slot.pending)]).collect())
    }

    fn in_use(&self) -> Result<InUse, Error> {
        let mut scanned = HashSet::new();
        for (_, scan) in self.store.scans()? {
            if scan.step().is_under_way() {
                let repositories = scan.options.into_iter().flat_map(|options| options.repositories);
                scanned.extend(repositories.map(|reference| (reference.site, reference.repository)));
                scanned.extend(scan.frozen.into_iter().map(|frozen| (frozen.site, frozen.repository)));
            }
        }
        lock(&self.holds).retain(|hold| match hold.upgrade() {
            Some(hold) => {
                scanned.extend(hold.repositories.iter().cloned());
                true
            }
            None => false,
        });
        Ok(InUse { scanned, busy: lock(&self.busy).keys().cloned().collect() })
    }

    fn run_files(&self) -> Result<Vec<(IndexId, u64, PathBuf)>, Error> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(Error::state(&self.folder))? {
            let path = entry.map_err(Error::state(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let [id, number, "run"] = name.split('.').collect::<Vec<_>>()[..]
                && let (Ok(id), Ok(number)) = (id.parse(), number.parse())
            {
                files.push((IndexId(id), number, path));
            }
        }
        Ok(files)
    }
}

/// Files and slots that must stay for now.
struct InUse {
    /// Sites and repositories that a scan is about which has not ended, or that somebody holds on to.
    scanned: HashSet<(String, String)>,
    /// Slots that are being written.
    busy: HashSet<SlotKey>,
}

impl InUse {
    fn holds(&self, row: &IndexRow) -> bool {
        let scanned = row.header.as_ref().is_some_and(|header| {
            // Few are scanned at a time: no need to be clever about borrowed pairs.
            self.scanned.contains(&(header.site.clone(), header.repository.clone()))
        });
        scanned || row.key().is_some_and(|key| self.busy.contains(&key))
    }
}
