//! Brings the view up to date with the segments: adds the records that a crash kept from the view, or that a lost or
//! older view does not have. With an empty view this rebuilds all of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Indexes, Replay, remove_if_there};
use crate::error::Error;
use crate::segment::{Next, RECORD_BYTES_MAX, SegmentReader};
use crate::store::{IndexId, IndexRow, SlotKey, SlotRow};

/// At most this many numbers are left out after a restore: those that were given out since the backup, it is hoped.
const NUMBERS_SKIPPED: u64 = 1 << 20;

impl Indexes {
    /// Takes from the segments what the view lacks.
    pub(super) fn catch_up(&self) -> Result<(), Error> {
        let segments = self.segments()?;
        let mut adopted = 0;
        for (id, path) in &segments {
            if self.is_behind(*id, path)? {
                adopted += u64::from(self.adopt(*id, path)?);
            }
        }
        for (id, row) in self.store.indexes()? {
            if row.segment_bytes > 0 && !segments.contains_key(&id) {
                let path = self.segment_path(id);
                tracing::error!(path = %path.display(), "a segment is gone; the site will send it again");
                self.store.remove_index(id)?;
                adopted += 1;
            }
        }
        if adopted > 0 {
            tracing::info!(indexes = adopted, "the view was brought level with the segments");
        }
        self.settle_slots()?;
        self.settle_numbers(&segments)?;
        self.store.barrier()
    }

    fn segments(&self) -> Result<HashMap<IndexId, PathBuf>, Error> {
        let mut segments = HashMap::new();
        for entry in std::fs::read_dir(&self.folder).map_err(Error::state(&self.folder))? {
            let path = entry.map_err(Error::state(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".seg"));
            if let Some(id) = name.and_then(|name| name.parse().ok()) {
                segments.insert(IndexId(id), path);
            }
        }
        Ok(segments)
    }

    /// True if a segment holds complete records that its row does not count.
    fn is_behind(&self, id: IndexId, path: &Path) -> Result<bool, Error> {
        let length = std::fs::metadata(path).map_err(Error::state(path))?.len();
        let Some(row) = self.store.index(id)? else { return Ok(true) };
        if length <= row.segment_bytes {
            return Ok(false);
        }
        if row.segment_bytes == 0 {
            return Ok(true);
        }
        let mut reader = match SegmentReader::open(path) {
            // Found again, and dealt with, when it is written or checked.
            Err(Error::Corrupt { .. }) => return Ok(false),
            opened => opened?,
        };
        reader.seek(row.segment_bytes)?;
        Ok(matches!(reader.next()?, Next::Record(_)))
    }

