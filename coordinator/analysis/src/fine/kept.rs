//! The fine chunks that scans keep, for a pair of a result that somebody looks at again.

use cognate_fingerprint::{FineChunk, Tag};
use cognate_proto::name::ScanId;
use cognate_storage::store::ScanStep;

use super::FineFiles;
use super::lookup::Lookup;
use crate::analyser::Analyser;
use crate::error::Error;

/// The fine chunks of a layer of a scan. A later scan of the same kind takes over what it needs and removes the others, so the
/// files of the latest scans under the method are read as well, once a chunk is not in the earlier ones.
#[derive(Debug)]
pub struct KeptFineChunks {
    /// Those of the layer itself.
    own: Option<Lookup>,
    /// Those of other scans.
    opened: Vec<Lookup>,
    /// Files that are not opened yet, the next one last.
    files: Vec<FineFiles>,
}

impl KeptFineChunks {
    /// True if the layer still has all fine chunks that it was measured with.
    pub fn has_own(&self) -> bool {
        self.own.is_some()
    }

    /// The fine chunks of a chunk, if the layer itself has them.
    ///
    /// # Errors
    /// Fails if a file with an intact index cannot be read, or what the index names is damaged.
    pub fn get_own(&self, tag: &Tag) -> Result<Option<Vec<FineChunk>>, Error> {
        Ok(self.own.as_ref().map(|own| looked_up(own, tag)).transpose()?.flatten())
    }

    /// The fine chunks of a chunk, if any scan has them.
    ///
    /// # Errors
    /// See [`get_own`](KeptFineChunks::get_own).
    pub fn get(&mut self, tag: &Tag) -> Result<Option<Vec<FineChunk>>, Error> {
        for kept in self.own.iter().chain(&self.opened) {
            if let Some(fine) = looked_up(kept, tag)? {
                return Ok(Some(fine));
            }
        }
        while let Some(files) = self.files.pop() {
            let Some(kept) = opened(&files) else { continue };
            let found = looked_up(&kept, tag)?;
            self.opened.push(kept);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// The fine chunks of a chunk in a file. Damage is no fault of the result: what it says without them is shown, with the reason.
fn looked_up(kept: &Lookup, tag: &Tag) -> Result<Option<Vec<FineChunk>>, Error> {
    kept.get(tag).map_err(|error| Error::Refused(format!("the fine chunks of the scan cannot be used: {error}")))
}

/// A file in which chunks are looked up, if it is there and its index is intact.
fn opened(files: &FineFiles) -> Option<Lookup> {
    if !files.has_chunks() {
        return None;
    }
    let opened = Lookup::open(&files.expansions);
    opened.inspect_err(|error| tracing::info!(%error, "fine chunks of a scan are not used")).ok()
}

impl Analyser {
    /// The fine chunks that are kept for a layer of a scan with a result.
    ///
    /// # Errors
    /// Fails if the scan has no result, or the store cannot be read.
    pub fn kept_fine_chunks(&self, scan: ScanId, layer: usize) -> Result<KeptFineChunks, Error> {
        let row = self.store.scan(scan)?.filter(|row| row.step() == ScanStep::Published);
        let row = row.ok_or_else(|| Error::Refused(format!("scan {scan} has no result")))?;
        let mut files = match row.method_id(layer) {
            Some(method_id) => self.earlier_fine_chunks(scan, method_id)?,
            None => Vec::new(),
        };
        files.reverse();
        let own = opened(&FineFiles::new(&self.scan_folder(scan), layer));
        Ok(KeptFineChunks { own, opened: Vec::new(), files })
    }
}

#[cfg(test)]
mod tests {
    use cognate_proto::fine::Expansion;

    use super::super::expansions::ExpansionsWriter;
    use super::*;

    #[test]
    fn fine_chunks_are_looked_up_in_one_file_after_the_other_and_damaged_ones_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let fine = |number: u8| vec![FineChunk { tag: number, length_bytes: 5 }];
        let write = |layer: usize, numbers: &[u8]| {
            let files = FineFiles::new(folder.path(), layer);
            let mut writer = ExpansionsWriter::create(&files.expansions).unwrap();
            for number in numbers {
                writer.push(&Expansion { tag: Tag([*number; 16]), fine: fine(*number) }).unwrap();
            }
            writer.finish(false).unwrap();
            files
        };
        let (own, damaged, other) = (write(0, &[1]), write(1, &[2]), write(2, &[1, 3]));
        std::fs::write(&damaged.expansions, "damaged").unwrap();
        let mut kept = KeptFineChunks { own: opened(&own), opened: Vec::new(), files: vec![other, damaged] };
        assert_eq!(kept.get(&Tag([1; 16])).unwrap(), Some(fine(1)));
        assert!(kept.has_own() && kept.get_own(&Tag([3; 16])).unwrap().is_none());
        assert_eq!(kept.files.len(), 2, "the others are read only if they are needed");
        assert_eq!(kept.get(&Tag([3; 16])).unwrap(), Some(fine(3)));
        assert_eq!(kept.get(&Tag([2; 16])).unwrap(), None);
    }
}