    /// Rebuilds the row of a segment, and its runs. Returns true if the segment had records.
    fn adopt(&self, id: IndexId, path: &Path) -> Result<bool, Error> {
        let row = match self.read_row(path) {
            Ok(row) => row,
            Err(Error::Corrupt { path, detail }) => {
                let length = std::fs::metadata(&path).map_err(Error::state(&path))?.len();
                if length == 0 {
                    // Made a moment before the crash.
                    remove_if_there(&path)?;
                } else {
                    tracing::error!(path = %path.display(), detail, "a segment is damaged and was set aside; the site will send it again");
                    self.quarantine(&path)?;
                }
                self.store.remove_index(id)?;
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        if row.committed_sequence == 0 && !row.sealed {
            let length = std::fs::metadata(path).map_err(Error::state(path))?.len();
            if length > row.segment_bytes && self.store.index(id)?.is_none() {
                // Nothing shows if any of it was ever acknowledged.
                self.quarantine(path)?;
            }
            self.store.remove_index(id)?;
            remove_if_there(path)?;
            return Ok(false);
        }
        tracing::info!(path = %path.display(), batches = row.committed_sequence, sealed = row.sealed_sequence, "a segment was taken over");
        self.put_with_runs(id, row)?;
        Ok(true)
    }

    /// The row of a segment, read from its records up to the last complete one.
    fn read_row(&self, path: &Path) -> Result<IndexRow, Error> {
        let length = std::fs::metadata(path).map_err(Error::state(path))?.len();
        let mut reader = SegmentReader::open(path)?;
        let mut row = IndexRow::begun(reader.header().clone());
        let corrupt = |detail: &str| Error::Corrupt { path: path.to_owned(), detail: detail.to_owned() };
        if row.key().is_none() {
            return Err(corrupt("its header names no site, repository and method"));
        }
        let mut replay = Replay::new(path, row.chunk_bytes_max);
        loop {
            let at = reader.at();
            match reader.next()? {
                Next::Record(record) => {
                    replay.take(&record, |_, _| {})?;
                    if let Some((sequence, seal)) = replay.seal.take() {
                        if !row.sealed {
                            row.measured_bytes = reader.at();
                            row.measured_weight = replay.index.weight_of_all().max(1);
                        }
                        row.sealed = true;
                        row.sealed_sequence = sequence;
                        row.summary = seal.summary.clone();
                        row.seal = Some(seal);
                    }
                }
                Next::End => break,
                Next::Broken => {
                    let lost_bytes = length - at;
                    if lost_bytes > RECORD_BYTES_MAX {
                        tracing::error!(path = %path.display(), at, lost_bytes, "a record is damaged: what follows it will be sent again by the site");
                    }
                    break;
                }
            }
        }
        if replay.index.sequence() > 0 && replay.is_compacted() && !row.sealed {
            // It was complete when it got its name: without its seal, the compacted segment has lost records.
            return Err(corrupt(&format!("a record does not match its checksum at byte {}", reader.at())));
        }
        row.segment_bytes = reader.at();
        row.live_bytes = row.segment_bytes;
        row.take(&replay.index);
        Ok(row)
    }

    /// Sets the index of each slot from the rows: the one that was sealed last, and the newest that never was.
    fn settle_slots(&self) -> Result<(), Error> {
        let mut slots: HashMap<SlotKey, (SlotRow, u64)> = HashMap::new();
        for (id, row) in self.store.indexes()? {
            let key = row.key().ok_or_else(|| self.nameless(id))?;
            let (slot, last) = slots.entry(key).or_default();
            match row.seal.filter(|_| row.sealed) {
                // Of a segment and its compacted form, which share their seal, the latter.
                Some(seal) if seal.number >= *last => (slot.current, *last) = (id.0, seal.number),
                Some(_) => {}
                None => slot.pending = slot.pending.max(id.0),
            }
        }
        for (key, slot) in self.store.slots()? {
            match slots.remove(&key) {
                None => self.store.remove_slot(&key)?,
                Some((settled, _)) if settled != slot => self.store.put_slot(&key, &settled)?,
                Some(_) => {}
            }
        }
        slots.iter().try_for_each(|(key, (settled, _))| self.store.put_slot(key, settled))
    }

    /// Numbers are never used twice, not even those that a lost view gave out.
    fn settle_numbers(&self, segments: &HashMap<IndexId, PathBuf>) -> Result<(), Error> {
        let ids = segments.keys().map(|id| id.0);
        let rows = self.store.indexes()?;
        let seals = rows.iter().filter_map(|(_, row)| row.seal.as_ref()).map(|seal| seal.number);
        let scans = self.store.scans()?;
        let frozen = scans.iter().flat_map(|(_, scan)| &scan.frozen).map(|frozen| frozen.index);
        let used = ids.chain(seals).chain(frozen).max().unwrap_or(0);
        if used > self.store.last_number()? {
            let gap = 1 + crate::clock::random_number() % NUMBERS_SKIPPED;
            self.store.skip_numbers(used.saturating_add(gap))?;
        }
        Ok(())
    }

    /// Puts a damaged segment out of the way; it is never deleted unseen.
    pub(super) fn quarantine(&self, path: &Path) -> Result<(), Error> {
        let aside = path.with_extension("damaged");
        match std::fs::rename(path, &aside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(&aside)(error)),
            _ => Ok(()),
        }
    }
}
